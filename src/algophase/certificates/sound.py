"""What holds for every pair, with every rounding bounded: which pairs are answered right, and how
far the network is from its program.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algophase.certificates.balls import Array, Ball
from algophase.certificates.forms import Form

# A program's logits (rows, p, p) of some rows of pairs, by the numbers' own names.
ProgramRows = Callable[[slice], Ball]
# Published enclosures are this much wider than needed, relative to what they enclose: another
# program that computes them again rounds differently. It also covers the rounding of the sums of
# squares, which is below 1e-10 for fewer than 1e5 terms that one slab adds up naively.
ROOM = 1e-9


@dataclass(frozen=True)
class Sound:
    """Pairs that are proved right or wrong, the others undecided; enclosures (lowest, highest) of
    the largest difference between a centered logit of the network and of its program, and of the
    program's share of the squared norm. None without a program.
    """

    pairs: int
    proved_right: int
    proved_wrong: int
    largest_difference: tuple[float, float] | None
    share_explained: tuple[float, float] | None

    @property
    def undecided(self) -> int:
        return self.pairs - self.proved_right - self.proved_wrong


@dataclass
class _Sums:
    """Of the pairs so far: sums of squares of the errors and of the logits, and the largest
    error, each as (lowest, highest).
    """

    error: Array
    whole: Array
    largest: Array


def prove(form: Form, right: NDArray[np.int64], program: ProgramRows | None) -> Sound:
    """right: (p, p), the right answer of every pair."""
    sums = _Sums(np.zeros(2), np.zeros(2), np.zeros(2))
    proved_right = proved_wrong = 0
    for rows in form.slabs():
        logits = form.logits(rows)
        is_right, is_wrong = decided(logits, right[rows])
        proved_right += int(is_right.sum())
        proved_wrong += int(is_wrong.sum())
        if program is not None:
            labels = logits[..., : form.order]
            _add(sums, labels, program(rows))
    enclosures = _enclosures(sums) if program is not None else (None, None)
    return Sound(form.order**2, proved_right, proved_wrong, *enclosures)


def decided(logits: Ball, right: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which pairs have the right answer's logit above all others, and which have it below one, for
    certain.
    """
    of_right = right[..., None]
    lowest = np.take_along_axis(logits.lower, of_right, axis=-1)[..., 0]
    highest = np.take_along_axis(logits.upper, of_right, axis=-1)[..., 0]
    outputs = np.arange(logits.shape[-1])
    is_wrong = outputs != of_right
    upper = np.where(is_wrong, logits.upper, -np.inf)
    lower = np.where(is_wrong, logits.lower, -np.inf)
    highest_wrong = upper.max(axis=-1)
    lowest_wrong = lower.max(axis=-1)
    return lowest > highest_wrong, lowest_wrong > highest


def centered(logits: Ball) -> Ball:
    """Without the mean over the last axis."""
    outputs = float(logits.shape[-1])
    mean = logits.sum(axis=-1).over(outputs)
    return logits - mean.reshape(*mean.shape, 1)


def _add(sums: _Sums, labels: Ball, program: Ball) -> None:
    whole = centered(labels)
    error = centered(labels - program)
    sums.whole += _squares(whole)
    sums.error += _squares(error)
    largest = [error.smallest_size.max(), error.largest_size.max()]
    sums.largest = np.maximum(sums.largest, largest)


def _squares(ball: Ball) -> Array:
    """The sum of squares, as (lowest, highest)."""
    lowest = np.square(ball.smallest_size).sum()
    highest = np.square(ball.largest_size).sum()
    return np.array([lowest, highest])


def _enclosures(sums: _Sums) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Of the largest difference, and of 1 - error / whole. None where a number is not finite, or
    nothing is explained since there is nothing.
    """
    ends = np.concatenate([sums.largest, sums.whole])
    if not np.isfinite(ends).all():
        return None, None
    low, high = sums.largest.tolist()
    difference = (low * (1 - ROOM), high * (1 + ROOM))
    whole_low, whole_high = sums.whole.tolist()
    if not whole_low > 0:
        return difference, None
    error_low, error_high = sums.error.tolist()
    left_low, left_high = error_low / whole_high, error_high / whole_low
    share = (1 - left_high - ROOM, 1 - left_low + ROOM)
    return difference, share
