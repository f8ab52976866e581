"""A sweep with a time budget: how much of an ensemble there is time for.

On a GPU an ensemble is cut to what there is time for. With the fused engine the runs are
bit-identical however they are cut. With the other engines they are equal up to rounding, which
training amplifies. On a CPU an ensemble stays whole: what does not end in time is saved, and
continues in the next call of `sweep`, bit for bit as if it had not stopped.
"""

import math
import time
from collections.abc import Callable

from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.training.engines.sizing import cost
from algophase.training.run.plan import PlannedEnsemble

LEAST_PART = 0.25  # a smaller part of an ensemble is not worth what is left of a time budget
MARGIN = 0.92  # of the time left that a part is planned for
# Of an ensemble's epochs: beyond this it is finished although time is up, as saving it takes as
# long
NEARLY = 0.995
SOON = 0.02  # of an ensemble's epochs: after this share its speed is measured, over the same share


def fitting(
    group: PlannedEnsemble, seconds_per_work: float | None, deadline: float | None
) -> PlannedEnsemble | None:
    """The ensemble, or, on a GPU, as much of it as there is time for; None if that is too little
    to begin.

    seconds_per_work: measured on what this call has finished, in units of `cost`; None before.
    """
    if deadline is None:
        return group
    seconds_left = deadline - time.monotonic()
    if seconds_left <= 0:
        return None
    # nothing to go by yet, or never cut: begin, and see
    if seconds_per_work is None or group.device.type == "cpu":
        return group
    seconds_needed = sum(map(cost, group.runs)) * seconds_per_work
    share = MARGIN * seconds_left / seconds_needed
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


class Trial:
    """Watches the first ensemble of a call of `sweep`, whose speed is not known yet: it stops the
    training if only a part of the ensemble will end in time. `fewer` is then that part.

    If not even a part would, the ensemble continues, and is saved when time is up.
    """

    def __init__(
        self, part: PlannedEnsemble, deadline: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.part = part
        self.deadline = deadline
        self.now = now
        self.fewer: PlannedEnsemble | None = None
        # epoch and time: first heard of, measured from, measured to
        self._marks: list[tuple[int, float]] = []

    def __call__(self, progress: Progress) -> None:
        if len(self._marks) == 3:
            return
        next_mark = (0.0, SOON, 2 * SOON)[len(self._marks)] * progress.epochs
        if progress.epoch < next_mark:
            return
        self._marks.append((progress.epoch, self.now()))
        if len(self._marks) < 3:
            return
        (first_epoch, _), (from_epoch, from_time), (epoch, to_time) = self._marks
        if first_epoch > SOON * progress.epochs:  # this one goes on from a checkpoint
            return
        seconds_per_epoch = (to_time - from_time) / max(1, epoch - from_epoch)
        seconds_needed = seconds_per_epoch * (progress.epochs - epoch)
        seconds_left = MARGIN * (self.deadline - to_time)
        if seconds_needed > seconds_left:
            share = seconds_left / (seconds_per_epoch * progress.epochs)
            self.fewer = first_of(self.part, share)
            if self.fewer is not None:
                count = len(self.fewer.runs)
                raise Stopped(
                    "too slow", f"only {count} networks of the ensemble would end in time"
                )


def can_be_cut(part: PlannedEnsemble) -> bool:
    """Whether fewer of its networks would take less time, and end with the same bits."""
    return part.device.type != "cpu" and len(part.runs) > 1
