"""Interventions by name: something in the network is replaced, and all pairs are answered again.

    absolute value              every unit reads |u| in place of u: |u| for ReLU(u)
    left sign flipped           -E_x for the first operand
    both signs flipped          -E_x and -E_y
    embeddings swapped          each operand is read as the other: u(y, x)
    without interactions        units read u' = A(x) + B(y) + mean
    one representation kept     E = mean + P_rho E, in both tables
    units of one coset removed  units that are constant on cosets of one class of subgroups read 0

The first four are those of Stander et al. 2024. An intervention tells accounts apart only if they
disagree about it: `expected` says what the hand-made networks of the accounts do
(docs/rivals.md has the numbers).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.rivals.cosets import coset_units, proper_subgroups
from algophase.analysis.rivals.evidence import NO_UNITS, Evidence
from algophase.analysis.rivals.outcomes import Logits, Outcome
from algophase.core.errors import InputError
from algophase.core.representations import Representation
from algophase.core.settings import shown
from algophase.record.layout import Layout

NO_TABLES = "the network has no operand tables to change"
ABSOLUTE = "absolute value"
LEFT_FLIPPED = "left sign flipped"
BOTH_FLIPPED = "both signs flipped"
SWAPPED = "embeddings swapped"
WITHOUT_INTERACTIONS = "without interactions"
KEPT = "one representation kept"
REMOVED = "units of one coset removed"
NOT_DONE = Outcome(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Intervention:
    """A named change of a network, and what became of its answers.

    Attributes:
        name: the intervention.
        which: what was kept or removed, "" where there is no choice.
        accuracy, cross_entropy: over all pairs, after the change. NaN where it is not possible.
        explained: share of the network's own logits that is left.
        tells: whether rival accounts disagree about its outcome.
        expected: what they say.
        impossible: why it cannot be done on this network; "" where it was.

    Example:
        >>> from algophase import handmade_clock, intervene
        >>> intervene(handmade_clock(23), "both signs flipped")
        <Intervention both signs flipped: accuracy 100.00%>
    """

    name: str
    which: str
    accuracy: float
    cross_entropy: float
    explained: float
    tells: bool
    expected: str
    impossible: str = ""

    LAYOUT: ClassVar[Layout] = Layout.of_names(
        *("name", "which", "accuracy", "cross_entropy", "explained"),
        *("tells", "expected", "impossible"),
    )

    def __repr__(self) -> str:
        which = f" ({self.which})" if self.which else ""
        outcome = self.impossible or f"accuracy {self.accuracy:.2%}"
        return f"<Intervention {self.name}{which}: {outcome}>"


@dataclass(frozen=True)
class _Planned:
    """An intervention before it is done. change: gives its logits; None where it is impossible.
    The others: as of an `Intervention`.
    """

    name: str
    change: Logits | None
    which: str = ""
    impossible: str = ""

    @property
    def expected(self) -> str:
        return EXPECTED[self.name]

    @property
    def tells(self) -> bool:
        return self.name not in TELL_NOTHING


EXPECTED: Mapping[str, str] = {
    ABSOLUTE: "kept by Pizzas, coset circuits and rho-sets alike, also without any subgroup",
    LEFT_FLIPPED: "lost by every account",
    BOTH_FLIPPED: "kept by every account but lookup",
    SWAPPED: "kept on pairs that commute, whatever the network does",
    WITHOUT_INTERACTIONS: "lost by Clocks and characters, kept by all who add",
    KEPT: "each representation answers alone as far as it can; a lookup's does nothing",
    REMOVED: "lost by a coset circuit of these subgroups",
}
NAMES = tuple(EXPECTED)
TELL_NOTHING = (ABSOLUTE, LEFT_FLIPPED, BOTH_FLIPPED, SWAPPED)


def intervention(
    evidence: Evidence, name: str, representation: str | None = None, order: int | None = None
) -> Intervention:
    """One intervention by its name. representation: which to keep; order: of the subgroups whose
    units are removed.
    """
    if name not in NAMES:
        raise InputError(f"intervention is {shown(name)}; choose one of {', '.join(NAMES)}")
    if name == KEPT:
        planned = _representation_kept(evidence, _chosen(evidence, representation))
    elif name == REMOVED:
        planned = _coset_units_removed(evidence, order)
    else:
        (planned,) = [one for one in _without_choice(evidence) if one.name == name]
    (result,) = _done(evidence, [planned])
    return result


def all_interventions(evidence: Evidence) -> list[Intervention]:
    """Every intervention; one for each instance where a representation is kept."""
    planned = _without_choice(evidence)
    planned += [_representation_kept(evidence, one) for one in evidence.key_representations]
    planned.append(_coset_units_removed(evidence, None))
    return _done(evidence, planned)


def _done(evidence: Evidence, planned: Sequence[_Planned]) -> list[Intervention]:
    """All of them in one pass over the pairs."""
    changes = [one.change for one in planned if one.change is not None]
    outcomes = iter(evidence.answers.outcomes(changes) if changes else [])
    results = []
    for one in planned:
        outcome = NOT_DONE if one.change is None else next(outcomes)
        results.append(
            Intervention(
                name=one.name,
                which=one.which,
                accuracy=outcome.accuracy,
                cross_entropy=outcome.cross_entropy,
                explained=outcome.explained,
                tells=one.tells,
                expected=one.expected,
                impossible=one.impossible,
            )
        )
    return results


def _without_choice(evidence: Evidence) -> list[_Planned]:
    """Interventions that have nothing to choose."""
    answers, reads = evidence.answers, evidence.reads
    first, second = answers.first, answers.second
    if answers.network.cut == "none":
        names = (LEFT_FLIPPED, BOTH_FLIPPED, SWAPPED)
        of_tables = [_Planned(name, None, impossible=NO_TABLES) for name in names]
    else:
        of_tables = [
            _Planned(LEFT_FLIPPED, answers.of_tables(-first, second)),
            _Planned(BOTH_FLIPPED, answers.of_tables(-first, -second)),
            _Planned(SWAPPED, answers.swapped),
        ]
    if reads is None:
        absolute, sums = (
            _Planned(name, None, impossible=NO_UNITS) for name in (ABSOLUTE, WITHOUT_INTERACTIONS)
        )
    else:
        absolute = _Planned(ABSOLUTE, answers.of_reads(torch.abs))
        by_sums = answers.of_sums(reads.mean + reads.first, reads.second)
        sums = _Planned(WITHOUT_INTERACTIONS, by_sums)
    return [absolute, *of_tables, sums]


def _chosen(evidence: Evidence, name: str | None) -> tuple[Representation, ...]:
    instances = evidence.key_representations
    if name is None and instances:
        return instances[0]
    names = []
    for members in instances:
        labels = [evidence.label(member) for member in members]
        if name in labels:
            return members
        names += labels
    listed = ", ".join(names) or "none: no representation has 1% of the logits"
    raise InputError(f"representation is {shown(name)}; those of this network are {listed}")


def _representation_kept(evidence: Evidence, members: tuple[Representation, ...]) -> _Planned:
    answers, n = evidence.answers, evidence.group.order
    if answers.network.cut == "none":
        return _Planned(KEPT, None, impossible=NO_TABLES)
    projection = np.full((n, n), 1 / n)
    for member in members:
        projection = projection + member.projection()
    kept = torch.from_numpy(projection).to(answers.first)
    which = " and ".join(evidence.label(member) for member in members)
    return _Planned(KEPT, answers.of_tables(kept @ answers.first, kept @ answers.second), which)


def _coset_units_removed(evidence: Evidence, order: int | None) -> _Planned:
    """order: of the subgroups; by default that with most weight in their units."""
    reads = evidence.reads
    if reads is None:
        return _Planned(REMOVED, None, impossible=NO_UNITS)
    try:
        subgroups = proper_subgroups(evidence.group)
    except InputError as error:
        return _Planned(REMOVED, None, impossible=str(error))
    if not subgroups:
        nothing = f"{evidence.group_name} has no subgroup but itself and the identity"
        return _Planned(REMOVED, None, impossible=nothing)
    units = coset_units(reads)
    orders = np.array([len(subgroup) for subgroup in subgroups])[units.first.subgroup]
    if order is None:
        weights = np.where(units.constant, reads.weights, 0.0)
        order = int(np.bincount(orders, weights=weights).argmax())
    removed = units.constant & (orders == order)
    if not removed.any():
        nothing = f"no unit is constant on cosets of subgroups of order {order}"
        return _Planned(REMOVED, None, impossible=nothing)
    # Every activation of ours is 0 at 0.
    kept = torch.from_numpy(~removed).to(evidence.answers.first)

    def without(read: Tensor) -> Tensor:
        return read * kept

    which = f"order {order}, {int(removed.sum())} of {int(reads.live.sum())} units"
    return _Planned(REMOVED, evidence.answers.of_reads(without), which)
