"""What training gives back: the network, how it got there, and what it was trained with. And how
its history is recorded, losses, accuracies and norms at chosen epochs in float64.
"""

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algophase.core.settings import RunSettings
from algophase.core.wording import floored
from algophase.networks import Network
from algophase.record.layout import to_record
from algophase.training.engines.engine import Engine
from algophase.training.run.optimizer import row_sums

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
        """Lists, null for what is not a number."""
        record: dict[str, Any] = to_record(self)
        return record


@dataclass(frozen=True)
class TrainedRun:
    """The outcome of a training run.

    Attributes:
        run: its settings.
        network: the trained network; None if training ended in weights that are not finite.
        engine, device, precision: what it was trained with.
        epochs: updates made; fewer than asked for after an early stop, an interruption or a
            divergence.
        history: losses, accuracies and the parameter norm along training.
        snapshots: the network at the epochs asked for, up to its divergence.
        diverged_at: the epoch at which the training loss was no longer finite, or None. The network
            is frozen as it was then.
        seconds: this run's share of the time that its ensemble took.

    Example:
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
        """The run's id."""
        return self.run.run_id


class HistoryRecorder:
    """The history of an ensemble: `curves[name]` has one array (n,) per point."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.curves: dict[str, list[np.ndarray]] = {name: [] for name in CURVES}

    @torch.no_grad()
    def record(self, epoch: int, engine: Engine) -> None:
        losses, right = engine.all_pairs()
        training = engine.weights > 0
        # Padding is zero and stays zero, so the whole row is the network.
        norm = row_sums(engine.parameters.flat.double().square()).sqrt()
        values = (
            _mean(losses, training),
            _mean(losses, ~training),
            _mean(right, training),
            _mean(right, ~training),
            norm,
        )
        self.epochs.append(epoch)
        for name, value in zip(CURVES, values, strict=True):
            self.curves[name].append(value.cpu().numpy())

    def last(self, name: str) -> np.ndarray:
        return self.curves[name][-1]

    def median(self, name: str) -> float:
        """Over the networks at the last point, those that have a value."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # all diverged: the median is NaN, which is what we want to say
            return float(np.nanmedian(self.last(name))) if self.epochs else np.nan

    def history(self, index: int) -> History:
        """One network's."""
        curves = {
            name: np.array([point[index] for point in points])
            for name, points in self.curves.items()
        }
        return History(tuple(self.epochs), **curves)

    def tensors(self) -> dict[str, Tensor]:
        """Each curve (points, n), for a checkpoint."""
        return {name: torch.from_numpy(np.stack(points)) for name, points in self.curves.items()}

    def restore(self, epochs: tuple[int, ...], tensors: dict[str, Tensor]) -> None:
        self.epochs = list(epochs)
        self.curves = {name: list(tensors[name].numpy()) for name in CURVES}


def _mean(values: Tensor, chosen: Tensor) -> Tensor:
    """(n,): the mean over each network's chosen pairs (n, p, p); NaN where there are none."""
    # where, not a product: a diverged loss outside the choice must not turn it into NaN
    return row_sums(torch.where(chosen, values.double(), 0.0).flatten(1)) / chosen.flatten(1).sum(1)
