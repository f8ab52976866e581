"""How well a network answers all pairs: what supports a reading that the file itself leaves
open.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.core.answers import learned
from algophase.core.task import answers
from algophase.networks import Network

WELL = 0.9  # of all pairs: no reading that is wrong comes near it, for chance is 1 / p
MOST_NUMBERS = (
    512  # up to this modulus all pairs are tried; beyond it, opening a file would take minutes
)
COPIED = ("a", "b")  # what a network may answer that was put together in the wrong way


@dataclass(frozen=True)
class Answered:
    """Of each pair, (p, p): the cross-entropy, in float64; whether it is answered right; the
    answer.
    """

    losses: Tensor
    right: Tensor
    answers: Tensor

    @property
    def accuracy(self) -> float:
        return self.right.double().mean().item()

    @property
    def well(self) -> bool:
        return self.accuracy >= WELL

    @property
    def orderly(self) -> bool:
        """Whether it answers well, or its answers follow another formula or form a group. By
        chance none do.
        """
        if self.well:
            return True
        result = learned(self.answers.numpy())
        return result is not None and result.what not in COPIED


@torch.no_grad()
def answered(network: Network) -> Answered:
    """One row of pairs at a time, so that memory stays at p * outputs numbers."""
    first, second = network.operand_tables()
    labels = answers(network.task)
    losses = []
    right = []
    answer = []
    for row, label in zip(first, labels, strict=True):
        logits = network.logits_from_embeddings(row.expand_as(second), second).double()
        margins = logits - logits.gather(1, label[:, None])
        # The right answer's own margin is 0; without it the sum does not cancel where the loss is
        # tiny.
        wrong = margins.scatter(1, label[:, None], -torch.inf)
        losses.append(torch.nn.functional.softplus(wrong.logsumexp(1)))
        right.append(wrong.amax(1) < 0)
        answer.append(logits.argmax(1))
    return Answered(torch.stack(losses), torch.stack(right), torch.stack(answer))


def is_square(value: Tensor) -> bool:
    """Whether a matrix, or each of several, has the same shape with its two axes exchanged."""
    return value.ndim > 1 and value.shape[-1] == value.shape[-2]


def oriented(
    tensors: Mapping[str, Tensor],
    modulus: int,
    build: Callable[[Mapping[str, Tensor]], Iterable[Network]],
) -> tuple[Mapping[str, Tensor], tuple[str, ...]]:
    """Tensors with square matrices turned over where only then the answers are orderly, and what is
    to be said about it.

    build: the networks that these tensors can be.
    """
    squares = [name for name, value in tensors.items() if is_square(value)]
    counts = range(len(squares) + 1) if squares and modulus <= MOST_NUMBERS else ()
    for count in counts:
        for chosen in itertools.combinations(squares, count):
            turned = {**tensors, **{name: tensors[name].mT.contiguous() for name in chosen}}
            if any(answered(network).orderly for network in build(turned)):
                return turned, tuple(turned_note(name) for name in chosen)
    return tensors, (square_doubt(squares),) if squares else ()


def turned_note(name: str) -> str:
    return f"{name} is square and was turned over: as it is, the network does not answer its pairs"


def square_doubt(names: Iterable[str]) -> str:
    return f"nothing tells rows from columns in the square {', '.join(names)}"
