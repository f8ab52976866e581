import math
from collections.abc import Callable
from typing import Any

import numpy
import pandas
import pytest
import torch

from algophase.core.lines import TIE, exceeds, falls_short, reaches, stays_within

SIDES: list[tuple[Callable[[Any, float], Any], bool, bool, bool]] = [  # below, on, above the line
    (reaches, False, True, True),
    (exceeds, False, False, True),
    (falls_short, True, False, False),
    (stays_within, True, True, False),
]


@pytest.mark.parametrize(("side", "below", "on", "above"), SIDES)
@pytest.mark.parametrize("line", [0.5, 0.98, 0.995])
def test_a_value_within_rounding_of_a_line_lies_on_it(
    side: Callable[[Any, float], Any], below: bool, on: bool, above: bool, line: float
) -> None:
    for value in (
        line,
        numpy.nextafter(line, 0),
        numpy.nextafter(line, 1),
        line - TIE / 10,
        line + TIE / 10,
    ):
        assert side(value, line) == on, value
    assert side(line - 10 * TIE, line) == below
    assert side(line + 10 * TIE, line) == above
    assert not side(math.nan, line)


@pytest.mark.parametrize("made", [numpy.array, torch.tensor, pandas.Series])
def test_arrays_tensors_and_columns_are_judged_value_by_value(
    made: Callable[[list[float]], Any],
) -> None:
    values = made([0.4, 0.5 - 1e-15, 0.5, 0.6, math.nan])
    assert reaches(values, 0.5).tolist() == [False, True, True, True, False]
    assert exceeds(values, 0.5).tolist() == [False, False, False, True, False]
    assert falls_short(values, 0.5).tolist() == [True, False, False, False, False]
    assert stays_within(values, 0.5).tolist() == [True, True, True, False, False]
