"""The pictures of one network: circles, correct logits, gradients, attention, the weights of a
linear network, training curves.

Each is a panel. A page shows it as it is; `figures` puts several of them side by side for print.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.catalogue import IRRELEVANCE, label, quantity
from algophase.analysis.circles.find import Circle, points_in_plane
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.program.instances import Instance
from algophase.analysis.specimen import Specimen
from algophase.core.fourier import steps_around
from algophase.core.group import cyclic_group
from algophase.core.palette import COLORS, GRAY, MARKERS
from algophase.core.wording import floored, form_name
from algophase.networks import Network
from algophase.pictures.marks import Axis, Dash, HeatMap, Hover, Labels, Line, Mark, Panel, Points
from algophase.pictures.style import DIVERGING

SQUARE = 340  # height of a logit map
SMALL = 290  # of a circle, of an attention pattern
MOST_TICKS = 8
MOST_CIRCLES = 8  # a picture of more than eight panels is not read
MOST_LABELS = 64  # tokens written at their points: more would overlap
MOST_ON_RING = 20  # tokens written around a circle; all of them show on hover
LABEL_HEIGHT = 0.048  # of a label, as a share of the circle's diameter in a panel of print
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


def drawn_circles(specimen: Specimen) -> tuple[CircleEvidence, ...]:
    """The largest circles of a network: as many as a picture has room for."""
    return specimen.evidence[:MOST_CIRCLES]


def circle_order(modulus: int, frequency: int) -> Tensor:
    """Residues in the order in which they lie on a circle: those with k d = 0, 1, 2, ... (mod
    p).
    """
    return torch.from_numpy(steps_around(modulus, frequency).argsort(kind="stable"))


def order_frequency(item: CircleEvidence) -> int:
    """The circle in whose order its logits show a pattern: an accompanying circle answers on the
    circle of its Pizza.
    """
    return item.accompanies or item.circle.frequency


def axis_names(circle: Circle) -> tuple[str, str]:
    if circle.method != "components":
        return "axis 1", "axis 2"
    first, second = circle.components[:2]
    return f"component {first}", f"component {second}"


def circle_name(item: CircleEvidence) -> str:
    return f"k = {item.circle.frequency} ({item.part})"


def circle_panel(specimen: Specimen, item: CircleEvidence) -> Panel:
    """The tokens in the plane of a circle; each says its number on hover."""
    circle = item.circle
    tables = points_in_plane(specimen.components, circle).double()
    panel = plane_panel(tables, circle.frequency, axis_names(circle))
    marks = list[Mark]()
    for mark in panel.marks:
        if isinstance(mark, Points):
            marks.append(replace(mark, size=3.8, opacity=1.0))  # no label stands on a point
    if len(tables) == 1:
        labels, ring = ring_labels(tables[0])
        marks.append(Labels(x=ring[:, 0].numpy(), y=ring[:, 1].numpy(), texts=labels, size=6))
    share = f"{circle.variance_share:.1%} of the embedding's variance"
    plane = f"the plane of the circle of frequency {circle.frequency}, which {_doing(item)}"
    return replace(
        panel,
        marks=marks,
        caption=f"{circle_name(item)}, {share}",
        alt=f"Tokens 0 to {specimen.modulus - 1} in {plane}.",
    )


def plane_panel(
    tables: Tensor, frequency: int, names: tuple[str, str], most_labels: int = MOST_LABELS
) -> Panel:
    """Tokens at their points (tables, p, 2), in one color per table, labeled; a small picture has
    room for fewer labels. names: of the axes.
    """
    p = tables.shape[1]
    order = circle_order(p, frequency).tolist()
    tokens = [_with_twins(token, p, frequency) for token in order]
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
            size=2.2,
            opacity=0.5,
            name=operand,
            texts=tokens,
            hover=Hover("{words} {text}", "({x:.3f}, {y:.3f})", words=words),
        )
        # Two operands' labels keep out of each other's way: the first just inside the circle, the
        # second just outside.
        shift = 1.0 if len(tables) == 1 else (0.8, 1.2)[table]
        labels = replace(token_labels(points, frequency, shift, most_labels), color=COLORS[table])
        marks += [dots, labels]
    reach = 1.4 * tables.abs().max().item()  # room for the labels
    first, second = names
    return Panel(
        marks=marks,
        x=Axis(name=first, limits=(-reach, reach)),
        y=Axis(name=second, limits=(-reach, reach)),
        height=SMALL,
        equal=True,
    )


def token_labels(
    points: Tensor, frequency: int, shift: float = 1.0, most_labels: int = MOST_LABELS
) -> Labels:
    """The numbers of tokens beside their points (p, 2). shift: their distance from the middle, as
    a multiple of the points'.

    Neighbors' labels stand on two rings. Where points lie so close that two labels would still
    overlap, one is left out.
    """
    p = len(points)
    # A label's size, as a share of the picture: one of two digits is about a fifth wider than high.
    height = LABEL_HEIGHT * MOST_LABELS / most_labels * 2 * points.abs().max().item()
    taken = list[tuple[float, float]]()
    texts = list[str]()
    every = math.ceil(p / most_labels)
    for rank, token in enumerate(circle_order(p, frequency)[::every].tolist()):
        distance = shift + (0.1 if rank % 2 else -0.1)
        x, y = (distance * points[token]).tolist()
        touches = [abs(x - left) < 1.2 * height and abs(y - up) < height for left, up in taken]
        if any(touches):
            continue
        taken.append((x, y))
        texts.append(str(token))
    size = 6 if shift >= 1 else 5.5
    return Labels(x=[x for x, _ in taken], y=[y for _, y in taken], texts=texts, size=size)


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
    room = 2 * math.pi / MOST_ON_RING
    tokens = list[int]()
    for token in angles.argsort().tolist():
        beside_last = tokens and angles[token] - angles[tokens[-1]] < room
        beside_first = tokens and angles[tokens[0]] + 2 * math.pi - angles[token] < room
        if not beside_last and not beside_first:
            tokens.append(token)
    radius = RING * offsets.norm(dim=1).max()
    directions = torch.stack([angles[tokens].cos(), angles[tokens].sin()], dim=1)
    return [str(token) for token in tokens], middle + radius * directions


def logit_cells(matrix: Tensor) -> tuple[Tensor, tuple[float, float] | None]:
    """What a logit map draws of logits by a - b and a + b: its cells, and the ends of its colors
    where they must be set.

    At even p every second cell of a row holds no pair; the others are drawn twice as wide instead
    of a chequered picture: (p, p / 2). Colors do not magnify rounding: a matrix that is constant
    to nine digits is drawn in one color.
    """
    p = len(matrix)
    values = matrix if p % 2 else matrix[~matrix.isnan()].view(p, p // 2)
    middle = values.mean().item()
    spread = (values.max() - values.min()).item()
    constant = spread <= 1e-9 * max(1.0, values.abs().max().item())
    return values, (middle - 0.5, middle + 0.5) if constant else None


def logit_panel(logits: Tensor, order: Sequence[int], caption: str = "", alt: str = "") -> Panel:
    """Correct logits (p, p), rows a - b and columns a + b, both in this order of the residues."""
    p = len(order)
    ordered = logits[list(order)][:, list(order)].double()
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
        specimen.whole.logits,
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
        answer.logits,
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
        answer.logits,
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


@dataclass(frozen=True)
class AttentionPattern:
    """weights: what the position that answers takes from an operand, for each pair (a, b), with
    the attention rate applied.
    """

    layer: int
    head: int
    operand: Literal["a", "b"]
    weights: Tensor


def attention_patterns(specimen: Specimen) -> list[AttentionPattern]:
    """Head by head, on each operand. With two positions the weights on a and b add up to a
    constant: only a's are given.
    """
    network = specimen.network
    p = specimen.modulus
    _, cache = network.run_with_cache()
    by_layer = [value for name, value in cache.items() if name.endswith("attn.hook_pattern")]
    operands: tuple[Literal["a", "b"], ...] = ("a", "b") if network.task.equals_sign else ("a",)
    patterns = []
    for layer, whole in enumerate(by_layer, start=1):
        of_pairs = whole.detach().unflatten(0, (p, p))  # (a, b, head, to, from)
        for head, of_head in enumerate(of_pairs.unbind(2), start=1):
            for position, operand in enumerate(operands):
                weights = of_head[:, :, -1, position]
                patterns.append(AttentionPattern(layer, head, operand, weights))
    return patterns


def attention_rate(network: Network) -> float:
    """NaN for a network that has none."""
    return float(network.settings.to_dict().get("attention_rate", math.nan))


def attention_ends(network: Network) -> tuple[float, float]:
    """The ends of an attention picture's colors. Constant attention is 1 everywhere: it is
    shown on a whole scale.
    """
    rate = attention_rate(network)
    return (1 - rate if rate > 0 else 0.0), 1.0


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
            title=f"layer {pattern.layer}, head {pattern.head}",
            caption=name,
            alt=f"Attention of the last position for every pair: {name}.",
            height=SMALL,
        )
        panels.append(panel)
    return panels


def gradient_panel(first: Tensor, second: Tensor, title: str) -> Panel:
    """Gradients on each component (components,), first operand against second; on the dashed line
    they are equal.
    """
    reach = 1.15 * max(first.abs().max().item(), second.abs().max().item(), 1e-12)
    ends = [-reach, reach]
    marks: list[Mark] = [Line(x=ends, y=ends, color=GRAY, dash="--", width=1)]
    for index, (x, y) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        point = Points(
            x=[x],
            y=[y],
            color=COLORS[index],
            marker=MARKERS[index],
            size=6,
            edge="#FFFFFF",
            name=f"component {index + 1}",
        )
        marks.append(point)
    limits = (-reach, reach)
    return Panel(
        marks=marks,
        x=Axis(name="gradient, first operand", limits=limits),
        y=Axis(name="gradient, second operand", limits=limits),
        title=title,
        equal=True,
    )


def aligned_panel(matrix: Tensor, side: str, name: str) -> Panel:
    """Aligned weights (components, hidden units) of one side of a linear network."""
    components, units = matrix.shape
    limit = matrix.abs().quantile(0.995).item()
    weights = HeatMap(
        values=matrix.numpy(),
        x=np.arange(units),
        y=np.arange(components),
        colors=DIVERGING,
        low=-limit,
        high=limit,
        scale=" ",
    )
    ticks = list(range(0, components, 4))
    names = [str(tick + 1) for tick in ticks]
    return Panel(
        marks=[weights],
        x=Axis(name="hidden unit, grouped by the circle it reads"),
        y=Axis(name=f"{side}\ncomponent", ticks=ticks, tick_names=names),
        title=name,
    )


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
