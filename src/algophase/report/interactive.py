"""The interactive pictures of one network: circles, correct logits, isolated circles, attention, training curves.

Every builder returns a plotly Figure and knows nothing of the page it lands on.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from algophase.analysis.circles import isolate_circles, points_in_plane
from algophase.analysis.evidence import CircleEvidence
from algophase.analysis.grid import by_difference_and_sum, correct_logits, grid_logits
from algophase.networks import Transformer
from algophase.report.figures import Subject, circle_order
from algophase.report.plotly_style import HEATMAP, Panel, graph_objects, new_figure
from algophase.report.style import COLOURS
from algophase.wording import floored

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SQUARE = 340  # height of a logit map
SMALL = 290  # of a circle, of an attention pattern
MOST_TICKS = 8
MOST_LABELS = 20  # tokens written beside their points; all of them show on hover
OPERANDS = ("first operand", "second operand")
LOSSES = {"training_loss": "training", "validation_loss": "validation"}
ACCURACIES = {"training_accuracy": "training", "validation_accuracy": "validation"}


def circle_name(item: CircleEvidence) -> str:
    return f"k = {item.circle.frequency} ({item.part})"


def circle_panel(subject: Subject, item: CircleEvidence) -> Panel:
    """The tokens in the plane of a circle; each says its number on hover. Neighbours on the circle are joined."""
    go, circle = graph_objects(), item.circle
    of_components = circle.method == "components"
    first, second = (f"component {number}" for number in circle.components[:2]) if of_components else ("axis 1", "axis 2")
    figure = new_figure(x=first, y=second, height=SMALL, showlegend=False)
    tables = points_in_plane(subject.components, circle)
    order = circle_order(subject.modulus, circle.frequency).tolist()
    for table, points in enumerate(tables):
        along = points[order].double()
        who = f"{OPERANDS[table]} " if len(tables) > 1 else ""
        every = math.ceil(len(order) * len(tables) / MOST_LABELS)
        figure.add_trace(
            go.Scatter(
                x=_short(along[:, 0]),
                y=_short(along[:, 1]),
                mode="markers+text",
                text=[str(token) if place % every == 0 else "" for place, token in enumerate(order)],
                textposition="middle center" if len(tables) > 1 else _outwards(along),
                textfont={"size": 11},
                customdata=[_with_twins(token, subject.modulus, circle.frequency) for token in order],
                marker={"color": COLOURS[table], "size": 7, "symbol": ("circle", "square")[table]},
                name=OPERANDS[table],
                cliponaxis=False,
                hovertemplate=f"{who}token %{{customdata}}<br>(%{{x:.3f}}, %{{y:.3f}})<extra></extra>",
            )
        )
    if len(tables) > 1:
        figure.update_traces(mode="markers")
        figure.update_layout(showlegend=True)
    reach = 1.32 * tables.abs().max().item()  # room for the labels
    figure.update_xaxes(range=[-reach, reach], constrain="domain", nticks=5, tickangle=0)
    figure.update_yaxes(range=[-reach, reach], constrain="domain", nticks=5, scaleanchor="x", scaleratio=1)
    share = f"{circle.variance_share:.1%} of the embedding's variance"
    return Panel(
        figure,
        f"{circle_name(item)}, {share}",
        f"Tokens 0 to {subject.modulus - 1} in the plane of the circle of frequency {circle.frequency}, which {_doing(item)}.",
    )


def _with_twins(token: int, modulus: int, frequency: int) -> str:
    """A token and those at the same place of its circle, where the frequency shares a factor with the modulus."""
    apart = modulus // math.gcd(modulus, frequency)
    twins = [str((token + step) % modulus) for step in range(apart, modulus, apart)]
    return f"{token}, beside {', '.join(twins)}" if twins else str(token)


def _doing(item: CircleEvidence) -> str:
    return {
        "Clock": "acts as a Clock",
        "Pizza": "acts as a Pizza",
        "mixed": "acts as a mixture of Clock and Pizza",
        "accompanying": f"accompanies the circle of frequency {item.accompanies}"
        if item.accompanies
        else "follows the accompanying form without a partner",
        "unclear": "follows neither form",
    }[item.role]


def _short(values: Tensor) -> list[float]:
    """Numbers to five digits: what a picture shows, at half the size."""
    return [float(f"{value:.5g}") for value in values.tolist()]


def _outwards(points: Tensor) -> list[str]:
    """Where a token's label goes so that it lies outside the circle."""
    places = []
    for x, y in (points - points.mean(dim=0)).tolist():
        eighth = round(math.atan2(y, x) / (math.pi / 4)) % 8
        places.append(
            (
                "middle right",
                "top right",
                "top center",
                "top left",
                "middle left",
                "bottom left",
                "bottom center",
                "bottom right",
            )[eighth]
        )
    return places


def logit_figure(matrix: Tensor, order: Sequence[int]) -> "Figure":
    """Correct logits, rows a - b and columns a + b, both in this order of the residues.

    At even p every second cell of a row holds no pair; the others are drawn twice as wide instead of a chequered picture.
    Colours do not magnify rounding: a matrix constant to nine digits is drawn in one colour.
    """
    go, p = graph_objects(), len(order)
    figure = new_figure(x="a + b", y="a − b", height=SQUARE)
    ordered = matrix[list(order)][:, list(order)].double()
    there = ~ordered.isnan()
    values = ordered if p % 2 else ordered[there].view(p, p // 2)
    middle, spread = values.mean().item(), (values.max() - values.min()).item()
    constant = spread <= 1e-9 * max(1.0, values.abs().max().item())
    columns = torch.tensor(order).expand(p, p)
    places: dict[str, Any] = {"x0": 0, "dx": 1} if p % 2 else {"x0": 0.5, "dx": 2}
    # What a cell is cannot be read off its place once rows and columns are in the order of a circle: each cell carries it.
    cells = torch.stack([columns.T[there].view_as(values), columns[there].view_as(values)], dim=-1)
    figure.add_trace(
        go.Heatmap(
            z=values.float().numpy(),
            y0=0,
            dy=1,
            **places,
            customdata=cells.to(torch.int8 if p <= 127 else torch.int16).numpy(),
            zmin=middle - 0.5 if constant else None,
            zmax=middle + 0.5 if constant else None,
            colorscale=HEATMAP,
            colorbar={"thickness": 10, "outlinewidth": 0, "title": {"text": "logit<br> ", "font": {"size": 12}}},
            hovertemplate=(
                f"a − b = %{{customdata[0]}}, a + b = %{{customdata[1]}} (mod {p})<br>correct logit %{{z:.4g}}<extra></extra>"
            ),
        )
    )
    ticks = list(range(0, p, max(1, math.ceil(p / MOST_TICKS))))
    shown = {"tickvals": ticks, "ticktext": [str(order[tick]) for tick in ticks], "showgrid": False}
    figure.update_layout(xaxis=shown, yaxis=shown)
    return figure


def correct_logits_panel(subject: Subject, frequency: int | None = None) -> Panel:
    """The whole network's correct logits (figure 3), in the order of a circle if a frequency is given."""
    matrix = by_difference_and_sum(correct_logits(grid_logits(subject.network)))
    order = list(range(subject.modulus)) if frequency is None else circle_order(subject.modulus, frequency).tolist()
    steps = "in their own order" if frequency is None else f"in the order of the circle k = {frequency}{_spacing(order)}"
    return Panel(
        logit_figure(matrix, order),
        f"whole network, accuracy {floored(subject.analysis.accuracy)}; rows and columns {steps}",
        "Correct logits of the whole network by a minus b (rows) and a plus b (columns). "
        f"Distance irrelevance is {subject.analysis.distance_irrelevance:.3f}: 0 means bands along the rows, 1 none.",
    )


def isolated_panel(subject: Subject, item: CircleEvidence) -> Panel:
    """Correct logits with one circle kept, rows and columns in steps of that circle's spacing (figures 4, 5 and 12)."""
    isolation = isolate_circles(subject.network, [item.circle], principal=subject.components)
    # An accompanying circle answers on the circle of its Pizza, and shows its pattern in that one's order.
    k = item.accompanies or item.circle.frequency
    order = circle_order(subject.modulus, k).tolist()
    return Panel(
        logit_figure(by_difference_and_sum(correct_logits(isolation.logits)), order),
        f"only {circle_name(item)}, accuracy {floored(isolation.accuracy)}{_spacing(order)}",
        f"Correct logits with only the circle of frequency {item.circle.frequency} kept; it {_doing(item)}.",
    )


def _spacing(order: Sequence[int]) -> str:
    """The step between neighbours, where there is one: the inverse of the frequency mod p."""
    p, step = len(order), order[1]
    return f"; steps of {step}" if all(order[i] == i * step % p for i in range(p)) else ""


def attention_panels(subject: Subject) -> list[Panel]:
    """What the position that answers takes from the first operand (and the second, with an equals sign), head by head."""
    network = subject.network
    if not isinstance(network, Transformer):
        return []
    go, p, rate = graph_objects(), subject.modulus, network.settings.attention_rate
    _, cache = network.run_with_cache()
    # With two positions the weights on a and b add up to a constant, so one picture says both.
    operands = ("a", "b") if network.task.equals_sign else ("a",)
    panels = []
    for layer in range(network.settings.layers):
        pattern = cache[f"blocks.{layer}.attn.hook_pattern"].unflatten(0, (p, p))  # (a, b, head, to, from)
        for head in range(network.settings.heads):
            for position, operand in enumerate(operands):
                figure = new_figure(x="b", y="a", height=SMALL)
                figure.add_trace(
                    go.Heatmap(
                        z=pattern[:, :, head, -1, position].detach().float().numpy(),
                        zmin=1 - rate if rate > 0 else 0,  # constant attention is 1 everywhere: show it on a whole scale
                        zmax=1,
                        colorscale=HEATMAP,
                        colorbar={"thickness": 10, "outlinewidth": 0, "title": {"text": "weight<br> ", "font": {"size": 12}}},
                        hovertemplate=f"a = %{{y}}, b = %{{x}}<br>weight on {operand} %{{z:.4f}}<extra></extra>",
                    )
                )
                figure.update_layout(xaxis_showgrid=False, yaxis_showgrid=False, margin={"l": 44, "r": 4})
                name = f"layer {layer + 1}, head {head + 1}, weight on {operand}"
                panels.append(Panel(figure, name, f"Attention of the last position for every pair: {name}."))
    return panels


def history_panels(history: Mapping[str, Sequence[Any]]) -> list[Panel]:
    """Losses, accuracies and the parameter norm along training, as far as they are there."""
    epochs, panels = history["epochs"], []
    for curves, name, logarithmic in (
        (LOSSES, "loss", True),
        (ACCURACIES, "accuracy", False),
        ({"parameter_norm": "parameter norm"}, "parameter norm", False),
    ):
        there = {key: label for key, label in curves.items() if any(value is not None for value in history.get(key, ()))}
        if there:
            figure = new_figure(x="epoch", y=name, height=280, showlegend=len(there) > 1)
            for index, (key, label) in enumerate(there.items()):
                figure.add_trace(
                    graph_objects().Scatter(
                        x=list(epochs),
                        y=list(history[key]),
                        mode="lines",
                        name=label,
                        line={"color": COLOURS[index], "dash": ("solid", "dash")[index], "width": 2},
                        hovertemplate=f"{label}, epoch %{{x}}: %{{y:.4g}}<extra></extra>",
                    )
                )
            if logarithmic:
                figure.update_yaxes(type="log", exponentformat="power", dtick=2)
            last = ", ".join(f"{label} {_last(history[key])}" for key, label in there.items())
            panels.append(Panel(figure, f"{name}; at the end: {last}", f"The {name} along training. At the end: {last}."))
    return panels


def _last(values: Sequence[Any]) -> str:
    return "undefined" if not values or values[-1] is None else f"{values[-1]:.4g}"
