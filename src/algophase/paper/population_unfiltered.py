"""Appendix C: networks that are not circular, unfiltered, and deeper ones."""

from typing import TYPE_CHECKING

from algophase.analysis.verdict import Thresholds
from algophase.paper.population_claims import (
    MEASURES,
    PIZZA_IRRELEVANCE,
    above_zero,
    apart,
    points,
    population,
    printed_share,
    published_share,
    share_of,
    some_claim,
    statement,
    transition_table,
    transitions,
)
from algophase.paper.population_figures import by_circularity, plane_panels, rate_panel, rates_figure
from algophase.paper.population_items import BY_DEFINITION, DEEP, lines_by_width, name_of, optional
from algophase.paper.population_released import beside, released_share
from algophase.paper.product import Claim, Item, Product, Table
from algophase.paper.sources import Sources
from algophase.runs.comparison import IRRELEVANCE, NAMES, SYMMETRICITY, inside_phase
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    import pandas

LOW_RATE, HIGH_RATE = 0.2, 0.8


def noncirc2(sources: Sources) -> Product:
    from algophase.report.style import new_figure

    one = population(sources.sweep("fixed-width"), "fixed-width", ("attention_rate",))
    wide = optional(sources, "varying-width")
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
        plane_panels(list(grid[1]), wide.accurate, lines_by_width(wide.accurate), figure)
        grid[0, 0].set_title("width 128 (blue: circular, grey: not)", loc="left")
        grid[1, 0].set_title(name_of(wide), loc="left")
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
    deep = [each for space in DEEP if (each := optional(sources, space)) is not None]
    if not deep:
        sources.sweep(DEEP[0])  # which says how to make one
    lacking = [space for space in DEEP if space not in {each.space for each in deep}]
    one = optional(sources, "fixed-width")
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
        text = f"deeper networks are more likely non-circular: {name_of(each)} against one"
        shown = f"{each.circular_share}; {points(difference)}"
        claims.append(statement(text, above_zero(difference), shown, each.circular_share.total, note))
    for each in deep:
        runs = each.accurate
        pizzas = share_of(runs, (runs[SYMMETRICITY] > 0.98) & (runs[IRRELEVANCE] < PIZZA_IRRELEVANCE))
        note = f"accurate runs with symmetricity > 98% and irrelevance < {PIZZA_IRRELEVANCE:g}"
        text = f"the Pizza continues to be observed, {name_of(each)}"
        claims.append(some_claim(text, pizzas, note))
    rows = [
        (
            name_of(each),
            f"{len(each.runs):,}",
            str(each.accuracy_share),
            str(each.circular_share),
            str(each.circular_share_of_accurate),
        )
        for each in ([one] if one is not None else []) + deep
    ]
    heads = ("runs", "finished", "accurate", "circular, of all", "circular, of the accurate")
    panels = [(name_of(each), by_circularity(each.accurate), transitions(each.accurate)) for each in deep]
    import pandas

    figures, tables, told = beside(sources, pandas.concat([each.runs for each in deep], ignore_index=True))
    source = "; ".join(each.source for each in deep) + f"; at 100% validation accuracy; {BY_DEFINITION}{told}"
    if lacking:
        source += f"; not there yet: {', '.join(lacking)}"
    tables = {"": Table(heads, tuple(rows)), "transitions": transition_table({t: f for t, _, f in panels}), **tables}
    return Product(source, {"": rates_figure(panels, 2.0), **figures}, tables, tuple(claims))


ITEMS = [
    Item("noncirc2", "figure", "appendix C", "one layer, non-circular networks unfiltered", ("sweep:fixed-width",), noncirc2),
    Item("multilayers", "figure", "appendix C", "two to four layers", (f"sweep:{DEEP[0]}",), multilayers),
]
