"""The history of an ensemble: losses, accuracies and norms of every network at chosen epochs, in
float64.
"""

import warnings

import numpy as np
import torch
from torch import Tensor

from algophase.training.engines.engine import Engine
from algophase.training.run.trained import CURVES, History


class HistoryRecorder:
    """`curves[name]` has one array (n,) a point."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.curves: dict[str, list[np.ndarray]] = {name: [] for name in CURVES}

    @torch.no_grad()
    def record(self, epoch: int, engine: Engine) -> None:
        losses, right = engine.all_pairs()
        training = engine.weights > 0
        # Padding is zero and stays zero, so the whole row is the network.
        norm = _sums(engine.parameters.flat.double().square()).sqrt()
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
    return _sums(torch.where(chosen, values.double(), 0.0).flatten(1)) / chosen.flatten(1).sum(1)


def _sums(rows: Tensor) -> Tensor:
    """(n,): each row's sum, halves added onto each other. On a GPU the order of `sum` depends on
    how many rows there are, and a network's history must not depend on its company."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        folded = rows[:, :half] + rows[:, half : 2 * half]
        rows = torch.cat([folded, rows[:, 2 * half :]], 1)
    return rows[:, 0]
