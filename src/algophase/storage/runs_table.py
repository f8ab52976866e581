"""The runs table: Parquet shards in a directory, one row per run, read as one table.

A column that a shard lacks is null for its rows; one that only some shards have is kept. A list of
objects (the circles of `analyze --json`) becomes one list column a field: `circles.frequency`,
`circles.role`, ...

A file may come from anywhere. It is checked before it is used: its checksum, the sizes it declares
(`shard_checks`), the types of its columns, and whether it is of the sweep it lies in (`identity`).
"""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.core.gallery import shipped_sweeps
from algophase.core.settings import TRAINING_CHOICES, TrainingSettings, shown
from algophase.storage._seal import BLANK, is_intact, sealed
from algophase.storage._shard_checks import check_declared, check_types, known_columns
from algophase.storage.files import shipped, size_of
from algophase.storage.identity import IDENTITY, MOMENTS, described, identity

if TYPE_CHECKING:
    import pandas
    import pyarrow
    import pyarrow.parquet

METADATA_KEY = b"algophase"
RUNS_FILE = "runs.parquet"  # of a shard's directory
MOMENTS_FILE = "moments.parquet"  # beside it: its runs along training
KEYS = ("index", "run_id")  # which run a row is
ROWS = 4096  # that are kept together in a file, so that one of them is read without all others
EPOCH = "epoch"  # of a row that is a run along training; a run's own row has no such column
Row = Mapping[str, Any]


def encode_shard(rows: Sequence[Row], about: Mapping[str, Any]) -> bytes:
    """Rows as a Parquet file. about: where they come from, kept in the file's metadata (columns
    hold no times).
    """
    import pyarrow

    names = dict.fromkeys(name for row in rows for name in row)
    arrays = {name: pyarrow.array([row.get(name) for row in rows]) for name in names}
    return encode_table(pyarrow.table(arrays), about)


def encode_table(table: "pyarrow.Table", about: Mapping[str, Any]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    dressed = table.replace_schema_metadata({METADATA_KEY: json.dumps(dict(about)).encode()})
    leaves = dict(_leaf(field) for field in dressed.schema)
    measured = [path for path, kind in leaves.items() if pyarrow.types.is_floating(kind)]
    with pyarrow.parquet.ParquetWriter(
        sink,
        dressed.schema,
        compression="zstd",
        compression_level=9,
        # measured numbers hardly repeat, but their first bytes do: a sixth smaller
        column_encoding=dict.fromkeys(measured, "BYTE_STREAM_SPLIT"),
        use_dictionary=[path for path in leaves if path not in measured],
    ) as writer:
        writer.write_table(dressed, row_group_size=ROWS)
        writer.add_key_value_metadata({"checksum": BLANK})
    return b"".join(sealed(sink.getvalue().to_pybytes()))


def _leaf(field: "pyarrow.Field") -> tuple[str, "pyarrow.DataType"]:
    """Where a column's numbers are in a Parquet file, and their type."""
    import pyarrow

    path = field.name
    kind = field.type
    while pyarrow.types.is_list(kind):
        path = f"{path}.list.element"
        kind = kind.value_type
    return path, kind


def shard_paths(path: Path) -> list[Path]:
    """The Parquet files a path stands for: itself, or those of the shards in a directory, and
    others directly inside it. DIR/moments stands for the moments of the shards in DIR.
    """
    if moments := moments_files(path):
        return moments
    if not path.exists():
        likely = get_close_matches(str(path), shipped_sweeps(), n=1)
        meant = f" (did you mean {likely[0]}?)" if likely else ""
        raise InputError(
            f"{path} does not exist{meant}; give a sweep's directory or a Parquet file, or a "
            "shipped sweep: `algophase runs` lists them"
        )
    if not path.is_dir():
        return [path]
    shards = path.glob(f"runs-*/{RUNS_FILE}")
    files = [entry for entry in path.glob("*.parquet") if not entry.name.startswith(".")]
    if path / RUNS_FILE in files and path / MOMENTS_FILE in files:  # itself a shard
        files.remove(path / MOMENTS_FILE)
    return sorted([*shards, *files])


def moments_files(path: Path) -> list[Path]:
    """The moments of the shards in DIR, where a path is DIR/moments; empty for any other path."""
    if path.name != MOMENTS or path.exists() or not path.parent.is_dir():
        return []
    files = [shard.with_name(MOMENTS_FILE) for shard in shard_paths(path.parent)]
    return [file for file in files if file.exists()]


def _arrow_buffer(path: Path) -> "pyarrow.Buffer":
    """A file's content in memory of Arrow's own.

    A thread of Arrow's pool that lets go of Python's bytes needs the interpreter. Where that is
    ending, the process aborts ("terminate called without an active exception"), after all output
    was right.
    """
    import pyarrow

    size = size_of(path)
    content = pyarrow.allocate_buffer(size)
    try:
        with path.open("rb") as file:
            count = file.readinto(content)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    return content.slice(0, count)


def open_shard(path: Path) -> "pyarrow.parquet.ParquetFile":
    """A Parquet file that is as it was written, and does not declare more than its size can
    hold.
    """
    import pyarrow
    import pyarrow.parquet

    content = _arrow_buffer(path)
    in_shard = path.parent.name.startswith("runs-")
    if not is_intact(content, sealed_by_us=in_shard):
        raise InputError(
            f"{path} does not match its checksum: it was changed or damaged; {_advice(path)}"
        )
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        check_declared(file, content, path)
        return file
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def read_shard(path: Path, columns: Iterable[str] | None = None) -> "pyarrow.Table":
    """One shard, or those of its columns that are asked for and there. An `index` is an integer
    in every row.
    """
    return _read(open_shard(path), path, columns)


def _read(
    file: "pyarrow.parquet.ParquetFile", path: Path, columns: Iterable[str] | None
) -> "pyarrow.Table":
    import pyarrow

    chosen = None
    if columns is not None:
        chosen = [name for name in dict.fromkeys(columns) if name in file.schema_arrow.names]
    try:
        return _checked(file.read(columns=chosen), path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _checked(table: "pyarrow.Table", path: Path) -> "pyarrow.Table":
    """What was read of a shard, each column of the type that is expected of it."""
    table.validate(full=True)  # the text is text
    table = check_types(table, path)
    if "index" in table.column_names:
        _check_index(table["index"], path)
    return table


def is_single(kind: "pyarrow.DataType") -> bool:
    """Whether a column of this type holds single numbers, texts or flags, and no lists."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_number = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    return bool(is_text or is_number or types.is_null(kind))


def read_row(path: Path, row_number: int) -> dict[str, Any]:
    """Every column of one row of a shard, None for what is missing. Other rows are not kept in
    memory.
    """
    import pyarrow

    file = open_shard(path)
    try:
        group = 0
        first = row_number
        while first >= file.metadata.row_group(group).num_rows:
            first -= file.metadata.row_group(group).num_rows
            group += 1
        for batch in file.iter_batches(ROWS, row_groups=[group]):
            if first < batch.num_rows:
                row = pyarrow.Table.from_batches([batch.slice(first, 1)])
                return rows_of(_checked(row, path), path)[0]
            first -= batch.num_rows
    except (pyarrow.ArrowException, OSError, ValueError, IndexError) as error:
        raise _unreadable(path, error) from None
    raise InputError(f"{path} has no row {row_number}: it was changed")


def read_shards(
    shards: Iterable[Path],
    path: str | Path,
    columns: Iterable[str] | None = None,
    problems: list[str] | None = None,
    *,
    only_single: bool = False,
) -> "dict[Path, pyarrow.Table]":
    """Shards of a directory, by their files. One of another sweep is refused: its runs would stand
    among others' unnoticed.

    problems: where given, a shard that cannot be used adds a line to it, and the others are read
        all the same.
    only_single: read no lists, which take most of the memory. `read_row` reads those of one run.
    """
    directory = shipped(path)
    chosen = None if columns is None else list(columns)
    description = described(directory)
    tables: dict[Path, pyarrow.Table] = {}
    owners: dict[int, tuple[str, Path]] = {}
    for shard in shards:
        try:
            file = _open_checked(shard, description)
            table = _read(file, shard, _single_names(file) if only_single else chosen)
            _check_ids(table, shard, owners)
        except InputError as error:
            if problems is None:
                raise
            problems.append(str(error))
        else:
            tables[shard] = table
    return tables


def _open_checked(
    path: Path, description: Mapping[str, Any] | None
) -> "pyarrow.parquet.ParquetFile":
    """A shard of the sweep that a description is of."""
    file = open_shard(path)
    if description is not None:
        _check_belongs(file, path, description)
    return file


class OpenTable:
    """The Parquet files that a path stands for, each read from disk and checked once. Its columns
    can then be asked for as often as needed.
    """

    def __init__(self, path: str | Path) -> None:
        """path: a sweep's directory, DIR/moments of one, a Parquet file or a shipped sweep."""
        self.path = path
        description = described(shipped(path))
        self._files = {shard: _open_checked(shard, description) for shard in shards_of(path)}

    @property
    def column_names(self) -> list[str]:
        """Every column that any of the shards has."""
        columns: dict[str, None] = {}
        for file in self._files.values():
            columns |= dict.fromkeys(file.schema_arrow.names)
        return list(columns)

    def read(self, columns: Iterable[str] | None = None) -> "pyarrow.Table":
        """These columns, by default all, each run once in the order of their index."""
        chosen = None if columns is None else list(columns)
        tables = {shard: _read(file, shard, chosen) for shard, file in self._files.items()}
        check_one_run_per_index(tables)
        return join_once(tables, self.path)

    def calls(self) -> list[dict[str, Any]]:
        """Where the runs come from: one record for each call of `sweep` that made some."""
        records = []
        for shard, file in self._files.items():
            records += calls_of(shard, origin(file.schema_arrow))
        return records


def shard_name(shard: Path) -> str:
    """What a shard is called, by its table: its directory, or the file where it has none."""
    return shard.parent.name if shard.name == RUNS_FILE else shard.name


def calls_of(shard: Path, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What made a shard's runs, by what it says about itself."""
    if isinstance(about.get("shards"), list):
        return about["shards"]
    return [{"shard": shard_name(shard), **about}] if about else []


def _single_names(file: "pyarrow.parquet.ParquetFile") -> list[str]:
    """Columns with one value per run. Known ones that are not so are read, to be refused."""
    must_be_single = frozenset.union(*known_columns())
    return [
        field.name
        for field in file.schema_arrow
        if is_single(field.type) or field.name in must_be_single
    ]


def _check_belongs(
    file: "pyarrow.parquet.ParquetFile", path: Path, description: Mapping[str, Any]
) -> None:
    stated = origin(file.schema_arrow).get(IDENTITY)
    if stated == identity(description):
        return
    why = "it does not say of which it is"
    if stated is not None:
        why = "it is of another space or seed"
    raise InputError(f"{path} is not a shard of the sweep it lies in: {why}; move it elsewhere")


def check_one_run_per_index(tables: "Mapping[Path, pyarrow.Table]") -> None:
    """That no index is one run in one shard and another in another."""
    owners: dict[int, tuple[str, Path]] = {}
    for path, table in tables.items():
        _check_ids(table, path, owners)


def _check_ids(table: "pyarrow.Table", path: Path, owners: dict[int, tuple[str, Path]]) -> None:
    """That no index is another run in another shard. owners: the run and the shard of each index
    so far, and then of these.
    """
    if not {*KEYS} <= {*table.column_names}:
        return
    ids_by_index = dict(zip(table["index"].to_pylist(), table["run_id"].to_pylist(), strict=True))
    for index, run_id in ids_by_index.items():
        owner, owner_path = owners.get(index, (run_id, path))
        if owner != run_id:
            raise InputError(
                f"run {index} is {shown(owner)} in {owner_path} and {shown(run_id)} in {path}: "
                "one is not of this sweep; move it elsewhere"
            )
    owners |= {index: (run_id, path) for index, run_id in ids_by_index.items()}


def _check_index(column: "pyarrow.ChunkedArray", path: Path) -> None:
    import pyarrow

    if pyarrow.types.is_integer(column.type) and not column.null_count:
        return
    for value in column.to_pylist():
        if isinstance(value, bool) or not isinstance(value, int):
            what = "missing" if value is None else shown(value)
            raise InputError(
                f"{path} is not a sweep shard: the index of a run is {what}; it must be an integer"
            )


def join_tables(shards: "Mapping[Path, pyarrow.Table]", path: str | Path) -> "pyarrow.Table":
    """Shards that were read as one table. Either all say which run a row is, or none."""
    import pyarrow

    for key in KEYS:
        without = [shard for shard, table in shards.items() if key not in table.column_names]
        if 0 < len(without) < len(shards):
            raise InputError(
                f"{without[0]} has no column {key!r}, as other files of {path} have: it is not "
                "a sweep shard"
            )
    tables = [table.replace_schema_metadata(None) for table in shards.values()]
    try:
        return pyarrow.concat_tables(tables, promote_options="permissive")
    except pyarrow.ArrowException as error:
        raise InputError(
            f"the shards of {path} do not fit together: {str(error).splitlines()[0]}"
        ) from None


def join_once(shards: "Mapping[Path, pyarrow.Table]", path: str | Path) -> "pyarrow.Table":
    """Shards that were read as one table, each run once in the order of their index."""
    import pyarrow

    joined = join_tables(shards, path)
    try:
        return each_once(joined)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _unusable(path, error) from None


def each_once(table: "pyarrow.Table") -> "pyarrow.Table":
    """Each run once, the first of several with its id, in the order of their index; along
    training, once at each epoch.
    """
    import pyarrow

    names = table.column_names
    order = list(range(table.num_rows))
    if EPOCH not in names and _in_order(table):
        return table
    epochs = table[EPOCH].to_pylist() if EPOCH in names else [None] * table.num_rows
    if "index" in names:
        indices = table["index"].to_pylist()
        order.sort(
            key=lambda row: (
                indices[row] is None,
                indices[row],
                epochs[row] is None,
                epochs[row],
            )
        )
    if "run_id" in names:
        ids = table["run_id"].to_pylist()
        first = dict[Any, int]()
        for row in order:
            first.setdefault(row if ids[row] is None else (ids[row], epochs[row]), row)
        order = list(first.values())
    return table.take(pyarrow.array(order, pyarrow.int64()))


def _in_order(table: "pyarrow.Table") -> bool:
    """Whether the runs are in the order of their index already, and none is there twice: the
    rule in a sweep.
    """
    import pyarrow
    import pyarrow.compute

    if not {*KEYS} <= {*table.column_names} or not pyarrow.types.is_integer(table["index"].type):
        return False
    if table["index"].null_count or table["run_id"].null_count:
        return False
    indices = table["index"].to_numpy()
    ascending = bool((indices[1:] >= indices[:-1]).all())
    return ascending and pyarrow.compute.count_distinct(table["run_id"]).as_py() == table.num_rows


def read_runs(path: str | Path) -> "pandas.DataFrame":
    """Read the runs of a sweep as a DataFrame, each once, by index.

    Arguments:
        path: a sweep's directory, one Parquet file, or the name of a shipped sweep. `moments` in a
            sweep's directory has each run once per epoch.

    Returns:
        One row per run.

    Raises:
        InputError: there is no such table, or it cannot be read.

    Example:
        >>> from algophase import read_runs
        >>> runs = read_runs("wide")  # shipped with the package
        >>> len(runs), runs.width.unique().tolist()
        (48, [1024])
    """
    return to_pandas(join_once(read_shards(shards_of(path), path), path), path)


def to_pandas(table: "pyarrow.Table", path: str | Path) -> "pandas.DataFrame":
    """A table as pandas has it. path: what an error names."""
    import pyarrow

    try:
        return with_published_choices(table.to_pandas())
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _unusable(path, error) from None


def rows_of(table: "pyarrow.Table", path: str | Path) -> list[dict[str, Any]]:
    """Rows, with None for what is missing and what is not a number. path: what an error names."""
    import pyarrow

    try:
        rows = table.to_pylist()
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _unusable(path, error) from None
    for row in rows:
        row |= {name: None for name, value in row.items() if value != value}
    return rows


def with_published_choices(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """A row has a choice of training only where it is not the published one; beside others, those
    have theirs too."""
    published = TrainingSettings()
    for name in TRAINING_CHOICES:
        if name in frame:
            frame[name] = frame[name].fillna(getattr(published, name))
    return frame


def read_ends(path: str | Path) -> "pandas.DataFrame":
    """The same where one row has to be one run: runs along training are refused."""
    runs = read_runs(path)
    refuse_moments(runs.columns, path)
    return runs


def are_moments(columns: Collection[str]) -> bool:
    """Whether rows with these columns are runs along training, several a run."""
    return EPOCH in columns and "run_id" in columns


def refuse_moments(columns: Collection[str], path: str | Path) -> None:
    """Stop where rows are runs along training: what needs one row a run would take each moment
    for a run.
    """
    if are_moments(columns):
        raise InputError(
            f"{path} holds runs along training, a row for each epoch looked at; give the "
            "sweep's own directory"
        )


def shards_of(path: str | Path) -> list[Path]:
    paths = shard_paths(shipped(path))
    if not paths:
        raise InputError(f"{path} holds no runs: there is no Parquet file in it")
    return paths


def origin(schema: "pyarrow.Schema") -> dict[str, Any]:
    metadata = schema.metadata or {}
    try:
        stated = json.loads(metadata.get(METADATA_KEY, b"{}"))
    except ValueError:
        return {}
    return stated if isinstance(stated, dict) else {}


def _unusable(path: str | Path, error: Exception) -> InputError:
    return InputError(f"{path} holds values that cannot be used: {_first_line(error)}")


def _unreadable(path: Path, error: Exception) -> InputError:
    """The system's refusal, which may pass, or what is wrong with the file's content, which has
    no error number.
    """
    if isinstance(error, InputError):
        return error
    if isinstance(error, OSError) and error.errno is not None:
        return InputError(f"cannot read {path}: {os.strerror(error.errno)}")
    return InputError(
        f"{path} is not a readable Parquet file ({_first_line(error)}); {_advice(path)}"
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _advice(path: Path) -> str:
    if path.parent.name.startswith("runs-"):
        return f"remove {path.parent.name}, and the sweep makes its runs again"
    return "give a sweep's directory or a Parquet file"
