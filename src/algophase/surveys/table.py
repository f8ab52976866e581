"""The table of a survey, and the list of files that have no row. Both are files that are replaced
as a whole, so a killed survey leaves an old or a new one.
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from algophase.core.errors import InputError
from algophase.core.wording import printable
from algophase.runs.columns import SURVEY_DIGEST
from algophase.storage.files import read_bytes, write_atomically
from algophase.storage.runs_table import encode_shard, open_shard, origin
from algophase.surveys.network_row import DIED, Problem
from algophase.sweeps.provenance import commit, version

DIGEST = SURVEY_DIGEST  # names all that a row depends on
# What one looks for first. The other columns follow by name, so that a table does not depend on
# the order in which files came.
FIRST = ("index", "run_id", "id", "path", "verdict", "accuracy", "kind", "group", "modulus")
LIST_COLUMNS = ("path", "what", "reason", DIGEST)
UNREADABLE, OTHER = "unreadable", "not a network"  # what a file without a row is


def list_path(table: Path) -> Path:
    """The file beside a table that lists files without a row."""
    return table.with_name(f"{table.stem}.unread.csv")


def encode_rows(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> bytes:
    """Rows as a Parquet file, each column of one type. about: beside the version and the date."""
    record = {
        **about,
        "version": version(),
        "commit": commit(),
        "device": "cpu",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": len(rows),
    }
    return encode_shard(of_one_type(rows), record)


def of_one_type(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Parquet wants one type per column, but `outputs` of a task is a word and of a wrapped
    module a number.
    """
    kinds = dict[str, set[bool]]()  # by column, whether its values are text
    for row in rows:
        for name, value in row.items():
            if value is not None:
                kinds.setdefault(name, set()).add(isinstance(value, str))
    mixed = [name for name, are_text in kinds.items() if len(are_text) > 1]
    converted = []
    for row in rows:
        in_words = {name: str(row[name]) for name in mixed if row.get(name) is not None}
        converted.append({**row, **in_words})
    return converted


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], command: str) -> None:
    """Rows by path, with names that are unique among them."""
    ordered = sorted(rows, key=lambda row: str(row["path"]))
    count = Counter(row["id"] for row in ordered)
    filled = {"index"}
    for row in ordered:
        filled |= {name for name, value in row.items() if value is not None}
    columns = [name for name in FIRST if name in filled]
    columns += sorted(filled - set(columns))
    table = []
    for index, row in enumerate(ordered):
        name = row["id"]
        if count[name] > 1:
            name += f"-{hashlib.sha256(row['path'].encode()).hexdigest()[:6]}"
        complete = {**row, "run_id": name, "index": index}
        table.append({column: complete.get(column) for column in columns})
    write_atomically(path, encode_rows(table, {"command": command, "survey": True}))


def write_list(table: Path, problems: Sequence[Mapping[str, Any]]) -> None:
    """The files without a row, as CSV. Where there are none, there is no such file."""
    path = list_path(table)
    if not problems:
        path.unlink(missing_ok=True)
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, LIST_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(problems, key=lambda problem: str(problem["path"])))
    write_atomically(path, text.getvalue().encode())


def read_list(table: Path) -> list[dict[str, Any]]:
    """The files without a row by an earlier call. What cannot be read is asked again."""
    path = list_path(table)
    if not path.exists():
        return []
    text = read_bytes(path).decode(errors="replace")
    problems = list[dict[str, Any]]()
    for problem in csv.DictReader(io.StringIO(text)):
        is_complete = set(problem) == set(LIST_COLUMNS)
        if is_complete and not problem["reason"].startswith(DIED):
            problems.append(problem)
    return problems


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an earlier call, without what is empty; none where there is no file."""
    if not path.exists():
        return []
    file = open_shard(path)
    if origin(file.schema_arrow).get("survey") is not True:
        raise InputError(f"{path} is not the table of a survey; give another name")
    rows = file.read().to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def problem_row(path: Path, digest: str, problem: Problem) -> dict[str, Any]:
    return {
        "path": text_of_path(path),
        "what": UNREADABLE if problem.is_network else OTHER,
        "reason": printable(problem.reason),
        DIGEST: digest,
    }


def text_of_path(path: Path) -> str:
    """A path as a table can hold it: not every name of a file is text."""
    return str(path).encode(errors="surrogateescape").decode(errors="replace")
