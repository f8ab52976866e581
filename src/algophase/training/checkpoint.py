"""A whole ensemble as data: what it is, how far it is, and every number needed to go on as if nothing had happened.

Where checkpoints are kept is the business of a `Checkpointer` (files: `storage.checkpoints`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from algophase.errors import InputError
from algophase.settings import RunSettings
from algophase.training.plan import Group


@dataclass(frozen=True)
class Description:
    """What must be equal for a checkpoint to be continued, and how far it is. Everything here is JSON.

    watching: what the loop was asked to record (`loop.Watch`); layout: shapes of the engine's parameters.
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
        return {**vars(self), "runs": [run.to_dict() for run in self.runs], "history_epochs": list(self.history_epochs)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Description":
        try:
            runs = tuple(RunSettings.from_dict(run) for run in data["runs"])
            return cls(**{**data, "runs": runs, "history_epochs": tuple(data["history_epochs"])})
        except (KeyError, TypeError) as error:
            raise InputError(f"the description of a checkpoint is not readable: {error}") from None

    def refusal(self, group: Group, watching: Mapping[str, Any]) -> str | None:
        """Why training that group would not continue this checkpoint, or None if it would."""
        if list(self.runs) != list(group.runs):
            return "it holds other runs"
        pairs = [
            ("engine", self.engine, group.engine),
            ("device", self.device_type, group.device.type),
            ("precision", self.precision, group.precision),
            *((name, self.watching.get(name), value) for name, value in watching.items()),
        ]
        for name, held, asked in pairs:
            if held != asked:
                return f"its {name.replace('_', ' ')} is {held!r}, not {asked!r}"
        return None


@dataclass(frozen=True)
class Checkpoint:
    description: Description
    tensors: dict[str, Tensor] = field(repr=False)


class Checkpointer(Protocol):
    """Keeps the checkpoints of interrupted ensembles."""

    every_seconds: float

    def pending(self) -> Sequence[Description]:
        """Every ensemble that waits to be continued."""

    def read(self, description: Description) -> Checkpoint: ...

    def write(self, checkpoint: Checkpoint) -> None: ...

    def remove(self, runs: Sequence[RunSettings]) -> None:
        """Forget the checkpoint of these runs, if there is one: they are done."""

    def where(self, description: Description) -> str:
        """The checkpoint's place, for messages."""
