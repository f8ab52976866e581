"""The interactive pictures of a population of runs: phase diagrams, transition lines, shares,
histograms, a comparison.

Every builder returns a plotly Figure and knows nothing of the page it lands on.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.catalogue import label, line, quantity
from algophase.analysis.verdict.decide import in_order
from algophase.core.palette import COLORS
from algophase.reports.plotly_style import GRAY, graph_objects, inert_text, look, new_figure
from algophase.runs.boundary import Boundary, Curve
from algophase.runs.comparison import Comparison
from algophase.runs.findings import ALL_RATES, BoundaryRow, measure_name
from algophase.runs.matching import MatchedRuns
from algophase.runs.runs import Runs, accurate, circular, inside_phase
from algophase.runs.standing import MetricStanding
from algophase.runs.statistics import TENTHS, Floats, Share

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

MOST_DRAWN_AS_SHAPES = 1000  # more points are drawn by the graphics card
BINS = 40
# Where the paper draws the line between the phases
PAPER_LINE = {"color": GRAY, "dash": "dot", "width": 1.5}
BOUNDARY_LINES = ((COLORS[3], "solid"), (COLORS[5], "dash"), (COLORS[4], "dot"))
# Ours and theirs, as in the printed comparison.
SIDES = ((COLORS[0], "circle", "solid"), (COLORS[5], "square", "dash"))


@dataclass(frozen=True)
class Mark:
    """A single network shown among the runs. number: what the picture writes beside it."""

    number: int
    name: str
    verdict: str
    rate: float
    values: Mapping[str, float]


def _kind(runs: "pandas.DataFrame") -> Any:
    go = graph_objects()
    return go.Scattergl if len(runs) > MOST_DRAWN_AS_SHAPES else go.Scatter


def _scatter(figure: "Figure", runs: "pandas.DataFrame", x: str, y: str, hover: str) -> None:
    """Runs as points by verdict. The most frequent verdict is drawn first, so that it hides no
    other.
    """
    counts = runs["_verdict"].value_counts()
    verdicts = in_order(counts.index)
    verdicts.sort(key=lambda name: (name != "non-circular", -counts[name]))
    for verdict in verdicts:
        members = runs[runs["_verdict"] == verdict]
        color, symbol = look(verdict)
        marker = {
            "color": color,
            "symbol": symbol,
            "size": _size(len(runs)),
            "opacity": 0.35 if verdict == "non-circular" else 0.75,
        }
        points = _kind(runs)(
            x=members[x].to_numpy(numpy.float32),
            y=members[y].to_numpy(numpy.float32),
            mode="markers",
            name=f"{inert_text(verdict)} ({len(members):,})",
            text=_run_names(members),
            marker=marker,
            hovertemplate=f"run %{{text}}: {inert_text(verdict)}<br>{hover}<extra></extra>",
        )
        figure.add_trace(points)
    figure.update_layout(legend={"itemsizing": "constant"})


def _size(runs: int) -> int:
    """Of a point, in pixels: smaller where there are many."""
    if runs <= 500:
        return 7
    return 5 if runs <= 4000 else 4


def _run_names(runs: "pandas.DataFrame") -> list[str]:
    if "run_id" in runs:
        return [inert_text(run_id) for run_id in runs["run_id"]]
    return [f"row {index}" for index in runs.index]


def rate_by_metric(
    population: Runs, metric: str, boundary: Boundary | None = None, marks: Sequence[Mark] = ()
) -> "Figure":
    """A metric of accurate runs against the attention rate, colored by verdict, with the
    paper's line and the transition.
    """
    runs = population.accurate.frame
    runs = runs[runs["_rate"].notna() & runs[metric].notna()]
    figure = new_figure(x="attention rate", y=label(metric), height=420)
    _scatter(figure, runs, "_rate", metric, _hover("attention rate", label(metric)))
    if quantity(metric).line is not None:
        figure.add_hline(y=line(metric).value, line=PAPER_LINE)
    if boundary is not None and boundary.rate is not None and boundary.within:
        figure.add_vline(x=boundary.rate.value, line={"color": GRAY, "width": 2})
        if boundary.rate.interval is not None:
            low, high = boundary.rate.interval
            ends = {"x0": max(0, low), "x1": min(1, high)}
            figure.add_vrect(**ends, fillcolor=GRAY, opacity=0.2, line_width=0)
    for mark in marks:
        if not math.isnan(mark.rate) and metric in mark.values:
            # Drawn as the runs are: WebGL is painted over shapes, and would hide them.
            figure.add_trace(_kind(runs)(**_mark(mark, metric)))
    edge = 0.04 if marks else 0.02  # room for a mark at a rate of 0 or 1
    figure.update_xaxes(range=[-edge, 1 + edge])
    return figure


def _hover(x: str, y: str) -> str:
    """What a point says of its coordinates."""
    return f"{x} %{{x:.4f}}<br>{y} %{{y:.4f}}"


def _mark(mark: Mark, metric: str) -> dict[str, Any]:
    """One network's point, larger than those of runs, with its number."""
    color, symbol = look(mark.verdict)
    symbol = "hexagon" if symbol == "x" else symbol  # room for the number
    outline = {"color": "black", "width": 1.5}
    text_color = "white" if mark.verdict == "Clock" else "black"
    name = f"{mark.number}: {inert_text(mark.name)}, {inert_text(mark.verdict)}"
    return {
        "x": [mark.rate],
        "y": [mark.values[metric]],
        "mode": "markers+text",
        "text": [str(mark.number)],
        "textposition": "middle center",
        "textfont": {"size": 12, "color": text_color},
        "marker": {"color": color, "symbol": symbol, "size": 22, "line": outline},
        "showlegend": False,
        "hovertemplate": f"{name}<br>{_hover('attention rate', label(metric))}<extra></extra>",
    }


def boundary_rates(boundary: Boundary, widths: Iterable[float]) -> tuple[Floats, Floats] | None:
    """Rates and widths along a boundary that depends on the width; None where there is no such
    boundary.
    """
    widths_of_runs = numpy.fromiter(widths, float)
    if boundary.rate is None or boundary.slope is None or boundary.width is None:
        return None
    if not len(widths_of_runs):
        return None
    along = numpy.geomspace(widths_of_runs.min(), widths_of_runs.max(), 50)
    doublings = numpy.log2(along / boundary.width)
    return boundary.rate.value + boundary.slope.value * doublings, along


def rate_by_width(
    population: Runs, boundaries: Mapping[str, Boundary] = MappingProxyType({})
) -> "Figure":
    """Circular accurate runs by rate and width, colored by verdict, with the transition lines
    (figure 7, bottom).

    boundaries: by metric.
    """
    runs = population.core.frame
    runs = runs[runs["_rate"].notna() & runs["width"].notna()]
    figure = new_figure(x="attention rate", y="width", height=460)
    _scatter(figure, runs, "_rate", "width", "attention rate %{x:.4f}<br>width %{y:g}")
    for index, (metric, boundary) in enumerate(boundaries.items()):
        curve = boundary_rates(boundary, runs["width"])
        if curve is None:
            continue
        rates, widths = curve
        name = inert_text(quantity(metric).phase)
        color, dash = BOUNDARY_LINES[index % len(BOUNDARY_LINES)]
        where = "rate %{x:.3f} at width %{y:.0f}"
        trace = graph_objects().Scatter(
            x=rates,
            y=widths,
            mode="lines",
            name=name,
            line={"color": color, "dash": dash, "width": 2.5},
            hovertemplate=f"{name}: half of the runs<br>{where}<extra></extra>",
        )
        figure.add_trace(trace)
    figure.update_xaxes(range=[-0.02, 1.02])
    figure.update_yaxes(type="log", dtick=numpy.log10(2).item(), tickformat=".0f")
    return figure


def metric_plane(population: Runs, x: str, y: str) -> "Figure":
    """Two metrics of accurate runs against each other, colored by verdict."""
    runs = population.accurate.frame
    runs = runs[runs[x].notna() & runs[y].notna()]
    figure = new_figure(x=label(x), y=label(y), height=420)
    _scatter(figure, runs, x, y, _hover(label(x), label(y)))
    figure.add_vline(x=line(x).value, line=PAPER_LINE)
    figure.add_hline(y=line(y).value, line=PAPER_LINE)
    return figure


def histogram(
    values: Floats,
    verdicts: Sequence[str],
    name: str,
    marked: float | None = None,
    height: int = 240,
) -> "Figure":
    """How a metric is spread, stacked by verdict; `marked` is one network's value."""
    figure = new_figure(x=name, y="runs", height=height, barmode="stack", bargap=0)
    if marked is not None and math.isnan(marked):
        marked = None
    edges = _bin_edges(values if marked is None else [*values, marked])
    middles = ((edges[:-1] + edges[1:]) / 2).round(6)
    verdict_of_run = numpy.asarray(verdicts, dtype=object)
    kinds = in_order(verdicts)
    for verdict in kinds:
        counts, _ = numpy.histogram(values[verdict_of_run == verdict], bins=edges)
        color, _ = look(verdict)
        bars = graph_objects().Bar(
            x=middles,
            y=counts,
            width=float(edges[1] - edges[0]),
            name=inert_text(verdict),
            marker={"color": color, "line": {"width": 0}},
            hovertemplate=f"{inert_text(verdict)}: %{{y}} runs at about %{{x:.3f}}<extra></extra>",
        )
        figure.add_trace(bars)
    if marked is not None:
        figure.add_vline(x=marked, line={"color": COLORS[5], "width": 3})
    figure.update_layout(showlegend=len(kinds) > 1)
    return figure


def _bin_edges(values: Sequence[float] | Floats) -> Floats:
    """Of a histogram of all these values, (BINS + 1,)."""
    low, high = (min(values), max(values)) if len(values) else (0.0, 1.0)
    if high - low < 1e-6 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    return numpy.linspace(low, high, BINS + 1)


def standing_figure(standing: MetricStanding) -> "Figure":
    """A metric over a population, with one network's value marked."""
    values = standing.values["value"].to_numpy(float)
    verdicts = standing.values["_verdict"].tolist()
    figure = histogram(values, verdicts, "", standing.value, height=190)
    ticks = {"tickangle": 0, "nticks": 4}
    figure.update_layout(showlegend=False, margin={"t": 12, "b": 28}, xaxis=ticks)
    return figure


def shares_figure(shares: Mapping[str, Share]) -> "Figure":
    """Shares of verdicts with their 95% intervals, one row each."""
    figure = new_figure(x="share of runs", y="", height=90 + 34 * len(shares), showlegend=False)
    for name, share in shares.items():
        if not share.total:
            continue
        color, symbol = look(name)
        x, y = [share.value], [inert_text(name)]
        figure.add_trace(_whiskers(x, y, [share], color, symbol, inert_text(name), across=True))
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def _whiskers(
    x: Sequence[Any],
    y: Sequence[Any],
    shares: Sequence[Share],
    color: str,
    symbol: str,
    name: str,
    *,
    across: bool,
) -> Any:
    """Shares as points with their 95% intervals. across: they lie along x."""
    reach = {
        "type": "data",
        "symmetric": False,
        "array": [share.interval[1] - share.value for share in shares],
        "arrayminus": [share.value - share.interval[0] for share in shares],
        "color": color,
        "thickness": 1.5,
    }
    return graph_objects().Scatter(
        x=list(x),
        y=list(y),
        mode="markers",
        name=name,
        marker={"color": color, "symbol": symbol, "size": 8},
        text=[str(share) for share in shares],
        hovertemplate=f"{name}: %{{text}}<extra></extra>",
        **{"error_x" if across else "error_y": reach},
    )


def shares_by_tenth(runs: "pandas.DataFrame", measure: str) -> list[tuple[int, Share]]:
    """Of the runs in each tenth of the attention rate, how many are inside a metric's phase.
    Empty tenths are omitted.
    """
    if measure not in runs:
        return []
    measured = runs[runs[measure].notna() & (runs["_tenth"] >= 0)]
    is_inside = inside_phase(measured, measure)
    shares = []
    for tenth in range(TENTHS):
        in_tenth = measured["_tenth"] == tenth
        if in_tenth.any():
            share = Share(int(is_inside[in_tenth].sum()), int(in_tenth.sum()))
            shares.append((tenth, share))
    return shares


def transition(
    sides: Sequence[tuple[str, "pandas.DataFrame", Boundary | None]], measure: str
) -> "Figure":
    """Share of runs inside a phase in each tenth of the rate, over the logistic curve with its
    bootstrap band (figure 7).

    sides: one population, or two to compare: name, runs, and the boundary fitted to them.
    """
    figure = new_figure(x="attention rate", y="share inside", height=340, showlegend=len(sides) > 1)
    for side, (name, runs, boundary) in enumerate(sides):
        color, symbol, dash = SIDES[side]
        name = inert_text(name)
        if boundary is not None and boundary.curve is not None:
            figure.add_trace(_band(boundary.curve, color))
            figure.add_trace(_logistic_curve(boundary.curve, name, color, dash))
        tenths = shares_by_tenth(runs, measure)
        if tenths:
            # Two sides stand side by side, not on top of each other.
            shift = (0.06, -0.06)[side] if len(sides) > 1 else 0.0
            x = [(tenth + 0.5 + shift) / TENTHS for tenth, _ in tenths]
            shares = [share for _, share in tenths]
            y = [share.value for share in shares]
            figure.add_trace(_whiskers(x, y, shares, color, symbol, name, across=False))
    figure.update_xaxes(range=[-0.02, 1.02])
    figure.update_yaxes(range=[-0.04, 1.04], tickformat=".0%")
    return figure


def _band(curve: Curve, color: str) -> Any:
    """The bootstrap band of a logistic curve: along its upper end, and back along its lower one."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return graph_objects().Scatter(
        x=numpy.concatenate([curve.rates, curve.rates[::-1]]).round(3),
        y=numpy.concatenate([curve.high, curve.low[::-1]]).round(4),
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.2)",
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )


def _logistic_curve(curve: Curve, name: str, color: str, dash: str) -> Any:
    return graph_objects().Scatter(
        x=curve.rates.round(3),
        y=curve.probability.round(4),
        mode="lines",
        line={"color": color, "dash": dash, "width": 2},
        name=f"{name}, logistic fit",
        hovertemplate="rate %{x:.2f}: %{y:.1%}<extra></extra>",
    )


def compared_runs(group: MatchedRuns, side: int) -> "pandas.DataFrame":
    """The runs of one side that a comparison draws: circular accurate ones where circularity is
    defined, else accurate ones.
    """
    return circular(group.runs[side]) if group.circular else accurate(group.runs[side])


def compared_transition(comparison: Comparison, group: MatchedRuns, row: BoundaryRow) -> "Figure":
    """Both sides of a comparison in one transition."""
    sides = []
    for side, boundary in enumerate(row.sides):
        sides.append((comparison.sides[side].name, compared_runs(group, side), boundary))
    return transition(sides, row.measure)


def share_names(
    comparison: Comparison, groups: Sequence[MatchedRuns]
) -> list[tuple[str, tuple[Share, Share]]]:
    """The shares over all rates of these groups, each with its name."""
    labels = {group.label for group in groups}
    named_shares = []
    for row in comparison.shares:
        if row.where == ALL_RATES and row.group in labels:
            group = f", {row.group}" if row.group else ""
            named_shares.append((f"{measure_name(row.measure)}{group}", row.shares))
    return named_shares


def compared_shares(comparison: Comparison) -> "Figure":
    """Shares at full accuracy and circular on both sides."""
    rows = share_names(comparison, comparison.groups)
    figure = new_figure(x="share of runs", y="", height=120 + 50 * len(rows))
    for side, (color, symbol, _) in enumerate(SIDES):
        shares = list[Share]()
        heights = list[float]()
        for index, (_, shares_of_sides) in enumerate(rows):
            if shares_of_sides[side].total:
                shares.append(shares_of_sides[side])
                heights.append(index + (-0.14, 0.14)[side])
        x = [share.value for share in shares]
        name = inert_text(comparison.sides[side].name)
        figure.add_trace(_whiskers(x, heights, shares, color, symbol, name, across=True))
    names = [inert_text(name) for name, _ in rows]
    ticks = {"tickvals": list(range(len(rows))), "ticktext": names}
    figure.update_yaxes(**ticks, autorange="reversed")
    figure.update_yaxes(automargin=True)
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    return figure
