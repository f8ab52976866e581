"""A sweep on disk.

    sweep.json                        the space and its seed: what the i-th run is
    runs-<first>-<count>-<id>.parquet the finished runs, one shard an ensemble
    moments/                          the same runs along training, under the same names (`--snapshot`)
    networks/ID.safetensors, ID.json  the networks that were kept, and their snapshots ID.epoch<E>.*
    .checkpoints/, .lock              only while it goes, or where an ensemble was interrupted

The directory knows which runs are done from its shards alone, so nothing can come apart. A shard of moments is written before
the shard of its runs and counts only beside it; so is a network, which counts only with its row.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.errors import InputError
from algophase.networks import Network
from algophase.storage.checkpoints import DirectoryCheckpoints
from algophase.storage.files import given_path, write_atomically
from algophase.storage.lock import locked
from algophase.storage.network_files import read_json, save
from algophase.storage.runs_table import (
    Row,
    each_once,
    encode_table,
    join_shards,
    provenance,
    read_runs,
    read_shard,
    shard_paths,
    write_shard,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

CHECKPOINTS = ".checkpoints"
SNAPSHOT = ".epoch"  # between a run's id and its epoch, in the name of a snapshot
_OF_A_RUN = re.compile(rf"(?P<run_id>[0-9a-f]{{12}})({re.escape(SNAPSHOT)}[0-9]+)?\.(safetensors|json)")
FORMAT = "algophase-sweep"
VERSION = 1


class SweepDirectory:
    """Reading and adding to a sweep's directory. Adding needs `hold`."""

    def __init__(self, path: str | Path) -> None:
        self.path = given_path(path)
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; give a directory for the sweep")

    @property
    def exists(self) -> bool:
        return self._description_path.exists()

    @property
    def _description_path(self) -> Path:
        return self.path / "sweep.json"

    @property
    def moments_path(self) -> Path:
        return self.path / "moments"

    @property
    def networks(self) -> Path:
        return self.path / "networks"

    def checkpoints(self, every_seconds: float = 300.0) -> DirectoryCheckpoints:
        return DirectoryCheckpoints(self.path / CHECKPOINTS, every_seconds)

    @contextlib.contextmanager
    def hold(self, doing: str) -> Iterator[None]:
        """Be the only one who writes here. What a killed writer left half done is swept out first."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make {self.path}: {error.strerror or error}") from None
        with locked(self.path, doing):
            for folder in (self.path, self.moments_path, self.networks, self.path / CHECKPOINTS):  # and no other: not ours
                for left in folder.glob(".*.partial"):
                    left.unlink(missing_ok=True)
            for shard in self._moment_shards(finished=False):
                shard.unlink(missing_ok=True)
            for file in self._orphans():
                file.unlink(missing_ok=True)
            yield

    def describe(self, space: Mapping[str, Any], seed: int, snapshots: Sequence[int] = ()) -> None:
        """Say what this sweep is, or check that it is what it was. Only a space's title and count may change.

        snapshots: epochs at which its networks are looked at along training.
        """
        record = {"format": FORMAT, "version": VERSION, "space": dict(space), "seed": seed}
        if snapshots:
            record["snapshots"] = list(snapshots)
        held = self.description() if self.exists else None
        if held is not None and self._holds_something:
            if not same_sweep(held, record):
                name, other = held["space"].get("name"), space["name"]
                reason = (
                    f"space {name} with seed {held['seed']}"
                    if (name, held["seed"]) != (other, seed)
                    else "another space of that name"
                )
                raise InputError(
                    f"{self.path} holds a sweep of {reason}; it cannot take runs of space {other} with seed {seed}: "
                    "choose another directory"
                )
            followed = held.get("snapshots", [])
            if followed != list(snapshots):
                raise InputError(
                    f"{self.path} follows its runs at {_epochs(followed)}, this command at {_epochs(snapshots)}: "
                    "ask for the same, or choose another directory"
                )
            return
        if any(self.path.glob("*.parquet")):
            raise InputError(f"{self.path} holds Parquet files but no sweep.json; choose another directory")
        write_atomically(self._description_path, (json.dumps(record, indent=1) + "\n").encode())

    def description(self) -> dict[str, Any]:
        if not self.exists:
            raise InputError(f"{self.path} holds no sweep: there is no sweep.json in it")
        data = read_json(self._description_path, "the sweep")
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            raise InputError(
                f"{self._description_path}: format is {data.get('format')!r} {data.get('version')!r}; "
                f"this program reads {FORMAT!r} {VERSION}"
            )
        if not isinstance(data.get("space"), dict) or not isinstance(data.get("seed"), int):
            raise InputError(f"{self._description_path} names no space and seed")
        return data

    def finished(self) -> dict[int, tuple[str, str | None]]:
        """Index of every finished run, with its id and the paper's label."""
        found: dict[int, tuple[str, str | None]] = {}
        for path in shard_paths(self.path) if self.path.is_dir() else []:
            shard = read_shard(path, ("index", "run_id", "paper_label")).to_pydict()
            try:
                indices, ids = shard["index"], shard["run_id"]
            except KeyError as error:
                raise InputError(f"{path} has no column {error}: it is no shard of a sweep; move it elsewhere") from None
            found |= dict(zip(indices, zip(ids, shard.get("paper_label", [None] * len(ids)), strict=True), strict=True))
        return found

    def add(self, rows: Sequence[Row], about: Mapping[str, Any], moments: Sequence[Row] = ()) -> Path:
        """Write finished runs as a new shard. Until the file is in its place, none of them is finished."""
        path = self.path / _shard_name([row["index"] for row in rows], [row["run_id"] for row in rows])
        if moments:
            ordered = sorted(moments, key=lambda row: (row["index"], row["epoch"]))
            write_shard(self.moments_path / path.name, ordered, about)
        write_shard(path, sorted(rows, key=lambda row: row["index"]), about)
        return path

    def replace(self, table: "pyarrow.Table", about: Mapping[str, Any], moments: "pyarrow.Table | None" = None) -> Path:
        """Make one shard of these the whole table. Old shards go once it is there; until then a run in both is read once."""
        old = shard_paths(self.path)
        path = self.path / _shard_name(table["index"].to_pylist(), table["run_id"].to_pylist())
        if moments is not None:
            write_atomically(self.moments_path / path.name, encode_table(moments, about))
        write_atomically(path, encode_table(table, about))
        for shard in old:
            if shard != path:
                shard.unlink(missing_ok=True)
        for shard in self._moment_shards(finished=False):
            shard.unlink(missing_ok=True)
        return path

    def keep(self, network: Network) -> None:
        save(network, self.networks / f"{network.id}.safetensors", overwrite=True)

    def kept(self) -> set[str]:
        """Ids of the networks that were kept, without snapshots. Of each, the JSON file is written last."""
        files = self.networks.glob("*.safetensors") if self.networks.is_dir() else []
        return {path.stem for path in files if path.with_suffix(".json").exists() and SNAPSHOT not in path.stem}

    def kept_snapshots(self, run_id: str) -> list[str]:
        """Names of a kept network's snapshots, which are files like its own."""
        return sorted(path.stem for path in self.networks.glob(f"{run_id}{SNAPSHOT}*.safetensors"))

    def _orphans(self) -> list[Path]:
        """Files of networks that were kept of a run in no shard: its writer was killed before it added the row.

        The run is made again, and another arrival order may then keep other networks. A network that `train` put here has its
        history beside it and stays, as does what is named otherwise than a run.
        """
        files = sorted(self.networks.iterdir()) if self.exists and self.networks.is_dir() else []
        named = [(found["run_id"], file) for file in files if (found := _OF_A_RUN.fullmatch(file.name))]
        if not named:
            return []
        here = {run_id for run_id, _ in self.finished().values()}
        here |= {run_id for run_id, _ in named if (self.networks / f"{run_id}.history.json").exists()}
        return [file for run_id, file in named if run_id not in here]

    def _moment_shards(self, finished: bool = True) -> list[Path]:
        """Moments of runs that are finished: those beside whose shard the runs' own lies. Or all others."""
        shards = shard_paths(self.moments_path) if self.moments_path.is_dir() else []
        return [shard for shard in shards if (self.path / shard.name).exists() == finished]

    def moments(self, beside: Iterable[Path] | None = None) -> "pyarrow.Table | None":
        """Every run along training, one row a run and epoch, by index and epoch; None where it was not followed.

        beside: only those of the runs in these shards.
        """
        names = None if beside is None else {shard.name for shard in beside}
        shards = [shard for shard in self._moment_shards() if names is None or shard.name in names]
        return each_once(join_shards(shards, self.moments_path)) if shards else None

    def runs(self) -> "pandas.DataFrame":
        return read_runs(self.path)

    def sittings(self) -> list[dict[str, Any]]:
        """Where the runs come from: one record a shard, or those of the shards a merged one was made of."""
        found: list[dict[str, Any]] = []
        for path in shard_paths(self.path):
            about = provenance(path)
            found += about["shards"] if isinstance(about.get("shards"), list) else [{"shard": path.name, **about}]
        return found

    @property
    def _holds_something(self) -> bool:
        """Whether there is a run, or a beginning of one. A command that failed may have left no more than a description."""
        return bool(shard_paths(self.path)) or (self.path / CHECKPOINTS).exists()

    def complete(self) -> None:
        """What was asked for is done: an ensemble whose runs are all finished is of no use any more, and takes gigabytes.

        One with other runs may be: another part's, or that of a command that asked for more runs.
        """
        checkpoints, finished = self.checkpoints(), {run_id for run_id, _ in self.finished().values()}
        with contextlib.suppress(InputError):  # one that is not readable is named by the sweep that would go on from it
            for held in checkpoints.pending():
                if all(run.run_id in finished for run in held.runs):
                    checkpoints.remove(held.runs)
        with contextlib.suppress(OSError):  # not empty, or not there
            checkpoints.directory.rmdir()


def _epochs(epochs: Sequence[int]) -> str:
    return f"epochs {', '.join(map(str, epochs))}" if epochs else "no epochs"


def _shard_name(indices: Sequence[int], ids: Sequence[str]) -> str:
    return f"runs-{min(indices):06d}-{len(ids)}-{hashlib.sha256(','.join(ids).encode()).hexdigest()[:8]}.parquet"


def same_sweep(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two descriptions give the same i-th run. Title, count and a space's own snapshots may differ."""
    return first["seed"] == second["seed"] and _definition(first["space"]) == _definition(second["space"])


def _definition(space: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What makes the i-th run: all rules, and the order of the grids."""
    rules = {key: value for key, value in space.items() if key not in ("title", "runs", "snapshots")}
    sections = [(key, value) for key, value in sorted(rules.items()) if isinstance(value, dict)]
    grids = [
        f"{key}.{name}" for key, value in sections for name, rule in value.items() if isinstance(rule, dict) and "grid" in rule
    ]
    return rules, grids
