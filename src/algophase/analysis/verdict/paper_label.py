"""The paper's label, by the paper's rules: Clock, Pizza, hybrid, non-circular or not learned, and
why.

It calls two thirds of all networks "non-circular", which does not name an algorithm; `decide` names
one for those too. The paper's tables and claims, and `compare`, use this label. `Thresholds` has
the paper's thresholds and where it states them.

If the two metrics disagree (section 4.1.3), distance irrelevance decides for the Pizza, and
gradient symmetricity rules the Clock out. If they leave a network in between, its circles decide. A
value within rounding of a threshold counts as equal to it (`lines`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from algophase.analysis.circles.find import LEAST_ROUNDNESS, roundness
from algophase.analysis.circles.principal import (
    WAVE_CONCENTRATION,
    PrincipalComponents,
    frequency_shares,
)
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.lines import exceeds, falls_short, reaches, stays_within
from algophase.core.wording import floored

PaperLabel = Literal["Clock", "Pizza", "hybrid", "non-circular", "not learned"]
Shape = Literal["line-like", "several frequencies", "nearly circular"]


@dataclass(frozen=True)
class PaperVerdict:
    """label, its reasons in words, and what else decided it.

    metrics_agree: whether the two metrics point the same way; None where one of them does not vote,
        because it is undefined or because distance irrelevance lies between its two lines, and for
        a network that has not learned the task.
    shape: how a non-circular embedding looks.
    pizza_share: the Pizza's share of the logit variance of the circles with a role; None where no
        circle has one.
    """

    label: PaperLabel
    reasons: tuple[str, ...]
    metrics_agree: bool | None = None
    shape: Shape | None = None
    pizza_share: float | None = None

    @property
    def title(self) -> str:
        """The label, with how a non-circular embedding looks."""
        return f"{self.label} ({self.shape})" if self.shape else self.label


NOT_ADDITION = PaperVerdict(
    "non-circular", ("the paper's rules are for addition modulo p, and this is another group",)
)


@dataclass(frozen=True)
class Measurements:
    """What the label rests on. NaN where a metric is undefined.

    pairs: how many there are; wrong_pairs: of them, those answered wrong.
    shape: how the embedding looks, with a phrase that says it; None where it has no component, or
        where that is not known.
    """

    accuracy: float
    pairs: int
    wrong_pairs: int
    distance_irrelevance: float
    gradient_symmetricity: float
    circularity: float
    circularity_name: str = "circularity"
    shape: tuple[Shape, str] | None = None


def circularity_name(tables: int, cut: str = "embedding") -> str:
    """What is compared with its line, by how many tables the operands have and what they are."""
    if cut == "first layer":
        return "circularity of the first matrix,"
    return "circularity" if tables == 1 else "the lower circularity of the two operands' tables,"


def label_by_paper(
    measured: Measurements,
    evidence: Sequence[CircleEvidence],
    thresholds: Thresholds = Thresholds(),
) -> PaperVerdict:
    """The label, a function of the numbers and the lines alone."""
    if not reaches(measured.accuracy, thresholds.accuracy):
        wrong = f"{measured.wrong_pairs:,} of {measured.pairs:,} pairs are wrong"
        reason = (
            f"accuracy {floored(measured.accuracy)} is below "
            f"{100 * thresholds.accuracy:g}%: {wrong}"
        )
        return PaperVerdict(
            "not learned", (reason, *_roles(evidence)), pizza_share=pizza_share(evidence)
        )
    if not reaches(measured.circularity, thresholds.circularity):
        return _non_circular(measured, evidence, thresholds)
    return _circular(measured, evidence, thresholds)


def _vote(
    measured: Measurements, thresholds: Thresholds
) -> tuple[PaperLabel | None, bool | None, list[str]]:
    """What the two metrics say together: an algorithm or None for in between, whether they agree,
    and the reasons.

    A metric that is undefined does not vote: the other one votes alone.
    """
    q, s = measured.distance_irrelevance, measured.gradient_symmetricity
    low = thresholds.pizza_distance_irrelevance
    high = thresholds.clock_distance_irrelevance
    symmetric_from = thresholds.gradient_symmetricity
    symmetric = exceeds(s, symmetric_from)
    asymmetric = stays_within(s, symmetric_from)  # neither where it is undefined
    if symmetric or asymmetric:
        side = ">" if symmetric else "<="
        meaning = "asymmetric, as in a Clock, which multiplies"
        if symmetric:
            meaning = "symmetric, which rules the Clock out"
        s_text = f"{round(s, 4) + 0.0:.4f}"  # + 0.0: never -0
        s_reason = f"gradient symmetricity {s_text} {side} {symmetric_from:g}: {meaning}"
    else:
        s_reason = (
            "gradient symmetricity is undefined (no gradients to compare), so it rules nothing out"
        )
    if math.isnan(q):
        reasons = [
            "distance irrelevance is undefined: all correct logits are equal",
            s_reason,
        ]
        return ("Clock" if asymmetric else None), None, reasons
    pizza = falls_short(q, low)
    clock = reaches(q, high)
    if pizza:
        q_reason = (
            f"distance irrelevance {q:.4f} < {low:g}: the correct logit depends on a - b, as in "
            "a Pizza"
        )
    elif not clock:
        q_reason = (
            f"distance irrelevance {q:.4f} is between the Pizza's range (below {low:g}) and the "
            f"Clock's (from {high:g})"
        )
    else:
        q_reason = (
            f"distance irrelevance {q:.4f} >= {high:g}: the correct logit hardly depends on "
            "a - b, as in a Clock"
        )
    reasons = [q_reason, s_reason]
    if not pizza and not clock:
        return None, None, reasons
    label: PaperLabel = "Pizza" if pizza else "Clock"
    if not symmetric and not asymmetric:
        return label, None, reasons
    if pizza and asymmetric:
        reasons.append(
            "the two metrics disagree; distance irrelevance decides for the Pizza (section 4.1.3)"
        )
    if clock and symmetric:
        reasons.append(
            "the two metrics disagree: symmetric gradients rule out a Clock, and the logits are "
            "not clearly a Pizza's"
        )
        return None, False, reasons
    return label, symmetric == (label == "Pizza"), reasons


# What a circle's role gives the Pizza of its logit variance. An unclear circle has no role.
PIZZA_PART = {"Pizza": 1.0, "accompanying": 1.0, "mixed": 0.5, "Clock": 0.0}


def pizza_share(evidence: Sequence[CircleEvidence]) -> float | None:
    """The Pizza's share of the logit variance of all circles with a role; accompanying circles
    serve their Pizza.

    A mixed circle counts half. None where no circle has a role.
    """
    weighted = [
        (PIZZA_PART[item.role], item.logit_variance) for item in evidence if item.role in PIZZA_PART
    ]
    total = sum(variance for _, variance in weighted)
    return sum(share * variance for share, variance in weighted) / total if total > 0 else None


def _roles(evidence: Sequence[CircleEvidence]) -> list[str]:
    """What the circles do, one phrase per role."""
    phrases = []
    paired, alone = "accompanying", "accompanying none"
    for part in ("Clock", "Pizza", "mixed", paired, alone, "unclear"):
        members = [
            item
            for item in evidence
            if (alone if item.role == paired and not item.accompanies else item.role) == part
        ]
        if not members:
            continue
        s = "s" if len(members) == 1 else ""
        partners = [f"{item.circle.frequency} with {item.accompanies}" for item in members]
        doing = {
            "Clock": f"act{s} as a Clock",
            "Pizza": f"act{s} as a Pizza",
            "mixed": f"act{s} as a Clock-Pizza mixture",
            paired: f"accompan{'ies' if s else 'y'} a Pizza ({', '.join(partners)})",
            alone: f"follow{s} the accompanying form, without a partner",
            "unclear": f"follow{s} neither form",
        }[part]
        phrases.append(f"{_named(members)} {doing}")
    return phrases


def _named(members: Sequence[CircleEvidence]) -> str:
    one = "the circle" if len(members) == 1 else "circles"
    return f"{one} of frequency {', '.join(str(item.circle.frequency) for item in members)}"


def _counted(evidence: Sequence[CircleEvidence]) -> tuple[str, str]:
    """What `pizza_share` is a share of, and, where some circles have no role, what it leaves
    out.
    """
    without = [item for item in evidence if item.role not in PIZZA_PART]
    total = sum(item.logit_variance for item in evidence)
    if not without or not total > 0:
        return "the circles' logit variance", ""
    left_out = sum(item.logit_variance for item in without) / total
    has = "has" if len(without) == 1 else "have"
    return (
        "the logit variance of the circles with a role",
        f" ({_named(without)}, without a role, {has} {left_out:.0%} of all circles' logit "
        "variance)",
    )


def _circular(
    measured: Measurements, evidence: Sequence[CircleEvidence], thresholds: Thresholds
) -> PaperVerdict:
    reasons = [
        f"{measured.circularity_name} {measured.circularity:.4f} >= {thresholds.circularity:g}: "
        "the embedding is circular"
    ]
    vote, agree, metric_reasons = _vote(measured, thresholds)
    ruled_out = exceeds(
        measured.gradient_symmetricity, thresholds.gradient_symmetricity
    )  # the Clock
    share = pizza_share(evidence)
    whole, left_out = _counted(evidence)
    reasons += metric_reasons + _roles(evidence)
    lesser = None if share is None else min(share, 1 - share)
    label: PaperLabel
    if lesser is not None and reaches(lesser, thresholds.hybrid_share):
        label = "hybrid"
        reasons.append(
            f"both algorithms contribute: the Pizza has {share:.0%} of {whole}{left_out}"
        )
    elif vote is not None:
        label = vote
        if (
            lesser
            and exceeds(lesser, 0.005)
            and share is not None
            and exceeds(share, 0.5) == (vote == "Pizza")
        ):
            lesser_algorithm = "Clock" if vote == "Pizza" else "Pizza"
            reasons.append(f"a trace of {lesser_algorithm}: {lesser:.1%} of {whole}{left_out}")
    elif share is not None and exceeds(share, 0.5):
        label = "Pizza"
        reasons.append(f"the circles decide: the Pizza has {share:.0%} of {whole}{left_out}")
    elif share is not None and not ruled_out:
        label = "Clock"
        reasons.append(f"the circles decide: the Pizza has only {share:.0%} of {whole}{left_out}")
    else:
        label = "hybrid"
        reasons.append("neither the metrics nor the circles point to one algorithm")
    return PaperVerdict(label, tuple(reasons), agree, None, share)


def _non_circular(
    measured: Measurements, evidence: Sequence[CircleEvidence], thresholds: Thresholds
) -> PaperVerdict:
    reasons = []
    if math.isnan(measured.circularity):
        reasons.append("the embedding has no principal component, so there is no circle")
        return PaperVerdict("non-circular", tuple(reasons))
    reasons.append(
        f"{measured.circularity_name} {measured.circularity:.4f} < {thresholds.circularity:g}: "
        "the embedding is not circular"
    )
    shape, description = measured.shape or (None, "its shape is unknown")
    _, agree, metric_reasons = _vote(measured, thresholds)
    reasons += [description, *metric_reasons, *_roles(evidence)]
    return PaperVerdict("non-circular", tuple(reasons), agree, shape, pizza_share(evidence))


def embedding_shape(components: PrincipalComponents) -> tuple[Shape, str] | None:
    """Line-like, a curve through several frequencies, or nearly circular, from the first four
    components (appendix B).
    """
    if components.count == 0:
        return None
    shares = frequency_shares(components)[:4].numpy()
    leading = int(shares[0].argmax()) + 1
    # The first component runs along one axis of its frequency's ellipse: without the other axis it
    # is a line.
    if reaches(shares[0, leading - 1], WAVE_CONCENTRATION) and falls_short(
        roundness(components, leading), LEAST_ROUNDNESS
    ):
        return (
            "line-like",
            f"line-like: the first component is a wave of frequency {leading} that does not "
            "close into a circle",
        )
    impure = [
        index
        for index in range(len(shares))
        if falls_short(shares[index].max(), WAVE_CONCENTRATION)
    ]
    unpaired = [
        i for i in range(0, len(shares) - 1, 2) if shares[i].argmax() != shares[i + 1].argmax()
    ]
    if impure or unpaired:
        carried = components.variance_share[: len(shares)].numpy() @ shares
        least = 0.1 * float(carried.max())
        strongest = [int(k) + 1 for k in (-carried).argsort()[:4] if reaches(carried[k], least)]
        names = ", ".join(map(str, strongest))
        return (
            "several frequencies",
            f"a curve through several frequencies: the first components mix {names}",
        )
    return (
        "nearly circular",
        "nearly circular: each of the first components is nearly a wave of one frequency",
    )
