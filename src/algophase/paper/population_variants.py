"""Other architectures: linear models (appendix E), and transformers of slightly different setups (appendix I)."""

from collections.abc import Callable
from functools import partial

from algophase.analysis.verdict import Thresholds
from algophase.paper.population_claims import (
    MEASURES,
    MOST,
    PHASES,
    PIZZA_IRRELEVANCE,
    Population,
    above_zero,
    apart,
    bootstrap_difference,
    decided,
    points,
    population,
    share_claim,
    share_of,
    some_claim,
    statement,
    transition_claim,
    transition_table,
    transitions,
)
from algophase.paper.population_figures import linear_figure, rates_figure
from algophase.paper.population_released import beside, released_shift
from algophase.paper.product import Claim, Item, Product, Table
from algophase.paper.rules import Holds
from algophase.paper.sources import Sources
from algophase.runs.boundary import Estimate, difference
from algophase.runs.comparison import IRRELEVANCE, NAMES, SYMMETRICITY
from algophase.runs.matching import values
from algophase.runs.statistics import Floats, same_distribution
from algophase.settings import LINEAR_MODELS

GREEK = {"alpha": r"$\alpha$", "beta": r"$\beta$", "gamma": r"$\gamma$", "delta": r"$\delta$", "alpha-prime": r"$\alpha'$"}
WORD = {name: name.replace("-prime", "'") for name in LINEAR_MODELS}
VERY_HIGH = 0.8  # distance irrelevance
RADICAL = 0.5  # Kolmogorov-Smirnov distance: somewhere, the shares below a value differ by more than half
SIMILAR_BOUNDARY = 0.1  # attention rate
SIMILAR_MEDIAN = 0.1  # of a metric, within a fifth of the rates
FIFTHS = 5


def lineararchs(sources: Sources) -> Product:
    models = {name: population(sources.sweep(f"linear-{name}"), f"linear-{name}") for name in LINEAR_MODELS}
    claims = [*_radical(models), *_beta_gamma(models), *_delta(models), _alpha_prime(models)]
    rows = []
    for name, one in models.items():
        runs = one.accurate
        quartiles = [f"{runs[IRRELEVANCE].quantile(q):.3f}" for q in (0.25, 0.5, 0.75)] if len(runs) else ["-"] * 3
        circular = "not defined" if one.circular_share.total == 0 else str(one.circular_share_of_accurate)
        middle = "-" if runs["circularity"].isna().all() else f"{runs['circularity'].median():.4f}"
        irrelevance = f"{quartiles[1]} ({quartiles[0]} to {quartiles[2]})"
        symmetric = f"{runs[SYMMETRICITY].median():.3f}" if len(runs) else "-"
        rows.append((WORD[name], str(one.accuracy_share), irrelevance, middle, circular, symmetric))
    heads = ("model", "accurate", "irrelevance: median (quartiles)", "median circularity", "circular", "median symmetricity")
    source = (
        "; ".join(one.source for one in models.values()) + "; at 100% validation accuracy; distance irrelevance by definition"
    )
    source += "; circularity is not defined for alpha', which has two tables"
    figure = linear_figure({GREEK[name]: one for name, one in models.items()})
    return Product(source, {"": figure}, {"": Table(heads, tuple(rows))}, tuple(claims))


Models = dict[str, Population]


def _irrelevance(models: Models, name: str) -> Floats:
    return values(models[name].accurate, IRRELEVANCE)


def _distance(models: Models, first: str, second: str) -> tuple[float, float] | None:
    a, b = _irrelevance(models, first), _irrelevance(models, second)
    return same_distribution(a, b) if len(a) and len(b) else None


def _both(models: Models, *names: str) -> int:
    return sum(len(models[name].accurate) for name in names)


def _radical(models: Models) -> list[Claim]:
    pairs = (("alpha", "beta"), ("alpha", "delta"), ("beta", "delta"))
    found = [_distance(models, *pair) for pair in pairs]
    shown = ", ".join(
        f"{WORD[a]} to {WORD[b]} {'-' if one is None else f'{one[0]:.2f}'}" for (a, b), one in zip(pairs, found, strict=True)
    )
    holds = None if None in found else all(one is not None and one[0] > RADICAL for one in found)
    note = f"Kolmogorov-Smirnov distances of irrelevance; rule: each above {RADICAL:g}"
    sample = _both(models, "alpha", "beta", "delta")
    return [statement("Models alpha, beta and delta give radically different results", holds, shown, sample, note)]


def _closer(text: str, near: tuple[str, str], far: list[tuple[str, str]], models: Models) -> Claim:
    """Two models are alike: less than half as far apart as those they are set against."""
    close, others = _distance(models, *near), [_distance(models, *pair) for pair in far]
    names = sorted({name for pair in (near, *far) for name in pair}, key=LINEAR_MODELS.index)
    holds = None
    shown = "no runs"
    if close is not None and all(other is not None for other in others):
        holds = all(other is not None and close[0] < other[0] / 2 for other in others)
        against = ", ".join(
            f"{WORD[a]} to {WORD[b]} {one[0]:.2f}" for (a, b), one in zip(far, others, strict=True) if one is not None
        )
        shown = f"{WORD[near[0]]} to {WORD[near[1]]} {close[0]:.2f} (p = {close[1]:.2g}), {against}"
    note = "Kolmogorov-Smirnov distances of irrelevance; rule: the first is less than half of each other"
    return statement(text, holds, shown, _both(models, *names), note)


def _beta_gamma(models: Models) -> list[Claim]:
    claims = [
        _closer("Models beta and gamma are very similar", ("beta", "gamma"), [("alpha", "beta"), ("alpha", "gamma")], models)
    ]
    for name in ("beta", "gamma"):
        lower = bootstrap_difference(_irrelevance(models, "alpha"), _irrelevance(models, name))
        claims.append(
            _median_claim(f"Model {WORD[name]} has lower distance irrelevance than alpha", lower, "alpha less it", models, name)
        )
        circularity = [values(models[one].accurate, "circularity") for one in (name, "alpha")]
        higher = bootstrap_difference(circularity[0], circularity[1])
        claims.append(
            _median_claim(f"Model {WORD[name]} has higher circularity than alpha", higher, "it less alpha", models, name)
        )
    return claims


def _median_claim(text: str, found: Estimate | None, what: str, models: Models, name: str) -> Claim:
    shown = (
        "no runs"
        if found is None or found.interval is None
        else f"{found.value:+.4f} [{found.interval[0]:+.4f}, {found.interval[1]:+.4f}]"
    )
    note = f"difference of medians, {what}; rule: its bootstrap interval lies above 0"
    return statement(text, above_zero(found), shown, _both(models, "alpha", name), note)


def _delta(models: Models) -> list[Claim]:
    shares = [models[name].circular_share_of_accurate for name in ("alpha", "delta")]
    less = apart(shares[0], shares[1])
    note = f"circular, of the accurate: alpha {shares[0]}, delta {shares[1]}; rule: the interval of the difference lies above 0"
    text = "Model delta is more likely non-circular than alpha"
    claims = [statement(text, above_zero(less), points(less), _both(models, "alpha", "delta"), note)]
    runs = models["delta"].accurate
    high = share_of(runs, runs[IRRELEVANCE] > VERY_HIGH)
    what = f"irrelevance above {VERY_HIGH:g}"
    claims.append(share_claim("Model delta has very high distance irrelevance in general", high, MOST, what))
    return claims


def _alpha_prime(models: Models) -> Claim:
    text = "Model alpha' gives roughly the same result as alpha"
    return _closer(text, ("alpha", "alpha-prime"), [("alpha", "delta")], models)


def variant(sources: Sources, *, space: str, title: str, released: bool) -> Product:
    """A one-layer experiment with one thing changed, beside the main one; neither is filtered by circularity."""
    one = population(sources.sweep(space), space, ("attention_rate",))
    main = population(sources.sweep("fixed-width"), "fixed-width", ("attention_rate",))
    runs = one.accurate
    found, reference = transitions(runs), transitions(main.accurate)
    lines = Thresholds()
    claims = []
    for name, chosen, sign in (
        (
            "Pizzas",
            (runs[SYMMETRICITY] > 0.98) & (runs[IRRELEVANCE] < PIZZA_IRRELEVANCE),
            f"> 98%, irrelevance < {PIZZA_IRRELEVANCE:g}",
        ),
        (
            "Clocks",
            (runs[SYMMETRICITY] <= 0.98) & (runs[IRRELEVANCE] >= lines.clock_distance_irrelevance),
            f"<= 98%, irrelevance >= {lines.clock_distance_irrelevance:g}",
        ),
    ):
        share = share_of(runs, chosen)
        note = f"accurate runs with symmetricity {sign}"
        claims.append(some_claim(f"{name} are still observed", share, note))
    claims += [transition_claim("the phase change is still observed", found[measure], clear=False) for measure in MEASURES]
    for measure in MEASURES:
        sides = found[measure].boundary, reference[measure].boundary
        moved = difference(*sides) if all(side.within for side in sides) else None
        text = f"very similar results: where the phase ends, by {NAMES[measure]}"
        note = f"phase: {PHASES[measure]}; its boundary less the main experiment's"
        note += f"; rule: the interval lies within {SIMILAR_BOUNDARY:g} of 0"
        within = decided(moved, -SIMILAR_BOUNDARY, SIMILAR_BOUNDARY)
        holds: Holds = None if not len(runs) else False if moved is None else within
        claims.append(statement(text, holds, "no boundary" if moved is None else str(moved), len(runs), note))
        theirs = released_shift(sources, space, measure)
        if theirs is not None:
            text = f"the same in the authors' released table, by {theirs.what}"
            holds = decided(theirs.moved, -SIMILAR_BOUNDARY, SIMILAR_BOUNDARY)
            claims.append(statement(text, holds, str(theirs.moved or "no boundary"), theirs.runs, note))
    claims += [_similar_medians(one, main, measure) for measure in MEASURES]
    figures, tables, told = beside(sources, one.runs) if released else ({}, {}, "")
    figures = {"": rates_figure([(title, {"runs": runs}, found)]), **figures}
    tables = {"": transition_table({title: found, "main experiment": reference}), **tables}
    source = f"{one.source}, of which {len(runs):,} at 100% validation accuracy, circular or not; beside {main.source}"
    return Product(f"{source}; distance irrelevance by definition{told}", figures, tables, tuple(claims))


def _similar_medians(one: Population, main: Population, measure: str) -> Claim:
    """The curve of a metric by rate is like the main experiment's: medians in each fifth of the rates."""
    moved: list[tuple[float, Estimate]] = []
    for fifth in range(FIFTHS):
        sides = [side.accurate for side in (one, main)]
        parts = [values(side[side["_tenth"] // 2 == fifth], measure) for side in sides]
        found = bootstrap_difference(parts[0], parts[1])
        if found is not None:
            moved.append((fifth / FIFTHS, found))
    text = f"very similar results: {NAMES[measure]} by attention rate"
    note = f"largest difference of medians in a fifth of the rates; rule: all intervals lie within {SIMILAR_MEDIAN:g} of 0"
    if not moved:
        return statement(text, None, "no runs", 0, note)
    start, largest = max(moved, key=lambda item: abs(item[1].value))
    shown = f"{largest} at rates {start:.1f} to {start + 1 / FIFTHS:.1f}"
    within = [decided(found, -SIMILAR_MEDIAN, SIMILAR_MEDIAN) for _, found in moved]
    holds: Holds = False if False in within else True if all(each is True for each in within) else "undecided"
    return statement(text, holds, shown, len(one.accurate), note)


def _variant(label: str, title: str, space: str, *, released: bool) -> Item:
    make: Callable[[Sources], Product] = partial(variant, space=space, title=title, released=released)
    return Item(label, "figure", "appendix I", f"one layer, {title}", (f"sweep:{space}", "sweep:fixed-width"), make)


ITEMS = [
    Item(
        "lineararchs",
        "figure",
        "appendix E",
        "linear models",
        tuple(f"sweep:linear-{name}" for name in LINEAR_MODELS),
        lineararchs,
    ),
    _variant("gelu", "GELU in place of ReLU", "gelu", released=False),
    _variant("diff-vocab", "an embedding for each operand", "separate-vocabularies", released=True),
    _variant("eqn-sign", "the answer read at an equals sign", "equals-sign", released=True),
]
