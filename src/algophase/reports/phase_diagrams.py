"""The interactive pictures of a population of runs: phase diagrams, transition lines, shares,
histograms, a comparison.

Every builder returns a plotly Figure and knows nothing of the page it lands on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.catalogue import label, line, quantity
from algophase.analysis.verdict.decide import in_order
from algophase.core.palette import COLORS
from algophase.reports.plotly_style import GREY, graph_objects, look, new_figure, plain
from algophase.runs.boundary import Boundary
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
PAPER_LINE = {
    "color": GREY,
    "dash": "dot",
    "width": 1.5,
}  # where the paper draws the line between the phases
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
    kind = _kind(runs)
    size = 7 if len(runs) <= 500 else 5 if len(runs) <= 4000 else 4
    counts = runs["_verdict"].value_counts()
    for verdict in sorted(
        in_order(counts.index), key=lambda name: (name != "non-circular", -counts[name])
    ):
        some = runs[runs["_verdict"] == verdict]
        colour, symbol = look(verdict)
        faint = verdict == "non-circular"
        names = (
            [plain(name) for name in some["run_id"]]
            if "run_id" in some
            else [f"row {place}" for place in some.index]
        )
        figure.add_trace(
            kind(
                x=some[x].to_numpy(numpy.float32),
                y=some[y].to_numpy(numpy.float32),
                mode="markers",
                name=f"{plain(verdict)} ({len(some):,})",
                text=names,
                marker={
                    "color": colour,
                    "symbol": symbol,
                    "size": size,
                    "opacity": 0.35 if faint else 0.75,
                },
                hovertemplate=f"run %{{text}}: {plain(verdict)}<br>{hover}<extra></extra>",
            )
        )
    figure.update_layout(legend={"itemsizing": "constant"})


def rate_by_metric(
    population: Runs, metric: str, boundary: Boundary | None = None, marks: Sequence[Mark] = ()
) -> "Figure":
    """A metric of accurate runs against the attention rate, coloured by verdict, with the
    paper's line and the transition.
    """
    runs = population.accurate.frame
    runs = runs[runs["_rate"].notna() & runs[metric].notna()]
    figure = new_figure(x="attention rate", y=label(metric), height=420)
    _scatter(
        figure, runs, "_rate", metric, f"attention rate %{{x:.4f}}<br>{label(metric)} %{{y:.4f}}"
    )
    if quantity(metric).line is not None:
        figure.add_hline(y=line(metric).value, line=PAPER_LINE)
    if boundary is not None and boundary.rate is not None and boundary.within:
        figure.add_vline(x=boundary.rate.value, line={"color": GREY, "width": 2})
        if boundary.rate.interval is not None:
            low, high = boundary.rate.interval
            figure.add_vrect(
                x0=max(0, low), x1=min(1, high), fillcolor=GREY, opacity=0.2, line_width=0
            )
    _mark(
        figure,
        [mark for mark in marks if mark.rate == mark.rate and metric in mark.values],
        metric,
        _kind(runs),
    )
    edge = 0.04 if marks else 0.02  # room for a mark at a rate of 0 or 1
    figure.update_xaxes(range=[-edge, 1 + edge])
    return figure


def _mark(figure: "Figure", marks: Sequence[Mark], metric: str, kind: Any) -> None:
    """kind: how the runs are drawn; WebGL is painted over shapes, and would hide them."""
    for mark in marks:
        colour, symbol = look(mark.verdict)
        symbol = "hexagon" if symbol == "x" else symbol  # room for the number
        figure.add_trace(
            kind(
                x=[mark.rate],
                y=[mark.values[metric]],
                mode="markers+text",
                text=[str(mark.number)],
                textposition="middle center",
                textfont={"size": 12, "color": "white" if mark.verdict == "Clock" else "black"},
                marker={
                    "color": colour,
                    "symbol": symbol,
                    "size": 22,
                    "line": {"color": "black", "width": 1.5},
                },
                showlegend=False,
                hovertemplate=f"{mark.number}: {plain(mark.name)}, {plain(mark.verdict)}<br>"
                f"attention rate %{{x:.4f}}<br>{label(metric)} %{{y:.4f}}<extra></extra>",
            )
        )


def boundary_rates(boundary: Boundary, widths: Iterable[float]) -> tuple[Floats, Floats] | None:
    """Rates and widths along a boundary that depends on the width; None where there is no such
    boundary.
    """
    lengths = numpy.fromiter(widths, float)
    if (
        boundary.rate is None
        or boundary.slope is None
        or boundary.width is None
        or not len(lengths)
    ):
        return None
    along = numpy.geomspace(lengths.min(), lengths.max(), 50)
    return boundary.rate.value + boundary.slope.value * numpy.log2(along / boundary.width), along


def rate_by_width(
    population: Runs, boundaries: Mapping[str, Boundary] = MappingProxyType({})
) -> "Figure":
    """Circular accurate runs by rate and width, coloured by verdict, with the transition lines
    (figure 7, bottom).

    boundaries: by metric.
    """
    runs = population.core.frame
    runs = runs[runs["_rate"].notna() & runs["width"].notna()]
    figure = new_figure(x="attention rate", y="width", height=460)
    _scatter(figure, runs, "_rate", "width", "attention rate %{x:.4f}<br>width %{y:g}")
    for index, (metric, boundary) in enumerate(boundaries.items()):
        found, name = boundary_rates(boundary, runs["width"]), plain(quantity(metric).phase)
        if found is None:
            continue
        figure.add_trace(
            graph_objects().Scatter(
                x=found[0],
                y=found[1],
                mode="lines",
                name=name,
                line={
                    "color": COLORS[(3, 5, 4)[index % 3]],
                    "dash": ("solid", "dash", "dot")[index % 3],
                    "width": 2.5,
                },
                hovertemplate=f"{name}: half of the runs<br>rate %{{x:.3f}} at width "
                f"%{{y:.0f}}<extra></extra>",
            )
        )
    figure.update_xaxes(range=[-0.02, 1.02])
    figure.update_yaxes(type="log", dtick=numpy.log10(2).item(), tickformat=".0f")
    return figure


def metric_plane(population: Runs, x: str, y: str) -> "Figure":
    """Two metrics of accurate runs against each other, coloured by verdict."""
    runs = population.accurate.frame
    runs = runs[runs[x].notna() & runs[y].notna()]
    figure = new_figure(x=label(x), y=label(y), height=420)
    _scatter(figure, runs, x, y, f"{label(x)} %{{x:.4f}}<br>{label(y)} %{{y:.4f}}")
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
    go = graph_objects()
    figure = new_figure(x=name, y="runs", height=height, barmode="stack", bargap=0)
    known = [*values, marked] if marked is not None and marked == marked else list(values)
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-6 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    edges = numpy.linspace(low, high, BINS + 1)
    names, there = numpy.asarray(verdicts, dtype=object), in_order(verdicts)
    for verdict in there:
        counts, _ = numpy.histogram(values[names == verdict], bins=edges)
        figure.add_trace(
            go.Bar(
                x=((edges[:-1] + edges[1:]) / 2).round(6),
                y=counts,
                width=float(edges[1] - edges[0]),
                name=plain(verdict),
                marker={"color": look(verdict)[0], "line": {"width": 0}},
                hovertemplate=f"{plain(verdict)}: %{{y}} runs at about %{{x:.3f}}<extra></extra>",
            )
        )
    if marked is not None and marked == marked:
        figure.add_vline(x=marked, line={"color": COLORS[5], "width": 3})
    figure.update_layout(showlegend=len(there) > 1)
    return figure


def standing_figure(standing: MetricStanding) -> "Figure":
    """A metric over a population, with one network's value marked."""
    values = standing.values
    figure = histogram(
        values["value"].to_numpy(float), values["_verdict"].tolist(), "", standing.value, height=190
    )
    figure.update_layout(
        showlegend=False, margin={"t": 12, "b": 28}, xaxis={"tickangle": 0, "nticks": 4}
    )
    return figure


def shares_figure(shares: Mapping[str, Share]) -> "Figure":
    """Shares of verdicts with their 95% intervals, one row each."""
    figure = new_figure(x="share of runs", y="", height=90 + 34 * len(shares), showlegend=False)
    for name, share in shares.items():
        if not share.total:
            continue
        colour, symbol = look(name)
        _whisker(
            figure, [share.value], [plain(name)], [share], colour, symbol, plain(name), across=True
        )
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def _whisker(
    figure: "Figure",
    x: Sequence[Any],
    y: Sequence[Any],
    shares: Sequence[Share],
    colour: str,
    symbol: str,
    name: str,
    *,
    across: bool,
    **more: Any,
) -> None:
    reach = {
        "type": "data",
        "symmetric": False,
        "array": [share.interval[1] - share.value for share in shares],
        "arrayminus": [share.value - share.interval[0] for share in shares],
        "color": colour,
        "thickness": 1.5,
    }
    figure.add_trace(
        graph_objects().Scatter(
            x=list(x),
            y=list(y),
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": 8},
            text=[str(share) for share in shares],
            hovertemplate=f"{name}: %{{text}}<extra></extra>",
            **{"error_x" if across else "error_y": reach},
            **more,
        )
    )


def shares_by_tenth(runs: "pandas.DataFrame", measure: str) -> list[tuple[int, Share]]:
    """Of the runs in each tenth of the attention rate, how many are inside a metric's phase.
    Empty tenths are omitted.
    """
    if measure not in runs:
        return []
    known = runs[runs[measure].notna() & (runs["_tenth"] >= 0)]
    inside = inside_phase(known, measure)
    there = [(tenth, known["_tenth"] == tenth) for tenth in range(TENTHS)]
    return [
        (tenth, Share(int(inside[here].sum()), int(here.sum())))
        for tenth, here in there
        if here.any()
    ]


def transition(
    sides: Sequence[tuple[str, "pandas.DataFrame", Boundary | None]], measure: str
) -> "Figure":
    """Share of runs inside a phase in each tenth of the rate, over the logistic curve with its
    bootstrap band (figure 7).

    sides: one population, or two to compare: name, runs, and the boundary fitted to them.
    """
    figure = new_figure(x="attention rate", y="share inside", height=340, showlegend=len(sides) > 1)
    go = graph_objects()
    for side, (name, runs, boundary) in enumerate(sides):
        colour, symbol, dash = SIDES[side]
        name = plain(name)
        if boundary is not None and boundary.curve is not None:
            curve = boundary.curve
            band = numpy.concatenate([curve.high, curve.low[::-1]]).round(4)
            figure.add_trace(
                go.Scatter(
                    x=numpy.concatenate([curve.rates, curve.rates[::-1]]).round(3),
                    y=band,
                    fill="toself",
                    fillcolor=f"rgba({','.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))},0.2)",
                    line={"width": 0},
                    mode="lines",
                    hoverinfo="skip",
                    showlegend=False,
                )
            )
            figure.add_trace(
                go.Scatter(
                    x=curve.rates.round(3),
                    y=curve.probability.round(4),
                    mode="lines",
                    line={"color": colour, "dash": dash, "width": 2},
                    name=f"{name}, logistic fit",
                    hovertemplate="rate %{x:.2f}: %{y:.1%}<extra></extra>",
                )
            )
        found = shares_by_tenth(runs, measure)
        shift = (0.06, -0.06)[side] if len(sides) > 1 else 0.0
        places, shares = (
            [(tenth + 0.5 + shift) / TENTHS for tenth, _ in found],
            [share for _, share in found],
        )
        if shares:
            _whisker(
                figure,
                places,
                [share.value for share in shares],
                shares,
                colour,
                symbol,
                name,
                across=False,
            )
    figure.update_xaxes(range=[-0.02, 1.02])
    figure.update_yaxes(range=[-0.04, 1.04], tickformat=".0%")
    return figure


def compared_runs(group: MatchedRuns, side: int) -> "pandas.DataFrame":
    """The runs of one side that a comparison draws: circular accurate ones where circularity is
    defined, else accurate ones.
    """
    return circular(group.runs[side]) if group.circular else accurate(group.runs[side])


def compared_transition(comparison: Comparison, group: MatchedRuns, row: BoundaryRow) -> "Figure":
    """Both sides of a comparison in one transition."""
    names = [side.name for side in comparison.sides]
    return transition(
        [(names[i], compared_runs(group, i), row.sides[i]) for i in (0, 1)], row.measure
    )


def share_names(
    comparison: Comparison, groups: Sequence[MatchedRuns]
) -> list[tuple[str, tuple[Share, Share]]]:
    """The shares over all rates of these groups, each with its name."""
    labels = {group.label for group in groups}
    rows = [row for row in comparison.shares if row.where == ALL_RATES and row.group in labels]
    return [
        (measure_name(row.measure) + (f", {row.group}" if row.group else ""), row.shares)
        for row in rows
    ]


def compared_shares(comparison: Comparison) -> "Figure":
    """Shares at full accuracy and circular on both sides."""
    rows = share_names(comparison, comparison.groups)
    figure = new_figure(x="share of runs", y="", height=120 + 50 * len(rows))
    for side, (colour, symbol, _) in enumerate(SIDES):
        kept = [
            (index, shares[side]) for index, (_, shares) in enumerate(rows) if shares[side].total
        ]
        places = [index + (-0.14, 0.14)[side] for index, _ in kept]
        shares = [share for _, share in kept]
        name = plain(comparison.sides[side].name)
        _whisker(
            figure,
            [share.value for share in shares],
            places,
            shares,
            colour,
            symbol,
            name,
            across=True,
        )
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[plain(name) for name, _ in rows],
        autorange="reversed",
    )
    figure.update_yaxes(automargin=True)
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    return figure
