"""Columns kept as arrays: the same values and the same answers to conditions as lists give."""

import math
from typing import Any

import numpy
import pyarrow
import pytest

from algophase.core.errors import InputError
from algophase.runs.columns import column_of
from algophase.runs.selection import OPERATORS, Condition, kind_of, matches, read_condition

LISTS: dict[str, list[Any]] = {
    "numbers": [1, 2, None, 2, -3],
    "decimals": [0.5, None, 1.5, math.inf, -math.inf],
    "mixed": [1, 2.5, None, 3, 4],
    "text": ["relu", "GeLU", None, "relu", ""],
    "flags": [True, None, False, True, True],
    "nothing": [None] * 5,
}
VALUES = ("1", "2", "2.5", "inf", "relu", "gelu", "true", "FALSE", "null", "x")


@pytest.mark.parametrize("name", list(LISTS))
def test_values_come_back_as_they_were(name: str) -> None:
    column = column_of(LISTS[name])
    assert column is not None
    assert column.tolist() == LISTS[name]
    assert [column[place] for place in range(len(column))] == LISTS[name]
    assert column.kind == kind_of(name, LISTS[name])
    assert column.varies == (len(set(LISTS[name])) > 1)


@pytest.mark.parametrize("operator", list(OPERATORS))
@pytest.mark.parametrize("name", list(LISTS))
def test_a_condition_is_met_by_the_same_runs_as_in_a_list(name: str, operator: str) -> None:
    column = column_of(LISTS[name])
    assert column is not None
    for value in VALUES:
        condition = Condition(name, operator, value)
        try:
            by_list: list[bool] | str = matches(condition, LISTS[name])
        except InputError as error:
            by_list = str(error)
        try:
            by_array: list[bool] | str = column.meets(condition).tolist()
        except InputError as error:
            by_array = str(error)
        assert by_array == by_list, condition


def test_numbers_are_what_can_be_drawn() -> None:
    column = column_of(LISTS["decimals"])
    assert column is not None
    assert numpy.array_equal(
        column.numbers, [0.5, math.nan, 1.5, math.nan, math.nan], equal_nan=True
    )
    flags = column_of(LISTS["flags"])
    assert flags is not None
    assert numpy.array_equal(flags.numbers, [1, math.nan, 0, 1, 1], equal_nan=True)


def test_few_values_are_listed_in_order() -> None:
    for values, listed in (
        ([64, 32, None, 32], [32, 64]),
        (["b", "a", None], ["a", "b"]),
        (list(range(10)), None),
        ([*[1] * 2000, 2, 3, 4, 5], None),  # many values, of which the first thousand rows have one
    ):
        column = column_of(values)
        assert column is not None
        assert column.few_values(4) == listed


def test_what_has_no_single_values_is_no_column() -> None:
    assert column_of([[1], [2]]) is None
    assert column_of([True, "yes"]) is None
    assert column_of(pyarrow.array([0, 1], pyarrow.timestamp("s"))) is None


def test_columns_of_a_table_are_read_in_any_form() -> None:
    chunks = pyarrow.chunked_array([["a", None], ["b"]])
    for array in (chunks, chunks.dictionary_encode(), chunks.cast(pyarrow.large_string())):
        column = column_of(array)
        assert column is not None
        assert column.tolist() == ["a", None, "b"]
    single = column_of(pyarrow.array([0.5, math.nan, None], pyarrow.float32()))
    assert single is not None
    assert single.tolist() == [0.5, None, None]
    seeds = column_of(pyarrow.array([2**64 - 1, 3], pyarrow.uint64()))
    assert seeds is not None
    assert seeds.tolist() == [2**64 - 1, 3]
    empty = column_of(pyarrow.chunked_array([], pyarrow.string()))
    assert empty is not None
    assert empty.tolist() == []
    assert not empty.meets(read_condition("x=a")).any()
