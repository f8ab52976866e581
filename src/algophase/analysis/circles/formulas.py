"""The algorithms in closed form: logits Q_abc of shape (p, p, p), and how much of a network's
logits they explain.

With w = 2 pi k / p (figure 1, appendices A and D):

    Clock               cos w(a + b - c)
    Pizza               |cos w(a - b)/2| cos w(a + b - c)
      as differences    |cos w(a - b)/2| (|cos w(a + b - c)/2| - |sin w(a + b - c)/2|),
                        since |cos t| - |sin t| ~ cos 2t
      two terms         alpha cos w c + beta sin w c, alpha and beta from absolute values of sums
                        of embeddings
    Accompanying Pizza  -cos w(a - b) cos w(a + b - c), on a circle of frequency 2k, for a Pizza of
                        frequency k

Several frequencies add up. Frequencies may be any integers: k, -k and k + p are the same circle.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor

from algophase.analysis.logits.all_pairs import right_answers
from algophase.core.errors import InputError
from algophase.core.fourier import cos_turn, folded, sin_turn

PizzaForm = Literal["cosine", "absolute-difference", "two-term"]
Frequencies = int | Sequence[int]


def _each(frequencies: Frequencies) -> Iterable[int]:
    return [frequencies] if isinstance(frequencies, int) else frequencies


def _grid(modulus: int) -> tuple[Tensor, Tensor, Tensor]:
    numbers = torch.arange(modulus)
    return numbers[:, None, None], numbers[None, :, None], numbers[None, None, :]


def clock_logits(modulus: int, frequencies: Frequencies) -> Tensor:
    """cos w(a + b - c)."""
    a, b, c = _grid(modulus)
    return sum((cos_turn(k * (a + b - c), modulus) for k in _each(frequencies)), torch.zeros(()))


def half_angle_cosine(modulus: int, frequency: int, offset: float = 0.0) -> Tensor:
    """|cos(w(a - b) / 2 + offset / 2)|, shape (p, p, 1): the length of the midpoint of E_a and E_b.

    offset: angle by which the circle of the first operand is turned ahead of the second's, where
        they have their own.
    """
    a, b, _ = _grid(modulus)
    return pizza_by_distance(a - b, modulus, frequency, offset)


def pizza_by_distance(
    distance: Tensor, modulus: int, frequency: int, offset: float = 0.0
) -> Tensor:
    """The Pizza's factor |cos(w d / 2 + offset / 2)| at distances d = a - b: it has period p, as
    every factor of d here.
    """
    if offset == 0.0:
        return cos_turn(frequency * distance, 2 * modulus).abs()
    return torch.cos(torch.pi * frequency * distance.double() / modulus + offset / 2).abs()


def accompanying_by_distance(
    distance: Tensor, modulus: int, frequency: int, offset: float = 0.0
) -> Tensor:
    """The accompanying Pizza's factor -cos(w d + offset / 2) at distances d = a - b, w the
    accompanied circle's.

    A full turn more is the opposite form: half of the offset counts.
    """
    if offset == 0.0:
        return -cos_turn(frequency * distance, modulus)
    return -torch.cos(2 * torch.pi * frequency * distance.double() / modulus + offset / 2)


def pizza_logits(
    modulus: int, frequencies: Frequencies, form: PizzaForm = "cosine", offset: float = 0.0
) -> Tensor:
    """The Pizza in one of its three forms. Only the cosine form takes an offset."""
    if form not in ("cosine", "absolute-difference", "two-term"):
        raise InputError(f"form is {form!r}; choose one of cosine, absolute-difference, two-term")
    if offset and form != "cosine":
        raise InputError(f"form {form} takes no offset; only cosine does")
    logits = torch.zeros(modulus, modulus, modulus, dtype=torch.float64)
    for k in _each(frequencies):
        if form == "two-term":
            logits += _two_term_pizza(modulus, k)
        elif form == "cosine":
            logits += half_angle_cosine(modulus, k, offset) * clock_logits(modulus, k)
        else:
            a, b, c = _grid(modulus)
            half = k * (a + b - c)  # in units of half a turn over p
            difference = cos_turn(half, 2 * modulus).abs() - sin_turn(half, 2 * modulus).abs()
            logits += half_angle_cosine(modulus, k) * difference
    return logits


def _two_term_pizza(modulus: int, k: int) -> Tensor:
    """The worked example of appendix A: u = 0 gives alpha, u = pi / (2 w) gives beta."""
    a, b, c = _grid(modulus)
    cos_sum = cos_turn(k * a, modulus) + cos_turn(k * b, modulus)
    sin_sum = sin_turn(k * a, modulus) + sin_turn(k * b, modulus)
    alpha = cos_sum.abs() / 2 - sin_sum.abs() / 2
    beta = ((cos_sum + sin_sum).abs() - (cos_sum - sin_sum).abs()) / (2 * 2**0.5)
    return alpha * cos_turn(k * c, modulus) + beta * sin_turn(k * c, modulus)


def accompanying_logits(modulus: int, frequencies: Frequencies, offset: float = 0.0) -> Tensor:
    """A_c = -(cos w c, sin w c) . s, s the midpoint on the circle of frequency 2k; `frequencies`
    are the accompanied k.

    offset: as for the Pizza, measured on the accompanying circle, whose difference angle is 2 w (a
        - b).
    """
    a, b, _ = _grid(modulus)
    logits = torch.zeros(modulus, modulus, modulus, dtype=torch.float64)
    for k in _each(frequencies):
        logits += accompanying_by_distance(a - b, modulus, k, offset) * clock_logits(modulus, k)
    return logits


def accompanied_frequencies(modulus: int, frequency: int) -> list[int]:
    """The k in 1..p/2 with 2k = +-frequency (mod p): the pizzas that a circle of this frequency can
    accompany.

    One at odd p; at even p two for an even frequency and none for an odd one. Never itself, as p /
    3 might.
    """
    own = folded(frequency, modulus)
    halves = {double // 2 for double in (own, modulus - own) if double % 2 == 0}
    return sorted(halves - {0, frequency})


def gap(modulus: int, frequency: int) -> int | None:
    """The paper's delta, the difference between adjacent numbers on a circle: k delta = +-1 (mod
    p), at most p / 2.

    None where k and p share a factor: numbers then share places.
    """
    if math.gcd(frequency, modulus) != 1:
        return None
    return folded(pow(frequency, -1, modulus), modulus)


def antipodal_pairs(modulus: int, frequency: int) -> Tensor:
    """Pairs (a, b) exactly opposite on the circle, (n, 2): k (a - b) = p / 2 (mod p). None at
    odd p (section 3.4).
    """
    numbers = torch.arange(modulus)
    opposite = (2 * frequency * (numbers[:, None] - numbers)) % (2 * modulus) == modulus
    return opposite.nonzero()


def failures(logits: Tensor) -> Tensor:
    """Pairs (a, b) not answered right, (n, 2), ties included."""
    return (~right_answers(logits)).nonzero()


def variance_explained(logits: Tensor, formula: Tensor) -> float:
    """Fraction of variance explained, both sides normalized to mean 0 and variance 1 (table 2): 1 -
    mean((x - y)^2).

    This is 2 r - 1 with r their correlation: 1 for a perfect match, -1 for unrelated ones. NaN if
    either is constant.
    """
    x = logits.double()
    y = formula.double().expand_as(logits)
    x = x - x.mean()
    y = y - y.mean()
    spread = x.square().mean().sqrt() * y.square().mean().sqrt()
    if spread == 0:
        return float("nan")
    return (2 * (x * y).mean() / spread - 1).item()
