"""What a picture is made of, as data: a `Figure` of `Panel`s, a panel of marks.

A picture is written once, as a function that returns a panel or a figure. `to_matplotlib` draws it
for print, `to_plotly` for a page, and `to_data` returns its numbers, for tests.

Colors are written #RRGGBB; markers and dashes have Matplotlib's names. Lengths are in points, as in
print; on a screen all of them grow by one factor. A mark of a higher `layer` hides those below it;
within one layer, a later mark hides an earlier one. A legend lists the marks that have a name, in
the order of the panel. Text may come from a file: a backend makes it harmless.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any, Literal, NamedTuple, TypeAlias

from algophase.core.palette import COLORS, GRAY

Values: TypeAlias = Any  # numbers, one per point: an array or a sequence
Dash = Literal["-", "--", ":"]

MANY_POINTS, FEW_POINTS = 4000, 500


def point_size(count: int) -> float:
    """The diameter of a point: smaller where there are many."""
    if count <= FEW_POINTS:
        return 3.8
    return 2.8 if count <= MANY_POINTS else 2.3


class HoverPart(NamedTuple):
    """A piece of a hover text: fixed words, then a number or text of the point, None at the end."""

    words: str
    field: str | None
    format: str


class Hover:
    """What a page says of one point.

    lines: with fields in braces. {x}, {y}, {value}, {text}, {id} and {details[0]} are the point's
        own. Every other field is one of `words`. A field may have a format, as in {x:.4f}.

    >>> hover = Hover("{verdict} at {x:.2f}", verdict="Clock")
    >>> hover.text(x=0.5)
    'Clock at 0.50'
    """

    OF_POINTS = ("x", "y", "value", "text", "id", "details")

    def __init__(self, *lines: str, **words: object) -> None:
        self.template = "\n".join(lines)
        self.words = words

    def parts(self) -> Iterator[HoverPart]:
        for literal, name, format_spec, _ in Formatter().parse(self.template):
            if name is None:
                yield HoverPart(literal, None, "")
            elif name.partition("[")[0] in self.OF_POINTS:
                yield HoverPart(literal, name, format_spec or "")
            else:
                yield HoverPart(literal + format(self.words[name], format_spec or ""), None, "")

    def text(self, **point: Any) -> str:
        """The text for one point with these fields."""
        return self.template.format(**point, **self.words)


@dataclass(frozen=True, eq=False, kw_only=True)
class Shades:
    """Colors of points by value, and the title of their scale. Without ends, the values' own."""

    values: Values
    label: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Points:
    """x, y: (points,). shades: in place of one color. edge: the color of their outlines.

    texts: one per point, for its hover text; ids: what a click on it gives.
    """

    x: Values
    y: Values
    color: str = COLORS[0]
    shades: Shades | None = None
    marker: str = "o"
    size: float = 3.8
    opacity: float = 1.0
    edge: str = ""
    filled: bool = True
    name: str = ""
    hover: Hover | None = None
    texts: Values | None = None
    ids: Values | None = None
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """x, y: (points,). marker: one at each point, where it has one. details: (points, k), for
    hover texts.
    """

    x: Values
    y: Values
    color: str = COLORS[0]
    dash: Dash = "-"
    width: float = 1.2
    opacity: float = 1.0
    marker: str = ""
    name: str = ""
    hover: Hover | None = None
    details: Values | None = None
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Band:
    """The area between two curves, (points,). In its hover text {value} is high - low."""

    x: Values
    low: Values
    high: Values
    color: str = COLORS[0]
    opacity: float = 0.2
    name: str = ""
    hover: Hover | None = None
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Bars:
    """Bars along `positions` from `start`, by `lengths`; all (bars,).

    labels: written inside, where there is room. texts: one per bar, for its hover text.
    """

    positions: Values
    lengths: Values
    start: Values | float = 0.0
    thickness: float = 0.8
    horizontal: bool = False
    color: str = COLORS[0]
    edge: str = ""
    name: str = ""
    labels: Sequence[str] | None = None
    hover: Hover | None = None
    texts: Sequence[str] | None = None
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Whiskers:
    """Points with intervals from `low` to `high`: along y, or along x where `horizontal`."""

    x: Values
    y: Values
    low: Values
    high: Values
    horizontal: bool = False
    color: str = COLORS[0]
    marker: str = "o"
    size: float = 4.0
    name: str = ""
    hover: Hover | None = None
    texts: Sequence[str] | None = None
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap:
    """A matrix as colors. x, y: the evenly spaced middles of its columns and rows.

    scale: the title of its color scale, empty for none; scale_below: not at its right.
    details: (rows, columns, k), for hover texts, in which {value} is the cell's.
    """

    values: Values
    x: Values
    y: Values
    colors: str = "viridis"
    low: float | None = None
    high: float | None = None
    scale: str = ""
    scale_below: bool = False
    hover: Hover | None = None
    details: Values | None = None
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Labels:
    """Texts at points. color: that of the page's text by default. side: of the point."""

    x: Values
    y: Values
    texts: Sequence[str]
    color: str = ""
    size: float = 7.0
    side: Literal["middle", "above", "below"] = "middle"
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule:
    """A straight line across a panel, at this x (upright) or this y (level)."""

    x: float | None = None
    y: float | None = None
    color: str = GRAY
    dash: Dash = ":"
    width: float = 0.8
    name: str = ""
    layer: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Span:
    """A strip across a panel between two values of x, or of y."""

    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    color: str = GRAY
    opacity: float = 0.2
    name: str = ""
    layer: int = 0


Mark: TypeAlias = Points | Line | Band | Bars | Whiskers | HeatMap | Labels | Rule | Span


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a panel.

    scale: "log2" has a tick at each doubling; "symlog" is linear up to 1, and for print alone.
    ticks, tick_names: where they stand and what they
        say. format: of the numbers, such as ".0%". reverse: the largest value comes first.
    """

    name: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    scale: Literal["linear", "log", "log2", "symlog"] = "linear"
    ticks: Sequence[float] | None = None
    tick_names: Sequence[str] | None = None
    format: str = ""
    reverse: bool = False


@dataclass(frozen=True, kw_only=True)
class Legend:
    """where: "above" or "below" a figure in print; "below" a panel, or Matplotlib's name of one of
    its corners.
    """

    where: str = "below"
    columns: int = 6
    title: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel:
    """Marks between two axes.

    title: over it in print. caption: below it on a page; alt: what a screen reader says in its
        place. height: on a page, in pixels. equal: a unit is as long along x as along y.
    legend: in a corner of the panel, in print. A page shows one for two names or more.
    """

    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    caption: str = ""
    alt: str = ""
    height: int = 320
    equal: bool = False
    legend: Legend | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure:
    """Panels in rows, for print. A row of one panel is as wide as the figure; None stays empty.

    width, height: in inches. heights: of the rows, relative to each other. scale: the title of one
    color scale for all heat maps. share_y: panels side by side have one axis. names_outside: axes
    are named at the left and at the bottom alone.
    """

    rows: Sequence[Sequence[Panel | None]]
    width: float
    height: float
    heights: Sequence[float] | None = None
    title: str = ""
    legend: Legend | None = None
    scale: str = ""
    share_y: bool = False
    names_outside: bool = False

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row if panel is not None]


def in_layers(marks: Sequence[Mark]) -> list[Mark]:
    """Marks in the order in which they are drawn."""
    return sorted(marks, key=lambda mark: mark.layer)


def legend_name(mark: Mark) -> str:
    """Its entry in a legend; empty for a mark without one."""
    return getattr(mark, "name", "")


def without_names(panel: Panel) -> Panel:
    """The same without entries in a legend."""
    no_name: dict[str, Any] = {"name": ""}
    marks = [replace(mark, **no_name) if legend_name(mark) else mark for mark in panel.marks]
    return replace(panel, marks=marks)


def in_rows(panels: Sequence[Panel], columns: int) -> list[list[Panel | None]]:
    """Panels in rows of this many, the last one filled up."""
    rows = list[list[Panel | None]]()
    for start in range(0, len(panels), columns):
        row = list[Panel | None](panels[start : start + columns])
        row += [None] * (columns - len(row))
        rows.append(row)
    return rows
