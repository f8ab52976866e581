"""Partial sweeps of one space, from several machines, joined into one directory with one shard."""

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.storage.identity import same_sweep
from algophase.storage.runs_table import (
    KEYS,
    each_once,
    join_tables,
    origin,
    read_shards,
    shard_name,
    shard_paths,
)
from algophase.storage.sweep_directory import SweepDirectory, snapshots_of
from algophase.sweeps._origins import Shard, origins
from algophase.sweeps.provenance import commit, makes, version

if TYPE_CHECKING:
    import pyarrow

log = logging.getLogger(__name__)

OWNER = "number of the shard"  # a column while a source is read
HOW = ("engine", "device", "precision")  # how a run was trained: not an outcome


@dataclass(frozen=True)
class Merged:
    """What a merge did.

    Attributes:
        runs: runs in the joined table.
        new: of these, runs that were not in it before.
        repeated: further copies of runs, which were dropped.
        differing: of these, copies with different numbers.
        networks: networks copied.
        unmatched: networks left out, because the table has another copy's numbers for their runs.
    """

    runs: int
    new: int
    repeated: int
    differing: int
    networks: int
    unmatched: int


@dataclass(frozen=True)
class SourceRuns:
    """A source's runs, each once, and the same along training. shards: for each run, its shard."""

    table: "pyarrow.Table"
    shards: list[Shard]
    moments: "pyarrow.Table | None"


@dataclass(frozen=True)
class Joined:
    """taken: index of each run, and the shard its row is from, source after source. matching: for
    each source, ids of the runs whose row there is the joined table's, or equal to it.
    """

    table: "pyarrow.Table"
    taken: list[tuple[int, Shard]]
    matching: list[set[str]]
    repeated: int
    differing: int


def merge(inputs: Sequence[str | Path], out: str | Path, command: str = "") -> Merged:
    """Join parts of a sweep, made on several machines, into one table.

    Of several copies of a run one is kept: the one in `out`, otherwise the first input's. Kept
    networks are copied too. The inputs are not changed.

    Arguments:
        inputs: directories of sweeps of the same space and seed.
        out: directory of the joined sweep; may be one of the inputs.
        command: what the user typed; kept with the results.

    Returns:
        A `Merged`, which counts: `runs` in the table, `new` ones, `repeated` and `differing` copies
        that were dropped, `networks` copied.

    Raises:
        InputError: an input is not a sweep, or is one of another space or seed.

    Example:
        >>> from algophase import Space, merge, sweep
        >>> settings = {"task": {"modulus": 7}, "network": {"width": 8}, "training": {"epochs": 5}}
        >>> space = Space.from_dict({"name": "tiny", **settings})
        >>> parts = [directory / "machine-1", directory / "machine-2"]
        >>> for number, path in enumerate(parts, 1):
        ...     _ = sweep(space, path, runs=4, part=(number, 2), device="cpu")
        >>> merge(parts, directory / "joined").runs
        4
    """
    target = SweepDirectory(out)
    by_path: dict[Path, SweepDirectory] = {}
    paths = [out, *inputs] if target.exists else inputs
    for path in paths:
        by_path.setdefault(Path(path).resolve(), SweepDirectory(path))
    sources = list(by_path.values())
    if not sources:
        raise InputError("there is nothing to merge; give at least one sweep's directory")
    description = _common_description(sources)
    fresh = not target.path.exists()
    try:
        with target.hold(command or f"a merge of {len(sources)} sweeps"):
            contents = {str(source.path): _read(source) for source in sources}
            ids_at_start = _ids(contents[str(target.path)]) if target.exists else set()
            joined = join(contents)
            moments = _join_moments(contents, joined.matching)
            target.describe(
                description["space"], description["seed"], description.get("snapshots", ())
            )
            networks, files, unmatched = _kept_networks(
                sources, joined.matching, target, ids_at_start
            )
            target.replace(joined.table, _about(joined, command), moments, files)
    except BaseException:
        if fresh:
            # what was made for nothing, unless something is in it
            with contextlib.suppress(OSError):
                target.path.rmdir()
        raise
    runs = joined.table.num_rows
    return Merged(
        runs=runs,
        new=runs - len(ids_at_start),
        repeated=joined.repeated,
        differing=joined.differing,
        networks=networks,
        unmatched=unmatched,
    )


def _common_description(sources: Sequence[SweepDirectory]) -> dict[str, Any]:
    path = sources[0].path
    first = sources[0].description()
    for source in sources[1:]:
        description = source.description()
        if not same_sweep(first, description):
            mine = _name_of(first)
            theirs = _name_of(description)
            alike = ", by another definition" if mine == theirs else ""
            raise InputError(
                f"{path} holds {mine}, {source.path} holds {theirs}{alike}: only parts of the "
                "same sweep can be merged"
            )
        if first.get("snapshots") != description.get("snapshots"):
            raise InputError(
                f"{path} follows its runs at epochs {first.get('snapshots', [])}, {source.path} at "
                f"{description.get('snapshots', [])}: only parts followed alike can be merged"
            )
    return first


def _name_of(description: Mapping[str, Any]) -> str:
    return f"space {description['space'].get('name')} with seed {description['seed']}"


def _read(source: SweepDirectory) -> SourceRuns | None:
    """Its shards are listed once: a sweep that goes on there may add others at any moment."""
    import pyarrow

    tables = read_shards(shard_paths(source.path), source.path)
    if not tables:
        return None
    table = join_tables(tables, source.path)
    for name in KEYS:
        if name not in table.column_names or table[name].null_count:
            raise InputError(f"{source.path} has runs without {name}: it is not a sweep's table")
    shards: list[Shard] = []
    owners: list[int] = []  # the shard of each row
    for path, own in tables.items():
        indices = tuple(own["index"].to_pylist())
        columns = frozenset(own.column_names)
        owners += [len(shards)] * len(indices)
        shards.append(Shard(shard_name(path), columns, origin(own.schema), indices))
    with_owners = table.append_column(OWNER, pyarrow.array(owners, pyarrow.int64()))
    table = each_once(with_owners)
    of_rows = [shards[owner] for owner in table[OWNER].to_pylist()]
    return SourceRuns(table.drop_columns([OWNER]), of_rows, source.moments(tables))


def _ids(source: SourceRuns | None) -> set[str]:
    return set() if source is None else set(source.table["run_id"].to_pylist())


def join(sources: Mapping[str, SourceRuns | None]) -> Joined:
    """The union of sources by index, the first copy of a run staying. `sources` is by the names
    that an error gives them.
    """
    import pyarrow

    not_empty = [source for source in sources.values() if source is not None]
    if not not_empty:
        raise InputError(f"there is no finished run in {', '.join(sources)}")
    try:
        everything = pyarrow.concat_tables(
            [source.table for source in not_empty], promote_options="permissive"
        )
    except pyarrow.ArrowException as error:
        raise InputError(f"the tables do not fit together: {str(error).splitlines()[0]}") from None
    ids = everything["run_id"].to_pylist()
    indices = everything["index"].to_pylist()
    owner: list[int] = []  # the source of each row
    shards: list[Shard] = []
    for number, source in enumerate(sources.values()):
        if source is not None:
            owner += [number] * len(source.shards)
            shards += source.shards
    names = list(sources)
    winners: dict[int, int] = {}  # index of a run to its row
    copies: list[tuple[int, int]] = []  # row of a copy, and of the one that stays
    for row, index in enumerate(indices):
        winner = winners.setdefault(index, row)
        if ids[winner] != ids[row]:
            raise InputError(
                f"run {index} is {ids[winner]} in {names[owner[winner]]} and {ids[row]} in "
                f"{names[owner[row]]}: one of the two is not a run of this space"
            )
        if winner != row:
            copies.append((row, winner))
    matching: list[set[str]] = [set() for _ in sources]
    for row in winners.values():
        matching[owner[row]].add(ids[row])
    dropped = _rows(everything, [row for row, _ in copies])
    kept = _rows(everything, [winner for _, winner in copies])
    differing = 0
    for (row, winner), copy, original in zip(copies, dropped, kept, strict=True):
        both = _measured(copy, shards[row]) & _measured(original, shards[winner])
        if all(copy[name] == original[name] for name in both):
            matching[owner[row]].add(ids[row])
        else:
            differing += 1
    order = [winners[index] for index in sorted(winners)]
    table = everything.take(pyarrow.array(order, pyarrow.int64()))
    taken = [(index, shards[row]) for index, row in winners.items()]
    return Joined(table, taken, matching, len(copies), differing)


def _measured(record: Mapping[str, Any], shard: Shard) -> set[str]:
    """The columns to compare a run by: those of its own shard, for what a shard lacks is null in
    the table and no outcome.

    A merged shard has the columns of all its sources, so a null in it may be such a lack, unless
    the run has no analysis.
    """
    columns = {name for name in shard.columns if name not in HOW}
    if shard.merged and record.get("paper_label") is not None:
        columns = {name for name in columns if record[name] is not None}
    return columns


def _rows(table: "pyarrow.Table", numbers: list[int]) -> list[dict[str, Any]]:
    import pyarrow

    return table.take(pyarrow.array(numbers, pyarrow.int64())).to_pylist()


def _join_moments(
    sources: Mapping[str, SourceRuns | None], matching: list[set[str]]
) -> "pyarrow.Table | None":
    """The moments of all runs of the joined table, from the source whose row it took, or one
    equal to it.
    """
    import pyarrow
    import pyarrow.compute

    tables = {}
    for (name, source), mine in zip(sources.items(), matching, strict=True):
        table = source.moments if source is not None else None
        if table is not None:
            ids = pyarrow.array(sorted(mine), pyarrow.string())
            tables[Path(name)] = table.filter(pyarrow.compute.is_in(table["run_id"], ids))
    if not tables:
        return None
    names = ", ".join(map(str, tables))
    return each_once(join_tables(tables, names))


def _kept_networks(
    sources: Sequence[SweepDirectory],
    matching: list[set[str]],
    target: SweepDirectory,
    ids_at_start: set[str],
) -> tuple[int, list[Path], int]:
    """Networks that belong to a row of the joined table: how many, the files to copy, and how
    many were left out.

    ids_at_start: runs that the target has already. A network there of no run may be anything.
    """
    in_target = target.kept() & ids_at_start
    files: list[Path] = []
    copied = 0
    unmatched = 0
    for source, mine in zip(sources, matching, strict=True):
        if source.path.resolve() == target.path.resolve():
            continue
        for name, network in sorted(source.kept_files().items()):
            if name in in_target:
                continue
            if name not in mine:
                unmatched += 1
                continue
            for file in (*snapshots_of(network), network):
                files += [file, file.with_suffix(".json")]
            in_target.add(name)
            copied += 1
    return copied, files, unmatched


def _about(joined: Joined, command: str) -> dict[str, Any]:
    """Where the merged shard comes from: the provenance of every shard it has runs of."""
    shards = origins(joined.taken)
    code_states = makes(shards)
    if len(code_states) > 1:
        log.warning(
            "these runs were made by several states of the code: %s", "; ".join(code_states)
        )
    return {
        "command": command,
        "version": version(),
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": len(joined.taken),
        "shards": shards,
    }
