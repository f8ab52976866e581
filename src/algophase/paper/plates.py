"""What a picture of isolated circles shows, apart from its network: so that one too large to ship can still be drawn."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from algophase.analysis.circles import points_in_plane
from algophase.analysis.evidence import CircleEvidence
from algophase.errors import InputError
from algophase.paper.sources import Exhibit
from algophase.report.figures import axis_names
from algophase.storage.files import write_atomically


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


def take(exhibit: Exhibit, shown: Sequence[CircleEvidence], notes: Sequence[str] = ()) -> Plates:
    """notes: a further line of each circle's title."""
    if not shown:
        raise InputError(f"{exhibit.name} ({exhibit.network.id}) has no circle to isolate")
    plates = []
    for index, item in enumerate(shown):
        lines = [_circle_name(exhibit, item), f"accuracy alone {item.accuracy_alone:.1%}", *notes[index : index + 1]]
        points = points_in_plane(exhibit.components, item.circle)
        logits = exhibit.only([item]).logits
        plates.append(Plate("\n".join(lines), item.circle.frequency, shown_in(item), axis_names(item.circle), logits, points))
    analysis = exhibit.analysis
    return Plates(
        name=exhibit.name,
        network_id=str(exhibit.network.id),
        circles=len(exhibit.evidence),
        label=analysis.verdict.label,
        circularity=exhibit.circularity,
        gradient_symmetricity=analysis.gradient_symmetricity,
        distance_irrelevance=analysis.distance_irrelevance,
        plates=tuple(plates),
    )


def shown_in(item: CircleEvidence) -> int:
    """An accompanying circle answers on the circle of its Pizza, and shows its pattern in that one's order."""
    return item.accompanies or item.circle.frequency


def _circle_name(exhibit: Exhibit, item: CircleEvidence) -> str:
    partner = next((other for other in exhibit.evidence if other.circle.frequency == item.accompanies), None)
    with_ = "" if partner is None else f" (with {exhibit.number_of(partner)})"
    return f"circle {exhibit.number_of(item)}{with_}, k = {item.circle.frequency}"


def save_plates(taken: Plates, path: Path) -> Path:
    """One file, in single precision: tensors `logits` and `points`, all else in its metadata."""
    words = asdict(replace(taken, plates=()))
    words["plates"] = [{key: getattr(plate, key) for key in ("title", "frequency", "order", "axes")} for plate in taken.plates]
    tensors = {name: torch.stack([getattr(plate, name) for plate in taken.plates]).float() for name in ("logits", "points")}
    write_atomically(path, to_bytes(tensors, {"plates": json.dumps(words)}))
    return path


def load_plates(path: Path) -> Plates:
    try:
        with safe_open(path, framework="pt") as file:
            words = json.loads(file.metadata()["plates"])
            logits, points = file.get_tensor("logits").double(), file.get_tensor("points").double()
        drawn = zip(words.pop("plates"), logits, points, strict=True)
        plates = tuple(
            Plate(one["title"], int(one["frequency"]), int(one["order"]), tuple(one["axes"]), *tensors)
            for one, *tensors in drawn
        )
        return Plates(**words, plates=plates)
    except FileNotFoundError:
        raise InputError(f"{path} is not there") from None
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} holds no plates of isolated circles: {error}") from None
