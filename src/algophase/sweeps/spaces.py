"""A space of runs: how each setting varies, so that the i-th run of a space with a seed is
always the same run.
"""

import hashlib
import math
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from algophase.core.errors import InputError
from algophase.core.seeding import generator
from algophase.core.settings import (
    NETWORK_KINDS,
    SECTIONS,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
    network_from_dict,
    shown,
    trained_kinds,
)
from algophase.sweeps.distributions import Distribution, Grid, read_distribution

LARGEST_SEED = 2**48
LONGEST_NAME = 60  # of a space, in letters
MOST_RUNS = (
    1_000_000  # of a sweep, which draws them all before it trains one: two minutes for so many
)


@dataclass(frozen=True)
class Space:
    """A space of runs: a distribution for each setting that is not at its default.

    Arguments:
        name: its name.
        settings: a distribution per setting, under section and name ("network.width").
        kind: the kind of network.
        title: what the space is, in one line.
        runs: how many runs a sweep makes by default.
        figures: the figures of the paper that it is for.
        paper_runs: the runs behind those figures, where the paper or its released table says.
        snapshots: epochs at which a sweep analyzes its networks during training, by default.
        hidden: also analyze the hidden layers (`analyze --hidden`), into columns `hidden.*`.

    Raises:
        InputError: a setting is unknown or out of range.

    Example:
        >>> from algophase import Space
        >>> network = {"attention_rate": {"uniform": [0, 1]}}
        >>> space = Space.from_dict({"name": "rates", "network": network})
        >>> space.run(7, seed=0) == space.run(7, seed=0)  # a space and a seed give the same run 7
        True
    """

    # Whether all runs of a table are looked at after the same epochs
    fixed_snapshots: ClassVar[bool] = True
    name: str
    settings: Mapping[str, Distribution]
    kind: str = TransformerSettings.kind
    title: str = ""
    runs: int = 100
    figures: tuple[str, ...] = ()
    paper_runs: int | None = None
    snapshots: tuple[int, ...] = ()
    hidden: bool = False

    def __post_init__(self) -> None:
        _check(self)

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """The grids by setting, in the order of a file's sections. The order decides which cell a
        run is in.
        """
        ordered = sorted(
            self.settings.items(), key=lambda item: SECTIONS.index(item[0].partition(".")[0])
        )
        return {name: rule for name, rule in ordered if isinstance(rule, Grid)}

    @property
    def cells(self) -> int:
        """Number of cells: the product of the sizes of all grids."""
        return math.prod(len(grid.values) for grid in self.grids.values())

    def places(self, runs: int) -> Sequence[int]:
        """The indices of the first runs.

        Arguments:
            runs: how many.

        Returns:
            The indices.
        """
        return range(runs)

    def run(self, index: int, seed: int = 0) -> RunSettings:
        """The i-th run. Each setting is drawn from its own random stream.

        Arguments:
            index: i, from 0.
            seed: another seed gives another run.

        Returns:
            The run's settings.
        """
        values, cell = {}, index % self.cells
        for name, grid in reversed(self.grids.items()):  # the last grid of the file turns fastest
            cell, position = divmod(cell, len(grid.values))
            values[name] = grid.values[position]
        for name, rule in self.settings.items():
            if not isinstance(rule, Grid):
                values[name] = rule.draw(generator(seed, self.name, index, name))
        own_seed = int(generator(seed, self.name, index, "seed").integers(LARGEST_SEED))
        try:
            return self._build(values, own_seed)
        except InputError as error:
            raise InputError(f"run {index} of space {self.name}: {error}") from None

    def _build(self, values: Mapping[str, object], seed: int) -> RunSettings:
        parts: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
        for name, value in values.items():
            section, _, setting = name.partition(".")
            parts[section][setting] = value
        network = network_from_dict({"kind": self.kind, **parts["network"]})
        training = TrainingSettings.from_dict(
            {**network.published_training().to_dict(), **parts["training"]}
        )
        return RunSettings(TaskSettings.from_dict(parts["task"]), network, training, seed)

    def sample(self, indices: Sequence[int], seed: int = 0) -> list[RunSettings]:
        """Several runs.

        Arguments:
            indices: the index of each.
            seed: another seed gives other runs.

        Returns:
            The runs' settings, in the order of the indices.
        """
        return [self.run(index, seed) for index in indices]

    def on_groups(self, groups: Sequence[str]) -> Self:
        """The same space on other finite groups. Its name is another, so that its runs are drawn
        anew.

        Arguments:
            groups: the group's name or generators; of several, runs go from one to the next.

        Returns:
            The space.

        Raises:
            InputError: a group is unknown, or the networks cannot be trained on it.

        Example:
            >>> space = Space.from_dict({"name": "rates", "network": {"width": 64}})
            >>> space.on_groups(["D30", "A5"]).run(1).task.group
            'A5'
        """
        settings = {
            name: rule
            for name, rule in self.settings.items()
            if name not in ("task.modulus", "task.operation", "task.relabeling")
        }
        rule = {"grid": list(groups)} if len(groups) > 1 else groups[0]
        settings["task.group"] = read_distribution("task.group", rule)
        named = ", ".join(groups)
        suffix = "-".join(groups)
        if len(self.name) + len(suffix) >= LONGEST_NAME or not _is_name(suffix):
            suffix = f"groups-{hashlib.sha256(named.encode()).hexdigest()[:8]}"
        name, title = f"{self.name}-{suffix}", f"{self.title}, on {named}"
        return replace(self, name=name, title=title, settings=settings, figures=(), paper_runs=None)

    def to_dict(self) -> dict[str, Any]:
        """The space as data, in the form of a space file."""
        record: dict[str, Any] = {"name": self.name, "title": self.title, "runs": self.runs}
        if self.snapshots:
            record["snapshots"] = list(self.snapshots)
        if self.hidden:
            record["hidden"] = True
        record["network"] = {"kind": self.kind}
        for name, rule in self.settings.items():
            section, _, setting = name.partition(".")
            record.setdefault(section, {})[setting] = rule.to_data()
        return record

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """A space from data in the form of a space file. Everything is checked here, before
        anything runs.

        Arguments:
            data: name, title, runs, snapshots, hidden, and the sections task, network and training.

        Returns:
            The space.

        Raises:
            InputError: an entry is unknown or out of range.
        """
        allowed = ("name", "title", "runs", "snapshots", "hidden", *SECTIONS)
        unknown = [str(key) for key in data if key not in allowed]
        if unknown:
            raise InputError(
                f"a space has no entry {', '.join(unknown)}; choose from {', '.join(allowed)}"
            )
        settings: dict[str, Distribution] = {}
        kind = TransformerSettings.kind
        for section in SECTIONS:
            entries = data.get(section, {})
            if not isinstance(entries, Mapping):
                raise InputError(f"{section} is {shown(entries)}; it must be a table of settings")
            for setting, value in entries.items():
                if (section, setting) == ("network", "kind"):
                    kind = value
                else:
                    settings[f"{section}.{setting}"] = read_distribution(
                        f"{section}.{setting}", value
                    )
        for key in ("name", "title"):
            if not isinstance(data.get(key, ""), str):
                raise InputError(f"{key} of a space is {shown(data[key])}; it must be text")
        snapshots = data.get("snapshots", [])
        if not isinstance(snapshots, list):
            raise InputError(
                f"snapshots of a space is {shown(snapshots)}; it must be a list of epochs"
            )
        hidden = data.get("hidden", False)
        if not isinstance(hidden, bool):
            raise InputError(f"hidden of a space is {shown(hidden)}; it must be true or false")
        return cls(
            data.get("name", ""),
            settings,
            kind,
            data.get("title", ""),
            data.get("runs", 100),
            snapshots=tuple(snapshots),
            hidden=hidden,
        )


def check_runs(what: str, runs: object) -> None:
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        raise InputError(f"{what} is {shown(runs)}; it must be an integer from 1 to {MOST_RUNS:,}")


def _is_name(text: str) -> bool:
    return all(letter.isalnum() or letter in "-_." for letter in text)


def _check(space: Space) -> None:
    # it becomes a directory's name
    fits = 1 <= len(space.name) <= LONGEST_NAME
    if not fits or not _is_name(space.name) or space.name.startswith("."):
        choices = (
            f"use 1 to {LONGEST_NAME} letters, digits, dashes, dots and underscores, and no dot "
            "at the beginning"
        )
        raise InputError(f"the name of a space is {shown(space.name)}; {choices}")
    check_runs(f"runs of space {space.name}", space.runs)
    for epoch in space.snapshots:
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise InputError(
                f"a snapshot of space {space.name} is {shown(epoch)}; it must be an epoch, an "
                "integer of at least 0"
            )
    if space.kind not in trained_kinds():
        choices = ", ".join(trained_kinds())
        raise InputError(
            f"network.kind of space {space.name} is {shown(space.kind)}; choose one of {choices}"
        )
    classes: dict[str, type[Any]] = {
        "task": TaskSettings,
        "network": NETWORK_KINDS[space.kind],
        "training": TrainingSettings,
    }
    for name in space.settings:
        section, _, setting = name.partition(".")
        if section not in classes:
            raise InputError(
                f"space {space.name} has no section {section!r}; choose from {', '.join(SECTIONS)}"
            )
        names = [item.name for item in fields(classes[section])]
        if setting not in names:
            raise InputError(
                f"{section} of space {space.name} has no setting {setting!r}; choose from "
                f"{', '.join(names)}"
            )
    # Every extreme value with the first of all others: what a setting cannot be is named now, not
    # at run 731.
    first = {name: rule.extremes()[0] for name, rule in space.settings.items()}
    for name, rule in space.settings.items():
        for value in rule.extremes():
            try:
                space._build({**first, name: value}, seed=0)
            except InputError as error:
                raise InputError(f"space {space.name}: {error}") from None


def load_space(path: Path) -> Space:
    """A user's space from a TOML file. Its name, unless given inside, is the file's."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}") from None
    except RecursionError:
        raise InputError(
            f"{path} is nested too deeply: a setting is a value, or a table of one list"
        ) from None
    except ValueError:  # of Python's own limit
        raise InputError(
            f"{path} holds an integer of more than {sys.get_int_max_str_digits():,} digits"
        ) from None
    try:
        space = Space.from_dict({"name": path.stem, **data})
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if not any(section in data for section in SECTIONS):
        raise InputError(
            f"{path} defines no space; give it one of the tables "
            f"{', '.join(f'[{name}]' for name in SECTIONS)}"
        )
    return space
