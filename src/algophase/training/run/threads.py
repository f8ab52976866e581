"""How many CPU threads an ensemble trains on: one where networks are so small that more would
mostly wait for each other.
"""

from contextlib import AbstractContextManager

from algophase.core.threads import one_thread
from algophase.training.engines.sizing import SMALL, operations
from algophase.training.run.plan import PlannedEnsemble


def threads_for(group: PlannedEnsemble) -> AbstractContextManager[None]:
    return one_thread(group.device.type == "cpu" and max(map(operations, group.runs)) < SMALL)
