"""The backend for pages: a `Panel` of marks as an interactive Plotly figure.

Plotly is an optional extra; this file is the one door to it. Plotly reads some HTML tags, so every
text passes through `inert_text` here. A picture leaves the colors of text and grid to its page,
which may be light or dark.
"""

import html
import math
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from algophase.core.errors import InputError
from algophase.pictures import marks
from algophase.pictures.marks import Axis, Hover, Mark, Panel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PIXELS = 1.8  # per point of print: a screen is farther from the eye, and read by a pointer
COLOR_STEPS = 100
MOST_DRAWN_AS_SHAPES = 1000  # points; more are drawn by the graphics card
SMALL = 300  # pixels of height: a lower panel has room for few ticks
FEW_TICKS = 5
LONGEST = 200  # characters of a text from a file
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
SYMBOLS = {
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "x": "x",
    "^": "triangle-up",
    "v": "triangle-down",
    "P": "cross",
    "X": "star",
    "p": "pentagon",
    "h": "hexagon",
    "*": "star-diamond",
    "<": "triangle-left",
    ">": "triangle-right",
}
NOT_INERT = re.compile(r"[^\w .,:;()+-]")  # one search is faster than to rewrite every text
DASHES = {"-": "solid", "--": "dash", ":": "dot"}
SIDES = {"middle": "middle center", "above": "top center", "below": "bottom center"}


def graph_objects() -> ModuleType:
    try:
        import plotly.graph_objects
    except ImportError:
        raise InputError(
            'interactive pictures need plotly; install it with: pip install "algophase[explore]"'
        ) from None
    return plotly.graph_objects


def inert_text(value: object) -> str:
    """A text from a file, inert wherever plotly or a page shows it: no tags, no templates, no
    control characters.
    """
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", str(value))
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return html.escape(text, quote=True).replace("%{", "%&#123;").replace("$", "&#36;")


def draw(panel: Panel, webgl: bool | None = None) -> "Figure":
    """webgl: whether the graphics card draws the points; by default, where there are many."""
    if webgl is None:
        counts = [len(mark.x) for mark in panel.marks if isinstance(mark, marks.Points)]
        webgl = sum(counts) > MOST_DRAWN_AS_SHAPES
    figure = graph_objects().Figure(layout={"template": "none"})
    names = [name for name in map(marks.legend_name, panel.marks) if name]
    figure.update_layout(
        height=panel.height,
        margin={"l": 60, "r": 16, "t": 12, "b": 44 if panel.x.name else 28},
        font={"family": FONT, "size": 13},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"font": {"family": FONT, "size": 13}},
        showlegend=len(names) > 1,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        barmode="overlay",
        bargap=0,  # widths are given: bars that touch leave no seam
        xaxis=_axis(panel.x),
        yaxis=_axis(panel.y),
    )
    if any(isinstance(mark, marks.Points) for mark in panel.marks):
        figure.update_layout(legend={"itemsizing": "constant"})  # small points, large in the legend
    if any(isinstance(mark, marks.HeatMap) for mark in panel.marks):
        figure.update_layout(xaxis={"showgrid": False}, yaxis={"showgrid": False})
    if panel.height < SMALL:
        figure.update_layout(xaxis={"nticks": FEW_TICKS, "tickangle": 0})
    if panel.equal:
        figure.update_layout(
            xaxis={"constrain": "domain"},
            yaxis={"constrain": "domain", "scaleanchor": "x", "scaleratio": 1},
        )
    ranks = {mark: rank for rank, mark in enumerate(panel.marks, start=1)}
    for mark in marks.in_layers(panel.marks):
        if isinstance(mark, marks.Rule | marks.Span):
            _add_shape(figure, mark)
            continue
        for trace in _traces(mark, webgl):
            trace.legendrank = ranks[mark]
            figure.add_trace(trace)
        if isinstance(mark, marks.Points) and mark.shades is not None:
            figure.update_layout(coloraxis=_color_axis(mark.shades))
    return figure


def _axis(axis: Axis) -> dict[str, Any]:
    low, high = axis.limits
    settings: dict[str, Any] = {
        "title": {"text": inert_text(axis.name), "standoff": 6},
        "zeroline": False,
    }
    if axis.scale == "log":
        settings.update(type="log", exponentformat="power")
    if axis.scale == "log2":
        settings.update(type="log", dtick=math.log10(2), tickformat=".0f")
    if axis.format:
        settings["tickformat"] = axis.format
        if axis.scale == "log":  # 1, 2 and 5 times each power of ten
            settings["dtick"] = "D2"
    if low is not None or high is not None:
        ends = [None if end is None else on_axis(end, axis.scale) for end in (low, high)]
        settings["range"] = ends[::-1] if axis.reverse else ends
    elif axis.reverse:
        settings["autorange"] = "reversed"
    if axis.ticks is not None:
        settings["tickvals"] = list(axis.ticks)
        settings["tickangle"] = 0
    if axis.tick_names is not None:
        settings["ticktext"] = [inert_text(name) for name in axis.tick_names]
        settings.update(automargin=True, ticklabelstandoff=4)
    return settings


def on_axis(value: float, scale: str) -> float:
    """Where plotly draws a value: on a logarithmic axis at its logarithm."""
    if not scale.startswith("log"):
        return value
    return math.log10(value) if value > 0 else math.nan


def _add_shape(figure: "Figure", mark: marks.Rule | marks.Span) -> None:
    name = {"name": inert_text(mark.name), "showlegend": True} if mark.name else {}
    if isinstance(mark, marks.Rule):
        line = {"color": mark.color, "dash": DASHES[mark.dash], "width": PIXELS * mark.width}
        if mark.x is not None:
            figure.add_vline(x=mark.x, line=line, **name)
        if mark.y is not None:
            figure.add_hline(y=mark.y, line=line, **name)
        return
    fill = {"fillcolor": mark.color, "opacity": mark.opacity, "line_width": 0, **name}
    if mark.x is not None:
        figure.add_vrect(x0=mark.x[0], x1=mark.x[1], **fill)
    if mark.y is not None:
        figure.add_hrect(y0=mark.y[0], y1=mark.y[1], **fill)


def _traces(mark: Mark, webgl: bool) -> Sequence[Any]:
    """The plotly traces of one mark, the one with its name last."""
    go = graph_objects()
    scatter = go.Scattergl if webgl else go.Scatter
    match mark:
        case marks.Points():
            return [_points(mark, scatter) if len(mark.x) else _legend_entry(mark)]
        case marks.Line():
            return [_line(mark, go.Scatter)]
        case marks.Band():
            return _band(mark, go.Scatter)
        case marks.Bars():
            return [_bars(mark, go.Bar)]
        case marks.Whiskers():
            return [_whiskers(mark, go.Scatter)]
        case marks.HeatMap():
            return [_heat_map(mark, go.Heatmap)]
        case marks.Labels():
            return [_labels(mark, scatter, webgl)]
        case _:
            raise TypeError(f"{type(mark).__name__} is not a mark")


def _common(mark: Any, customdata: Any = None, text: Any = None) -> dict[str, Any]:
    """Name and hover text. customdata, text: where {id}, {value} or {details}, and {text} are."""
    settings: dict[str, Any] = {"name": inert_text(mark.name), "showlegend": bool(mark.name)}
    if customdata is not None:
        is_text = getattr(mark, "ids", None) is not None
        settings["customdata"] = _inert_column(customdata) if is_text else customdata
    if mark.hover is None:
        settings["hoverinfo"] = "skip"
        return settings
    value = "hovertext" if getattr(mark, "shades", None) else "customdata"
    settings["hovertemplate"] = _hover_template(mark.hover, value)
    if text is not None:
        settings["text"] = _inert_column(text)
    return settings


def _inert_column(texts: Any) -> Any:
    """One text per point. An array of objects: plotly checks a list item by item, and Dash finds
    no point in packed numbers.
    """
    words = [str(text) for text in texts]
    longest = max(map(len, words), default=0)
    if longest > LONGEST or NOT_INERT.search("".join(words)):
        words = [inert_text(word) for word in words]
    return np.array(words, dtype=object)


def _hover_template(hover: Hover, value: str = "customdata") -> str:
    """value: where plotly has the {value} of a point."""
    fields = {"id": "customdata", "details": "customdata", "value": value}
    pieces = list[str]()
    for part in hover.parts():
        pieces.append("<br>".join(inert_text(line) for line in part.words.split("\n")))
        if part.field is not None:
            name, bracket, rest = part.field.partition("[")
            field = fields.get(name, name)
            # Shades are written out: plotly has a text for each point.
            is_number = part.format and field != "hovertext"
            number_format = f":{part.format}" if is_number else ""
            pieces.append(f"%{{{field}{bracket}{rest}{number_format}}}")
    return f"{''.join(pieces)}<extra></extra>"


def short(values: Any) -> Any:
    """Numbers in single precision: all that a picture shows, in half the space."""
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def rgba(color: str, opacity: float) -> str:
    """#RRGGBB as plotly writes a translucent color."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _points(mark: marks.Points, scatter: Callable[..., Any]) -> Any:
    symbol = SYMBOLS[mark.marker]
    marker: dict[str, Any] = {
        "color": mark.color,
        "symbol": symbol if mark.filled else f"{symbol}-open",
        "size": round(PIXELS * mark.size, 1),
        "opacity": mark.opacity,
    }
    if mark.edge:
        marker["line"] = {"color": mark.edge, "width": 0.8 * PIXELS}
    settings = _common(mark, mark.ids, mark.texts)
    if mark.shades is not None:
        values = np.asarray(mark.shades.values, float)
        marker.update(color=_stepped(mark.shades), coloraxis="coloraxis")
        exact = [f"{value:.4g}" for value in values.tolist()]
        settings["hovertext"] = np.array(exact, dtype=object)
    return scatter(x=short(mark.x), y=short(mark.y), mode="markers", marker=marker, **settings)


def _legend_entry(mark: marks.Points) -> Any:
    """A mark without points, which plotly would leave out."""
    marker = {"color": mark.color, "symbol": SYMBOLS[mark.marker]}
    return graph_objects().Scatter(
        x=[None], y=[None], mode="markers", marker=marker, **_common(mark)
    )


def _stepped(shades: marks.Shades) -> Any:
    """Values in COLOR_STEPS steps: with a color of its own for each of a thousand points, plotly's
    WebGL gives points of a region colors that are not on the scale.
    """
    values = np.asarray(shades.values, float)
    low = np.nanmin(values, initial=np.inf) if shades.low is None else shades.low
    high = np.nanmax(values, initial=-np.inf) if shades.high is None else shades.high
    step = (high - low) / COLOR_STEPS or 1.0
    return short(low + np.round((values - low) / step) * step)


def _color_axis(shades: marks.Shades) -> dict[str, Any]:
    title = {"text": inert_text(shades.label), "side": "right"}
    bar = {"title": title, "thickness": 12}
    ends = {} if shades.low is None else {"cmin": shades.low, "cmax": shades.high}
    return {"colorscale": "Viridis", "colorbar": bar, **ends}


def _line(mark: marks.Line, scatter: Callable[..., Any]) -> Any:
    line = {"color": mark.color, "dash": DASHES[mark.dash], "width": round(PIXELS * mark.width, 1)}
    marker = {"symbol": SYMBOLS[mark.marker], "size": 6} if mark.marker else None
    return scatter(
        x=short(mark.x),
        y=short(mark.y),
        mode="lines+markers" if mark.marker else "lines",
        line=line,
        marker=marker,
        opacity=mark.opacity,
        **_common(mark, mark.details),
    )


def _band(mark: marks.Band, scatter: Callable[..., Any]) -> list[Any]:
    """Two invisible curves with a fill between them."""
    x = short(mark.x)
    low = short(mark.low)
    high = short(mark.high)
    invisible = {"mode": "lines", "line": {"width": 0, "color": mark.color}}
    below = scatter(x=x, y=low, hoverinfo="skip", showlegend=False, **invisible)
    above = scatter(
        x=x,
        y=high,
        fill="tonexty",
        fillcolor=rgba(mark.color, mark.opacity),
        **invisible,
        **_common(mark, None if mark.hover is None else high - low),
    )
    return [below, above]


def _bars(mark: marks.Bars, bar: Callable[..., Any]) -> Any:
    along, across = ("x", "y") if mark.horizontal else ("y", "x")
    marker = {"color": mark.color, "line": {"width": 1 if mark.edge else 0}}
    if mark.edge:
        marker["line"] = {"width": 1, "color": mark.edge}
    written: dict[str, Any] = {"textposition": "none"}
    if mark.labels is not None:
        written = {
            "text": [inert_text(label) for label in mark.labels],
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
        }
    settings = {**_common(mark, None, mark.texts), **written}
    return bar(
        **{along: short(mark.lengths), across: short(mark.positions)},
        base=short(mark.start),
        width=mark.thickness,
        orientation="h" if mark.horizontal else "v",
        marker=marker,
        **settings,
    )


def _whiskers(mark: marks.Whiskers, scatter: Callable[..., Any]) -> Any:
    middle = np.asarray(mark.x if mark.horizontal else mark.y, float)
    reach = {
        "type": "data",
        "symmetric": False,
        "array": short(np.asarray(mark.high) - middle),
        "arrayminus": short(middle - np.asarray(mark.low)),
        "color": mark.color,
        "thickness": 1.5,
    }
    return scatter(
        x=short(mark.x),
        y=short(mark.y),
        mode="markers",
        marker={"color": mark.color, "symbol": SYMBOLS[mark.marker], "size": PIXELS * mark.size},
        **{"error_x" if mark.horizontal else "error_y": reach},
        **_common(mark, None, mark.texts),
    )


def _heat_map(mark: marks.HeatMap, heat_map: Callable[..., Any]) -> Any:
    title = {"text": f"{inert_text(mark.scale)}<br> ", "font": {"size": 12}}
    settings: dict[str, Any] = {"hoverinfo": "skip"}
    if mark.hover is not None:
        template = _hover_template(mark.hover, value="z")
        settings = {"hovertemplate": template, "customdata": mark.details}
    return heat_map(
        z=short(mark.values),
        x0=float(mark.x[0]),
        dx=float(mark.x[1] - mark.x[0]) if len(mark.x) > 1 else 1.0,
        y0=float(mark.y[0]),
        dy=float(mark.y[1] - mark.y[0]) if len(mark.y) > 1 else 1.0,
        zmin=mark.low,
        zmax=mark.high,
        colorscale=mark.colors[:1].upper() + mark.colors[1:],
        showscale=bool(mark.scale),
        colorbar={
            "thickness": 10,
            "outlinewidth": 0,
            "title": title,
            "orientation": "h" if mark.scale_below else "v",
        },
        **settings,
    )


def _labels(mark: marks.Labels, scatter: Callable[..., Any], webgl: bool) -> Any:
    font: dict[str, Any] = {"size": round(PIXELS * mark.size)}
    if mark.color:
        font["color"] = mark.color
    clipping = {} if webgl else {"cliponaxis": False}
    return scatter(
        x=short(mark.x),
        y=short(mark.y),
        text=[inert_text(text) for text in mark.texts],
        mode="text",
        textposition=SIDES[mark.side],
        textfont=font,
        hoverinfo="skip",
        showlegend=False,
        **clipping,
    )
