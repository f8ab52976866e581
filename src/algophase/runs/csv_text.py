"""A table as CSV text that a spreadsheet opens without computing anything."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

FORMULA = ("=", "+", "-", "@", "\t", "\n")  # how a cell begins that a spreadsheet computes


PIECE = 1000  # rows


class Values(Protocol):
    """A column: a list, or one of a table that is kept as arrays."""

    def __getitem__(self, row: int, /) -> Any: ...


def csv_text(columns: Mapping[str, Values], rows: Iterable[int]) -> str:
    """rows: which rows of the columns, in order. What is missing is empty, a list is JSON, numbers
    are exact.

    Text that a spreadsheet would compute gets an apostrophe.
    """
    return "".join(csv_pieces(columns, rows))


def csv_pieces(columns: Mapping[str, Values], rows: Iterable[int]) -> Iterator[str]:
    """The same text piece by piece: that of a large table is never in memory as a whole."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    for number, row in enumerate(rows, 1):
        writer.writerow([_cell(values[row]) for values in columns.values()])
        if number % PIECE == 0:
            yield file.getvalue()
            file.seek(0)
            file.truncate()
    yield file.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool | list | tuple | dict):
        return json.dumps(value, default=str)
    if isinstance(value, int | float):
        return value
    text = (
        "" if value is None else str(value).replace("\r", "\n")
    )  # which the writer does not quote
    return f"'{text}" if text.startswith(FORMULA) else text
