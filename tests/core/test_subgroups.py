"""All subgroups, as many as are known, each closed."""

import numpy as np
import pytest

from algophase.core.errors import InputError
from algophase.core.named_groups import named_group
from algophase.core.subgroups import subgroup_classes

# How many subgroups there are, and in how many conjugacy classes (OEIS A005432 and A000638 for
# symmetric groups; tau(n) + sigma(n) subgroups of the dihedral group of n corners).
KNOWN = {
    "S3": (6, 4),
    "S4": (30, 11),
    "S5": (156, 19),
    "A4": (10, 5),
    "A5": (59, 9),
    "D4": (10, 8),
    "Q8": (6, 6),
    "Z12": (6, 6),
    "D30": (80, 20),
    "D59": (62, 4),
    "Z2xZ2xZ2": (16, 16),
}


@pytest.mark.parametrize("name", KNOWN)
def test_there_are_as_many_as_known(name: str) -> None:
    classes = subgroup_classes(named_group(name))
    assert (sum(map(len, classes)), len(classes)) == KNOWN[name]


@pytest.mark.parametrize("name", ["S4", "Q8", "D6"])
def test_each_is_a_subgroup_and_none_is_missing(name: str) -> None:
    group = named_group(name)
    found = set()
    for one in subgroup_classes(group):
        for members in one.members:
            elements = np.flatnonzero(members)
            assert len(elements) == one.order
            assert members[group.table[elements[:, None], elements]].all()
            found.add(frozenset(elements.tolist()))
    # Any two elements generate one of them.
    for x in range(group.order):
        for y in range(group.order):
            generated = {group.identity, x, y}
            while True:
                products = {group.sum(a, b) for a in generated for b in generated}
                if products <= generated:
                    break
                generated |= products
            assert frozenset(generated) in found


@pytest.mark.slow
def test_the_symmetric_group_of_six_points() -> None:
    classes = subgroup_classes(named_group("S6"))
    assert (sum(map(len, classes)), len(classes)) == (1455, 56)


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("algophase.core.subgroups.MOST_SUBGROUPS", 50)
    with pytest.raises(InputError, match="order 16 has more than 50 subgroups"):
        subgroup_classes(named_group("Z2xZ2xZ2xZ2"))
