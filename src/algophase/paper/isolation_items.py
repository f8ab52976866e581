"""Circle isolation of Models A and B: sections 3.3 and 3.4 and appendix D."""

from collections.abc import Sequence

import torch
from torch import Tensor

from algophase.analysis.evidence import CircleEvidence
from algophase.analysis.formulas import half_angle_cosine, variance_explained
from algophase.analysis.grid import right_answers
from algophase.paper.isolation_figures import MOST_SHOWN, draw_isolated
from algophase.paper.product import Claim, Item, Product, Table
from algophase.paper.published import number
from algophase.paper.rules import APPROXIMATES
from algophase.paper.sources import Sources
from algophase.paper.specimens import HALF, Specimen, judged, measured, source_of, specimen, spread_of
from algophase.waves import cos_turn

INVARIANT = 0.2  # standard deviation over mean below which an accuracy does not depend on a - b
HIGHLY = 0.9


def _pizzas(a: Specimen) -> list[CircleEvidence]:
    """The paper's pizzas 1, 2 and 3: the largest circles that act as one."""
    return a.of_role("Pizza")[:3]


def pizza_isolated(sources: Sources) -> Product:
    a = specimen(sources, "model-a")
    pizzas = _pizzas(a)
    last = a.companion(pizzas[-1]) if pizzas else None
    shown = [*pizzas, *([last] if last else [])] or list(a.circles[:MOST_SHOWN])
    by_difference = [a.pattern(item).by_difference for item in shown]
    lost = [int((a.pattern(item).accuracies == 0).sum()) for item in pizzas]
    claims = [
        measured("model-a-circularity", a, a.circularity, f"{a.circularity:.2%}"),
        judged(
            "the logit pattern of each isolated circle depends on a - b",
            min(by_difference, default=0.0) >= HALF,
            f"a - b explains {spread_of(by_difference)} of the correct logits' variance",
            "at least half, for every circle shown",
        ),
        judged(
            "Model A's accuracy drops to zero at specific values of a - b",
            min(lost, default=0) > 0,
            f"zero at {', '.join(map(str, lost))} of {a.modulus} values, circle by circle",
            "each Pizza alone has a value of a - b at which no pair is answered right",
        ),
        judged(
            "the rightmost circle accompanies the third",
            len(pizzas) == 3 and last is not None,
            "none" if last is None else f"frequency {last.circle.frequency} accompanies {last.accompanies}",
            "alone it follows the accompanying form, at twice the third's frequency",
        ),
        _longer_is_better(a, pizzas),
        _highly_accurate(a, pizzas, axis=1, name="a - b"),
        *_accuracy_claims(a, pizzas),
    ]
    return Product(source_of(a), {"": draw_isolated(a, shown)}, claims=tuple(claims))


def _longer_is_better(a: Specimen, pizzas: list[CircleEvidence]) -> Claim:
    """Sections 3.2 and 3.4: near-antipodal pairs, whose midpoint is near the origin, are answered wrong more often."""
    shown = []
    for item in pizzas:
        length = half_angle_cosine(a.modulus, item.circle.frequency, item.circle.offset).flatten()
        right = right_answers(a.keep([item]).logits).double().flatten()
        shown.append((right[length < 0.1].mean().item(), right[length > 0.9].mean().item()))
    return judged(
        "a pair is more likely to be answered right if E_ab is longer, less if it is nearly antipodal",
        bool(shown) and all(short < long for short, long in shown),
        ", ".join(f"{short:.1%} and {long:.1%}" for short, long in shown) or "no Pizza",
        "of each Pizza alone, pairs of |cos w(a - b)/2| < 0.1 are answered right less often than those of > 0.9",
    )


def _accuracy_claims(a: Specimen, pizzas: list[CircleEvidence]) -> list[Claim]:
    """One and three circles alone. The paper gives 91.4% (main text) and 99.7% (footnote) for the same three."""
    if not pizzas:
        return []
    one, two, three = (a.keep(pizzas[:count]).accuracy for count in (1, 2, 3))
    alone = [f"{item.accuracy_alone:.2%}" for item in pizzas]
    each = f"circles 1, 2, 3 alone give {', '.join(alone)}"
    which = f"{each}: the printed value is circle 2's" if a.found.published else ""
    published = (
        "the main text gives 91.4% for the first six components, the footnote of section 3.4 99.7% for the same three circles"
    )
    both = f"{published}; here one circle gives {one:.2%}, two {two:.2%}, three {three:.2%}"
    if a.found.published:
        both += ": the main text's value is that of two circles (components 1 to 4)"
    contradicted = number("model-a-three-circles")
    return [
        measured("model-a-one-circle", a, one, f"{one:.2%}", which),
        Claim(contradicted.text, contradicted.printed, f"{three:.2%}", "paper contradicts itself", note=both),
    ]


def _relative_spread(one: Specimen, item: CircleEvidence) -> float:
    accuracies = one.pattern(item).accuracies
    return (accuracies.std(correction=0) / accuracies.mean()).item()


def _by_sum_and_answer(one: Specimen, item: CircleEvidence) -> float:
    """Share of the variance of an isolated circle's logits that a + b and the answer c together explain."""
    logits = one.keep([item]).logits  # (p, p, p)
    p = one.modulus
    a = torch.arange(p)
    rows = torch.stack([logits[a, (total - a) % p] for total in range(p)])  # (a + b, a, c)
    return (rows.mean(dim=1).var(correction=0) / logits.var(correction=0)).item()


def _highly_accurate(one: Specimen, shown: Sequence[CircleEvidence], *, axis: int, name: str) -> Claim:
    """axis: of the answers by a - b (rows) and a + b (columns), the one to average over."""
    best = [one.pattern(item).right.nanmean(axis).max().item() for item in shown]
    return judged(
        "after isolation a subset of predictions remains highly accurate, determined by the circle's k",
        min(best, default=0.0) >= HIGHLY,
        f"at its best {name} a circle alone answers {spread_of(best)} right",
        f"at least {HIGHLY:.0%} at some value of {name}, for every circle shown",
    )


def clock_isolated(sources: Sources) -> Product:
    b = specimen(sources, "model-b")
    shown = b.circles[:MOST_SHOWN]
    by_sum = [b.pattern(item).by_sum for item in shown]
    clocks = [item for item in shown if item.role == "Clock"]
    spread = [_relative_spread(b, item) for item in clocks]
    others = "; ".join(
        f"k = {item.circle.frequency} ({item.role}): {_relative_spread(b, item):.2f}" for item in shown if item.role != "Clock"
    )
    by_label = [_by_sum_and_answer(b, item) for item in shown]
    kept = b.keep_components(6).accuracy
    share = b.verdict.pizza_share
    roles = ", ".join(f"{item.circle.frequency} {item.role}" for item in b.circles)
    claims = (
        measured("model-b-circularity", b, b.circularity, f"{b.circularity:.2%}"),
        judged(
            "the logit pattern of each isolated circle depends on a + b",
            min(by_sum, default=0.0) >= HALF,
            f"a + b explains {spread_of(by_sum)} of the correct logits' variance",
            "at least half, for every circle shown",
        ),
        judged(
            "Model B's accuracy is invariant in a - b",
            max(spread, default=1.0) <= INVARIANT,
            f"standard deviation over a - b {spread_of(spread, '.2f')} of the mean" + (f" ({others})" if others else ""),
            f"the accuracy of each Clock alone has a standard deviation over a - b of at most {INVARIANT} of its mean; "
            "circles of other roles are shown, not judged",
        ),
        judged(
            "after isolation of a Clock's circle inputs with common sums a + b produce the same logits",
            min(by_label, default=0.0) >= APPROXIMATES,
            f"a + b and c explain {spread_of(by_label)} of all logits' variance",
            "at least 95%, for every circle shown",
        ),
        _highly_accurate(b, clocks, axis=0, name="a + b"),
        judged(
            "Model B is a Clock",
            b.verdict.label == "Clock" and share is not None and share < HALF,
            f"by circle: {roles}" + ("" if share is None else f"; Pizza's share of the logit variance {share:.1%}"),
            "the verdict of `algophase analyze`, and the Pizza has less than half of the circles' logit variance",
        ),
        measured("model-b-six-components", b, kept, f"{kept:.2%}"),
    )
    return Product(source_of(b), {"": draw_isolated(b, shown)}, claims=claims)


def _frequency_claim(name: str, of: Specimen, frequency: int) -> Claim:
    """k and p - k are the same circle, walked the other way."""
    printed = round(number(name).value)
    same = frequency in (printed, of.modulus - printed)
    other = f"{printed} = {of.modulus} - {frequency}: the same circle" if same and frequency != printed else ""
    return measured(name, of, printed if same else frequency, str(frequency), other)


def _turn(modulus: int, frequency: int) -> str:
    return f"2π/{modulus} · {frequency}"


def explained(sources: Sources) -> Product:
    a = specimen(sources, "model-a")
    pizzas = _pizzas(a)
    claims, rows = [], []
    for place, item in enumerate(pizzas, start=1):
        names = [f"isolation-{place}-{what}" for what in ("frequency", "clock", "pizza")]
        claims.append(_frequency_claim(names[0], a, item.circle.frequency))
        claims += [
            measured(name, a, value, f"{value:.2%}")
            for name, value in zip(names[1:], (item.fve_clock, item.fve_pizza), strict=True)
        ]
        ours = _turn(a.modulus, item.circle.frequency), f"{item.fve_clock:.2%}", f"{item.fve_pizza:.2%}"
        paper = _turn(59, round(number(names[0]).value)), number(names[1]).printed, number(names[2]).printed
        rows.append((f"#{place}", *ours, *paper))
    gains = [item.fve_pizza - item.fve_clock for item in pizzas]
    claims.append(
        judged(
            "Pizza explains substantially more variance than Clock",
            min(gains, default=0.0) >= 0.1,
            f"more by {spread_of([100 * gain for gain in gains], '.1f')} points",
            "at least 10 points more, for every circle of the table",
        )
    )
    others = [variance_explained(a.keep([item]).logits[..., : a.modulus], _absolute_dot(a, item)) for item in pizzas]
    claims.append(
        judged(
            "the absolute value of the dot product of E_ab with (cos w c/2, sin w c/2) is not what a Pizza takes",
            bool(others) and all(other < item.fve_pizza for other, item in zip(others, pizzas, strict=True)),
            f"it explains {spread_of(others)}",
            "less than the Pizza's formula, for every circle of the table (section 3.1: not commonly observed)",
        )
    )
    columns = ("Circle", "w_k", "Clock FVE", "Pizza FVE", "paper: w_k", "paper: Clock FVE", "paper: Pizza FVE")
    return Product(source_of(a), tables={"": Table(columns, tuple(rows))}, claims=tuple(claims))


def _absolute_dot(a: Specimen, item: CircleEvidence) -> Tensor:
    """|cos w(a - b)/2| |cos w(a + b - c)/2|, (p, p, p)."""
    p, k = a.modulus, item.circle.frequency
    n = torch.arange(p)
    angle = cos_turn(k * (n[:, None, None] + n[:, None] - n), 2 * p)
    return half_angle_cosine(p, k, item.circle.offset) * angle.abs()


def explained_side(sources: Sources) -> Product:
    a = specimen(sources, "model-a")
    pizzas = _pizzas(a)
    found = [(place, item, other) for place, item in enumerate(pizzas, start=1) if (other := a.companion(item))]
    claims, rows = [], []
    for place, item, other in found:
        frequency, name = f"isolationside-{place}-frequency", f"isolationside-{place}"
        claims.append(_frequency_claim(frequency, a, item.circle.frequency))
        claims.append(measured(name, a, other.fve_accompanying, f"{other.fve_accompanying:.2%}"))
        who = f"#{a.number_of(other)} (accompanying #{place})"
        paper = _turn(59, round(number(frequency).value)), number(name).printed
        rows.append((who, _turn(a.modulus, item.circle.frequency), f"{other.fve_accompanying:.2%}", *paper))
    p = a.modulus
    steps = [(pow(item.circle.frequency, -1, p), pow(other.circle.frequency, -1, p)) for _, item, other in found]
    claims += [
        judged(
            "pizzas #1, #2 and #3 all have accompanying pizzas",
            len(found) == len(pizzas) == 3,
            f"{len(found)} of {len(pizzas)}",
            f"a circle follows the accompanying form of each of the three largest pizzas ({len(a.of_role('Pizza'))} in all)",
        ),
        judged(
            "spacings of accompanied and accompanying pizza: δ1 = 2 δ2 (mod p)",
            bool(steps) and all((first - 2 * second) % p == 0 or (first + 2 * second) % p == 0 for first, second in steps),
            ", ".join(f"{first} and {second}" for first, second in steps) or "no circle",
            "up to the direction in which a circle is walked",
        ),
    ]
    columns = ("Circle", "w_k", "A_c FVE", "paper: w_k", "paper: A_c FVE")
    return Product(source_of(a), tables={"": Table(columns, tuple(rows))}, claims=tuple(claims))


def side_isolated(sources: Sources) -> Product:
    a = specimen(sources, "model-a")
    pizzas, side = a.of_role("Pizza"), [other for _, other in a.pairs]
    shown = side[:MOST_SHOWN] or list(a.circles[:MOST_SHOWN])
    profiles = [torch.stack([a.pattern(item).profile, a.pattern(other).profile]) for item, other in a.pairs]
    correlations = [torch.corrcoef(profile)[0, 1].item() for profile in profiles]
    main, alone, six = a.keep(pizzas).accuracy, a.keep(side).accuracy, a.keep([*pizzas, *side]).accuracy
    without = a.keep(side, drop=True).accuracy
    claims = (
        judged(
            "accompanying pizzas complement the logit pattern of their pizza",
            max(correlations, default=1.0) < 0,
            f"correlation over a - b {spread_of(correlations, '.2f')}",
            "mean correct logits by a - b of a pizza and of its accompanying one are negatively correlated, for every pair",
        ),
        measured("model-a-accompanied", a, main, f"{main:.2%}"),
        measured("model-a-accompanying", a, alone, f"{alone:.2%}"),
        measured("model-a-six-circles", a, six, f"{six:.2%}"),
        judged(
            "accompanying pizzas play no significant role in final predictions",
            bool(side) and without >= 0.9,
            f"accuracy {without:.2%} without them, {alone:.2%} with them alone",
            "at least 90% of all pairs are answered right without them",
        ),
    )
    return Product(source_of(a), {"": draw_isolated(a, shown)}, claims=claims)


_A, _B = ("network:model-a",), ("network:model-b",)
ITEMS: list[Item] = [
    Item("corlogitpizza", "figure", "section 3.3", "Correct logits of Model A after circle isolation", _A, pizza_isolated),
    Item("corlogitclock", "figure", "section 3.3", "Correct logits of Model B after circle isolation", _B, clock_isolated),
    Item("isolation", "table", "section 3.3", "Variance of Model A's logits explained by Clock and Pizza", _A, explained),
    Item("isolationside", "table", "appendix D", "Variance explained by the accompanying Pizza", _A, explained_side),
    Item("corlogitpizzaside", "figure", "appendix D", "Correct logits of the accompanying pizzas alone", _A, side_isolated),
]
