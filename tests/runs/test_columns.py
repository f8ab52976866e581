"""Columns of pandas: the same values as lists have, and the same answers to conditions."""

import math
from typing import Any

import numpy
import pyarrow
import pytest

from algophase.core.errors import InputError
from algophase.runs.columns import (
    Columns,
    few_values,
    frame_of,
    frame_of_rows,
    kind_of,
    python_value,
    python_values,
    records,
    single_columns,
    varies,
)
from algophase.runs.selection import OPERATORS, Condition, meets, read_condition

LISTS: dict[str, list[Any]] = {
    "numbers": [1, 2, None, 2, -3],
    "decimals": [0.5, None, 1.5, math.inf, -math.inf],
    "mixed": [1, 2.5, None, 3, 4],
    "text": ["relu", "GeLU", None, "relu", ""],
    "flags": [True, None, False, True, True],
    "nothing": [None] * 5,
}
KINDS = ["numbers", "numbers", "numbers", "text", "true and false", "nothing"]
TABLE = frame_of_rows(
    [dict(zip(LISTS, row, strict=True)) for row in zip(*LISTS.values(), strict=True)]
)


@pytest.mark.parametrize("name", list(LISTS))
def test_values_come_back_as_they_were(name: str) -> None:
    column = TABLE[name]
    assert python_values(column) == LISTS[name]
    assert [python_value(value) for value in column] == LISTS[name]
    assert varies(column) == (len(set(LISTS[name])) > 1)


def test_a_column_holds_one_kind() -> None:
    assert [kind_of(name, TABLE[name]) for name in LISTS] == KINDS
    as_objects = TABLE.astype(object)
    assert [kind_of(name, as_objects[name]) for name in LISTS] == KINDS


def compared(value: Any, condition: Condition, limit: Any) -> bool:
    """Whether a value meets a condition, by definition."""
    if value is None:
        return condition.operator == "!="
    if isinstance(value, str):
        value = value.casefold()
    return bool(OPERATORS[condition.operator](value, limit))


@pytest.mark.parametrize("operator", list(OPERATORS))
@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("numbers", {"1": 1, "2": 2, "2.5": 2.5, "inf": math.inf}),
        ("decimals", {"1": 1, "inf": math.inf, "-INF": -math.inf}),
        ("mixed", {"2.5": 2.5}),
        ("text", {"relu": "relu", "GELU": "gelu", "x": "x"}),
        ("flags", {"true": True, "FALSE": False}),
    ],
)
def test_a_condition_is_met_by_the_runs_that_meet_it_one_by_one(
    name: str, operator: str, limits: dict[str, Any]
) -> None:
    if name in ("text", "flags") and operator not in ("=", "!="):
        with pytest.raises(InputError, match="use = or !="):
            meets(TABLE[name], Condition(name, operator, next(iter(limits))))
        return
    for text, limit in limits.items():
        condition = Condition(name, operator, text)
        expected = [compared(value, condition, limit) for value in LISTS[name]]
        assert meets(TABLE[name], condition).tolist() == expected, condition


def test_numbers_are_what_can_be_drawn() -> None:
    drawn = [0.5, math.nan, 1.5, math.nan, math.nan]
    assert numpy.array_equal(Columns(TABLE).finite("decimals"), drawn, equal_nan=True)
    flags = [1, math.nan, 0, 1, 1]
    assert numpy.array_equal(Columns(TABLE).finite("flags"), flags, equal_nan=True)


def test_few_values_are_listed_in_order() -> None:
    for values, listed in (
        ([64, 32, None, 32], [32, 64]),
        (["b", "a", None], ["a", "b"]),
        (list(range(10)), None),
        ([*[1] * 2000, 2, 3, 4, 5], None),  # many values, of which the first thousand rows have one
    ):
        table = frame_of(pyarrow.table({"x": values}))
        assert few_values(table["x"], 4) == listed


def test_what_has_no_single_values_is_left_out() -> None:
    rows = [{"x": 1, "lists": [1], "mixed": True}, {"x": 2, "lists": [2], "mixed": "yes"}]
    table = frame_of_rows(rows)
    assert list(table) == ["x", "lists", "mixed"]
    assert list(single_columns(table)) == ["x"]
    with pytest.raises(InputError, match="column lists holds list: it has no order"):
        kind_of("lists", table["lists"])
    moments = frame_of(pyarrow.table({"x": pyarrow.array([0, 1], pyarrow.timestamp("s"))}))
    assert list(single_columns(moments)) == []


def test_lists_stay_what_they_are() -> None:
    lists = [[1, None], None, [], [[2.5, None], [math.inf]]]
    for values in (lists[:3], lists[3:]):
        table = frame_of(pyarrow.table({"x": values}))
        assert [record["x"] for record in records(table)] == values


def test_columns_of_a_table_are_read_in_any_form() -> None:
    chunks = pyarrow.chunked_array([["a", None], ["b"]])
    for array in (chunks, chunks.dictionary_encode(), chunks.cast(pyarrow.large_string())):
        assert python_values(frame_of(pyarrow.table({"x": array}))["x"]) == ["a", None, "b"]
    single = pyarrow.array([0.5, math.nan, None], pyarrow.float32())
    assert python_values(frame_of(pyarrow.table({"x": single}))["x"]) == [0.5, None, None]
    seeds = [2**64 - 1, 3, None]
    for values in (seeds, seeds[:2]):
        array = pyarrow.array(values, pyarrow.uint64())
        assert python_values(frame_of(pyarrow.table({"x": array}))["x"]) == values
    empty = frame_of(pyarrow.table({"x": pyarrow.chunked_array([], pyarrow.string())}))
    assert python_values(empty["x"]) == []
    assert not meets(empty["x"], read_condition("x=a")).any()
