"""Ensembles that train at the same time: which, and how they take turns.

A few small networks leave most of a GPU idle. So small ensembles train side by side, each on a
stream of its own. In a turn a bounded number of epochs is queued for each of them, then each is
waited for, and between two turns happens all else: progress, Ctrl-C, checkpoints. One ensemble
alone takes the same turns. Results do not depend on which ensembles run together.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from algophase.core.interrupts import held_interrupts
from algophase.training.engines.sizing import largest_ensemble, operations
from algophase.training.run.checkpoint import Checkpointer
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.trained import OutOfTime, TrainingInterrupted, ignore

if TYPE_CHECKING:
    from algophase.training.run.loop import Ensemble

# Operations an epoch: about a millisecond of an H200, ten times what it takes to start an epoch's
# kernels
FULL = 4e11
MOST_AT_ONCE = 8
MOST_QUEUED = (
    200  # epochs of each: a GPU's queue holds about a thousand, and starting one more then waits
)


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
            group.engine, group.runs[0].task, padded, group.device, group.precision
        )
        if work > FULL or memory > 1:
            break
        count += 1
    return max(count, 1)


def in_turns(
    ensembles: Sequence["Ensemble"],
    checkpointer: Checkpointer | None = None,
    progress: Callable[["Ensemble"], None] = ignore,
) -> None:
    """Train until the first of them is finished. `progress` gets every ensemble after its part
    of a turn.
    """
    then = time.perf_counter()
    with held_interrupts() as pressed:
        while not ensembles[0].finished:
            training = [ensemble for ensemble in ensembles if not ensemble.finished]
            for ensemble in training:
                ensemble.start(MOST_QUEUED if len(training) > 1 else None)
            for ensemble in training:
                ensemble.wait()
            now = time.perf_counter()
            for ensemble, share in zip(training, _shares(training), strict=True):
                ensemble.spent(now - then, share)
            then, stop, out_of_time = now, pressed(), False
            try:
                for ensemble in training:
                    progress(ensemble)
            except (KeyboardInterrupt, OutOfTime) as error:
                stop, out_of_time = True, isinstance(error, OutOfTime) and not stop
            if stop:  # even at the last epoch: a caller with more to train must know
                if checkpointer is not None:
                    save(ensembles, checkpointer)
                finished = [
                    run
                    for ensemble in ensembles
                    if ensemble not in training
                    for run in ensemble.results()
                ]
                partial = [run for ensemble in training for run in ensemble.results()]
                saved = checkpointer is not None
                raise TrainingInterrupted(
                    partial, saved, finished, ensembles=len(training), out_of_time=out_of_time
                )
            if checkpointer is not None:
                due = [
                    ensemble
                    for ensemble in training
                    if now - ensemble.saved_at >= checkpointer.every_seconds
                ]
                save([ensemble for ensemble in due if not ensemble.finished], checkpointer)


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
