"""What an instance computes, from its profiles: how much Clock, how much Pizza, how much of a
companion.

With w the angle of its leading frequency and o the angle between the operands' circles (0 where
they share one table), an instance's answer-following logits are g(d) cos w r, and g is close to a
combination of three shapes:

    Clock      1
    Pizza      |cos (w d + o) / 2|       the length of the midpoint of the two tokens
    companion  -cos(w d + o)             what a circle of twice the frequency adds to either (appendix D)

The three are nearly collinear, so the whole profile cannot tell them apart (a Pizza and its
companion together are nearly
flat, as a Clock is). Isolation can: the leading circle *alone* has no companion, and is fitted by
the first two.

A *short cycle* has two or three points: its period q = p / gcd(k, p) is 2 or 3. There nothing can
tell Clock from Pizza, so no form of such an instance says which algorithm it is.

    q = 2   With s_a = (-1)^a, s_a s_b = |s_a + s_b| - 1: a sum through a ReLU is the Clock's product. And the circle alone has
            g(d) = A + B (-1)^d, where (-1)^d (-1)^r = (-1)^c is an offset: without offsets every g
            is flat, as a Clock's is.
    q = 3   2 k = -k: the circle is its own companion, also where it is kept alone. 1, |cos w d / 2| and -cos w d have one
            value at d = 0 (mod 3) and one elsewhere. They span two dimensions: a Pizza with its
            companion is exactly a Clock.

At q = 4 or more, a circle and its double are two circles, and the first two shapes differ on the
circle alone.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from algophase.analysis.logits.sums import Array
from algophase.analysis.program.read import profile_of, spectrum_of
from algophase.core.fourier import amplitude_matrix, transform, waves_at

# The shapes of d that each form is fitted with: 0 the Clock's, 1 the Pizza's, 2 the companion's.
FITTED: dict[str, tuple[int, ...]] = {
    "Clock": (0,),
    "Pizza": (1,),
    "Clock with a doubled circle": (0, 2),
    "Pizza with companion": (1, 2),
    "both": (0, 1, 2),
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
    """profile: g(d) of the instance at its leading frequency; leading_profile: of its leading
    circle alone.

    clock, pizza: amplitudes in the leading circle alone; companion: in the instance. following:
        squared norm over all triples
    of what it writes at its own frequencies; fits: of that, what each form explains.
    """

    profile: Array
    leading_profile: Array
    clock: float
    pizza: float
    companion: float
    following: float
    fits: dict[str, float]


class _Shapes(NamedTuple):
    """values: the three shapes at all distances d, (3, p); inverse: pseudo-inverses that fit
    each form, by name.
    """

    values: Array
    inverse: dict[str, Array]


@functools.lru_cache(maxsize=512)
def _shapes(modulus: int, frequency: int, offset: float) -> _Shapes:
    """1, |cos (w d + o) / 2| and -cos(w d + o) at all distances d, and what fits them."""
    angle = 2 * np.pi * ((frequency * np.arange(modulus)) % modulus) / modulus + offset
    # |cos x/2| has period 2 pi in x: the turn that was taken off the angle does not show.
    values = np.stack([np.ones(modulus), np.abs(np.cos(angle / 2)), -np.cos(angle)])
    forms = {**FITTED, "leading": (0, 1)}
    # At small p, and at frequency p / 3, two shapes may be one: the pseudo-inverse shares the
    # weight.
    return _Shapes(
        values,
        {name: np.linalg.pinv(values[list(some)].T, rcond=1e-9) for name, some in forms.items()},
    )


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
    shapes = _shapes(len(profile), frequency, _offset(profile, frequency) if turned else 0.0)
    return np.asarray((shapes.inverse[name] @ profile) @ shapes.values[list(FITTED[name])])


def fitted_forms(
    p: int,
    group: Sequence[int],
    keys: Sequence[int],
    alone: Mapping[int, Array],
    answer: Array,
    turned: bool,
) -> Forms:
    """The form of an instance, from the answer-following logits of each circle alone and of all
    of them. Fits are energies.
    """
    fits = dict.fromkeys(FITTED, 0.0)
    leading: tuple[Array, Array, _Shapes] | None = None
    for k in keys:
        own, profile = profile_of(alone[k], k), profile_of(answer, k)
        shapes = _shapes(p, k, _offset(own, k) if turned else 0.0)
        mean_square = 1 / waves_at(p, k)
        for name, chosen in FITTED.items():
            fitted = (shapes.inverse[name] @ profile) @ shapes.values[list(chosen)]
            fits[name] += float(fitted @ fitted) * mean_square * p * p
        leading = leading or (own, profile, shapes)
    assert leading is not None
    own, profile, shapes = leading
    clock, pizza = (shapes.inverse["leading"] @ own).tolist()
    companion = (shapes.inverse["both"] @ profile).tolist()[2]
    following = float(spectrum_of(answer @ amplitude_matrix(p))[[m - 1 for m in group]].sum())
    return Forms(profile, own, clock, pizza, companion, following, fits)
