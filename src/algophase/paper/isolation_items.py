"""Circle isolation of Models A and B: sections 3.3 and 3.4 and appendix D."""

from collections.abc import Sequence

import torch
from torch import Tensor

from algophase.analysis.circles.formulas import half_angle_cosine, variance_explained
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.logits.all_pairs import by_difference_and_sum
from algophase.core.fourier import cos_turn, folded
from algophase.core.group import cyclic_group
from algophase.core.lines import exceeds, falls_short, reaches, stays_within
from algophase.paper.plates import MOST_SHOWN, draw_isolated
from algophase.paper.product import Claim, Product, Table
from algophase.paper.published import number
from algophase.paper.rules import APPROXIMATES, HALF, for_each, judged, measured, spread_of
from algophase.paper.sources import Exhibit, Sources, source_of

INVARIANT = 0.2  # standard deviation over mean below which an accuracy does not depend on a - b
HIGHLY = 0.9
SUBSTANTIALLY = 0.1  # of the variance, by which one formula explains more than another
SHORT, LONG = 0.1, 0.9  # of the longest E_ab
EVERY = "for every circle shown"


def _pizzas(a: Exhibit) -> list[CircleEvidence]:
    """The paper's pizzas 1, 2 and 3: the largest circles that act as one."""
    return a.of_role("Pizza")[:3]


def _depends(shares: Sequence[float], name: str) -> Claim:
    text = f"the logit pattern of each isolated circle depends on {name}"
    return for_each(
        text,
        shares,
        HALF,
        f"{name} explains {{}} of the correct logits' variance",
        f"at least half, {EVERY}",
    )


def _highly_accurate(
    one: Exhibit, shown: Sequence[CircleEvidence], *, axis: int, name: str
) -> Claim:
    """axis: of the answers by a - b (rows) and a + b (columns), the one to average over."""
    best = [
        by_difference_and_sum(one.only([item]).right.double()).nanmean(axis).max().item()
        for item in shown
    ]
    text = (
        "after isolation a subset of predictions remains highly accurate, determined by the "
        "circle's k"
    )
    ours, rule = (
        f"at its best {name} a circle alone answers {{}} right",
        f"at least {HIGHLY:.0%} at some value of {name}, {EVERY}",
    )
    return for_each(text, best, HIGHLY, ours, rule)


def pizza_isolated(sources: Sources) -> Product:
    a = sources.network("model-a")
    pizzas = _pizzas(a)
    last = a.companion(pizzas[-1]) if pizzas else None
    shown = [*pizzas, *([last] if last else [])] or list(a.evidence[:MOST_SHOWN])
    lost = [int((a.only([item]).accuracies == 0).sum()) for item in pizzas]
    claims = [
        measured("model-a-circularity", a, a.circularity, f"{a.circularity:.2%}"),
        _depends([a.only([item]).by_difference for item in shown], "a - b"),
        judged(
            "Model A's accuracy drops to zero at specific values of a - b",
            min(lost, default=0) > 0,
            f"zero at {', '.join(map(str, lost))} of {a.modulus} values, circle by circle",
            "each Pizza alone has a value of a - b at which no pair is answered right",
        ),
        judged(
            "the rightmost circle accompanies the third",
            len(pizzas) == 3 and last is not None,
            "none"
            if last is None
            else f"frequency {last.circle.frequency} accompanies {last.accompanies}",
            "alone it follows the accompanying form, at twice the third's frequency",
        ),
        _longer_is_better(a, pizzas),
        _highly_accurate(a, pizzas, axis=1, name="a - b"),
        *_accuracy_claims(a, pizzas),
    ]
    return Product(source_of(a), {"": draw_isolated(a, shown)}, claims=tuple(claims))


def _longer_is_better(a: Exhibit, pizzas: list[CircleEvidence]) -> Claim:
    """Sections 3.2 and 3.4: near-antipodal pairs, whose midpoint is near the origin, are
    answered wrong more often.
    """
    shown = []
    for item in pizzas:
        length = half_angle_cosine(a.modulus, item.circle.frequency, item.circle.offset)[..., 0]
        right = a.only([item]).right.double()
        shown.append(
            [
                right[end].mean().item()
                for end in (falls_short(length, SHORT), exceeds(length, LONG))
            ]
        )
    return judged(
        "a pair is more likely to be answered right if E_ab is longer, less if it is nearly "
        "antipodal",
        bool(shown) and all(falls_short(short, long) for short, long in shown),
        ", ".join(f"{short:.1%} and {long:.1%}" for short, long in shown) or "no Pizza",
        f"of each Pizza alone, pairs of |cos w(a - b)/2| < {SHORT} are answered right less "
        f"often than those of > {LONG}",
    )


def _accuracy_claims(a: Exhibit, pizzas: list[CircleEvidence]) -> list[Claim]:
    """One and three circles alone. The paper gives 91.4% (main text) and 99.7% (footnote) for
    the same three.
    """
    if not pizzas:
        return []
    one, two, three = (a.only(pizzas[:count]).accuracy for count in (1, 2, 3))
    alone = ", ".join(f"{item.accuracy_alone:.2%}" for item in pizzas)
    which = (
        f"circles 1, 2, 3 alone give {alone}: the printed value is circle 2's"
        if a.published
        else ""
    )
    both = (
        "the main text gives 91.4% for the first six components, the footnote of section 3.4 "
        "99.7% for the same three circles"
        f"; here one circle gives {one:.2%}, two {two:.2%}, three {three:.2%}"
    )
    if a.published:
        both += ": the main text's value is that of two circles (components 1 to 4)"
    contradicted = number("model-a-three-circles")
    return [
        measured("model-a-one-circle", a, one, f"{one:.2%}", which),
        Claim(
            contradicted.text,
            contradicted.printed,
            f"{three:.2%}",
            "paper contradicts itself",
            note=both,
        ),
    ]


def _relative_spread(one: Exhibit, item: CircleEvidence) -> float:
    accuracies = one.only([item]).accuracies
    return (accuracies.std(correction=0) / accuracies.mean()).item()


def _by_sum_and_answer(one: Exhibit, item: CircleEvidence) -> float:
    """Share of the variance of an isolated circle's logits that a + b and the answer c together
    explain.
    """
    logits = one.isolate([item]).logits  # (p, p, p)
    a = torch.arange(one.modulus)
    b = cyclic_group(one.modulus).difference(a[:, None], a)  # of each sum and each a
    rows = logits[a, b]  # (a + b, a, c)
    return (rows.mean(dim=1).var(correction=0) / logits.var(correction=0)).item()


def clock_isolated(sources: Sources) -> Product:
    b = sources.network("model-b")
    shown = b.evidence[:MOST_SHOWN]
    clocks = [item for item in shown if item.role == "Clock"]
    spread = [_relative_spread(b, item) for item in clocks]
    others = "; ".join(
        f"k = {item.circle.frequency} ({item.role}): {_relative_spread(b, item):.2f}"
        for item in shown
        if item.role != "Clock"
    )
    kept = b.first_components(6).accuracy
    verdict = b.analysis.paper
    share = verdict.pizza_share
    roles = ", ".join(f"{item.circle.frequency} {item.role}" for item in b.evidence)
    claims = (
        measured("model-b-circularity", b, b.circularity, f"{b.circularity:.2%}"),
        _depends([b.only([item]).by_sum for item in shown], "a + b"),
        judged(
            "Model B's accuracy is invariant in a - b",
            stays_within(max(spread, default=1.0), INVARIANT),
            f"standard deviation over a - b {spread_of(spread, '.2f')} of the mean"
            + (f" ({others})" if others else ""),
            "the accuracy of each Clock alone has a standard deviation over a - b of at most "
            f"{INVARIANT} of its mean; "
            "circles of other roles are shown, not judged",
        ),
        for_each(
            "after isolation of a Clock's circle inputs with common sums a + b produce the same "
            "logits",
            [_by_sum_and_answer(b, item) for item in shown],
            APPROXIMATES,
            "a + b and c explain {} of all logits' variance",
            f"at least {APPROXIMATES:.0%}, {EVERY}",
        ),
        _highly_accurate(b, clocks, axis=0, name="a + b"),
        judged(
            "Model B is a Clock",
            verdict.label == "Clock" and share is not None and falls_short(share, HALF),
            f"by circle: {roles}"
            + ("" if share is None else f"; Pizza's share of the logit variance {share:.1%}"),
            "the paper's label by `algophase analyze`, and the Pizza has less than half of the "
            "circles' logit variance",
        ),
        measured("model-b-six-components", b, kept, f"{kept:.2%}"),
    )
    return Product(source_of(b), {"": draw_isolated(b, shown)}, claims=claims)


def _frequency_claim(name: str, of: Exhibit, frequency: int) -> Claim:
    """k and p - k are the same circle, walked the other way."""
    printed = round(number(name).value)
    same = frequency in (printed, of.modulus - printed)
    other = (
        f"{printed} = {of.modulus} - {frequency}: the same circle"
        if same and frequency != printed
        else ""
    )
    return measured(name, of, printed if same else frequency, str(frequency), other)


def _turn(modulus: int, frequency: int) -> str:
    return f"2π/{modulus} · {frequency}"


def _table_row(
    a: Exhibit, item: CircleEvidence, name: str, values: dict[str, float]
) -> tuple[list[Claim], tuple[str, ...]]:
    """A row of a table of explained variance: its claims, and its cells, ours and the paper's.

    name: of the row's printed frequency; values: ours, by the names of the printed ones.
    """
    claims = [_frequency_claim(name, a, item.circle.frequency)]
    claims += [measured(each, a, value, f"{value:.2%}") for each, value in values.items()]
    ours = _turn(a.modulus, item.circle.frequency), *(f"{value:.2%}" for value in values.values())
    return claims, (
        *ours,
        _turn(59, round(number(name).value)),
        *(number(each).printed for each in values),
    )


def explained(sources: Sources) -> Product:
    a = sources.network("model-a")
    pizzas = _pizzas(a)
    claims, rows = [], []
    for place, item in enumerate(pizzas, start=1):
        values = {
            f"isolation-{place}-clock": item.fve_clock,
            f"isolation-{place}-pizza": item.fve_pizza,
        }
        found, cells = _table_row(a, item, f"isolation-{place}-frequency", values)
        claims += found
        rows.append((f"#{place}", *cells))
    gains = [item.fve_pizza - item.fve_clock for item in pizzas]
    others = [
        variance_explained(a.isolate([item]).logits[..., : a.modulus], _absolute_dot(a, item))
        for item in pizzas
    ]
    claims += [
        for_each(
            "Pizza explains substantially more variance than Clock",
            gains,
            SUBSTANTIALLY,
            f"more by {spread_of([100 * gain for gain in gains], '.1f')} points",
            f"at least {100 * SUBSTANTIALLY:g} points more, for every circle of the table",
        ),
        judged(
            "the absolute value of the dot product of E_ab with (cos w c/2, sin w c/2) is not "
            "what a Pizza takes",
            bool(others)
            and all(
                falls_short(other, item.fve_pizza)
                for other, item in zip(others, pizzas, strict=True)
            ),
            f"it explains {spread_of(others)}",
            "less than the Pizza's formula, for every circle of the table (section 3.1: not "
            "commonly observed)",
        ),
    ]
    columns = (
        "Circle",
        "w_k",
        "Clock FVE",
        "Pizza FVE",
        "paper: w_k",
        "paper: Clock FVE",
        "paper: Pizza FVE",
    )
    return Product(source_of(a), tables={"": Table(columns, tuple(rows))}, claims=tuple(claims))


def _absolute_dot(a: Exhibit, item: CircleEvidence) -> Tensor:
    """|cos w(a - b)/2| |cos w(a + b - c)/2|, (p, p, p)."""
    p, k = a.modulus, item.circle.frequency
    n = torch.arange(p)
    angle = cos_turn(k * (n[:, None, None] + n[:, None] - n), 2 * p)
    return half_angle_cosine(p, k, item.circle.offset) * angle.abs()


def explained_side(sources: Sources) -> Product:
    a = sources.network("model-a")
    pizzas, p = _pizzas(a), a.modulus
    claims, rows, steps = [], [], []
    for place, item in enumerate(pizzas, start=1):
        other = a.companion(item)
        if other is None:
            continue
        values = {f"isolationside-{place}": other.fve_accompanying}
        found, cells = _table_row(a, item, f"isolationside-{place}-frequency", values)
        claims += found
        rows.append((f"#{a.number_of(other)} (accompanying #{place})", *cells))
        steps.append((pow(item.circle.frequency, -1, p), pow(other.circle.frequency, -1, p)))
    claims += [
        judged(
            "pizzas #1, #2 and #3 all have accompanying pizzas",
            len(rows) == len(pizzas) == 3,
            f"{len(rows)} of {len(pizzas)}",
            "a circle follows the accompanying form of each of the three largest pizzas "
            f"({len(a.of_role('Pizza'))} in all)",
        ),
        judged(
            "spacings of accompanied and accompanying pizza: δ1 = 2 δ2 (mod p)",
            bool(steps)
            and all(folded(first, p) == folded(2 * second, p) for first, second in steps),
            ", ".join(f"{first} and {second}" for first, second in steps) or "no circle",
            "up to the direction in which a circle is walked",
        ),
    ]
    columns = ("Circle", "w_k", "A_c FVE", "paper: w_k", "paper: A_c FVE")
    return Product(source_of(a), tables={"": Table(columns, tuple(rows))}, claims=tuple(claims))


def side_isolated(sources: Sources) -> Product:
    a = sources.network("model-a")
    pizzas = a.of_role("Pizza")
    pairs = [(item, other) for item in pizzas if (other := a.companion(item)) is not None]
    side = [other for _, other in pairs]
    profiles = [torch.stack([a.only([item]).profile for item in pair]) for pair in pairs]
    correlations = [torch.corrcoef(profile)[0, 1].item() for profile in profiles]
    main, alone, six = (a.only(circles).accuracy for circles in (pizzas, side, [*pizzas, *side]))
    without = a.without(side).accuracy
    claims = (
        judged(
            "accompanying pizzas complement the logit pattern of their pizza",
            falls_short(max(correlations, default=1.0), 0),
            f"correlation over a - b {spread_of(correlations, '.2f')}",
            "mean correct logits by a - b of a pizza and of its accompanying one are negatively "
            "correlated, for every pair",
        ),
        measured("model-a-accompanied", a, main, f"{main:.2%}"),
        measured("model-a-accompanying", a, alone, f"{alone:.2%}"),
        measured("model-a-six-circles", a, six, f"{six:.2%}"),
        judged(
            "accompanying pizzas play no significant role in final predictions",
            bool(side) and reaches(without, HIGHLY),
            f"accuracy {without:.2%} without them, {alone:.2%} with them alone",
            f"at least {HIGHLY:.0%} of all pairs are answered right without them",
        ),
    )
    return Product(
        source_of(a),
        {"": draw_isolated(a, side[:MOST_SHOWN] or a.evidence[:MOST_SHOWN])},
        claims=claims,
    )
