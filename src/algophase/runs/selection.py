"""Some rows of a runs table, in some order. A condition is read, never executed."""

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from algophase.core.errors import InputError
from algophase.storage.runs_table import EPOCH, KEYS, column_names, python_columns, read_table

Columns = Mapping[str, list[Any]]  # of equal length, None for what is missing
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONDITION = re.compile(r"\s*([^\s=!<>]+)\s*(<=|>=|!=|==?|<|>)\s*(.*?)\s*", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """`column operator value`, such as attention_rate<0.5. The value is text until the column
    says what it holds.
    """

    column: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.column}{self.operator}{self.value}"


def read_condition(text: str) -> Condition:
    parts = _CONDITION.fullmatch(text)
    if parts is None or not parts[3]:
        raise InputError(
            f"condition is {text!r}; write COLUMN, one of {' '.join(OPERATORS)}, and a value: "
            "attention_rate<0.5"
        )
    column, comparison, value = parts.groups()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return Condition(column, "=" if comparison == "==" else comparison, value)


def check_columns(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse a name that is not among the columns, with the nearest ones that are."""
    for name in names:
        if name in columns:
            continue
        close = difflib.get_close_matches(name, columns, n=5, cutoff=0.5)
        if not close:
            close = [column for column in columns if name in column][:5]
        hint = f"choose from {', '.join(columns)}"
        if close:
            hint = f"did you mean {', '.join(close)}?"
        raise InputError(f"there is no column {name!r}; {hint}")


def read_columns(path: Path, names: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Columns of a sweep's directory or a Parquet file, all unless told, each run once, in the
    order of their index.

    Columns that tell rows apart come first, named or not: along training each run is there once at
    each epoch.
    """
    columns = column_names(path)
    if names is None:
        return python_columns(read_table(path, None), path)
    check_columns(names, columns)
    keys = [name for name in (*KEYS, EPOCH) if name in columns]
    return python_columns(read_table(path, dict.fromkeys([*keys, *names])), path)


def kind_of(name: str, values: Sequence[Any]) -> str:
    """What a column holds: "numbers", "text", "true and false", or "nothing"."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return "nothing"
    for kind, types in (("true and false", {bool}), ("numbers", {int, float}), ("text", {str})):
        if kinds <= types:
            return kind
    raise InputError(
        f"column {name} holds {', '.join(sorted(kind.__name__ for kind in kinds))}: it has no "
        "order to go by"
    )


def matches(condition: Condition, values: Sequence[Any]) -> list[bool]:
    """Which values meet a condition. A missing one meets `=null` and every `!=` but `!=null`,
    whatever the column holds.
    """
    if condition.value.casefold() == "null":
        if condition.operator not in ("=", "!="):
            raise InputError(f"condition is {str(condition)!r}; null has no order: use = or !=")
        return [(value is None) == (condition.operator == "=") for value in values]
    try:
        kind = kind_of(condition.column, values)
    except InputError:
        raise InputError(
            f"condition is {str(condition)!r}; column {condition.column} holds no single "
            "values: compare it with null only"
        ) from None
    compare = OPERATORS[condition.operator]
    limit = wanted_value(condition, kind)
    if condition.operator == "!=":
        return [compare(_comparable(value), limit) for value in values]
    return [value is not None and compare(_comparable(value), limit) for value in values]


def _comparable(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def wanted_value(condition: Condition, kind: str) -> Any:
    """A condition's value as the column's kind, which `kind_of` names."""
    value = condition.value.casefold()
    column = condition.column
    if kind in ("text", "true and false") and condition.operator not in ("=", "!="):
        raise InputError(
            f"condition is {str(condition)!r}; column {column} holds {kind}: use = or !="
        )
    if kind == "numbers":
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise InputError(
                f"condition is {str(condition)!r}; column {column} holds numbers: compare it "
                "with one, or with null"
            )
        return number
    if kind == "true and false":
        if value not in ("true", "false"):
            raise InputError(
                f"condition is {str(condition)!r}; column {column} holds true and false: "
                "compare it with one of them"
            )
        return value == "true"
    return value


def select(
    columns: Columns, conditions: Sequence[Condition] = (), sort: str | None = None
) -> list[int]:
    """Indices of the rows that meet all conditions; sort: a column to order by, from the top with
    a leading "-".
    """
    names = [condition.column for condition in conditions]
    if sort is not None:
        names.append(sort.removeprefix("-"))
    check_columns(names, list(columns))
    rows = list(range(len(next(iter(columns.values()), []))))
    for condition in conditions:
        met = matches(condition, columns[condition.column])
        rows = [row for row in rows if met[row]]
    if sort is None:
        return rows
    name = sort.removeprefix("-")
    values = columns[name]
    kind_of(name, values)  # refuses what has no order
    without = [row for row in rows if values[row] is None]
    sortable = [row for row in rows if values[row] is not None]
    sortable.sort(key=values.__getitem__, reverse=sort.startswith("-"))
    return sortable + without
