"""Modular addition: all pairs, their labels, the three token layouts and the seeded split (section
2, appendices F.1 and I).

Subtraction, multiplication and relabeled addition are additions under other names
(`TaskSettings.elements`). A network learns them by the names; it is analyzed in the order in which
its numbers add (`networks.ordered`).
"""

import functools
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from algophase.core.answers import Learned
from algophase.core.group import cyclic_group
from algophase.core.seeding import generator
from algophase.core.settings import TaskSettings


def all_pairs(modulus: int) -> Tensor:
    """Every (a, b) in lexicographic order, shape (p * p, 2): row a * p + b is the pair (a, b)."""
    numbers = torch.arange(modulus)
    return torch.cartesian_prod(numbers, numbers)


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # what is kept must be of use outside it, too
def labels(modulus: int, device: torch.device | None = None) -> Tensor:
    """The group's table of sums a + b, shape (p, p). It is kept: do not write into it."""
    return torch.tensor(cyclic_group(modulus).table, device=device)


def answers(task: TaskSettings) -> Tensor:
    """The table of right answers by the numbers' own names, (p, p): what a network is trained
    on.
    """
    return torch.from_numpy(task.finite_group.answers(task.elements))


def following(task: TaskSettings, learned: Learned) -> TaskSettings:
    """The task of a network whose answers are these: its operation, or names under which its
    numbers add.
    """
    if learned.counts_from_one and learned.relabeling:
        return replace(task, operation="multiply", relabeling=(), group="")
    if learned.relabeling or learned.group:
        return replace(task, operation="add", relabeling=learned.relabeling, group=learned.group)
    return replace(task, operation=learned.operation or "add", relabeling=(), group="")


def tokens(task: TaskSettings, pairs: Tensor) -> Tensor:
    """Pairs (n, 2) written as tokens (n, context): [a, b], [a, b + p], [a, b, =] or [a, b + p,
    =].
    """
    sequence = pairs.clone()
    if task.separate_vocabularies:
        sequence[:, 1] += task.modulus
    if task.equals_sign:
        equals = torch.full((len(pairs), 1), task.vocabulary - 1, device=pairs.device)
        sequence = torch.cat([sequence, equals], dim=1)
    return sequence


@dataclass(frozen=True)
class Split:
    """Row numbers into `all_pairs`, each in ascending order: full batches do not care for order,
    tests and files do.
    """

    training: Tensor
    validation: Tensor


def split(task: TaskSettings, seed: int) -> Split:
    """int(training_fraction * p * p) pairs chosen at random for training; the seed alone decides
    which.
    """
    order = torch.from_numpy(generator(seed, "split").permutation(task.modulus**2))
    cut = task.training_pairs
    return Split(order[:cut].sort().values, order[cut:].sort().values)
