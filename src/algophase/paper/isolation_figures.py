"""Pictures of isolated circles: correct logits by a - b and a + b on top, the embedding in the circle's plane below."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from algophase.analysis.evidence import CircleEvidence
from algophase.errors import InputError
from algophase.paper.specimens import Specimen
from algophase.report.figures import circle_order, draw_circle, logit_map, operand_legend
from algophase.report.style import new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

MOST_SHOWN = 4  # panels side by side, as in the paper
PANEL = 2.35


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


def draw_isolated(specimen: Specimen, shown: Sequence[CircleEvidence], notes: Sequence[str] = ()) -> "Figure":
    """One column a circle. notes: a further line of each column's title."""
    if not shown:
        raise InputError(f"{specimen.name} ({specimen.network.id}) has no circle to isolate")
    figure = new_figure(max(3.4, PANEL * len(shown)), 2 * PANEL + 1.1)
    figure.set_layout_engine("constrained", w_pad=0.08)
    rows = figure.subplots(2, len(shown), squeeze=False)
    for column, item in enumerate(shown):
        top, bottom = rows[0, column], rows[1, column]
        # An accompanying circle answers on the circle of its Pizza, and shows its pattern in that one's order.
        image = logits_in_steps(top, specimen.pattern(item).logits, item.accompanies or item.circle.frequency)
        figure.colorbar(image, ax=top, location="bottom", aspect=30)
        lines = [circle_name(specimen, item), f"accuracy alone {item.accuracy_alone:.1%}", *notes[column : column + 1]]
        top.set_title("\n".join(lines))
        draw_circle(bottom, specimen.components, item.circle)
        bottom.set_aspect("equal", adjustable="box")
        bottom.locator_params(nbins=3)
    if len(specimen.components.coordinates) > 1:
        operand_legend(figure)
    count = f"{len(shown)} of {len(specimen.circles)}" if len(shown) < len(specimen.circles) else f"all {len(shown)}"
    title = f"{specimen.name} ({specimen.network.id}), correct logits with one circle kept at a time ({count})"
    set_title(figure, title)
    return figure


def circle_name(specimen: Specimen, item: CircleEvidence) -> str:
    number, frequency = specimen.number_of(item), item.circle.frequency
    partner = next((other for other in specimen.circles if other.circle.frequency == item.accompanies), None)
    return f"circle {number}{'' if partner is None else f' (with {specimen.number_of(partner)})'}, k = {frequency}"
