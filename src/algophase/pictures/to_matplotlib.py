"""The backend for print: a `Figure` of marks as a Matplotlib figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from algophase.pictures import marks
from algophase.pictures.marks import Axis, Mark, Panel
from algophase.pictures.style import house_style, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

FEWEST_RASTERED = 1000  # points: as single shapes, more of them would make a vector file huge
FEW_TICKS = 3
LEGEND_POINT = 4.5  # points of diameter
LEAST_LABELED = 0.12  # of an axis: a shorter bar has no room for a label inside


def draw(picture: marks.Figure) -> "Figure":
    """The whole figure, outside of pyplot."""
    with house_style():
        figure = new_figure(picture.width, picture.height)
        # Room for the half of a tick's label that stands beyond the end of its axis.
        figure.set_layout_engine("constrained", w_pad=0.08)
        columns = max((len(row) for row in picture.rows), default=1)
        grid = figure.add_gridspec(len(picture.rows), columns, height_ratios=picture.heights)
        images = list[Any]()
        for number, row in enumerate(picture.rows):
            first = None
            for column, panel in enumerate(row):
                if panel is None:
                    continue
                cell = grid[number, :] if len(row) == 1 else grid[number, column]
                axes = figure.add_subplot(cell, sharey=first if picture.share_y else None)
                images += draw_panel(axes, panel)
                if picture.share_y and first is not None:
                    axes.tick_params(labelleft=False)
                if picture.names_outside:
                    _leave_out_inner_names(axes, picture, number, column)
                first = first or axes
        if picture.scale and images:
            figure.colorbar(images[-1], ax=figure.axes, label=picture.scale)
        _draw_legend(figure, picture)
        if picture.title:
            set_title(figure, picture.title)
    return figure


def _leave_out_inner_names(axes: "Axes", picture: marks.Figure, row: int, column: int) -> None:
    """Where another panel of the same grid is on the left or below, it has the names."""
    if column > 0:
        axes.set_ylabel("")
    for panel in picture.rows[row + 1][column : column + 1] if row + 1 < len(picture.rows) else []:
        if panel is not None and panel.x.name == axes.get_xlabel():
            axes.set_xlabel("")


def _draw_legend(figure: "Figure", picture: marks.Figure) -> None:
    """One legend for all panels, outside of them."""
    if picture.legend is None:
        return
    handles, names = _legend_entries(figure.axes, picture.panels)
    above = picture.legend.where == "above"
    legend = figure.legend(
        handles,
        names,
        loc="outside upper center" if above else "outside lower center",
        ncols=min(picture.legend.columns, max(1, len(names))),
        title=picture.legend.title or None,
        frameon=False,
        handletextpad=0.4,
        columnspacing=1.2,
    )
    _enlarge_points(legend)


def _enlarge_points(legend: "Legend") -> None:
    """The points of a large population are too small to tell their shapes in a legend."""
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([LEGEND_POINT**2])


def _legend_entries(
    drawn: "Sequence[Axes]", panels: Sequence[Panel]
) -> tuple[list[Any], list[str]]:
    """Each name once, in the order of the marks; Matplotlib has them by kind."""
    handles = dict[str, Any]()
    for axes in drawn:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    names = [marks.legend_name(mark) for panel in panels for mark in panel.marks]
    in_order = [name for name in dict.fromkeys(names) if name in handles]
    return [handles[name] for name in in_order], in_order


def draw_panel(axes: "Axes", panel: Panel) -> list[Any]:
    """A panel on these axes. Returns its images that have no color scale of their own."""
    images = []
    for mark in panel.marks:
        # Matplotlib draws patches at 1, lines at 2 and text at 3.
        image = _draw_mark(axes, mark, zorder=2 + mark.layer)
        if image is not None:
            images.append(image)
    _set_axis(axes, "x", panel.x)
    _set_axis(axes, "y", panel.y)
    if panel.title:
        axes.set_title(panel.title)
    if panel.equal:
        axes.set_aspect("equal", adjustable="box")
        axes.locator_params(nbins=FEW_TICKS)  # the same steps on both axes
    if panel.legend is not None:
        location: Any = {"loc": panel.legend.where}
        if panel.legend.where == "below":
            location = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17)}
        handles, names = _legend_entries([axes], [panel])
        columns = panel.legend.columns
        legend = axes.legend(handles, names, ncols=columns, frameon=False, **location)
        _enlarge_points(legend)
    return images


def _set_axis(axes: "Axes", which: str, axis: Axis) -> None:
    drawn = axes.xaxis if which == "x" else axes.yaxis
    set_scale = axes.set_xscale if which == "x" else axes.set_yscale
    set_limits = axes.set_xlim if which == "x" else axes.set_ylim
    drawn.set_label_text(axis.name)
    if axis.scale == "log2":
        set_scale("log", base=2)
        drawn.set_major_formatter("{x:g}")
    elif axis.scale == "symlog":
        set_scale("symlog", linthresh=1)
    elif axis.scale != "linear":
        set_scale(axis.scale)
    if axis.format:
        drawn.set_major_formatter(f"{{x:{axis.format}}}")
    if axis.ticks is not None:
        drawn.set_ticks(list(axis.ticks), labels=axis.tick_names)
        drawn.set_tick_params(which="minor", length=0, labelbottom=False, labelleft=False)
    if axis.limits != (None, None):
        set_limits(*axis.limits)
    if axis.reverse:
        drawn.set_inverted(True)


def _draw_mark(axes: "Axes", mark: Mark, zorder: float) -> Any:
    """Returns the image of a heat map without a scale of its own."""
    name = marks.legend_name(mark)
    style: dict[str, Any] = {"zorder": zorder, "label": name or "_nolegend_"}
    match mark:
        case marks.Points():
            _draw_points(axes, mark, style)
        case marks.Line():
            axes.plot(
                mark.x,
                mark.y,
                color=mark.color,
                linestyle=mark.dash,
                linewidth=mark.width,
                alpha=mark.opacity,
                marker=mark.marker or None,
                markersize=3,
                **style,
            )
        case marks.Band():
            style.update(color=mark.color, alpha=mark.opacity, linewidth=0)
            axes.fill_between(mark.x, mark.low, mark.high, **style)
        case marks.Bars():
            _draw_bars(axes, mark, style)
        case marks.Whiskers():
            _draw_whiskers(axes, mark, style)
        case marks.HeatMap():
            return _draw_heat_map(axes, mark, zorder)
        case marks.Labels():
            _draw_labels(axes, mark, zorder)
        case marks.Rule():
            style.update(color=mark.color, linestyle=mark.dash, linewidth=mark.width)
            if mark.x is not None:
                axes.axvline(mark.x, **style)
            if mark.y is not None:
                axes.axhline(mark.y, **style)
        case marks.Span():
            style.update(color=mark.color, alpha=mark.opacity, linewidth=0)
            if mark.x is not None:
                axes.axvspan(mark.x[0], mark.x[1], **style)
            if mark.y is not None:
                axes.axhspan(mark.y[0], mark.y[1], **style)
    return None


def _draw_points(axes: "Axes", mark: marks.Points, style: dict[str, Any]) -> None:
    look: dict[str, Any] = {"color": mark.color}
    if mark.shades is not None:
        shades = mark.shades
        look = {"c": shades.values, "cmap": "viridis", "vmin": shades.low, "vmax": shades.high}
    elif not mark.filled:
        look = {"facecolor": "none", "edgecolor": mark.color}
    elif mark.edge:
        look["edgecolor"] = mark.edge
    is_outlined = bool(mark.edge) or not mark.filled
    points = axes.scatter(
        mark.x,
        mark.y,
        s=mark.size**2,
        marker=mark.marker,
        alpha=mark.opacity,
        # A marker of strokes has no area: without its lines nothing would be seen.
        linewidths=0.6 if is_outlined or mark.marker in "x+" else 0,
        rasterized=len(mark.x) > FEWEST_RASTERED,
        **look,
        **style,
    )
    if mark.shades is not None:
        _figure(axes).colorbar(points, ax=axes, label=mark.shades.label, pad=0.02)


def _figure(axes: "Axes") -> "Figure":
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def _draw_bars(axes: "Axes", mark: marks.Bars, style: dict[str, Any]) -> None:
    style.update(color=mark.color, linewidth=0)
    if mark.edge:
        style.update(edgecolor=mark.edge, linewidth=0.6)
    if mark.horizontal:
        axes.barh(mark.positions, mark.lengths, mark.thickness, left=mark.start, **style)
    else:
        axes.bar(mark.positions, mark.lengths, mark.thickness, bottom=mark.start, **style)
    if mark.labels is None:
        return
    starts = np.broadcast_to(mark.start, np.shape(mark.lengths))
    for position, start, length, text in zip(
        mark.positions, starts, mark.lengths, mark.labels, strict=True
    ):
        if abs(length) < LEAST_LABELED:
            continue
        middle = start + length / 2
        x, y = (middle, position) if mark.horizontal else (position, middle)
        color = "white" if is_dark(mark.color) else "black"
        axes.text(x, y, text, ha="center", va="center", fontsize=7, color=color, zorder=3)


def is_dark(color: str) -> bool:
    """Whether white letters are easier to read on #RRGGBB than black ones."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 115


def _draw_whiskers(axes: "Axes", mark: marks.Whiskers, style: dict[str, Any]) -> None:
    middle = np.asarray(mark.x if mark.horizontal else mark.y, float)
    reach = np.stack([middle - np.asarray(mark.low), np.asarray(mark.high) - middle])
    reach = reach.clip(min=0)  # rounding of an end that is the middle
    axes.errorbar(
        mark.x,
        mark.y,
        **{"xerr" if mark.horizontal else "yerr": reach},  # type: ignore[arg-type]
        color=mark.color,
        fmt=mark.marker,
        markersize=mark.size,
        linewidth=1.0,
        **style,
    )


def _draw_heat_map(axes: "Axes", mark: marks.HeatMap, zorder: float) -> Any:
    image = axes.imshow(
        np.asarray(mark.values),
        cmap=mark.colors,
        vmin=mark.low,
        vmax=mark.high,
        extent=(*_ends(mark.x), *_ends(mark.y)),
        origin="lower",
        interpolation="nearest",
        aspect="auto",
        zorder=zorder,
    )
    if not mark.scale:
        return image
    where: Any = {"location": "bottom", "aspect": 30} if mark.scale_below else {}
    _figure(axes).colorbar(image, ax=axes, label=mark.scale.strip(), **where)
    return None


def _ends(middles: Any) -> tuple[float, float]:
    """The edges of a row of evenly spaced cells."""
    step = middles[1] - middles[0] if len(middles) > 1 else 1
    return float(middles[0] - step / 2), float(middles[-1] + step / 2)


def _draw_labels(axes: "Axes", mark: marks.Labels, zorder: float) -> None:
    side = {"middle": "center", "above": "bottom", "below": "top"}[mark.side]
    for x, y, text in zip(mark.x, mark.y, mark.texts, strict=True):
        axes.text(
            x,
            y,
            text,
            ha="center",
            va=side,
            fontsize=mark.size,
            color=mark.color or "black",
            zorder=zorder + 1,
        )
