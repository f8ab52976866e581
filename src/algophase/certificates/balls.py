"""Numbers with an error: a midpoint and a radius, in float64, every rounding bounded beforehand.

A `Ball` stands for every array x with |x - mid| <= rad, entry by entry. With u = 2^-53, float64
rounded to nearest gives (Higham, Accuracy and Stability of Numerical Algorithms, 2002)

    |fl(x op y) - (x op y)| <= u |fl(x op y)|              for one operation (theorem 2.3)
    |fl(A B) - A B| <= gamma_n |A| |B|, gamma_n = n u / (1 - n u)      for a product over n terms,
                                                            in any order of its sums (section 3.5)

Radii are sums of numbers that are not negative, so their own rounding is relative, and a factor
slightly above one covers it. Underflow adds at most `TINY` per operation. Overflow gives an
infinity or NaN, of which nothing is ever proved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]

ROUNDING = 2.0**-53  # u
ABOVE_ONE = 1 + 2.0**-49  # covers the rounding of a radius of up to six operations
TINY = 2.0**-1022  # more than an underflow can change
# exp of NumPy and ndtr of SciPy are within a few units of the last place. No theorem says so:
# the checker of a certificate uses ball arithmetic for both.
LIBRARY_ERROR = 2.0**-44
GELU_SLOPE = 1.13  # the steepest of x ndtr(x) is 1.1289
GELU_EVEN_SLOPE = 0.63  # without x / 2: 0.6289


@dataclass(frozen=True)
class Ball:
    """mid, rad: arrays of one shape."""

    mid: Array
    rad: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mid.shape

    @property
    def lower(self) -> Array:
        """Not above any number of the ball."""
        return np.nextafter(self.mid - self.rad, -np.inf)

    @property
    def upper(self) -> Array:
        """Not below any number of the ball."""
        return np.nextafter(self.mid + self.rad, np.inf)

    @property
    def largest_size(self) -> Array:
        """Not below any |x|."""
        return np.nextafter(np.abs(self.mid) + self.rad, np.inf)

    @property
    def smallest_size(self) -> Array:
        """Not above any |x|."""
        lowest = np.nextafter(np.abs(self.mid) - self.rad, -np.inf)
        return np.maximum(lowest, 0.0)

    def __getitem__(self, index: Any) -> "Ball":
        return Ball(self.mid[index], self.rad[index])

    def __add__(self, right: "Ball") -> "Ball":
        mid = self.mid + right.mid
        rounding = ROUNDING * np.abs(mid)
        return Ball(mid, _above(self.rad + right.rad + rounding))

    def __sub__(self, right: "Ball") -> "Ball":
        return self + Ball(-right.mid, right.rad)

    def __mul__(self, right: "Ball") -> "Ball":
        mid = self.mid * right.mid
        of_right = np.abs(self.mid) * right.rad
        of_self = self.rad * (np.abs(right.mid) + right.rad)
        rounding = ROUNDING * np.abs(mid)
        return Ball(mid, _above(of_right + of_self + rounding))

    def __matmul__(self, right: "Ball") -> "Ball":
        """The product over the last axis of this and the first but one of the right one."""
        terms = self.shape[-1]
        gamma = 1.01 * (terms + 1) * ROUNDING
        sizes = np.abs(right.mid)
        rad = np.abs(self.mid) @ (right.rad + gamma * sizes)
        if self.rad.any():
            rad = rad + self.rad @ (sizes + right.rad)
        own_rounding = 1 + 4 * (terms + 8) * ROUNDING
        underflow = (terms + 1) * TINY
        return Ball(self.mid @ right.mid, own_rounding * rad + underflow)

    def sum(self, axis: int) -> "Ball":
        """The sum over one axis."""
        terms = self.shape[axis]
        gamma = 1.01 * terms * ROUNDING
        rads = self.rad + gamma * np.abs(self.mid)
        rad = rads.sum(axis=axis)
        own_rounding = 1 + 4 * (terms + 8) * ROUNDING
        return Ball(self.mid.sum(axis=axis), own_rounding * rad + TINY)

    def over(self, divisor: float) -> "Ball":
        """Divided by a number that float64 has exactly."""
        mid = self.mid / divisor
        rounding = ROUNDING * np.abs(mid)
        return Ball(mid, _above(self.rad / abs(divisor) + rounding))

    def reshape(self, *shape: int) -> "Ball":
        mid, rad = self.mid.reshape(*shape), self.rad.reshape(*shape)
        return Ball(mid, rad)


def _above(rad: Array) -> Array:
    """Not below a radius that was computed with few roundings."""
    return ABOVE_ONE * rad + TINY


def exact(values: ArrayLike) -> Ball:
    """Numbers without an error."""
    mid = np.asarray(values, dtype=np.float64)
    return Ball(mid, np.zeros_like(mid))


def side_by_side(*balls: Ball) -> Ball:
    """Joined along the last axis."""
    mids = [ball.mid for ball in balls]
    rads = [ball.rad for ball in balls]
    mid, rad = np.concatenate(mids, axis=-1), np.concatenate(rads, axis=-1)
    return Ball(mid, rad)


def stacked(balls: list[Ball]) -> Ball:
    """Joined along a new axis, the last but one."""
    mids = [ball.mid for ball in balls]
    rads = [ball.rad for ball in balls]
    return Ball(np.stack(mids, axis=-2), np.stack(rads, axis=-2))


def swapped(ball: Ball) -> Ball:
    """With its first two axes exchanged."""
    return Ball(ball.mid.swapaxes(0, 1), ball.rad.swapaxes(0, 1))


def _between(lower: Array, upper: Array) -> Ball:
    mid = lower + (upper - lower) / 2
    reach = np.maximum(upper - mid, mid - lower)
    rounding = ROUNDING * np.abs(mid)
    return Ball(mid, _above(reach + rounding))


def softmax(scores: list[Ball]) -> list[Ball]:
    """The softmax over a list of scores that broadcast, each entry 1 / sum of exp(other - own)."""
    shares = []
    for own in scores:
        low_sum: Array = np.zeros(())
        high_sum: Array = np.zeros(())
        for score in scores:
            if score is own:
                low_sum = low_sum + 1.0
                high_sum = high_sum + 1.0
                continue
            gap = score - own
            with np.errstate(over="ignore"):
                low_exp, high_exp = np.exp(gap.lower), np.exp(gap.upper)
                low_sum = low_sum + low_exp * (1 - LIBRARY_ERROR)
                high_sum = high_sum + high_exp * (1 + LIBRARY_ERROR)
        low_share = (1 - 2.0**-48) / high_sum
        high_share = (1 + 2.0**-48) / low_sum
        shares.append(_between(low_share, np.minimum(high_share, 1.0)))
    return shares


def relu(x: Ball) -> Ball:
    """Its slope is at most one."""
    return Ball(np.maximum(x.mid, 0.0), x.rad)


def gelu(x: Ball) -> Ball:
    """x times the normal distribution function."""
    mid = x.mid * ndtr(x.mid)
    of_library = LIBRARY_ERROR * np.abs(x.mid)
    return Ball(mid, _above(GELU_SLOPE * x.rad + of_library))


ACTIVATIONS: dict[str, Callable[[Ball], Ball]] = {
    "relu": relu,
    "gelu": gelu,
    "square": lambda x: x * x,
    "none": lambda x: x,
}


@dataclass(frozen=True)
class Halves:
    """An activation as share x + even(x). slope: the steepest of the even part; None where no
    units of that kind are joined.
    """

    share: float
    even: Callable[[Ball], Ball]
    slope: float | None


def _half_of_size(x: Ball) -> Ball:
    """|x| / 2, the even part of ReLU."""
    mid = np.abs(x.mid) / 2
    return Ball(mid, x.rad / 2 + TINY)


def _even_gelu(x: Ball) -> Ball:
    """x (Phi(x) - 1/2)"""
    mid = x.mid * (ndtr(x.mid) - 0.5)
    of_library = LIBRARY_ERROR * np.abs(x.mid)
    return Ball(mid, _above(GELU_EVEN_SLOPE * x.rad + of_library))


HALVES = {
    "relu": Halves(0.5, _half_of_size, 0.5),
    "gelu": Halves(0.5, _even_gelu, GELU_EVEN_SLOPE),
    "square": Halves(0.0, lambda x: x * x, None),
    "none": Halves(1.0, lambda x: exact(np.zeros(x.shape)), None),
}
