"""Pictures of isolated circles: correct logits by a - b and a + b on top, the embedding in the circle's plane below."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from algophase.analysis.evidence import CircleEvidence
from algophase.paper.plates import Plates, take
from algophase.paper.sources import Exhibit
from algophase.report.figures import circle_order, draw_plane, logit_map, operand_legend
from algophase.report.style import new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

MOST_SHOWN = 4  # panels side by side, as in the paper
PANEL = 2.35


def logits_in_order(axes: "Axes", matrix: Tensor, frequency: int) -> "AxesImage":
    """Correct logits, rows a - b and columns a + b, in the order of a circle; without numbers, for small panels."""
    order = circle_order(len(matrix), frequency)
    image = logit_map(axes, matrix[order][:, order])
    axes.set(xticks=[], yticks=[])
    return image


def logits_in_steps(axes: "Axes", matrix: Tensor, frequency: int) -> "AxesImage":
    """Correct logits, rows a - b and columns a + b, both in steps of the spacing of a circle (the paper's (a - b) / 18)."""
    p = len(matrix)
    order = circle_order(p, frequency)
    image = logit_map(axes, matrix[order][:, order])
    if math.gcd(frequency, p) == 1:
        step = pow(frequency, -1, p)
        axes.set(xlabel=f"{_over('a + b', step)} mod {p}", ylabel=f"{_over('a − b', step)} mod {p}")
    else:  # several residues share a place on the circle: positions are an order, not values
        axes.set(xlabel="a + b, in the circle's order", ylabel="a − b, in the circle's order", xticks=[], yticks=[])
    return image


def _over(term: str, step: int) -> str:
    return term if step == 1 else f"({term})/{step}"


def draw_isolated(exhibit: Exhibit, shown: Sequence[CircleEvidence], notes: Sequence[str] = ()) -> "Figure":
    """One column per circle. notes: a further line of each column's title."""
    return draw_plates(take(exhibit, shown, notes))


def draw_plates(taken: Plates) -> "Figure":
    shown = taken.plates
    figure = new_figure(max(3.4, PANEL * len(shown)), 2 * PANEL + 1.1)
    figure.set_layout_engine("constrained", w_pad=0.08)
    rows = figure.subplots(2, len(shown), squeeze=False)
    for column, plate in enumerate(shown):
        top, bottom = rows[0, column], rows[1, column]
        image = logits_in_steps(top, plate.logits, plate.order)
        figure.colorbar(image, ax=top, location="bottom", aspect=30)
        top.set_title(plate.title)
        draw_plane(bottom, plate.points, plate.frequency, plate.axes)
        bottom.set_aspect("equal", adjustable="box")
        bottom.locator_params(nbins=3)
    if len(shown[0].points) > 1:
        operand_legend(figure)
    count = f"{len(shown)} of {taken.circles}" if len(shown) < taken.circles else f"all {len(shown)}"
    set_title(figure, f"{taken.name} ({taken.network_id}), correct logits with one circle kept at a time ({count})")
    return figure
