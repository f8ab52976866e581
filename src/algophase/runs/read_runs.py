"""Reading a table of runs: a sweep's directory or a Parquet file, as one pandas table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from algophase.core.errors import InputError
from algophase.runs.columns import Rows, frame_of, python_values
from algophase.runs.selection import check_columns
from algophase.storage.runs_table import (
    EPOCH,
    KEYS,
    OpenTable,
    calls_of,
    each_once,
    join_tables,
    moments_files,
    origin,
    read_row,
    read_shards,
    shard_paths,
    with_published_choices,
)
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    import pandas
    import pyarrow

SHARD_ROW = "row of all shards"  # a column for the time of joining them


def is_sweep(path: Path) -> bool:
    """Whether a path is a table of runs rather than networks."""
    if not path.is_dir():
        return path.suffix == ".parquet" or bool(moments_files(path))
    return SweepDirectory(path).exists or bool(shard_paths(path))


def read_frame(table: OpenTable, names: Sequence[str] | None = None) -> "pandas.DataFrame":
    """Columns of a table, by default all. Each run is there once, in the order of their index.

    Columns that tell rows apart come first, named or not: along training each run is there once at
    each epoch.
    """
    if names is None:
        return _frame(table.read(), table.path)
    available = table.column_names
    check_columns(names, available)
    keys = [name for name in (*KEYS, EPOCH) if name in available]
    return _frame(table.read(dict.fromkeys([*keys, *names])), table.path)


def _frame(table: "pyarrow.Table", path: str | Path) -> "pandas.DataFrame":
    import pyarrow

    try:
        return with_published_choices(frame_of(each_once(table)))
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{path} holds values that cannot be used: {reason}") from None


class ShardRows(NamedTuple):
    """In which shard each run of a table is, and in which of its rows.

    Most of a table's memory is in lists, such as a run's circles, which are needed for one run at
    a time: `read` brings them from the run's shard.
    """

    shards: Sequence[Path]
    shard: Rows  # per run, its number among the shards
    row: Rows
    ids: Sequence[Any]

    def read(self, number: int) -> dict[str, Any]:
        """Every column of one run. An InputError where its shard is not what it was."""
        path = self.shards[self.shard[number]]
        row = read_row(path, int(self.row[number]))
        if self.ids and row.get("run_id") != self.ids[number]:
            raise InputError(f"{path} was changed since this page was opened; start it again")
        return row


class ReadShards(NamedTuple):
    """What could be read of a table. frame: each run once, in the order of their index; calls:
    what the shards say of how they were made.
    """

    frame: "pandas.DataFrame"
    calls: Sequence[dict[str, Any]]
    shard_rows: ShardRows | None


def read_usable_shards(
    path: Path,
    problems: list[str],
    columns: Sequence[str] | None = None,
    *,
    only_single: bool = False,
) -> ReadShards:
    """A sweep's directory or a Parquet file. A shard that cannot be used adds a line to `problems`,
    and the others are read.

    columns: by default all. only_single: no lists; `ShardRows` reads those of one run.
    """
    import pandas

    tables = read_shards(shard_paths(path), path, columns, problems, only_single=only_single)
    if not tables:
        return ReadShards(pandas.DataFrame(), [], None)
    calls = list[dict[str, Any]]()
    for shard, part in tables.items():
        calls += calls_of(shard, origin(part.schema))
    frame = _frame(_numbered(join_tables(tables, path)), path)
    rows: Rows = frame.pop(SHARD_ROW).to_numpy()
    starts = numpy.cumsum([0, *(part.num_rows for part in tables.values())])
    shard_numbers: Rows = numpy.searchsorted(starts, rows, side="right") - 1
    ids = python_values(frame["run_id"]) if "run_id" in frame else []
    shard_rows = ShardRows(list(tables), shard_numbers, rows - starts[shard_numbers], ids)
    return ReadShards(frame, calls, shard_rows)


def _numbered(table: "pyarrow.Table") -> "pyarrow.Table":
    """With a column that says which row of all shards each is, before they are sorted."""
    import pyarrow

    return table.append_column(SHARD_ROW, pyarrow.array(numpy.arange(table.num_rows)))
