"""What the paper's text says beside its figures and tables: settings and cost (appendix F), and
words about many networks.
"""

import math
from typing import Any

from algophase.analysis.catalogue import IRRELEVANCE, WRONG_LOGIT, label
from algophase.analysis.logits.metrics import paper_triples
from algophase.core.errors import InputError
from algophase.core.lines import exceeds, falls_short, reaches
from algophase.networks import Linear, Transformer
from algophase.paper.measure import Measurement, listed, measure, measured, quantity
from algophase.paper.population_released import released_population
from algophase.paper.populations import INSIDE, LOW, Phases, circles_of, population
from algophase.paper.product import Product, Table
from algophase.paper.rules import THRESHOLDS
from algophase.paper.sources import Exhibit, Sources, optional
from algophase.runs.boundary import Boundary
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share, same_distribution
from algophase.sweeps.shipped_spaces import PAPER_SPACES

HOUR, DAY = 3600, 24 * 3600


def settings(sources: Sources) -> Product:
    runs = sources.runs("fixed-width")
    cost = measure(sources, "sources", "days_of_gallery")
    assert cost is not None
    columns = ("sweep", "runs", "training (s)", "analysis (s)", "devices")
    return Product(
        f"the settings that {runs.source} record, and what the gallery's shards say",
        tables={"": Table(columns, cost.words["rows"])},
    )


@quantity
def recorded_setting(runs: Runs, column: str) -> Measurement:
    """What every run of the sweep records for a setting; no number where they differ."""
    values = sorted(set(runs[column].tolist()))
    value = values[0] if len(values) == 1 else math.nan
    return measured(value, sample=len(runs), recorded=listed(values, "g"))


@quantity
def size_of_transformer(network: Exhibit, size: str) -> Measurement:
    """A size that follows from the width, from the weights: pairs, head or hidden. It is the
    printed one's at the paper's width and modulus, whichever network has them.
    """
    if not isinstance(network.given, Transformer):
        raise InputError(f"{network.source} is not a transformer")
    weights = dict(network.given.named_parameters())
    width = weights["embed.W_E"].shape[1]
    p = network.given.task.modulus
    sizes = {
        "pairs": p * p,
        "head": weights["blocks.0.attn.W_Q"].shape[2],
        "hidden": weights["blocks.0.mlp.W_in"].shape[1],
    }
    as_printed = width == 128 and p == 59
    return measured(sizes[size], comparable=as_printed, width=width, p=p, source=network.source)


@quantity
def triples_of_symmetricity(runs: Runs) -> int:
    return len(paper_triples(int(runs["modulus"].iloc[0])))


@quantity
def smallest_and_largest_width(runs: Runs) -> Measurement:
    runs.require(("width",))
    widths = runs["width"]
    return measured((widths.min(), widths.max()), sample=len(widths))


@quantity
def widths_of_linear_models(sources: Sources) -> Measurement:
    """Of Models beta and delta; only the authors' own can contradict the text."""
    widths = []
    for role in ("model-beta", "model-delta"):
        network = optional(sources.network, role)
        if network is None or not isinstance(network.given, Linear):
            continue
        weights = dict(network.given.named_parameters())
        whose = "released" if network.published else "ours"
        embedding = weights["embed.weight"].shape[1]
        layer = weights["l1.weight"]
        name = role.removeprefix("model-")
        widths.append(f"{name} ({whose}): {embedding}, {layer.shape[1]} and {layer.shape[0]}")
    released = sources.released is not None
    in_words = "; ".join(widths)
    return measured(
        in_words if released else None,
        sample=len(widths),
        widths=in_words if released else in_words or "-",
        of_each=", of 128 each" if released else "",
    )


def _seconds(calls: list[dict[str, Any]], what: str) -> float:
    return sum(float(call.get(f"{what}_seconds") or 0) for call in calls)


@quantity
def days_of_gallery(sources: Sources) -> Measurement:
    """What the gallery's tables took, by their own record; rows: of a table, by sweep."""
    rows = []
    seconds = 0.0
    count = 0
    for space in PAPER_SPACES:
        try:
            calls = sources.calls(space)
        except InputError:
            continue
        runs = sum(int(call.get("runs") or 0) for call in calls)
        training = _seconds(calls, "training")
        analysis = _seconds(calls, "analysis")
        devices = ", ".join(sorted({str(call.get("device")) for call in calls}))
        rows.append((space, f"{runs:,}", f"{training:,.0f}", f"{analysis:,.0f}", devices))
        seconds += training + analysis
        count += runs
    return measured(
        seconds / DAY if count else None,
        sample=count,
        hours=f"{seconds / HOUR:.2f} hours" if count else "no runs",
        rows=tuple(rows),
    )


# --- statements of sections 1 to 4 about networks in general, each judged on a population


def words(sources: Sources) -> Product:
    main = population(sources, "fixed-width", "attention_rate", "paper_label", "pizza_share")
    used = [main.source]
    for space in ("pizza-training", "clock-training"):
        runs = optional(sources.runs, space)
        if runs is not None:
            used.append(runs.source)
    return Product("; ".join(used))


@quantity
def circle_in_first_components(runs: Runs) -> Share:
    """Runs whose first two components are one circle, each a wave of its frequency."""
    count = 0
    for circles in circles_of(runs, "components", "method"):
        count += any(tuple(pair) == (1, 2) and way == "components" for pair, way in circles)
    return Share(count, len(runs))


def _pizzas(runs: Runs) -> Runs:
    return runs.where(runs["paper_label"] == "Pizza")


@quantity
def mostly_accompanied(runs: Runs) -> Measurement:
    """Pizzas of which more than half of the pizzas have a companion; circles of one network are
    not independent.
    """
    networks = _pizzas(runs)
    mostly = 0
    pizzas = 0
    accompanied = 0
    for circles in circles_of(networks, "role", "frequency", "accompanies"):
        own = [frequency for role, frequency, _ in circles if role == "Pizza"]
        with_companion = {frequency for _, _, frequency in circles}
        count = sum(frequency in with_companion for frequency in own)
        mostly += 2 * count > len(own)
        pizzas += len(own)
        accompanied += count
    return measured(Share(mostly, len(networks)), of_all=Share(accompanied, pizzas))


@quantity
def imperfect_copies(runs: Runs) -> Measurement:
    """Pizzas with at least two pizzas, none of which alone answers all pairs."""
    networks = _pizzas(runs)
    count = 0
    best = 0.0
    for circles in circles_of(networks, "role", "accuracy_alone"):
        own = [accuracy for role, accuracy in circles if role == "Pizza"]
        count += len(own) >= 2 and bool(falls_short(max(own), 1))
        best = max(best, *own, 0.0)
    return measured(Share(count, len(networks)), best=best)


def _span(boundary: Boundary) -> str:
    """Over how much of the attention rate the fitted share inside a phase falls from 90% to 10%."""
    curve = boundary.curve
    if curve is None:
        return "no curve"
    probability = curve.probability
    falling = curve.rates[(probability < 0.9) & (probability > 0.1)]
    open_ended = probability.max() < 0.9 or probability.min() > 0.1
    span = float(falling.max() - falling.min()) if len(falling) else 0.0
    return f"more than {span:.2f}" if open_ended else f"{span:.2f}"


@quantity
def spans_of_transitions(population: Phases) -> Measurement:
    spans = []
    for metric, ends in population.transitions.items():
        spans.append(f"{_span(ends.boundary)} by {label(metric)}")
    return measured(", ".join(spans), sample=len(population.runs))


@quantity
def line_between_algorithms(runs: Runs) -> Measurement:
    """The irrelevance that parts Pizzas from Clocks best, told apart by their circles alone."""
    lesser = THRESHOLDS.hybrid_share
    share = runs["pizza_share"]
    pizza = runs.where(exceeds(share, 1 - lesser))[IRRELEVANCE]
    clock = runs.where(falls_short(share, lesser))[IRRELEVANCE]
    if pizza.empty or clock.empty:
        return measured(None, sample=0, best="no runs", wrong_sides="")
    papers = (LOW.limit, INSIDE.limit)
    wrong = {}
    for line in sorted([*pizza, *clock, *papers]):
        wrong[line] = int(reaches(pizza, line).sum() + falls_short(clock, line).sum())
    best = min((line for line in wrong if line not in papers), key=wrong.__getitem__)
    errors = ", ".join(f"{wrong[line]} at {line:.2g}" for line in (best, *papers))
    wrong_sides = (
        f"on the wrong side: {errors}; Pizzas and Clocks by the share of their circles' logits"
    )
    sample = len(pizza) + len(clock)
    return measured(best, sample=sample, best=f"{best:.2f}", wrong_sides=wrong_sides)


@quantity
def logit_of_released_irrelevance(sources: Sources) -> Measurement:
    """The released table's column is not of the definition's logit: over a population the two
    differ.
    """
    ours = sources.runs("fixed-width")
    theirs = released_population(sources, "fixed-width")
    if theirs is None:
        advice = "the authors' own table is taken with --released DIR"
        return measured(None, sample=0, also="", distances="-", what=advice)
    released = theirs.circular.values(WRONG_LOGIT)
    distances = []
    for name, column in (("correct", IRRELEVANCE), ("largest wrong", WRONG_LOGIT)):
        distance, p = same_distribution(released, ours.circular.values(column))
        distances.append(f"{name} logit {distance:.3f} (p = {p:.2g})")
    what = (
        "Kolmogorov-Smirnov distance of the released column from ours, circular runs of one "
        "layer: it is the largest wrong logit's; the values printed for Models A and B are of "
        "the correct one"
    )
    return measured(
        distances,
        sample=len(released),
        also="; the released table",
        distances=", ".join(distances),
        what=what,
    )
