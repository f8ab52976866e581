"""The group that a user gives: its name, its generators, its Cayley table, or a file with one."""

import json
import os
from pathlib import Path

import numpy as np

from algophase.core.errors import InputError
from algophase.core.group import Group, group_from_table
from algophase.core.named_groups import EXAMPLES, LARGEST_ORDER, named_group

TABLE_FILES = (".csv", ".npy", ".json")
LARGEST_FILE = 16 * 1024**2  # bytes: a table of 1,000 elements has 8 MB at most
FORMS = f"{EXAMPLES}, or a file with its Cayley table ({', '.join(TABLE_FILES)})"


def given_group(asked: object) -> Group:
    """The group that is asked for: a name, generators, a `Group`, a Cayley table (n, n), or the
    path of a file with one.

    A table has the number of x + y in row x, column y. A file is NAME.csv, one row per line;
    NAME.npy; or NAME.json, a list of rows.

    >>> given_group("S3").order, given_group([[0, 1], [1, 0]]).order
    (6, 2)
    """
    if isinstance(asked, Group):
        return asked
    if isinstance(asked, str) and not asked.lower().endswith(TABLE_FILES):
        return _named(asked)
    if isinstance(asked, str | os.PathLike):
        path = Path(asked)
        try:
            return _from_table(_read_table(path))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    if not isinstance(asked, np.ndarray | list | tuple):
        raise InputError(f"group is {asked!r}; give {FORMS}")
    return _from_table(asked)


def _named(name: str) -> Group:
    if Path(name).suffix and Path(name).exists():
        endings = ", ".join(TABLE_FILES)
        raise InputError(f"group is the file {name}; the file of a table ends in {endings}")
    return named_group(name)


def _from_table(table: object) -> Group:
    order = 0
    if isinstance(table, list | tuple) or (isinstance(table, np.ndarray) and table.ndim):
        order = len(table)
    if order > LARGEST_ORDER:
        raise InputError(f"the table has {order:,} rows; at most {LARGEST_ORDER:,} are possible")
    return group_from_table(table)


def _read_table(path: Path) -> object:
    """What the file holds, whatever that is."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise InputError(f"it has {size:,} bytes; a table has {LARGEST_FILE:,} at most")
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False)
        text = path.read_text()
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}") from None
    except (ValueError, EOFError, OverflowError, MemoryError):  # also of a size that is not true
        raise InputError("it is not a NumPy array, or not text") from None
    if path.suffix.lower() == ".json":
        return _from_json(text)
    return _from_lines(text)


def _from_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("it is not JSON: a table is a list of rows") from None


def _from_lines(text: str) -> list[list[int]]:
    """Whole numbers, separated by commas, semicolons, tabs or spaces."""
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.replace(",", " ").replace(";", " ").split()
        if not words:
            continue
        try:
            rows.append([int(word) for word in words])
        except ValueError:
            raise InputError(f"line {number} is not a row of whole numbers") from None
    return rows
