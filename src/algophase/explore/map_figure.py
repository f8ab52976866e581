"""The map: runs as points along two columns, a marker for each verdict, colored by verdict or
by any column.
"""

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from algophase.analysis.catalogue import catalogue, label
from algophase.core.palette import COLORS
from algophase.explore.shown import PAPER_LABEL, VERDICT, Shown, axes
from algophase.explore.view import RUN_ID, SIDES, View
from algophase.reports.phase_diagrams import PAPER_LINE
from algophase.reports.plotly_style import (
    GRAY,
    HEATMAP,
    graph_objects,
    inert_text,
    look,
    new_figure,
)
from algophase.runs.runs import Runs
from algophase.runs.selection import Rows
from algophase.runs.statistics import Floats

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 520
COLOR_STEPS = 100
SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "x",
    "triangle-up",
    "triangle-down",
    "cross",
    "pentagon",
    "star",
    "hexagon",
)
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


def draw_map(shown: Shown) -> "Figure":
    """The map of a view. Each point carries its run's id as `customdata`."""
    runs, view, drawn = shown.runs, shown.view, shown.drawn
    figure = new_figure(x=inert_text(label(view.x)), y=inert_text(label(view.y)), height=HEIGHT)
    by_number = view.color in axes(runs)
    groups = runs.by_text(VERDICT if by_number else view.color, drawn)
    # The largest group is drawn first, so that it hides no other.
    for name, rows in sorted(groups.items(), key=lambda item: -len(item[1])):
        figure.add_trace(_points(runs, view, name, rows, drawn))
    for axis, scale in (("xaxis", view.x_scale), ("yaxis", view.y_scale)):
        if scale == "log":
            figure.update_layout({axis: {"type": "log", "exponentformat": "power"}})
    upwards = catalogue().get(view.y)
    if upwards is not None and upwards.line is not None:
        figure.add_hline(y=upwards.line.value, line=PAPER_LINE)
    if by_number:
        for name, rows in groups.items():  # a legend of shapes: colors stand for the column
            figure.add_trace(_shape(name, len(rows)))
        title = {"text": inert_text(label(view.color)), "side": "right"}
        bar = {"title": title, "thickness": 12}
        figure.update_layout(coloraxis={"colorscale": HEATMAP, "colorbar": bar})
    legend_below = {"itemsizing": "constant", "yanchor": "top", "y": -0.16}
    figure.update_layout(
        dragmode="select",
        uirevision=map_key(view),
        selectionrevision=map_key(view),
        selections=selections(view),
        annotations=names(runs, view),
        legend=legend_below,  # out of the way of the tools
        margin={"t": 34},
        yaxis={"automargin": True},  # its title stays clear of long numbers
        showlegend=True,
        newselection={"line": {"color": GRAY, "width": 2}},
    )
    return figure


def _points(runs: Runs, view: View, name: str, rows: Rows, drawn: Rows) -> Any:
    """The points of one verdict or one text. drawn: all points of the map."""
    by_number = view.color in axes(runs)
    marker = _marker(runs, view.color, name, len(drawn))
    hover = [f"{runs.noun} %{{customdata}}: {inert_text(name)}"]
    texts = dict[str, Any]()
    if runs.named_by != "run_id":
        hover = [f"{runs.noun} %{{text}}: {inert_text(name)}"]
        inert_names = list(map(inert_text, runs.run_names(rows)))
        texts["text"] = numpy.array(inert_names, dtype=object)
    hover.append(f"{inert_text(label(view.x))} %{{x:.4g}}")
    hover.append(f"{inert_text(label(view.y))} %{{y:.4g}}")
    if by_number:
        values = runs.finite(view.color)
        marker["color"] = _stepped(values[rows], values[drawn])
        marker["coloraxis"] = "coloraxis"
        exact = [f"{value:.4g}" for value in values[rows].tolist()]
        texts["hovertext"] = numpy.array(exact, dtype=object)
        hover.append(f"{inert_text(label(view.color))} %{{hovertext}}")
    return graph_objects().Scattergl(
        x=runs.finite(view.x)[rows].astype(numpy.float32),
        y=runs.finite(view.y)[rows].astype(numpy.float32),
        # An array of objects: plotly checks a list item by item, and Dash finds no point in packed
        # numbers.
        customdata=inert_ids(runs)[rows],
        mode="markers",
        name=_entry(name, len(rows)),
        showlegend=not by_number,
        marker=marker,
        unselected={"marker": {"opacity": 0.12}},
        hovertemplate=f"{'<br>'.join(hover)}<extra></extra>",
        **texts,
    )


@functools.lru_cache(maxsize=2)
def inert_ids(runs: Runs) -> NDArray[numpy.object_]:
    """The ids of all runs as texts that a picture may show."""
    ids = runs.run_ids(range(len(runs)))
    inert = [run_id if RUN_ID.fullmatch(run_id) else inert_text(run_id) for run_id in ids]
    return numpy.array(inert, dtype=object)


def _marker(runs: Runs, column: str, name: str, total: int) -> dict[str, Any]:
    """How the points of one verdict or one text look. column: what colors the map."""
    marker: dict[str, Any] = {"size": _size(total), "opacity": 0.75}
    by_verdict = column in (VERDICT, PAPER_LABEL)
    if by_verdict or column in axes(runs):
        marker["color"], marker["symbol"] = look(name)
    else:
        order = sorted({*runs.codes(column)[1], "none"}).index(name)
        marker["color"] = COLORS[order % 6]
        marker["symbol"] = SYMBOLS[order % len(SYMBOLS)]
    if by_verdict and name == "non-circular":
        marker["opacity"] = 0.4
    return marker


def _size(total: int) -> int:
    """Of a point, in pixels: smaller where there are many."""
    if total <= 500:
        return 8
    return 6 if total <= 4000 else 5


def _stepped(values: Floats, drawn: Floats) -> Any:
    """Values in COLOR_STEPS steps over all that is drawn: with a color of its own for each of a
    thousand points, plotly's WebGL gives points of a region colors that are not on the scale."""
    defined = drawn[~numpy.isnan(drawn)]
    low, high = (defined.min(), defined.max()) if len(defined) else (0.0, 0.0)
    step = (high - low) / COLOR_STEPS or 1.0
    return (low + numpy.round((values - low) / step) * step).astype(numpy.float32)


def _entry(name: str, count: int) -> str:
    return f"{inert_text(name)} ({count:,})"


def _shape(name: str, count: int) -> Any:
    """An entry of the legend without points."""
    marker = {"color": GRAY, "symbol": look(name)[1]}
    return graph_objects().Scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=_entry(name, count),
        marker=marker,
        hoverinfo="skip",
    )


def names(runs: Runs, view: View) -> list[dict[str, Any]]:
    """A name at each of the runs shown, with an arrow to its point."""
    annotations = list[dict[str, Any]]()
    for side in SIDES:
        row = runs.rows_by_id.get(view.run_on(side))
        if row is None or not view.x or not view.y:
            continue
        x = on_axis(runs.finite(view.x)[row].item(), view.x_scale)
        y = on_axis(runs.finite(view.y)[row].item(), view.y_scale)
        if math.isfinite(x) and math.isfinite(y):
            text, ay = ("shown", -36) if side == "run" else ("pinned", 36)
            annotations.append({"x": x, "y": y, "text": text, "ax": -44, "ay": ay, **NAME})
    return annotations


def on_axis(value: float, scale: str) -> float:
    """Where plotly draws a value: on a logarithmic axis at its logarithm."""
    if scale != "log":
        return value
    return math.log10(value) if value > 0 else math.nan


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
