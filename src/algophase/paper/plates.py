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
from algophase.paper.specimens import Specimen
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


def take(specimen: Specimen, shown: Sequence[CircleEvidence], notes: Sequence[str] = ()) -> Plates:
    """notes: a further line of each circle's title."""
    if not shown:
        raise InputError(f"{specimen.name} ({specimen.network.id}) has no circle to isolate")
    plates = []
    for index, item in enumerate(shown):
        lines = [circle_name(specimen, item), f"accuracy alone {item.accuracy_alone:.1%}", *notes[index : index + 1]]
        # An accompanying circle answers on the circle of its Pizza, and shows its pattern in that one's order.
        frequency, order = item.circle.frequency, item.accompanies or item.circle.frequency
        points = points_in_plane(specimen.components, item.circle)
        logits = specimen.pattern(item).logits
        plates.append(Plate("\n".join(lines), frequency, order, axis_names(item.circle), logits, points))
    return Plates(
        name=specimen.name,
        network_id=str(specimen.network.id),
        circles=len(specimen.circles),
        label=specimen.verdict.label,
        circularity=specimen.circularity,
        gradient_symmetricity=specimen.gradient_symmetricity,
        distance_irrelevance=specimen.distance_irrelevance,
        plates=tuple(plates),
    )


def circle_name(specimen: Specimen, item: CircleEvidence) -> str:
    number, frequency = specimen.number_of(item), item.circle.frequency
    partner = next((other for other in specimen.circles if other.circle.frequency == item.accompanies), None)
    return f"circle {number}{'' if partner is None else f' (with {specimen.number_of(partner)})'}, k = {frequency}"


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
