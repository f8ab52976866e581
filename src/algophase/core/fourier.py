"""Waves over the numbers modulo p: the one place in the package where they are made.

A frequency k, from 1 to floor(p / 2), has two waves over the numbers t: cos(w t) and sin(w t) with
w = 2 pi k / p. Frequencies k and p - k have the same two. At even p the frequency p / 2 has only
one: cos(pi t) = (-1)^t, because sin(pi t) is zero at every integer. `waves_at` is that rule, and
everything below follows it.

Angles are exact fractions of a turn. They are reduced as integers before the floating-point cosine,
which keeps the symmetries of the circle exact: a quarter turn gives 0, not 6e-17, and opposite
points cancel. So the Pizza's blind spot (antipodal pairs at even p) is a true tie and is not
decided by rounding.

Tensors and arrays are cached and shared: do not write into them. `.numpy()` of a tensor costs
nothing.
"""

import functools
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.core.group import Numbers

Array = NDArray[np.float64]
CPU = torch.device("cpu")
Frequency = TypeVar("Frequency", int, Numbers)


def cos_turn(numerator: Tensor, denominator: int) -> Tensor:
    """cos(2 pi numerator / denominator) in float64, for an integer tensor of any shape."""
    # The cosine is even and has period D, so half a turn (0 <= 2n <= D) is enough ...
    doubled = 2 * torch.remainder(numerator, denominator)  # angle = pi * doubled / D
    doubled = torch.where(doubled > denominator, 2 * denominator - doubled, doubled)
    # ... and cos(pi - x) = -cos(x) brings that to a quarter.
    beyond_quarter = 2 * doubled > denominator
    doubled = torch.where(beyond_quarter, denominator - doubled, doubled)
    cosine = torch.cos(torch.pi / denominator * doubled.double())
    cosine = torch.where(2 * doubled == denominator, torch.zeros_like(cosine), cosine)
    return torch.where(beyond_quarter, -cosine, cosine)


def sin_turn(numerator: Tensor, denominator: int) -> Tensor:
    """sin(2 pi numerator / denominator) in float64: a cosine a quarter of a turn back."""
    return cos_turn(4 * numerator - denominator, 4 * denominator)


def frequencies(modulus: int) -> range:
    """Frequencies that tell numbers apart: 1 to floor(p / 2), since k and p - k are the same
    circle.
    """
    return range(1, modulus // 2 + 1)


def sine_is_zero(modulus: int, frequency: int | Numbers) -> bool | NDArray[np.bool_]:
    """Whether sin(w t) is zero at every number t: at 0, and at p / 2 where p is even."""
    return 2 * frequency % modulus == 0


def waves_at(modulus: int, frequency: int) -> int:
    """How many waves a frequency has: 2, or 1 where its sine is zero everywhere.

    The mean square of its cosine over the numbers is 1 / `waves_at`.

    >>> waves_at(59, 7), waves_at(60, 30), waves_at(60, 0)
    (2, 1, 1)
    """
    return 1 if sine_is_zero(modulus, frequency) else 2


def folded(frequency: Frequency, modulus: int) -> Frequency:
    """The frequency from 0 to floor(p / 2) of the same circle, of one integer or of an array.

    >>> folded(57, 59), folded(-3, 59), folded(70, 59)
    (2, 3, 11)
    """
    forwards = frequency % modulus
    backwards = -frequency % modulus
    if isinstance(forwards, np.ndarray):
        return np.minimum(forwards, backwards)
    return min(forwards, backwards)


def steps_around(modulus: int, frequency: int) -> Numbers:
    """k t mod p of every number t, (p,): how far round its circle it is, in p-ths of a turn."""
    return frequency * np.arange(modulus) % modulus


@functools.lru_cache(maxsize=64)
def wave_counts(modulus: int) -> Array:
    """`waves_at` of every frequency from 1 on, (floor(p / 2),)."""
    return np.array([waves_at(modulus, k) for k in frequencies(modulus)], dtype=np.float64)


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # a cached tensor must be usable outside of inference mode
def circle(modulus: int, frequency: int) -> Tensor:
    """Number t at (cos w t, sin w t) with w = 2 pi k / p, (p, 2)."""
    turns = frequency * torch.arange(modulus)
    return torch.stack([cos_turn(turns, modulus), sin_turn(turns, modulus)], dim=1)


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)
def frequency_basis(modulus: int, frequency: int) -> Tensor:
    """Orthonormal rows that span the waves of one frequency: (2, p), cosine and sine, or (1, p)
    at p / 2.
    """
    count = waves_at(modulus, frequency)
    return circle(modulus, frequency).T[:count] * (count / modulus) ** 0.5


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)
def basis(modulus: int, members: tuple[int, ...] | None = None) -> Tensor:
    """Orthonormal rows that span the waves of several frequencies, in their order; of all by
    default.

    All of them have p - 1 rows. The constant is not among them.
    """
    chosen: Sequence[int] = frequencies(modulus) if members is None else members
    if not chosen:
        return torch.zeros(0, modulus, dtype=torch.float64)
    return torch.cat([frequency_basis(modulus, frequency) for frequency in chosen])


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)
def padded_basis(modulus: int, device: torch.device = CPU) -> Tensor:
    """The constant, then cosine and sine of every frequency: orthonormal rows (1 + 2 floor(p / 2),
    p).

    Frequency k has rows 2k - 1 and 2k at every p. For that, the sine of p / 2 is a row of zeros.
    """
    rows = torch.zeros(1 + 2 * (modulus // 2), modulus, dtype=torch.float64)
    rows[0] = modulus**-0.5
    for frequency in frequencies(modulus):
        waves = frequency_basis(modulus, frequency)
        first_row = 2 * frequency - 1
        rows[first_row : first_row + len(waves)] = waves
    return rows.to(device)


@functools.lru_cache(maxsize=16)
def amplitude_matrix(modulus: int) -> Array:
    """(p, 2 floor(p / 2)): a function of t times this gives its amplitudes, of all cosines, then of
    all sines.

    For so few numbers, a matrix product is faster than a Fourier transform.
    """
    circles = torch.stack([circle(modulus, frequency) for frequency in frequencies(modulus)])
    waves = circles.permute(1, 2, 0).numpy()  # (t, cosine or sine, frequency)
    return (waves * (wave_counts(modulus) / modulus)).reshape(modulus, -1)


@functools.lru_cache(maxsize=16)
def transform(modulus: int) -> NDArray[np.complex128]:
    """exp(-2 pi i j t / p), (p, p): the discrete Fourier transform as a matrix."""
    numbers = torch.arange(modulus)
    turns = numbers[:, None] * numbers
    return (cos_turn(turns, modulus) - 1j * sin_turn(turns, modulus)).numpy()


def transform_rows(modulus: int, members: Numbers) -> NDArray[np.complex128]:
    """Rows of `transform` at frequencies (n,) of any size: (n, p)."""
    return transform(modulus)[members % modulus]
