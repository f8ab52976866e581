"""A table as CSV text that a spreadsheet opens without computing anything."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\n")  # how a cell begins that a spreadsheet computes


def csv_text(columns: Mapping[str, Sequence[Any]], rows: Iterable[int]) -> str:
    """rows: which rows of the columns, in order. What is missing is empty, a list is JSON, numbers are exact.

    Text that a spreadsheet would compute gets an apostrophe.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    for row in rows:
        writer.writerow([_cell(values[row]) for values in columns.values()])
    return file.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool | list | tuple | dict):
        return json.dumps(value, default=str)
    if isinstance(value, int | float):
        return value
    text = "" if value is None else str(value).replace("\r", "\n")  # which the writer does not quote
    return f"'{text}" if text.startswith(FORMULA) else text
