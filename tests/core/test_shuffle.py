"""The first numbers of a shuffle are those of Python's own."""

import random

import pytest

from algophase.core.shuffle import ONE_BY_ONE, first_of_shuffle


@pytest.mark.parametrize("total", [1, 2, 27, ONE_BY_ONE, ONE_BY_ONE + 1, 4096, 4097, 23**3, 59**3])
def test_the_first_of_a_shuffle(total: int) -> None:
    numbers = list(range(total))
    random.Random(42).shuffle(numbers)
    assert first_of_shuffle(total, 100, seed=42) == numbers[:100]
