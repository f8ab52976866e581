"""How well a network answers all pairs: what supports a reading that the file itself leaves open."""

from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.networks import Network
from algophase.task import answers

WELL = 0.9  # of all pairs: no reading that is wrong comes near it, for chance is 1 / p
# Mean share of different answers in a row or column of the p x p answers: 1 for a group, 0.63 where answers are random.
ORDERLY = 0.95


@dataclass(frozen=True)
class Answered:
    """Of each pair, (p, p): the cross-entropy, in float64; whether it is answered right; the answer."""

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
        """Whether it answers well, or answers something else that no row or column has twice, as any group does."""
        lines = [*self.answers, *self.answers.T]
        distinct = sum(len(line.unique()) for line in lines)
        return self.well or distinct >= ORDERLY * len(lines) * len(self.answers)


@torch.no_grad()
def answered(network: Network) -> Answered:
    """One row of pairs at a time, so that memory stays at p * outputs numbers."""
    first, second = network.operand_tables()
    labels = answers(network.task)
    losses, right, answer = [], [], []
    for row, label in zip(first, labels, strict=True):
        logits = network.logits_from_embeddings(row.expand_as(second), second).double()
        margins = logits - logits.gather(1, label[:, None])
        # The right answer's own margin is 0; without it the sum does not cancel where the loss is tiny.
        wrong = margins.scatter(1, label[:, None], -torch.inf)
        losses.append(torch.nn.functional.softplus(wrong.logsumexp(1)))
        right.append(wrong.amax(1) < 0)
        answer.append(logits.argmax(1))
    return Answered(torch.stack(losses), torch.stack(right), torch.stack(answer))
