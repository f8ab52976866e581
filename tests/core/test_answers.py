"""A table of answers is called what it is: a formula, a group, a cyclic group in another order,
or nothing.
"""

import numpy as np
import pytest

from algophase.core.answers import FORMULAS, learned
from algophase.core.group import Numbers

P = 31
A, B = np.ogrid[:P, :P]


def spoiled(table: Numbers, count: int) -> Numbers:
    """With so many answers changed."""
    draw = np.random.default_rng(1)
    changed = table.copy()
    places = draw.choice(table.size, count, replace=False)
    changed.flat[places] = (changed.flat[places] + 1) % len(table)
    return changed


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str) -> None:
    table = FORMULAS[name](A, B, P) % P
    result = learned(table)
    assert result is not None
    assert result.sentence == f"it agrees with {name} on 100% of pairs"
    half = learned(spoiled(table, 24))
    assert half is not None
    assert half.sentence == f"it agrees with {name} on 97.50% of pairs"


def test_which_operation_takes_it() -> None:
    asked = {
        name: result.asked_as
        for name in FORMULAS
        if (result := learned(FORMULAS[name](A, B, P) % P)) is not None
    }
    assert {name: operation for name, operation in asked.items() if operation} == {
        "a + b": "add",
        "a - b": "subtract",
        "b - a": "auto",
        "-(a + b)": "auto",
        "a * b": "multiply",
    }
    a, b = np.ogrid[:30, :30]
    composite = learned(a * b % 30)
    assert composite is not None
    assert composite.asked_as == ""


def relabeled(count: int) -> Numbers:
    draw = np.random.default_rng(2)
    first, second, third = (draw.permutation(P) for _ in range(3))
    if count == 1:
        second = third = first
    return third.argsort()[(first[:, None] + second) % P]


@pytest.mark.parametrize("wrong", [0, 20])
@pytest.mark.parametrize(
    "table", [relabeled(1), relabeled(3), (3 * A + 5 * B + 2) % P, (B - A) % P]
)
def test_numbers_that_add_under_other_names(table: Numbers, wrong: int) -> None:
    result = learned(spoiled(table, wrong))
    assert result is not None
    assert result.asked_as == "auto"
    first, second, third = (np.array(names) for names in result.relabeling)
    assert (third[table] == (first[:, None] + second) % P).all()


def test_multiplication_of_non_zero_numbers() -> None:
    a, b = np.ogrid[1:P, 1:P]
    result = learned(a * b % P - 1)
    assert result is not None
    assert result.counts_from_one
    assert result.asked_as == "auto"


def test_nothing_is_seen_in_noise() -> None:
    draw = np.random.default_rng(3)
    for p in (3, 5, 31):
        assert learned(draw.integers(0, p, (p, p))) is None
    half = np.where(draw.random((P, P)) < 0.6, (A - B) % P, draw.integers(0, P, (P, P)))
    assert learned(half) is None
    assert learned(np.full((P, P), 4)) is None
    assert learned(np.full((P, P), P + 3)) is None  # an output that is no number
