"""A table as CSV text that a spreadsheet opens without computing anything."""

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from algophase.runs.columns import python_values

if TYPE_CHECKING:
    import pandas

FORMULA = ("=", "+", "-", "@", "\t", "\n")  # how a cell begins that a spreadsheet computes
PIECE = 1000  # rows


def csv_text(frame: "pandas.DataFrame") -> str:
    """What is missing is empty, a list is JSON, numbers are exact. Text that a spreadsheet would
    compute gets an apostrophe.
    """
    return "".join(csv_pieces(frame))


def csv_pieces(frame: "pandas.DataFrame") -> Iterator[str]:
    """The same text piece by piece: that of a large table is never in memory as a whole."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(name) for name in frame])
    for start in range(0, len(frame), PIECE):
        part = frame.iloc[start : start + PIECE]
        columns = [map(_cell, python_values(part[name])) for name in part]
        writer.writerows(zip(*columns, strict=True))
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
