"""Circle isolation in other networks: linear models (appendix E), a wide Pizza with attention
(H), separate embeddings (I).
"""

import math

import torch

from algophase.analysis.circles.roles import CircleEvidence
from algophase.core.fourier import steps_around
from algophase.core.lines import exceeds, falls_short, reaches, stays_within
from algophase.paper.plates import MOST_SHOWN, draw_isolated, draw_plates, load_plates, take
from algophase.paper.populations import circles_of
from algophase.paper.product import Claim, Product
from algophase.paper.published import number
from algophase.paper.rules import (
    APPROXIMATES,
    HALF,
    OTHER_NETWORK,
    THRESHOLDS,
    Holds,
    for_each,
    judged,
    share_claim,
    some_claim,
    spread_of,
    statement,
)
from algophase.paper.sources import Exhibit, Sources, optional, source_of
from algophase.runs.statistics import Share

ALIGNED = 0.9  # correlation of two operands' circles (ours)


def _circular(circularity: float) -> Claim:
    limit = THRESHOLDS.circularity
    return judged(
        "the model is circular",
        reaches(circularity, limit),
        f"{circularity:.4f}",
        f"circularity at least {limit:g}",
    )


def _pizza(text: str, label: str, irrelevance: float, symmetricity: float) -> Claim:
    metrics = f"distance irrelevance {irrelevance:.3f}, gradient symmetricity {symmetricity:.3f}"
    return judged(
        text, label == "Pizza", label, f"the paper's label by `algophase analyze` ({metrics})"
    )


def _is_pizza(text: str, one: Exhibit) -> Claim:
    found = one.analysis
    return _pizza(text, found.paper_label, found.distance_irrelevance, found.gradient_symmetricity)


def linear_pizza(sources: Sources) -> Product:
    beta = sources.network("model-beta")
    pizzas = beta.of_role("Pizza")
    claims = (
        _circular(beta.circularity),
        _is_pizza("Model β implements the Pizza", beta),
        for_each(
            "its isolated circles follow the Pizza's formula",
            [item.fve_pizza for item in pizzas],
            APPROXIMATES,
            f"Pizza explains {{}} of the logits' variance, Clock "
            f"{spread_of([item.fve_clock for item in pizzas])}",
            f"at least {APPROXIMATES:.0%} of the variance of each circle that acts as a Pizza",
        ),
    )
    return Product(
        source_of(beta), {"": draw_isolated(beta, beta.evidence[:MOST_SHOWN])}, claims=claims
    )


def linear_delta(sources: Sources) -> Product:
    delta, b = sources.network("model-delta"), sources.network("model-b")
    by_sum, of_clock = (
        [one.only([item]).by_sum for item in one.evidence[:MOST_SHOWN]] for one in (delta, b)
    )
    claims = (
        _circular(delta.circularity),
        for_each(
            "the pattern is similar to the Clock's (figure 5) ...",
            by_sum,
            HALF,
            "a + b explains {} of the correct logits' variance",
            "at least half, for every circle shown, as in Model B",
        ),
        judged(
            "... but different from it",
            falls_short(max(by_sum, default=1.0), min(of_clock, default=0.0)),
            f"{spread_of(by_sum)} in Model δ, {spread_of(of_clock)} in Model B",
            "a + b explains less in each circle shown than in any of Model B's",
        ),
    )
    return Product(
        source_of(delta, b), {"": draw_isolated(delta, delta.evidence[:MOST_SHOWN])}, claims=claims
    )


def wide_pizza(sources: Sources) -> Product:
    """From the network where it is at hand; it is too large to ship, so else from plates that
    were taken of it.
    """
    kept = sources.plates("wide-pizza")
    if kept is None:
        found = sources.network("wide-pizza")
        wide, source = take(found, found.evidence[:MOST_SHOWN]), source_of(found)
    else:
        path, what = kept
        wide, source = (
            load_plates(path),
            f"plates of our network {path.name.split('.')[0]} ({what})",
        )
    numbers = {"irrelevance": wide.distance_irrelevance, "symmetricity": wide.gradient_symmetricity}
    claims = (
        *(
            number(f"wide-pizza-{name}").claim(
                value, f"{value:.3f}", same_network=False, note=OTHER_NETWORK
            )
            for name, value in numbers.items()
        ),
        _circular(wide.circularity),
        _pizza(
            "a transformer of width 1024 with attention rate 1 can be a Pizza",
            wide.label,
            *numbers.values(),
        ),
        *_tries(sources),
    )
    return Product(source, {"": draw_plates(wide)}, claims=claims)


def _tries(sources: Sources) -> list[Claim]:
    """How many such networks it takes, where there is a sweep of them."""
    runs = optional(sources.runs, "wide", "paper_label")
    if runs is None:
        return []
    note = f"{runs.source}; circular Pizzas by `algophase analyze`"
    return [
        some_claim(
            "after several tries there is a circular one",
            runs.share(runs["paper_label"] == "Pizza"),
            note,
        )
    ]


def _rows_apart(first: float, second: float, modulus: int) -> float:
    """How far apart two rows are, round the circle."""
    return abs((first - second + modulus / 2) % modulus - modulus / 2)


def _expected_row(one: Exhibit, item: CircleEvidence) -> float:
    """The row k(a - b) at which the two operands line up and the Pizza's factor |cos(w(a - b)/2
    + offset/2)| is largest.
    """
    return -item.circle.offset / (2 * math.pi) * one.modulus % one.modulus


def _seen_row(one: Exhibit, item: CircleEvidence) -> float:
    """Where the correct logits by a - b peak: the phase of their first harmonic in the order of
    the circle.
    """
    p = one.modulus
    rows = torch.from_numpy(steps_around(p, item.circle.frequency))
    angle = (one.only([item]).profile * torch.exp(2j * torch.pi * rows / p)).sum().angle().item()
    return angle / (2 * math.pi) * p % p


def _aligned(one: Exhibit, sources: Sources) -> list[Claim]:
    """That the operands' circles go round alike: in this network, and, where the sweep's table
    says it, in all.
    """
    text = "the two tokens' embeddings are often aligned"
    rule = (
        f"circles of correlation after the best turn of at least {ALIGNED} hold more than "
        "half of all circles' variance"
    )
    claims = []
    if len(one.components.coordinates) > 1:
        circles = [item.circle for item in one.evidence]
        aligned = [reaches(circle.alignment, ALIGNED) for circle in circles]
        share = sum(c.variance_share for c, is_ in zip(circles, aligned, strict=True) if is_)
        of = sum(circle.variance_share for circle in circles)
        values = ", ".join(f"{circle.alignment:.3f}" for circle in circles)
        ours = (
            f"{sum(aligned)} of {len(circles)} circles, with {share / of if of else 0:.0%} "
            f"of their variance: {values}"
        )
        holds: Holds = "undecided" if of and exceeds(share, HALF * of) else False
        note = f"rule: {rule}; one network cannot say what is often so"
        claims.append(statement(f"{text}: this network", holds, ours, note))
    runs = optional(sources.runs, "separate-vocabularies")
    if runs is None or "circles.alignment" not in runs:
        return claims
    known = runs.where(runs["circles.alignment"].notna())
    held = [
        exceeds(
            sum(share for share, value in circles if reaches(value, ALIGNED)),
            HALF * sum(share for share, _ in circles),
        )
        for circles in circles_of(known, "variance_share", "alignment")
    ]
    return [
        *claims,
        share_claim(
            text,
            Share(sum(held), len(known)),
            HALF,
            f"runs of separate-vocabularies in which {rule}",
        ),
    ]


def separate_pizza(sources: Sources) -> Product:
    one = sources.network("separate-pizza")
    pizzas = one.of_role("Pizza")[:MOST_SHOWN]
    shown = pizzas or list(one.evidence[:MOST_SHOWN])
    apart = [
        _rows_apart(_expected_row(one, item), _seen_row(one, item), one.modulus) for item in pizzas
    ]
    expected = [_expected_row(one, item) for item in shown]
    lined_up, step, p = 6 - 3, 18, 59
    claims = (
        _is_pizza("the model implements the Pizza", one),
        *_aligned(one, sources),
        judged(
            "the correct logit pattern is shifted because the two embeddings do not line up",
            bool(apart) and stays_within(max(apart), 1),
            f"at most {max(apart, default=math.nan):.2f} rows apart; shifts "
            f"{', '.join(f'{row:.1f}' for row in expected)}",
            "the row of the largest correct logits is within one of the row that the angle "
            "between the circles gives",
        ),
        number("separate-pizza-row").claim(
            lined_up * pow(step, -1, p) % p,
            str(lined_up * pow(step, -1, p) % p),
            note="arithmetic only: the network was not released",
        ),
    )
    notes = [f"pattern shifted to row {row:.1f}" for row in expected]
    return Product(source_of(one), {"": draw_isolated(one, shown, notes)}, claims=claims)
