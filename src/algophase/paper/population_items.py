"""The phase space of the main experiments (section 4), unfiltered and deeper (appendix C)."""

from typing import TYPE_CHECKING

import numpy

from algophase.analysis.catalogue import CIRCULARITY, IRRELEVANCE, SYMMETRICITY, WRONG_LOGIT
from algophase.core.lines import exceeds, falls_short, reaches
from algophase.paper.measure import (
    OTHERS,
    SUBSETS,
    Measurement,
    find_population,
    measure,
    measured,
    quantity,
)
from algophase.paper.population_figures import (
    by_verdict,
    metrics_figure,
    plane_figure,
    rates_figure,
    unfiltered_figure,
)
from algophase.paper.population_released import beside, released_population
from algophase.paper.populations import (
    ASYMMETRIC,
    BY_DEFINITION,
    HIGH,
    INSIDE,
    LOW,
    MEASURES,
    PHASES,
    SYMMETRIC,
    Phases,
    bend,
    by_circularity,
    is_circular,
    joined,
    phases,
    pizzas,
    population,
    populations,
    transition_table,
)
from algophase.paper.product import Product, Table, entry
from algophase.paper.rules import THRESHOLDS, apart, points
from algophase.paper.sources import Missing, Sources
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    import pandas

DEEP = {"layers-2": "2 layers", "layers-3": "3 layers", "layers-4": "4 layers"}
MAIN = {"fixed-width": "width 128", "varying-width": "varying widths", **DEEP}
SIDES = {"Pizza": (SYMMETRIC, INSIDE), "Clock": (ASYMMETRIC, HIGH)}
Spaces = dict[str, Runs]  # by the name of the sweep


def _main_experiments(sources: Sources) -> Spaces:
    return populations(sources, *MAIN)


def _released(sources: Sources, space: str) -> Runs:
    runs = released_population(sources, space)
    if runs is None:
        raise Missing("the authors' own table is taken with --released DIR")
    return runs


OTHERS["main experiments"] = _main_experiments
SUBSETS["released"] = _released


def _name_of(space: str, runs: Runs) -> str:
    """What a population is called in tables and pictures."""
    if space == "varying-width":
        return f"widths {runs['width'].min():.0f} to {runs['width'].max():.0f}"
    return MAIN[space]


def _not_there(spaces: dict[str, str], by_space: Spaces) -> str:
    lacking = [space for space in spaces if space not in by_space]
    return f"; not there yet: {', '.join(lacking)}" if lacking else ""


# --- section 4.1: one metric against the other


def _symmetric_at_low(runs: Runs, metric: str = IRRELEVANCE) -> Share:
    low = runs.where(falls_short(runs[metric], LOW.limit))
    return low.share(SYMMETRIC.of(low))


def metricvs(sources: Sources) -> Product:
    population(sources, "fixed-width", "attention_rate", "pizza_share")
    by_space = find_population(sources, "main experiments")
    named = {_name_of(space, runs): runs for space, runs in by_space.items()}
    rows = []
    for name, runs in named.items():
        shares = runs.accuracy_share, runs.circular_share_of_accurate
        at_low = _symmetric_at_low(runs.accurate)
        rows.append((name, f"{len(runs):,}", *map(str, shares), str(at_low)))
    columns = (
        "runs",
        "finished",
        "accurate",
        "circular, of accurate",
        "symmetric at low irrelevance",
    )
    figures = {"": metrics_figure({name: runs.accurate for name, runs in named.items()})}
    tables = {"": Table(columns, tuple(rows))}
    source = "; ".join(runs.source for runs in named.values())
    source += f"; {BY_DEFINITION}{_not_there(MAIN, by_space)}"
    released = {}
    for space in ("fixed-width", *DEEP):
        runs_of_authors = released_population(sources, space)
        if runs_of_authors is not None:
            released[f"released, {MAIN[space]}"] = runs_of_authors
    if released:
        accurate = {name: runs.accurate for name, runs in released.items()}
        figures["released"] = metrics_figure(accurate, WRONG_LOGIT)
        tables["released"] = _wrong_logit_table(named, released)
        source += (
            "; released runs: distance irrelevance of the largest wrong logit, which is "
            "what their table has"
        )
    return Product(source, figures, tables)


def _wrong_logit_table(ours: Spaces, released: Spaces) -> Table:
    """By the metric that the released table has; ours where we have it too."""
    rows = []
    for name, runs in {**ours, **released}.items():
        if WRONG_LOGIT in runs:
            parts = (runs.accurate, runs.circular)
            shares = [str(_symmetric_at_low(part, WRONG_LOGIT)) for part in parts]
            rows.append((name, *shares))
    columns = (
        "runs",
        "symmetric at low irrelevance (wrong logit), accurate",
        "the same, circular",
    )
    return Table(columns, tuple(rows))


@quantity
def symmetric_at_low_irrelevance(spaces: Spaces, part: str) -> Share:
    """Of the accurate or circular runs of low irrelevance, those that are symmetric."""
    count = 0
    total = 0
    for runs in spaces.values():
        share = _symmetric_at_low(runs.accurate if part == "accurate" else runs.circular)
        count += share.count
        total += share.total
    return Share(count, total)


def _of_algorithm(spaces: Spaces, algorithm: str) -> Runs:
    """Circular Pizzas or Clocks, told apart by their circles alone: a verdict would use
    irrelevance.
    """
    runs = joined([runs.circular for runs in spaces.values() if "pizza_share" in runs])
    share = runs["pizza_share"]
    lesser = THRESHOLDS.hybrid_share
    if algorithm == "Pizza":
        return runs.where(exceeds(share, 1 - lesser))
    return runs.where(falls_short(share, lesser))


@quantity
def typical_irrelevance(spaces: Spaces, algorithm: str, limit: float) -> Measurement:
    """Pizzas with an irrelevance below the limit, or Clocks with one from it on."""
    runs = _of_algorithm(spaces, algorithm)
    values = runs[IRRELEVANCE]
    within = falls_short(values, limit) if algorithm == "Pizza" else reaches(values, limit)
    spread = "no runs"
    if len(runs):
        low = values.quantile(0.05)
        high = values.quantile(0.95)
        spread = f"5% to 95% of them: {low:.2f} to {high:.2f}"
    return measured(runs.share(within), spread=spread)


@quantity
def asymmetric_clocks(spaces: Spaces) -> Measurement:
    clocks = _of_algorithm(spaces, "Clock")
    highest = f"the highest is {clocks[SYMMETRICITY].max():.3f}" if len(clocks) else "no runs"
    return measured(clocks.share(ASYMMETRIC.of(clocks)), highest=highest)


@quantity
def share_accurate(runs: Runs, space: str) -> Measurement:
    return measured(runs.accuracy_share, runs=_name_of(space, runs))


# --- section 4.2: along the attention rate


def onelayer(sources: Sources) -> Product:
    every = population(sources, "fixed-width", "attention_rate", "paper_label")
    circular = phases(sources, "fixed-width circular")
    runs = circular.runs
    transitions = circular.transitions
    figures, tables, beside_it = beside(sources, every)
    figures = {"": rates_figure([("", by_verdict(runs), transitions)]), **figures}
    tables = {"": transition_table({"circular": transitions}), **tables}
    source = (
        f"{every.source}, of which {len(runs):,} circular at 100% validation accuracy; "
        f"{BY_DEFINITION}{beside_it}"
    )
    return Product(source, figures, tables)


@quantity
def asymmetric_or_low(runs: Runs) -> Measurement:
    """Runs that are a Clock by one metric or a Pizza by the other."""
    asymmetric = ASYMMETRIC.of(runs)
    at_other_line = runs.share(asymmetric | INSIDE.of(runs))
    return measured(runs.share(asymmetric | LOW.of(runs)), at_other_line=at_other_line)


def _beyond_both(population: Phases, algorithm: str) -> tuple[Runs, float] | None:
    """The runs below both transition points for the Pizza, above both for the Clock, and that
    rate; None where there are not two.
    """
    runs = population.runs
    rates = population.rates
    if len(rates) < len(MEASURES):
        return None
    if algorithm == "Pizza":
        return runs.where(runs["_rate"] < min(rates)), min(rates)
    return runs.where(runs["_rate"] > max(rates)), max(rates)


@quantity
def dominance_by_metrics(population: Phases, algorithm: str) -> Measurement | None:
    """On its side of both transition points, the runs with the metrics of an algorithm."""
    beyond = _beyond_both(population, algorithm)
    if beyond is None:
        return None
    runs, rate = beyond
    first, second = SIDES[algorithm]
    return measured(runs.share(first.of(runs) & second.of(runs)), rate=rate)


@quantity
def dominance_by_label(population: Phases, algorithm: str) -> Measurement | None:
    """On its side of both transition points, the runs labeled as an algorithm."""
    beyond = _beyond_both(population, algorithm)
    if beyond is None:
        return None
    runs, rate = beyond
    hybrid = runs.share(runs["paper_label"] == "hybrid")
    return measured(runs.share(runs["paper_label"] == algorithm), rate=rate, hybrid=hybrid)


@quantity
def circles_of_both_roles(runs: Runs) -> Share | None:
    if "circles.role" not in runs:
        return None
    both = runs["circles.role"].map(lambda roles: {"Clock", "Pizza"} <= set(roles))
    return runs.share(both.astype(bool))


# --- section 4.2: over rate and width


def variouswidth(sources: Sources) -> Product:
    every = population(sources, "varying-width", "attention_rate", "width")
    runs = find_population(sources, "varying-width circular")
    lines = {}
    rows = []
    for metric in MEASURES:
        slope = measure(sources, "varying-width circular", "slope_over_width", metric=metric)
        assert slope is not None
        line = lines[metric] = slope.words["boundary"]
        at = "-"
        if line.rate is not None and line.width is not None:
            at = f"{line.rate} at width {line.width:.0f}"
        change = "-" if line.slope is None else str(line.slope)
        rows.append((PHASES[metric], at, change, f"{line.inside:,} of {line.runs:,}"))
    columns = ("phase", "boundary (attention rate)", "change per doubling of the width", "inside")
    source = (
        f"{every.source}, of which {len(runs):,} circular at 100% validation accuracy; "
        f"{BY_DEFINITION}"
    )
    figures = {"": plane_figure(runs, lines)}
    return Product(source, figures, {"": Table(columns, tuple(rows))})


@quantity
def slope_over_width(runs: Runs, metric: str) -> Measurement:
    """How the rate at which a phase ends changes with each doubling of the width."""
    boundary = runs.boundary(metric, by_width=True)
    slope = boundary.slope
    in_words = f"{slope} per doubling of the width"
    if slope is None:
        in_words = boundary.reason or "no boundary"
    return measured(slope, sample=boundary.runs, slope=in_words, boundary=boundary)


@quantity
def bend_over_width(runs: Runs, metric: str, scale: str) -> Measurement:
    """How far, in attention rate, the boundary is from a straight line over "width" or "log2
    width".
    """
    curved = bend(runs, metric, numpy.log2 if scale == "log2 width" else numpy.asarray)
    if curved is None:
        usable = runs["_rate"].notna() & runs[metric].notna()
        return measured(None, sample=int(usable.sum()), distance="no boundary", test="")
    return measured(
        curved.largest,
        sample=curved.runs,
        distance=f"at most {curved.largest} off the line",
        test=f" (likelihood-ratio test for the term: p = {curved.p:.2g})",
    )


# --- appendix C


@quantity
def share_circular(spaces: Spaces, space: str) -> Measurement:
    """Circular runs of all trained ones; no runs where there is no such sweep."""
    if space not in spaces:
        return measured(Share(0, 0), space=space, of_accurate="")
    runs = spaces[space]
    of_accurate = f"; of the accurate {runs.circular_share_of_accurate}"
    if not runs.circular_share.total:
        of_accurate = ""
    return measured(runs.circular_share, space=space, of_accurate=of_accurate)


@quantity
def share_circular_as_number(runs: Runs) -> Measurement:
    """The authors' own share. It comes to its printed digits, so that the denominator is the
    right one.
    """
    share = runs.circular_share
    return measured(share.value, sample=share.total, circular=share.count)


def noncirc2(sources: Sources) -> Product:
    every = population(sources, "fixed-width", "attention_rate")
    wide = populations(sources, "varying-width").get("varying-width")
    accurate = phases(sources, "fixed-width accurate")
    runs = accurate.runs
    transitions = accurate.transitions
    kinds = by_circularity(runs)
    if wide is None:
        figure = rates_figure([("width 128", kinds, transitions)])
        beside_it = "varying-width is not there yet"
    else:
        name = _name_of("varying-width", wide)
        figure = unfiltered_figure(kinds, transitions, name, wide.accurate)
        beside_it = f"{wide.source}, of which {len(wide.accurate):,} accurate"
    circular = phases(sources, "fixed-width circular").transitions
    tables = {"": transition_table({"all accurate": transitions, "circular": circular})}
    source = (
        f"{every.source}, of which {len(runs):,} at 100% validation accuracy; "
        f"{BY_DEFINITION}; {beside_it}"
    )
    return Product(source, {"": figure}, tables)


@quantity
def noise_of_non_circular(population: Phases, metric: str) -> Measurement:
    """More noise without the filter: runs that are not circular lie on the wrong side of the
    boundary more often.
    """
    runs = population.runs
    rate = population.transitions[metric].rate
    if rate is None:
        return measured(
            None, sample=len(runs), points="no boundary", wrong_sides="there is no boundary"
        )
    wrong = runs.inside_phase(metric) != (runs["_rate"] < rate)
    circular = is_circular(runs)
    of_circular = runs.where(circular).share(wrong[circular])
    of_others = runs.where(~circular).share(wrong[~circular])
    difference = apart(of_others, of_circular)
    wrong_sides = (
        f"runs on the wrong side of the boundary at {rate:.3f}: not circular {of_others}, "
        f"circular {of_circular}; rule: the interval of the difference lies above 0"
    )
    return measured(
        difference, sample=len(runs), points=points(difference), wrong_sides=wrong_sides
    )


def _not_circular(runs: Runs) -> "pandas.Series[bool]":
    outside: pandas.Series[bool] = falls_short(runs[CIRCULARITY], THRESHOLDS.circularity)
    return outside


@quantity
def non_circular_at_low_rates(runs: Runs, low: float, high: float) -> Measurement:
    """Of the runs below one rate, those that are not circular; beside those above another."""
    low_runs = runs.where(falls_short(runs["_rate"], low))
    high_runs = runs.where(exceeds(runs["_rate"], high))
    at_low = low_runs.share(_not_circular(low_runs))
    at_high = high_runs.share(_not_circular(high_runs))
    return measured(at_low, at_high=at_high, points=points(apart(at_low, at_high)))


@quantity
def non_circular_pizzas_at_low_rates(runs: Runs, low: float) -> Share:
    """Of the non-circular runs below a rate, those with the metrics of a Pizza."""
    low_runs = runs.where(falls_short(runs["_rate"], low))
    return pizzas(low_runs.where(_not_circular(low_runs)))


@quantity
def share_of_pizzas(runs: Runs) -> Share:
    """Runs with the metrics of a Pizza."""
    return pizzas(runs)


def _one_layer(spaces: Spaces) -> tuple[Share, str]:
    """The share circular of one layer, and whose it is."""
    if "fixed-width" in spaces:
        return spaces["fixed-width"].circular_share, "ours"
    return entry("share-circular-1-layer").share, "published"


@quantity
def less_circular_than_one_layer(spaces: Spaces, space: str) -> Measurement | None:
    """The share circular of one layer less that of a deeper network."""
    if space not in spaces:
        return None
    shallow, whose = _one_layer(spaces)
    share = spaces[space].circular_share
    difference = apart(shallow, share)
    return measured(
        difference,
        sample=share.total,
        share=share,
        points=points(difference),
        whose=whose,
        shallow=shallow,
    )


def multilayers(sources: Sources) -> Product:
    by_space = find_population(sources, "main experiments")
    deep = {space: by_space[space] for space in DEEP if space in by_space}
    if not deep:
        population(sources, next(iter(DEEP)))  # which says how to make one
    rows = []
    for space in ("fixed-width", *DEEP):
        if space in by_space:
            runs = by_space[space]
            shares = runs.accuracy_share, runs.circular_share, runs.circular_share_of_accurate
            rows.append((MAIN[space], f"{len(runs):,}", *map(str, shares)))
    columns = ("runs", "finished", "accurate", "circular, of all", "circular, of the accurate")
    panels = []
    for space in deep:
        accurate = phases(sources, f"{space} accurate")
        panels.append((DEEP[space], by_circularity(accurate.runs), accurate.transitions))
    figures, tables, beside_it = beside(sources, joined(list(deep.values())))
    source = "; ".join(runs.source for runs in deep.values())
    source += f"; at 100% validation accuracy; {BY_DEFINITION}{beside_it}{_not_there(DEEP, deep)}"
    tables = {
        "": Table(columns, tuple(rows)),
        "transitions": transition_table({title: ends for title, _, ends in panels}),
        **tables,
    }
    return Product(source, {"": rates_figure(panels, 2.0), **figures}, tables)
