"""Ensembles that train at the same time: which, and how they take turns.

A few small networks leave most of a GPU idle. So small ensembles train side by side, each on a
stream of its own. In a turn a bounded number of epochs is queued for each of them, then each is
waited for, and between two turns happens all else: progress, Ctrl-C, checkpoints. One ensemble
alone takes the same turns. Results do not depend on which ensembles run together.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from algophase.core.interrupts import Reason, Stopped, held_interrupts
from algophase.core.progress import ignore
from algophase.core.threads import one_thread
from algophase.training.engines.sizing import SMALL, largest_ensemble, operations
from algophase.training.run.checkpoint import Checkpointer
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.trained import TrainedRun

if TYPE_CHECKING:
    from algophase.training.run.loop import Ensemble

# Operations an epoch: about a millisecond of an H200, ten times what it takes to start an epoch's
# kernels
FULL = 4e11
MOST_AT_ONCE = 8
HOW: dict[Reason, str] = {
    "interrupted": "was interrupted",
    "out of time": "ran out of time",
    "on request": "was stopped",
}
# Epochs of each: a GPU's queue holds about a thousand, and starting one more then waits
MOST_QUEUED = 200
# Work beside training: called again and again while an ensemble's epochs run on a GPU. It returns
# False where it has nothing to do.
Meanwhile = Callable[["Ensemble"], bool]


def nothing(_ensemble: "Ensemble") -> bool:
    """No work beside training."""
    return False


def together(groups: Sequence[PlannedEnsemble]) -> int:
    """How many of these ensembles, from the first on, train side by side: on one GPU, as many as do
    not fill it, together in the memory that one may have. Else one."""
    count, work, memory = 0, 0.0, 0.0
    for group in groups[:MOST_AT_ONCE]:
        if (
            group.device.type != "cuda"
            or group.device != groups[0].device
            or group.engine == "plain"
        ):
            break
        padded = group.engine_class.padded(group.runs, group.device)
        work += _operations(group)
        memory += len(group.runs) / largest_ensemble(
            group.engine_class, group.runs[0].task, padded, group.device, group.precision
        )
        if work > FULL or memory > 1:
            break
        count += 1
    return max(count, 1)


def in_turns(
    ensembles: Sequence["Ensemble"],
    checkpointer: Checkpointer | None = None,
    progress: Callable[["Ensemble"], None] = ignore,
    meanwhile: Meanwhile = nothing,
) -> None:
    """Train until the first of them is finished. `progress` gets every ensemble after its part
    of a turn; `meanwhile` is called while a GPU trains.
    """
    last_turn = time.perf_counter()
    with held_interrupts() as pressed:
        while not ensembles[0].finished:
            training = [ensemble for ensemble in ensembles if not ensemble.finished]
            for ensemble in training:
                ensemble.start(MOST_QUEUED if len(training) > 1 else None)
            for ensemble in training:
                ensemble.wait(meanwhile)
            now = time.perf_counter()
            for ensemble, share in zip(training, _shares(training), strict=True):
                ensemble.spent(now - last_turn, share)
            last_turn = now
            reason: Reason | None = "interrupted" if pressed() else None
            try:
                for ensemble in training:
                    progress(ensemble)
            except KeyboardInterrupt:
                reason = "interrupted"
            except Stopped as stop:
                if stop.reason == "too slow":
                    raise  # what was trained so far is of no use
                reason = reason or stop.reason
            if reason is not None:  # even at the last epoch: a caller with more to train must know
                raise _stopped(reason, ensembles, training, checkpointer)
            if checkpointer is not None:
                for ensemble in training:
                    is_due = now - ensemble.saved_at >= checkpointer.every_seconds
                    if is_due and not ensemble.finished:
                        save([ensemble], checkpointer)


def _stopped(
    reason: Reason,
    ensembles: Sequence["Ensemble"],
    training: Sequence["Ensemble"],
    checkpointer: Checkpointer | None,
) -> Stopped:
    """Save the ensembles, and say how far those are that were still training."""
    if checkpointer is not None:
        save(ensembles, checkpointer)
    finished: list[TrainedRun] = []
    partial: list[TrainedRun] = []
    for ensemble in ensembles:
        outcomes = partial if ensemble in training else finished
        outcomes += ensemble.results()
    epoch = max(run.epochs for run in partial)
    count = len(training)
    which = "an ensemble" if count == 1 else f"{count} ensembles"
    state = "not saved" if checkpointer is None else "saved and can be continued"
    message = (
        f"training {HOW[reason]} at epoch {epoch} of {which} of {len(partial)}, "
        f"which {'is' if count == 1 else 'are'} {state}"
    )
    saved = checkpointer is not None
    return Stopped(reason, message, finished=finished, partial=partial, saved=saved)


def save(ensembles: Sequence["Ensemble"], checkpointer: Checkpointer) -> None:
    for ensemble in ensembles:
        checkpointer.write(ensemble.checkpoint())
        ensemble.saved_at = time.perf_counter()


def _operations(group: PlannedEnsemble) -> float:
    """Of an epoch, at the size to which its networks are padded."""
    padded = group.engine_class.padded(group.runs, group.device)
    return len(group.runs) * operations(replace(group.runs[0], network=padded))


def _shares(training: Sequence["Ensemble"]) -> list[float]:
    """How much of a turn's time is each ensemble's: by their operations."""
    if len(training) == 1:
        return [1.0]
    work = [_operations(ensemble.group) for ensemble in training]
    return [part / sum(work) for part in work]


def threads_for(group: PlannedEnsemble) -> AbstractContextManager[None]:
    """How many CPU threads an ensemble trains on: one where networks are so small that more would
    mostly wait for each other.
    """
    return one_thread(group.device.type == "cpu" and max(map(operations, group.runs)) < SMALL)
