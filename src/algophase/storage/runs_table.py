"""The runs table: Parquet shards in a directory, one row a run, read as one table whatever version wrote each shard.

A column that a shard lacks is null for its rows; one that only some shards have is kept. A list of objects (the circles of
`analyze --json`) becomes one list column a field: `circles.frequency`, `circles.role`, ...
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.errors import InputError
from algophase.storage.files import write_atomically

if TYPE_CHECKING:
    import pandas
    import pyarrow

METADATA_KEY = b"algophase"
Row = Mapping[str, Any]


def flat_columns(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested record as columns: an object's fields under dotted names, a list of objects as one list a field."""
    columns: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            columns |= flat_columns(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
            columns |= {f"{prefix}{name}.{key}": items for key, items in _by_field(value).items()}
        elif not isinstance(value, list | tuple) or value:
            columns[f"{prefix}{name}"] = value
    return columns


def _by_field(items: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    flat = [flat_columns(item) for item in items]
    names = dict.fromkeys(name for item in flat for name in item)
    return {name: [item.get(name) for item in flat] for name in names}


def encode_shard(rows: Sequence[Row], about: Mapping[str, Any]) -> bytes:
    """Rows as a Parquet file. about: where they come from, kept in the file's metadata (columns hold no times)."""
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys(name for row in rows for name in row)
    arrays = {name: pyarrow.array([row.get(name) for row in rows]) for name in names}
    table = pyarrow.table(arrays).replace_schema_metadata({METADATA_KEY: json.dumps(dict(about)).encode()})
    return encode_table(table)


def encode_table(table: "pyarrow.Table") -> bytes:
    import pyarrow
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd", compression_level=9)
    return sink.getvalue().to_pybytes()


def write_shard(path: Path, rows: Sequence[Row], about: Mapping[str, Any]) -> None:
    write_atomically(path, encode_shard(rows, about))


def shard_paths(path: Path) -> list[Path]:
    """The Parquet files a path stands for: itself, or those directly inside a directory."""
    if not path.exists():
        raise InputError(f"{path} does not exist; give a sweep's directory or a Parquet file")
    if not path.is_dir():
        return [path]
    return sorted(entry for entry in path.iterdir() if entry.suffix == ".parquet" and not entry.name.startswith("."))


def read_shard(path: Path, columns: Iterable[str] | None = None) -> "pyarrow.Table":
    """One shard, or those of its columns that are asked for and there."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            there = file.schema_arrow.names
            wanted = None if columns is None else [name for name in columns if name in there]
            return file.read(columns=wanted)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} is not a readable Parquet file ({reason}); remove it, and a sweep makes its runs again"
        ) from None


def read_table(path: str | Path, columns: Iterable[str] | None = None) -> "pyarrow.Table":
    """All shards as one table. Types of a column that differ between shards are joined where that loses nothing."""
    import pyarrow

    path = Path(path)
    paths = shard_paths(path)
    if not paths:
        raise InputError(f"{path} holds no runs: there is no Parquet file in it")
    wanted = None if columns is None else list(columns)
    tables = [read_shard(shard, wanted).replace_schema_metadata(None) for shard in paths]
    try:
        return pyarrow.concat_tables(tables, promote_options="permissive")
    except pyarrow.ArrowException as error:
        raise InputError(f"the shards of {path} do not fit together: {str(error).splitlines()[0]}") from None


def read_runs(path: str | Path) -> "pandas.DataFrame":
    """The runs of a sweep's directory or of one Parquet file, each once, in the order of their index."""
    table = read_table(path)
    runs = table.to_pandas()
    if "index" in runs:
        runs = runs.sort_values("index", kind="stable")
    if "run_id" in runs:
        runs = runs.drop_duplicates("run_id")
    return runs.reset_index(drop=True)


def provenance(path: Path) -> dict[str, Any]:
    """What a shard says about where it comes from; empty where it says nothing readable."""
    import pyarrow
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
        found = json.loads(metadata.get(METADATA_KEY, b"{}"))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable Parquet file ({str(error).splitlines()[0]})") from None
    return found if isinstance(found, dict) else {}
