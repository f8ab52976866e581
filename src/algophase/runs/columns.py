"""Columns of a table of runs, as pandas has them: what a column holds, and its values.

Text, numbers and flags have pandas' own types. Where a run has no value, a column of integers is
`Int64` and one of flags `boolean`: as floats, 7 would come back as 7.0. Lists stay lists.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from algophase.core.errors import InputError
from algophase.runs.statistics import Floats

if TYPE_CHECKING:
    import pandas
    import pyarrow

Rows = NDArray[numpy.int64]  # numbers of rows, from 0
SURVEY_DIGEST = "survey_digest"  # a column that only tables of networks from files have
NUMBERS, TEXT, FLAGS, NOTHING = "numbers", "text", "true and false", "nothing"
# What pandas calls the values of a column of Python objects
INFERRED = {
    "boolean": FLAGS,
    "string": TEXT,
    "integer": NUMBERS,
    "floating": NUMBERS,
    "mixed-integer-float": NUMBERS,
}
FIRST_LOOK = 1000  # values that show whether a column has many different ones


def frame_of(table: "pyarrow.Table") -> "pandas.DataFrame":
    """An Arrow table as pandas columns that lose nothing."""
    import pandas

    columns = zip(table.column_names, table.columns, strict=True)
    return pandas.DataFrame({name: _series(column) for name, column in columns})


def _series(column: "pyarrow.Array | pyarrow.ChunkedArray") -> "pandas.Series[Any]":
    import pandas
    import pyarrow

    kind = column.type
    if pyarrow.types.is_nested(kind):  # as arrays, what is missing in a list would become NaN
        return pandas.Series(column.to_pylist(), dtype=object)
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    nullable: dict[pyarrow.DataType, Any] = {}
    if column.null_count and pyarrow.types.is_integer(kind):
        unsigned = pyarrow.types.is_uint64(kind)
        nullable[kind] = pandas.UInt64Dtype() if unsigned else pandas.Int64Dtype()
    elif column.null_count and pyarrow.types.is_boolean(kind):
        nullable[kind] = pandas.BooleanDtype()
    return column.to_pandas(types_mapper=nullable.get)


def frame_of_rows(rows: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
    """Rows with any columns as one table. A column of values that are not of one type keeps them
    as they are.
    """
    import pandas
    import pyarrow

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = _series(pyarrow.array(values))
        except (pyarrow.ArrowException, OverflowError):
            columns[name] = pandas.Series(values, dtype=object)
    return pandas.DataFrame(columns)


def kind_of(name: str, column: "pandas.Series[Any]") -> str:
    """What a column holds: "numbers", "text", "true and false", or "nothing". One of lists, or of
    several kinds, is refused.
    """
    import pandas

    if not column.notna().any():
        return NOTHING
    types = pandas.api.types
    if types.is_bool_dtype(column.dtype):
        return FLAGS
    if types.is_numeric_dtype(column.dtype):
        return NUMBERS
    if isinstance(column.dtype, pandas.StringDtype):
        return TEXT
    inferred = types.infer_dtype(column, skipna=True)
    if inferred in INFERRED:
        return INFERRED[inferred]
    classes = {type(value).__name__ for value in python_values(column) if value is not None}
    raise InputError(f"column {name} holds {', '.join(sorted(classes))}: it has no order to go by")


def single_columns(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """The columns with one value per run, of one kind."""
    names = []
    for name in frame:
        try:
            kind_of(name, frame[name])
        except InputError:
            continue
        names.append(name)
    return frame[names]


def numbers_in(column: "pandas.Series[Any]") -> Floats:
    """Values as float64, NaN for what is missing; true and false are 1 and 0."""
    return column.to_numpy(numpy.float64, na_value=numpy.nan)


def numbers_or_missing(column: "pandas.Series[Any]") -> "pandas.Series[float]":
    """A column of numbers; what a table from elsewhere has in their place is missing."""
    import pandas

    return pandas.to_numeric(column, errors="coerce").astype(float)


def group_names(frame: "pandas.DataFrame") -> "pandas.Series[Any]":
    """The group of each run: as the table names it, or the cyclic group of its modulus. A table
    names no cyclic group.
    """
    moduli = numbers_or_missing(frame["modulus"])
    cyclic = moduli.map(lambda modulus: f"Z{modulus:.0f}", na_action="ignore")
    if "group" not in frame:
        return cyclic
    return frame["group"].where(_has_group(frame["group"]), cyclic)


def on_other_groups(frame: "pandas.DataFrame") -> "pandas.Series[bool]":
    """Whether each run is on a group that is not cyclic."""
    import pandas

    if "group" not in frame:
        return pandas.Series(False, index=frame.index)
    names = frame["group"].astype(str)
    return _has_group(frame["group"]) & ~names.str.fullmatch(r"Z\d+")


def _has_group(column: "pandas.Series[Any]") -> "pandas.Series[bool]":
    return column.map(lambda name: isinstance(name, str) and name != "").astype(bool)


def python_values(column: "pandas.Series[Any]") -> list[Any]:
    """Values as Python objects, None for what is missing."""
    values = column.tolist()
    if column.dtype == object:
        values = [_without_arrays(value) for value in values]
    for row in numpy.flatnonzero(column.isna().to_numpy()).tolist():
        values[row] = None
    return values


def python_value(value: Any) -> Any:
    """A single value of a column as a Python object, None for what is missing."""
    import pandas

    value = _without_arrays(value)
    if isinstance(value, list | tuple | dict):
        return value
    if pandas.isna(value):
        return None
    return value.item() if isinstance(value, numpy.generic) else value


def _without_arrays(value: Any) -> Any:
    """Lists in place of the arrays that pandas makes of a table's lists."""
    if isinstance(value, numpy.ndarray):
        return [_without_arrays(item) for item in value.tolist()]
    return value


def varies(column: "pandas.Series[Any]") -> bool:
    """Whether runs differ in it. Those that have no value differ from those that have one."""
    missing = column.isna()
    if missing.any() or not len(column):
        return not missing.all()
    return bool((column != column.iloc[0]).any())


def few_values(column: "pandas.Series[Any]", most: int) -> list[Any] | None:
    """Its different values in order, if there are no more than `most`."""
    present = column.dropna()
    # Of a measured quantity, a few runs show that it has many values, and not all need sorting.
    if present.iloc[:FIRST_LOOK].nunique() > most:
        return None
    different = present.drop_duplicates().tolist()
    return sorted(different) if len(different) <= most else None


class Columns:
    """What the columns of a table hold. What is looked up is kept: a page asks for the same columns
    again and again.
    """

    def __init__(self, frame: "pandas.DataFrame") -> None:
        self.frame = frame
        self._finite: dict[str, Floats] = {}
        self._codes: dict[str, tuple[Rows, list[str]]] = {}

    @functools.cached_property
    def kinds(self) -> dict[str, str]:
        """What each column holds, as `kind_of` says."""
        return {name: kind_of(name, self.frame[name]) for name in self.frame}

    @functools.cached_property
    def varying(self) -> set[str]:
        """The columns in which runs differ."""
        return {name for name in self.frame if varies(self.frame[name])}

    def finite(self, name: str) -> Floats:
        """A column as float64, NaN for what is missing or infinite; true and false are 1 and 0."""
        if name not in self._finite:
            values = numbers_in(self.frame[name])
            self._finite[name] = numpy.where(numpy.isfinite(values), values, numpy.nan)
        return self._finite[name]

    def codes(self, name: str) -> tuple[Rows, list[str]]:
        """A column of text as the number of each run's text among the different ones, -1 where a
        run has none; and these texts.
        """
        if name not in self._codes:
            codes, texts = self.frame[name].factorize()
            self._codes[name] = codes, list(texts)
        return self._codes[name]

    def by_text(self, name: str, rows: Rows) -> dict[str, Rows]:
        """Of these rows, those with each text of a column; "none" for those without a text."""
        codes, texts = self.codes(name)
        members = dict[str, Rows]()
        for code in numpy.unique(codes[rows]).tolist():
            text = "none" if code < 0 else texts[code]
            members[text] = rows[codes[rows] == code]
        return members

    @functools.cached_property
    def rows_by_id(self) -> dict[str, int]:
        """The row of each run id."""
        if self.kinds.get("run_id") != TEXT:
            return {}
        ids = python_values(self.frame["run_id"])
        return {run_id: row for row, run_id in enumerate(ids) if run_id is not None}

    def value(self, name: str, row: int) -> Any:
        """The value of one run as a Python object, None where it has none."""
        return python_value(self.frame[name].iat[row])

    def row(self, row: int) -> dict[str, Any]:
        """Every column of one run."""
        return {name: self.value(name, row) for name in self.frame}

    def texts(self, name: str, rows: Sequence[int] | Rows) -> list[str]:
        """What a column says of these rows, such as their ids; "" in a table without it."""
        if name not in self.frame:
            return [""] * len(rows)
        return list(map(str, python_values(self.frame[name].iloc[rows])))


def records(frame: "pandas.DataFrame") -> list[dict[str, Any]]:
    """Rows as dicts of Python objects."""
    columns = [python_values(frame[name]) for name in frame]
    return [dict(zip(frame, values, strict=True)) for values in zip(*columns, strict=True)]
