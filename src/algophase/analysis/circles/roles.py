"""What each circle does: the network's logits with only that circle kept, against the closed forms.

Two readings stand side by side. `fve_*` is the paper's fraction of variance explained by each
formula alone (tables 2 and 3). The *weights* fit all forms at once,

    Q_abc ~ [clock_weight + pizza_weight |cos w(a - b)/2|] cos w(a + b - c) - accompanying_weight
    cos v(a - b) cos v(a + b - c),

v the accompanied circle's angle. The forms are orthogonal to anything that depends on c alone, so
the offsets that isolation leaves in a network's logits, which can swamp `fve_*` (Model B), do not
touch the weights.

Every form is a factor of d = a - b times a wave in a + b - c. So all that is needed of the p^3
logits of a circle are a few sums (`logit_sums`), which are computed where the network is; the rest
is arithmetic on p numbers.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis.circles.find import Circle, circle_alone
from algophase.analysis.circles.formulas import (
    accompanied_frequencies,
    accompanying_by_distance,
    pizza_by_distance,
)
from algophase.analysis.circles.principal import PrincipalComponents
from algophase.analysis.device import upload
from algophase.analysis.logits.sums import Array, LogitSums, launch_sums, read_sums
from algophase.analysis.verdict.lines import falls_short, reaches, stays_within
from algophase.core.fourier import waves_at
from algophase.networks import Network

Role = Literal["Clock", "Pizza", "mixed", "accompanying", "unclear"]

# Ours, not the paper's: of a circle's logits, how much the forms must explain for it to have a role
# at all, ...
LEAST_EXPLAINED = 0.5
# ... and how much of its amplitude must follow one form for the role to be that algorithm's alone.
CLEAR_SHARE = 2 / 3


@dataclass(frozen=True)
class CircleEvidence:
    """A circle and what it does alone.

    accompanies: frequency of the circle it accompanies; logit_variance: variance of its logits that
        the three forms explain;
    explained: that as a share of all variance beyond a function of c alone.
    """

    circle: Circle
    role: Role
    accompanies: int | None
    fve_clock: float
    fve_pizza: float
    fve_accompanying: float
    accuracy_alone: float
    clock_weight: float
    pizza_weight: float
    accompanying_weight: float
    logit_variance: float
    explained: float

    @property
    def part(self) -> str:
        """Its role, or whom it accompanies."""
        return f"accompanies {self.accompanies}" if self.accompanies else self.role


def launch_evidence(
    network: Network, circles: Sequence[Circle], principal: PrincipalComponents
) -> dict[str, Tensor]:
    """Start isolating every circle where the network is; `read_evidence` takes it, as
    `read_launched` reads it.
    """
    own = network.operand_tables()[0]
    if not circles:
        return {}
    alone = [circle_alone(principal, circle) for circle in circles]
    first, second = (torch.stack(side) for side in zip(*alone, strict=True))
    return {"circles alone": launch_sums(network, *upload([first, second], own.device, own.dtype))}


def read_launched(
    modulus: int, circles: Sequence[Circle], numbers: Mapping[str, Array]
) -> list[CircleEvidence]:
    """What each circle does, from what `launch_evidence` gave, on the CPU."""
    if not circles:
        return []
    return read_evidence(
        modulus,
        circles,
        read_sums(numbers["circles alone"], modulus, len(circles)),
        range(len(circles)),
    )


def read_evidence(
    p: int, circles: Sequence[Circle], sums: LogitSums, places: Iterable[int]
) -> list[CircleEvidence]:
    """What each circle does, and which circle it accompanies, from the sums of each alone.
    places: where these are.
    """
    offsets = {circle.frequency: circle.offset for circle in circles}
    amplitudes, beyond = sums.amplitudes, sums.without_offsets.diagonal()
    found = []
    for place, circle in zip(places, circles, strict=True):
        waves = [
            circle.frequency,
            *accompanied_frequencies(p, circle.frequency),
        ]  # those it may accompany: at most two
        alone = _Alone(
            accuracy=float(sums.right[place]),
            variance=float(beyond[place] / p**3 + sums.means[place]),
            label_variance=float(np.square(sums.offset[place]).mean()),
            profiles=[amplitudes[place, :, k - 1] / waves_at(p, k) for k in waves],
        )
        found.append(_read(p, circle, alone, offsets))
    return found


def circle_evidence(
    network: Network, circles: list[Circle], principal: PrincipalComponents
) -> list[CircleEvidence]:
    """Isolate each circle and say what it does, and which circle it accompanies."""
    launched = launch_evidence(network, circles, principal)
    return read_launched(
        network.task.modulus,
        circles,
        {name: values.cpu().numpy() for name, values in launched.items()},
    )


def _turn(p: int, circle: Circle, partner: int, offsets: Mapping[int, float]) -> float:
    """The offset of the accompanying form, where each operand has a circle of its own.

    The form is -cos(w d + half of it): largest where the partner's |cos(w d / 2 + its offset / 2)|
    is 0, so that half is the partner's offset. The circle's own offset, which is known to a full
    turn, says it to a half turn.
    """
    walked = (
        1 if (2 * partner - circle.frequency) % p == 0 else -1
    )  # p - 2k is the circle of 2k gone round the other way
    offset = walked * circle.offset
    opposite = partner in offsets and math.cos(offset / 2 - offsets[partner]) < 0
    return offset + 2 * math.pi if opposite else offset


@functools.lru_cache(maxsize=1024)
def _forms(
    p: int, frequency: int, offset: float, turns: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clock, Pizza and the accompanying forms as factors of d, (forms, p), and their inner
    products over all triples / p^3.
    """
    distance, candidates = torch.arange(p), accompanied_frequencies(p, frequency)
    factors = [
        torch.ones(p, dtype=torch.float64),
        pizza_by_distance(distance, p, frequency, offset),
    ]
    factors += [
        accompanying_by_distance(distance, p, *each) for each in zip(candidates, turns, strict=True)
    ]
    forms, waves = torch.stack(factors), torch.tensor([frequency, frequency, *candidates])
    # The mean of cos w(a + b - c) cos v(a + b - c) is that of a squared cosine where w = v, and 0
    # elsewhere.
    mean_squares = torch.tensor([1 / waves_at(p, int(k)) for k in waves], dtype=torch.float64)
    return forms.numpy(), (forms @ forms.T / p * mean_squares * (waves[:, None] == waves)).numpy()


@functools.lru_cache(maxsize=1024)
def _chosen_forms(
    p: int,
    frequency: int,
    offset: float,
    turns: tuple[float, ...],
    signs: tuple[float, ...],
    chosen: tuple[int, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Inner products of some of the forms, each with its sign, and their pseudo-inverse."""
    gram = (_forms(p, frequency, offset, turns)[1] * np.outer(signs, signs))[np.ix_(chosen, chosen)]
    return gram, np.linalg.pinv(gram, rcond=len(gram) * np.finfo(np.float64).eps, hermitian=True)


class _Alone(NamedTuple):
    """What is measured of a circle alone: variance beyond a function of c alone, and of that
    function.

    profiles: mean over a and c of Q_abc cos w(a + b - c) at each d, at the circle's own wave and at
        those it may accompany.
    """

    accuracy: float
    variance: float
    label_variance: float
    profiles: list[NDArray[np.float64]]


@np.errstate(over="ignore", invalid="ignore")  # logits beyond 1e154 give infinities and NaN
def _read(p: int, circle: Circle, alone: _Alone, offsets: Mapping[int, float]) -> CircleEvidence:
    """Least squares of all forms at once, through their normal equations. offsets: of all
    circles, by frequency.
    """
    variance, label_variance = alone.variance, alone.label_variance
    profile = np.stack(
        [alone.profiles[0], *alone.profiles]
    )  # Clock and Pizza share the circle's own wave
    partners = accompanied_frequencies(p, circle.frequency)
    turns = tuple(_turn(p, circle, k, offsets) for k in partners)
    forms, gram = _forms(p, circle.frequency, circle.offset, turns)
    moments = (forms * profile).mean(axis=1)
    # Without a partner nothing tells a turned form from its opposite: take the one that the logits
    # follow.
    free = [circle.offset != 0.0 and partner not in offsets for partner in partners]
    signs = (
        1.0,
        1.0,
        *(-1.0 if each and moments[2 + i] < 0 else 1.0 for i, each in enumerate(free)),
    )
    moments = moments * np.array(signs)
    spread = np.sqrt((variance + label_variance) * gram.diagonal()).tolist()
    fve = [
        2 * moment / size - 1 if size else math.nan
        for moment, size in zip(moments.tolist(), spread, strict=True)
    ]
    best = max(
        range(2, len(forms)), key=lambda form: round(fve[form], 9), default=None
    )  # ties: the first
    chosen = [0, 1] if best is None else [0, 1, best]
    gram, inverse = _chosen_forms(p, circle.frequency, circle.offset, turns, signs, tuple(chosen))
    moments = moments[chosen]
    weights = inverse @ moments
    logit_variance = float(weights @ moments)
    explained = logit_variance / variance if variance > 0 else 0.0
    by_itself = (moments**2 / gram.diagonal().clip(1e-300)).tolist()  # what each form explains
    leads = best is not None and bool(moments[2] > 0) and by_itself[2] > max(by_itself[:2])
    clock, pizza, accompanying = [*weights.tolist(), 0.0][:3]
    role = _role(clock, pizza, explained, leads)
    partner = None if best is None else partners[best - 2]
    return CircleEvidence(
        circle=circle,
        role=role,
        accompanies=partner if role == "accompanying" and partner in offsets else None,
        fve_clock=fve[0],
        fve_pizza=fve[1],
        fve_accompanying=math.nan if best is None else fve[best],
        accuracy_alone=alone.accuracy,
        clock_weight=clock,
        pizza_weight=pizza,
        accompanying_weight=accompanying,
        logit_variance=logit_variance,
        explained=explained,
    )


def _role(clock: float, pizza: float, explained: float, accompanying_leads: bool) -> Role:
    amplitude = clock + pizza
    if falls_short(explained, LEAST_EXPLAINED):
        return "unclear"
    if accompanying_leads:
        return "accompanying"
    if amplitude <= 0:
        return "unclear"
    share = pizza / amplitude
    return (
        "Pizza"
        if reaches(share, CLEAR_SHARE)
        else "Clock"
        if stays_within(share, 1 - CLEAR_SHARE)
        else "mixed"
    )
