"""Where the data of an item comes from: the authors' released files, a user's own sweep, or the gallery of this project."""

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.errors import InputError
from algophase.networks import Network
from algophase.runs.overview import unfair_sample
from algophase.storage import load
from algophase.storage.runs_table import read_runs
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    import pandas

# The networks of the paper that its authors released, by the role they have in it.
RELEASED = {"model-a": "p99zdpze5l", "model-b": "l8k1hzciux", "model-beta": "p71frej8t7", "model-delta": "qlvxqhkvit"}
RELEASED_TABLE = "1l_fixedwidth.csv"
ROLES = {
    "model-a": "a circular one-layer transformer without attention (rate 0) that learned a Pizza",
    "model-b": "a circular one-layer transformer with attention (rate 1) that learned a Clock",
    "model-beta": "a circular linear model beta that learned a Pizza",
    "model-delta": "a circular linear model delta",
    "wide-pizza": "a circular Pizza of width 1024 with attention rate 1",
    "separate-pizza": "a Pizza whose operands have embeddings of their own",
    "line-like": "a non-circular network whose first principal component is a line",
    "three-dimensional": "a non-circular network whose first three components form a curve in space",
    "early-clock": "a rate-1 network along training",
    "early-pizza": "a rate-0 network after 600 epochs",
}


class Missing(InputError):
    """An item's data is not there; the message says what would bring it."""


@dataclass(frozen=True)
class FoundNetwork:
    """published: whether it is the very network of the paper."""

    network: Network
    source: str
    published: bool


@dataclass(frozen=True)
class FoundSeries:
    """One network along training: its snapshots by epoch, in their order."""

    networks: dict[int, Network]
    source: str


@dataclass(frozen=True)
class FoundRuns:
    runs: "pandas.DataFrame"
    source: str


def default_gallery() -> Path | None:
    """The gallery beside this package's source, or in the current directory."""
    for candidate in (Path(__file__).resolve().parents[3] / "gallery", Path("gallery")):
        if candidate.is_dir():
            return candidate
    return None


class Sources:
    """released: a directory of the authors' files; own: directories of the user's sweeps, which go before the gallery's."""

    def __init__(self, gallery: Path | None = None, own: tuple[Path, ...] = (), released: Path | None = None) -> None:
        for path in (*own, *((released,) if released else ()), *((gallery,) if gallery else ())):
            if not path.is_dir():
                raise InputError(f"{path} is not a directory")
        self.gallery = gallery or default_gallery()
        self.own = {path: SweepDirectory(path).description()["space"]["name"] for path in own}
        self.unused, self.released = dict(self.own), released  # unused: until an item asks

    @cached_property
    def exhibits(self) -> dict[str, dict[str, Any]]:
        """The gallery's networks by role: `path` below the gallery (`paths` for one along training, `plates` for
        pictures of one too large) and `what` it is."""
        path = None if self.gallery is None else self.gallery / "exhibits.toml"
        if path is None or not path.exists():
            return {}
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is not readable: {error}") from None

    def network(self, role: str) -> FoundNetwork:
        if self.released is not None and role in RELEASED:
            path = self.released / f"model_{RELEASED[role]}.pt"
            return FoundNetwork(load(path), f"the authors' released network {RELEASED[role]}", published=True)
        exhibit = self.exhibits.get(role)
        if exhibit is None or self.gallery is None:
            raise self._no_exhibit(role)
        if "path" not in exhibit:
            raise InputError(f"{self.gallery / 'exhibits.toml'}: {role} has no path")
        source = f"our network {exhibit['path']} ({exhibit['what']})"
        return FoundNetwork(load(self.gallery / exhibit["path"]), source, published=False)

    def _no_exhibit(self, role: str) -> Missing:
        also = "; the authors' own is taken with --released DIR" if role in RELEASED else ""
        if self.gallery is None:
            where = "there is no gallery here: it comes with a clone of the project, and is given with --gallery DIR"
            return Missing(f"{where}; it would have {role} ({ROLES[role]}){also}")
        return Missing(f"the gallery has no {role} yet ({ROLES[role]}){also}")

    def plates(self, role: str) -> tuple[Path, str] | None:
        """The file of plates that stands for a network too large to ship, and what that network is; None if there is none."""
        exhibit = self.exhibits.get(role, {})
        if self.gallery is None or "plates" not in exhibit:
            return None
        return self.gallery / exhibit["plates"], exhibit["what"]

    def series(self, role: str) -> FoundSeries:
        """A network along training. A snapshot has its epoch in its name (ID.epoch<E>.safetensors); one without is the end."""
        exhibit = self.exhibits.get(role)
        if exhibit is None or self.gallery is None:
            raise self._no_exhibit(role)
        paths = exhibit.get("paths") or [exhibit[name] for name in ("path",) if name in exhibit]
        if not isinstance(paths, list) or not paths:
            raise InputError(f"{self.gallery / 'exhibits.toml'}: paths of {role} is {paths!r}; it must be a list of files")
        networks = {_epoch(self.gallery / path, network): network for path in paths for network in [load(self.gallery / path)]}
        return FoundSeries(
            dict(sorted(networks.items())), f"our network {paths[-1]} and {len(paths) - 1} snapshots ({exhibit['what']})"
        )

    def _directory(self, space: str) -> Path:
        """The directory of a space's sweep: one of the user's that holds it, else the gallery's."""
        for path, held in self.own.items():
            if held == space:
                self.unused.pop(path, None)
                return path
        if self.gallery is not None and (self.gallery / space / "sweep.json").exists():
            return self.gallery / space
        given = "give it with --from DIR" + ("" if self.gallery else ", or take the project's own with --gallery DIR")
        raise Missing(f"there is no sweep of {space}; make one with: algophase sweep {space}, and {given}")

    def sweep(self, space: str) -> FoundRuns:
        path = self._directory(space)
        runs = read_runs(path)
        directory = SweepDirectory(path)
        unfair = unfair_sample(directory.description()["space"], runs["index"].tolist(), directory.sittings())
        about = f"{space}, no fair sample of it yet" if unfair else space
        return FoundRuns(runs, f"{len(runs):,} runs of {path.name if path.parent == self.gallery else path} ({about})")

    def sittings(self, space: str) -> list[dict[str, Any]]:
        """What the shards of a sweep say of how they were made."""
        return SweepDirectory(self._directory(space)).sittings()

    def moments(self, space: str) -> FoundRuns:
        """The runs of a sweep along training: one row a run and epoch (`algophase sweep --snapshot`)."""
        path = self._directory(space)
        table = SweepDirectory(path).moments()
        if table is None:
            raise Missing(f"{path} was not followed along training; make it with: algophase sweep {space} --snapshot EPOCH ...")
        moments = table.to_pandas()
        count = moments["run_id"].nunique()
        return FoundRuns(moments, f"{count:,} runs of {space} at {moments['epoch'].nunique()} epochs each")

    def released_runs(self) -> FoundRuns | None:
        """The authors' table of runs, under our column names; None without --released or where it is not there."""
        from algophase.runs.released_table import read_released_table

        if self.released is None or not (self.released / RELEASED_TABLE).exists():
            return None
        runs = read_released_table(self.released / RELEASED_TABLE)
        return FoundRuns(runs, f"the authors' released table ({len(runs):,} runs)")

    def lacking(self, needs: tuple[str, ...]) -> list[str]:
        """Why an item cannot be made, one line a need; empty if it can."""
        found = []
        for need in needs:
            kind, _, name = need.partition(":")
            try:
                if kind == "network":
                    if not (self.released is not None and name in RELEASED) and name not in self.exhibits:
                        self.network(name)
                elif kind == "sweep":
                    self._directory(name)
                else:
                    self.moments(name)
            except InputError as error:
                found.append(str(error))
        return found


def _epoch(path: Path, network: Network) -> int:
    named = re.search(r"\.epoch(\d+)$", path.stem)
    if named is not None:
        return int(named[1])
    if network.run is None:
        raise InputError(f"{path} does not say after how many epochs it is: name it ID.epoch<E>.safetensors")
    return network.run.training.epochs
