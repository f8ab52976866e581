"""What an instance computes, from its profiles: how much Clock, how much Pizza, how much of a
companion.

A *form* is a combination of the three shapes of `circles.shapes`. They are nearly collinear, so the
whole profile cannot tell them apart (a Pizza and its companion together are nearly flat, as a Clock
is). Isolation can: the leading circle *alone* has no companion, and is fitted by Clock and Pizza.

A *short cycle* has two or three points: its period q = p / gcd(k, p) is 2 or 3. There nothing can
tell Clock from Pizza, so no form of such an instance says which algorithm it is.

    q = 2   With s_a = (-1)^a, s_a s_b = |s_a + s_b| - 1: a sum through a ReLU is the Clock's
            product. And the circle alone has g(d) = A + B (-1)^d, where (-1)^d (-1)^r = (-1)^c is
            an offset: without offsets every g is flat, as a Clock's is.
    q = 3   2 k = -k: the circle is its own companion, also where it is kept alone. 1, |cos w d / 2|
            and -cos w d have one value at d = 0 (mod 3) and one elsewhere. They span two
            dimensions: a Pizza with its companion is exactly a Clock.

At q = 4 or more, a circle and its double are two circles, and the first two shapes differ on the
circle alone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from algophase.analysis.circles.shapes import CLOCK, COMPANION, PIZZA, fit_shapes
from algophase.analysis.program.read import profile_of, spectrum_of
from algophase.core.fourier import Array, amplitude_matrix, transform

# The shapes that each form is fitted with.
FITTED: dict[str, tuple[int, ...]] = {
    "Clock": (CLOCK,),
    "Pizza": (PIZZA,),
    "Clock with a doubled circle": (CLOCK, COMPANION),
    "Pizza with companion": (PIZZA, COMPANION),
    "both": (CLOCK, PIZZA, COMPANION),
}
LONGEST_SHORT_CYCLE = 3  # points


def period_of(frequency: int, modulus: int) -> int:
    """How many points a circle has: p / gcd(k, p)."""
    return modulus // math.gcd(frequency, modulus)


def fitted_as(form: str) -> str:
    """What an instance of this form is fitted with, a key of `FITTED`: a short cycle with all
    shapes, for they coincide.
    """
    return "both" if form == "short cycle" else form


class Forms(NamedTuple):
    """What the fits of an instance say.

    profile: g(d) of the instance at its leading frequency; leading_profile: of its leading circle
        alone.
    clock, pizza: weights in the leading circle alone; companion: in the instance.
    following: squared norm over all triples of what it writes at its own frequencies; fits: of
        that, what each form explains.
    """

    profile: Array
    leading_profile: Array
    clock: float
    pizza: float
    companion: float
    following: float
    fits: dict[str, float]


def _offset(profile: Array, frequency: int) -> float:
    """The angle between the operands' circles: where the profile's wave of the circle's own
    frequency is largest.
    """
    return float(np.angle(transform(len(profile))[frequency] @ profile))


def form_curve(profile: Array, frequency: int, form: str, *, turned: bool = False) -> Array | None:
    """The form fitted to a profile g(d), (p,); None where it is none of the forms. turned:
    operands with their own circles.
    """
    name = fitted_as(form)
    if name not in FITTED:
        return None
    offset = _offset(profile, frequency) if turned else 0.0
    return fit_shapes(profile, frequency, offset, FITTED[name]).curve


def fitted_forms(
    group: Sequence[int],
    keys: Sequence[int],
    alone: Mapping[int, Array],
    answer: Array,
    turned: bool,
) -> Forms:
    """The form of an instance, from the answer-following logits of each circle alone and of all
    of them. Fits are energies: squared norms over all triples.

    group: its frequencies; keys: those of them that are key frequencies, the leading one first.
    turned: the operands have circles of their own.
    """
    p = len(answer)
    energies = dict.fromkeys(FITTED, 0.0)
    for k in keys:
        profile = profile_of(answer, k)
        offset = _offset(profile_of(alone[k], k), k) if turned else 0.0
        for form, shapes in FITTED.items():
            energies[form] += p**3 * fit_shapes(profile, k, offset, shapes).mean_square(k)

    leading = keys[0]
    profile = profile_of(answer, leading)
    leading_profile = profile_of(alone[leading], leading)
    offset = _offset(leading_profile, leading) if turned else 0.0
    clock, pizza = fit_shapes(leading_profile, leading, offset, (CLOCK, PIZZA)).weights
    companion = fit_shapes(profile, leading, offset, FITTED["both"]).weights[COMPANION]
    spectrum = spectrum_of(answer @ amplitude_matrix(p))
    following = float(spectrum[[k - 1 for k in group]].sum())
    return Forms(profile, leading_profile, clock, pizza, companion, following, energies)
