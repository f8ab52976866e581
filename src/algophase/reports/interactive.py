"""The interactive pictures of one network: circles, correct logits, isolated circles, attention,
training curves.

Every builder returns a plotly Figure and knows nothing of the page it lands on.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from algophase.reports.figures import (
    attention_ends,
    attention_patterns,
    axis_names,
    circle_order,
    logit_cells,
    order_frequency,
)
from algophase.reports.plotly_style import HEATMAP, Panel, color_bar, graph_objects, new_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
CURVES = {
    "loss": ("training_loss", "validation_loss"),
    "accuracy": ("training_accuracy", "validation_accuracy"),
    "parameter norm": ("parameter_norm",),
}


def circle_name(item: CircleEvidence) -> str:
    return f"k = {item.circle.frequency} ({item.part})"


def circle_panel(specimen: Specimen, item: CircleEvidence) -> Panel:
    """The tokens in the plane of a circle; each says its number on hover. Neighbors on the
    circle are joined.
    """
    go = graph_objects()
    circle = item.circle
    first, second = axis_names(circle)
    figure = new_figure(x=first, y=second, height=SMALL, showlegend=False)
    tables = points_in_plane(specimen.components, circle)
    order = circle_order(specimen.modulus, circle.frequency).tolist()
    tokens = [_with_twins(token, specimen.modulus, circle.frequency) for token in order]
    for table, points in enumerate(tables):
        along = points[order].double()
        operand = f"{OPERANDS[table]} " if len(tables) > 1 else ""
        symbol = ("circle", "square")[table]
        where = "(%{x:.3f}, %{y:.3f})"
        trace = go.Scatter(
            x=short_numbers(along[:, 0]),
            y=short_numbers(along[:, 1]),
            mode="markers",
            customdata=tokens,
            marker={"color": COLORS[table], "size": 7, "symbol": symbol},
            name=OPERANDS[table],
            cliponaxis=False,
            hovertemplate=f"{operand}token %{{customdata}}<br>{where}<extra></extra>",
        )
        figure.add_trace(trace)
    if len(tables) > 1:
        figure.update_layout(showlegend=True)
    else:
        labels, ring = ring_labels(tables[0].double())
        x, y = short_numbers(ring[:, 0]), short_numbers(ring[:, 1])
        written = {"text": labels, "mode": "text", "textfont": {"size": 11}}
        figure.add_trace(go.Scatter(x=x, y=y, **written, hoverinfo="skip"))
    reach = 1.4 * tables.abs().max().item()  # room for the labels
    axis = {"range": [-reach, reach], "constrain": "domain", "nticks": 5}
    figure.update_xaxes(**axis, tickangle=0)
    figure.update_yaxes(**axis, scaleanchor="x", scaleratio=1)
    share = f"{circle.variance_share:.1%} of the embedding's variance"
    plane = f"the plane of the circle of frequency {circle.frequency}, which {_doing(item)}"
    return Panel(
        figure,
        f"{circle_name(item)}, {share}",
        f"Tokens 0 to {specimen.modulus - 1} in {plane}.",
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


def short_numbers(values: Tensor) -> list[float]:
    """Numbers to five digits: all that a picture shows, in half the space."""
    return [float(f"{value:.5g}") for value in values.tolist()]


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


def logit_figure(answer: Answer, order: Sequence[int]) -> "Figure":
    """Correct logits, rows a - b and columns a + b, both in this order of the residues."""
    p = len(order)
    figure = new_figure(x="a + b", y="a − b", height=SQUARE)
    ordered = answer.logits[list(order)][:, list(order)].double()  # (p, p)
    has_pair = ~ordered.isnan()
    values, ends = logit_cells(ordered)
    low, high = (None, None) if ends is None else ends
    # What a cell is cannot be read off its position once rows and columns are in the order of a
    # circle: each cell carries it.
    sums = torch.tensor(order).expand(p, p)
    differences = sums.T
    cells = torch.stack([table[has_pair].view_as(values) for table in (differences, sums)], dim=-1)
    pair = f"a − b = %{{customdata[0]}}, a + b = %{{customdata[1]}} (mod {p})"
    heatmap = graph_objects().Heatmap(
        z=values.float().numpy(),
        y0=0,
        dy=1,
        x0=0 if p % 2 else 0.5,
        dx=1 if p % 2 else 2,  # at even p every second cell of a row holds no pair
        customdata=cells.to(torch.int8 if p <= 127 else torch.int16).numpy(),
        zmin=low,
        zmax=high,
        colorscale=HEATMAP,
        colorbar=color_bar("logit"),
        hovertemplate=f"{pair}<br>correct logit %{{z:.4g}}<extra></extra>",
    )
    figure.add_trace(heatmap)
    ticks = list(range(0, p, max(1, math.ceil(p / MOST_TICKS))))
    residues = [str(order[tick]) for tick in ticks]
    axis = {"tickvals": ticks, "ticktext": residues, "showgrid": False}
    figure.update_layout(xaxis=axis, yaxis=axis)
    return figure


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
    return Panel(
        logit_figure(specimen.whole, order),
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
    return Panel(
        logit_figure(answer, order),
        f"only {circle_name(item)}, accuracy {floored(answer.accuracy)}{_spacing(order)}",
        f"Correct logits with only the circle of frequency {item.circle.frequency} kept; it "
        f"{_doing(item)}.",
    )


def instance_panel(specimen: Specimen, instance: Instance, form: str) -> Panel:
    """Correct logits with one instance kept, rows and columns in steps of its leading frequency."""
    answer = specimen.answer(instance.frequencies)
    order = circle_order(specimen.modulus, instance.frequencies[0]).tolist()
    name = ", ".join(map(str, instance.frequencies))
    return Panel(
        logit_figure(answer, order),
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
        figure = new_figure(x="b", y="a", height=SMALL)
        weight = f"weight on {pattern.operand}"
        heatmap = graph_objects().Heatmap(
            z=pattern.weights.float().numpy(),
            zmin=low,
            zmax=high,
            colorscale=HEATMAP,
            colorbar=color_bar("weight"),
            hovertemplate=f"a = %{{y}}, b = %{{x}}<br>{weight} %{{z:.4f}}<extra></extra>",
        )
        figure.add_trace(heatmap)
        figure.update_layout(xaxis_showgrid=False, yaxis_showgrid=False, margin={"l": 56, "r": 4})
        name = f"layer {pattern.layer}, head {pattern.head}, {weight}"
        alt = f"Attention of the last position for every pair: {name}."
        panels.append(Panel(figure, name, alt))
    return panels


def history_panels(history: Mapping[str, Sequence[Any]]) -> list[Panel]:
    """Losses, accuracies and the parameter norm along training, as far as they are there."""
    epochs = list(history["epochs"])
    panels = []
    for name, columns in CURVES.items():
        recorded = [column for column in columns if _is_recorded(history, column)]
        if not recorded:
            continue
        figure = new_figure(x="epoch", y=name, height=280, showlegend=len(recorded) > 1)
        last_values = []
        for index, column in enumerate(recorded):
            curve = label(column).removesuffix(f" {name}")
            values = list(history[column])
            hover = f"{curve}, epoch %{{x}}: %{{y:.4g}}"
            figure.add_trace(line_trace(epochs, values, curve, index, hover))
            last_values.append(f"{curve} {quantity(column).text(values[-1])}")
        if name == "loss":
            figure.update_yaxes(type="log", exponentformat="power", dtick=2)
        last = ", ".join(last_values)
        alt = f"The {name} along training. At the end: {last}."
        panels.append(Panel(figure, f"{name}; at the end: {last}", alt))
    return panels


def _is_recorded(history: Mapping[str, Sequence[Any]], column: str) -> bool:
    return any(value is not None for value in history.get(column, ()))


def line_trace(x: Sequence[float], y: Sequence[float], name: str, index: int, hover: str) -> Any:
    """One of two curves: the first solid, the second dashed and of another color."""
    color, dash = ((COLORS[0], "solid"), (COLORS[5], "dash"))[index]
    line = {"color": color, "dash": dash, "width": 2}
    return graph_objects().Scatter(
        x=x, y=y, mode="lines", name=name, line=line, hovertemplate=f"{hover}<extra></extra>"
    )
