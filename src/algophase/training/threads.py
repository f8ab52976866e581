"""How many CPU threads an ensemble trains on: one where networks are so small that more would mostly wait for each other."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from algophase.settings import RunSettings
from algophase.training.plan import Group
from algophase.training.sizing import run_parameters

SMALL = 150e6  # operations an epoch; on two quiet cores a second thread gains 8% at 44e6, 25% at 309e6 (docs/speed.md)


def operations(run: RunSettings) -> float:
    """A product and two in its backward for every parameter and pair, of one network and epoch: an estimate."""
    return 6.0 * run.task.modulus**2 * run_parameters(run)


@contextmanager
def threads_for(group: Group) -> Iterator[None]:
    before = torch.get_num_threads()
    if group.device.type != "cpu" or before == 1 or max(map(operations, group.runs)) >= SMALL:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
