"""What each circle does: the network's logits with only that circle kept, against the closed forms.

Two readings stand side by side. `fve_*` is the paper's fraction of variance explained by each formula alone (tables 2 and 3).
The *weights* fit all forms at once,

    Q_abc ~ [clock_weight + pizza_weight |cos w(a - b)/2|] cos w(a + b - c) - accompanying_weight cos v(a - b) cos v(a + b - c),

v the accompanied circle's angle. The forms are orthogonal to anything that depends on c alone, so the offsets that
isolation leaves in a network's logits, which can swamp `fve_*` (Model B), do not touch the weights.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from algophase.analysis.circles import Circle, isolate_circles
from algophase.analysis.formulas import (
    accompanied_frequencies,
    accompanying_logits,
    clock_logits,
    pizza_logits,
    variance_explained,
)
from algophase.analysis.principal import PrincipalComponents
from algophase.networks import Network

Role = Literal["Clock", "Pizza", "mixed", "accompanying", "unclear"]

# Ours, not the paper's: of a circle's logits, how much the forms must explain for it to have a role at all, ...
LEAST_EXPLAINED = 0.5
# ... and how much of its amplitude must follow one form for the role to be that algorithm's alone.
CLEAR_SHARE = 2 / 3


@dataclass(frozen=True)
class CircleEvidence:
    """A circle and what it does alone.

    accompanies: frequency of the circle it accompanies; logit_variance: variance of its logits that the three forms explain;
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


@dataclass(frozen=True)
class _Fit:
    clock: float
    pizza: float
    accompanying: float
    variance: float
    explained: float
    accompanying_leads: bool


def _fit(logits: Tensor, clock: Tensor, pizza: Tensor, accompanying: Tensor | None) -> _Fit:
    """Least squares of all forms at once, through their 3 x 3 normal equations."""
    forms = [form.flatten() for form in (clock, pizza, accompanying) if form is not None]
    target = (logits - logits.mean(dim=(0, 1))).flatten()
    gram = torch.stack([torch.stack([x @ y for y in forms]) for x in forms])
    moments = torch.stack([x @ target for x in forms])
    weights = torch.linalg.pinv(gram, hermitian=True) @ moments
    variance = (weights @ moments).item() / len(target)
    everything = (target @ target).item() / len(target)
    alone = moments.square() / gram.diagonal().clamp_min(1e-300)  # what each form explains by itself
    leads = accompanying is not None and bool(alone[2] > alone[:2].max())
    clock_weight, pizza_weight, accompanying_weight = [*weights.tolist(), 0.0][:3]
    explained = variance / everything if everything > 0 else 0.0
    return _Fit(clock_weight, pizza_weight, accompanying_weight, variance, explained, leads)


def _role(fit: _Fit) -> Role:
    amplitude = fit.clock + fit.pizza
    if fit.explained < LEAST_EXPLAINED:
        return "unclear"
    if fit.accompanying_leads:
        return "accompanying"
    if amplitude <= 0:
        return "unclear"
    share = fit.pizza / amplitude
    return "Pizza" if share >= CLEAR_SHARE else "Clock" if share <= 1 - CLEAR_SHARE else "mixed"


def circle_evidence(network: Network, circles: list[Circle], principal: PrincipalComponents) -> list[CircleEvidence]:
    """Isolate each circle in turn and say what it does, and which circle it accompanies."""
    p = network.task.modulus
    by_frequency = {circle.frequency: circle for circle in circles}
    evidence = []
    for circle in circles:
        isolation = isolate_circles(network, [circle], principal=principal)
        logits = isolation.logits[..., :p].double()
        clock = clock_logits(p, circle.frequency)
        pizza = pizza_logits(p, circle.frequency, offset=circle.offset)
        partner, accompanying, fve_accompanying = None, None, math.nan
        for candidate in accompanied_frequencies(p, circle.frequency):
            form = accompanying_logits(p, candidate, offset=circle.offset)
            fve = variance_explained(logits, form)
            if accompanying is None or fve > fve_accompanying:
                partner, accompanying, fve_accompanying = candidate, form, fve
        fit = _fit(logits, clock, pizza, accompanying)
        role = _role(fit)
        evidence.append(
            CircleEvidence(
                circle=circle,
                role=role,
                accompanies=partner if role == "accompanying" and partner in by_frequency else None,
                fve_clock=variance_explained(logits, clock),
                fve_pizza=variance_explained(logits, pizza),
                fve_accompanying=fve_accompanying,
                accuracy_alone=isolation.accuracy,
                clock_weight=fit.clock,
                pizza_weight=fit.pizza,
                accompanying_weight=fit.accompanying,
                logit_variance=fit.variance,
                explained=fit.explained,
            )
        )
    return evidence
