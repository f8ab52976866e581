"""How many CPU threads an ensemble trains on: one where networks are so small that more would mostly wait for each other."""

from contextlib import AbstractContextManager

from algophase.settings import RunSettings
from algophase.threads import one_thread
from algophase.training.plan import Group
from algophase.training.sizing import run_parameters

SMALL = 150e6  # operations an epoch; on two quiet cores a second thread gains 8% at 44e6, 25% at 309e6 (docs/notes/tuning.md)


def operations(run: RunSettings) -> float:
    """A product and two in its backward for every parameter and pair, of one network and epoch: an estimate."""
    return 6.0 * run.task.modulus**2 * run_parameters(run)


def threads_for(group: Group) -> AbstractContextManager[None]:
    return one_thread(group.device.type == "cpu" and max(map(operations, group.runs)) < SMALL)
