"""A CPU that pretends to be busy as a GPU is: after each chunk of epochs there is time for two steps of
an analysis.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from algophase.sweeps import backlog
from algophase.training.run.loop import Ensemble


@contextmanager
def busy_gpu() -> Iterator[list[int]]:
    """The list gets the epoch of every look at whether it is still busy."""
    epochs: list[int] = []

    def is_busy(ensemble: Ensemble) -> bool:
        epochs.append(ensemble.epoch)
        return len(epochs) % 3 > 0

    with (
        patch.object(Ensemble, "is_busy", is_busy),
        patch.object(backlog, "_has_room", lambda _group: True),
    ):
        yield epochs
