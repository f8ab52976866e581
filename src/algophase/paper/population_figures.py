"""Pictures of populations: metrics by attention rate, over rate and width, against each other,
and of linear models.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

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
from algophase.pictures.style import HEATMAP, new_figure
from algophase.runs.boundary import Boundary
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.6
RASTER_FROM = 1000  # points: more of them would make a vector file huge
LINE = COLORS[5]
# How a kind of run is drawn: color, marker; later kinds lie above earlier ones.
KINDS = {
    "runs": (COLORS[0], MARKERS[0]),
    "not circular": (GRAY, MARKERS[0]),
    "circular": (COLORS[0], MARKERS[0]),
    **{verdict: VERDICTS[verdict] for verdict in ("Pizza", "hybrid", "Clock")},
}
Kinds = Mapping[str, Runs]


def by_verdict(runs: Runs) -> Kinds:
    return {kind: runs.where(runs["paper_label"] == kind) for kind in ("Pizza", "hybrid", "Clock")}


def _scatter(axes: "Axes", x: Any, y: Any, size: float, **style: Any) -> Any:
    return axes.scatter(x, y, s=size, linewidths=0, rasterized=len(x) > RASTER_FROM, **style)


def _size(count: int) -> float:
    return float(numpy.clip(4000 / max(count, 1), 5, 14))


def rate_panel(axes: "Axes", kinds: Kinds, measure: str, transition: Transition | None) -> None:
    """One metric by attention rate, with the boundary as a line, its interval as a band and the
    phase's limit dotted.
    """
    total = sum(map(len, kinds.values()))
    for order, (kind, runs) in enumerate(kinds.items()):
        color, marker = KINDS[kind]
        drawn = {"color": color, "marker": marker, "alpha": 0.7, "zorder": 2 + order}
        points = _scatter(axes, runs["_rate"], runs[measure], _size(total), **drawn)
        points.set_rasterized(total > RASTER_FROM)
    rate = (
        transition.boundary.rate if transition is not None and transition.boundary.within else None
    )
    # without an interval, or with one as wide as all rates, there is no boundary to show
    if rate is not None and rate.interval is not None and rate.interval[1] - rate.interval[0] < 1:
        axes.axvline(rate.value, color="black", linewidth=1, zorder=1)
        axes.axvspan(*rate.interval, color="black", alpha=0.15, linewidth=0, zorder=0)
    axes.axhline(line(measure).value, color="0.4", linewidth=0.8, linestyle=":", zorder=0)
    axes.set(xlabel="attention rate", ylabel=label(measure), xlim=(-0.02, 1.02))
    if measure != SYMMETRICITY:
        axes.set_ylim(-0.02, 1.02)


def rates_figure(
    rows: Sequence[tuple[str, Kinds, Mapping[str, Transition]]], height: float = 2.3
) -> "Figure":
    """One row of panels per population (title, its kinds of runs, its transitions), both metrics
    side by side.
    """
    figure = new_figure(WIDTH, height * len(rows) + 0.45)
    grid = figure.subplots(len(rows), 2, squeeze=False)
    for row, (title, kinds, transitions) in zip(grid, rows, strict=True):
        for axes, measure in zip(row, MEASURES, strict=True):
            rate_panel(axes, kinds, measure, transitions.get(measure))
        row[0].set_title(title, loc="left")
    lowest = [
        runs[SYMMETRICITY].min() for _, kinds, _ in rows for runs in kinds.values() if len(runs)
    ]
    if lowest:
        for row in grid:
            row[0].set_ylim(min(*lowest, 0.9) - 0.04, 1.02)
    _legend(figure, [kind for _, kinds, _ in rows for kind in kinds])
    return figure


def _mark(label: str, color: str, marker: str = "o", alpha: float = 1.0) -> Any:
    """A point in a legend."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=color, marker=marker, linestyle="", markersize=4, alpha=alpha, label=label
    )


def _stroke(label: str, color: str, width: float, style: Literal["-", "--", ":"] = "-") -> Any:
    """A line in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linewidth=width, linestyle=style, label=label)


def _legend(figure: "Figure", kinds: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    handles = [_mark(kind, *KINDS[kind]) for kind in dict.fromkeys(kinds)]
    handles.append(_stroke("transition (logistic)", "black", 1))
    handles.append(Patch(color="black", alpha=0.15, linewidth=0, label="its 95% interval"))
    handles.append(_stroke("limit of the phase", "0.4", 0.8, ":"))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=6,
        handletextpad=0.4,
        columnspacing=1.2,
        handlelength=1.4,
    )


def plane_panels(
    row: Sequence["Axes"], runs: Runs, lines: Mapping[str, Boundary], figure: "Figure"
) -> None:
    """Runs over attention rate and width, colored by each metric, with the line where its phase
    ends.
    """
    widths = numpy.empty(0)
    if len(runs):
        widths = numpy.geomspace(runs["width"].min(), runs["width"].max(), 100)
    for axes, measure in zip(row, MEASURES, strict=True):
        low = 0.0
        if measure != IRRELEVANCE and len(runs):
            low = float(min(runs[measure].min(), 0.9))
        style = {"c": runs[measure], "cmap": HEATMAP, "vmin": low, "vmax": 1.0}
        points = _scatter(axes, runs["_rate"], runs["width"], 1.4 * _size(len(runs)), **style)
        boundary = lines[measure]
        if boundary.rate is not None and boundary.slope is not None and boundary.width is not None:
            doublings = numpy.log2(widths / boundary.width)
            rates = boundary.rate.value + boundary.slope.value * doublings
            in_range = (rates >= 0) & (rates <= 1)
            axes.plot(rates[in_range], widths[in_range], color="white", linewidth=3.2)
            axes.plot(rates[in_range], widths[in_range], color=LINE, linewidth=1.6)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set(xlabel="attention rate", ylabel="width", xlim=(-0.02, 1.02))
        figure.colorbar(points, ax=axes, label=label(measure), pad=0.02)


def plane_figure(runs: Runs, lines: Mapping[str, Boundary]) -> "Figure":
    figure = new_figure(WIDTH, 2.85)
    plane_panels(list(figure.subplots(1, 2)), runs, lines, figure)
    label = f"transition (logistic): {SYMMETRIC}, {INSIDE}"
    figure.legend(handles=[_stroke(label, LINE, 1.6)], loc="outside lower center")
    return figure


def unfiltered_figure(
    kinds: Kinds, transitions: Mapping[str, Transition], wide_name: str, wide: Runs
) -> "Figure":
    """Above: one width, circular runs or not; below: runs of all widths."""
    figure = new_figure(WIDTH, 5.2)
    grid = figure.subplots(2, 2)
    for axes, measure in zip(grid[0], MEASURES, strict=True):
        rate_panel(axes, kinds, measure, transitions[measure])
    plane_panels(list(grid[1]), wide, lines_by_width(wide), figure)
    grid[0, 0].set_title("width 128 (blue: circular, gray: not)", loc="left")
    grid[1, 0].set_title(wide_name, loc="left")
    return figure


def metrics_figure(populations: Mapping[str, Runs], measure: str = IRRELEVANCE) -> "Figure":
    """Distance irrelevance against gradient symmetricity: all of it, and where symmetricity is
    close to 1.
    """
    figure = new_figure(WIDTH, 2.9 + 0.18 * ((len(populations) + 7) // 4))
    whole, close = figure.subplots(1, 2, sharey=True)
    total = sum(map(len, populations.values()))
    for axes in (whole, close):
        for index, runs in enumerate(populations.values()):
            for kind, part in by_circularity(runs).items():
                style: dict[str, Any] = {
                    "color": COLORS[index],
                    "marker": MARKERS[index],
                    "zorder": 2 + (kind == "circular"),
                }
                style["alpha"] = 0.85 if kind == "circular" else 0.25
                drawn = _scatter(axes, part[SYMMETRICITY], part[measure], _size(total), **style)
                drawn.set_rasterized(total > RASTER_FROM)
        axes.axhline(LOW.limit, color="0.4", linewidth=0.8, linestyle=":", zorder=1)
        axes.axvline(SYMMETRIC.limit, color="0.4", linewidth=0.8, linestyle="--", zorder=1)
        axes.set_xlabel(label(SYMMETRICITY))
    whole.set(ylabel=label(measure), ylim=(-0.02, 1.02))
    close.set(xlim=(0.95, 1.0005), title="close to 1")
    whole.set_title("all")
    handles = [_mark(name, COLORS[index], MARKERS[index]) for index, name in enumerate(populations)]
    handles += [
        _mark("circular", "0.3"),
        _mark("not circular (pale)", "0.3", alpha=0.25),
        _stroke(f"symmetricity {SYMMETRIC.limit:.0%}", "0.4", 0.8, "--"),
        _stroke(f"irrelevance {LOW.limit:g}", "0.4", 0.8, ":"),
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, handletextpad=0.4, columnspacing=1.0
    )
    return figure


def linear_figure(models: Mapping[str, Runs]) -> "Figure":
    """Above: irrelevance and circularity of every run; below: histograms of irrelevance. One
    column per model.
    """
    figure = new_figure(7.2, 3.5)
    grid = figure.subplots(2, len(models), sharex=True, sharey="row")
    lowest = 0.99
    for column, (title, runs) in enumerate(models.items()):
        above = grid[0, column]
        below = grid[1, column]
        circularity = worst_circularity(runs)
        lowest = min(lowest, float(circularity.min())) if len(runs) else lowest
        _scatter(
            above,
            runs[IRRELEVANCE],
            circularity,
            9,
            color=COLORS[column],
            marker=MARKERS[column],
            alpha=0.6,
        )
        above.axhline(THRESHOLDS.circularity, color="0.4", linewidth=0.8, linestyle=":")
        above.set_title(f"Model {title}")
        below.hist(runs[IRRELEVANCE], bins=numpy.linspace(0, 1, 21).tolist(), color=COLORS[column])
        below.set(xlim=(-0.02, 1.02), xticks=[0, 0.5, 1], xticklabels=["0", "0.5", "1"])
    margin = 0.1 * (1 - lowest)
    grid[0, 0].set(ylabel="circularity", ylim=(lowest - margin, 1 + margin))
    grid[1, 0].set(ylabel="runs")
    figure.supxlabel(label(IRRELEVANCE), fontsize=9)
    return figure


def worst_circularity(runs: Runs) -> "pandas.Series[float]":
    """Circularity, or the lower of the two operands' tables where each has its own and
    circularity is not defined.
    """
    if "operand_circularity" not in runs:
        return runs[CIRCULARITY].astype(float)
    lower = runs["operand_circularity"].map(
        lambda operands: min(operands) if operands is not None and len(operands) else numpy.nan
    )
    return runs[CIRCULARITY].astype(float).fillna(lower.astype(float))
