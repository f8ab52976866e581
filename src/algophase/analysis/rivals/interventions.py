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

from collections.abc import Callable, Mapping
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


class Impossible(Exception):
    """Why an intervention is not possible on this network."""


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


def _absolute_value(evidence: Evidence) -> Logits:
    _require_units(evidence)
    return evidence.answers.of_reads(torch.abs)


def _left_flipped(evidence: Evidence) -> Logits:
    _require_tables(evidence)
    answers = evidence.answers
    return answers.of_tables(-answers.first, answers.second)


def _both_flipped(evidence: Evidence) -> Logits:
    _require_tables(evidence)
    answers = evidence.answers
    return answers.of_tables(-answers.first, -answers.second)


def _swapped(evidence: Evidence) -> Logits:
    _require_tables(evidence)
    return evidence.answers.swapped


def _without_interactions(evidence: Evidence) -> Logits:
    _require_units(evidence)
    reads = evidence.reads
    assert reads is not None
    return evidence.answers.of_sums(reads.mean + reads.first, reads.second)


def _require_units(evidence: Evidence) -> None:
    if evidence.answers.hidden is None:
        raise Impossible(NO_UNITS)


def _require_tables(evidence: Evidence) -> None:
    if evidence.answers.network.cut == "none":
        raise Impossible(NO_TABLES)


@dataclass(frozen=True)
class _Plan:
    """change: what makes the logits. tells, expected: as of an `Intervention`."""

    change: Callable[[Evidence], Logits]
    tells: bool
    expected: str


PLAIN: Mapping[str, _Plan] = {
    "absolute value": _Plan(
        _absolute_value,
        False,
        "kept by Pizzas, coset circuits and rho-sets alike, also without any subgroup",
    ),
    "left sign flipped": _Plan(_left_flipped, False, "lost by every account"),
    "both signs flipped": _Plan(_both_flipped, False, "kept by every account but lookup"),
    "embeddings swapped": _Plan(
        _swapped, False, "kept on pairs that commute, whatever the network does"
    ),
    "without interactions": _Plan(
        _without_interactions, True, "lost by Clocks and characters, kept by all who add"
    ),
}
KEPT = "one representation kept"
REMOVED = "units of one coset removed"
NAMES = (*PLAIN, KEPT, REMOVED)
EXPECTED_KEPT = "each representation answers alone as far as it can; a lookup's does nothing"
EXPECTED_REMOVED = "lost by a coset circuit of these subgroups"


def intervention(
    evidence: Evidence, name: str, representation: str | None = None, order: int | None = None
) -> Intervention:
    """One intervention by its name. representation: which to keep; order: of the subgroups whose
    units are removed.
    """
    if name not in NAMES:
        raise InputError(f"intervention is {shown(name)}; choose one of {', '.join(NAMES)}")
    if name == KEPT:
        return _representation_kept(evidence, _chosen(evidence, representation))
    if name == REMOVED:
        return _coset_units_removed(evidence, order)
    plan = PLAIN[name]
    try:
        logits = plan.change(evidence)
    except Impossible as why:
        return _impossible(name, str(why), plan.expected, tells=plan.tells)
    (outcome,) = evidence.answers.outcomes([logits])
    return _done(name, "", outcome, plan.expected, tells=plan.tells)


def all_interventions(evidence: Evidence) -> list[Intervention]:
    """Every intervention; one for each instance where a representation is kept."""
    results = [intervention(evidence, name) for name in PLAIN]
    results += [_representation_kept(evidence, one) for one in evidence.key_representations]
    results.append(_coset_units_removed(evidence, None))
    return results


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


def _representation_kept(evidence: Evidence, members: tuple[Representation, ...]) -> Intervention:
    which = " and ".join(evidence.label(member) for member in members)
    answers, n = evidence.answers, evidence.group.order
    if answers.network.cut == "none":
        return _impossible(KEPT, NO_TABLES, EXPECTED_KEPT, tells=True)
    projection = np.full((n, n), 1 / n)
    for member in members:
        projection = projection + member.projection()
    kept = torch.from_numpy(projection).to(answers.first)
    logits = answers.of_tables(kept @ answers.first, kept @ answers.second)
    (outcome,) = answers.outcomes([logits])
    return _done(KEPT, which, outcome, EXPECTED_KEPT, tells=True)


def _coset_units_removed(evidence: Evidence, order: int | None) -> Intervention:
    """order: of the subgroups; by default that with most weight in their units."""
    reads = evidence.reads
    if reads is None:
        return _impossible(REMOVED, NO_UNITS, EXPECTED_REMOVED, tells=True)
    try:
        subgroups = proper_subgroups(evidence.group)
    except InputError as error:
        return _impossible(REMOVED, str(error), EXPECTED_REMOVED, tells=True)
    if not subgroups:
        nothing = f"{evidence.group_name} has no subgroup but itself and the identity"
        return _impossible(REMOVED, nothing, EXPECTED_REMOVED, tells=True)
    units = coset_units(reads)
    orders = np.array([len(subgroup) for subgroup in subgroups])[units.first.subgroup]
    weights = np.bincount(orders, weights=np.where(units.constant, reads.weights, 0.0))
    if order is None:
        order = int(weights.argmax())
    removed = units.constant & (orders == order)
    if not removed.any():
        nothing = f"no unit is constant on cosets of subgroups of order {order}"
        return _impossible(REMOVED, nothing, EXPECTED_REMOVED, tells=True)
    # Every activation of ours is 0 at 0.
    kept = torch.from_numpy(~removed).to(evidence.answers.first)

    def without(read: Tensor) -> Tensor:
        return read * kept

    (outcome,) = evidence.answers.outcomes([evidence.answers.of_reads(without)])
    which = f"order {order}, {int(removed.sum())} of {int(reads.live.sum())} units"
    return _done(REMOVED, which, outcome, EXPECTED_REMOVED, tells=True)


def _done(name: str, which: str, outcome: Outcome, expected: str, *, tells: bool) -> Intervention:
    return Intervention(
        name=name,
        which=which,
        accuracy=outcome.accuracy,
        cross_entropy=outcome.cross_entropy,
        explained=outcome.explained,
        tells=tells,
        expected=expected,
    )


def _impossible(name: str, why: str, expected: str, *, tells: bool) -> Intervention:
    nan = float("nan")
    return Intervention(name, "", nan, nan, nan, tells, expected, impossible=why)
