"""The picture of a comparison: both populations by attention rate, their phase boundaries, their
shares.
"""

from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy

from algophase.analysis.catalogue import (
    BARE,
    IRRELEVANCE,
    SYMMETRICITY,
    WRONG_LOGIT,
    label,
    line,
    quantity,
)
from algophase.core.palette import COLORS, MARKERS
from algophase.core.wording import counted
from algophase.pictures.style import check_format, house_style, new_figure
from algophase.reports.phase_diagrams import (
    boundary_rates,
    compared_runs,
    share_names,
    shares_by_tenth,
)
from algophase.reports.save_figure import save_figure
from algophase.runs.comparison import Comparison
from algophase.runs.findings import BoundaryRow
from algophase.runs.matching import MatchedRuns
from algophase.runs.runs import Runs
from algophase.runs.statistics import TENTHS, Share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Blue over vermilion: ours is drawn last, theirs usually has more points.
SIDES = ((COLORS[0], MARKERS[0]), (COLORS[5], MARKERS[1]))
MOST_GROUPS = 4
SYMMETRIC, IRRELEVANT = (SYMMETRICITY, BARE), (IRRELEVANCE, WRONG_LOGIT)


def _short_phase(measure: str) -> str:
    """A phase for a narrow axis: "irrelevance < 0.6", with what is in brackets on a line of its
    own.
    """
    name, _, rest = label(measure).partition(" (")
    bracket = f"\n({rest}" if rest and measure in IRRELEVANT else ""
    return f"{name.split()[-1]} {quantity(measure).line}{bracket}"


def draw_comparison(comparison: Comparison, path: str | Path) -> Path:
    """Write the picture, in the format its name ends in."""
    path = Path(path)
    check_format(path.suffix.removeprefix("."))
    with house_style():
        return save_figure(comparison_figure(comparison), path)


def comparison_figure(comparison: Comparison) -> "Figure":
    """For each group of settings, the metrics of single runs and the share inside each phase;
    below, the shares.
    """
    groups = comparison.groups[:MOST_GROUPS]
    one = len(groups) == 1
    rows, columns = (2, 2) if one else (len(groups), 4)
    shares = share_names(comparison, groups)
    shares_height = 0.5 + 0.26 * len(shares)
    panel = 2.3 if one else 1.9
    height = panel * rows + shares_height + 0.9
    figure = new_figure(6.6 if one else 9.0, height)
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[*[panel] * rows, shares_height])
    for position, group in enumerate(groups):
        for column, measure in enumerate(_measures(group)):
            above = figure.add_subplot(grid[0 if one else position, column])
            below = figure.add_subplot(grid[1 if one else position, column if one else column + 2])
            row = next(
                (
                    row
                    for row in comparison.boundaries
                    if (row.group, row.measure) == (group.label, measure)
                ),
                None,
            )
            _runs(above, group, measure, row)
            lacking = [
                side.name
                for side, runs in zip(comparison.sides, group.runs, strict=True)
                if measure not in runs
            ]
            if lacking:
                above.set_title(
                    shorten(f"not known: {' and '.join(lacking)}", 44), loc="right", fontsize=7
                )
            if row is not None and any(
                side is not None and side.slope is not None for side in row.sides
            ):
                _plane(below, group, measure, row)
            else:
                _phase(below, group, measure, row)
            if group.label and column == 0:
                above.set_title(group.label, loc="left")
    _shares(figure.add_subplot(grid[rows, :]), shares)
    handles = [
        figure.axes[0].scatter([], [], color=color, marker=marker, s=16) for color, marker in SIDES
    ]
    names = [f"{side.name} ({len(side):,} runs)" for side in comparison.sides]
    figure.legend(
        handles, names, loc="outside lower center", ncols=2 if sum(map(len, names)) < 80 else 1
    )
    rejected = len(comparison.rejected)
    tests = counted(len(comparison.findings), "test")
    level = f"at a family-wise level of {comparison.level:.3g}"
    if rejected:
        verb = "differs" if rejected == 1 else "differ"
        title = f"{rejected} of {tests} {verb} {level}"
    else:
        title = f"indistinguishable {level} ({tests})"
    title += (
        "\npoints: "
        f"{'circular runs' if all(group.circular for group in groups) else 'runs'} at full accuracy"
    )
    left = len(comparison.groups) - len(groups)
    figure.suptitle(title + (f"; {left} more groups not drawn" if left else ""), fontsize=9)
    return figure


def _measures(group: MatchedRuns) -> tuple[str, str]:
    """What both sides have: the released table has the symmetricity of a network with an equals
    sign only without it, and the irrelevance only of the wrong logit."""
    symmetric, irrelevant = (
        [measure for measure in measures if all(measure in runs for runs in group.runs)]
        for measures in (SYMMETRIC, IRRELEVANT)
    )
    return (*symmetric, SYMMETRICITY)[0], (*irrelevant, WRONG_LOGIT)[0]


def _points(group: MatchedRuns, side: int, measure: str) -> Runs | None:
    runs = compared_runs(group, side)
    if measure not in runs:
        return None
    return runs.where(runs[measure].notna() & runs["_rate"].notna())


def _runs(axes: "Axes", group: MatchedRuns, measure: str, row: BoundaryRow | None) -> None:
    """Single runs, theirs behind ours, with each side's boundary as a line and its interval as a
    band.
    """
    for side in (1, 0):
        color, marker = SIDES[side]
        points = _points(group, side, measure)
        if points is not None:
            size = float(numpy.clip(2500 / max(len(points), 1), 4, 14))
            axes.scatter(
                points["_rate"],
                points[measure],
                s=size,
                color=color,
                marker=marker,
                alpha=0.55,
                linewidths=0,
                zorder=3 - side,
            )
        boundary = None if row is None else row.sides[side]
        if (
            boundary is not None
            and boundary.rate is not None
            and boundary.within
            and boundary.slope is None
        ):
            axes.axvline(
                boundary.rate.value,
                color=color,
                linewidth=1,
                linestyle=("-", "--")[side],
                zorder=1,
            )
            interval = boundary.rate.interval
            if (
                interval is not None and interval[1] - interval[0] < 1
            ):  # a wider one says that there is no boundary
                axes.axvspan(*interval, color=color, alpha=0.18, linewidth=0, zorder=0)
    axes.axhline(line(measure).value, color="0.5", linewidth=0.8, linestyle=":", zorder=0)
    axes.set(
        xlabel="attention rate", ylabel=label(measure).replace(" (", "\n("), xlim=(-0.02, 1.02)
    )


def _plane(axes: "Axes", group: MatchedRuns, measure: str, row: BoundaryRow) -> None:
    """Runs by rate and width, filled if inside the phase, with each side's boundary as a line
    (figure 7, bottom).
    """
    for side in (1, 0):
        color, marker = SIDES[side]
        points = _points(group, side, measure)
        if points is None or not len(points):
            continue
        in_phase = points.inside_phase(measure)
        for part, face in ((points.where(in_phase), color), (points.where(~in_phase), "none")):
            axes.scatter(
                part["_rate"],
                part["width"],
                s=9,
                marker=marker,
                facecolor=face,
                edgecolor=color,
                linewidths=0.6,
            )
        boundary = row.sides[side]
        along = None if boundary is None else boundary_rates(boundary, points["width"])
        if along is not None:
            axes.plot(*along, color=color, linewidth=1.4, linestyle=("-", "--")[side])
    axes.set_yscale("log", base=2)
    axes.set(xlabel="attention rate", ylabel="width", xlim=(-0.02, 1.02))
    axes.set_title("filled: " + _short_phase(measure).replace("\n", " "))
    axes.yaxis.set_major_formatter("{x:g}")


def _phase(axes: "Axes", group: MatchedRuns, measure: str, row: BoundaryRow | None) -> None:
    """Share of runs inside the phase in each tenth with Wilson intervals, over the logistic
    curve with its bootstrap band.
    """
    for side in (1, 0):
        color = SIDES[side][0]
        points = _points(group, side, measure)
        if points is None:
            continue
        shares = shares_by_tenth(points, measure)
        positions = [(tenth + 0.5 + (0.08, -0.08)[side]) / TENTHS for tenth, _ in shares]
        _whiskers(axes, positions, [share for _, share in shares], side, vertical=True)
        boundary = None if row is None else row.sides[side]
        if boundary is not None and boundary.curve is not None:
            curve = boundary.curve
            axes.plot(
                curve.rates,
                curve.probability,
                color=color,
                linewidth=1.2,
                linestyle=("-", "--")[side],
            )
            axes.fill_between(
                curve.rates, curve.low, curve.high, color=color, alpha=0.18, linewidth=0
            )
    axes.set(
        xlabel="attention rate",
        ylabel=f"share with\n{_short_phase(measure)}",
        xlim=(-0.02, 1.02),
        ylim=(-0.04, 1.04),
    )


def _whiskers(
    axes: "Axes", positions: list[float], shares: list[Share], side: int, *, vertical: bool
) -> None:
    color, marker = SIDES[side]
    if not shares:
        return
    middle = numpy.array([share.value for share in shares])
    reach = numpy.abs(numpy.array([share.interval for share in shares]).T - middle)
    style = {"color": color, "fmt": marker, "markersize": 3.5, "linewidth": 1.0}
    if vertical:
        axes.errorbar(positions, middle, yerr=reach, **style)  # type: ignore[arg-type]
    else:
        axes.errorbar(middle, positions, xerr=reach, **style)  # type: ignore[arg-type]


def _shares(axes: "Axes", rows: list[tuple[str, tuple[Share, Share]]]) -> None:
    """Shares at full accuracy and circular, with Wilson intervals; theirs just below ours."""
    for side in (1, 0):
        kept = [
            (index, shares[side]) for index, (_, shares) in enumerate(rows) if shares[side].total
        ]
        _whiskers(
            axes,
            [index + (-0.16, 0.16)[side] for index, _ in kept],
            [share for _, share in kept],
            side,
            vertical=False,
        )
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set(
        xlim=(-0.02, 1.02), ylim=(len(rows) - 0.5, -0.5), xlabel="share of runs, with 95% intervals"
    )
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
