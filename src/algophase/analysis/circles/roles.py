"""What each circle does: the network's logits with only that circle kept, against the closed forms.

Two readings stand side by side. `fve_*` is the paper's fraction of variance explained by each
formula alone (tables 2 and 3). The *weights* fit all three at once,

    Q_abc ~ [clock_weight + pizza_weight |cos w(a - b)/2|] cos w(a + b - c)
            - accompanying_weight cos v(a - b) cos v(a + b - c),

v the accompanied circle's angle. The formulas are orthogonal to anything that depends on c alone,
so the offsets that isolation leaves in a network's logits, which can swamp `fve_*` (Model B), do
not touch the weights.

Every formula is a shape of d = a - b (`shapes`) times a wave in a + b - c. So all that is needed of
the p^3 logits of a circle are a few sums (`logits.sums`), which are computed where the network is;
the rest is arithmetic on p numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch

from algophase.analysis._pending import Pending
from algophase.analysis.circles.find import Circle, circle_alone
from algophase.analysis.circles.formulas import accompanied_frequencies
from algophase.analysis.circles.principal import PrincipalComponents
from algophase.analysis.circles.shapes import CLOCK, COMPANION, PIZZA, fit_shapes, shapes_at
from algophase.analysis.device import upload
from algophase.analysis.logits.sums import LogitSums, logit_sums
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.fourier import Array, waves_at
from algophase.core.lines import falls_short, reaches, stays_within
from algophase.networks import Network

Role = Literal["Clock", "Pizza", "mixed", "accompanying", "unclear"]


@dataclass(frozen=True)
class CircleEvidence:
    """A circle and what it does alone.

    accompanies: frequency of the circle it accompanies.
    logit_variance: variance of its logits that the three shapes explain.
    explained: that as a share of all variance beyond a function of c alone.
    partner: frequency of the circle that it would accompany, whatever its role.
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
    partner: int | None = None

    @property
    def part(self) -> str:
        """Its role, or whom it accompanies."""
        return f"accompanies {self.accompanies}" if self.accompanies else self.role

    @property
    def accompanying_leads(self) -> bool:
        """Whether the accompanying formula explains more of its logits than either other one.

        With r the correlation with a formula, which explains r^2, the paper's FVE is 2 r - 1.
        """
        correlation = (self.fve_accompanying + 1) / 2
        clock = (self.fve_clock + 1) / 2
        pizza = (self.fve_pizza + 1) / 2
        return correlation > max(abs(clock), abs(pizza))


def role_of(item: CircleEvidence, thresholds: Thresholds) -> Role:
    """What a circle does, by the same two thresholds as the form of an instance.

    They say how much the shapes must explain, and how much of the circle's amplitude must follow
    one of them.
    """
    if falls_short(item.explained, thresholds.fit):
        return "unclear"
    if item.accompanying_leads:
        return "accompanying"
    amplitude = item.clock_weight + item.pizza_weight
    if amplitude <= 0:
        return "unclear"
    pizza_part = item.pizza_weight / amplitude
    if reaches(pizza_part, thresholds.pizza_part):
        return "Pizza"
    if stays_within(pizza_part, 1 - thresholds.pizza_part):
        return "Clock"
    return "mixed"


def with_role(item: CircleEvidence, thresholds: Thresholds) -> CircleEvidence:
    """The same measurements, with the role that these thresholds give them."""
    if math.isnan(item.explained):  # a row of a table that does not say
        return item
    role = role_of(item, thresholds)
    partner = item.accompanies if item.partner is None else item.partner
    return replace(item, role=role, accompanies=partner if role == "accompanying" else None)


def sums_of_circles(
    network: Network, circles: Sequence[Circle], principal: PrincipalComponents
) -> Pending[LogitSums]:
    """The sums of every circle alone, computed where the network is. There must be one at least."""
    table = network.operand_tables()[0]
    alone = [circle_alone(principal, circle) for circle in circles]
    first, second = (torch.stack(side) for side in zip(*alone, strict=True))
    first, second = upload([first, second], table.device, table.dtype)
    return logit_sums(network, first, second)


def circle_evidence(
    network: Network, circles: Sequence[Circle], principal: PrincipalComponents
) -> list[CircleEvidence]:
    """Isolate each circle and say what it does, and which circle it accompanies."""
    if not circles:
        return []
    return roles_of(circles, sums_of_circles(network, circles, principal).get())


def roles_of(
    circles: Sequence[Circle],
    sums: LogitSums,
    first: int = 0,
    thresholds: Thresholds = Thresholds(),
) -> list[CircleEvidence]:
    """What each circle does, from the sums of each alone. first: the row of the first circle."""
    modulus = sums.offset.shape[-1]
    offsets = {circle.frequency: circle.offset for circle in circles}
    variances = sums.without_offsets.diagonal() / modulus**3 + sums.means
    evidence = []
    for row, circle in enumerate(circles, start=first):
        partners = accompanied_frequencies(modulus, circle.frequency)  # two at most
        alone = _Alone(
            accuracy=float(sums.right[row]),
            variance=float(variances[row]),
            label_variance=float(np.square(sums.offset[row]).mean()),
            profiles={k: sums.amplitudes[row, :, k - 1] for k in [circle.frequency, *partners]},
        )
        evidence.append(_evidence(circle, alone, partners, offsets, thresholds))
    return evidence


class _Alone(NamedTuple):
    """What is measured of a circle alone.

    variance: of its logits, beyond a function of c alone; label_variance: of that function.
    profiles: g(d) at the circle's own frequency and at those of the circles it may accompany.
    """

    accuracy: float
    variance: float
    label_variance: float
    profiles: dict[int, Array]

    def fve(self, frequency: int, shape: Array) -> float:
        """Fraction of variance explained by shape(d) cos w r alone (table 2): 2 r - 1, with r the
        correlation of the two.
        """
        profile = self.profiles[frequency]
        mean_square = 1 / waves_at(len(profile), frequency)  # of cos w r
        covariance = float((shape * profile).mean()) * mean_square
        shape_variance = float(np.square(shape).mean()) * mean_square
        spread = math.sqrt((self.variance + self.label_variance) * shape_variance)
        return 2 * covariance / spread - 1 if spread else math.nan


def _evidence(
    circle: Circle,
    alone: _Alone,
    partners: Sequence[int],
    offsets: Mapping[int, float],
    thresholds: Thresholds,
) -> CircleEvidence:
    """offsets: of all circles of the network, by frequency."""
    frequency = circle.frequency
    own_profile = alone.profiles[frequency]
    own_shapes = shapes_at(len(own_profile), frequency, circle.offset)
    own = fit_shapes(own_profile, frequency, circle.offset, (CLOCK, PIZZA))
    clock_weight, pizza_weight = own.weights
    logit_variance = own.mean_square(frequency)

    # Among the circles it may accompany, the one whose formula its logits follow best.
    partner: int | None = None
    accompanying_weight, fve_accompanying = 0.0, math.nan
    companion_variance = 0.0
    for candidate in partners:
        profile = alone.profiles[candidate]
        offset = _companion_offset(circle, profile, candidate, offsets)
        fve = alone.fve(candidate, shapes_at(len(profile), candidate, offset)[COMPANION])
        if partner is not None and not round(fve, 9) > round(fve_accompanying, 9):
            continue
        companion = fit_shapes(profile, candidate, offset, (COMPANION,))
        partner, fve_accompanying = candidate, fve
        (accompanying_weight,) = companion.weights
        companion_variance = companion.mean_square(candidate)

    logit_variance += companion_variance
    item = CircleEvidence(
        circle=circle,
        role="unclear",
        accompanies=None,
        fve_clock=alone.fve(frequency, own_shapes[CLOCK]),
        fve_pizza=alone.fve(frequency, own_shapes[PIZZA]),
        fve_accompanying=fve_accompanying,
        accuracy_alone=alone.accuracy,
        clock_weight=clock_weight,
        pizza_weight=pizza_weight,
        accompanying_weight=accompanying_weight,
        logit_variance=logit_variance,
        explained=logit_variance / alone.variance if alone.variance > 0 else 0.0,
        partner=partner if partner in offsets else None,
    )
    return with_role(item, thresholds)


def _companion_offset(
    circle: Circle, profile: Array, partner: int, offsets: Mapping[int, float]
) -> float:
    """The offset of the companion's shape, where each operand has a circle of its own.

    The shape -cos(w d + o) is largest where the partner's |cos (w d + o) / 2| is 0, so o is the
    partner's offset. The circle's own offset is twice that, up to a full turn: it says o up to half
    a turn.
    """
    modulus = len(profile)
    # p - 2k is the circle of 2k gone round the other way.
    direction = 1 if (2 * partner - circle.frequency) % modulus == 0 else -1
    half = direction * circle.offset / 2
    if partner in offsets:
        opposite = math.cos(half - offsets[partner]) < 0
    else:
        # Without a partner nothing tells a turned shape from its opposite: take the one that the
        # logits follow.
        shape = shapes_at(modulus, partner, half)[COMPANION]
        opposite = circle.offset != 0.0 and float(shape @ profile) < 0
    return half + math.pi if opposite else half
