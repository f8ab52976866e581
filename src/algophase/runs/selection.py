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
    found = _CONDITION.fullmatch(text)
    if found is None or not found[3]:
        raise InputError(
            f"condition is {text!r}; write COLUMN, one of {' '.join(OPERATORS)}, and a value: "
            "attention_rate<0.5"
        )
    value = found[3]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return Condition(found[1], "=" if found[2] == "==" else found[2], value)


def check_columns(wanted: Sequence[str], there: Sequence[str]) -> None:
    for name in wanted:
        if name not in there:
            close = (
                difflib.get_close_matches(name, there, n=5, cutoff=0.5)
                or [known for known in there if name in known][:5]
            )
            hint = (
                f"did you mean {', '.join(close)}?" if close else f"choose from {', '.join(there)}"
            )
            raise InputError(f"there is no column {name!r}; {hint}")


def read_columns(path: Path, wanted: Sequence[str] | None = None) -> dict[str, list[Any]]:
    """Columns of a sweep's directory or a Parquet file, all unless told, each run once, in the
    order of their index.

    Columns that tell rows apart come first, wanted or not: along training each run is there once at
    each epoch.
    """
    there = column_names(path)
    if wanted is not None:
        check_columns(wanted, there)
    keys = [name for name in (*KEYS, EPOCH) if name in there]
    table = read_table(path, None if wanted is None else dict.fromkeys([*keys, *wanted]))
    return python_columns(table, path)


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
    compare, wanted = OPERATORS[condition.operator], wanted_value(condition, kind)
    if condition.operator == "!=":
        return [compare(_comparable(value), wanted) for value in values]
    return [value is not None and compare(_comparable(value), wanted) for value in values]


def _comparable(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def wanted_value(condition: Condition, kind: str) -> Any:
    """A condition's value as the column's kind, which `kind_of` names."""
    value, column = condition.value.casefold(), condition.column
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
    """Places of the rows that meet all conditions; sort: a column to order by, from the top with
    a leading "-".
    """
    name = None if sort is None else sort.removeprefix("-")
    check_columns(
        [*(condition.column for condition in conditions), *([] if name is None else [name])],
        list(columns),
    )
    places = list(range(len(next(iter(columns.values()), []))))
    for condition in conditions:
        met = matches(condition, columns[condition.column])
        places = [place for place in places if met[place]]
    if sort is None or name is None:
        return places
    values = columns[name]
    kind_of(name, values)
    missing = [place for place in places if values[place] is None]
    held = [place for place in places if values[place] is not None]
    return sorted(held, key=lambda place: values[place], reverse=sort.startswith("-")) + missing
