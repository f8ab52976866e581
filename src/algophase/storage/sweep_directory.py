"""A sweep on disk.

    sweep.json                        the space and its seed: what the i-th run is
    runs-<first>-<count>-<id>.parquet the finished runs, one shard an ensemble
    networks/ID.safetensors, ID.json  the networks that were kept
    .checkpoints/, .lock              only while it goes, or where an ensemble was interrupted

The directory knows which runs are done from its shards alone, so nothing can come apart.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.errors import InputError
from algophase.networks import Network
from algophase.storage.checkpoints import DirectoryCheckpoints
from algophase.storage.files import write_atomically
from algophase.storage.lock import locked
from algophase.storage.network_files import read_json, save
from algophase.storage.runs_table import Row, provenance, read_runs, read_shard, shard_paths, write_shard

if TYPE_CHECKING:
    import pandas

FORMAT = "algophase-sweep"
VERSION = 1


class SweepDirectory:
    """Reading and adding to a sweep's directory. Adding needs `hold`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; give a directory for the sweep")

    @property
    def exists(self) -> bool:
        return self._description_path.exists()

    @property
    def _description_path(self) -> Path:
        return self.path / "sweep.json"

    @property
    def networks(self) -> Path:
        return self.path / "networks"

    @property
    def checkpoints(self) -> DirectoryCheckpoints:
        return DirectoryCheckpoints(self.path / ".checkpoints")

    @contextmanager
    def hold(self, doing: str) -> Iterator[None]:
        """Be the only one who writes here. What a killed writer left half done is swept out first."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make {self.path}: {error.strerror or error}") from None
        with locked(self.path, doing):
            for left in [*self.path.glob(".*.partial"), *self.path.glob("*/.*.partial")]:
                left.unlink(missing_ok=True)
            yield

    def describe(self, space: Mapping[str, Any], seed: int) -> None:
        """Say what this sweep is, or check that it is what it was. Only a space's title and count may change."""
        record = {"format": FORMAT, "version": VERSION, "space": dict(space), "seed": seed}
        if self.exists:
            held = self.description()
            if held["seed"] != seed or _definition(held["space"]) != _definition(space):
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
        """Index of every finished run, with its id and verdict."""
        found: dict[int, tuple[str, str | None]] = {}
        for path in shard_paths(self.path) if self.path.is_dir() else []:
            shard = read_shard(path, ("index", "run_id", "verdict")).to_pydict()
            try:
                indices, ids = shard["index"], shard["run_id"]
            except KeyError as error:
                raise InputError(f"{path} has no column {error}: it is no shard of a sweep; move it elsewhere") from None
            found |= dict(zip(indices, zip(ids, shard.get("verdict", [None] * len(ids)), strict=True), strict=True))
        return found

    def add(self, rows: Sequence[Row], about: Mapping[str, Any]) -> Path:
        """Write finished runs as a new shard. Until the file is in its place, none of them is finished."""
        ids = ",".join(row["run_id"] for row in rows)
        first = min(row["index"] for row in rows)
        name = f"runs-{first:06d}-{len(rows)}-{hashlib.sha256(ids.encode()).hexdigest()[:8]}.parquet"
        write_shard(self.path / name, sorted(rows, key=lambda row: row["index"]), about)
        return self.path / name

    def keep(self, network: Network) -> None:
        save(network, self.networks / network.id, overwrite=True)

    def kept(self) -> set[str]:
        """Ids of the networks that were kept."""
        return {path.stem for path in self.networks.glob("*.safetensors")} if self.networks.is_dir() else set()

    def runs(self) -> "pandas.DataFrame":
        return read_runs(self.path)

    def sittings(self) -> list[dict[str, Any]]:
        """Where the runs come from: one record a shard, or those of the shards a merged one was made of."""
        found: list[dict[str, Any]] = []
        for path in shard_paths(self.path):
            about = provenance(path)
            found += about["shards"] if isinstance(about.get("shards"), list) else [about]
        return found

    def complete(self) -> None:
        """All is done: no interrupted ensemble is of use any more."""
        shutil.rmtree(self.path / ".checkpoints", ignore_errors=True)


def _definition(space: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in space.items() if key not in ("title", "runs")}
