"""A sweep on disk.

    sweep.json                       the space and its seed: what the i-th run is; which state of
                                     the code began it
    runs-<first>-<count>-<id>/       a shard: the finished runs of an ensemble
        runs.parquet                 their rows
        moments.parquet              the same runs along training (`--snapshot`)
        networks/ID.safetensors, ID.json
                                     the networks that were kept, and their snapshots ID.epoch<E>.*
    networks/                        networks that `retrain` brought back
    .checkpoints/, .lock             only while it goes, or where an ensemble was interrupted

A shard is written under a temporary name and renamed once, so it is there as a whole or not at
all. The shards alone say which runs are done.
"""

import contextlib
import hashlib
import itertools
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.storage._checkpoints import DirectoryCheckpoints
from algophase.storage._lock import locked
from algophase.storage.files import (
    given_path,
    new_directory,
    read_bytes,
    read_json,
    remove_directory,
    remove_partials,
    write_atomically,
    write_inside,
)
from algophase.storage.identity import DESCRIPTION, IDENTITY, identity, same_sweep
from algophase.storage.network_files import encode
from algophase.storage.runs_table import (
    KEYS,
    MOMENTS_FILE,
    RUNS_FILE,
    Row,
    calls_of,
    check_one_run_per_index,
    encode_shard,
    encode_table,
    join_once,
    origin,
    read_runs,
    read_shards,
    rows_of,
    shard_paths,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

log = logging.getLogger(__name__)

CHECKPOINTS = ".checkpoints"
NETWORKS = "networks"
SNAPSHOT = ".epoch"  # between a run's id and its epoch, in the name of a snapshot
SUMMARY = (*KEYS, "verdict", "paper_label", "diverged_at")  # columns that say what became of a run
# A shard that a killed writer was writing, or removing
_UNFINISHED = re.compile(r"\.runs-[0-9]+-[0-9]+-[0-9a-f]{8}\.[a-z0-9_]{8}\.partial")
FORMAT = "algophase-sweep"
VERSION = 1
# In sweep.json: until a run is finished, nothing else says which code made its checkpoints
BEGUN_BY = "begun_by"


class SweepDirectory:
    """Reading and adding to a sweep's directory. Adding needs `hold`."""

    def __init__(self, path: str | Path) -> None:
        self.path = given_path(path)
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; give a directory for the sweep")
        # What is needed of each shard, by its file's path, time and size
        self._summaries: dict[tuple[Path, int, int], pyarrow.Table] = {}
        self._is_held: Callable[[], bool] | None = None  # none where `hold` is not in force
        self._added = 0  # runs, since then

    @property
    def exists(self) -> bool:
        return self._description_path.exists()

    @property
    def _description_path(self) -> Path:
        return self.path / DESCRIPTION

    @property
    def networks(self) -> Path:
        """Where networks go that are brought back later. Those kept with their runs are in shards;
        `kept_files` has both.
        """
        return self.path / NETWORKS

    def checkpoints(self, every_seconds: float = 300.0) -> DirectoryCheckpoints:
        return DirectoryCheckpoints(self.path / CHECKPOINTS, every_seconds, self._check_held)

    @contextlib.contextmanager
    def hold(self, doing: str) -> Iterator[None]:
        """Be the only one who writes here. What a killed writer left half done is swept out
        first.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make {self.path}: {error.strerror or error}") from None
        with locked(self.path, doing) as self._is_held:
            self._added = 0
            try:
                with contextlib.suppress(FileNotFoundError):  # gone: the first write notices
                    self._remove_unfinished()
                yield
            finally:
                self._is_held = None

    def _remove_unfinished(self) -> None:
        """Remove what killed writers left half written, and nothing behind a link."""
        for folder in (self.path, self.networks, self.path / CHECKPOINTS):
            if folder == self.path or not folder.is_symlink():
                remove_partials(folder)
        unfinished = []
        for entry in self.path.iterdir():
            if _UNFINISHED.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
                unfinished.append(entry.name)
        if unfinished:
            log.warning(
                "removed unfinished shards of an interrupted command: %s", shown(unfinished)
            )

    def _check_held(self) -> None:
        if self._is_held is not None and not self._is_held():
            raise InputError(
                f"{self.path} was removed, renamed or unlocked while this command was writing "
                "into it. It stops here: "
                f"{counted(self._added, 'run')} it had added are where the directory is now, if "
                "anywhere; "
                "those it was working on are lost"
            )

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Write only while the directory is there and ours, and notice if it was not to the end."""
        self._check_held()
        try:
            yield
        finally:
            self._check_held()

    def describe(
        self, space: Mapping[str, Any], seed: int, snapshots: Sequence[int] = (), by: str = ""
    ) -> None:
        """Say what this sweep is, or check that it is what it was. Only a space's title and count
        may change.

        snapshots: epochs at which its networks are looked at along training. by: which state of the
            code begins it.
        """
        record = {"format": FORMAT, "version": VERSION, "space": dict(space), "seed": seed}
        if snapshots:
            record["snapshots"] = list(snapshots)
        if by:
            record[BEGUN_BY] = by
        existing = self.description() if self.exists else None
        if existing is not None and self._holds_something:
            if not same_sweep(existing, record):
                name = existing["space"].get("name")
                new_name = space["name"]
                reason = (
                    f"space {name} with seed {existing['seed']}"
                    if (name, existing["seed"]) != (new_name, seed)
                    else "another space of that name"
                )
                raise InputError(
                    f"{self.path} holds a sweep of {reason}; it cannot take runs of space "
                    f"{new_name} with seed {seed}: "
                    "choose another directory"
                )
            with_hidden = bool(existing["space"].get("hidden"))
            if with_hidden != bool(space.get("hidden")):
                raise InputError(
                    f"{self.path} was begun {'with' if with_hidden else 'without'} a look inside "
                    "hidden layers: "
                    f"{'say' if with_hidden else 'omit'} --hidden, or choose another directory"
                )
            followed = existing.get("snapshots", [])
            if followed != list(snapshots):
                raise InputError(
                    f"{self.path} follows its runs at {_epochs(followed)}, this command at "
                    f"{_epochs(snapshots)}: "
                    "ask for the same, or choose another directory"
                )
            return
        if self.path.is_dir() and shard_paths(self.path):
            raise InputError(
                f"{self.path} holds Parquet files but no sweep.json; choose another directory"
            )
        with self._writing():
            if self._is_held is None:
                self.path.mkdir(parents=True, exist_ok=True)
            content = (json.dumps(record, indent=1) + "\n").encode()
            # A directory that was removed is not made again
            write_atomically(self._description_path, content, inside=self.path)

    def description(self) -> dict[str, Any]:
        if not self.exists:
            raise InputError(f"{self.path} holds no sweep: there is no sweep.json in it")
        data = read_json(self._description_path, "the sweep")
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            raise InputError(
                f"{self._description_path}: format is {shown(data.get('format'))} "
                f"{shown(data.get('version'))}; "
                f"this program reads {FORMAT!r} {VERSION}"
            )
        if not isinstance(data.get("space"), dict) or not isinstance(data.get("seed"), int):
            raise InputError(f"{self._description_path} names no space and seed")
        return data

    def _read_summaries(self) -> "dict[Path, pyarrow.Table]":
        """Index, id and outcome of the runs in every shard, and what the shard says about itself.
        Each shard is read once, as long as it does not change.
        """
        keys = {path: _stamp(path) for path in self._shard_paths()}
        new = [path for path, key in keys.items() if key not in self._summaries]
        tables = read_shards(new, self.path, SUMMARY)
        self._summaries |= {keys[path]: table for path, table in tables.items()}
        summaries = {path: self._summaries[key] for path, key in keys.items()}
        check_one_run_per_index(summaries)
        return summaries

    def _shard_paths(self) -> list[Path]:
        return shard_paths(self.path) if self.path.is_dir() else []

    def finished(self) -> dict[int, tuple[str, str | None]]:
        """Index of every finished run, with its id and the paper's label."""
        return {row["index"]: (row["run_id"], row.get("paper_label")) for row in self.outcomes()}

    def outcomes(self) -> list[dict[str, Any]]:
        """Index, id, verdict and the paper's label of every finished run, and where it diverged."""
        summaries = self._read_summaries()
        for path, table in summaries.items():
            for name in KEYS:
                if name not in table.column_names:
                    raise InputError(
                        f"{path} has no column {name!r}: it is not a sweep shard; move it elsewhere"
                    )
        if not summaries:
            return []
        return rows_of(join_once(summaries, self.path), self.path)

    def add(
        self,
        rows: Sequence[Row],
        about: Mapping[str, Any],
        moments: Sequence[Row] = (),
        networks: Sequence[Network] = (),
    ) -> Path:
        """Write finished runs as a new shard. Until it is in its place, none of them is finished.

        networks: those of them to keep, and their snapshots. Returns the shard's directory.
        """
        ordered = sorted(rows, key=lambda row: row["index"])
        ordered_moments = sorted(moments, key=lambda row: (row["index"], row["epoch"]))
        about = {**about, **self._identity()}
        path = self._new_shard(
            [row["index"] for row in ordered], [row["run_id"] for row in ordered]
        )
        with self._writing(), new_directory(path) as shard:
            write_inside(shard / RUNS_FILE, encode_shard(ordered, about))
            if moments:
                write_inside(shard / MOMENTS_FILE, encode_shard(ordered_moments, about))
            if networks:
                (shard / NETWORKS).mkdir()
            for network in networks:
                tensors, description = encode(network)
                write_inside(shard / NETWORKS / f"{network.id}.safetensors", tensors)
                write_inside(shard / NETWORKS / f"{network.id}.json", description)
        self._added += len(rows)
        return path

    def replace(
        self,
        table: "pyarrow.Table",
        about: Mapping[str, Any],
        moments: "pyarrow.Table | None" = None,
        networks: Sequence[Path] = (),
    ) -> Path:
        """Make one shard of these the whole table. Old shards go once it is there; until then a run
        in both is read once.

        networks: files of networks of other sweeps to copy into it. Those of the old shards come
            along. Returns the shard's directory.
        """
        old_shards = shard_paths(self.path)
        own_networks = [
            file
            for shard in old_shards
            if shard.name == RUNS_FILE
            for file in sorted((shard.parent / NETWORKS).glob("*"))
        ]
        about = {**about, **self._identity()}
        path = self._new_shard(table["index"].to_pylist(), table["run_id"].to_pylist())
        with self._writing():
            with new_directory(path) as shard:
                write_inside(shard / RUNS_FILE, encode_table(table, about))
                if moments is not None:
                    write_inside(shard / MOMENTS_FILE, encode_table(moments, about))
                folder = shard / NETWORKS
                if own_networks or networks:
                    folder.mkdir()
                for file in own_networks:
                    if not (folder / file.name).exists():
                        _link(file, folder / file.name)
                for file in networks:
                    write_inside(folder / file.name, read_bytes(file))
            for shard in old_shards:
                if shard.name == RUNS_FILE:
                    remove_directory(shard.parent)
                else:
                    shard.unlink(missing_ok=True)
        return path

    def _new_shard(self, indices: Sequence[int], ids: Sequence[str]) -> Path:
        """Where a shard of these runs goes. Its name says which they are; where they are there
        already, it is another one, for a directory cannot take another's place in one step.
        """
        for attempt in itertools.count():
            digest = hashlib.sha256(",".join(ids).encode() + b"+" * attempt).hexdigest()[:8]
            path = self.path / f"runs-{min(indices):06d}-{len(ids)}-{digest}"
            if not path.exists():
                return path
        raise AssertionError

    def _identity(self) -> dict[str, str]:
        return {IDENTITY: identity(self.description())} if self.exists else {}

    def _ids(self) -> set[str]:
        return {run_id for run_id, _ in self.finished().values()}

    def _network_folders(self) -> list[Path]:
        """Those of the shards, then that of networks brought back later."""
        folders = [
            shard.parent / NETWORKS for shard in self._shard_paths() if shard.name == RUNS_FILE
        ]
        return [*folders, self.networks]

    def kept_files(self) -> dict[str, Path]:
        """The networks that were kept, without snapshots, by id. Of each, the JSON file is written
        last.
        """
        files: dict[str, Path] = {}
        for folder in self._network_folders():
            for path in folder.glob("*.safetensors"):
                if SNAPSHOT not in path.stem and path.with_suffix(".json").exists():
                    files.setdefault(path.stem, path)
        return files

    def kept(self) -> set[str]:
        """Ids of the networks that were kept."""
        return set(self.kept_files())

    def moments(self, beside: Iterable[Path] | None = None) -> "pyarrow.Table | None":
        """Every run along training, one row a run and epoch, by index and epoch; None where it was
        not followed.

        beside: only those of the runs in these files.
        """
        shards = shard_paths(self.path) if beside is None else beside
        files = [shard.with_name(MOMENTS_FILE) for shard in shards if shard.name == RUNS_FILE]
        followed = [file for file in files if file.exists()]
        return join_once(read_shards(followed, self.path), self.path) if followed else None

    def runs(self) -> "pandas.DataFrame":
        return read_runs(self.path)

    def calls(self) -> list[dict[str, Any]]:
        """The calls of `sweep` that made the runs: one record per shard; for a merged shard one
        record per shard that it was made of.
        """
        records = []
        for shard, table in self._read_summaries().items():
            records += calls_of(shard, origin(table.schema))
        return records

    @property
    def _holds_something(self) -> bool:
        """Whether there is a run, or a beginning of one. A command that failed may have left no
        more than a description.
        """
        return bool(shard_paths(self.path)) or (self.path / CHECKPOINTS).exists()

    def complete(self) -> None:
        """What was asked for is done: an ensemble whose runs are all finished is of no use any
        more, and takes gigabytes.

        One with other runs may be: another part's, or that of a command that asked for more runs.
        """
        checkpoints = self.checkpoints()
        finished = self._ids()
        with contextlib.suppress(
            InputError
        ):  # one that is not readable is named by the sweep that would go on from it
            for ensemble in checkpoints.pending():
                if all(run.run_id in finished for run in ensemble.runs):
                    checkpoints.remove(ensemble.runs)
        with contextlib.suppress(OSError):  # not empty, or not there
            checkpoints.directory.rmdir()


def snapshots_of(network: Path) -> list[Path]:
    """The files of a kept network's snapshots."""
    return sorted(network.parent.glob(f"{network.stem}{SNAPSHOT}*{network.suffix}"))


def _stamp(path: Path) -> tuple[Path, int, int]:
    """Changes when a file does. Of a file that is gone, reading it says so."""
    try:
        stat = path.stat()
    except OSError:
        return path, 0, 0
    return path, stat.st_mtime_ns, stat.st_size


def _link(file: Path, copy: Path) -> None:
    """A second name for a file that is about to lose its first, or a copy."""
    try:
        os.link(file, copy)
    except OSError:  # a file system without links
        write_inside(copy, read_bytes(file))


def _epochs(epochs: Sequence[int]) -> str:
    return f"epochs {', '.join(map(str, epochs))}" if epochs else "no epochs"
