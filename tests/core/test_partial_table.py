"""A group is read from answers of which many are wrong, and from nothing else."""

import numpy as np
import pytest

from algophase.core.answers import learned_in_part, on_given_group, why_no_group
from algophase.core.group import Numbers
from algophase.core.named_groups import named_group
from algophase.core.partial_table import is_no_chance, nearest_group

# The smallest loop that is not a group: every row and column has every number once.
LOOP = np.array(
    [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]
)


def memorized(name: str, share: float, seed: int = 0) -> tuple[Numbers, Numbers]:
    """The table of a group, its elements in a random order, and answers of which this share is
    right and the others are random.
    """
    draw = np.random.default_rng(seed)
    group = named_group(name)
    elements = draw.permutation(group.order)
    table = elements.argsort()[group.table[elements[:, None], elements]]
    is_known = draw.random(table.shape) < share
    return table, np.where(is_known, table, draw.integers(0, group.order, table.shape))


@pytest.mark.parametrize(
    ("name", "share"), [("S5", 0.3), ("D59", 0.3), ("A5", 0.4), ("Z2xZ30", 0.4), ("Z12", 0.6)]
)
def test_a_part_of_the_answers_gives_the_group(name: str, share: float) -> None:
    table, answers = memorized(name, share)
    group = nearest_group(answers)
    assert group is not None
    np.testing.assert_array_equal(group.table, table)
    assert is_no_chance(group, answers)


def test_what_is_said_of_it() -> None:
    _, answers = memorized("S5", 0.35)
    result = learned_in_part(answers)
    assert result is not None
    assert result.what == "the group S5 of order 120"
    assert result.group == "S5"
    assert result.share == pytest.approx(0.355, abs=0.01)
    assert len(result.relabeling) == 3


def test_a_given_group_in_another_order_of_its_elements() -> None:
    _, answers = memorized("A5", 0.5)
    result = on_given_group(named_group("A5"), answers)
    assert result.share == pytest.approx(0.5, abs=0.02)
    assert result.relabeling
    other = on_given_group(named_group("D30"), answers)
    assert (other.group, other.relabeling) == ("D30", ())
    assert other.share < 0.05


def test_a_given_order_is_kept_where_it_fits() -> None:
    group = named_group("S4")
    result = on_given_group(group, group.table)
    assert (result.share, result.group, result.relabeling) == (1, "S4", ())
    cyclic = on_given_group(named_group("Z12"), named_group("Z12").table)
    assert (cyclic.share, cyclic.group, cyclic.relabeling) == (1, "", ())


@pytest.mark.parametrize("order", [2, 3, 4, 6, 24, 60])
def test_random_answers_give_none(order: int) -> None:
    draw = np.random.default_rng(order)
    for _ in range(20):
        answers = draw.integers(0, order, (order, order))
        assert learned_in_part(answers) is None


def test_a_latin_square_and_a_loop_are_no_group() -> None:
    draw = np.random.default_rng(1)
    square = named_group("S4").table[draw.permutation(24)][:, draw.permutation(24)]
    assert nearest_group(square) is None
    assert why_no_group(square).startswith("the table has no identity")
    assert learned_in_part(LOOP) is None
    assert why_no_group(LOOP).startswith("the table is not associative: (1 + 1) + 2 is 2, and 1 +")


def test_answers_that_are_no_element_are_wrong() -> None:
    table, answers = memorized("S4", 0.8)
    answers[answers != table] = 24  # the token of the equals sign
    result = learned_in_part(answers)
    assert result is not None
    assert result.group == "S4"


def test_few_elements_prove_little() -> None:
    """Of six elements, 60% of the pairs agree with some group by chance."""
    group = named_group("S3")
    answers = group.table.copy()
    answers.flat[::3] = 0
    assert not is_no_chance(group, answers)
    assert is_no_chance(group, group.table)
