"""The phase space of the main experiments (section 4), unfiltered and deeper (appendix C)."""

from functools import partial

import numpy

from algophase.analysis.catalogue import CIRCULARITY, IRRELEVANCE, SYMMETRICITY, WRONG_LOGIT, label
from algophase.core.lines import exceeds, falls_short, reaches
from algophase.paper.population_figures import (
    by_verdict,
    metrics_figure,
    plane_figure,
    rates_figure,
    unfiltered_figure,
)
from algophase.paper.population_released import (
    beside,
    published_share,
    released_population,
    share_claims,
)
from algophase.paper.populations import (
    ASYMMETRIC,
    BY_DEFINITION,
    HIGH,
    INSIDE,
    LOW,
    MEASURES,
    PHASES,
    SYMMETRIC,
    bend,
    by_circularity,
    is_circular,
    joined,
    lines_by_width,
    pizzas,
    population,
    populations,
    transition_claim,
    transition_table,
    transitions,
)
from algophase.paper.product import Claim, Product, Table
from algophase.paper.published import number
from algophase.paper.rules import (
    MOST,
    NEARLY_ALL,
    THRESHOLDS,
    above_zero,
    apart,
    decided,
    points,
    share_claim,
    some_claim,
    statement,
)
from algophase.paper.sources import Sources
from algophase.runs.runs import Runs, inside_phase
from algophase.runs.statistics import Share

DEEP = {"layers-2": "2 layers", "layers-3": "3 layers", "layers-4": "4 layers"}
MAIN = {"fixed-width": "width 128", "varying-width": "varying widths", **DEEP}
STRAIGHT = 0.1  # attention rate
LOW_RATE, HIGH_RATE = 0.2, 0.8


def _name_of(space: str, runs: Runs) -> str:
    """What a population is called in tables and pictures."""
    return (
        f"widths {runs['width'].min():.0f} to {runs['width'].max():.0f}"
        if space == "varying-width"
        else MAIN[space]
    )


def _not_there(spaces: dict[str, str], found: dict[str, Runs]) -> str:
    lacking = [space for space in spaces if space not in found]
    return f"; not there yet: {', '.join(lacking)}" if lacking else ""


# --- section 4
# --------------------------------------------------------------------------------------------------------


def _symmetric_at_low(runs: Runs, measure: str = IRRELEVANCE) -> Share:
    low = runs.where(falls_short(runs[measure], LOW.limit))
    return low.share(SYMMETRIC.of(low))


def metricvs(sources: Sources) -> Product:
    population(sources, "fixed-width", "attention_rate", "pizza_share")
    found = populations(sources, *MAIN)
    named = {_name_of(space, one): one for space, one in found.items()}
    claims = []
    for name in ("accurate", "circular"):
        shares = [_symmetric_at_low(getattr(one, name)) for one in named.values()]
        share = Share(sum(one.count for one in shares), sum(one.total for one in shares))
        text = (
            "at low distance irrelevance the gradient symmetricity is almost always close "
            f"to 1 ({name} runs)"
        )
        claims.append(
            share_claim(
                text, share, NEARLY_ALL, f"runs with {SYMMETRIC} among {name} runs with {LOW}"
            )
        )
    claims += _typical(joined([one.circular for one in named.values() if "pizza_share" in one]))
    for name, one in named.items():
        text = f"majority of the runs reached 100% validation accuracy, {name}"
        claims.append(
            share_claim(
                text, one.accuracy_share, MOST, "appendix F.1; accurate of all finished runs"
            )
        )
    rows = []
    for name, one in named.items():
        shares = [
            one.accuracy_share,
            one.circular_share_of_accurate,
            _symmetric_at_low(one.accurate),
        ]
        rows.append((name, f"{len(one):,}", *map(str, shares)))
    figures = {"": metrics_figure({name: one.accurate for name, one in named.items()})}
    tables = {
        "": Table(
            (
                "runs",
                "finished",
                "accurate",
                "circular, of accurate",
                "symmetric at low irrelevance",
            ),
            tuple(rows),
        )
    }
    source = (
        "; ".join(one.source for one in named.values())
        + f"; {BY_DEFINITION}{_not_there(MAIN, found)}"
    )
    theirs = {
        f"released, {MAIN[space]}": released_population(sources, space)
        for space in ("fixed-width", *DEEP)
    }
    released = {name: one for name, one in theirs.items() if one is not None}
    if released:
        figures["released"] = metrics_figure(
            {name: one.accurate for name, one in released.items()}, WRONG_LOGIT
        )
        beside_them = {
            **{name: one for name, one in named.items() if WRONG_LOGIT in one},
            **released,
        }
        at_low = partial(_symmetric_at_low, measure=WRONG_LOGIT)
        tables["released"] = Table(
            ("runs", "symmetric at low irrelevance (wrong logit), accurate", "the same, circular"),
            tuple(
                (name, str(at_low(one.accurate)), str(at_low(one.circular)))
                for name, one in beside_them.items()
            ),
        )
        source += (
            "; released runs: distance irrelevance of the largest wrong logit, which is "
            "what their table has"
        )
    return Product(source, figures, tables, tuple(claims))


def _typical(known: Runs) -> list[Claim]:
    """Where the irrelevance of Pizzas and Clocks lies, told apart by their circles alone: a
    verdict would use irrelevance.
    """
    lesser, limit = THRESHOLDS.hybrid_share, number("typical-irrelevance-limit").value
    clocks = known.where(falls_short(known["pizza_share"], lesser))
    claims = []
    share = known["pizza_share"]
    for name, some, within, printed, sign in (
        (
            "Pizza",
            known.where(exceeds(share, 1 - lesser)),
            falls_short,
            f"0 to {limit:g}",
            f"more than {1 - lesser:.0%}",
        ),
        ("Clock", clocks, reaches, f"{limit:g} to 1", f"less than {lesser:.0%}"),
    ):
        values = some[IRRELEVANCE]
        spread = (
            f"5% to 95% of them: {values.quantile(0.05):.2f} to {values.quantile(0.95):.2f}"
            if len(some)
            else "no runs"
        )
        what = (
            f"share within; {spread}; a {name} here has {sign} of its circles' logit "
            "variance in the Pizza's form"
        )
        text = f"typical distance irrelevance of a {name}"
        claims.append(share_claim(text, some.share(within(values, limit)), MOST, what, printed))
    highest = f"the highest is {clocks[SYMMETRICITY].max():.3f}" if len(clocks) else "no runs"
    ruled, what = (
        clocks.share(ASYMMETRIC.of(clocks)),
        f"Clocks, as above, with {ASYMMETRIC}; {highest}",
    )
    return [
        *claims,
        share_claim(
            "gradient symmetricity can be used to rule out the Clock", ruled, NEARLY_ALL, what
        ),
    ]


def onelayer(sources: Sources) -> Product:
    one = population(sources, "fixed-width", "attention_rate", "paper_label")
    runs = one.circular
    found, asymmetric = transitions(runs), ASYMMETRIC.of(runs)
    loose = runs.share(asymmetric | INSIDE.of(runs))
    what = f"{ASYMMETRIC} or {LOW} (with the line at {INSIDE.limit:g}: {loose})"
    text = (
        "most circular models have low gradient symmetricity (Clock) or low distance "
        "irrelevance (Pizza)"
    )
    clear = "a clear transition from Pizza to Clock with the attention rate"
    claims = [
        share_claim(text, runs.share(asymmetric | LOW.of(runs)), MOST, what),
        *(transition_claim(clear, found[measure], clear=True) for measure in MEASURES),
        *_dominance(
            runs, [rate for measure in MEASURES if (rate := found[measure].rate) is not None]
        ),
        *_between(runs),
    ]
    figures, tables, told = beside(sources, one.frame)
    figures = {"": rates_figure([("", by_verdict(runs), found)]), **figures}
    tables = {"": transition_table({"circular": found}), **tables}
    source = (
        f"{one.source}, of which {len(runs):,} circular at 100% validation accuracy; "
        f"{BY_DEFINITION}{told}"
    )
    return Product(source, figures, tables, tuple(claims))


def _between(runs: Runs) -> list[Claim]:
    """Networks between the two algorithms, and the way the paper thinks they can be."""
    what = (
        "circular runs labelled hybrid: the lesser algorithm has a fifth of the circles' "
        "logit variance or more"
    )
    claims = [
        some_claim(
            "networks lie between Clock and Pizza",
            runs.share(runs["paper_label"] == "hybrid"),
            what,
        )
    ]
    if "circles.role" in runs:
        both = runs["circles.role"].map(lambda roles: {"Clock", "Pizza"} <= set(roles)).astype(bool)
        text = "some principal components act as the Clock and some as the Pizza"
        claims.append(
            some_claim(
                text, runs.share(both), "circular runs with a circle of either role, hybrid or not"
            )
        )
    return claims


def _dominance(runs: Runs, rates: list[float]) -> list[Claim]:
    """Which algorithm dominates below both transition points and above both: by the two metrics,
    and by the labels.
    """
    if len(rates) < len(MEASURES):
        return []
    claims = []
    low, high = min(rates), max(rates)
    for name, side, rate, there, sides in (
        ("Pizza", "below", low, runs.where(runs["_rate"] < low), (SYMMETRIC, INSIDE)),
        ("Clock", "above", high, runs.where(runs["_rate"] > high), (ASYMMETRIC, HIGH)),
    ):
        text, where = (
            f"the {name} dominates {side} the phase change point",
            f"at rates {side} {rate:.2f}",
        )
        share = there.share(sides[0].of(there) & sides[1].of(there))
        claims.append(
            share_claim(
                f"{text}, by the metrics", share, MOST, f"{sides[0]} and {sides[1]}, {where}"
            )
        )
        own, hybrid = (there.share(there["paper_label"] == verdict) for verdict in (name, "hybrid"))
        claims.append(
            share_claim(f"{text}, by the label", own, MOST, f"{where}; hybrid there: {hybrid}")
        )
    return claims


def variouswidth(sources: Sources) -> Product:
    one = population(sources, "varying-width", "attention_rate", "width")
    runs = one.circular
    lines, claims, rows = lines_by_width(runs), [], []
    for measure in MEASURES:
        line = lines[measure]
        slope, by = line.slope, label(measure)
        text = f"the attention rate of the transition increases with width, by {by}"
        shown = (
            line.reason or "no boundary" if slope is None else f"{slope} per doubling of the width"
        )
        note = f"phase: {PHASES[measure]}; rule: the slope's bootstrap interval lies above 0"
        claims.append(statement(text, above_zero(slope), shown, note, sample=line.runs))
        for scale, scaled in (("log2 width", numpy.log2), ("width", numpy.asarray)):
            curved = bend(runs, measure, scaled)
            text = f"an almost linear phase boundary in rate and {scale}, by {by}"
            shown = "no boundary" if curved is None else f"at most {curved.largest} off the line"
            note = (
                f"with a quadratic term in {scale}; rule: at most {STRAIGHT:g} of attention "
                "rate off the straight line"
            )
            note += (
                ""
                if curved is None
                else f" (likelihood-ratio test for the term: p = {curved.p:.2g})"
            )
            holds = None if curved is None else decided(curved.largest, high=STRAIGHT)
            claims.append(statement(text, holds, shown, note, sample=line.runs))
        at = (
            "-"
            if line.rate is None or line.width is None
            else f"{line.rate} at width {line.width:.0f}"
        )
        rows.append(
            (
                PHASES[measure],
                at,
                "-" if slope is None else str(slope),
                f"{line.inside:,} of {line.runs:,}",
            )
        )
    table = Table(
        ("phase", "boundary (attention rate)", "change per doubling of the width", "inside"),
        tuple(rows),
    )
    source = (
        f"{one.source}, of which {len(runs):,} circular at 100% validation accuracy; "
        f"{BY_DEFINITION}"
    )
    return Product(source, {"": plane_figure(runs, lines)}, {"": table}, tuple(claims))


# --- appendix C
# -------------------------------------------------------------------------------------------------------


def noncirc2(sources: Sources) -> Product:
    one = population(sources, "fixed-width", "attention_rate")
    wide = populations(sources, "varying-width").get("varying-width")
    runs = one.accurate
    found, rates = transitions(runs), runs["_rate"]
    low, high = (
        runs.where(there) for there in (falls_short(rates, LOW_RATE), exceeds(rates, HIGH_RATE))
    )
    low_plain, high_plain = (
        falls_short(some[CIRCULARITY], THRESHOLDS.circularity) for some in (low, high)
    )
    shares = low.share(low_plain), high.share(high_plain)
    above = f"above {HIGH_RATE:g}: {shares[1]}; less that share: {points(apart(*shares))}"
    claims = [
        *share_claims(sources, "fixed-width", one),
        *(_noise(runs, measure, found[measure].rate) for measure in MEASURES),
        some_claim(
            "non-circular networks appear at low attention rates",
            shares[0],
            f"at rates below {LOW_RATE:g} ({above})",
        ),
        some_claim(
            "the Pizza continues to be observed among them",
            pizzas(low.where(low_plain)),
            f"non-circular runs at rates below {LOW_RATE:g} with {SYMMETRIC} and {LOW}",
        ),
    ]
    if wide is None:
        figure, beside_it = (
            rates_figure([("width 128", by_circularity(runs), found)]),
            "varying-width is not there yet",
        )
    else:
        figure = unfiltered_figure(
            by_circularity(runs), found, _name_of("varying-width", wide), wide.accurate
        )
        beside_it = f"{wide.source}, of which {len(wide.accurate):,} accurate"
    tables = {"": transition_table({"all accurate": found, "circular": transitions(one.circular)})}
    source = (
        f"{one.source}, of which {len(runs):,} at 100% validation accuracy; "
        f"{BY_DEFINITION}; {beside_it}"
    )
    return Product(source, {"": figure}, tables, tuple(claims))


def _noise(runs: Runs, measure: str, rate: float | None) -> Claim:
    """More noise without the filter: runs that are not circular lie on the wrong side of the
    boundary more often.
    """
    text = f"more noise with non-circular networks unfiltered, by {label(measure)}"
    if rate is None:
        return statement(text, None, "no boundary", "there is no boundary", sample=len(runs))
    wrong, circular = inside_phase(runs.frame, measure) != (runs["_rate"] < rate), is_circular(runs)
    shares = [runs.where(some).share(wrong[some]) for some in (~circular, circular)]
    found = apart(*shares)
    note = (
        f"runs on the wrong side of the boundary at {rate:.3f}: not circular {shares[0]}, "
        f"circular {shares[1]}; "
    )
    note += "rule: the interval of the difference lies above 0"
    return statement(text, above_zero(found), points(found), note, sample=len(runs))


def multilayers(sources: Sources) -> Product:
    deep = populations(sources, *DEEP)
    if not deep:
        population(sources, next(iter(DEEP)))  # which says how to make one
    one = populations(sources, "fixed-width").get("fixed-width")
    shallow, whose = (
        (published_share("fixed-width"), "published")
        if one is None
        else (one.circular_share, "ours")
    )
    order = sorted(DEEP, key=lambda space: space not in deep)  # those that are not there come last
    claims = [claim for space in order for claim in share_claims(sources, space, deep.get(space))]
    for space, each in deep.items():
        found = apart(shallow, each.circular_share)
        note = (
            f"one layer ({whose}) {shallow}; rule: the interval of its share circular less "
            "this one's lies above 0"
        )
        text = f"deeper networks are more likely non-circular: {DEEP[space]} against one"
        shown = f"{each.circular_share}; {points(found)}"
        claims.append(
            statement(text, above_zero(found), shown, note, sample=each.circular_share.total)
        )
    for space, each in deep.items():
        text = f"the Pizza continues to be observed, {DEEP[space]}"
        claims.append(
            some_claim(text, pizzas(each.accurate), f"accurate runs with {SYMMETRIC} and {LOW}")
        )
    rows = []
    for space, each in {**({} if one is None else {"fixed-width": one}), **deep}.items():
        shares = each.accuracy_share, each.circular_share, each.circular_share_of_accurate
        rows.append((MAIN[space], f"{len(each):,}", *map(str, shares)))
    heads = ("runs", "finished", "accurate", "circular, of all", "circular, of the accurate")
    panels = [
        (DEEP[space], by_circularity(each.accurate), transitions(each.accurate))
        for space, each in deep.items()
    ]
    figures, tables, told = beside(sources, joined(list(deep.values())).frame)
    source = "; ".join(each.source for each in deep.values())
    source += f"; at 100% validation accuracy; {BY_DEFINITION}{told}{_not_there(DEEP, deep)}"
    tables = {
        "": Table(heads, tuple(rows)),
        "transitions": transition_table({t: f for t, _, f in panels}),
        **tables,
    }
    return Product(source, {"": rates_figure(panels, 2.0), **figures}, tables, tuple(claims))
