"""Where the data of an item comes from: the authors' released files, a user's own sweep, or the
gallery of this project.
"""

import re
import tomllib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.core.gallery import default_gallery
from algophase.networks import Network
from algophase.runs.overview import unfair_sample
from algophase.runs.released_table import read_released_table
from algophase.runs.runs import Runs
from algophase.storage import load
from algophase.storage.runs_table import OpenTable, to_pandas
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
T = TypeVar("T")
# The networks of the paper that its authors released, by the role they have in it.
RELEASED = {
    "model-a": "p99zdpze5l",
    "model-b": "l8k1hzciux",
    "model-beta": "p71frej8t7",
    "model-delta": "qlvxqhkvit",
}
RELEASED_TABLE = "1l_fixedwidth.csv"
# What a network of each role is called, and what it must be.
ROLES = {
    "model-a": (
        "Model A",
        "a circular one-layer transformer without attention (rate 0) that learned a Pizza",
    ),
    "model-b": (
        "Model B",
        "a circular one-layer transformer with attention (rate 1) that learned a Clock",
    ),
    "model-beta": ("Model β", "a circular linear model beta that learned a Pizza"),
    "model-delta": ("Model δ", "a circular linear model delta"),
    "wide-pizza": ("Wide Pizza", "a circular Pizza of width 1024 with attention rate 1"),
    "separate-pizza": (
        "Separate embeddings",
        "a Pizza whose operands have embeddings of their own",
    ),
    "line-like": ("Line-like", "a non-circular network whose first principal component is a line"),
    "three-dimensional": (
        "Three-dimensional",
        "a non-circular network whose first three components form a curve in space",
    ),
    "early-clock": ("Early Clock", "a rate-1 network along training"),
    "early-pizza": ("Early Pizza", "a rate-0 network after 600 epochs"),
}


class Missing(InputError):
    """An item's data is not there; the message says what would bring it."""


def optional(ask: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
    """What `ask` gives, or None where its data is not there."""
    try:
        return ask(*args, **named)
    except Missing:
        return None


class Exhibit(Specimen):
    """A network in a role of the paper. source: where it comes from; published: whether it is
    the paper's own network.
    """

    def __init__(self, network: Network, role: str, source: str, *, published: bool) -> None:
        super().__init__(network, name=ROLES[role][0])
        self.source, self.published = source, published

    @property
    def circularity(self) -> float:
        """The lower one where the operands have tables of their own."""
        return min(self.analysis.operand_circularity)


class Series(NamedTuple):
    """One network along training: its snapshots by epoch, in their order."""

    networks: dict[int, Network]
    source: str


class Sources:
    """released: a directory of the authors' files; own: directories of the user's sweeps, which go
    before the gallery's.

    Networks and tables are read once, and a network is analyzed once for all items made from it.
    """

    def __init__(
        self, gallery: Path | None = None, own: tuple[Path, ...] = (), released: Path | None = None
    ) -> None:
        for path in (*own, *((released,) if released else ()), *((gallery,) if gallery else ())):
            if not path.is_dir():
                raise InputError(f"{path} is not a directory")
        self.gallery = gallery or default_gallery()
        self.own = {path: SweepDirectory(path).description()["space"]["name"] for path in own}
        self.unused = dict(self.own)  # until an item asks
        self.released = released
        self._networks: dict[str, Exhibit] = {}
        self._runs: dict[str, Runs] = {}
        # Filled by `paper.measure`.
        self.populations: dict[str, Any] = {}
        self.measurements: dict[str, Any] = {}

    @cached_property
    def exhibits(self) -> dict[str, dict[str, Any]]:
        """The gallery's networks by role: `path` below the gallery (`paths` for one along training,
        `plates` for pictures of one too large) and `what` it is."""
        path = None if self.gallery is None else self.gallery / "exhibits.toml"
        if path is None or not path.exists():
            return {}
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is not readable: {error}") from None

    def network(self, role: str) -> Exhibit:
        """The network of a role: the authors' own with --released, else the gallery's."""
        if role not in self._networks:
            self._networks[role] = self._load(role)
        return self._networks[role]

    def _load(self, role: str) -> Exhibit:
        if self.released is not None and role in RELEASED:
            path = self.released / f"model_{RELEASED[role]}.pt"
            return Exhibit(
                load(path), role, f"the authors' released network {RELEASED[role]}", published=True
            )
        gallery, exhibit = self._exhibit(role)
        if "path" not in exhibit:
            raise InputError(f"{gallery / 'exhibits.toml'}: {role} has no path")
        source = f"our network {exhibit['path']} ({exhibit['what']})"
        return Exhibit(load(gallery / exhibit["path"]), role, source, published=False)

    def _exhibit(self, role: str) -> tuple[Path, dict[str, Any]]:
        """The gallery, and what it says of the network of a role."""
        what = ROLES[role][1]
        exhibit = self.exhibits.get(role)
        also = "; the authors' own is taken with --released DIR" if role in RELEASED else ""
        if self.gallery is None:
            where = (
                "there is no gallery here: it comes with a clone of the project, and is "
                "given with --gallery DIR"
            )
            raise Missing(f"{where}; it would have {role} ({what}){also}")
        if exhibit is None:
            raise Missing(f"the gallery has no {role} yet ({what}){also}")
        paths = [exhibit.get("path"), *(exhibit.get("paths") or [])]
        if not all((self.gallery / path).exists() for path in paths if isinstance(path, str)):
            clone = (
                "an installed package has the gallery's tables alone; a clone of the "
                "project has its networks: --gallery DIR"
            )
            raise Missing(f"{role} is missing ({what}): {clone}{also}")
        return self.gallery, exhibit

    def plates(self, role: str) -> tuple[Path, str] | None:
        """The file of plates that stands for a network too large to ship, and what that network
        is; None if there is none.
        """
        exhibit = self.exhibits.get(role, {})
        if self.gallery is None or "plates" not in exhibit:
            return None
        return self.gallery / exhibit["plates"], exhibit["what"]

    def series(self, role: str) -> Series:
        """A network along training. A snapshot has its epoch in its name
        (ID.epoch<E>.safetensors); one without is the end.
        """
        gallery, exhibit = self._exhibit(role)
        paths = exhibit.get("paths") or [exhibit[name] for name in ("path",) if name in exhibit]
        if not isinstance(paths, list) or not paths:
            raise InputError(
                f"{gallery / 'exhibits.toml'}: paths of {role} is {paths!r}; it must be a list "
                "of files"
            )
        networks = {}
        for path in paths:
            network = load(gallery / path)
            networks[_epoch(gallery / path, network)] = network
        source = f"our network {paths[-1]} and {len(paths) - 1} snapshots ({exhibit['what']})"
        return Series(dict(sorted(networks.items())), source)

    def _directory(self, space: str) -> Path:
        """The directory of a space's sweep: one of the user's that holds it, else the gallery's."""
        for path, own_space in self.own.items():
            if own_space == space:
                self.unused.pop(path, None)
                return path
        if self.gallery is not None and (self.gallery / space / "sweep.json").exists():
            return self.gallery / space
        advice = "give it with --from DIR"
        if not self.gallery:
            advice += ", or take the project's own with --gallery DIR"
        raise Missing(
            f"there is no sweep of {space}; make one with: algophase sweep {space}, and {advice}"
        )

    def runs(self, space: str, *columns: str) -> Runs:
        """The runs of a space's sweep that have an outcome. columns: what they must record."""
        path = self._directory(space)
        if space not in self._runs:
            table_file = OpenTable(path)
            table = to_pandas(table_file.read(), path)
            space_description = SweepDirectory(path).description()["space"]
            indices = table["index"].tolist()
            unfair = unfair_sample(space_description, indices, table_file.calls())
            about = f"{space}, no fair sample of it yet" if unfair else space
            where = path.name if path.parent == self.gallery else path
            source = f"{len(table):,} runs of {where} ({about})"
            self._runs[space] = Runs.of(table, f"the sweep of {space}", source=source)
        return self._runs[space].require(columns)

    def calls(self, space: str) -> list[dict[str, Any]]:
        """What the shards of a sweep say of how they were made."""
        return SweepDirectory(self._directory(space)).calls()

    def moments(self, space: str) -> Runs:
        """The runs of a sweep along training (`algophase sweep --snapshot`): one row per run and
        epoch.
        """
        path = self._directory(space)
        arrow_table = SweepDirectory(path).moments()
        if arrow_table is None:
            raise Missing(
                f"{path} was not followed along training; make it with: algophase sweep {space} "
                "--snapshot EPOCH ..."
            )
        table = arrow_table.to_pandas()
        runs = table["run_id"].nunique()
        epochs = table["epoch"].nunique()
        source = f"{runs:,} runs of {space} at {epochs} epochs each"
        return Runs(f"the moments of {space}", table, len(table), source=source)

    @cached_property
    def released_runs(self) -> Runs | None:
        """The authors' table of runs, under our column names; None without --released or where
        it is not there.
        """
        if self.released is None or not (self.released / RELEASED_TABLE).exists():
            return None
        table = read_released_table(self.released / RELEASED_TABLE)
        source = f"the authors' released table ({len(table):,} runs)"
        return Runs.of(table, source, source=source)

    def lacking(self, needs: tuple[str, ...]) -> list[str]:
        """Why an item cannot be made, one line per need; empty if it can."""
        reasons = []
        for need in needs:
            kind, _, name = need.partition(":")
            try:
                if kind == "network" and not (self.released is not None and name in RELEASED):
                    self._exhibit(name)
                elif kind == "sweep":
                    self._directory(name)
                elif kind == "moments":
                    self.moments(name)
            except InputError as error:
                reasons.append(str(error))
        return reasons


def source_of(*exhibits: Exhibit) -> str:
    if len(exhibits) == 1:
        return exhibits[0].source
    return "; ".join(f"{one.name}: {one.source}" for one in exhibits)


def _epoch(path: Path, network: Network) -> int:
    named = re.search(r"\.epoch(\d+)$", path.stem)
    if named is not None:
        return int(named[1])
    if network.run is None:
        raise InputError(
            f"{path} does not say after how many epochs it is: name it ID.epoch<E>.safetensors"
        )
    return network.run.training.epochs
