"""What each hidden unit reads of the two operands, which representations that is, and how much the
unit matters.

What a unit reads of a pair is u(x, y) = mean + A(x) + B(y) + interactions. Accounts of units are
about A and B.

The *weight* of a unit is the squared norm of the change of the logits (centered over the labels)
between the lowest and the highest value that it reads. It needs no knowledge of what comes after
the units. Units with less than a hundredth of the mean weight are left out where units are counted.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis.program.instances import TINY
from algophase.analysis.rivals.outcomes import Answers
from algophase.core.fourier import Array
from algophase.core.group import Group, Numbers
from algophase.core.representations import Representation, representations

LIVE = 0.01


@dataclass(frozen=True, eq=False)
class UnitReads:
    """What m hidden units read on a group of order n.

    mean: (m,). first, second: (n, m), A and B, without their means.
    interaction: share of the variance, over all units by weight, that is no sum A(x) + B(y).
    weights: (m,), they add up to 1. live: (m,), which units count.
    """

    group: Group
    mean: Array
    first: Array
    second: Array
    interaction: float
    weights: Array
    live: NDArray[np.bool_]

    @property
    def both(self) -> Array:
        """(n, 2 m): A of all units, then B."""
        return np.concatenate([self.first, self.second], axis=1)

    @cached_property
    def energies(self) -> Array:
        """(representations, m): squared norm of A and B in each but the trivial representation."""
        squares = []
        for representation in representations(self.group)[1:]:
            parts = representation.projection() @ self.both
            squares.append(np.square(parts).sum(axis=0))
        of_first, of_second = np.split(np.array(squares), 2, axis=1)
        return np.asarray(of_first + of_second)

    @property
    def main(self) -> Numbers:
        """(m,), which representation, by its row in `energies`, has most of each unit."""
        return self.energies.argmax(axis=0)

    @property
    def main_share(self) -> Array:
        """(m,), the share of A and B that is in the unit's main representation."""
        return np.asarray(self.energies.max(axis=0) / np.maximum(self.energies.sum(axis=0), TINY))

    def by_representation(self) -> list[tuple[Representation, Numbers]]:
        """Each representation that is the main one of live units, with these units."""
        nontrivial = representations(self.group)[1:]
        rows = np.unique(self.main[self.live])
        return [(nontrivial[row], np.flatnonzero(self.live & (self.main == row))) for row in rows]

    def weighed(self, values: Array) -> float:
        """The mean of a number per unit, (m,), by weight."""
        return float((self.weights * values).sum())


def random_coefficients(reads: UnitReads) -> UnitReads:
    """The same units, each with random matrix coefficients b^T rho(x) a of its main representation
    in the place of A and B, of the same norms.
    """
    generator = np.random.default_rng(0)
    first = reads.first.copy()
    second = reads.second.copy()
    for representation, units in reads.by_representation():
        matrices = representation.matrices
        for functions in (first, second):
            left, right = generator.standard_normal((2, len(units), matrices.shape[1]))
            drawn = np.einsum("ui,xij,uj->xu", left, matrices, right, optimize=True)
            functions[:, units] = _of_norm(drawn, functions[:, units])
    return replace(reads, first=first, second=second)


def random_functions(reads: UnitReads) -> UnitReads:
    """The same units, each with random functions in the place of A and B, of the same norms."""
    generator = np.random.default_rng(0)
    first, second = generator.standard_normal((2, *reads.first.shape))
    return replace(
        reads,
        first=_of_norm(first - first.mean(axis=0), reads.first),
        second=_of_norm(second - second.mean(axis=0), reads.second),
    )


def _of_norm(functions: Array, normed: Array) -> Array:
    """Functions (n, m), each with the norm of another."""
    norms = np.linalg.norm(normed, axis=0) / np.maximum(np.linalg.norm(functions, axis=0), TINY)
    return functions * norms


@torch.no_grad()
def read_units(answers: Answers) -> UnitReads:
    """What the hidden units of a network read of all pairs."""
    hidden, n = answers.required_hidden, answers.group.order
    by_first = answers.first.new_zeros(n, hidden.units, dtype=torch.float64)
    by_second = torch.zeros_like(by_first)
    squares = torch.zeros_like(by_first[0])
    lowest = torch.full_like(squares, torch.inf)
    highest = -lowest
    for rows in answers.strips:
        reads = hidden.reads(*answers.pairs(rows)).double()
        lowest = torch.minimum(lowest, reads.amin(dim=0))
        highest = torch.maximum(highest, reads.amax(dim=0))
        squares += reads.square().sum(dim=0) / n**2
        square = reads.unflatten(0, (-1, n))
        by_first[rows] = square.mean(dim=1)
        by_second += square.sum(dim=0) / n
    mean = by_first.mean(dim=0)
    first = by_first - mean
    second = by_second - mean
    weights = _weights(answers, mean, lowest, highest)
    variance = squares - mean.square()
    additive = first.square().mean(dim=0) + second.square().mean(dim=0)
    interaction = (1 - additive / variance.clamp(min=TINY)).clamp(min=0)
    return UnitReads(
        group=answers.group,
        mean=mean.cpu().numpy(),
        first=first.cpu().numpy(),
        second=second.cpu().numpy(),
        interaction=float((weights * interaction).sum()),
        weights=weights.cpu().numpy(),
        live=(weights >= LIVE / hidden.units).cpu().numpy(),
    )


def _weights(answers: Answers, mean: Tensor, lowest: Tensor, highest: Tensor) -> Tensor:
    """(m,), while all other units read their means."""
    hidden, n = answers.required_hidden, answers.group.order
    # What does not go through the units is the same for both values.
    first = answers.first[:1].expand(2, -1)
    second = answers.second[:1].expand(2, -1)
    effects = []
    for unit in range(hidden.units):
        reads = mean.repeat(2, 1)
        reads[:, unit] = torch.stack([lowest[unit], highest[unit]])
        logits = hidden.logits(first, second, reads.to(first))[:, :n].double()
        change = logits[1] - logits[0]
        effects.append((change - change.mean()).square().sum())
    squares = torch.stack(effects)
    return squares / squares.sum().clamp(min=TINY)
