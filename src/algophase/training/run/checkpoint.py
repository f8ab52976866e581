"""A whole ensemble as data: what it is, how far it is, and every number needed to go on as if
nothing had happened.

Where checkpoints are kept is the business of a `Checkpointer` (files: `storage.checkpoints`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Protocol

from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, shown
from algophase.training.run.plan import PlannedEnsemble


@dataclass(frozen=True)
class Description:
    """What must be equal for a checkpoint to be continued, and how far it is. Everything here is
    JSON.

    watching: what the loop was asked to record (`loop.Watch`); layout: shapes of the engine's
        parameters.
    """

    runs: tuple[RunSettings, ...]
    engine: str
    device_type: str
    precision: str
    watching: Mapping[str, Any]
    layout: Mapping[str, Any]
    epoch: int = 0
    seconds: float = 0.0
    history_epochs: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            **vars(self),
            "runs": [run.to_dict() for run in self.runs],
            "history_epochs": list(self.history_epochs),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Description":
        """From JSON, every entry checked: what is written in a file may be anything."""
        if not isinstance(data, Mapping):
            raise InputError(f"its description is {shown(data)}; it must be a JSON object")
        names = [entry.name for entry in fields(cls)]
        for name in data:
            if name not in names:
                raise InputError(f"it has no entry {shown(name)}")
        for name in names:
            if name not in data:
                raise InputError(f"its {name} is missing")
        _require(
            "runs",
            data["runs"],
            isinstance(data["runs"], list) and data["runs"],
            "a list of run settings",
        )
        runs = tuple(RunSettings.from_dict(run) for run in data["runs"])
        for name in ("engine", "device_type", "precision"):
            _require(name, data[name], isinstance(data[name], str), "text")
        for name in ("watching", "layout"):
            _require(name, data[name], isinstance(data[name], Mapping), "a JSON object")
        epoch = data["epoch"]
        seconds = data["seconds"]
        history = data["history_epochs"]
        last = min(run.training.epochs for run in runs)
        _require(
            "epoch",
            epoch,
            _is_integer(epoch) and 0 <= epoch <= last,
            f"an integer from 0 to {last}",
        )
        number = _is_integer(seconds) or isinstance(seconds, float)
        _require("seconds", seconds, number and 0 <= seconds < math.inf, "a number of at least 0")
        ascending = isinstance(history, list) and all(
            _is_integer(point) and 0 <= point <= epoch for point in history
        )
        ascending = ascending and all(point < following for point, following in pairwise(history))
        _require("history_epochs", history, ascending, f"ascending integers from 0 to {epoch}")
        return cls(**{**data, "runs": runs, "history_epochs": tuple(history)})

    def refusal(self, group: PlannedEnsemble, watching: Mapping[str, Any]) -> str | None:
        """Why training that group would not continue this checkpoint, or None if it would."""
        if list(self.runs) != list(group.runs):
            return "it holds other runs"
        pairs = [
            ("engine", self.engine, group.engine),
            ("device", self.device_type, group.device.type),
            ("precision", self.precision, group.precision),
            *((name, self.watching.get(name), value) for name, value in watching.items()),
        ]
        for name, saved, asked in pairs:
            if saved != asked:
                return f"its {name.replace('_', ' ')} is {saved!r}, not {asked!r}"
        return None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _require(name: str, value: object, fine: object, allowed: str) -> None:
    if not fine:
        raise InputError(f"its {name} is {shown(value)}; it must be {allowed}")


@dataclass(frozen=True)
class Checkpoint:
    description: Description
    tensors: dict[str, Tensor] = field(repr=False)


class Checkpointer(Protocol):
    """Keeps the checkpoints of interrupted ensembles.

    every_seconds: how often a running ensemble is saved.
    """

    every_seconds: float

    def pending(self) -> Sequence[Description]:
        """Every ensemble that waits to be continued."""

    def read(self, description: Description) -> Checkpoint: ...

    def write(self, checkpoint: Checkpoint) -> None: ...

    def remove(self, runs: Sequence[RunSettings]) -> None:
        """Forget the checkpoint of these runs, if there is one: they are done."""

    def where(self, description: Description) -> str:
        """The checkpoint's place, for messages."""
