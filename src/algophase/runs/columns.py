"""Columns with one value per run, kept as arrays: numbers as they are, text as numbers of its
different values.

A table of 200,000 runs takes 0.1 GB like this, and 3 GB as lists of Python objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from algophase.core.errors import InputError
from algophase.runs.selection import OPERATORS, Condition, wanted_value
from algophase.runs.statistics import Floats

if TYPE_CHECKING:
    import pyarrow

Flags = NDArray[numpy.bool_]


@dataclass(frozen=True, eq=False)
class Column:
    """One value per run, or none.

    kind: "numbers", "text", "true and false" or "nothing", as `kind_of` has it.
    values: numbers, or for text the place of each in `texts`; of no meaning where `missing`.
    """

    kind: str
    values: NDArray[Any]
    missing: Flags
    texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int) -> Any:
        """The value of one run as a Python object, None where it has none."""
        if self.missing[row]:
            return None
        value = self.values[row].item()
        return self.texts[value] if self.kind == "text" else value

    def tolist(self) -> list[Any]:
        """All values as Python objects. For columns that are short or few."""
        values = self.values.tolist()
        if self.kind == "text":
            values = [self.texts[code] for code in values]
        for row in numpy.flatnonzero(self.missing).tolist():
            values[row] = None
        return values

    @cached_property
    def numbers(self) -> Floats:
        """As float64, NaN for what is missing or infinite; true and false are 1 and 0."""
        if self.kind == "text":
            raise TypeError("a column of text has no numbers")
        numbers = self.values.astype(numpy.float64)
        numbers[self.missing | ~numpy.isfinite(numbers)] = numpy.nan
        return numbers

    @cached_property
    def varies(self) -> bool:
        """Whether runs differ in it. Some that have no value differ from those that have one."""
        if self.missing.all():
            return False
        if self.missing.any():
            return True
        return bool((self.values != self.values[0]).any())

    def few_values(self, most: int) -> list[Any] | None:
        """Its different values in order, if there are no more than `most`."""
        present = self.values[~self.missing]
        # A thousand runs of a measured quantity show that it has many values, and need no sorting
        # of all.
        if len(numpy.unique(present[:1000])) > most:
            return None
        different = numpy.unique(present)
        if len(different) > most:
            return None
        if self.kind == "text":
            return sorted(self.texts[code] for code in different.tolist())
        return list(different.tolist())

    def meets(self, condition: Condition) -> Flags:
        """Which runs meet a condition, by the rules of `selection.matches`."""
        if condition.value.casefold() == "null":
            if condition.operator not in ("=", "!="):
                raise InputError(f"condition is {str(condition)!r}; null has no order: use = or !=")
            return self.missing == (condition.operator == "=")
        operand = wanted_value(condition, self.kind)
        compare = OPERATORS[condition.operator]
        if self.kind == "nothing":
            met = numpy.zeros(len(self), dtype=bool)
        elif self.kind == "text":
            by_text = [compare(text.casefold(), operand) for text in self.texts]
            met = numpy.array(by_text, dtype=bool)[self.values]
        else:
            met = numpy.asarray(compare(self.values, operand))
        return numpy.where(self.missing, condition.operator == "!=", met)


def text_column(texts: Sequence[str], codes: NDArray[Any]) -> Column:
    """Texts by their places in `texts`; -1 for none."""
    missing = codes < 0
    kind = "nothing" if missing.all() else "text"
    return Column(kind, numpy.where(missing, 0, codes), missing, tuple(texts))


def column_of(values: "Sequence[Any] | pyarrow.Array | pyarrow.ChunkedArray") -> Column | None:
    """A column of a table, or a list, as arrays; None where it has no single values of one kind:
    lists, dates.
    """
    import pyarrow

    if not isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        try:
            values = pyarrow.array(list(values))
        except (pyarrow.ArrowException, OverflowError):
            return None
    return _of_arrow(values)


def _of_arrow(array: "pyarrow.Array | pyarrow.ChunkedArray") -> Column | None:
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    kind = array.type
    missing: Flags = (
        array.is_null().to_numpy(zero_copy_only=False) if len(array) else numpy.zeros(0, dtype=bool)
    )
    if types.is_null(kind):
        return Column("nothing", numpy.zeros(len(array)), missing)
    if types.is_string(kind) or types.is_large_string(kind):
        return _of_text(array)
    if types.is_boolean(kind):
        values = array.fill_null(False).to_numpy(zero_copy_only=False)
        name = "true and false"
    elif types.is_integer(kind):
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
        name = "numbers"
    elif types.is_floating(kind):
        values = array.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
        name = "numbers"
        missing = missing | numpy.isnan(values)
    else:
        return None
    return Column("nothing" if missing.all() else name, values, missing)


def _of_text(array: "pyarrow.Array | pyarrow.ChunkedArray") -> Column:
    import pyarrow

    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pyarrow.ChunkedArray):  # too much text for one array
        array = pyarrow.concat_arrays(
            [chunk.cast(pyarrow.large_string()) for chunk in array.chunks]
        )
    encoded = array.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return text_column(encoded.dictionary.to_pylist(), codes)
