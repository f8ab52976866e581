"""Modular addition: all pairs, their labels, the three token layouts and the seeded split (section
2, appendices F.1 and I).

Subtraction, multiplication and relabelled addition are additions under other names (`counts_as`). A
network learns them by the names; it is analysed in the order in which its numbers add
(`networks.ordered`).
"""

import functools
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from algophase.core.answers import Learned
from algophase.core.seeding import generator
from algophase.core.settings import TaskSettings


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


def counts_as(task: TaskSettings) -> tuple[Tensor, Tensor, Tensor]:
    """What each number counts as, (p,), for the first operand, the second and the answer: so
    they add modulo p.
    """
    p, own = task.modulus, torch.arange(task.modulus)
    if task.operation == "subtract":
        return own, -own % p, own
    if task.operation == "multiply":
        exponents = torch.empty_like(own)
        number, root = 1, primitive_root(p + 1)
        for exponent in range(p):
            exponents[number - 1] = exponent
            number = number * root % (p + 1)
        return exponents, exponents, exponents
    if task.relabelling:
        first, second, *third = (torch.tensor(each) for each in task.relabelling)
        return first, second, third[0] if third else own
    return own, own, own


def primitive_root(prime: int) -> int:
    """The smallest number whose powers are all non-zero numbers modulo a prime."""
    order = prime - 1
    factors = [each for each in range(2, order + 1) if order % each == 0]
    return next(
        root
        for root in range(1, prime)
        if all(pow(root, order // each, prime) != 1 for each in factors)
    )


def answers(task: TaskSettings) -> Tensor:
    """The table of right answers by the numbers' own names, (p, p): what a network is trained
    on.
    """
    first, second, third = counts_as(task)
    return third.argsort()[(first[:, None] + second[None, :]) % task.modulus]


def following(task: TaskSettings, learned: Learned) -> TaskSettings:
    """The task of a network whose answers are these: its operation, or names under which its
    numbers add.
    """
    if learned.counts_from_one and learned.relabelling:
        return replace(task, operation="multiply", relabelling=())
    if learned.relabelling:
        return replace(task, operation="add", relabelling=learned.relabelling)
    return replace(task, operation=learned.operation or "add", relabelling=())


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
