"""What a network is at one moment of its training, beyond `analyze`: pairs of components alone, and
life without companions.

Early in training an embedding has no clean circles yet, so the paper isolates principal components,
"possibly non-circle" (appendix J). Each of the first pairs is kept alone and its logits are
compared with the closed forms of its strongest frequency. And every circle in the accompanying role
is removed at once, to see what they are worth (appendix K). Whether held-out pairs add up to the
right answers is asked as well (`progress_measures`). A group that is not cyclic has no circles, and
none of this.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from algophase.analysis._pending import Pending, both, pack, run_overlapped
from algophase.analysis.circles.find import circle_alone, component_pairs, without_circles
from algophase.analysis.circles.roles import CircleEvidence, roles_of, sums_of_circles
from algophase.analysis.device import upload
from algophase.analysis.hidden.progress_measures import held_out_answers, training_pairs
from algophase.analysis.logits.all_pairs import (
    correct_logits,
    grid_logits,
    right_answers,
    share_right,
)
from algophase.analysis.logits.metrics import irrelevance
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core.devices import choose_device
from algophase.core.errors import InputError
from algophase.networks import Network
from algophase.record.layout import Layout, to_record

PAIRS = 3  # components 1-2, 3-4 and 5-6


@dataclass(frozen=True)
class PairEvidence:
    """A pair of components alone. `evidence.circle` holds its components and strongest frequency,
    round or not.

    distance_irrelevance: of its correct logits, the paper's pictures of isolated components; NaN
        where they are constant.
    """

    evidence: CircleEvidence
    distance_irrelevance: float

    @property
    def pizza_share(self) -> float:
        """The Pizza's part of the amplitude: its weight over that of Clock and Pizza, NaN unless
        that is positive.
        """
        amplitude = self.evidence.clock_weight + self.evidence.pizza_weight
        return self.evidence.pizza_weight / amplitude if amplitude > 0 else math.nan

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "frequency": "evidence.circle.frequency",
            "role": "evidence.role",
            "variance_share": "evidence.circle.variance_share",
            "fve_clock": "evidence.fve_clock",
            "fve_pizza": "evidence.fve_pizza",
            "clock_weight": "evidence.clock_weight",
            "pizza_weight": "evidence.pizza_weight",
            "pizza_share": "pizza_share",
            "explained": "evidence.explained",
            "distance_irrelevance": "distance_irrelevance",
            "accuracy_alone": "evidence.accuracy_alone",
        }
    )

    def to_dict(self) -> dict[str, Any]:
        return self.LAYOUT.record(self)


@dataclass(frozen=True)
class MomentDetails:
    """pairs: the first three at most. accompanying: how many circles have that role.

    accuracy_without_accompanying: over all pairs, with all of those removed from the embedding.
    held_out_answers: of the `ProgressMeasures`.
    """

    pairs: tuple[PairEvidence, ...]
    accompanying: int
    accuracy_without_accompanying: float
    held_out_answers: float

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = to_record(self)
        return record


def moment_details(
    network: Network, analysis: Analysis, device: torch.device | str = "cpu"
) -> MomentDetails:
    """analysis: of this network; it says which circles accompany."""
    (details,) = details_of_each([(network, analysis)], device)
    return details


def details_of_each(
    analyzed: Iterable[tuple[Network, Analysis]], device: torch.device | str = "cpu"
) -> Iterator[MomentDetails]:
    """One after the other, in the order given; on a GPU a few are under way at once, as in
    `analyze_each`.
    """
    device = choose_device(device)
    details = (_details(network, analysis, device) for network, analysis in analyzed)
    for result in run_overlapped(details, device):
        if isinstance(result, InputError):
            raise result
        yield result


async def _details(network: Network, analysis: Analysis, device: torch.device) -> MomentDetails:
    subject = Subject(network, device)
    if not subject.group.is_cyclic:
        return _no_circles(analysis)
    pairs = component_pairs(subject.components, PAIRS)
    accompanying = [item.circle for item in analysis.circles if item.role == "accompanying"]
    # The network on these embeddings: each pair alone, then without its companions.
    tables = [circle_alone(subject.components, pair) for pair in pairs]
    if accompanying:
        tables.append(without_circles(subject.components, accompanying))
    tensors = _look(subject, tables, len(pairs)) if tables else {}
    training = training_pairs(network)
    if training is not None:
        tensors["held-out answers"] = held_out_answers(subject.logits, training)
    looking = Pending(pack(tensors), dict)
    if pairs:
        isolating = sums_of_circles(subject.network, pairs, subject.components)
        numbers, sums = await both(looking, isolating)
        evidence = roles_of(pairs, sums)
    else:
        numbers, evidence = await looking, []
    held_out = numbers["held-out answers"].item() if training is not None else math.nan
    return MomentDetails(
        pairs=tuple(
            PairEvidence(item, numbers[f"irrelevance {pair}"].item())
            for pair, item in enumerate(evidence)
        ),
        accompanying=len(accompanying),
        accuracy_without_accompanying=(
            numbers["accuracy without"].item() if accompanying else analysis.accuracy
        ),
        held_out_answers=held_out,
    )


def _no_circles(analysis: Analysis) -> MomentDetails:
    """Of a network on a group that is not cyclic."""
    return MomentDetails(
        pairs=(),
        accompanying=0,
        accuracy_without_accompanying=analysis.accuracy,
        held_out_answers=math.nan,
    )


@torch.no_grad()
def _look(subject: Subject, tables: list[tuple[Tensor, Tensor]], pairs: int) -> dict[str, Tensor]:
    """Distance irrelevance of each pair alone, and the accuracy on what comes after the pairs."""
    own, _ = subject.network.operand_tables()
    first, second = (torch.stack(side) for side in zip(*tables, strict=True))
    first, second = upload([first, second], own.device, own.dtype)
    logits = grid_logits(subject.network, (first, second))
    tensors = {}
    for pair in range(pairs):
        correct = correct_logits(logits[pair])
        tensors[f"irrelevance {pair}"] = irrelevance(correct, subject.resolution)
    tensors["accuracy without"] = share_right(right_answers(logits[pairs:]))
    return tensors
