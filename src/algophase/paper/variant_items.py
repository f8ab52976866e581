"""Circle isolation in other networks: linear models (appendix E), a wide Pizza with attention (H), separate embeddings (I)."""

import math

import torch

from algophase.analysis.evidence import CircleEvidence
from algophase.paper.isolation_figures import MOST_SHOWN, draw_isolated, draw_plates
from algophase.paper.plates import Plates, load_plates, take
from algophase.paper.population_claims import share_claim, some_claim
from algophase.paper.product import OTHER_NETWORK, Claim, Item, Product
from algophase.paper.published import number
from algophase.paper.rules import APPROXIMATES, Holds, statement
from algophase.paper.sources import Missing, Sources
from algophase.paper.specimens import HALF, THRESHOLDS, Specimen, judged, source_of, specimen, spread_of
from algophase.runs.statistics import Share

ALIGNED = 0.9  # correlation of two operands' circles (ours)


def _circular(one: Specimen | Plates) -> Claim:
    limit = THRESHOLDS.circularity
    return judged(
        "the model is circular", one.circularity >= limit, f"{one.circularity:.4f}", f"circularity at least {limit:g}"
    )


def _pizza(one: Specimen | Plates, text: str) -> Claim:
    label = one.label if isinstance(one, Plates) else one.verdict.label
    return judged(
        text,
        label == "Pizza",
        label,
        f"the verdict of `algophase analyze` (distance irrelevance {one.distance_irrelevance:.3f}, "
        f"gradient symmetricity {one.gradient_symmetricity:.3f})",
    )


def linear_pizza(sources: Sources) -> Product:
    beta = specimen(sources, "model-beta")
    pizzas = beta.of_role("Pizza")
    forms = [[getattr(item, form) for item in pizzas] for form in ("fve_pizza", "fve_clock")]
    claims = (
        _circular(beta),
        _pizza(beta, "Model β implements the Pizza"),
        judged(
            "its isolated circles follow the Pizza's formula",
            min(forms[0], default=0.0) >= APPROXIMATES,
            f"Pizza explains {spread_of(forms[0])} of the logits' variance, Clock {spread_of(forms[1])}",
            "at least 95% of the variance of each circle that acts as a Pizza",
        ),
    )
    return Product(source_of(beta), {"": draw_isolated(beta, beta.circles[:MOST_SHOWN])}, claims=claims)


def linear_delta(sources: Sources) -> Product:
    delta, b = specimen(sources, "model-delta"), specimen(sources, "model-b")
    by_sum, of_clock = ([one.pattern(item).by_sum for item in one.circles[:MOST_SHOWN]] for one in (delta, b))
    claims = (
        _circular(delta),
        judged(
            "the pattern is similar to the Clock's (figure 5) ...",
            min(by_sum, default=0.0) >= HALF,
            f"a + b explains {spread_of(by_sum)} of the correct logits' variance",
            "at least half, for every circle shown, as in Model B",
        ),
        judged(
            "... but different from it",
            max(by_sum, default=1.0) < min(of_clock, default=0.0),
            f"{spread_of(by_sum)} in Model δ, {spread_of(of_clock)} in Model B",
            "a + b explains less in each circle shown than in any of Model B's",
        ),
    )
    return Product(source_of(delta, b), {"": draw_isolated(delta, delta.circles[:MOST_SHOWN])}, claims=claims)


def wide_pizza(sources: Sources) -> Product:
    """From the network where it is at hand; it is too large to ship, so else from plates that were taken of it."""
    kept = sources.plates("wide-pizza")
    if kept is None:
        specimen_found = specimen(sources, "wide-pizza")
        wide, source = take(specimen_found, specimen_found.circles[:MOST_SHOWN]), source_of(specimen_found)
    else:
        path, what = kept
        wide, source = load_plates(path), f"plates of our network {path.name.split('.')[0]} ({what})"
    numbers = (("irrelevance", wide.distance_irrelevance), ("symmetricity", wide.gradient_symmetricity))
    claims = (
        *(
            number(f"wide-pizza-{name}").claim(value, f"{value:.3f}", same_network=False, note=OTHER_NETWORK)
            for name, value in numbers
        ),
        _circular(wide),
        _pizza(wide, "a transformer of width 1024 with attention rate 1 can be a Pizza"),
        *_tries(sources),
    )
    return Product(source, {"": draw_plates(wide)}, claims=claims)


def _tries(sources: Sources) -> list[Claim]:
    """How many such networks it takes, where there is a sweep of them."""
    try:
        found = sources.sweep("wide")
    except Missing:
        return []
    pizzas = Share(int((found.runs["verdict"] == "Pizza").sum()), len(found.runs))
    note = f"{found.source}; circular Pizzas by `algophase analyze`"
    return [some_claim("after several tries there is a circular one", pizzas, note)]


def _rows_apart(first: float, second: float, modulus: int) -> float:
    """How far apart two rows are, round the circle."""
    return abs((first - second + modulus / 2) % modulus - modulus / 2)


def _expected_row(one: Specimen, item: CircleEvidence) -> float:
    """The row k(a - b) at which the two operands line up and the Pizza's factor |cos(w(a - b)/2 + offset/2)| is largest."""
    return -item.circle.offset / (2 * math.pi) * one.modulus % one.modulus


def _seen_row(one: Specimen, item: CircleEvidence) -> float:
    """Where the correct logits by a - b peak: the phase of their first harmonic in the order of the circle."""
    p = one.modulus
    rows = item.circle.frequency * torch.arange(p) % p
    angle = (one.pattern(item).profile * torch.exp(2j * torch.pi * rows / p)).sum().angle().item()
    return angle / (2 * math.pi) * p % p


def _aligned(one: Specimen, sources: Sources) -> list[Claim]:
    """That the operands' circles go round alike: in this network, and, where the sweep's table says it, in all."""
    text = "the two tokens' embeddings are often aligned"
    rule = f"circles of correlation after the best turn of at least {ALIGNED} hold more than half of all circles' variance"
    claims = []
    if len(one.components.coordinates) > 1:
        circles = [item.circle for item in one.circles]
        aligned = [circle.alignment >= ALIGNED for circle in circles]
        share = sum(c.variance_share for c, is_ in zip(circles, aligned, strict=True) if is_)
        of = sum(circle.variance_share for circle in circles)
        values = ", ".join(f"{circle.alignment:.3f}" for circle in circles)
        ours = f"{sum(aligned)} of {len(circles)} circles, with {share / of if of else 0:.0%} of their variance: {values}"
        holds: Holds = "undecided" if of and share > HALF * of else False
        note = f"rule: {rule}; one network cannot say what is often so"
        claims.append(statement(f"{text}: this network", ours, holds, note))
    try:
        runs = sources.sweep("separate-vocabularies").runs
    except Missing:
        return claims
    if "circles.alignment" not in runs:
        return claims
    known = runs[runs["circles.alignment"].notna()]
    held = [
        sum(share for share, value in zip(*each, strict=True) if value >= ALIGNED) > HALF * sum(each[0])
        for each in zip(known["circles.variance_share"], known["circles.alignment"], strict=True)
    ]
    return [*claims, share_claim(text, Share(sum(held), len(known)), HALF, f"runs of separate-vocabularies in which {rule}")]


def separate_pizza(sources: Sources) -> Product:
    one = specimen(sources, "separate-pizza")
    pizzas = one.of_role("Pizza")[:MOST_SHOWN]
    shown = pizzas or list(one.circles[:MOST_SHOWN])
    apart = [_rows_apart(_expected_row(one, item), _seen_row(one, item), one.modulus) for item in pizzas]
    expected = [_expected_row(one, item) for item in shown]
    lined_up, step, p = 6 - 3, 18, 59
    claims = (
        _pizza(one, "the model implements the Pizza"),
        *_aligned(one, sources),
        judged(
            "the correct logit pattern is shifted because the two embeddings do not line up",
            bool(apart) and max(apart) <= 1,
            f"at most {max(apart, default=math.nan):.2f} rows apart; shifts {', '.join(f'{row:.1f}' for row in expected)}",
            "the row of the largest correct logits is within one of the row that the angle between the circles gives",
        ),
        number("separate-pizza-row").claim(
            lined_up * pow(step, -1, p) % p,
            str(lined_up * pow(step, -1, p) % p),
            note="arithmetic only: the network was not released",
        ),
    )
    notes = [f"pattern shifted to row {row:.1f}" for row in expected]
    return Product(source_of(one), {"": draw_isolated(one, shown, notes)}, claims=claims)


ITEMS: list[Item] = [
    Item(
        "corlogitbeta",
        "figure",
        "appendix E",
        "Correct logits of Model β after circle isolation",
        ("network:model-beta",),
        linear_pizza,
    ),
    Item(
        "corlogitdelta",
        "figure",
        "appendix E",
        "Correct logits of Model δ after circle isolation",
        ("network:model-delta", "network:model-b"),
        linear_delta,
    ),
    Item(
        "widepizza",
        "figure",
        "appendix H",
        "Correct logits of a wide Pizza with attention after circle isolation",
        ("network:wide-pizza",),
        wide_pizza,
    ),
    Item(
        "iso-diffemb",
        "figure",
        "appendix I",
        "Circle isolation where the two tokens have embeddings of their own",
        ("network:separate-pizza",),
        separate_pizza,
    ),
]
