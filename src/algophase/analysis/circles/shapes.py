"""The three shapes of a logit over the distance d = a - b, and their fit to what a network does.

Whatever follows the answer at a frequency k is g(d) cos w r, with w = 2 pi k / p, r = a + b - c,
and g its *profile*. With o the angle between the operands' circles (0 where they share one table),
g is close to a combination of

    Clock      1
    Pizza      |cos (w d + o) / 2|   the length of the midpoint of the two tokens
    companion  -cos(w d + o)         what a circle of twice the frequency adds to either
                                     (appendix D)

Both readings of a network rest on this one fit. The paper's *roles* (`circles.roles`) fit a circle
kept alone: the first two at its own frequency, and the third at the frequency of the circle that
it may accompany. The *forms* of instances (`program.forms`) fit all that belongs to a key
frequency.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from algophase.analysis.circles.formulas import accompanying_by_distance, pizza_by_distance
from algophase.core.fourier import Array, waves_at

CLOCK, PIZZA, COMPANION = 0, 1, 2
# Singular values below this part of the largest are rounding: at small p, and at frequency p / 3,
# two shapes may be one, and the fit shares the weight between them.
LEAST_SINGULAR = 1e-9


class Fit(NamedTuple):
    """weights: of the shapes that were fitted, in their order; curve: their sum at all d, (p,)."""

    weights: list[float]
    curve: Array

    def mean_square(self, frequency: int) -> float:
        """Mean over all triples of the square of curve(d) cos w r."""
        squares = float(self.curve @ self.curve)
        return squares / len(self.curve) / waves_at(len(self.curve), frequency)


@functools.lru_cache(maxsize=1024)
def shapes_at(modulus: int, frequency: int, offset: float = 0.0) -> Array:
    """The three shapes at all distances d, (3, p). Kept: do not write into it."""
    distance = torch.arange(modulus)
    pizza = pizza_by_distance(distance, modulus, frequency, offset)
    # Its argument is the offset of the circle of twice the frequency, which is twice ours.
    companion = accompanying_by_distance(distance, modulus, frequency, 2 * offset)
    return torch.stack([torch.ones_like(pizza), pizza, companion]).numpy()


@functools.lru_cache(maxsize=2048)
def _solver(modulus: int, frequency: int, offset: float, chosen: tuple[int, ...]) -> Array:
    """Gives the weights of the chosen shapes that fit a profile best, (shapes, p)."""
    shapes = shapes_at(modulus, frequency, offset)[list(chosen)]
    return np.asarray(np.linalg.pinv(shapes.T, rcond=LEAST_SINGULAR))


def fit_shapes(profile: Array, frequency: int, offset: float, chosen: Sequence[int]) -> Fit:
    """The best combination of the chosen shapes, by least squares over all distances."""
    modulus = len(profile)
    weights = _solver(modulus, frequency, offset, tuple(chosen)) @ profile
    curve = weights @ shapes_at(modulus, frequency, offset)[list(chosen)]
    return Fit(weights.tolist(), curve)
