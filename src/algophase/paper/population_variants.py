"""Other architectures: linear models (appendix E), and transformers of slightly different setups
(appendix I).
"""

from itertools import combinations

from algophase.analysis.catalogue import CIRCULARITY, IRRELEVANCE, SYMMETRICITY, label
from algophase.core.lines import exceeds, falls_short
from algophase.core.settings import LINEAR_MODELS
from algophase.paper.population_figures import linear_figure, rates_figure
from algophase.paper.population_released import beside, released_shift, shift
from algophase.paper.populations import (
    ASYMMETRIC,
    HIGH,
    LOW,
    MEASURES,
    PHASES,
    SYMMETRIC,
    bootstrap_difference,
    population,
    transition_claim,
    transition_table,
    transitions,
)
from algophase.paper.product import Claim, Product, Table
from algophase.paper.rules import (
    MOST,
    Holds,
    above_zero,
    all_of,
    apart,
    decided,
    points,
    share_claim,
    some_claim,
    statement,
)
from algophase.paper.sources import Sources
from algophase.runs.boundary import Estimate
from algophase.runs.runs import Runs
from algophase.runs.statistics import same_distribution

GREEK = {
    "alpha": r"$\alpha$",
    "beta": r"$\beta$",
    "gamma": r"$\gamma$",
    "delta": r"$\delta$",
    "alpha-prime": r"$\alpha'$",
}
WORD = {name: name.replace("-prime", "'") for name in LINEAR_MODELS}
VERY_HIGH = 0.8  # distance irrelevance
RADICAL = (
    0.5  # Kolmogorov-Smirnov distance: somewhere, the shares below a value differ by more than half
)
SIMILAR = 0.1  # attention rate of a boundary; median of a metric within a fifth of the rates
FIFTHS = 5
DISTANCES = "Kolmogorov-Smirnov distances of irrelevance"
Models = dict[str, Runs]  # accurate runs, by linear model
Pair = tuple[str, str]


# --- linear models
# ----------------------------------------------------------------------------------------------------


def lineararchs(sources: Sources) -> Product:
    found = {name: population(sources, f"linear-{name}") for name in LINEAR_MODELS}
    models = {name: one.accurate for name, one in found.items()}
    claims = [
        _radical(models),
        _closer(
            "Models beta and gamma are very similar",
            ("beta", "gamma"),
            [("alpha", "beta"), ("alpha", "gamma")],
            models,
        ),
        *(claim for name in ("beta", "gamma") for claim in _against_alpha(models, name)),
        *_delta(found),
        _closer(
            "Model alpha' gives roughly the same result as alpha",
            ("alpha", "alpha-prime"),
            [("alpha", "delta")],
            models,
        ),
    ]
    rows = []
    for name, runs in models.items():
        low, middle, high = (
            f"{runs[IRRELEVANCE].quantile(q):.3f}" if len(runs) else "-" for q in (0.25, 0.5, 0.75)
        )
        circular = (
            str(found[name].circular_share_of_accurate)
            if found[name].circular_share.total
            else "not defined"
        )
        medians = (runs[CIRCULARITY].median(), ".4f"), (runs[SYMMETRICITY].median(), ".3f")
        round_, symmetric = (
            "-" if value != value else format(value, form) for value, form in medians
        )
        irrelevance = f"{middle} ({low} to {high})"
        rows.append(
            (WORD[name], str(found[name].accuracy_share), irrelevance, round_, circular, symmetric)
        )
    heads = (
        "model",
        "accurate",
        "irrelevance: median (quartiles)",
        "median circularity",
        "circular",
        "median symmetricity",
    )
    source = "; ".join(one.source for one in found.values())
    source += "; at 100% validation accuracy; distance irrelevance by definition"
    source += (
        "; circularity is not defined for alpha', which has two tables; its picture takes "
        "the lower of the two"
    )
    figure = linear_figure({GREEK[name]: runs for name, runs in models.items()})
    return Product(source, {"": figure}, {"": Table(heads, tuple(rows))}, tuple(claims))


def _distance(models: Models, pair: Pair) -> tuple[float, float] | None:
    a, b = (models[name].values(IRRELEVANCE) for name in pair)
    return same_distribution(a, b) if len(a) and len(b) else None


def _between(pair: Pair, distance: tuple[float, float] | None) -> str:
    return f"{WORD[pair[0]]} to {WORD[pair[1]]} {'-' if distance is None else f'{distance[0]:.2f}'}"


def _sample(models: Models, *names: str) -> int:
    return sum(len(models[name]) for name in names)


def _radical(models: Models) -> Claim:
    names = ("alpha", "beta", "delta")
    found = {pair: _distance(models, pair) for pair in combinations(names, 2)}
    distances = [one[0] for one in found.values() if one is not None]
    holds = (
        all(exceeds(one, RADICAL) for one in distances) if len(distances) == len(found) else None
    )
    text, shown = (
        "Models alpha, beta and delta give radically different results",
        ", ".join(_between(*one) for one in found.items()),
    )
    return statement(
        text,
        holds,
        shown,
        f"{DISTANCES}; rule: each above {RADICAL:g}",
        sample=_sample(models, *names),
    )


def _closer(text: str, near: Pair, far: list[Pair], models: Models) -> Claim:
    """Two models are alike: less than half as far apart as those they are set against."""
    close, others = _distance(models, near), [_distance(models, pair) for pair in far]
    known = [other for other in others if other is not None]
    holds, shown = None, "no runs"
    if close is not None and len(known) == len(others):
        holds = all(falls_short(close[0], other[0] / 2) for other in known)
        against = ", ".join(map(_between, far, known))
        shown = f"{_between(near, close)} (p = {close[1]:.2g}), {against}"
    note = f"{DISTANCES}; rule: the first is less than half of each other"
    names = {name for pair in (near, *far) for name in pair}
    return statement(text, holds, shown, note, sample=_sample(models, *names))


def _against_alpha(models: Models, name: str) -> list[Claim]:
    claims = []
    for says, column, pair, what in (
        ("lower distance irrelevance", IRRELEVANCE, ("alpha", name), "alpha less it"),
        ("higher circularity", CIRCULARITY, (name, "alpha"), "it less alpha"),
    ):
        found = bootstrap_difference(*(models[one].values(column) for one in pair))
        interval = None if found is None else found.interval
        shown = (
            f"{found.value:+.4f} [{interval[0]:+.4f}, {interval[1]:+.4f}]"
            if found and interval
            else "no runs"
        )
        note = f"difference of medians, {what}; rule: its bootstrap interval lies above 0"
        text = f"Model {WORD[name]} has {says} than alpha"
        claims.append(
            statement(text, above_zero(found), shown, note, sample=_sample(models, *pair))
        )
    return claims


def _delta(found: Models) -> list[Claim]:
    shares = [found[name].circular_share_of_accurate for name in ("alpha", "delta")]
    less, runs = apart(*shares), found["delta"].accurate
    note = (
        f"circular, of the accurate: alpha {shares[0]}, delta {shares[1]}; rule: the "
        "interval of the difference lies above 0"
    )
    text, sample = (
        "Model delta is more likely non-circular than alpha",
        len(found["alpha"].accurate) + len(runs),
    )
    high = runs.share(exceeds(runs[IRRELEVANCE], VERY_HIGH))
    return [
        statement(text, above_zero(less), points(less), note, sample=sample),
        share_claim(
            "Model delta has very high distance irrelevance in general",
            high,
            MOST,
            f"irrelevance above {VERY_HIGH:g}",
        ),
    ]


# --- transformers of other setups
# -------------------------------------------------------------------------------------


def variant(sources: Sources, *, space: str, title: str, released: bool) -> Product:
    """A one-layer experiment with one thing changed, beside the main one; neither is filtered by
    circularity.
    """
    one, main = (population(sources, name, "attention_rate") for name in (space, "fixed-width"))
    runs = one.accurate
    found, reference = transitions(runs), transitions(main.accurate)
    claims = [
        some_claim(
            f"{name} are still observed",
            runs.share(sides[0].of(runs) & sides[1].of(runs)),
            f"accurate runs with {sides[0]}, {sides[1]}",
        )
        for name, sides in (("Pizzas", (SYMMETRIC, LOW)), ("Clocks", (ASYMMETRIC, HIGH)))
    ]
    claims += [
        transition_claim("the phase change is still observed", found[measure], clear=False)
        for measure in MEASURES
    ]
    for measure in MEASURES:
        moved = shift(found[measure].boundary, reference[measure].boundary)
        text = f"very similar results: where the phase ends, by {label(measure)}"
        note = f"phase: {PHASES[measure]}; its boundary less the main experiment's"
        note += f"; rule: the interval lies within {SIMILAR:g} of 0"
        holds: Holds = (
            None if not len(runs) else False if moved is None else decided(moved, -SIMILAR, SIMILAR)
        )
        claims.append(statement(text, holds, str(moved or "no boundary"), note, sample=len(runs)))
        theirs = released_shift(sources, space, measure)
        if theirs is not None:
            moved, what, count = theirs
            text, holds = (
                f"the same in the authors' released table, by {what}",
                decided(moved, -SIMILAR, SIMILAR),
            )
            claims.append(statement(text, holds, str(moved or "no boundary"), note, sample=count))
    claims += [_similar_medians(runs, main.accurate, measure) for measure in MEASURES]
    figures, tables, told = beside(sources, one.frame) if released else ({}, {}, "")
    figures = {"": rates_figure([(title, {"runs": runs}, found)]), **figures}
    tables = {"": transition_table({title: found, "main experiment": reference}), **tables}
    source = (
        f"{one.source}, of which {len(runs):,} at 100% validation accuracy, circular or "
        f"not; beside {main.source}"
    )
    return Product(
        f"{source}; distance irrelevance by definition{told}", figures, tables, tuple(claims)
    )


def _similar_medians(one: Runs, main: Runs, measure: str) -> Claim:
    """The curve of a metric by rate is like the main experiment's: medians in each fifth of the
    rates.
    """
    moved: list[tuple[float, Estimate]] = []
    for fifth in range(FIFTHS):
        found = bootstrap_difference(
            *(side.where(side["_tenth"] // 2 == fifth).values(measure) for side in (one, main))
        )
        if found is not None:
            moved.append((fifth / FIFTHS, found))
    text = f"very similar results: {label(measure)} by attention rate"
    note = (
        "largest difference of medians in a fifth of the rates; rule: all intervals lie "
        f"within {SIMILAR:g} of 0"
    )
    if not moved:
        return statement(text, None, "no runs", note, sample=0)
    start, largest = max(moved, key=lambda item: abs(item[1].value))
    shown = f"{largest} at rates {start:.1f} to {start + 1 / FIFTHS:.1f}"
    return statement(
        text,
        all_of([decided(found, -SIMILAR, SIMILAR) for _, found in moved]),
        shown,
        note,
        sample=len(one),
    )
