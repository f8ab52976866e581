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

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from algophase.analysis.circles.find import points_in_plane
from algophase.analysis.circles.roles import CircleEvidence
from algophase.core.errors import InputError
from algophase.paper.sources import Exhibit
from algophase.pictures.marks import Axis, Figure, Legend, Panel
from algophase.reports.figures import heat_maps
from algophase.reports.network_panels import (
    axis_names,
    circle_order,
    logit_panel,
    order_frequency,
    plane_panel,
)
from algophase.storage.files import write_atomically

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


def logits_in_order(logits: Tensor, frequency: int) -> Panel:
    """Correct logits, rows a - b and columns a + b, in the order of a circle; without numbers,
    for small panels.
    """
    panel = logit_panel(logits, circle_order(len(logits), frequency).tolist())
    marks = [replace(mark, scale="") for mark in heat_maps(panel)]
    return replace(panel, marks=marks, x=Axis(ticks=[]), y=Axis(ticks=[]))


def logits_in_steps(logits: Tensor, frequency: int, scale: str = "") -> Panel:
    """Correct logits, rows a - b and columns a + b, both in steps of the spacing of a circle
    (the paper's (a - b) / 18). scale: the title of the color scale, which is below without one.
    """
    p = len(logits)
    panel = logit_panel(logits, circle_order(p, frequency).tolist())
    below = not scale
    marks = [replace(mark, scale=scale or " ", scale_below=below) for mark in heat_maps(panel)]
    if math.gcd(frequency, p) == 1:
        step = pow(frequency, -1, p)
        x = Axis(name=f"{_over('a + b', step)} mod {p}")
        y = Axis(name=f"{_over('a − b', step)} mod {p}")
    else:  # several residues share a place on the circle: positions are an order, not values
        x = Axis(name="a + b, in the circle's order", ticks=[])
        y = Axis(name="a − b, in the circle's order", ticks=[])
    return replace(panel, marks=marks, x=x, y=y)


def _over(term: str, step: int) -> str:
    return term if step == 1 else f"({term})/{step}"


def isolated_figure(
    exhibit: Exhibit, circles: Sequence[CircleEvidence], notes: Sequence[str] = ()
) -> Figure:
    """One column per circle. notes: a further line of each column's title."""
    return plates_figure(take(exhibit, circles, notes))


def plates_figure(taken: Plates) -> Figure:
    plates = taken.plates
    above = list[Panel]()
    below = list[Panel]()
    for plate in plates:
        logits = logits_in_steps(plate.logits, plate.order)
        above.append(replace(logits, title=plate.title))
        below.append(plane_panel(plate.points, plate.frequency, plate.axes))
    count = f"all {len(plates)}"
    if len(plates) < taken.circles:
        count = f"{len(plates)} of {taken.circles}"
    network = f"{taken.name} ({taken.network_id})"
    has_two_tables = len(plates[0].points) > 1
    return Figure(
        rows=[above, below],
        width=max(3.4, PANEL * len(plates)),
        height=2 * PANEL + 1.1,
        title=f"{network}, correct logits with one circle kept at a time ({count})",
        legend=Legend(columns=2) if has_two_tables else None,
    )
