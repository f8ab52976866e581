"""What training gives back: the network, how it got there, and what it was trained with."""

import math
from collections.abc import Sequence
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


@dataclass(frozen=True)
class Progress:
    """Where training stands.

    networks, epoch, epochs: of an ensemble in work, which is number `ensemble` of `ensembles`.
        Small ones train side by side on a GPU, and each of them is reported.
    rate: networks x epochs per second, of all in work; seconds_left: for all ensembles (NaN before
        the first epoch).
    training_loss, validation_accuracy: medians over the ensemble at its last history point.
    share: how much of the whole work, of all ensembles, is done: from 0 to 1.
    """

    networks: int
    epoch: int
    epochs: int
    ensemble: int
    ensembles: int
    rate: float
    seconds_left: float
    training_loss: float
    validation_accuracy: float
    share: float


class OutOfTime(Exception):
    """Raised by a progress callback whose deadline has passed. Training then stops as after
    Ctrl-C.
    """


class TrainingInterrupted(Exception):
    """Training stopped early, by Ctrl-C or by a deadline.

    finished: the runs that were done before; partial: the interrupted ensemble as it stands, or all
        that trained side by side;
    saved: whether checkpoints let them continue; out_of_time: whether a deadline stopped it.

    >>> from algophase import TrainingInterrupted
    >>> TrainingInterrupted([], saved=False).out_of_time
    False
    """

    def __init__(
        self,
        partial: Sequence[TrainedRun],
        saved: bool,
        finished: Sequence[TrainedRun] = (),
        *,
        ensembles: int = 1,
        out_of_time: bool = False,
    ) -> None:
        self.partial, self.saved, self.finished, self.out_of_time = (
            list(partial),
            saved,
            list(finished),
            out_of_time,
        )
        what = "ran out of time" if out_of_time else "was interrupted"
        kept = "saved and can be continued" if saved else "not saved"
        whose = "an ensemble" if ensembles == 1 else f"{ensembles} ensembles"
        of = f"{whose} of {len(self.partial)}, which {'is' if ensembles == 1 else 'are'}"
        super().__init__(f"training {what} at epoch {self.epochs} of {of} {kept}")

    @property
    def epochs(self) -> int:
        """How far the interrupted ensemble is."""
        return max((run.epochs for run in self.partial), default=0)


def ignore(_: object) -> None:
    """A callback that does nothing."""
