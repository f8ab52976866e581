"""The pictures of one network on a page: circles, correct logits, isolated circles, attention,
training curves.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.catalogue import IRRELEVANCE, label, quantity
from algophase.analysis.circles.find import points_in_plane
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.program.instances import Instance
from algophase.analysis.specimen import Answer, Specimen
from algophase.core.fourier import steps_around
from algophase.core.group import cyclic_group
from algophase.core.palette import COLORS
from algophase.core.wording import floored, form_name
from algophase.pictures.marks import Axis, Dash, HeatMap, Hover, Labels, Line, Mark, Panel, Points
from algophase.reports.figures import (
    attention_ends,
    attention_patterns,
    axis_names,
    circle_order,
    logit_cells,
    order_frequency,
)

SQUARE = 340  # height of a logit map
SMALL = 290  # of a circle, of an attention pattern
MOST_TICKS = 8
MOST_LABELS = 20  # tokens written around a circle; all of them show on hover
RING = 1.18  # where they stand, as a multiple of the farthest point's distance from the middle
OPERANDS = ("first operand", "second operand")
DOING = {  # by a circle's role
    "Clock": "acts as a Clock",
    "Pizza": "acts as a Pizza",
    "mixed": "acts as a Clock-Pizza mixture",
    "accompanying": "follows the accompanying form without a partner",
    "unclear": "follows neither form",
}
# The first of two curves is solid, the second dashed and of another color.
CURVE_LOOKS: tuple[tuple[str, Dash], ...] = ((COLORS[0], "-"), (COLORS[5], "--"))
CURVES = {
    "loss": ("training_loss", "validation_loss"),
    "accuracy": ("training_accuracy", "validation_accuracy"),
    "parameter norm": ("parameter_norm",),
}


def circle_name(item: CircleEvidence) -> str:
    return f"k = {item.circle.frequency} ({item.part})"


def circle_panel(specimen: Specimen, item: CircleEvidence) -> Panel:
    """The tokens in the plane of a circle; each says its number on hover."""
    circle = item.circle
    tables = points_in_plane(specimen.components, circle).double()  # (tables, p, 2)
    order = circle_order(specimen.modulus, circle.frequency).tolist()
    tokens = [_with_twins(token, specimen.modulus, circle.frequency) for token in order]
    marks = list[Mark]()
    for table, points in enumerate(tables):
        operand = OPERANDS[table] if len(tables) > 1 else ""
        in_order = points[order].numpy()
        words = f"{operand} token".strip()
        dots = Points(
            x=in_order[:, 0],
            y=in_order[:, 1],
            color=COLORS[table],
            marker=("o", "s")[table],
            name=operand,
            texts=tokens,
            hover=Hover("{words} {text}", "({x:.3f}, {y:.3f})", words=words),
        )
        marks.append(dots)
    if len(tables) == 1:
        labels, ring = ring_labels(tables[0])
        marks.append(Labels(x=ring[:, 0].numpy(), y=ring[:, 1].numpy(), texts=labels, size=6))
    reach = 1.4 * tables.abs().max().item()  # room for the labels
    first, second = axis_names(circle)
    share = f"{circle.variance_share:.1%} of the embedding's variance"
    plane = f"the plane of the circle of frequency {circle.frequency}, which {_doing(item)}"
    return Panel(
        marks=marks,
        x=Axis(name=first, limits=(-reach, reach)),
        y=Axis(name=second, limits=(-reach, reach)),
        caption=f"{circle_name(item)}, {share}",
        alt=f"Tokens 0 to {specimen.modulus - 1} in {plane}.",
        height=SMALL,
        equal=True,
    )


def _with_twins(token: int, modulus: int, frequency: int) -> str:
    """A token and those at the same place of its circle, where the frequency shares a factor
    with the modulus.
    """
    apart = modulus // math.gcd(modulus, frequency)
    group = cyclic_group(modulus)
    twins = [str(group.sum(token, step)) for step in range(apart, modulus, apart)]
    return f"{token}, beside {', '.join(twins)}" if twins else str(token)


def _doing(item: CircleEvidence) -> str:
    """What a circle does, in words."""
    if item.role == "accompanying" and item.accompanies:
        return f"accompanies the circle of frequency {item.accompanies}"
    return DOING[item.role]


def ring_labels(points: Tensor) -> tuple[list[str], Tensor]:
    """Tokens to write on a ring outside all points (p, 2), each in the direction of its own, and
    where: (labels, 2).

    Only as many as have room side by side; every token shows on hover.
    """
    middle = points.mean(dim=0)
    offsets = points - middle
    angles = torch.atan2(offsets[:, 1], offsets[:, 0])
    room = 2 * math.pi / MOST_LABELS
    tokens = list[int]()
    for token in angles.argsort().tolist():
        beside_last = tokens and angles[token] - angles[tokens[-1]] < room
        beside_first = tokens and angles[tokens[0]] + 2 * math.pi - angles[token] < room
        if not beside_last and not beside_first:
            tokens.append(token)
    radius = RING * offsets.norm(dim=1).max()
    directions = torch.stack([angles[tokens].cos(), angles[tokens].sin()], dim=1)
    return [str(token) for token in tokens], middle + radius * directions


def logit_panel(answer: Answer, order: Sequence[int], caption: str = "", alt: str = "") -> Panel:
    """Correct logits, rows a - b and columns a + b, both in this order of the residues."""
    p = len(order)
    ordered = answer.logits[list(order)][:, list(order)].double()  # (p, p)
    has_pair = ~ordered.isnan()
    values, ends = logit_cells(ordered)
    low, high = (None, None) if ends is None else ends
    # What a cell is cannot be read off its position once rows and columns are in the order of a
    # circle: each cell carries it.
    sums = torch.tensor(order).expand(p, p)
    differences = sums.T
    cells = torch.stack([table[has_pair].view_as(values) for table in (differences, sums)], dim=-1)
    across = (
        np.arange(p) if p % 2 else np.arange(0.5, p, 2)
    )  # at even p, every second cell is empty
    heat_map = HeatMap(
        values=values.numpy(),
        x=across,
        y=np.arange(p),
        low=low,
        high=high,
        scale="logit",
        details=cells.to(torch.int8 if p <= 127 else torch.int16).numpy(),
        hover=Hover(
            "a − b = {details[0]}, a + b = {details[1]} (mod {p})",
            "correct logit {value:.4g}",
            p=p,
        ),
    )
    ticks = list(range(0, p, max(1, math.ceil(p / MOST_TICKS))))
    axis = Axis(ticks=ticks, tick_names=[str(order[tick]) for tick in ticks])
    return Panel(
        marks=[heat_map],
        x=replace(axis, name="a + b"),
        y=replace(axis, name="a − b"),
        caption=caption,
        alt=alt,
        height=SQUARE,
    )


def main_order(specimen: Specimen) -> tuple[list[int], str]:
    """The order of rows and columns in which a whole network's pattern is seen: that of its
    strongest circle. Also in words.
    """
    if not specimen.evidence:
        return list(range(specimen.modulus)), "their own order"
    strongest = max(
        specimen.evidence, key=lambda item: (item.logit_variance, item.circle.variance_share)
    )
    k = order_frequency(strongest)
    return circle_order(specimen.modulus, k).tolist(), f"the order of the circle k = {k}"


def correct_logits_panel(specimen: Specimen) -> Panel:
    """The whole network's correct logits (figure 3), in the order of its strongest circle."""
    order, words = main_order(specimen)
    irrelevance = quantity(IRRELEVANCE).text(specimen.analysis.metrics[IRRELEVANCE])
    accuracy = quantity("accuracy").text(specimen.analysis.accuracy)
    return logit_panel(
        specimen.whole,
        order,
        f"whole network, accuracy {accuracy}; rows and columns in {words}{_spacing(order)}",
        "Correct logits of the whole network by a minus b (rows) and a plus b (columns). "
        f"Distance irrelevance is {irrelevance}: 0 means bands along the rows, 1 none.",
    )


def isolated_panel(specimen: Specimen, item: CircleEvidence) -> Panel:
    """Correct logits with one circle kept, rows and columns in steps of that circle's spacing
    (figures 4, 5 and 12).
    """
    answer = specimen.only([item])
    order = circle_order(specimen.modulus, order_frequency(item)).tolist()
    return logit_panel(
        answer,
        order,
        f"only {circle_name(item)}, accuracy {floored(answer.accuracy)}{_spacing(order)}",
        f"Correct logits with only the circle of frequency {item.circle.frequency} kept; it "
        f"{_doing(item)}.",
    )


def instance_panel(specimen: Specimen, instance: Instance, form: str) -> Panel:
    """Correct logits with one instance kept, rows and columns in steps of its leading frequency."""
    answer = specimen.answer(instance.frequencies)
    order = circle_order(specimen.modulus, instance.frequencies[0]).tolist()
    name = ", ".join(map(str, instance.frequencies))
    return logit_panel(
        answer,
        order,
        f"only {name} ({form_name(form)}), accuracy {floored(answer.accuracy)}{_spacing(order)}",
        f"Correct logits with only the instance of the frequencies {name} kept, which has the "
        f"form: {form_name(form)}.",
    )


def _spacing(order: Sequence[int]) -> str:
    """The step between neighbors, where there is one: the inverse of the frequency mod p."""
    step = order[1]
    is_even = list(order) == steps_around(len(order), step).tolist()
    return f"; steps of {step}" if step > 1 and is_even else ""


def attention_panels(specimen: Specimen) -> list[Panel]:
    """What the position that answers takes from the first operand (and the second, with an
    equals sign), head by head.
    """
    network = specimen.network
    if network.first_attention() is None:
        return []
    low, high = attention_ends(network)
    panels = []
    for pattern in attention_patterns(specimen):
        weight = f"weight on {pattern.operand}"
        rows = np.arange(len(pattern.weights))
        heat_map = HeatMap(
            values=pattern.weights.numpy(),
            x=rows,
            y=rows,
            low=low,
            high=high,
            scale="weight",
            hover=Hover("a = {y}, b = {x}", "{weight} {value:.4f}", weight=weight),
        )
        name = f"layer {pattern.layer}, head {pattern.head}, {weight}"
        panel = Panel(
            marks=[heat_map],
            x=Axis(name="b"),
            y=Axis(name="a"),
            caption=name,
            alt=f"Attention of the last position for every pair: {name}.",
            height=SMALL,
        )
        panels.append(panel)
    return panels


def history_panels(history: Mapping[str, Sequence[Any]]) -> list[Panel]:
    """Losses, accuracies and the parameter norm along training, as far as they are there."""
    epochs = list(history["epochs"])
    panels = []
    for name, columns in CURVES.items():
        recorded = [column for column in columns if _is_recorded(history, column)]
        if not recorded:
            continue
        marks = list[Mark]()
        last_values = []
        for index, column in enumerate(recorded):
            curve = label(column).removesuffix(f" {name}")
            values = list(history[column])
            color, dash = CURVE_LOOKS[index]
            line = Line(
                x=epochs,
                y=[math.nan if value is None else value for value in values],
                color=color,
                dash=dash,
                name=curve if len(recorded) > 1 else "",
                hover=Hover("{curve}, epoch {x}: {y:.4g}", curve=curve),
            )
            marks.append(line)
            last_values.append(f"{curve} {quantity(column).text(values[-1])}")
        last = ", ".join(last_values)
        panel = Panel(
            marks=marks,
            x=Axis(name="epoch"),
            y=Axis(name=name, scale="log" if name == "loss" else "linear"),
            caption=f"{name}; at the end: {last}",
            alt=f"The {name} along training. At the end: {last}.",
            height=280,
        )
        panels.append(panel)
    return panels


def _is_recorded(history: Mapping[str, Sequence[Any]], column: str) -> bool:
    return any(value is not None for value in history.get(column, ()))
