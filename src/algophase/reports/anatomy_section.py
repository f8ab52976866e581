"""The section of a page on the inside of a linear Pizza (appendix L): which units read its
circles, and what they compute.
"""

import math

from algophase.analysis.hidden.anatomy import Anatomy, PizzaAnatomy, Readout
from algophase.core.palette import COLORS
from algophase.core.wording import floored
from algophase.pages.table import Table
from algophase.pictures.marks import Axis, Hover, Line, Panel
from algophase.reports.page import Page, paragraph

MOST_DRAWN = 4
EVERY = 6  # of a readout's angles, one is drawn


def add_anatomy(page: Page, anatomy: Anatomy) -> None:
    """The Pizzas that the unembedding shares, the hidden units that serve them, and the readout
    against cos 2t.
    """
    if not anatomy.pizzas:
        return
    page.heading(3, "Inside the linear Pizza")
    page.add(
        paragraph(
            "Circles that act as a Pizza and that embedding and unembedding share. Hidden units "
            "read the point at angle t on such a circle, and their readout should be the Pizza's "
            "A cos(2t + φ). The last column is the share of the readout's variance that this "
            "explains, on either axis of the answer's circle."
        )
    )
    rows = []
    for pizza in anatomy.pizzas:
        embedding = ", ".join(map(str, pizza.embedding_components))
        unembedding = ", ".join(map(str, pizza.unembedding_components))
        explained = [_percent(readout.variance_explained) for readout in pizza.readouts]
        row = [pizza.frequency, embedding, unembedding, len(pizza.rows), ", ".join(explained)]
        rows.append(row)
    head = [
        "frequency",
        "embedding components",
        "unembedding components",
        "hidden units",
        "explained by cos 2t",
    ]
    circles = Table(head, rows, numbers=(0, 3))
    page.add(circles.html("Circles of the embedding and of the unembedding"))
    sentences = []
    if not math.isnan(anatomy.exclusive_share):
        sentences.append(
            f"{_percent(anatomy.exclusive_share)} of the units in use read one of these circles "
            "alone."
        )
    relu = anatomy.second_relu
    if relu is not None:
        sentences.append(
            f"Without its second ReLU the network answers {floored(relu.accuracy_without)} of "
            "all pairs right, "
            f"with it {floored(relu.accuracy)}."
        )
    if anatomy.unmatched:
        unmatched = ", ".join(map(str, anatomy.unmatched))
        sentences.append(f"Circles with another role, or not in the unembedding: {unmatched}.")
    if sentences:
        page.add(paragraph(" ".join(sentences)))
    page.pictures([readout_panel(pizza) for pizza in anatomy.pizzas[:MOST_DRAWN]], "small")


HALF_TURNS = Axis(
    name="angle t", ticks=[0, 0.5, 1, 1.5, 2], tick_names=["0", "π/2", "π", "3π/2", "2π"]
)


def readout_lines(readout: Readout, every: int = 1) -> list[Line]:
    """What the hidden units make of a point at angle t, by half turns, and its best cos 2t.

    every: of the angles, one of so many is drawn.
    """
    angles = readout.angles[::every]
    values = readout.values[::every]
    half_turns = (angles / math.pi).numpy()
    fitted = readout.amplitude * (2 * angles + readout.phase).cos() + readout.values.mean()
    sign = "+" if readout.phase >= 0 else "−"
    formula = f"{readout.amplitude:.1f} cos(2t {sign} {abs(readout.phase):.2f})"
    hover_text = "{name}, t = {x:.2f}π: {y:.3g}"
    of_network = Hover(hover_text, name="network")
    of_formula = Hover(hover_text, name=formula)
    dashed = Line(
        x=half_turns,
        y=fitted.numpy(),
        color=COLORS[5],
        dash="--",
        name=formula,
        hover=of_formula,
    )
    return [Line(x=half_turns, y=values.numpy(), name="network", hover=of_network), dashed]


def readout_panel(pizza: PizzaAnatomy) -> Panel:
    """The readout on the first axis of the answer's circle."""
    readout = pizza.readouts[0]
    explained = _percent(readout.variance_explained)
    return Panel(
        marks=readout_lines(readout, EVERY),
        x=HALF_TURNS,
        y=Axis(name="readout"),
        caption=f"k = {pizza.frequency}, first axis: {explained} of it is A cos(2t + φ)",
        alt=f"Readout of the circle of frequency {pizza.frequency} by angle, with the best fit of "
        f"twice the angle; it explains {explained} of the variance.",
        height=270,
    )


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}%"
