"""The map: runs as points along two columns, a marker for each verdict, coloured by verdict or
by any column.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.catalogue import catalogue, label
from algophase.core.palette import COLORS
from algophase.explore.table import PAPER_LABEL, VERDICT, Places, RunTable
from algophase.explore.view import SIDES, View
from algophase.reports.phase_diagrams import PAPER_LINE
from algophase.reports.plotly_style import GREY, HEATMAP, graph_objects, look, new_figure, plain
from algophase.runs.statistics import Floats

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 520
COLOUR_STEPS = 100
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
    return repr((view.filters, view.x, view.x_scale, view.y, view.y_scale, view.colour))


def draw_map(table: RunTable, view: View) -> "Figure":
    """The map of a resolved view. Each point carries its run's id as `customdata`."""
    figure = new_figure(x=plain(label(view.x)), y=plain(label(view.y)), height=HEIGHT)
    places = table.drawn(view)
    groups = _groups(table, view, places)
    # The largest group is drawn first, so that it hides no other.
    for name, some in sorted(groups.items(), key=lambda item: -len(item[1])):
        figure.add_trace(_points(table, view, name, some, len(places)))
    for axis, scale in (("xaxis", view.x_scale), ("yaxis", view.y_scale)):
        if scale == "log":
            figure.update_layout({axis: {"type": "log", "exponentformat": "power"}})
    upwards = catalogue().get(view.y)
    if upwards is not None and upwards.line is not None:
        figure.add_hline(y=upwards.line.value, line=PAPER_LINE)
    if table.colours and view.colour != VERDICT and _is_number(table, view.colour):
        for name, some in groups.items():  # a legend of shapes: colours stand for the column
            figure.add_trace(_shape(name, len(some)))
        title = {"text": plain(label(view.colour)), "side": "right"}
        figure.update_layout(
            coloraxis={"colorscale": HEATMAP, "colorbar": {"title": title, "thickness": 12}}
        )
    figure.update_layout(
        dragmode="select",
        uirevision=map_key(view),
        selectionrevision=map_key(view),
        selections=selections(view),
        annotations=names(table, view),
        legend={
            "itemsizing": "constant",
            "yanchor": "top",
            "y": -0.16,
        },  # below, out of the way of the tools
        margin={"t": 34},
        yaxis={"automargin": True},  # its title stays clear of long numbers
        showlegend=True,
        newselection={"line": {"color": GREY, "width": 2}},
    )
    return figure


def _is_number(table: RunTable, column: str) -> bool:
    return column in table.axes


def _groups(table: RunTable, view: View, places: Places) -> dict[str, Places]:
    """Runs by verdict, or by the text that colours them."""
    return table.by_text(VERDICT if _is_number(table, view.colour) else view.colour, places)


def _points(table: RunTable, view: View, name: str, places: Places, total: int) -> Any:
    size = 8 if total <= 500 else 6 if total <= 4000 else 5
    marker: dict[str, Any] = {"size": size, "opacity": 0.75}
    verdict = _is_number(table, view.colour) or view.colour in (VERDICT, PAPER_LABEL)
    if verdict:
        marker["color"], marker["symbol"] = look(name)
        marker["opacity"] = (
            0.4 if name == "non-circular" and view.colour in (VERDICT, PAPER_LABEL) else 0.75
        )
    else:
        order = sorted({*table.columns[view.colour].texts, "none"}).index(name)
        marker["color"], marker["symbol"] = COLORS[order % 6], SYMBOLS[order % len(SYMBOLS)]
    extra, more = "", dict[str, Any]()
    if _is_number(table, view.colour):
        values = table.numbers(view.colour)
        marker |= {
            "color": _stepped(values[places], values[table.drawn(view)]),
            "coloraxis": "coloraxis",
        }
        extra = f"<br>{plain(label(view.colour))} %{{hovertext}}"
        more["hovertext"] = numpy.array(
            [f"{value:.4g}" for value in values[places].tolist()], dtype=object
        )
    called = "customdata"
    if table.inert_names is not None:
        called = "text"
        more["text"] = table.inert_names[places]
    return graph_objects().Scattergl(
        x=table.numbers(view.x)[places].astype(numpy.float32),
        y=table.numbers(view.y)[places].astype(numpy.float32),
        # An array of objects: plotly checks a list item by item, and Dash finds no point in packed
        # numbers.
        customdata=table.inert_ids[places],
        mode="markers",
        name=_entry(name, len(places)),
        showlegend=not _is_number(table, view.colour),
        marker=marker,
        unselected={"marker": {"opacity": 0.12}},
        hovertemplate=f"{table.noun} %{{{called}}}: {plain(name)}<br>{plain(label(view.x))} "
        f"%{{x:.4g}}<br>"
        f"{plain(label(view.y))} %{{y:.4g}}{extra}<extra></extra>",
        **more,
    )


def _stepped(values: Floats, drawn: Floats) -> Any:
    """Values in COLOUR_STEPS steps over all that is drawn: with a colour of its own for each of a
    thousand points, plotly's WebGL gives points of a region colours that are not on the scale."""
    known = drawn[~numpy.isnan(drawn)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    step = (high - low) / COLOUR_STEPS or 1.0
    return (low + numpy.round((values - low) / step) * step).astype(numpy.float32)


def _entry(name: str, count: int) -> str:
    return f"{plain(name)} ({count:,})"


def _shape(name: str, count: int) -> Any:
    """An entry of the legend without points."""
    marker = {"color": GREY, "symbol": look(name)[1]}
    return graph_objects().Scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=_entry(name, count),
        marker=marker,
        hoverinfo="skip",
    )


def names(table: RunTable, view: View) -> list[dict[str, Any]]:
    """A name at each of the runs shown, with an arrow to its point."""
    annotations = list[dict[str, Any]]()
    for side in SIDES:
        place = table.places.get(view.run_on(side))
        if place is None or not view.x or not view.y:
            continue
        x = on_axis(table.numbers(view.x)[place].item(), view.x_scale)
        y = on_axis(table.numbers(view.y)[place].item(), view.y_scale)
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
    common = {"xref": "x", "yref": "y", "line": {"color": GREY, "width": 2, "dash": "dot"}}
    if len(view.region) == 2:
        (x0, y0), (x1, y1) = view.region
        return [{"type": "rect", "x0": x0, "y0": y0, "x1": x1, "y1": y1, **common}]
    path = "M" + "L".join(f"{x!r},{y!r}" for x, y in view.region) + "Z"
    return [{"type": "path", "path": path, **common}]
