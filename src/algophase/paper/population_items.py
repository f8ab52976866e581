"""The phase space of the main experiments (section 4, appendix C): metrics by attention rate, width and depth."""

from typing import TYPE_CHECKING

import numpy

from algophase.analysis.verdict import Thresholds
from algophase.paper import population_variants
from algophase.paper.population_claims import (
    MEASURES,
    MOST,
    NEARLY_ALL,
    PHASES,
    PIZZA_IRRELEVANCE,
    Population,
    above_zero,
    apart,
    bend,
    decided,
    points,
    population,
    printed_share,
    published_share,
    share_claim,
    share_of,
    some_claim,
    statement,
    transition_claim,
    transition_table,
    transitions,
)
from algophase.paper.population_figures import (
    by_circularity,
    by_verdict,
    metrics_figure,
    plane_figure,
    plane_panels,
    rate_panel,
    rates_figure,
)
from algophase.paper.population_released import beside, released_population, released_share
from algophase.paper.product import Claim, Item, Product, Table
from algophase.paper.published import number
from algophase.paper.sources import Missing, Sources
from algophase.sweeps.boundary import Boundary
from algophase.sweeps.comparison import IRRELEVANCE, NAMES, SYMMETRICITY, WRONG_LOGIT, inside_phase, metric_boundary
from algophase.sweeps.statistics import Share

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
LOW_RATE, HIGH_RATE = 0.2, 0.8
STRAIGHT = 0.1  # attention rate


def _name(one: Population) -> str:
    """What a population is called in tables and pictures."""
    if one.space != "varying-width":
        return MAIN[one.space]
    return f"widths {one.runs['width'].min():.0f} to {one.runs['width'].max():.0f}"


def _optional(sources: Sources, space: str) -> Population | None:
    try:
        return population(sources.sweep(space), space, ("attention_rate",))
    except Missing:
        return None


def _symmetric_at_low(runs: "pandas.DataFrame", measure: str = IRRELEVANCE) -> Share:
    low = runs[runs[measure] < PIZZA_IRRELEVANCE]
    return share_of(low, inside_phase(low, SYMMETRICITY))


def metricvs(sources: Sources) -> Product:
    first = population(sources.sweep("fixed-width"), "fixed-width", ("attention_rate", "pizza_share"))
    others = [one for space in list(MAIN)[1:] if (one := _optional(sources, space)) is not None]
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
        text = f"majority of the runs reached 100% validation accuracy, {_name(one)}"
        claims.append(share_claim(text, one.accuracy_share, MOST, "appendix F.1; accurate of all finished runs"))
    rows = [_metric_row(_name(one), one) for one in everything]
    figures = {"": metrics_figure([(_name(one), one.accurate) for one in everything])}
    tables = {"": Table(("runs", "finished", "accurate", "circular, of accurate", "symmetric at low irrelevance"), tuple(rows))}
    source = "; ".join(one.source for one in everything) + f"; {BY_DEFINITION}"
    if lacking:
        source += f"; not there yet: {', '.join(lacking)}"
    theirs = [(space, released_population(sources, space)) for space in ("fixed-width", *DEEP)]
    released = [(f"released, {MAIN[space]}", one) for space, one in theirs if one is not None]
    if released:
        figures["released"] = metrics_figure([(name, one.accurate) for name, one in released], WRONG_LOGIT)
        pairs = [(_name(one), one) for one in everything if WRONG_LOGIT in one.runs] + released
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


def _lines(runs: "pandas.DataFrame") -> dict[str, Boundary]:
    return {measure: metric_boundary(runs, measure, by_width=True) for measure in MEASURES}


def variouswidth(sources: Sources) -> Product:
    one = population(sources.sweep("varying-width"), "varying-width", ("attention_rate", "width"))
    runs = one.circular
    lines, claims, rows = _lines(runs), [], []
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


def noncirc2(sources: Sources) -> Product:
    from algophase.report.style import new_figure

    one = population(sources.sweep("fixed-width"), "fixed-width", ("attention_rate",))
    wide = _optional(sources, "varying-width")
    runs = one.accurate
    found = transitions(runs)
    among = f"; of the accurate {one.circular_share_of_accurate}"
    claims = [printed_share(one.circular_share, "fixed-width", among), *released_share(sources, "fixed-width")]
    claims += [_noise(runs, measure, found[measure].rate) for measure in MEASURES]
    low = runs[runs["_rate"] < LOW_RATE]
    high = runs[runs["_rate"] > HIGH_RATE]
    shares = [share_of(some, some["circularity"] < Thresholds().circularity) for some in (low, high)]
    note = f"at rates below {LOW_RATE:g} (above {HIGH_RATE:g}: {shares[1]}; "
    note += f"less that share: {points(apart(shares[0], shares[1]))})"
    text = "non-circular networks appear at low attention rates"
    claims.append(some_claim(text, shares[0], note))
    plain = low[low["circularity"] < Thresholds().circularity]
    pizzas = share_of(plain, (plain[SYMMETRICITY] > 0.98) & (plain[IRRELEVANCE] < PIZZA_IRRELEVANCE))
    what = f"non-circular runs at rates below {LOW_RATE:g} with symmetricity > 98% and irrelevance < {PIZZA_IRRELEVANCE:g}"
    claims.append(some_claim("the Pizza continues to be observed among them", pizzas, what))
    title = "width 128"
    if wide is None:
        figure = rates_figure([(title, by_circularity(runs), found)])
    else:
        figure = new_figure(6.6, 5.2)
        grid = figure.subplots(2, 2)
        for axes, measure in zip(grid[0], MEASURES, strict=True):
            rate_panel(axes, by_circularity(runs), measure, found[measure])
        plane_panels(list(grid[1]), wide.accurate, _lines(wide.accurate), figure)
        grid[0, 0].set_title("width 128 (blue: circular, grey: not)", loc="left")
        grid[1, 0].set_title(_name(wide), loc="left")
    tables = {"": transition_table({"all accurate": found, "circular": transitions(one.circular)})}
    source = f"{one.source}, of which {len(runs):,} at 100% validation accuracy; {BY_DEFINITION}; "
    source += "varying-width is not there yet" if wide is None else f"{wide.source}, of which {len(wide.accurate):,} accurate"
    return Product(source, {"": figure}, tables, tuple(claims))


def _noise(runs: "pandas.DataFrame", measure: str, rate: float | None) -> Claim:
    """More noise without the filter: runs that are not circular lie on the wrong side of the boundary more often."""
    text = f"more noise with non-circular networks unfiltered, by {NAMES[measure]}"
    if rate is None:
        return statement(text, None, "no boundary", len(runs), "there is no boundary")
    wrong = inside_phase(runs, measure) != (runs["_rate"] < rate)
    kinds = by_circularity(runs)
    shares = [share_of(kinds[kind], wrong[kinds[kind].index]) for kind in ("not circular", "circular")]
    difference = apart(shares[0], shares[1])
    note = f"runs on the wrong side of the boundary at {rate:.3f}: not circular {shares[0]}, circular {shares[1]}; "
    note += "rule: the interval of the difference lies above 0"
    return statement(text, above_zero(difference), points(difference), len(runs), note)


def multilayers(sources: Sources) -> Product:
    deep = [each for space in DEEP if (each := _optional(sources, space)) is not None]
    if not deep:
        sources.sweep(DEEP[0])  # which says how to make one
    lacking = [space for space in DEEP if space not in {each.space for each in deep}]
    one = _optional(sources, "fixed-width")
    shallow = one.circular_share if one is not None else published_share("fixed-width")
    claims: list[Claim] = []
    for each in deep:
        also = f"; of the accurate {each.circular_share_of_accurate}"
        claims += [printed_share(each.circular_share, each.space, also), *released_share(sources, each.space)]
    for space in lacking:
        claims += [printed_share(Share(0, 0), space), *released_share(sources, space)]
    for each in deep:
        difference = apart(shallow, each.circular_share)
        beside_what = "ours" if one is not None else "published"
        note = f"one layer ({beside_what}) {shallow}; rule: the interval of its share circular less this one's lies above 0"
        text = f"deeper networks are more likely non-circular: {_name(each)} against one"
        shown = f"{each.circular_share}; {points(difference)}"
        claims.append(statement(text, above_zero(difference), shown, each.circular_share.total, note))
    for each in deep:
        runs = each.accurate
        pizzas = share_of(runs, (runs[SYMMETRICITY] > 0.98) & (runs[IRRELEVANCE] < PIZZA_IRRELEVANCE))
        note = f"accurate runs with symmetricity > 98% and irrelevance < {PIZZA_IRRELEVANCE:g}"
        text = f"the Pizza continues to be observed, {_name(each)}"
        claims.append(some_claim(text, pizzas, note))
    rows = [
        (
            _name(each),
            f"{len(each.runs):,}",
            str(each.accuracy_share),
            str(each.circular_share),
            str(each.circular_share_of_accurate),
        )
        for each in ([one] if one is not None else []) + deep
    ]
    heads = ("runs", "finished", "accurate", "circular, of all", "circular, of the accurate")
    panels = [(_name(each), by_circularity(each.accurate), transitions(each.accurate)) for each in deep]
    import pandas

    figures, tables, told = beside(sources, pandas.concat([each.runs for each in deep], ignore_index=True))
    source = "; ".join(each.source for each in deep) + f"; at 100% validation accuracy; {BY_DEFINITION}{told}"
    if lacking:
        source += f"; not there yet: {', '.join(lacking)}"
    tables = {"": Table(heads, tuple(rows)), "transitions": transition_table({t: f for t, _, f in panels}), **tables}
    return Product(source, {"": rates_figure(panels, 2.0), **figures}, tables, tuple(claims))


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
    Item("noncirc2", "figure", "appendix C", "one layer, non-circular networks unfiltered", FIXED, noncirc2),
    Item("multilayers", "figure", "appendix C", "two to four layers", (f"sweep:{DEEP[0]}",), multilayers),
    *population_variants.ITEMS,
]
