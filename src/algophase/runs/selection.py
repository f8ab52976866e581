"""Some rows of a runs table, in some order. A condition is read, never executed."""

import difflib
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from algophase.core.errors import InputError
from algophase.runs.columns import (
    FLAGS,
    NOTHING,
    NUMBERS,
    TEXT,
    Rows,
    kind_of,
    numbers_in,
    python_values,
)

if TYPE_CHECKING:
    import pandas

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
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


def meets(column: "pandas.Series[Any]", condition: Condition) -> NDArray[numpy.bool_]:
    """Which runs meet a condition. A missing value meets `=null` and every `!=` but `!=null`,
    whatever the column holds.
    """
    missing: NDArray[numpy.bool_] = column.isna().to_numpy()
    if condition.value.casefold() == "null":
        if condition.operator not in ("=", "!="):
            raise InputError(f"condition is {str(condition)!r}; null has no order: use = or !=")
        return missing == (condition.operator == "=")
    try:
        kind = kind_of(condition.column, column)
    except InputError:
        raise InputError(
            f"condition is {str(condition)!r}; column {condition.column} holds no single "
            "values: compare it with null only"
        ) from None
    compare = OPERATORS[condition.operator]
    limit = _limit(condition, kind)
    if kind == NOTHING:
        met = numpy.zeros(len(column), dtype=bool)
    elif kind == TEXT:
        met = _by_text(column, lambda text: compare(text.casefold(), limit))
    else:
        met = compare(numbers_in(column), limit)
    return numpy.where(missing, condition.operator == "!=", met)


def _by_text(column: "pandas.Series[Any]", is_met: Callable[[str], bool]) -> NDArray[numpy.bool_]:
    """Each of the different texts is asked about once."""
    codes, texts = column.factorize()
    of_missing = False  # whose code is -1
    return numpy.array([*map(is_met, texts), of_missing], dtype=bool)[codes]


def _limit(condition: Condition, kind: str) -> Any:
    """A condition's value as the column's kind, which `kind_of` names."""
    value = condition.value.casefold()
    column = condition.column
    if kind in (TEXT, FLAGS) and condition.operator not in ("=", "!="):
        raise InputError(
            f"condition is {str(condition)!r}; column {column} holds {kind}: use = or !="
        )
    if kind == NUMBERS:
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
    if kind == FLAGS:
        if value not in ("true", "false"):
            raise InputError(
                f"condition is {str(condition)!r}; column {column} holds true and false: "
                "compare it with one of them"
            )
        return value == "true"
    return value


def select(
    frame: "pandas.DataFrame", conditions: Sequence[Condition] = (), sort: str | None = None
) -> Rows:
    """The rows that meet all conditions. sort: a column to order by, from the top with a leading
    "-"; what is missing comes last.
    """
    names = [condition.column for condition in conditions]
    if sort is not None:
        names.append(sort.removeprefix("-"))
    check_columns(names, list(frame))
    kept = numpy.ones(len(frame), dtype=bool)
    for condition in conditions:
        kept &= meets(frame[condition.column], condition)
    rows: Rows = numpy.flatnonzero(kept)
    return rows if sort is None else _sorted(frame, rows, sort)


def _sorted(frame: "pandas.DataFrame", rows: Rows, sort: str) -> Rows:
    name = sort.removeprefix("-")
    kind_of(name, frame[name])  # refuses what has no order
    values = python_values(frame[name])
    missing = [row for row in rows.tolist() if values[row] is None]
    present = [row for row in rows.tolist() if values[row] is not None]
    present.sort(key=values.__getitem__, reverse=sort.startswith("-"))
    return numpy.array([*present, *missing], dtype=numpy.int64)
