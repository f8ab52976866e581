"""The first hidden layer of a network on a group that is not cyclic: which representations its
units read, and how much of it is an interaction of both operands.

What a unit reads of a pair is u(x, y) = mean + A(x) + B(y) + interactions. With P_rho the
projection on the functions of a representation rho,

    share of rho    (|P_rho A|^2 + |P_rho B|^2) / (n variance of u)

and a unit belongs to the representation of which it has most, or to `INTERACTIONS` if these are
more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.hidden.units import SILENT
from algophase.analysis.subject import Subject
from algophase.core.fourier import Array
from algophase.core.memory import FLOAT64, slabs
from algophase.core.representations import representations
from algophase.pages.hidden_text import group_units_lines
from algophase.record.layout import to_record

INTERACTIONS = "interactions"
COPIES = 4  # of what a strip of pairs takes: reads, their squares, and twice the logits


@dataclass(frozen=True)
class RepresentationUnits:
    """The units that read one representation most, or `INTERACTIONS`, which have no dimension (0).

    units: how many. share: of the variance of what they read, mean over these units.
    """

    representation: str
    dimension: int
    units: int
    share: float


@dataclass(frozen=True)
class GroupUnits:
    """All hidden units of a network on a group.

    units: how many there are; silent: how many of them hardly vary. clusters: the others by the
        representation they read most, the largest cluster first.
    interaction: share of the variance of what all units read that is no sum of a function of x and
        one of y. accuracy_without: of the network without these interactions.
    """

    units: int
    silent: int
    clusters: tuple[RepresentationUnits, ...]
    interaction: float
    accuracy_without: float

    def to_dict(self) -> dict[str, Any]:
        """JSON values, null for what is undefined."""
        return {"group_units": to_record(self)}

    def columns(self) -> dict[str, Any]:
        """What a row of a sweep keeps."""
        return self.to_dict()

    def lines(self) -> list[str]:
        """As text a person reads."""
        return group_units_lines(to_record(self))


@torch.no_grad()
def group_units_of(subject: Subject) -> GroupUnits:
    """What hidden units read; no units where the network does not say what these are."""
    first, second = (table.detach() for table in subject.network.operand_tables())
    n, units = subject.modulus, subject.prepared.units
    if not units:
        return GroupUnits(0, 0, (), np.nan, np.nan)
    pairs = subject.prepared(first[None], second[None])
    strips = slabs(n, COPIES * FLOAT64 * n * (units + n), first.device)
    by_first = first.new_zeros(n, units, dtype=torch.float64)
    by_second = torch.zeros_like(by_first)
    squares = torch.zeros_like(by_first[0])
    for rows in strips:
        reads = pairs.reads(slice(None), rows)[0, ..., :units].double()  # (rows, n, units)
        by_first[rows] = reads.mean(dim=1)
        by_second += reads.sum(dim=0) / n
        squares += reads.square().sum(dim=(0, 1)) / n**2
    mean = by_first.mean(dim=0)
    variance = (squares - mean.square()).cpu().numpy()
    of_operands = torch.cat([by_first - mean, by_second - mean], dim=1).cpu().numpy()
    right = 0
    table = torch.from_numpy(subject.group.table).to(first.device)
    for rows in strips:
        reads = pairs.reads(slice(None), rows)
        sums = by_first[rows, None] + by_second - mean
        past_units = reads[..., units:]
        additive_reads = torch.cat([sums[None].to(reads), past_units], dim=-1)
        logits = pairs.logits(additive_reads)[0]
        right += _count_right(logits, table[rows])
    return _by_representation(subject, variance, of_operands, right / n**2)


def _count_right(logits: Tensor, answers: Tensor) -> int:
    """Pairs (rows, n) answered right; a tie is not an answer."""
    correct = logits.gather(-1, answers[..., None])
    wrong = logits.scatter(-1, answers[..., None], -torch.inf)
    largest_wrong = wrong.amax(dim=-1, keepdim=True)
    return int((correct > largest_wrong).sum())


def _by_representation(
    subject: Subject, variance: Array, of_operands: Array, accuracy: float
) -> GroupUnits:
    """variance: (units,). of_operands: (n, 2 units), A and B of each unit."""
    n = len(of_operands)
    units = len(variance)
    nontrivial = representations(subject.group)[1:]
    parts = []
    for member in nontrivial:
        squares = np.square(member.projection() @ of_operands).sum(axis=0) / n
        parts.append(squares[:units] + squares[units:])
    additive = np.sum(parts, axis=0)
    interactions = np.maximum(variance - additive, 0.0)
    read = np.stack([*parts, interactions])  # (representations and interactions, units)
    names = [(member.name, member.dimension) for member in nontrivial]
    active = variance > SILENT * variance.mean()
    most = read.argmax(axis=0)
    clusters = []
    for number, (name, dimension) in enumerate([*names, (INTERACTIONS, 0)]):
        own = active & (most == number)
        if own.any():
            share = float((read[number, own] / variance[own]).mean())
            clusters.append(RepresentationUnits(name, dimension, int(own.sum()), share))
    clusters.sort(key=lambda cluster: -cluster.units)
    total = float(variance.sum())
    interaction = max(0.0, 1 - float(additive.sum()) / total) if total > 0 else np.nan
    return GroupUnits(units, int((~active).sum()), tuple(clusters), interaction, accuracy)
