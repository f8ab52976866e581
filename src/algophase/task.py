"""Modular addition: all pairs, their labels, the three token layouts and the seeded split (section 2, appendices F.1 and I)."""

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.seeding import generator
from algophase.settings import TaskSettings


def all_pairs(modulus: int) -> Tensor:
    """Every (a, b) in lexicographic order, shape (p * p, 2): row a * p + b is the pair (a, b)."""
    numbers = torch.arange(modulus)
    return torch.cartesian_prod(numbers, numbers)


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # what is kept must be of use outside it, too
def labels(modulus: int, device: torch.device | None = None) -> Tensor:
    """The table of answers (a + b) mod p, shape (p, p). It is kept: do not write into it."""
    numbers = torch.arange(modulus, device=device)
    return (numbers[:, None] + numbers[None, :]) % modulus


def tokens(task: TaskSettings, pairs: Tensor) -> Tensor:
    """Pairs (n, 2) written as tokens (n, context): [a, b], [a, b + p], [a, b, =] or [a, b + p, =]."""
    sequence = pairs.clone()
    if task.separate_vocabularies:
        sequence[:, 1] += task.modulus
    if task.equals_sign:
        equals = torch.full((len(pairs), 1), task.vocabulary - 1, device=pairs.device)
        sequence = torch.cat([sequence, equals], dim=1)
    return sequence


@dataclass(frozen=True)
class Split:
    """Row numbers into `all_pairs`, each in ascending order: full batches do not care for order, tests and files do."""

    training: Tensor
    validation: Tensor


def split(task: TaskSettings, seed: int) -> Split:
    """int(training_fraction * p * p) pairs chosen at random for training; the seed alone decides which."""
    count = task.modulus**2
    order = torch.from_numpy(generator(seed, "split").permutation(count))
    cut = int(task.training_fraction * count)
    return Split(order[:cut].sort().values, order[cut:].sort().values)
