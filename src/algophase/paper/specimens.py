"""The paper's own networks, or those that stand for them, with what its figures and tables need of each, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from torch import Tensor

from algophase.analysis.circles import Isolation, find_circles, isolate_circles, isolate_components
from algophase.analysis.device import in_float64
from algophase.analysis.evidence import CircleEvidence, circle_evidence
from algophase.analysis.grid import by_difference_and_sum, correct_logits, grid_logits, right_answers
from algophase.analysis.metrics import circularity, gradient_symmetricity, gradient_symmetricity_exact, irrelevance
from algophase.analysis.principal import PrincipalComponents, principal_components, resolution_of
from algophase.analysis.verdict import Measurements, Thresholds, Verdict, decide
from algophase.networks import Network
from algophase.paper.product import OTHER_NETWORK, Claim
from algophase.paper.published import number
from algophase.paper.rules import statement
from algophase.paper.sources import FoundNetwork, Sources

THRESHOLDS = Thresholds()
HALF = 0.5  # of the correct logits' variance, from which on a pattern "depends on" a - b or a + b


class Specimen:
    """A network under study, in float64. name: what the paper calls it. Circles are numbered from 1, the largest first."""

    def __init__(self, found: FoundNetwork, name: str) -> None:
        self.found, self.name = found, name
        self.network: Network = in_float64(found.network)
        self.modulus = self.network.task.modulus
        # Weights carry the rounding of the precision they were stored in.
        self.resolution = resolution_of(found.network)
        self._tables = tuple(table.detach() for table in self.network.distinct_tables())
        self._isolations: dict[tuple[tuple[int, ...], bool], Isolation] = {}

    @cached_property
    def components(self) -> PrincipalComponents:
        return principal_components(self._tables, self.resolution)

    @cached_property
    def logits(self) -> Tensor:
        return grid_logits(self.network)

    @cached_property
    def circles(self) -> tuple[CircleEvidence, ...]:
        circles = sorted(find_circles(self.components), key=lambda circle: -circle.variance_share)
        return tuple(circle_evidence(self.network, circles, self.components))

    def of_role(self, role: str) -> list[CircleEvidence]:
        return [item for item in self.circles if item.role == role]

    def number_of(self, item: CircleEvidence) -> int:
        return self.circles.index(item) + 1

    def companion(self, item: CircleEvidence) -> CircleEvidence | None:
        """The circle that accompanies this one."""
        return next((other for other in self.circles if other.accompanies == item.circle.frequency), None)

    @cached_property
    def pairs(self) -> list[tuple[CircleEvidence, CircleEvidence]]:
        """Pizzas with the circle that accompanies each."""
        return [(item, other) for item in self.of_role("Pizza") if (other := self.companion(item)) is not None]

    @cached_property
    def gradient_symmetricity(self) -> float:
        """Over the paper's 100 triples."""
        return gradient_symmetricity(self.network)

    @cached_property
    def gradient_symmetricity_exact(self) -> float:
        return gradient_symmetricity_exact(self.network)

    @cached_property
    def distance_irrelevance(self) -> float:
        return irrelevance(correct_logits(self.logits), self.resolution).item()

    @cached_property
    def circularity(self) -> float:
        """The lower one where the operands have tables of their own."""
        return min(circularity(principal_components((table,), self.resolution)) for table in self._tables)

    @cached_property
    def verdict(self) -> Verdict:
        right = right_answers(self.logits)
        measured = Measurements(
            accuracy=right.double().mean().item(),
            wrong_pairs=int((~right).sum()),
            distance_irrelevance=self.distance_irrelevance,
            gradient_symmetricity=self.gradient_symmetricity,
            circularity=self.circularity,
        )
        return decide(measured, self.components, list(self.circles), THRESHOLDS)

    def keep(self, circles: Sequence[CircleEvidence], *, drop: bool = False) -> Isolation:
        """The network with these circles alone, or with all but these."""
        key = tuple(item.circle.frequency for item in circles), drop
        if key not in self._isolations:
            members = [item.circle for item in circles]
            self._isolations[key] = isolate_circles(self.network, members, drop=drop, principal=self.components)
        return self._isolations[key]

    def keep_components(self, count: int) -> Isolation:
        members = range(1, min(count, self.components.count) + 1)
        return isolate_components(self.network, members, principal=self.components)

    def pattern(self, item: CircleEvidence) -> "Pattern":
        isolation = self.keep([item])
        return Pattern(
            by_difference_and_sum(correct_logits(isolation.logits)),
            by_difference_and_sum(right_answers(isolation.logits).double()),
        )


@dataclass(frozen=True)
class Pattern:
    """Correct logits of a circle alone and whether each is the answer, rows a - b and columns a + b (the paper's p is odd)."""

    logits: Tensor
    right: Tensor

    def _explained(self, axis: int) -> float:
        logits = self.logits
        return (logits.nanmean(axis).var(correction=0) / logits[~logits.isnan()].var(correction=0)).item()

    @property
    def by_difference(self) -> float:
        """Share of the correct logits' variance that a - b alone explains."""
        return self._explained(1)

    @property
    def by_sum(self) -> float:
        """The same for a + b."""
        return self._explained(0)

    @property
    def profile(self) -> Tensor:
        """Mean correct logit at each a - b, (p,)."""
        return self.logits.nanmean(1)

    @property
    def accuracies(self) -> Tensor:
        """Accuracy at each a - b, (p,)."""
        return self.right.nanmean(1)


NAMES = {
    "model-a": "Model A",
    "model-b": "Model B",
    "model-beta": "Model β",
    "model-delta": "Model δ",
    "wide-pizza": "Wide Pizza",
    "separate-pizza": "Separate embeddings",
    "line-like": "Line-like",
    "three-dimensional": "Three-dimensional",
}
_KNOWN: WeakKeyDictionary[Sources, dict[str, Specimen]] = WeakKeyDictionary()


def specimen(sources: Sources, role: str) -> Specimen:
    """The network of a role, studied once for all items made from the same sources."""
    known = _KNOWN.setdefault(sources, {})
    if role not in known:
        known[role] = Specimen(sources.network(role), NAMES[role])
    return known[role]


def source_of(*specimens: Specimen) -> str:
    if len(specimens) == 1:
        return specimens[0].found.source
    return "; ".join(f"{one.name}: {one.found.source}" for one in specimens)


def measured(name: str, of: Specimen, ours: float, shown: str, note: str = "") -> Claim:
    """A printed number beside ours; judged only on the network the paper printed it for."""
    published = of.found.published
    return number(name).claim(ours, shown, same_network=published, note=note or ("" if published else OTHER_NETWORK))


def judged(text: str, holds: bool, ours: str, rule: str) -> Claim:
    """A statement without a number, by a rule that holds for any network in the role."""
    return statement(text, ours, holds, f"rule: {rule}")


def spread_of(values: Sequence[float], form: str = ".1%") -> str:
    """The range of some values, in words."""
    if not values:
        return "no circle"
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"
