"""Groups by name and by generators: their orders and relations, and errors for what has no
meaning.
"""

import re
from itertools import permutations

import pytest

from algophase.core.errors import InputError
from algophase.core.group import Group, group_of
from algophase.core.named_groups import group_from_generators, named_group

ORDERS = {
    "Z59": 59,
    "C7": 7,
    "D59": 118,
    "D1": 2,
    "S1": 1,
    "S5": 120,
    "S6": 720,
    "A4": 12,
    "A5": 60,
    "Dic15": 60,
    "Q8": 8,
    "Q16": 16,
    "F20": 20,
    "F21": 21,
    "Z7:Z3": 21,
    "Z15:Z4": 60,
    "Z2xZ30": 60,
    "Z2 x Z30": 60,
    "Z2\N{MULTIPLICATION SIGN}Z2": 4,
    "S3xZ11": 66,
    "Q8xZ7": 56,
}


@pytest.mark.parametrize(("name", "order"), ORDERS.items())
def test_a_name_gives_a_group_of_its_order(name: str, order: int) -> None:
    group = named_group(name)
    checked = group_of(group.table)
    assert checked is not None
    assert (group.order, group.identity) == (order, 0)
    assert (checked.order, checked.identity) == (order, 0)
    assert named_group(name) is group


def power(group: Group, x: int, exponent: int) -> int:
    result = group.identity
    for _ in range(exponent):
        result = group.sum(result, x)
    return result


def test_relations_hold() -> None:
    dihedral = named_group("D7")
    turn, flip = 1, 7
    assert power(dihedral, turn, 7) == power(dihedral, flip, 2) == 0
    assert dihedral.sum(flip, turn) == dihedral.difference(flip, dihedral.inverse(turn))
    assert dihedral.sum(flip, turn) == dihedral.sum(dihedral.inverse(turn), flip)
    dicyclic = named_group("Dic3")
    a, x = 1, 6
    assert power(dicyclic, x, 2) == power(dicyclic, a, 3) != 0
    assert dicyclic.sum(x, a) == dicyclic.sum(dicyclic.inverse(a), x)
    affine = named_group("F20")  # 2 has order 4 modulo 5
    shift, factor = 1, 5
    assert affine.sum(factor, shift) == affine.sum(power(affine, shift, 2), factor)


def test_permutations_multiply_as_functions_in_lexicographic_order() -> None:
    group = named_group("S4")
    elements = list(permutations(range(4)))
    for i, x in enumerate(elements):
        for j, y in enumerate(elements):
            assert elements[group.sum(i, j)] == tuple(x[y[point]] for point in range(4))


def test_generators_in_cycles_and_in_images() -> None:
    by_cycles = named_group("(1 2 3 4 5); (1 2)")
    assert by_cycles.order == 120
    assert (by_cycles.table == named_group("S5").table).all()
    assert (named_group("(1,2,3,4,5), (1,2)").table == by_cycles.table).all()
    by_images = group_from_generators([[1, 2, 3, 4, 0], [1, 0]])
    assert (by_images.table == by_cycles.table).all()
    assert by_images.spelled == "(1 2 3 4 5); (1 2)"
    assert named_group("()").order == 1
    assert named_group("(1 2)(3 4); (1 3)(2 4)").order == 4


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("X5", "'X5'; give a name such as"),
        ("", "''; give a name such as"),
        ("S", "'S'; give a name"),
        ("Z0", "the number after Z is 1 to 1000"),
        ("S13", "the number after S is 1 to 12"),
        ("S7", "has 5,040 elements; at most 1,000"),
        ("A7", "has 2,520 elements; at most 1,000"),
        ("D600", "has 1,200 elements"),
        ("Q12", "the number after Q is 8, 16, 32"),
        ("F15", "a prime p times a divisor of p - 1"),
        ("Z8:Z3", "no number has order 3 modulo 8"),
        ("Z2xY", "'Z2xY'; give a name"),
        ("(1 2 3 4 5 6 7); (1 2)", "has more than 1,000 elements"),
        ("(1 2", "is not a product of cycles"),
        ("(1 2) and (3)", "is not a product of cycles"),
        ("(1 1)", "occurs twice"),
        ("(1 2)(2 3)", "occurs twice"),
        ("(0 1)", "numbers from 1 on"),
        ("(1 5000)", "points go up to 1,000"),
    ],
)
def test_what_is_no_name_is_an_error_that_says_so(name: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        named_group(name)


def test_what_is_no_permutation() -> None:
    with pytest.raises(InputError, match=re.escape("[0, 0] is not a permutation of 0 to 1")):
        group_from_generators([[0, 0]])
    with pytest.raises(InputError, match="at least one"):
        group_from_generators([])
