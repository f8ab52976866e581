"""A nested record as columns of one row, and its parts back.

An object's entries are columns with dotted names (`program.norm`), a list of objects has one list
column per entry (`circles.frequency`), and an empty list has none.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def flat_columns(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, value in record.items():
        column = f"{prefix}{name}"
        if isinstance(value, Mapping):
            columns |= flat_columns(value, f"{column}.")
        elif not isinstance(value, list | tuple):
            columns[column] = value
        elif value and all(isinstance(item, Mapping) for item in value):
            columns |= _list_columns(value, f"{column}.")
        elif value:
            columns[column] = value
    return columns


def _list_columns(items: Sequence[Mapping[str, Any]], prefix: str) -> dict[str, list[Any]]:
    flat_items = [flat_columns(item) for item in items]
    names: dict[str, None] = {}
    for item in flat_items:
        names |= dict.fromkeys(item)
    return {f"{prefix}{name}": [item.get(name) for item in flat_items] for name in names}


def part_of(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The columns of an object, without its name before them; null ones are left out."""
    prefix = f"{name}."
    columns = {}
    for column, value in row.items():
        if column.startswith(prefix) and value is not None:
            columns[column.removeprefix(prefix)] = value
    return columns


def items_of(row: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list."""
    return as_items(part_of(row, name))


def as_items(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """One object per element of these columns, which all have the same length."""
    by_item = zip(*columns.values(), strict=True)
    return [dict(zip(columns, values, strict=True)) for values in by_item]
