"""Pictures of isolated circles: correct logits by a - b and a + b on top, the embedding in the
circle's plane below.

What a picture shows is kept apart from its network, so that a network too large to ship can still
be drawn.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from algophase.analysis.circles.find import points_in_plane
from algophase.analysis.circles.roles import CircleEvidence
from algophase.core.errors import InputError
from algophase.paper.sources import Exhibit
from algophase.pictures.style import new_figure, set_title
from algophase.reports.figures import (
    axis_names,
    circle_order,
    draw_plane,
    logit_map,
    operand_legend,
    order_frequency,
)
from algophase.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

MOST_SHOWN = 4  # panels side by side, as in the paper
PANEL = 2.35


@dataclass(frozen=True)
class Plate:
    """One circle. order: the frequency in whose order its correct logits are shown."""

    title: str
    frequency: int
    order: int
    axes: tuple[str, str]
    logits: Tensor  # (p, p), rows a - b and columns a + b, with the circle alone
    points: Tensor  # (tables, p, 2), the tokens in its plane


@dataclass(frozen=True)
class Plates:
    """Some circles of a network, with what is said of it. circles: how many it has in all."""

    name: str
    network_id: str
    circles: int
    label: str
    circularity: float
    gradient_symmetricity: float
    distance_irrelevance: float
    plates: tuple[Plate, ...]


def take(exhibit: Exhibit, circles: Sequence[CircleEvidence], notes: Sequence[str] = ()) -> Plates:
    """notes: a further line of each circle's title."""
    if not circles:
        raise InputError(f"{exhibit.name} ({exhibit.network.id}) has no circle to isolate")
    plates = []
    for index, item in enumerate(circles):
        lines = [
            _circle_name(exhibit, item),
            f"accuracy alone {item.accuracy_alone:.1%}",
            *notes[index : index + 1],
        ]
        points = points_in_plane(exhibit.components, item.circle)
        logits = exhibit.only([item]).logits
        plates.append(
            Plate(
                "\n".join(lines),
                item.circle.frequency,
                order_frequency(item),
                axis_names(item.circle),
                logits,
                points,
            )
        )
    analysis = exhibit.analysis
    return Plates(
        name=exhibit.name,
        network_id=str(exhibit.network.id),
        circles=len(exhibit.evidence),
        label=analysis.paper_label,
        circularity=exhibit.circularity,
        gradient_symmetricity=analysis.gradient_symmetricity,
        distance_irrelevance=analysis.distance_irrelevance,
        plates=tuple(plates),
    )


def _circle_name(exhibit: Exhibit, item: CircleEvidence) -> str:
    partner = next(
        (
            candidate
            for candidate in exhibit.evidence
            if candidate.circle.frequency == item.accompanies
        ),
        None,
    )
    with_ = "" if partner is None else f" (with {exhibit.number_of(partner)})"
    return f"circle {exhibit.number_of(item)}{with_}, k = {item.circle.frequency}"


def save_plates(taken: Plates, path: Path) -> Path:
    """One file, in single precision: tensors `logits` and `points`, all else in its metadata."""
    words = asdict(replace(taken, plates=()))
    words["plates"] = [
        {key: getattr(plate, key) for key in ("title", "frequency", "order", "axes")}
        for plate in taken.plates
    ]
    tensors = {
        name: torch.stack([getattr(plate, name) for plate in taken.plates]).float()
        for name in ("logits", "points")
    }
    write_atomically(path, to_bytes(tensors, {"plates": json.dumps(words)}))
    return path


def load_plates(path: Path) -> Plates:
    try:
        with safe_open(path, framework="pt") as file:
            words = json.loads(file.metadata()["plates"])
            logits = file.get_tensor("logits").double()
            points = file.get_tensor("points").double()
        drawn = zip(words.pop("plates"), logits, points, strict=True)
        plates = tuple(
            Plate(
                one["title"], int(one["frequency"]), int(one["order"]), tuple(one["axes"]), *tensors
            )
            for one, *tensors in drawn
        )
        return Plates(**words, plates=plates)
    except FileNotFoundError:
        raise InputError(f"{path} is not there") from None
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} holds no plates of isolated circles: {error}") from None


def logits_in_order(axes: "Axes", matrix: Tensor, frequency: int) -> "AxesImage":
    """Correct logits, rows a - b and columns a + b, in the order of a circle; without numbers,
    for small panels.
    """
    order = circle_order(len(matrix), frequency)
    image = logit_map(axes, matrix[order][:, order])
    axes.set(xticks=[], yticks=[])
    return image


def logits_in_steps(axes: "Axes", matrix: Tensor, frequency: int) -> "AxesImage":
    """Correct logits, rows a - b and columns a + b, both in steps of the spacing of a circle
    (the paper's (a - b) / 18).
    """
    p = len(matrix)
    order = circle_order(p, frequency)
    image = logit_map(axes, matrix[order][:, order])
    if math.gcd(frequency, p) == 1:
        step = pow(frequency, -1, p)
        axes.set(xlabel=f"{_over('a + b', step)} mod {p}", ylabel=f"{_over('a − b', step)} mod {p}")
    else:  # several residues share a place on the circle: positions are an order, not values
        axes.set(
            xlabel="a + b, in the circle's order",
            ylabel="a − b, in the circle's order",
            xticks=[],
            yticks=[],
        )
    return image


def _over(term: str, step: int) -> str:
    return term if step == 1 else f"({term})/{step}"


def draw_isolated(
    exhibit: Exhibit, circles: Sequence[CircleEvidence], notes: Sequence[str] = ()
) -> "Figure":
    """One column per circle. notes: a further line of each column's title."""
    return draw_plates(take(exhibit, circles, notes))


def draw_plates(taken: Plates) -> "Figure":
    plates = taken.plates
    figure = new_figure(max(3.4, PANEL * len(plates)), 2 * PANEL + 1.1)
    figure.set_layout_engine("constrained", w_pad=0.08)
    rows = figure.subplots(2, len(plates), squeeze=False)
    for column, plate in enumerate(plates):
        top = rows[0, column]
        bottom = rows[1, column]
        image = logits_in_steps(top, plate.logits, plate.order)
        figure.colorbar(image, ax=top, location="bottom", aspect=30)
        top.set_title(plate.title)
        draw_plane(bottom, plate.points, plate.frequency, plate.axes)
        bottom.set_aspect("equal", adjustable="box")
        bottom.locator_params(nbins=3)
    if len(plates[0].points) > 1:
        operand_legend(figure)
    count = (
        f"{len(plates)} of {taken.circles}" if len(plates) < taken.circles else f"all {len(plates)}"
    )
    set_title(
        figure,
        f"{taken.name} ({taken.network_id}), correct logits with one circle kept at a time "
        f"({count})",
    )
    return figure
