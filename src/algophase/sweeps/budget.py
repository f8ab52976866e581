"""A sweep with a time budget: how much of an ensemble there is time for.

On a GPU an ensemble is cut to what there is time for. With the fused engine the runs are
bit-identical however they are cut. With the other engines they are equal up to rounding, which
training amplifies. On a CPU an ensemble stays whole: what does not end in time is saved, and
continues in the next sitting with identical bits.
"""

import math
import time
from collections.abc import Callable

from algophase.sweeps.work import Standing
from algophase.training.engines.sizing import cost
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.trained import Progress, ignore

LEAST_PART = 0.25  # a smaller part of an ensemble is not worth what is left of a time budget
MARGIN = 0.92  # of the time left that a part is planned for
# Of an ensemble's epochs: beyond this it is finished although time is up, as saving it takes as
# long
NEARLY = 0.995
SOON = 0.02  # of an ensemble's epochs: after this share its speed is measured, over the same share


class TooLong(Exception):
    """An ensemble will not end in time. fewer: the part of it that will."""

    def __init__(self, fewer: PlannedEnsemble) -> None:
        self.fewer = fewer
        super().__init__(f"only {len(fewer.runs)} networks of the ensemble would end in time")


def fitting(
    group: PlannedEnsemble, standing: Standing, deadline: float | None
) -> PlannedEnsemble | None:
    """The ensemble, or, on a GPU, as much of it as there is time for; None if that is too little
    to begin.
    """
    if deadline is None:
        return group
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    # nothing to go by yet, or never cut: begin, and see
    if standing.work == 0 or group.device.type == "cpu":
        return group
    needed = sum(map(cost, group.runs)) * standing.seconds / standing.work
    share = MARGIN * left / needed
    return group if share >= 1 else first_of(group, share)


def first_of(group: PlannedEnsemble, share: float) -> PlannedEnsemble | None:
    """The first networks of an ensemble, for this share of its time, in whole blocks: part of a
    block takes as long as all.

    None where the share is too small to be worth it.
    """
    block = group.engine_class.block(group.runs[0])
    blocks = int(share * math.ceil(len(group.runs) / block))
    return group.only(range(blocks * block)) if blocks and share >= LEAST_PART else None


def time_is_up(progress: Progress, deadline: float | None) -> bool:
    return (
        deadline is not None
        and progress.epoch < NEARLY * progress.epochs
        and time.monotonic() >= deadline
    )


def trial(
    part: PlannedEnsemble,
    standing: Standing,
    deadline: float | None,
    now: Callable[[], float] = time.monotonic,
) -> Callable[[Progress], None]:
    """A callback for the progress of a sitting's first ensemble: it raises `TooLong` if only a part
    of the ensemble will end in time. If not even a part would, the ensemble continues, and is saved
    when time is up. Later the speed is known."""
    if deadline is None or standing.work > 0 or part.device.type == "cpu" or len(part.runs) == 1:
        return ignore
    # epoch and time: first heard of, measured from, measured to
    marks: list[tuple[int, float]] = []

    def watch(progress: Progress) -> None:
        if len(marks) == 3:
            return
        next_mark = (0.0, SOON, 2 * SOON)[len(marks)] * progress.epochs
        if progress.epoch < next_mark:
            return
        marks.append((progress.epoch, now()))
        if len(marks) < 3:
            return
        first_epoch, _ = marks[0]
        if first_epoch > SOON * progress.epochs:  # this one goes on from a checkpoint
            return
        _, (from_epoch, from_time), (epoch, to_time) = marks
        seconds_per_epoch = (to_time - from_time) / max(1, epoch - from_epoch)
        left = deadline - to_time
        if seconds_per_epoch * (progress.epochs - epoch) > MARGIN * left:
            fewer = first_of(part, MARGIN * left / (seconds_per_epoch * progress.epochs))
            if fewer is not None:
                raise TooLong(fewer)

    return watch
