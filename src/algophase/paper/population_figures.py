"""Pictures of populations: metrics by attention rate, over rate and width, against each other,
and of linear models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

from algophase.analysis.catalogue import CIRCULARITY, IRRELEVANCE, SYMMETRICITY, label, line
from algophase.core.palette import COLORS, GRAY, MARKERS, VERDICTS
from algophase.paper.populations import (
    INSIDE,
    LOW,
    MEASURES,
    SYMMETRIC,
    Transition,
    by_circularity,
    lines_by_width,
)
from algophase.paper.rules import THRESHOLDS
from algophase.pictures.by_rate import Kind, metric_by_rate, transition_marks
from algophase.pictures.marks import (
    Axis,
    Bars,
    Figure,
    Legend,
    Line,
    Mark,
    Panel,
    Points,
    Rule,
    Shades,
    point_size,
)
from algophase.reports.phase_diagrams import RATES, WIDTHS, boundary_rates
from algophase.runs.boundary import Boundary
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    import pandas

WIDTH = 6.6  # inches
BLACK, WHITE = "#000000", "#FFFFFF"
LINE = COLORS[5]
SHARES = (-0.02, 1.02)  # the ends of an axis for a metric between 0 and 1
BINS = numpy.linspace(0, 1, 21)
# How a kind of run is drawn: color, marker.
KINDS = {
    "runs": (COLORS[0], MARKERS[0]),
    "not circular": (GRAY, MARKERS[0]),
    "circular": (COLORS[0], MARKERS[0]),
    **{verdict: VERDICTS[verdict] for verdict in ("Pizza", "hybrid", "Clock")},
}
Kinds = Mapping[str, Runs]


def by_verdict(runs: Runs) -> Kinds:
    return {kind: runs.where(runs["paper_label"] == kind) for kind in ("Pizza", "hybrid", "Clock")}


def rate_panel(kinds: Kinds, measure: str, transition: Transition | None, lowest: float) -> Panel:
    """One metric by attention rate, with the boundary as a line, its interval as a band and the
    phase's limit dotted. lowest: of the symmetricity.
    """
    drawn = []
    for kind, runs in kinds.items():
        color, marker = KINDS[kind]
        rates = runs["_rate"].to_numpy()
        values = runs[measure].to_numpy()
        drawn.append(Kind(name=kind, color=color, marker=marker, x=rates, y=values, opacity=0.7))
    panel = metric_by_rate(
        drawn,
        label(measure),
        line(measure).value,
        [] if transition is None else _boundary_marks(transition.boundary),
        counted=False,
        named=True,
    )
    limits = SHARES if measure != SYMMETRICITY else (lowest, SHARES[1])
    return replace(panel, y=replace(panel.y, limits=limits))


def _boundary_marks(boundary: Boundary) -> list[Mark]:
    """Empty without an interval, or with one as wide as all rates: there is no boundary to show."""
    rate = boundary.rate
    if rate is None or not boundary.within or rate.interval is None:
        return []
    low, high = rate.interval
    return transition_marks(rate.value, rate.interval, BLACK, named=True) if high - low < 1 else []


def _rate_row(
    title: str, kinds: Kinds, transitions: Mapping[str, Transition], lowest: float
) -> list[Panel]:
    """Both metrics side by side."""
    panels = [rate_panel(kinds, name, transitions.get(name), lowest) for name in MEASURES]
    return [replace(panels[0], title=title), *panels[1:]]


def _lowest_symmetricity(populations: Sequence[Kinds]) -> float:
    """The lower end of an axis that shows all these runs."""
    lowest = 0.9
    for kinds in populations:
        for runs in kinds.values():
            if len(runs):
                lowest = min(lowest, float(runs[SYMMETRICITY].min()))
    return lowest - 0.04


def rates_figure(
    rows: Sequence[tuple[str, Kinds, Mapping[str, Transition]]], height: float = 2.3
) -> Figure:
    """One row of panels per population (title, its kinds of runs, its transitions), both metrics
    side by side.
    """
    lowest = _lowest_symmetricity([kinds for _, kinds, _ in rows])
    panels = [_rate_row(title, kinds, transitions, lowest) for title, kinds, transitions in rows]
    total = height * len(rows) + 0.45
    return Figure(rows=panels, width=WIDTH, height=total, legend=Legend(where="below"))


def plane_panel(runs: Runs, measure: str, boundary: Boundary) -> Panel:
    """Runs over attention rate and width, colored by a metric, with the line where its phase
    ends.
    """
    low = 0.0
    if measure != IRRELEVANCE and len(runs):
        low = float(min(runs[measure].min(), 0.9))
    points = Points(
        x=runs["_rate"].to_numpy(),
        y=runs["width"].to_numpy(),
        shades=Shades(values=runs[measure].to_numpy(), label=label(measure), low=low, high=1.0),
        size=1.2 * point_size(len(runs)),
    )
    marks: list[Mark] = [points]
    curve = boundary_rates(boundary, runs["width"])
    if curve is not None:
        rates, widths = curve
        in_range = (rates >= 0) & (rates <= 1)
        x = rates[in_range]
        y = widths[in_range]
        marks.append(Line(x=x, y=y, color=WHITE, width=3.2))
        name = f"transition (logistic): {SYMMETRIC}, {INSIDE}"
        marks.append(Line(x=x, y=y, color=LINE, width=1.6, name=name))
    return Panel(marks=marks, x=RATES, y=WIDTHS)


def plane_figure(runs: Runs, lines: Mapping[str, Boundary]) -> Figure:
    panels = [plane_panel(runs, measure, lines[measure]) for measure in MEASURES]
    return Figure(rows=[panels], width=WIDTH, height=2.85, legend=Legend(where="below"))


def unfiltered_figure(
    kinds: Kinds, transitions: Mapping[str, Transition], wide_name: str, wide: Runs
) -> Figure:
    """Above: one width, circular runs or not; below: runs of all widths."""
    title = "width 128 (blue: circular, gray: not)"
    above = _rate_row(title, kinds, transitions, _lowest_symmetricity([kinds]))
    lines = lines_by_width(wide)
    first, *other_planes = (plane_panel(wide, measure, lines[measure]) for measure in MEASURES)
    return Figure(
        rows=[above, [replace(first, title=wide_name), *other_planes]], width=WIDTH, height=5.2
    )


def metrics_figure(populations: Mapping[str, Runs], measure: str = IRRELEVANCE) -> Figure:
    """Distance irrelevance against gradient symmetricity: all of it, and where symmetricity is
    close to 1.
    """
    marks = list[Mark]()
    size = point_size(sum(map(len, populations.values())))
    for index, runs in enumerate(populations.values()):
        for kind, part in by_circularity(runs).items():
            points = Points(
                x=part[SYMMETRICITY].to_numpy(),
                y=part[measure].to_numpy(),
                color=COLORS[index],
                marker=MARKERS[index],
                size=size,
                opacity=0.85 if kind == "circular" else 0.25,
                layer=1 if kind == "circular" else 0,
            )
            marks.append(points)
    for index, name in enumerate(populations):
        marks.append(Points(x=[], y=[], color=COLORS[index], marker=MARKERS[index], name=name))
    marks.append(Points(x=[], y=[], color=GRAY, name="circular"))
    marks.append(Points(x=[], y=[], color=GRAY, opacity=0.25, name="not circular (pale)"))
    symmetric = f"symmetricity {SYMMETRIC.limit:.0%}"
    marks.append(Rule(x=SYMMETRIC.limit, dash="--", name=symmetric))
    marks.append(Rule(y=LOW.limit, name=f"irrelevance {LOW.limit:g}"))
    upwards = Axis(name=label(measure), limits=SHARES)
    across = Axis(name=label(SYMMETRICITY))
    close = replace(across, limits=(0.95, 1.0005))
    whole_panel = Panel(marks=marks, x=across, y=upwards, title="all")
    close_panel = Panel(marks=marks, x=close, y=upwards, title="close to 1")
    return Figure(
        rows=[[whole_panel, close_panel]],
        width=WIDTH,
        height=2.9 + 0.18 * ((len(populations) + 7) // 4),
        legend=Legend(where="below", columns=4),
        share_y=True,
        names_outside=True,
    )


def linear_figure(models: Mapping[str, Runs]) -> Figure:
    """Above: irrelevance and circularity of every run; below: histograms of irrelevance. One
    column per model.
    """
    lowest = 0.99
    for runs in models.values():
        if len(runs):
            lowest = min(lowest, float(worst_circularity(runs).min()))
    margin = 0.1 * (1 - lowest)
    across = Axis(limits=SHARES, ticks=[0, 0.5, 1], tick_names=["0", "0.5", "1"])
    named = replace(across, name=label(IRRELEVANCE))
    upwards = Axis(name="circularity", limits=(lowest - margin, 1 + margin))
    above = list[Panel]()
    below = list[Panel]()
    for column, (title, runs) in enumerate(models.items()):
        irrelevance = runs[IRRELEVANCE].to_numpy(float)
        points = Points(
            x=irrelevance,
            y=worst_circularity(runs).to_numpy(),
            color=COLORS[column],
            marker=MARKERS[column],
            size=3,
            opacity=0.6,
        )
        circular = Rule(y=THRESHOLDS.circularity)
        above.append(Panel(marks=[points, circular], x=across, y=upwards, title=f"Model {title}"))
        counts, _ = numpy.histogram(irrelevance, bins=BINS)
        middles = (BINS[:-1] + BINS[1:]) / 2
        bars = Bars(positions=middles, lengths=counts, thickness=0.05, color=COLORS[column])
        in_the_middle = column == len(models) // 2
        x = named if in_the_middle else across
        below.append(Panel(marks=[bars], x=x, y=Axis(name="runs")))
    rows = [above, below]
    return Figure(rows=rows, width=7.2, height=3.5, share_y=True, names_outside=True)


def worst_circularity(runs: Runs) -> "pandas.Series[float]":
    """Circularity, or the lower of the two operands' tables where each has its own and
    circularity is not defined.
    """
    if "operand_circularity" not in runs:
        return runs[CIRCULARITY].astype(float)

    def lowest(operands: Sequence[float] | None) -> float:
        return min(operands) if operands is not None and len(operands) else numpy.nan

    lower = runs["operand_circularity"].map(lowest)
    return runs[CIRCULARITY].astype(float).fillna(lower.astype(float))
