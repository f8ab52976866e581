"""A sweep on disk.

    sweep.json                        the space and its seed: what the i-th run is; which state of
                                      the code began it
    runs-<first>-<count>-<id>.parquet the finished runs, one shard an ensemble
    moments/                          the same runs along training, under the same names
                                      (`--snapshot`)
    networks/ID.safetensors, ID.json  the networks that were kept, and their snapshots ID.epoch<E>.*
    .checkpoints/, .lock              only while it goes, or where an ensemble was interrupted
    .unfinished.json                  only while a shard is added: files that count for nothing
                                      until it is there

The directory knows which runs are done from its shards alone, so nothing can come apart. A shard of
moments is written before the shard of its runs and counts only beside it; so is a network, which
counts only with its row. See `journal` for what a killed writer left of those.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.storage.checkpoints import DirectoryCheckpoints
from algophase.storage.files import (
    given_path,
    read_bytes,
    read_json,
    remove_partials,
    write_atomically,
)
from algophase.storage.identity import DESCRIPTION, IDENTITY, MOMENTS, identity, same_sweep
from algophase.storage.journal import NETWORKS, SNAPSHOT, Journal
from algophase.storage.lock import locked
from algophase.storage.network_files import encode
from algophase.storage.runs_table import (
    Row,
    each_once,
    encode_table,
    join_shards,
    provenance,
    read_runs,
    read_shards,
    shard_paths,
    write_shard,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

CHECKPOINTS = ".checkpoints"
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
        self._journal = Journal(self.path)
        self._is_held: Callable[[], bool] | None = None  # none where `hold` is not in force
        self._added = 0  # runs, since then

    @property
    def exists(self) -> bool:
        return self._description_path.exists()

    @property
    def _description_path(self) -> Path:
        return self.path / DESCRIPTION

    @property
    def moments_path(self) -> Path:
        return self.path / MOMENTS

    @property
    def networks(self) -> Path:
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
                for folder in (
                    self.path,
                    self.moments_path,
                    self.networks,
                    self.path / CHECKPOINTS,
                ):  # and no other: not ours
                    if folder == self.path or not folder.is_symlink():
                        remove_partials(folder)
                self._journal.settle(self._ids)
                yield
            finally:
                self._is_held = None

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

    def _write(self, path: Path, content: bytes) -> None:
        write_atomically(
            path, content, inside=self.path
        )  # a directory that was removed is not made again

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
        if any(self.path.glob("*.parquet")):
            raise InputError(
                f"{self.path} holds Parquet files but no sweep.json; choose another directory"
            )
        with self._writing():
            if self._is_held is None:
                self.path.mkdir(parents=True, exist_ok=True)
            self._write(self._description_path, (json.dumps(record, indent=1) + "\n").encode())

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

    def finished(self) -> dict[int, tuple[str, str | None]]:
        """Index of every finished run, with its id and the paper's label."""
        runs: dict[int, tuple[str, str | None]] = {}
        paths = shard_paths(self.path) if self.path.is_dir() else []
        for path, table in read_shards(
            paths, self.path, ("index", "run_id", "paper_label")
        ).items():
            shard = table.to_pydict()
            try:
                indices = shard["index"]
                ids = shard["run_id"]
            except KeyError as error:
                raise InputError(
                    f"{path} has no column {error}: it is not a sweep shard; move it elsewhere"
                ) from None
            runs |= dict(
                zip(
                    indices,
                    zip(ids, shard.get("paper_label", [None] * len(ids)), strict=True),
                    strict=True,
                )
            )
        return runs

    def add(
        self,
        rows: Sequence[Row],
        about: Mapping[str, Any],
        moments: Sequence[Row] = (),
        networks: Sequence[Network] = (),
    ) -> Path:
        """Write finished runs as a new shard. Until the file is in its place, none of them is
        finished.

        networks: those of them to keep, and their snapshots.
        """
        path = self.path / _shard_name(
            [row["index"] for row in rows], [row["run_id"] for row in rows]
        )
        about = {**about, **self._identity()}
        with self._writing():
            kept = [file for network in networks for file in self._network_files(network.id)]
            self._journal.note([*kept, *([self.moments_path / path.name] if moments else [])])
            for network in networks:
                self.keep(network)
            if moments:
                ordered = sorted(moments, key=lambda row: (row["index"], row["epoch"]))
                write_shard(self.moments_path / path.name, ordered, about, self.path)
            write_shard(path, sorted(rows, key=lambda row: row["index"]), about, self.path)
            self._journal.close()
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

        networks: files of networks to copy here.
        """
        old = shard_paths(self.path)
        path = self.path / _shard_name(table["index"].to_pylist(), table["run_id"].to_pylist())
        about = {**about, **self._identity()}
        with self._writing():
            copies = {self.networks / file.name: file for file in networks}
            followed = [self.moments_path / path.name] if moments is not None else []
            self._journal.note(
                [*copies, *followed], [self.moments_path / shard.name for shard in old]
            )
            for copy, file in copies.items():
                self._write(copy, read_bytes(file))
            if moments is not None:
                self._write(self.moments_path / path.name, encode_table(moments, about))
            self._write(path, encode_table(table, about))
            for shard in old:
                if shard != path:
                    shard.unlink(missing_ok=True)
            self._journal.settle(self._ids, tell=False)
        return path

    def _identity(self) -> dict[str, str]:
        return {IDENTITY: identity(self.description())} if self.exists else {}

    def _ids(self) -> set[str]:
        return {run_id for run_id, _ in self.finished().values()}

    def keep(self, network: Network) -> None:
        for path, content in zip(self._network_files(network.id), encode(network), strict=True):
            self._write(path, content)

    def _network_files(self, name: str) -> list[Path]:
        """The JSON file is the last: where it is, the network is whole."""
        return [self.networks / f"{name}.safetensors", self.networks / f"{name}.json"]

    def kept(self) -> set[str]:
        """Ids of the networks that were kept, without snapshots. Of each, the JSON file is
        written last.
        """
        files = self.networks.glob("*.safetensors") if self.networks.is_dir() else []
        return {
            path.stem
            for path in files
            if path.with_suffix(".json").exists() and SNAPSHOT not in path.stem
        }

    def kept_snapshots(self, run_id: str) -> list[str]:
        """Names of a kept network's snapshots, which are files like its own."""
        return sorted(path.stem for path in self.networks.glob(f"{run_id}{SNAPSHOT}*.safetensors"))

    def _moment_shards(self) -> list[Path]:
        """Moments of runs that are finished: those beside whose shard the runs' own lies."""
        shards = shard_paths(self.moments_path) if self.moments_path.is_dir() else []
        return [shard for shard in shards if (self.path / shard.name).exists()]

    def moments(self, beside: Iterable[Path] | None = None) -> "pyarrow.Table | None":
        """Every run along training, one row a run and epoch, by index and epoch; None where it was
        not followed.

        beside: only those of the runs in these shards.
        """
        names = None if beside is None else {shard.name for shard in beside}
        shards = [shard for shard in self._moment_shards() if names is None or shard.name in names]
        return each_once(join_shards(shards, self.moments_path)) if shards else None

    def runs(self) -> "pandas.DataFrame":
        return read_runs(self.path)

    def sittings(self) -> list[dict[str, Any]]:
        """Where the runs come from: one record a shard, or those of the shards a merged one was
        made of.
        """
        return [
            sitting
            for path in shard_paths(self.path)
            for sitting in sittings_of(path, provenance(path))
        ]

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


def sittings_of(shard: Path, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What made a shard's runs, by what it says about itself."""
    return (
        about["shards"]
        if isinstance(about.get("shards"), list)
        else [{"shard": shard.name, **about}]
    )


def _epochs(epochs: Sequence[int]) -> str:
    return f"epochs {', '.join(map(str, epochs))}" if epochs else "no epochs"


def _shard_name(indices: Sequence[int], ids: Sequence[str]) -> str:
    digest = hashlib.sha256(",".join(ids).encode()).hexdigest()
    return f"runs-{min(indices):06d}-{len(ids)}-{digest[:8]}.parquet"
