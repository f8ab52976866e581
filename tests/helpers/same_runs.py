"""Whether two trainings of the same runs ended alike."""

from collections.abc import Sequence

import numpy as np
import torch

from algophase.training.run.trained import CURVES, TrainedRun


def assert_same(first: Sequence[TrainedRun], second: Sequence[TrainedRun]) -> None:
    """Bit for bit."""
    for one, other in zip(first, second, strict=True):
        assert (one.run, one.epochs, one.history.epochs) == (
            other.run,
            other.epochs,
            other.history.epochs,
        )
        for name in CURVES:
            np.testing.assert_array_equal(getattr(one.history, name), getattr(other.history, name))
        assert one.network is not None
        assert other.network is not None
        for name, value in one.network.state_dict().items():
            assert torch.equal(value, other.network.state_dict()[name]), name
