"""The pictures of one network on a group that is not cyclic: its mean logits by conjugacy class,
and by cosets of the subgroup that they follow best.

Elements are written as products here, as the field writes them: x y = z.
"""

from typing import NamedTuple

import numpy as np

from algophase.analysis.program.by_representation import GroupInstance
from algophase.analysis.program.mean_logits import MeanLogits, Side
from algophase.analysis.specimen import Specimen
from algophase.analysis.verdict.group_verdict import form_of
from algophase.core.element_names import class_names, element_names
from algophase.core.group import Group, group_of
from algophase.core.known_groups import name_of
from algophase.core.subgroups import Members
from algophase.core.wording import counted, floored
from algophase.pictures.group_program import ByClass, CosetMap, by_class_panel, coset_panel
from algophase.pictures.marks import Figure, Panel, in_rows

MAP_HEIGHT = 380
MOST_INSTANCES = 8  # a page of more pictures is not read
PER_ROW = 3


class _Axes(NamedTuple):
    """What the rows and columns of a map are; meaning: of which functions it is the mean."""

    row: str
    column: str
    meaning: str


AXES: dict[Side, _Axes] = {
    "left": _Axes("y", "x⁻¹z", "functions of (y, x⁻¹z)"),
    "right": _Axes("x", "zy⁻¹", "functions of (x, zy⁻¹)"),
    "readout": _Axes("xy", "z", "functions of (xy, z)"),
}


class Part(NamedTuple):
    """The whole network, or what one instance does alone. name: in captions; title: in print."""

    name: str
    title: str
    means: MeanLogits


def parts_of(specimen: Specimen) -> list[Part]:
    """The whole network, then its largest instances alone; the network alone where it cannot run on
    a part of its tables.
    """
    accuracy = floored(specimen.analysis.accuracy)
    parts = [Part(f"whole network, accuracy {accuracy}", "whole network", specimen.mean_logits())]
    on_group = specimen.analysis.on_group
    if on_group is None or not specimen.has_code:
        return parts
    for instance in on_group.instances[:MOST_INSTANCES]:
        means = specimen.mean_logits(instance.representations)
        parts.append(Part(_described(instance, means.accuracy), _title(instance), means))
    return parts


def _title(instance: GroupInstance) -> str:
    return f"{', '.join(instance.representations)}: {form_of(instance)}"


def _described(instance: GroupInstance, accuracy: float) -> str:
    names = ", ".join(instance.representations)
    return f"only {names} ({form_of(instance)}), accuracy {floored(accuracy)}"


def by_class(part: Part) -> Panel:
    """Mean logits F(u) of u = x⁻¹ z y⁻¹. The right answer is at the identity."""
    group = part.means.group
    shares = part.means.shares
    function = ByClass(
        values=part.means.bi_equivariant,
        class_of=group.class_of,
        names=element_names(group),
        class_names=class_names(group),
    )
    characters = f"F(u) is {shares.bi_equivariant:.1%} of its logits, its class means (lines) are "
    return by_class_panel(
        function,
        part.title,
        f"{part.name}; {characters}{shares.characters:.1%}",
        f"Mean logits by conjugacy class of x inverse z y inverse: {part.name}. The characters, "
        f"flat within each class, are {shares.characters:.1%} of its logits.",
    )


def coset_map(part: Part, side: Side | None = None) -> Panel:
    """Mean logits over one action, by cosets. side: that with more of its logits by default."""
    means = part.means
    side = means.side if side is None else side
    ordered = means.in_order(side)
    names = element_names(means.group)
    axes = AXES[side]
    share = getattr(means.shares, side)
    values = CosetMap(
        values=ordered.matrix,
        elements=ordered.order,
        names=[names[element] for element in ordered.order.tolist()],
        coset=means.group.order // means.order.cosets,
        row=axes.row,
        column=axes.column,
    )
    return coset_panel(
        values,
        f"{part.title}\n{axes.meaning}, {share:.1%}",
        f"{part.name}; {axes.meaning} are {share:.1%} of its logits; {order_words(means)}",
        f"Mean logits by {axes.row} (rows) and {axes.column} (columns): {part.name}; "
        f"{order_words(means)}. Right answers are on the diagonal.",
        MAP_HEIGHT,
    )


def order_words(means: MeanLogits) -> str:
    """In which order the elements of a map are."""
    cosets = means.order.cosets
    if cosets == 1:
        return "elements by their mean logits"
    subgroup = _subgroup_name(means.group, means.order.subgroup)
    return f"elements in the order of the {cosets} cosets of {subgroup}"


def _subgroup_name(group: Group, members: Members) -> str:
    """Its name as a group, or how many elements it has."""
    elements = np.flatnonzero(members)
    numbers = np.full(group.order, -1)
    numbers[elements] = np.arange(len(elements))
    subgroup = group_of(numbers[group.table[np.ix_(elements, elements)]])
    name = "" if subgroup is None else name_of(subgroup)
    return name or f"a subgroup of {counted(len(elements), 'element')}"


def whole_panels(specimen: Specimen) -> list[Panel]:
    """The whole network by classes, then over each of the three actions by cosets."""
    whole, *_ = parts_of(specimen)
    sides: tuple[Side, ...] = ("left", "right", "readout")
    return [by_class(whole), *(coset_map(whole, side) for side in sides)]


def instance_panels(specimen: Specimen) -> list[Panel]:
    """Each instance alone, by classes and by cosets."""
    panels = []
    for part in parts_of(specimen)[1:]:
        panels += [by_class(part), coset_map(part)]
    return panels


def by_class_figure(specimen: Specimen) -> Figure:
    """F(u) by conjugacy class, of the network and of each instance alone."""
    panels = [by_class(part) for part in parts_of(specimen)]
    rows = in_rows(panels, 2)
    return Figure(
        rows=rows,
        width=4.0 * len(rows[0]),
        height=2.3 * len(rows) + 0.5,
        title=f"{specimen.title}, mean logits of u = x⁻¹zy⁻¹",
    )


def coset_figure(specimen: Specimen) -> Figure:
    """Maps of mean logits by cosets: the network over each action, then each instance alone."""
    whole, *instances = parts_of(specimen)
    sides: tuple[Side, ...] = ("left", "right", "readout")
    panels = [coset_map(whole, side) for side in sides]
    panels += [coset_map(part) for part in instances]
    rows = in_rows(panels, PER_ROW)
    return Figure(
        rows=rows,
        width=3.6 * PER_ROW,
        height=3.2 * len(rows) + 0.5,
        title=f"{specimen.title}, mean logits by cosets",
    )
