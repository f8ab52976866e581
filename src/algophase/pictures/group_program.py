"""The program of a network on a finite group: its representations, what its logits are functions
of, and mean logits by conjugacy class and by coset.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from algophase.core.palette import COLORS, FORMS, GRAY
from algophase.pictures.marks import (
    Axis,
    Bars,
    Figure,
    HeatMap,
    Hover,
    Legend,
    Line,
    Mark,
    Panel,
    Points,
    Rule,
)
from algophase.pictures.program import Part, shares_panel

Array = NDArray[np.float64]

MOST_ROWS = 24  # representations in one picture
MOST_CELLS = 240  # along one side of a map of logits; more elements share cells
MOST_RULES = 24  # cosets between which lines are drawn
MOST_TICKS = 12
ROW_HEIGHT = 0.72  # of a class, from one row to the next
MOST_WITH_NAMES = 64  # elements whose names show on hover
BELOW = Legend(where="below", columns=6)
IN_TABLES = COLORS[2]
IN_LOGITS = FORMS["short cycle"][0]  # no class has these colors
# By what the logits are functions of, the eight orthogonal classes and the offsets
CLASS_COLORS = {
    "characters": COLORS[0],
    "bi-equivariant": COLORS[4],
    "left read-out": "#5E4C8A",
    "right read-out": "#B3A6D9",
    "left": COLORS[1],
    "right": COLORS[5],
    "read-out": COLORS[3],
    "offsets": COLORS[6],
    "rest": GRAY,
}


class UsedRepresentation(NamedTuple):
    """name: of the representations of an instance, or of one that is in no instance. form: "" for
    the latter; kind: its key in the palette's `FORMS`. in_tables, in_logits: shares.
    """

    name: str
    form: str
    kind: str
    in_tables: float
    in_logits: float


@dataclass(frozen=True)
class GroupPicture:
    """representations: those of the instances, the largest first, then others in the tables.

    classes: the orthogonal classes of the logits and their shares. remainder: the share of the
    logits in no instance.
    """

    representations: Sequence[UsedRepresentation]
    classes: Mapping[str, float]
    remainder: float

    def bars(self) -> dict[str, list[Part]]:
        """The logits by instance and by class."""
        instances = []
        for member in self.representations:
            if member.form:
                color, _ = FORMS[member.kind]
                instances.append(Part(f"{member.name}: {member.form}", color, member.in_logits))
        remainder = "no instance" if self.remainder >= 0 else "instances overlap"
        instances.append(Part(remainder, GRAY, self.remainder))
        classes = [Part(name, CLASS_COLORS[name], share) for name, share in self.classes.items()]
        return {"instances": instances, "classes": classes}


def representations_panel(picture: GroupPicture) -> Panel:
    """The share of each representation in the operand tables and in the logits."""
    drawn = picture.representations[:MOST_ROWS]
    names = [member.name for member in drawn]
    shares = {
        "in the operand tables": (IN_TABLES, -0.2, [member.in_tables for member in drawn]),
        "in the logits": (IN_LOGITS, 0.2, [member.in_logits for member in drawn]),
    }
    marks = list[Mark]()
    for series, (color, shift, lengths) in shares.items():
        bars = Bars(
            positions=[row + shift for row in range(len(drawn))],
            lengths=lengths,
            thickness=0.38,
            horizontal=True,
            color=color,
            name=series,
            texts=[f"{name}: {length:.2%}" for name, length in zip(names, lengths, strict=True)],
            hover=Hover("{text} {series}", series=series),
        )
        marks.append(bars)
    left = len(picture.representations) - len(drawn)
    more = f"; {left} more are not drawn" if left else ""
    spoken = [
        f"{member.name} {member.in_tables:.1%} of the tables, {member.in_logits:.1%} of the logits"
        for member in drawn
    ]
    return Panel(
        marks=marks,
        x=Axis(name="share", format=".0%"),
        y=Axis(ticks=range(len(drawn)), tick_names=names, reverse=True),
        caption=f"representations in the operand tables and in the logits{more}",
        alt=f"Shares of the representations. {'; '.join(spoken)}.",
        height=110 + 34 * max(2, len(drawn)),
    )


def group_figure(picture: GroupPicture, title: str) -> Figure:
    """The representations over the bars of shares."""
    shares = [shares_panel(picture)]
    if not picture.representations:
        return Figure(
            rows=[shares], width=7.2, height=2.6, title=f"{title}, its program", legend=BELOW
        )
    rows = max(2, len(picture.representations[:MOST_ROWS]))
    return Figure(
        rows=[[representations_panel(picture)], shares],
        width=7.2,
        height=0.32 * rows + 3.4,
        heights=[0.32 * rows + 0.9, 1.6],
        title=f"{title}, its program",
        legend=BELOW,
    )


@dataclass(frozen=True)
class ByClass:
    """A function on a group by conjugacy class.

    values: (n,). class_of: (n,), the class of each element. names: of the elements; class_names: of
    the classes.
    """

    values: Array
    class_of: NDArray[np.int64]
    names: Sequence[str]
    class_names: Sequence[str]


def by_class_panel(function: ByClass, title: str, caption: str, alt: str) -> Panel:
    """Mean logits F(u), u = x^-1 z y^-1, one row per class: a character is one value in each."""
    classes = len(function.class_names)
    points = list[Mark]()
    means = list[Mark]()
    for number in range(classes):
        members = np.flatnonzero(function.class_of == number)
        # By value, so that the spread within the class is seen
        members = members[np.argsort(-function.values[members], kind="stable")]
        values = function.values[members]
        steps = np.arange(len(members)) - (len(members) - 1) / 2
        dots = Points(
            x=values,
            y=number + ROW_HEIGHT * steps / max(len(members), 2),
            color=COLORS[number % 2],
            size=2.6,
            texts=[function.names[member] for member in members.tolist()],
            hover=Hover("u = {text}: {x:.4g}"),
        )
        points.append(dots)
        mean = float(values.mean())
        ends = [number - ROW_HEIGHT / 2, number + ROW_HEIGHT / 2]
        means.append(Line(x=[mean, mean], y=ends, color=COLORS[6], width=1.2))
    every = math.ceil(classes / MOST_TICKS)
    return Panel(
        marks=[*means, *points],
        x=Axis(name="mean logit F(u)"),
        y=Axis(
            name="class of u",
            ticks=range(0, classes, every),
            tick_names=list(function.class_names[::every]),
            limits=(-0.6, classes - 0.4),
            reverse=True,
        ),
        title=title,
        caption=caption,
        alt=alt,
        height=380,
    )


@dataclass(frozen=True)
class CosetMap:
    """Mean logits, (n, n), rows and columns in the order of cosets.

    elements: (n,), in that order; names: theirs. coset: how many elements each coset has. row,
        column: what they are.
    """

    values: Array
    elements: NDArray[np.int64]
    names: Sequence[str]
    coset: int
    row: str
    column: str


def coset_panel(coset_map: CosetMap, title: str, caption: str, alt: str, height: int) -> Panel:
    """A map of mean logits with lines between cosets. The right answers are on the diagonal."""
    n = len(coset_map.values)
    per_cell = math.ceil(n / MOST_CELLS)
    values, middles = _in_cells(coset_map.values, per_cell)
    details = None
    hover = Hover("mean logit {value:.4g}")
    if per_cell == 1:
        details = _pairs(coset_map)
        where = "{row} = {details[0]}, {column} = {details[1]}"
        hover = Hover(where, "mean logit {value:.4g}", row=coset_map.row, column=coset_map.column)
    heat_map = HeatMap(
        values=values.astype(np.float32),  # half the room on a page
        x=middles,
        y=middles,
        scale="mean logit",
        details=details,
        hover=hover,
    )
    marks: list[Mark] = [heat_map]
    if 1 < n // coset_map.coset <= MOST_RULES:
        for start in range(coset_map.coset, n, coset_map.coset):
            marks.append(Rule(x=start - 0.5, color="#FFFFFF", dash="-", width=0.8, layer=1))
            marks.append(Rule(y=start - 0.5, color="#FFFFFF", dash="-", width=0.8, layer=1))
    step = max(1, math.ceil(n / MOST_TICKS))
    if n // coset_map.coset <= MOST_TICKS:
        step = coset_map.coset
    ticks = list(range(0, n, step))
    names = [coset_map.names[tick] for tick in ticks]
    return Panel(
        marks=marks,
        # The names of the rows: beside each other they would overlap
        x=Axis(name=f"{coset_map.column}, in the same order", ticks=[]),
        y=Axis(name=coset_map.row, ticks=ticks, tick_names=names, reverse=True),
        title=title,
        caption=caption,
        alt=alt,
        height=height,
    )


def _pairs(coset_map: CosetMap) -> NDArray[Any]:
    """(n, n, 2), what the row and the column of each cell stand for: their names, or for larger
    groups their numbers, which take less room on a page.
    """
    n = len(coset_map.names)
    labels = np.array(list(coset_map.names), dtype=object)
    if n > MOST_WITH_NAMES:
        labels = coset_map.elements.astype(np.int16)
    rows = np.broadcast_to(labels[:, None], (n, n))
    columns = np.broadcast_to(labels, (n, n))
    return np.stack([rows, columns], axis=-1)


def _in_cells(values: Array, per_cell: int) -> tuple[Array, Array]:
    """Means over so many neighbors along each side, and the middles of the cells."""
    n = len(values)
    starts = np.arange(0, n, per_cell)
    sums = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)
    sizes = np.diff(np.append(starts, n))
    middles = starts.astype(np.float64) + (per_cell - 1) / 2
    means: Array = sums / np.outer(sizes, sizes)
    return means, middles
