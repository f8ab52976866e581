"""The pictures of one network for print: panels of `network_panels` side by side, and files of
all that apply.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from algophase.analysis.catalogue import EXACT, quantity
from algophase.analysis.circles.find import Circle, points_in_plane
from algophase.analysis.logits.metrics import embedding_gradients, paper_triples
from algophase.analysis.presentation import program_of
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.core.wording import floored
from algophase.networks import Network
from algophase.pictures.marks import Axis, Figure, HeatMap, Legend, Panel, in_rows
from algophase.pictures.style import check_format
from algophase.reports.anatomy_section import readout_panel
from algophase.reports.group_panels import by_class_figure, coset_figure
from algophase.reports.network_panels import (
    aligned_panel,
    attention_panels,
    attention_patterns,
    attention_rate,
    axis_names,
    circle_order,
    drawn_circles,
    gradient_panel,
    logit_panel,
    order_frequency,
    plane_panel,
)
from algophase.reports.save_figure import save_figure

PER_ROW = 4
GRADIENT_COMPONENTS = 6
MOST_COMPONENTS = 16  # of aligned weights


def _grid(panels: list[Panel], size: float, **settings: object) -> Figure:
    """Square panels of this size in inches, at most PER_ROW in a row."""
    columns = min(len(panels), PER_ROW)
    rows = in_rows(panels, columns)
    legend = settings.get("legend")
    height = size * len(rows) + 0.5 + (0.3 if legend else 0.0)
    width = max(3.4, size * columns)
    return Figure(rows=rows, width=width, height=height, **settings)  # type: ignore[arg-type]


def correct_logits_figure(specimen: Specimen) -> Figure:
    """Rows a - b, columns a + b (figure 3): a Pizza shows horizontal bands, a Clock none."""
    p = specimen.modulus
    panel = logit_panel(specimen.whole.logits, range(p))
    panel = replace(
        panel,
        marks=[replace(mark, scale="correct logit") for mark in heat_maps(panel)],
        x=Axis(name=f"a + b mod {p}"),
        y=Axis(name=f"a − b mod {p}"),
        title=f"{specimen.title}\ncorrect logits",
    )
    return Figure(rows=[[panel]], width=4.2, height=3.6)


def heat_maps(panel: Panel) -> list[HeatMap]:
    return [mark for mark in panel.marks if isinstance(mark, HeatMap)]


def _times(frequency: int, term: str) -> str:
    return term if frequency == 1 else f"{frequency}({term})"


def isolated_logits_figure(specimen: Specimen) -> Figure:
    """Correct logits with one circle kept, rows and columns in the order of the circle (figures
    4, 5 and 12).
    """
    p = specimen.modulus
    panels = []
    for item in drawn_circles(specimen):
        answer = specimen.only([item])
        k = order_frequency(item)
        x = Axis(name=f"{_times(k, 'a + b')} mod {p}")
        y = Axis(name=f"{_times(k, 'a − b')} mod {p}")
        if math.gcd(k, p) > 1:  # residues share a place on the circle: positions are an order alone
            x = Axis(name=f"a + b, by {k}(a + b) mod {p}", ticks=[])
            y = Axis(name=f"a − b, by {k}(a − b) mod {p}", ticks=[])
        title = f"{_circle_title(item.circle)}\naccuracy alone {floored(answer.accuracy, 1)}"
        panel = logit_panel(answer.logits, circle_order(p, k).tolist())
        marks = [replace(mark, scale=" ") for mark in heat_maps(panel)]
        panels.append(replace(panel, marks=marks, x=x, y=y, title=title))
    title = f"{specimen.title}, correct logits after isolating each circle"
    return _grid(panels, 2.3, title=title)


def _circle_title(circle: Circle) -> str:
    if circle.method == "components":
        return f"components {circle.components[0]}, {circle.components[1]}; k = {circle.frequency}"
    return f"frequency k = {circle.frequency}"


def circles_figure(specimen: Specimen) -> Figure:
    """The embedding in the plane of each circle, points labeled with their tokens."""
    panels = []
    for item in drawn_circles(specimen):
        circle = item.circle
        tables = points_in_plane(specimen.components, circle)
        panel = plane_panel(tables, circle.frequency, axis_names(circle))
        title = f"k = {circle.frequency}, {circle.variance_share:.1%} of variance"
        panels.append(replace(panel, title=title))
    has_two_tables = len(specimen.components.coordinates) > 1
    return _grid(
        panels,
        2.6,
        title=f"{specimen.title}, circles in the embedding",
        legend=Legend(columns=2) if has_two_tables else None,
    )


def gradient_panels(specimen: Specimen, triples: int) -> list[Panel]:
    """Gradients of a logit on the first principal components, first operand against second, for
    some of the paper's (a, b, c).
    """
    chosen = paper_triples(specimen.modulus)[:triples]
    directions = specimen.components.directions[:GRADIENT_COMPONENTS]
    of_a, of_b = embedding_gradients(specimen.network, chosen)
    panels = []
    for triple, x, y in zip(chosen.tolist(), of_a @ directions.T, of_b @ directions.T, strict=True):
        panels.append(gradient_panel(x, y, "(a, b, c) = ({}, {}, {})".format(*triple)))
    return panels


def gradients_figure(specimen: Specimen) -> Figure:
    """Gradients of a logit, first operand against second (figure 2)."""
    symmetricity = quantity(EXACT)
    measured = symmetricity.text(specimen.analysis.metrics[EXACT])
    return _grid(
        gradient_panels(specimen, 3),
        2.4,
        title=f"{specimen.title}, {symmetricity.label} {measured}",
        legend=Legend(columns=3),
    )


def attention_figure(specimen: Specimen) -> Figure:
    """What the position that answers takes from each operand, head by head, after the attention
    rate is applied.
    """
    patterns = attention_patterns(specimen)
    rate = attention_rate(specimen.network)
    operands = sorted({pattern.operand for pattern in patterns})
    by_row = dict[tuple[int, str], list[Panel]]()
    for pattern, panel in zip(patterns, attention_panels(specimen), strict=True):
        marks = [replace(mark, scale="") for mark in heat_maps(panel)]
        on = f", on {pattern.operand}" if len(operands) > 1 else ""
        row = by_row.setdefault((pattern.layer, pattern.operand), [])
        row.append(replace(panel, marks=marks, title=f"{panel.title}{on}"))
    rows = [by_row[key] for key in sorted(by_row)]
    beside = "" if len(operands) > 1 else f"\n(on b: {2 - rate:.3g} less that)"
    return Figure(
        rows=rows,
        width=1.9 * len(rows[0]) + 0.8,
        height=1.9 * len(rows) + 0.7,
        title=f"{specimen.title}, attention of the last position (rate {rate:g})",
        scale="weight on " + " or ".join(operands) + beside,
        names_outside=True,
    )


def anatomy_figure(specimen: Specimen) -> Figure:
    """Aligned W_1 and W_2, hidden units grouped by their pizza, and the readouts against A
    cos(2t + phi) (appendix L).
    """
    anatomy = specimen.analysis.anatomy
    assert anatomy is not None
    pizzas = anatomy.pizzas[:PER_ROW]
    units = list(dict.fromkeys(row for pizza in pizzas for row in pizza.rows))
    w1 = anatomy.aligned_w1[units][:, :MOST_COMPONENTS].T
    w2 = anatomy.aligned_w2[:MOST_COMPONENTS][:, units]
    readouts = []
    for pizza in pizzas:
        amplitude = pizza.readouts[0].amplitude
        panel = readout_panel(pizza)
        upwards = replace(panel.y, limits=(-1.2 * amplitude, 2.2 * amplitude))
        title = f"k = {pizza.frequency}, {len(pizza.rows)} units"
        corner = Legend(where="upper center", columns=1)
        readouts.append(replace(panel, y=upwards, title=title, legend=corner))
    extent = ""
    if len(pizzas) < len(anatomy.pizzas):
        extent = f" ({len(pizzas)} of {len(anatomy.pizzas)} pizzas)"
    return Figure(
        rows=[
            [aligned_panel(w1, "embedding", "aligned $W_1$")],
            [aligned_panel(w2, "unembedding", "aligned $W_2$")],
            readouts,
        ],
        width=8.0,
        height=6.0,
        title=f"{specimen.title}, inside the linear network{extent}",
    )


class NetworkPicture(NamedTuple):
    """A picture, and whether a network has what it shows."""

    draw: Callable[[Specimen], Figure]
    applies: Callable[[Specimen], bool]


def _program_figure(specimen: Specimen) -> Figure:
    return program_of(specimen.analysis, specimen.title)


def _has_pizza_anatomy(specimen: Specimen) -> bool:
    anatomy = specimen.analysis.anatomy
    return anatomy is not None and bool(anatomy.pizzas)


def _on_cycle(specimen: Specimen) -> bool:
    return specimen.analysis.on_group is None


def _on_group(specimen: Specimen) -> bool:
    """On a group that is not cyclic."""
    return specimen.analysis.on_group is not None


def logits_figure(specimen: Specimen) -> Figure:
    """The logits of any network: correct logits by a - b and a + b, or mean logits by cosets."""
    return correct_logits_figure(specimen) if _on_cycle(specimen) else coset_figure(specimen)


# By the name of its file
PICTURES: dict[str, NetworkPicture] = {
    "correct_logits": NetworkPicture(correct_logits_figure, _on_cycle),
    "gradients": NetworkPicture(
        gradients_figure, lambda specimen: _on_cycle(specimen) and specimen.has_code
    ),
    "program": NetworkPicture(_program_figure, lambda specimen: specimen.analysis.verdict.known),
    "mean_logits": NetworkPicture(by_class_figure, _on_group),
    "cosets": NetworkPicture(coset_figure, _on_group),
    "circles": NetworkPicture(circles_figure, lambda specimen: bool(specimen.evidence)),
    "isolated_logits": NetworkPicture(
        isolated_logits_figure, lambda specimen: bool(specimen.evidence) and specimen.has_code
    ),
    "attention": NetworkPicture(
        attention_figure, lambda specimen: specimen.network.first_attention() is not None
    ),
    "anatomy": NetworkPicture(anatomy_figure, _has_pizza_anatomy),
}


def draw_all(
    network: Network, analysis: Analysis, directory: str | Path, image_format: str = "png"
) -> list[Path]:
    """Write every picture that applies to this network into `directory` and return the paths."""
    check_format(image_format)
    specimen = Specimen(network, analysis)
    paths = []
    for name, picture in PICTURES.items():
        if picture.applies(specimen):
            path = Path(directory) / f"{name}.{image_format}"
            paths.append(save_figure(picture.draw(specimen), path))
    return paths
