"""Groups are known by their tables, and tables that are none are refused; the cyclic group needs no
table.
"""

import re
from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.group import (
    Group,
    Numbers,
    cyclic_group,
    discrete_logarithms,
    group_from_table,
    group_of,
)


def table_of(elements: list[tuple[int, ...]], times: Callable[..., tuple[int, ...]]) -> Numbers:
    number = {element: place for place, element in enumerate(elements)}
    return np.array([[number[times(x, y)] for y in elements] for x in elements])


def symmetric(letters: int, even_only: bool = False) -> Numbers:
    def is_even(order: tuple[int, ...]) -> bool:
        return np.linalg.det(np.eye(letters)[list(order)]) > 0

    elements = [order for order in permutations(range(letters)) if not even_only or is_even(order)]
    return table_of(elements, lambda x, y: tuple(x[place] for place in y))


def dihedral(n: int) -> Numbers:
    """(rotation, reflected): a reflection turns what follows it around."""
    return table_of(
        list(product(range(n), range(2))),
        lambda x, y: ((x[0] + (-1) ** x[1] * y[0]) % n, (x[1] + y[1]) % 2),
    )


def dicyclic(n: int) -> Numbers:
    """a^k x^e with a^2n = 1, x^2 = a^n, x a = a^-1 x."""

    def times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        return (x[0] + (-1) ** x[1] * y[0] + n * (x[1] & y[1])) % (2 * n), (x[1] + y[1]) % 2

    return table_of(list(product(range(2 * n), range(2))), times)


def commuting(*orders: int) -> Numbers:
    def times(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
        return tuple((i + j) % n for i, j, n in zip(x, y, orders, strict=True))

    return table_of(list(product(*map(range, orders))), times)


def direct(one: Numbers, other: Numbers) -> Numbers:
    n = len(other)
    numbers = np.arange(len(one) * n)
    x, y = numbers[:, None], numbers
    return one[x // n, y // n] * n + other[x % n, y % n]


KNOWN = {
    "Z12": (commuting(12), True),
    "Z2xZ6": (commuting(2, 6), True),
    "Z2xZ2xZ4": (commuting(4, 2, 2), True),
    "S3": (symmetric(3), False),
    "S4": (symmetric(4), False),
    "S5": (symmetric(5), False),
    "A4": (symmetric(4, even_only=True), False),
    "A5": (symmetric(5, even_only=True), False),
    "D4": (dihedral(4), False),
    "D59": (dihedral(59), False),
    "D30": (dihedral(30), False),
    "Q8": (dicyclic(2), False),
    "Dic15": (dicyclic(15), False),
    "S3xZ11": (direct(symmetric(3), commuting(11)), False),
    "Q8xZ7": (direct(dicyclic(2), commuting(7)), False),
}


@pytest.mark.parametrize("name", KNOWN)
def test_tables_of_known_groups(name: str) -> None:
    table, commutes = KNOWN[name]
    group = group_of(table)
    assert group is not None
    assert (group.commutes, group.order) == (commutes, len(table))
    assert (group.table[np.arange(len(table)), group.inverses] == group.identity).all()


def test_conjugates_and_orders_as_written_out() -> None:
    group = group_of(symmetric(4))
    assert group is not None
    table, inverse = group.table, group.inverses
    for x in range(24):
        assert group.class_sizes[x] == len({table[table[g, x], inverse[g]] for g in range(24)})
        power, order = x, 1
        while power != group.identity:
            power, order = table[power, x], order + 1
        assert group.element_orders[x] == order


def test_what_is_no_group() -> None:
    a, b = np.ogrid[:7, :7]
    assert group_of((a - b) % 7) is None  # no identity on both sides
    assert group_of(a * b % 7) is None  # zero has no inverse
    assert group_of(np.zeros((3, 3), dtype=np.int64)) is None
    # A loop of five elements: identity and inverses, but it is not associative.
    loop = np.array(
        [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]
    )
    assert group_of(loop) is None


LOOP = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([[0, 1], [1, 2]], "1 + 1 is 2, and elements are 0 to 1"),
        ([[0, 0], [0, 0]], "no identity"),
        ([[0, 1], [1, 1]], "element 1 has no inverse"),
        ([[0, 1, 2], [1, 2, 0]], "n rows and n columns"),
        ([["a"]], "numbers of elements"),
        ([[0.5]], "numbers of elements"),
        (LOOP, "(1 + 1) + 2 is 2, and 1 + (1 + 2) is 4"),
    ],
)
def test_a_table_that_is_no_group_says_where(table: list[list[object]], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        group_from_table(table)


def test_logarithms_add() -> None:
    a, b = np.ogrid[1:31, 1:31]
    group = group_of(a * b % 31 - 1)
    assert group is not None
    assert group.is_cyclic
    exponents = group.logarithms()
    assert (exponents[group.table] == (exponents[:, None] + exponents) % 30).all()


@pytest.mark.parametrize("p", [1, 2, 12, 59])
def test_the_cyclic_group_is_the_group_of_its_table(p: int) -> None:
    group = cyclic_group(p)
    by_table = group_of(group.table)
    assert by_table is not None
    assert (group.order, group.identity) == (by_table.order, by_table.identity) == (p, 0)
    assert group.is_cyclic
    assert by_table.is_cyclic
    x, y = group.elements[:, None], group.elements
    assert (group.table == [[(a + b) % p for b in range(p)] for a in range(p)]).all()
    assert (group.inverses == by_table.inverses).all()
    assert (group.difference(x, y) == by_table.difference(x, y)).all()


@pytest.mark.parametrize("group", [cyclic_group(24), Group(symmetric(4), 0)])
def test_sums_of_numbers_arrays_and_tensors(group: Group) -> None:
    numbers = group.elements
    tensor = torch.arange(24)
    for x in (0, 1, 7, 23):
        sums = [int(group.table[x, y]) for y in range(24)]
        assert [group.sum(x, y) for y in range(24)] == sums
        assert group.sum(np.full(24, x), numbers).tolist() == sums
        assert group.sum(torch.tensor(x), tensor).tolist() == sums
        assert group.difference(group.sum(tensor, x), x).tolist() == tensor.tolist()
        assert group.sum(group.inverse(x), x) == group.identity
    assert isinstance(group.sum(3, 5), int)
    assert isinstance(group.sum(tensor, 5), torch.Tensor)


def test_exponents_add_where_numbers_multiply() -> None:
    exponents = discrete_logarithms(23)
    for a, b in product(range(1, 23), repeat=2):
        assert (exponents[a - 1] + exponents[b - 1]) % 22 == exponents[a * b % 23 - 1]
