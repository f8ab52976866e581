"""The interactive pictures of a population of runs: phase diagrams, transition lines, shares, histograms, a comparison.

Every builder returns a plotly Figure and knows nothing of the page it lands on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.verdict import in_order
from algophase.report.plotly_style import GREY, graph_objects, look, new_figure, plain
from algophase.report.style import COLOURS
from algophase.runs.boundary import Boundary
from algophase.runs.comparison import NAMES, SYMMETRIC, SYMMETRICITY, BoundaryRow, Comparison, inside_phase, phase_line
from algophase.runs.matching import Group, accurate, circular
from algophase.runs.runs import EXACT, LABELS, Population, Standing
from algophase.runs.statistics import TENTHS, Floats, Share

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

MOST_DRAWN_AS_SHAPES = 1000  # more points are drawn by the graphics card
BINS = 40
# Ours and theirs, as in the printed comparison.
SIDES = ((COLOURS[0], "circle", "solid"), (COLOURS[5], "square", "dash"))


@dataclass(frozen=True)
class Mark:
    """A single network shown among the runs. number: what the picture writes beside it."""

    number: int
    name: str
    verdict: str
    rate: float
    values: dict[str, float]


def _kind(runs: "pandas.DataFrame") -> Any:
    go = graph_objects()
    return go.Scattergl if len(runs) > MOST_DRAWN_AS_SHAPES else go.Scatter


def _scatter(figure: "Figure", runs: "pandas.DataFrame", x: str, y: str, hover: str) -> None:
    """Runs as points by verdict; what there is most of is drawn first, so that it hides nothing."""
    kind = _kind(runs)
    size = 7 if len(runs) <= 500 else 5 if len(runs) <= 4000 else 4
    counts = runs["_verdict"].value_counts()
    for verdict in sorted(in_order(counts.index), key=lambda name: (name != "non-circular", -counts[name])):
        some = runs[runs["_verdict"] == verdict]
        colour, symbol = look(verdict)
        faint = verdict == "non-circular"
        names = [plain(name) for name in some["run_id"]] if "run_id" in some else [f"row {place}" for place in some.index]
        figure.add_trace(
            kind(
                x=some[x].to_numpy(numpy.float32),
                y=some[y].to_numpy(numpy.float32),
                mode="markers",
                name=f"{plain(verdict)} ({len(some):,})",
                text=names,
                marker={"color": colour, "symbol": symbol, "size": size, "opacity": 0.35 if faint else 0.75},
                hovertemplate=f"run %{{text}}: {plain(verdict)}<br>{hover}<extra></extra>",
            )
        )
    figure.update_layout(legend={"itemsizing": "constant"})


def rate_by_metric(
    population: Population, metric: str, boundary: Boundary | None = None, marks: Sequence[Mark] = ()
) -> "Figure":
    """A metric of accurate runs against the attention rate, coloured by verdict, with the paper's line and the transition."""
    runs = accurate(population.runs)
    runs = runs[runs["_rate"].notna() & runs[metric].notna()]
    figure = new_figure(x="attention rate", y=LABELS[metric], height=420)
    _scatter(figure, runs, "_rate", metric, "attention rate %{x:.4f}<br>" + LABELS[metric] + " %{y:.4f}")
    measured = SYMMETRICITY if metric == EXACT else metric
    figure.add_hline(y=phase_line(measured), line={"color": GREY, "dash": "dot", "width": 1.5})
    if boundary is not None and boundary.rate is not None and boundary.within:
        figure.add_vline(x=boundary.rate.value, line={"color": GREY, "width": 2})
        if boundary.rate.interval is not None:
            low, high = boundary.rate.interval
            figure.add_vrect(x0=max(0, low), x1=min(1, high), fillcolor=GREY, opacity=0.2, line_width=0)
    _mark(figure, [mark for mark in marks if mark.rate == mark.rate and metric in mark.values], metric, _kind(runs))
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
                marker={"color": colour, "symbol": symbol, "size": 22, "line": {"color": "black", "width": 1.5}},
                showlegend=False,
                hovertemplate=f"{mark.number}: {plain(mark.name)}, {plain(mark.verdict)}<br>"
                f"attention rate %{{x:.4f}}<br>{LABELS[metric]} %{{y:.4f}}<extra></extra>",
            )
        )


def rate_by_width(population: Population, boundaries: Sequence[tuple[str, Boundary]] = ()) -> "Figure":
    """Circular accurate runs by rate and width, coloured by verdict, with the transition lines (figure 7, bottom)."""
    runs = population.core
    runs = runs[runs["_rate"].notna() & runs["width"].notna()]
    figure = new_figure(x="attention rate", y="width", height=460)
    _scatter(figure, runs, "_rate", "width", "attention rate %{x:.4f}<br>width %{y:g}")
    for index, (name, boundary) in enumerate(boundaries):
        if boundary.rate is None or boundary.slope is None or boundary.width is None or runs.empty:
            continue
        widths = numpy.geomspace(runs["width"].min(), runs["width"].max(), 50)
        rates = boundary.rate.value + boundary.slope.value * numpy.log2(widths / boundary.width)
        figure.add_trace(
            graph_objects().Scatter(
                x=rates,
                y=widths,
                mode="lines",
                name=name,
                line={"color": COLOURS[(3, 5, 4)[index % 3]], "dash": ("solid", "dash", "dot")[index % 3], "width": 2.5},
                hovertemplate=f"{name}: half of the runs<br>rate %{{x:.3f}} at width %{{y:.0f}}<extra></extra>",
            )
        )
    figure.update_xaxes(range=[-0.02, 1.02])
    figure.update_yaxes(type="log", dtick=numpy.log10(2).item(), tickformat=".0f")
    return figure


def metric_plane(population: Population, x: str, y: str) -> "Figure":
    """Two metrics of accurate runs against each other, coloured by verdict."""
    runs = accurate(population.runs)
    runs = runs[runs[x].notna() & runs[y].notna()]
    figure = new_figure(x=LABELS[x], y=LABELS[y], height=420)
    _scatter(figure, runs, x, y, f"{LABELS[x]} %{{x:.4f}}<br>{LABELS[y]} %{{y:.4f}}")
    line = {"color": GREY, "dash": "dot", "width": 1.5}
    figure.add_vline(x=phase_line(x), line=line)
    figure.add_hline(y=phase_line(y), line=line)
    return figure


def histogram(values: Floats, verdicts: Sequence[str], label: str, marked: float | None = None, height: int = 240) -> "Figure":
    """How a metric is spread, stacked by verdict; `marked` is one network's value."""
    go = graph_objects()
    figure = new_figure(x=label, y="runs", height=height, barmode="stack", bargap=0)
    known = [*values, marked] if marked is not None and marked == marked else list(values)
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-6 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    edges = numpy.linspace(low, high, BINS + 1)
    names, labels = numpy.asarray(verdicts, dtype=object), in_order(verdicts)
    for verdict in labels:
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
        figure.add_vline(x=marked, line={"color": COLOURS[5], "width": 3})
    figure.update_layout(showlegend=len(labels) > 1)
    return figure


def standing_figure(standing: Standing) -> "Figure":
    """A metric over a population, with one network's value marked."""
    values = standing.values
    figure = histogram(values["value"].to_numpy(float), values["_verdict"].tolist(), "", standing.value, height=190)
    figure.update_layout(showlegend=False, margin={"t": 12, "b": 28}, xaxis={"tickangle": 0, "nticks": 4})
    return figure


def shares_figure(names: Sequence[str], shares: Sequence[Share]) -> "Figure":
    """Shares with their 95% intervals, one row each."""
    figure = new_figure(x="share of runs", y="", height=90 + 34 * len(names), showlegend=False)
    for name, share in zip(names, shares, strict=True):
        if not share.total:
            continue
        colour, symbol = look(name)
        _whisker(figure, [share.value], [plain(name)], [share], colour, symbol, plain(name), across=True)
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


def transition(sides: Sequence[tuple[str, "pandas.DataFrame", Boundary | None]], measure: str) -> "Figure":
    """Share of runs inside a phase in each tenth of the rate, over the logistic curve with its bootstrap band (figure 7).

    sides: one population, or two to compare: name, runs, and the boundary fitted to them.
    """
    figure = new_figure(x="attention rate", y="share inside", height=340, showlegend=len(sides) > 1)
    go = graph_objects()
    for side, (name, runs, boundary) in enumerate(sides):
        colour, symbol, dash = SIDES[side]
        label = plain(name)
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
                    name=f"{label}, logistic fit",
                    hovertemplate="rate %{x:.2f}: %{y:.1%}<extra></extra>",
                )
            )
        known = runs[runs[measure].notna() & (runs["_tenth"] >= 0)] if measure in runs else runs.iloc[:0]
        inside, places, shares = inside_phase(known, measure) if len(known) else None, [], []
        for tenth in range(TENTHS):
            here = known["_tenth"] == tenth
            if inside is not None and here.any():
                places.append((tenth + 0.5 + (0.06, -0.06)[side] * (len(sides) > 1)) / TENTHS)
                shares.append(Share(int(inside[here].sum()), int(here.sum())))
        if shares:
            _whisker(figure, places, [s.value for s in shares], shares, colour, symbol, label, across=False)
    figure.update_xaxes(range=[-0.02, 1.02])
    figure.update_yaxes(range=[-0.04, 1.04], tickformat=".0%")
    return figure


def phase_name(measure: str) -> str:
    line = phase_line(measure)
    return f"{LABELS[measure]} {'>' if measure in SYMMETRIC else '<'} {line:g}".replace("<", "&lt;").replace(">", "&gt;")


def compared_transition(comparison: Comparison, group: Group, row: BoundaryRow) -> "Figure":
    """Both sides of a comparison in one transition."""
    runs = [circular(side) if group.circular else accurate(side) for side in group.runs]
    names = [side.name for side in comparison.sides]
    return transition([(names[i], runs[i], row.sides[i]) for i in (0, 1)], row.measure)


def compared_shares(comparison: Comparison) -> "Figure":
    """Shares at full accuracy and circular on both sides."""
    rows = [row for row in comparison.shares if row.where == "all rates"]
    labels = [NAMES[row.measure] + (f", {row.group}" if row.group else "") for row in rows]
    figure = new_figure(x="share of runs", y="", height=120 + 50 * len(rows))
    for side, (colour, symbol, _) in enumerate(SIDES):
        kept = [(index, row.shares[side]) for index, row in enumerate(rows) if row.shares[side].total]
        places = [index + (-0.14, 0.14)[side] for index, _ in kept]
        shares = [share for _, share in kept]
        name = plain(comparison.sides[side].name)
        _whisker(figure, [share.value for share in shares], places, shares, colour, symbol, name, across=True)
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=[plain(label) for label in labels], autorange="reversed")
    figure.update_yaxes(automargin=True)
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    return figure
