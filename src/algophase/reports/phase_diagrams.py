"""The pictures of a population of runs: phase diagrams, transition lines, shares, histograms, a
comparison.

Every builder returns a `Panel`: a page draws it with Plotly, and print with Matplotlib.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy

from algophase.analysis.catalogue import label, line, quantity
from algophase.core.palette import COLORS, in_order, look
from algophase.pictures.by_rate import RATE, run_panel
from algophase.pictures.marks import (
    Axis,
    Band,
    Bars,
    Dash,
    Hover,
    Line,
    Mark,
    Panel,
    Rule,
    Whiskers,
)
from algophase.runs.boundary import Boundary
from algophase.runs.comparison import Comparison
from algophase.runs.findings import ALL_RATES, BoundaryRow, measure_name
from algophase.runs.matching import MatchedRuns
from algophase.runs.pictures import verdict_kinds
from algophase.runs.runs import Runs
from algophase.runs.standing import MetricStanding
from algophase.runs.statistics import TENTHS, Floats, Share

BINS = 40
RATES = Axis(name=RATE, limits=(-0.02, 1.02))
WIDTHS = Axis(name="width", scale="log2")
BOUNDARY_LINES: tuple[tuple[str, Dash], ...] = (
    (COLORS[3], "-"),
    (COLORS[5], "--"),
    (COLORS[4], ":"),
)
# Ours and theirs: color, marker, dash. Blue is drawn over vermilion: theirs usually has more runs.
SIDES: tuple[tuple[str, str, Dash], ...] = ((COLORS[0], "o", "-"), (COLORS[5], "s", "--"))


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


def boundary_line(
    boundary: Boundary, widths: Iterable[float], color: str, dash: Dash, name: str = ""
) -> list[Line]:
    """Where half of the runs are inside, by rate and width; empty without such a boundary."""
    curve = boundary_rates(boundary, widths)
    if curve is None:
        return []
    hover = Hover("{name}: half of the runs", "rate {x:.3f} at width {y:.0f}", name=name)
    x, y = curve
    style: dict[str, Any] = {"color": color, "dash": dash, "width": 1.4, "layer": 100}
    return [Line(x=x, y=y, name=name, hover=hover, **style)]


def rate_by_width(
    population: Runs,
    boundaries: Mapping[str, Boundary] = MappingProxyType({}),
    caption: str = "",
    alt: str = "",
) -> Panel:
    """Circular accurate runs by rate and width, colored by verdict, with the transition lines
    (figure 7, bottom).

    boundaries: by metric.
    """
    runs = population.core.frame
    lines = list[Mark]()
    drawn = runs[runs["_rate"].notna() & runs["width"].notna()]
    for index, (metric, boundary) in enumerate(boundaries.items()):
        color, dash = BOUNDARY_LINES[index % len(BOUNDARY_LINES)]
        lines += boundary_line(boundary, drawn["width"], color, dash, quantity(metric).phase)
    kinds = verdict_kinds(runs, "_rate", "width")
    return run_panel(kinds, RATES, WIDTHS, more=lines, height=460, caption=caption, alt=alt)


def metric_plane(population: Runs, x: str, y: str, caption: str = "", alt: str = "") -> Panel:
    """Two metrics of accurate runs against each other, colored by verdict."""
    kinds = verdict_kinds(population.accurate.frame, x, y)
    lines = []
    if quantity(x).line is not None:
        lines.append(Rule(x=line(x).value))
    if quantity(y).line is not None:
        lines.append(Rule(y=line(y).value))
    axes = Axis(name=label(x)), Axis(name=label(y))
    return run_panel(kinds, *axes, lines, height=420, caption=caption, alt=alt)


def histogram(
    values: Floats,
    verdicts: Sequence[str],
    name: str,
    marked: float | None = None,
    height: int = 240,
    caption: str = "",
    alt: str = "",
) -> Panel:
    """How a metric is spread, stacked by verdict; `marked` is one network's value.

    name: of the metric; without one, verdicts are not named in a legend either.
    """
    if marked is not None and math.isnan(marked):
        marked = None
    edges = _bin_edges(values if marked is None else [*values, marked])
    middles = ((edges[:-1] + edges[1:]) / 2).round(6)
    verdict_of_run = numpy.asarray(verdicts, dtype=object)
    below = numpy.zeros(BINS, int)
    marks = list[Mark]()
    for verdict in in_order(verdicts):
        counts, _ = numpy.histogram(values[verdict_of_run == verdict], bins=edges)
        bars = Bars(
            positions=middles,
            lengths=counts,
            start=below,
            thickness=float(edges[1] - edges[0]),
            color=look(verdict)[0],
            name=verdict if name else "",
            hover=Hover("{verdict}: {text} runs at about {x:.3f}", verdict=verdict),
            texts=[str(count) for count in counts],
        )
        marks.append(bars)
        below = below + counts
    if marked is not None:
        marks.append(Rule(x=marked, color=COLORS[5], dash="-", width=1.7))
    return Panel(
        marks=marks,
        x=Axis(name=name),
        y=Axis(name="runs"),
        height=height,
        caption=caption,
        alt=alt,
    )


def _bin_edges(values: Sequence[float] | Floats) -> Floats:
    """Of a histogram of all these values, (BINS + 1,)."""
    low, high = (min(values), max(values)) if len(values) else (0.0, 1.0)
    if high - low < 1e-6 * max(1.0, abs(high)):
        low = low - 0.5
        high = high + 0.5
    return numpy.linspace(low, high, BINS + 1)


def standing_panel(standing: MetricStanding, alt: str) -> Panel:
    """A metric over a population, with one network's value marked."""
    values = standing.values["value"].to_numpy(float)
    verdicts = standing.values["_verdict"].tolist()
    return histogram(
        values, verdicts, "", standing.value, height=190, caption=str(standing), alt=alt
    )


def shares_panel(shares: Mapping[str, Share], caption: str = "", alt: str = "") -> Panel:
    """Shares of verdicts with their 95% intervals, one row each."""
    marks = list[Mark]()
    for row, (name, share) in enumerate(shares.items()):
        if share.total:
            color, marker = look(name)
            marks.append(_whiskers([row], [share], color, marker, name, horizontal=True))
    return Panel(
        marks=marks,
        x=Axis(name="share of runs", limits=(-0.02, 1.02), format=".0%"),
        y=_rows_axis(list(shares)),
        height=90 + 34 * len(shares),
        caption=caption,
        alt=alt,
    )


def _rows_axis(names: Sequence[str]) -> Axis:
    """One row per name, the first on top."""
    limits = (-0.5, len(names) - 0.5)
    return Axis(ticks=range(len(names)), tick_names=names, limits=limits, reverse=True)


def _whiskers(
    positions: Sequence[float],
    shares: Sequence[Share],
    color: str,
    marker: str,
    name: str,
    *,
    horizontal: bool,
    named: bool = False,
) -> Whiskers:
    """Shares as points with their 95% intervals. horizontal: they lie along x; named: in the
    legend.
    """
    values = [share.value for share in shares]
    return Whiskers(
        x=values if horizontal else positions,
        y=positions if horizontal else values,
        low=[share.interval[0] for share in shares],
        high=[share.interval[1] for share in shares],
        horizontal=horizontal,
        color=color,
        marker=marker,
        name=name if named else "",
        hover=Hover("{name}: {text}", name=name),
        texts=[str(share) for share in shares],
        layer=1,
    )


def shares_by_tenth(runs: Runs, measure: str) -> list[tuple[int, Share]]:
    """Of the runs in each tenth of the attention rate, how many are inside a metric's phase.
    Empty tenths are omitted.
    """
    if measure not in runs:
        return []
    measured = runs.where(runs[measure].notna() & (runs["_tenth"] >= 0))
    is_inside = measured.inside_phase(measure)
    shares = []
    for tenth in range(TENTHS):
        in_tenth = measured["_tenth"] == tenth
        if in_tenth.any():
            share = Share(int(is_inside[in_tenth].sum()), int(in_tenth.sum()))
            shares.append((tenth, share))
    return shares


def transition(
    sides: Sequence[tuple[str, Runs, Boundary | None]],
    measure: str,
    caption: str = "",
    alt: str = "",
) -> Panel:
    """Share of runs inside a phase in each tenth of the rate, over the logistic curve with its
    bootstrap band (figure 7).

    sides: one population, or two to compare: name, runs, and the boundary fitted to them.
    """
    marks = list[Mark]()
    both = len(sides) > 1
    for side, (name, runs, boundary) in enumerate(sides):
        color, marker, dash = SIDES[side]
        if boundary is not None and boundary.curve is not None:
            curve = boundary.curve
            marks.append(Band(x=curve.rates, low=curve.low, high=curve.high, color=color))
            fit = Line(
                x=curve.rates,
                y=curve.probability,
                color=color,
                dash=dash,
                name=f"{name}, logistic fit" if both else "",
                hover=Hover("rate {x:.2f}: {y:.1%}"),
            )
            marks.append(fit)
        tenths = shares_by_tenth(runs, measure)
        if tenths:
            # Two sides stand side by side, not on top of each other.
            shift = (0.06, -0.06)[side] if both else 0.0
            positions = [(tenth + 0.5 + shift) / TENTHS for tenth, _ in tenths]
            shares = [share for _, share in tenths]
            points = _whiskers(positions, shares, color, marker, name, horizontal=False, named=both)
            marks.append(replace(points, layer=2 - side))  # ours above theirs
    return Panel(
        marks=marks,
        x=RATES,
        y=Axis(name="share inside", limits=(-0.04, 1.04), format=".0%"),
        height=340,
        caption=caption,
        alt=alt,
    )


def compared_runs(group: MatchedRuns, side: int) -> Runs:
    """The runs of one side that a comparison draws: circular accurate ones where circularity is
    defined, else accurate ones.
    """
    runs = group.runs[side]
    return runs.circular if group.circular else runs.accurate


def compared_transition(
    comparison: Comparison, group: MatchedRuns, row: BoundaryRow, caption: str = "", alt: str = ""
) -> Panel:
    """Both sides of a comparison in one transition."""
    sides = []
    for side, boundary in enumerate(row.sides):
        sides.append((comparison.sides[side].name, compared_runs(group, side), boundary))
    return transition(sides, row.measure, caption, alt)


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


def compared_shares(comparison: Comparison, groups: Sequence[MatchedRuns]) -> Panel:
    """Shares at full accuracy and circular on both sides, theirs just below ours."""
    rows = share_names(comparison, groups)
    marks = list[Mark]()
    for side, (color, marker, _) in enumerate(SIDES):
        shares = list[Share]()
        heights = list[float]()
        for index, (_, shares_of_sides) in enumerate(rows):
            if shares_of_sides[side].total:
                shares.append(shares_of_sides[side])
                heights.append(index + (-0.15, 0.15)[side])
        name = comparison.sides[side].name
        marks.append(_whiskers(heights, shares, color, marker, name, horizontal=True, named=True))
    return Panel(
        marks=marks,
        x=Axis(name="share of runs, with 95% intervals", limits=(-0.02, 1.02), format=".0%"),
        y=_rows_axis([name for name, _ in rows]),
        height=120 + 50 * len(rows),
        caption="shares on both sides, with 95% intervals",
        alt="Shares at full accuracy and circular, both sides.",
    )
