"""Groups are called by the name of a group that they are isomorphic to, whatever the order of their
elements.
"""

from itertools import product

import numpy as np
import pytest
from test_group import KNOWN, table_of

from algophase.core.group import group_from_table
from algophase.core.known_groups import described, fingerprint_of, isomorphism, name_of
from algophase.core.named_groups import named_group


@pytest.mark.parametrize("name", KNOWN)
def test_known_groups_are_named_in_any_order_of_their_elements(name: str) -> None:
    table, _ = KNOWN[name]
    names = np.random.default_rng(0).permutation(len(table))
    renamed = np.empty_like(table)
    renamed[names[:, None], names] = names[table]
    for entries in (table, renamed):
        group = group_from_table(entries)
        assert name_of(group) == name
        assert described(group) == f"the group {name} of order {len(table)}"


def test_groups_with_the_same_orders_and_classes_are_told_apart_or_not_named() -> None:
    """Z4 x| Z4 and Q8 x Z2 have as many elements of each order and with as many conjugates."""
    elements: list[tuple[int, ...]] = list(product(range(4), repeat=2))
    twisted = table_of(elements, lambda x, y: ((x[0] + (-1) ** x[1] * y[0]) % 4, (x[1] + y[1]) % 4))
    group = group_from_table(twisted)
    other = named_group("Q8xZ2")
    assert fingerprint_of(group) == fingerprint_of(other)
    assert isomorphism(other, group) is None
    assert described(group) == "a group of order 16 with 10 classes"


def test_an_isomorphism_keeps_sums() -> None:
    first, second = named_group("S4"), named_group("(1 2 3 4); (1 2)")
    mapping = isomorphism(first, second)
    assert mapping is not None
    assert (mapping[first.table] == second.table[mapping[:, None], mapping]).all()
