"""The map: runs as points along two columns, a marker for each verdict, colored by verdict or by
any column.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.catalogue import catalogue, label
from algophase.core.palette import COLORS, GRAY, look
from algophase.explore.view import SIDES, View
from algophase.explore.visible_runs import PAPER_LABEL, VERDICT, VisibleRuns, axes
from algophase.pictures.by_rate import PALE, Kind, as_array, run_points
from algophase.pictures.marks import Axis, Mark, Panel, Points, Rule, Shades
from algophase.pictures.to_plotly import draw, on_axis
from algophase.runs.columns import Rows
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 520
LARGER = 1.2  # points than in a report: they are clicked
MARKERS = ("o", "s", "D", "x", "^", "v", "P", "p", "X", "h")  # of texts that are no verdicts
MARK = "#B22222"
NAME = {
    "showarrow": True,
    "arrowwidth": 2,
    "arrowhead": 2,
    "arrowcolor": MARK,
    "standoff": 5,
    "bgcolor": "white",
    "bordercolor": MARK,
    "borderpad": 2,
}


def map_key(view: View) -> str:
    """What the points of a map depend on. Another run or region needs no new map."""
    return repr((view.filters, view.x, view.x_scale, view.y, view.y_scale, view.color))


def draw_map(visible: VisibleRuns) -> "Figure":
    """The map of a view. Each point carries its run's id as `customdata`."""
    view = visible.view
    figure = draw(map_panel(visible), webgl=True)
    figure.update_traces(unselected={"marker": {"opacity": 0.12}}, selector={"type": "scattergl"})
    figure.update_layout(
        dragmode="select",
        uirevision=map_key(view),
        selectionrevision=map_key(view),
        selections=selections(view),
        annotations=names(visible.runs, view),
        legend={"yanchor": "top", "y": -0.16},  # out of the way of the tools
        margin={"t": 34},
        yaxis={"automargin": True},  # its title stays clear of long numbers
        showlegend=True,
        newselection={"line": {"color": GRAY, "width": 2}},
    )
    return figure


def map_panel(visible: VisibleRuns) -> Panel:
    """The points, and the paper's line where the paper draws one for the column upwards."""
    runs, view = visible.runs, visible.view
    by_number = view.color in axes(runs)
    groups = runs.columns.by_text(VERDICT if by_number else view.color, visible.drawn)
    kinds = [_kind(runs, view, name, rows) for name, rows in groups.items()]
    words: dict[str, object] = {"noun": runs.noun, "x_name": label(view.x), "y_name": label(view.y)}
    hover = ["{noun} {id}: {kind}" if runs.named_by == "run_id" else "{noun} {text}: {kind}"]
    hover += ["{x_name} {x:.4g}", "{y_name} {y:.4g}"]
    if by_number:
        hover.append("{color_name} {value:.4g}")
        words["color_name"] = label(view.color)
    points = run_points(kinds, hover, words)
    points = [replace(mark, size=LARGER * mark.size) for mark in points]
    marks: list[Mark] = [*points]
    if by_number:
        marks = _shaded(visible, points, list(groups.values()))
    upwards = catalogue().get(view.y)
    if upwards is not None and upwards.line is not None:
        marks.append(Rule(y=upwards.line.value))
    return Panel(
        marks=marks,
        x=Axis(name=label(view.x), scale="log" if view.x_scale == "log" else "linear"),
        y=Axis(name=label(view.y), scale="log" if view.y_scale == "log" else "linear"),
        height=HEIGHT,
    )


def _kind(runs: Runs, view: View, name: str, rows: Rows) -> Kind:
    """The runs of one verdict or one text."""
    by_verdict = view.color in (VERDICT, PAPER_LABEL)
    if by_verdict or view.color in axes(runs):
        color, marker = look(name)
    else:
        order = sorted({*runs.columns.codes(view.color)[1], "none"}).index(name)
        color = COLORS[order % 6]
        marker = MARKERS[order % len(MARKERS)]
    return Kind(
        name=name,
        color=color,
        marker=marker,
        x=as_array(runs.columns.finite(view.x)[rows]),
        y=as_array(runs.columns.finite(view.y)[rows]),
        runs=None if runs.named_by == "run_id" else runs.columns.texts(runs.named_by, rows),
        ids=runs.columns.texts("run_id", rows),
        opacity=0.4 if by_verdict and name == PALE else 0.75,
    )


def _shaded(
    visible: VisibleRuns, points: Sequence[Points], rows_of_kinds: Sequence[Rows]
) -> list[Mark]:
    """Points colored by a number, and a legend of their shapes."""
    column = visible.view.color
    values = visible.runs.columns.finite(column)
    drawn = values[visible.drawn]
    defined = drawn[~numpy.isnan(drawn)]
    low, high = (defined.min(), defined.max()) if len(defined) else (0.0, 0.0)
    marks = list[Mark]()
    for mark, rows in zip(points, rows_of_kinds, strict=True):
        shades = Shades(values=values[rows], label=label(column), low=low, high=high)
        marks.append(replace(mark, shades=shades, name=""))
        marks.append(Points(x=[], y=[], color=GRAY, marker=mark.marker, name=mark.name))
    return marks


def names(runs: Runs, view: View) -> list[dict[str, Any]]:
    """A name at each of the runs shown, with an arrow to its point."""
    annotations = list[dict[str, Any]]()
    for side in SIDES:
        row = runs.columns.rows_by_id.get(view.run_on(side))
        if row is None or not view.x or not view.y:
            continue
        x = on_axis(runs.columns.finite(view.x)[row].item(), view.x_scale)
        y = on_axis(runs.columns.finite(view.y)[row].item(), view.y_scale)
        if math.isfinite(x) and math.isfinite(y):
            text, ay = ("shown", -36) if side == "run" else ("pinned", 36)
            annotations.append({"x": x, "y": y, "text": text, "ax": -44, "ay": ay, **NAME})
    return annotations


def selections(view: View) -> list[dict[str, Any]]:
    """The region as plotly draws it."""
    if not view.region:
        return []
    common = {"xref": "x", "yref": "y", "line": {"color": GRAY, "width": 2, "dash": "dot"}}
    if len(view.region) == 2:
        (x0, y0), (x1, y1) = view.region
        return [{"type": "rect", "x0": x0, "y0": y0, "x1": x1, "y1": y1, **common}]
    path = "M" + "L".join(f"{x!r},{y!r}" for x, y in view.region) + "Z"
    return [{"type": "path", "path": path, **common}]
