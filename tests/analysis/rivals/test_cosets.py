"""C_H and means over cosets, against their definitions."""

import numpy as np
import pytest

from algophase.analysis.rivals.cosets import (
    concentration,
    coset_means,
    cosets,
    proper_subgroups,
)
from algophase.core.group import cyclic_group
from algophase.core.named_groups import named_group

S4 = named_group("S4")


@pytest.mark.parametrize("right", [True, False])
def test_cosets_are_all_elements_once(right: bool) -> None:
    for subgroup in proper_subgroups(S4):
        elements = cosets(S4, subgroup, right=right)
        assert elements.shape == (24 // len(subgroup), len(subgroup))
        assert sorted(elements.ravel()) == list(range(24))
        x = elements[1, 0]
        other = S4.table[subgroup, x] if right else S4.table[x, subgroup]
        assert set(elements[1]) == set(other)


def test_the_smallest_concentration_is_that_of_the_definition() -> None:
    functions = np.random.default_rng(0).standard_normal((24, 3))
    result = concentration(S4, functions, right=True)
    subgroups = proper_subgroups(S4)
    for column in range(3):
        f = functions[:, column]
        by_hand = []
        for subgroup in subgroups:
            rest = set(range(24))
            total = 0.0
            while rest:
                coset = S4.table[subgroup, min(rest)]
                total += f[coset].var()
                rest -= set(coset.tolist())
            by_hand.append(total / f.var())
        assert result.value[column] == pytest.approx(min(by_hand))
        assert by_hand[result.subgroup[column]] == pytest.approx(min(by_hand))


def test_a_function_of_cosets_is_constant_on_the_largest_subgroup() -> None:
    subgroups = proper_subgroups(S4)
    point = next(row for row, members in enumerate(subgroups) if len(members) == 6)
    elements = cosets(S4, subgroups[point], right=True)
    f = np.empty((24, 1))
    f[elements, 0] = np.arange(4.0)[:, None]
    result = concentration(S4, f, right=True)
    assert result.value[0] == pytest.approx(0)
    assert result.subgroup[0] == point
    assert coset_means(S4, f, result.subgroup, right=True) == pytest.approx(f)
    assert concentration(S4, f, right=False).value[0] > 1


def test_means_over_cosets_keep_the_mean_and_lose_variance() -> None:
    functions = np.random.default_rng(1).standard_normal((24, 4))
    subgroup = np.array([0, 3, 3, 7])
    means = coset_means(S4, functions, subgroup, right=False)
    assert means.mean(axis=0) == pytest.approx(functions.mean(axis=0))
    assert (means.var(axis=0) < functions.var(axis=0)).all()


def test_a_group_of_prime_order_has_no_proper_subgroup() -> None:
    assert proper_subgroups(cyclic_group(13)) == []
    assert len(proper_subgroups(named_group("S5"))) == 154
