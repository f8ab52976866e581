"""The picture of a comparison: both populations by attention rate, their phase boundaries, their
shares.
"""

from dataclasses import replace
from pathlib import Path
from textwrap import shorten

from algophase.analysis.catalogue import (
    BARE,
    IRRELEVANCE,
    SYMMETRICITY,
    WRONG_LOGIT,
    label,
    line,
    quantity,
)
from algophase.core.wording import counted
from algophase.pictures.by_rate import Kind, metric_by_rate
from algophase.pictures.marks import Figure, Legend, Mark, Panel, Points, without_names
from algophase.pictures.style import check_format
from algophase.reports.phase_diagrams import (
    RATES,
    SIDES,
    WIDTHS,
    boundary_line,
    compared_runs,
    compared_shares,
    transition,
)
from algophase.reports.save_figure import save_figure
from algophase.runs.comparison import Comparison
from algophase.runs.findings import BoundaryRow
from algophase.runs.matching import MatchedRuns
from algophase.runs.pictures import boundary_marks
from algophase.runs.runs import Runs

MOST_GROUPS = 4
MOST_LETTERS = 80  # of two names side by side in the legend
SYMMETRIC = (SYMMETRICITY, BARE)
IRRELEVANT = (IRRELEVANCE, WRONG_LOGIT)


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
    return save_figure(comparison_figure(comparison), path)


def comparison_figure(comparison: Comparison) -> Figure:
    """For each group of settings, the metrics of single runs and the share inside each phase;
    below, the shares.
    """
    groups = comparison.groups[:MOST_GROUPS]
    rows = list[list[Panel]]()
    for group in groups:
        measures = _measures(group)
        single_runs = [_runs(comparison, group, measure) for measure in measures]
        shares_inside = [_inside(comparison, group, measure) for measure in measures]
        single_runs[0] = _titled(single_runs[0], group.label)
        # A single group fills two rows; of several, each has one.
        if len(groups) == 1:
            rows += [single_runs, shares_inside]
        else:
            rows.append([*single_runs, *shares_inside])
    first = rows[0][0]
    rows[0][0] = replace(first, marks=[*first.marks, *_side_entries(comparison)])
    shares = compared_shares(comparison, groups)
    share_names = shares.y.tick_names or ()
    shares_height = 0.5 + 0.26 * len(share_names)
    panel_height = 2.3 if len(groups) == 1 else 1.9
    names = [entry.name for entry in _side_entries(comparison)]
    return Figure(
        rows=[*rows, [without_names(shares)]],
        width=6.6 if len(groups) == 1 else 9.0,
        height=panel_height * len(rows) + shares_height + 0.9,
        heights=[*[panel_height] * len(rows), shares_height],
        title=_title(comparison),
        legend=Legend(columns=2 if sum(map(len, names)) < MOST_LETTERS else 1),
    )


def _side_entries(comparison: Comparison) -> list[Points]:
    """Both sides in the legend."""
    entries = []
    for side, (color, marker, _) in zip(comparison.sides, SIDES, strict=True):
        name = f"{side.name} ({len(side):,} runs)"
        entries.append(Points(x=[], y=[], color=color, marker=marker, name=name))
    return entries


def _title(comparison: Comparison) -> str:
    rejected = len(comparison.rejected)
    tests = counted(len(comparison.findings), "test")
    level = f"at a family-wise level of {comparison.level:.3g}"
    if rejected:
        verb = "differs" if rejected == 1 else "differ"
        title = f"{rejected} of {tests} {verb} {level}"
    else:
        title = f"indistinguishable {level} ({tests})"
    groups = comparison.groups[:MOST_GROUPS]
    runs = "circular runs" if all(group.circular for group in groups) else "runs"
    title += f"\npoints: {runs} at full accuracy"
    left = len(comparison.groups) - len(groups)
    return f"{title}; {left} more groups not drawn" if left else title


def _titled(panel: Panel, title: str) -> Panel:
    """With a line above the title that it has."""
    lines = [text for text in (title, panel.title) if text]
    return replace(panel, title="\n".join(lines))


def _measures(group: MatchedRuns) -> tuple[str, str]:
    """What both sides have: the released table has the symmetricity of a network with an equals
    sign only without it, and the irrelevance only of the wrong logit."""
    in_both = [
        measure
        for measure in (*SYMMETRIC, *IRRELEVANT)
        if all(measure in runs for runs in group.runs)
    ]
    symmetric = [measure for measure in SYMMETRIC if measure in in_both]
    irrelevant = [measure for measure in IRRELEVANT if measure in in_both]
    return (*symmetric, SYMMETRICITY)[0], (*irrelevant, WRONG_LOGIT)[0]


def _points(group: MatchedRuns, side: int, measure: str) -> Runs | None:
    runs = compared_runs(group, side)
    if measure not in runs:
        return None
    return runs.where(runs[measure].notna() & runs["_rate"].notna())


def _row(comparison: Comparison, group: MatchedRuns, measure: str) -> BoundaryRow | None:
    """Where both sides have the end of a phase."""
    for row in comparison.boundaries:
        if (row.group, row.measure) == (group.label, measure):
            return row
    return None


def _runs(comparison: Comparison, group: MatchedRuns, measure: str) -> Panel:
    """Single runs, with each side's boundary as a line and its interval as a band."""
    row = _row(comparison, group, measure)
    kinds = []
    transitions = list[Mark]()
    lacking = []
    for side in (1, 0):  # ours is drawn last
        color, marker, dash = SIDES[side]
        name = comparison.sides[side].name
        if measure not in group.runs[side]:
            lacking.append(name)
        points = _points(group, side, measure)
        if points is not None:
            x = points["_rate"].to_numpy()
            y = points[measure].to_numpy()
            kind = Kind(name=name, color=color, marker=marker, x=x, y=y, opacity=0.55)
            kinds.append(kind)
        boundary = None if row is None else row.sides[side]
        if boundary is not None and boundary.slope is None:
            transitions += boundary_marks(boundary, color=color, dash=dash)
    name = label(measure).replace(" (", "\n(")
    panel = metric_by_rate(kinds, name, line(measure).value, transitions)
    title = shorten(f"not known: {' and '.join(lacking)}", 44) if lacking else ""
    return replace(without_names(panel), title=title)


def _inside(comparison: Comparison, group: MatchedRuns, measure: str) -> Panel:
    """Which runs are inside a phase: by rate, or by rate and width where its end depends on
    both.
    """
    row = _row(comparison, group, measure)
    boundaries = (None, None) if row is None else row.sides
    if any(boundary is not None and boundary.slope is not None for boundary in boundaries):
        assert row is not None
        return _plane(group, measure, row)
    sides = []
    for side, boundary in enumerate(boundaries):
        sides.append((comparison.sides[side].name, compared_runs(group, side), boundary))
    panel = without_names(transition(sides, measure))
    return replace(panel, y=replace(panel.y, name=f"share with\n{_short_phase(measure)}"))


def _plane(group: MatchedRuns, measure: str, row: BoundaryRow) -> Panel:
    """Runs by rate and width, filled if inside the phase, with each side's boundary as a line
    (figure 7, bottom).
    """
    marks = list[Mark]()
    for side in (1, 0):
        color, marker, dash = SIDES[side]
        points = _points(group, side, measure)
        if points is None or not len(points):
            continue
        in_phase = points.inside_phase(measure)
        for part, filled in ((points.where(in_phase), True), (points.where(~in_phase), False)):
            dots = Points(
                x=part["_rate"].to_numpy(),
                y=part["width"].to_numpy(),
                color=color,
                marker=marker,
                size=3,
                edge=color,
                filled=filled,
            )
            marks.append(dots)
        boundary = row.sides[side]
        if boundary is not None:
            marks += boundary_line(boundary, points["width"], color, dash)
    title = "filled: " + _short_phase(measure).replace("\n", " ")
    return Panel(marks=marks, x=RATES, y=WIDTHS, title=title)
