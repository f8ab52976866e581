"""The phase space of the main experiments (section 4): metrics by attention rate and width."""

from typing import TYPE_CHECKING

import numpy

from algophase.analysis.verdict import Thresholds
from algophase.paper.population_claims import (
    MEASURES,
    MOST,
    NEARLY_ALL,
    PHASES,
    PIZZA_IRRELEVANCE,
    Population,
    above_zero,
    bend,
    decided,
    population,
    share_claim,
    share_of,
    some_claim,
    statement,
    transition_claim,
    transition_table,
    transitions,
)
from algophase.paper.population_figures import (
    by_verdict,
    metrics_figure,
    plane_figure,
    rates_figure,
)
from algophase.paper.population_released import beside, released_population
from algophase.paper.product import Claim, Item, Product, Table
from algophase.paper.published import number
from algophase.paper.sources import Missing, Sources
from algophase.runs.boundary import Boundary
from algophase.runs.comparison import IRRELEVANCE, NAMES, SYMMETRICITY, WRONG_LOGIT, inside_phase, metric_boundary
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    import pandas

DEEP = ("layers-2", "layers-3", "layers-4")
MAIN = {
    "fixed-width": "width 128",
    "varying-width": "varying widths",
    "layers-2": "2 layers",
    "layers-3": "3 layers",
    "layers-4": "4 layers",
}
BY_DEFINITION = "distance irrelevance is the paper's definition, on the correct logit"
STRAIGHT = 0.1  # attention rate


def name_of(one: Population) -> str:
    """What a population is called in tables and pictures."""
    if one.space != "varying-width":
        return MAIN[one.space]
    return f"widths {one.runs['width'].min():.0f} to {one.runs['width'].max():.0f}"


def optional(sources: Sources, space: str) -> Population | None:
    try:
        return population(sources.sweep(space), space, ("attention_rate",))
    except Missing:
        return None


def _symmetric_at_low(runs: "pandas.DataFrame", measure: str = IRRELEVANCE) -> Share:
    low = runs[runs[measure] < PIZZA_IRRELEVANCE]
    return share_of(low, inside_phase(low, SYMMETRICITY))


def metricvs(sources: Sources) -> Product:
    first = population(sources.sweep("fixed-width"), "fixed-width", ("attention_rate", "pizza_share"))
    others = [one for space in list(MAIN)[1:] if (one := optional(sources, space)) is not None]
    everything = [first, *others]
    lacking = [space for space in MAIN if space not in {one.space for one in everything}]
    claims = []
    for name, some in (("accurate", [one.accurate for one in everything]), ("circular", [one.circular for one in everything])):
        shares = [_symmetric_at_low(runs) for runs in some]
        share = Share(sum(one.count for one in shares), sum(one.total for one in shares))
        what = f"runs with symmetricity > 98% among {name} runs with irrelevance < {PIZZA_IRRELEVANCE:g}"
        text = f"at low distance irrelevance the gradient symmetricity is almost always close to 1 ({name} runs)"
        claims.append(share_claim(text, share, NEARLY_ALL, what))
    claims += _typical(everything)
    for one in everything:
        text = f"majority of the runs reached 100% validation accuracy, {name_of(one)}"
        claims.append(share_claim(text, one.accuracy_share, MOST, "appendix F.1; accurate of all finished runs"))
    rows = [_metric_row(name_of(one), one) for one in everything]
    figures = {"": metrics_figure([(name_of(one), one.accurate) for one in everything])}
    tables = {"": Table(("runs", "finished", "accurate", "circular, of accurate", "symmetric at low irrelevance"), tuple(rows))}
    source = "; ".join(one.source for one in everything) + f"; {BY_DEFINITION}"
    if lacking:
        source += f"; not there yet: {', '.join(lacking)}"
    theirs = [(space, released_population(sources, space)) for space in ("fixed-width", *DEEP)]
    released = [(f"released, {MAIN[space]}", one) for space, one in theirs if one is not None]
    if released:
        figures["released"] = metrics_figure([(name, one.accurate) for name, one in released], WRONG_LOGIT)
        pairs = [(name_of(one), one) for one in everything if WRONG_LOGIT in one.runs] + released
        tables["released"] = Table(
            ("runs", "symmetric at low irrelevance (wrong logit), accurate", "the same, circular"),
            tuple(
                (name, str(_symmetric_at_low(one.accurate, WRONG_LOGIT)), str(_symmetric_at_low(one.circular, WRONG_LOGIT)))
                for name, one in pairs
            ),
        )
        source += "; released runs: distance irrelevance of the largest wrong logit, which is what their table has"
    return Product(source, figures, tables, tuple(claims))


def _metric_row(name: str, one: Population) -> tuple[str, ...]:
    shares = (one.accuracy_share, one.circular_share_of_accurate, _symmetric_at_low(one.accurate))
    return (name, f"{len(one.runs):,}", *map(str, shares))


def _typical(everything: list[Population]) -> list[Claim]:
    """Where the irrelevance of Pizzas and Clocks lies, told apart by their circles alone: a verdict would use irrelevance."""
    import pandas

    known = pandas.concat([one.circular for one in everything if "pizza_share" in one.runs])
    lesser = Thresholds().hybrid_share
    claims = []
    for name, some, below in (
        ("Pizza", known[known["pizza_share"] > 1 - lesser], True),
        ("Clock", known[known["pizza_share"] < lesser], False),
    ):
        values = some[IRRELEVANCE]
        limit = number("typical-irrelevance-limit").value
        share = share_of(some, (values < limit) if below else (values >= limit))
        printed = f"0 to {limit:g}" if below else f"{limit:g} to 1"
        spread = f"5% to 95% of them: {values.quantile(0.05):.2f} to {values.quantile(0.95):.2f}" if len(some) else "no runs"
        sign = f"more than {1 - lesser:.0%}" if below else f"less than {lesser:.0%}"
        what = f"share within; {spread}; a {name} here has {sign} of its circles' logit variance in the Pizza's form"
        claims.append(share_claim(f"typical distance irrelevance of a {name}", share, MOST, what, printed))
    clocks = known[known["pizza_share"] < lesser]
    ruled = share_of(clocks, ~inside_phase(clocks, SYMMETRICITY))
    highest = f"the highest is {clocks[SYMMETRICITY].max():.3f}" if len(clocks) else "no runs"
    what = f"Clocks, as above, with symmetricity <= 98%; {highest}"
    return [*claims, share_claim("gradient symmetricity can be used to rule out the Clock", ruled, NEARLY_ALL, what)]


def onelayer(sources: Sources) -> Product:
    one = population(sources.sweep("fixed-width"), "fixed-width", ("attention_rate", "verdict"))
    runs = one.circular
    found = transitions(runs)
    strict = share_of(runs, (runs[SYMMETRICITY] <= 0.98) | (runs[IRRELEVANCE] < PIZZA_IRRELEVANCE))
    loose = share_of(runs, (runs[SYMMETRICITY] <= 0.98) | inside_phase(runs, IRRELEVANCE))
    what = f"symmetricity <= 98% or irrelevance < {PIZZA_IRRELEVANCE:g} (with the line at 0.6: {loose})"
    text = "most circular models have low gradient symmetricity (Clock) or low distance irrelevance (Pizza)"
    claims = [share_claim(text, strict, MOST, what)]
    claims += [
        transition_claim("a clear transition from Pizza to Clock with the attention rate", found[m], clear=True)
        for m in MEASURES
    ]
    claims += _dominance(runs, [rate for m in MEASURES if (rate := found[m].rate) is not None])
    claims += _between(runs)
    figures, tables, told = beside(sources, one.runs)
    figures = {"": rates_figure([("", by_verdict(runs), found)]), **figures}
    tables = {"": transition_table({"circular": found}), **tables}
    source = f"{one.source}, of which {len(runs):,} circular at 100% validation accuracy; {BY_DEFINITION}{told}"
    return Product(source, figures, tables, tuple(claims))


def _between(runs: "pandas.DataFrame") -> list[Claim]:
    """Networks between the two algorithms, and the way the paper thinks they can be."""
    hybrids = share_of(runs, runs["verdict"] == "hybrid")
    what = "circular runs with verdict hybrid: the lesser algorithm has a fifth of the circles' logit variance or more"
    claims = [some_claim("networks lie between Clock and Pizza", hybrids, what)]
    if "circles.role" in runs:
        both = share_of(runs, runs["circles.role"].map(lambda roles: {"Clock", "Pizza"} <= set(roles)).astype(bool))
        text = "some principal components act as the Clock and some as the Pizza"
        claims.append(some_claim(text, both, "circular runs with a circle of either role, hybrid or not"))
    return claims


def _dominance(runs: "pandas.DataFrame", rates: list[float]) -> list[Claim]:
    """Which algorithm dominates below both transition points and above both: by the two metrics, and by our verdicts."""
    if len(rates) < len(MEASURES):
        return []
    claims = []
    both = [inside_phase(runs, measure) for measure in MEASURES]
    for name, there, by_metrics in (
        ("Pizza", runs["_rate"] < min(rates), both[0] & both[1]),
        ("Clock", runs["_rate"] > max(rates), ~both[0] & ~both[1]),
    ):
        where = f"below {min(rates):.2f}" if name == "Pizza" else f"above {max(rates):.2f}"
        sign = "> 98% and irrelevance < 0.6" if name == "Pizza" else "<= 98% and irrelevance >= 0.6"
        text = f"the {name} dominates {'below' if name == 'Pizza' else 'above'} the phase change point"
        share = share_of(runs[there], by_metrics[there])
        claims.append(share_claim(f"{text}, by the metrics", share, MOST, f"symmetricity {sign}, at rates {where}"))
        share = share_of(runs[there], runs["verdict"][there] == name)
        hybrid = share_of(runs[there], runs["verdict"][there] == "hybrid")
        claims.append(share_claim(f"{text}, by our verdict", share, MOST, f"at rates {where}; hybrid there: {hybrid}"))
    return claims


def lines_by_width(runs: "pandas.DataFrame") -> dict[str, Boundary]:
    return {measure: metric_boundary(runs, measure, by_width=True) for measure in MEASURES}


def variouswidth(sources: Sources) -> Product:
    one = population(sources.sweep("varying-width"), "varying-width", ("attention_rate", "width"))
    runs = one.circular
    lines, claims, rows = lines_by_width(runs), [], []
    for measure in MEASURES:
        line = lines[measure]
        slope = line.slope
        text = f"the attention rate of the transition increases with width, by {NAMES[measure]}"
        shown = line.reason or "no boundary" if slope is None else f"{slope} per doubling of the width"
        note = f"phase: {PHASES[measure]}; rule: the slope's bootstrap interval lies above 0"
        claims.append(statement(text, above_zero(slope), shown, line.runs, note))
        for scale, by in (("log2 width", numpy.log2), ("width", numpy.asarray)):
            curved = bend(runs, measure, by)
            text = f"an almost linear phase boundary in rate and {scale}, by {NAMES[measure]}"
            shown = "no boundary" if curved is None else f"at most {curved.largest} off the line"
            note = f"with a quadratic term in {scale}; rule: at most {STRAIGHT:g} of attention rate off the straight line"
            note += "" if curved is None else f" (likelihood-ratio test for the term: p = {curved.p:.2g})"
            holds = None if curved is None else decided(curved.largest, high=STRAIGHT)
            claims.append(statement(text, holds, shown, line.runs, note))
        at = "-" if line.rate is None or line.width is None else f"{line.rate} at width {line.width:.0f}"
        rows.append((PHASES[measure], at, "-" if slope is None else str(slope), f"{line.inside:,} of {line.runs:,}"))
    table = Table(("phase", "boundary (attention rate)", "change per doubling of the width", "inside"), tuple(rows))
    source = f"{one.source}, of which {len(runs):,} circular at 100% validation accuracy; {BY_DEFINITION}"
    return Product(source, {"": plane_figure(runs, lines)}, {"": table}, tuple(claims))


FIXED = ("sweep:fixed-width",)
ITEMS = [
    Item("metricvs", "figure", "section 4.1.3", "distance irrelevance against gradient symmetricity", FIXED, metricvs),
    Item("onelayer", "figure", "section 4.2", "one layer of width 128: metrics by attention rate", FIXED, onelayer),
    Item(
        "variouswidth",
        "figure",
        "section 4.2",
        "one layer: metrics over rate and width",
        ("sweep:varying-width",),
        variouswidth,
    ),
]
