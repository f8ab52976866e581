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
    check_integer,
    network_from_dict,
    shown,
    trained_kinds,
)
from algophase.sweeps._space_data import by_section, read_entries
from algophase.sweeps.distributions import Distribution, Grid, Value, read_distribution

LARGEST_SEED = 2**48
LONGEST_NAME = 60  # of a space, in letters
# Of a sweep, which draws them all before it trains one: two minutes for a million.
MOST_RUNS = 1_000_000


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
        paired: the cells of a grid share their seeds and all that is drawn, so that runs differ
            in the grid's settings alone.
        history_stride: epochs between two looks at a network while it trains; rows then say when
            it memorized and when it generalized. 0: no such columns.
        arms: settings by arm, for paired comparisons: the runs 0 to n - 1 of n arms differ in
            these alone, and have all other settings and the seed in common; then the next n.

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
    paired: bool = False
    history_stride: int = 0
    arms: tuple[Mapping[str, Value], ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """The grids by setting, in the order of a file's sections. The order decides which cell a
        run is in.
        """
        names = sorted(self.settings, key=_position_of_section)
        rules = {name: self.settings[name] for name in names}
        return {name: rule for name, rule in rules.items() if isinstance(rule, Grid)}

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
        draw = index  # runs of one draw differ in their arm alone
        arm: Mapping[str, Value] = {}
        if self.arms:
            draw, number = divmod(index, len(self.arms))
            arm = self.arms[number]
        cell = draw % self.cells
        if self.paired:
            draw //= self.cells
        values: dict[str, Value] = {}
        for name, grid in reversed(self.grids.items()):  # the last grid of the file turns fastest
            cell, position = divmod(cell, len(grid.values))
            values[name] = grid.values[position]
        for name, rule in self.settings.items():
            if not isinstance(rule, Grid):
                values[name] = rule.draw(generator(seed, self.name, draw, name))
        seeds = generator(seed, self.name, draw, "seed")
        own_seed = int(seeds.integers(LARGEST_SEED))
        try:
            return self._build({**values, **arm}, own_seed)
        except InputError as error:
            raise InputError(f"run {index} of space {self.name}: {error}") from None

    def _build(self, values: Mapping[str, object], seed: int) -> RunSettings:
        """The run of these values, given under section and name. What is not given is at its
        default; of training, at what is published for this kind of network.
        """
        parts = by_section(values)
        network = network_from_dict({"kind": self.kind, **parts.get("network", {})})
        published = network.published_training().to_dict()
        training = TrainingSettings.from_dict({**published, **parts.get("training", {})})
        task = TaskSettings.from_dict(parts.get("task", {}))
        return RunSettings(task, network, training, seed)

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
        settings = dict(self.settings)
        for name in ("task.modulus", "task.operation", "task.relabeling"):
            settings.pop(name, None)
        rule = {"grid": list(groups)} if len(groups) > 1 else groups[0]
        settings["task.group"] = read_distribution("task.group", rule)
        named = ", ".join(groups)
        suffix = "-".join(groups)
        if len(self.name) + len(suffix) >= LONGEST_NAME or not _is_name(suffix):
            digest = hashlib.sha256(named.encode()).hexdigest()
            suffix = f"groups-{digest[:8]}"
        return replace(
            self,
            name=f"{self.name}-{suffix}",
            title=f"{self.title}, on {named}",
            settings=settings,
            figures=(),
            paper_runs=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The space as data, in the form of a space file."""
        record: dict[str, Any] = {"name": self.name, "title": self.title, "runs": self.runs}
        if self.snapshots:
            record["snapshots"] = list(self.snapshots)
        if self.hidden:
            record["hidden"] = True
        if self.paired:
            record["paired"] = True
        if self.history_stride:
            record["history_stride"] = self.history_stride
        if self.arms:
            record["arms"] = [by_section(arm) for arm in self.arms]
        record["network"] = {"kind": self.kind}
        rules = {name: rule.to_data() for name, rule in self.settings.items()}
        for section, entries in by_section(rules).items():
            record.setdefault(section, {}).update(entries)
        return record

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """A space from data in the form of a space file. Everything is checked here, before
        anything runs.

        Arguments:
            data: name, title, runs, snapshots, hidden, paired, history_stride, arms, and the
                sections task, network and training.

        Returns:
            The space.

        Raises:
            InputError: an entry is unknown or out of range.
        """
        return cls(**read_entries(data))


def _position_of_section(name: str) -> int:
    """Where the section of a setting stands in a space file."""
    section, _, _ = name.partition(".")
    return SECTIONS.index(section)


def check_runs(what: str, runs: object) -> None:
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        raise InputError(f"{what} is {shown(runs)}; it must be an integer from 1 to {MOST_RUNS:,}")


def _is_name(text: str) -> bool:
    return all(letter.isalnum() or letter in "-_." for letter in text)


def _check(space: Space) -> None:
    _check_name(space.name)
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
    check_integer(f"history_stride of space {space.name}", space.history_stride, 0)
    _check_names_of_settings(space)
    # Every extreme value with the first of all others: what a setting cannot be is named now, not
    # at run 731.
    first = {name: rule.extremes()[0] for name, rule in space.settings.items()}
    for arm in space.arms or ({},):
        for name, rule in space.settings.items():
            for value in rule.extremes():
                _try(space, {**first, name: value, **arm})
        _try(space, {**first, **arm})


def _check_name(name: str) -> None:
    """The name becomes a directory's."""
    fits = 1 <= len(name) <= LONGEST_NAME
    if not fits or not _is_name(name) or name.startswith("."):
        choices = (
            f"use 1 to {LONGEST_NAME} letters, digits, dashes, dots and underscores, and no dot "
            "at the beginning"
        )
        raise InputError(f"the name of a space is {shown(name)}; {choices}")


def _check_names_of_settings(space: Space) -> None:
    classes: dict[str, type[Any]] = {
        "task": TaskSettings,
        "network": NETWORK_KINDS[space.kind],
        "training": TrainingSettings,
    }
    names = list(space.settings)
    for arm in space.arms:
        names += arm
    for name in names:
        section, _, setting = name.partition(".")
        if section not in classes:
            raise InputError(
                f"space {space.name} has no section {section!r}; choose from {', '.join(SECTIONS)}"
            )
        settings = [item.name for item in fields(classes[section])]
        if setting not in settings:
            raise InputError(
                f"{section} of space {space.name} has no setting {setting!r}; choose from "
                f"{', '.join(settings)}"
            )


def _try(space: Space, values: Mapping[str, object]) -> None:
    try:
        space._build(values, seed=0)
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
        tables = ", ".join(f"[{name}]" for name in SECTIONS)
        raise InputError(f"{path} defines no space; give it one of the tables {tables}")
    return space
