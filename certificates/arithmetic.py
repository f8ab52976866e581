"""Ball arithmetic for the checker: a midpoint and a radius in float64, every rounding bounded.

The theorems: |fl(x op y) - x op y| <= u |fl(x op y)| with u = 2^-53, and for a product over n terms
in any order |fl(A B) - A B| <= gamma_n |A| |B|, gamma_n = n u / (1 - n u) (Higham 2002, theorem 2.3
and section 3.5). exp, erf and roots are ball arithmetic of FLINT.
"""

import numpy as np
from flint import arb

U, TINY = 2.0**-53, 2.0**-1022


class Ball:
    """All arrays x with |x - mid| <= rad, entry by entry."""

    def __init__(self, mid, rad=0.0):
        self.mid = np.asarray(mid, dtype=np.float64)
        self.rad = np.broadcast_to(np.asarray(rad, dtype=np.float64), self.mid.shape)
        self.shape = self.mid.shape

    def __getitem__(self, index):
        return Ball(self.mid[index], self.rad[index])

    def __add__(self, other):
        mid = self.mid + other.mid
        return Ball(mid, widened(self.rad + other.rad + U * np.abs(mid), 3))

    def __sub__(self, other):
        return self + Ball(-other.mid, other.rad)

    def __mul__(self, other):
        mid = self.mid * other.mid
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad)
        return Ball(mid, widened(rad + U * np.abs(mid), 6))

    def __matmul__(self, other):  # |fl(A B) - A B| <= gamma_n |A| |B|
        terms, size = self.shape[-1], np.abs(other.mid)
        rad = np.abs(self.mid) @ (other.rad + 1.01 * (terms + 1) * U * size)
        if self.rad.any():
            rad = rad + self.rad @ (size + other.rad)
        return Ball(self.mid @ other.mid, widened(rad, terms))

    T = property(lambda self: Ball(self.mid.T, self.rad.T))
    low = property(lambda self: np.nextafter(self.mid - self.rad, -np.inf))
    high = property(lambda self: np.nextafter(self.mid + self.rad, np.inf))
    size = property(lambda self: np.nextafter(np.abs(self.mid) + self.rad, np.inf))

    def sum(self):  # over the last axis
        return (self @ Ball(np.ones((self.shape[-1], 1))))[..., 0]


def widened(rad, terms):
    """A radius, a sum of so many terms that are not negative, with room for its own rounding."""
    return (1 + 4 * (terms + 8) * U) * rad + (terms + 1) * TINY


def floats(balls, shape=()):
    """FLINT's balls as ours."""
    mid = np.array([float(ball.mid()) for ball in balls]).reshape(shape)
    rad = np.array([float(ball.rad()) if ball.is_finite() else np.nan for ball in balls])
    return Ball(mid, widened(rad.reshape(shape) * (1 + 2.0**-40) + 2 * U * np.abs(mid), 2))


def softmax(scores):
    """Each share is 1 / sum over the others of exp(other - own)."""
    shape = np.broadcast_shapes(*(score.shape for score in scores))
    shares = []
    for own in scores:
        total = [arb(1)] * int(np.prod(shape))
        for gap in (other - own for other in scores if other is not own):
            parts = (np.broadcast_to(part, shape).ravel().tolist() for part in (gap.mid, gap.rad))
            total = [so_far + arb(*part).exp() for so_far, *part in zip(total, *parts, strict=True)]
        shares.append(floats([1 / whole for whole in total], shape))
    return shares


def gelu(x):
    """x Phi(x), of which no slope is above 1.13."""
    points, half = [arb(value) for value in x.mid.ravel().tolist()], arb(0.5)
    values = floats([t * (1 + (t * half.sqrt()).erf()) * half for t in points], x.shape)
    return Ball(values.mid, widened(values.rad + 1.13 * x.rad, 2))


ACTIVATIONS = {
    "relu": lambda x: Ball(np.maximum(x.mid, 0.0), x.rad),
    "gelu": gelu,
    "square": lambda x: x * x,
    "none": lambda x: x,
}
