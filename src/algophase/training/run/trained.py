"""What training gives back: the network, how it got there, and what it was trained with."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algophase.core.settings import RunSettings
from algophase.core.wording import floored
from algophase.networks import Network
from algophase.record.layout import to_record

CURVES = (
    "training_loss",
    "validation_loss",
    "training_accuracy",
    "validation_accuracy",
    "parameter_norm",
)


@dataclass(frozen=True)
class History:
    """One network along training, all arrays (points,) in float64. Epoch e is the network after e
    updates; 0 is its start.

    parameter_norm is the root of the sum of squares of all parameters. What is undefined (a
    diverged network's loss, the validation of a task without validation pairs) is NaN.
    """

    epochs: tuple[int, ...]
    training_loss: np.ndarray
    validation_loss: np.ndarray
    training_accuracy: np.ndarray
    validation_accuracy: np.ndarray
    parameter_norm: np.ndarray

    def __repr__(self) -> str:
        return f"<History: {len(self.epochs):,} points up to epoch {max(self.epochs, default=0):,}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, null for what is not a number."""
        record: dict[str, Any] = to_record(self)
        return record


@dataclass(frozen=True)
class TrainedRun:
    """A run's outcome.

    network: None only where training ended in weights that are not finite.
    epochs: updates made; fewer than the settings ask for after an early stop, an interruption or a
        divergence.
    snapshots: the network at the epochs asked for, up to its divergence.
    diverged_at: the epoch at which the training loss was no longer finite; the network is frozen as
        it was then.
    seconds: this run's share of the time its ensemble took.

    >>> from algophase import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
    >>> from algophase import train
    >>> run = RunSettings(TaskSettings(7), TransformerSettings(8), TrainingSettings(epochs=5))
    >>> (trained,) = train([run], device="cpu")
    >>> trained.epochs, trained.diverged_at, len(trained.history.training_loss)
    (5, None, 2)
    """

    run: RunSettings
    network: Network | None
    engine: str
    device: str
    precision: str
    epochs: int
    history: History
    snapshots: dict[int, Network] = field(default_factory=dict)
    diverged_at: int | None = None
    seconds: float = math.nan

    def __repr__(self) -> str:
        accuracy = self.history.validation_accuracy[-1] if len(self.history.epochs) else math.nan
        ended = (
            f"diverged at epoch {self.diverged_at:,}"
            if self.diverged_at is not None
            else f"{self.epochs:,} epochs"
        )
        return f"<TrainedRun {self.id}: {ended}, validation accuracy {floored(accuracy)}>"

    @property
    def id(self) -> str:
        return self.run.run_id
