"""Single Parquet files of runs, written and read as no command does it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow

from algophase.storage.files import write_atomically
from algophase.storage.runs_table import (
    Row,
    encode_shard,
    join_tables,
    open_shard,
    origin,
    read_shards,
    shards_of,
)


def write_shard(path: Path, rows: Sequence[Row], about: Mapping[str, Any]) -> None:
    write_atomically(path, encode_shard(rows, about))


def read_table(path: str | Path, columns: Iterable[str] | None = None) -> pyarrow.Table:
    """All shards as one table, a run in two of them twice."""
    return join_tables(read_shards(shards_of(path), path, columns), path)


def provenance(path: Path) -> dict[str, Any]:
    """What a shard says about where it comes from; empty where it says nothing readable."""
    return origin(open_shard(path).schema_arrow)
