"""What becomes of a network's answers when something in it is replaced."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.analysis.hidden.units import on_grid
from algophase.core.fourier import Array
from algophase.core.group import Group
from algophase.core.memory import FLOAT64, slabs
from algophase.networks import Network
from algophase.networks.parts import HiddenReads

# The logits (rows, n, n) of rows of the first operand.
Logits = Callable[[slice], Tensor]
COPIES = 6  # of what a slab of pairs takes: embeddings, reads, logits of two networks, differences


@dataclass(frozen=True)
class Outcome:
    """Of a changed network, over all pairs.

    explained: 1 - |Y - Y'|^2 / |Y|^2, of the network's own logits Y and the changed ones Y', both
        centered over the labels and without offsets.
    """

    accuracy: float
    cross_entropy: float
    explained: float


class Answers:
    """The answers of a network on a group, as it is and changed.

    network: its numbers are the group's elements. hidden: what its units read; None where it does
        not say.
    """

    def __init__(self, network: Network, group: Group) -> None:
        self.network, self.group = network, group
        first, second = network.operand_tables()
        self.first = first.detach()
        self.second = second.detach()
        self.hidden = network.hidden_reads()

    @property
    def strips(self) -> list[slice]:
        """Rows of the first operand, as many at a time as fit into memory."""
        n = self.group.order
        units = self.hidden.units if self.hidden else 0
        pair_numbers = 2 * self.first.shape[1] + 2 * units + 2 * self.network.task.logits
        return slabs(n, COPIES * n * FLOAT64 * pair_numbers, self.first.device)

    def pairs(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Embeddings of pairs, each (rows * n, width)."""
        return on_grid(self.network, (self.first[rows], self.second))

    def own(self, rows: slice) -> Tensor:
        """Logits (rows, n, n) of the network as it is."""
        return self._square(self.network.logits_from_embeddings(*self.pairs(rows)))

    def swapped(self, rows: slice) -> Tensor:
        """Logits of (y, x) at the pair (x, y)."""
        n = self.group.order
        count = len(self.second[rows])
        first = self.first.repeat(count, 1)
        second = self.second[rows].repeat_interleave(n, 0)
        return self._square(self.network.logits_from_embeddings(first, second))

    def of_tables(self, first: Tensor, second: Tensor) -> Logits:
        """With other operand tables (n, width)."""

        def logits(rows: slice) -> Tensor:
            pairs = on_grid(self.network, (first[rows], second))
            return self._square(self.network.logits_from_embeddings(*pairs))

        return logits

    def of_reads(self, change: Callable[[Tensor], Tensor]) -> Logits:
        """With what hidden units read, (rows * n, units), changed."""
        hidden = self.required_hidden

        def logits(rows: slice) -> Tensor:
            pairs = self.pairs(rows)
            return self._square(hidden.logits(*pairs, change(hidden.reads(*pairs))))

        return logits

    def of_sums(self, by_first: Array, by_second: Array) -> Logits:
        """With hidden units that read by_first(x) + by_second(y), each (n, units)."""
        hidden = self.required_hidden
        of_first = torch.from_numpy(by_first).to(self.first)
        of_second = torch.from_numpy(by_second).to(self.first)

        def logits(rows: slice) -> Tensor:
            sums = (of_first[rows][:, None] + of_second).flatten(0, 1)
            return self._square(hidden.logits(*self.pairs(rows), sums))

        return logits

    @property
    def required_hidden(self) -> HiddenReads:
        if self.hidden is None:
            raise ValueError(f"network {self.network.id} does not say what its hidden units read")
        return self.hidden

    def _square(self, logits: Tensor) -> Tensor:
        n = self.group.order
        return logits[:, :n].double().unflatten(0, (-1, n))

    @torch.no_grad()
    def outcomes(self, changes: Sequence[Logits], before: Logits | None = None) -> list[Outcome]:
        """What becomes of the answers with each of these changes. before: the logits that they are
        compared with, by default the network's own.
        """
        n = self.group.order
        right_answers = torch.from_numpy(self.group.table).to(self.first.device)
        squares = torch.zeros(1 + len(changes), dtype=torch.float64)
        offsets = torch.zeros(1 + len(changes), n, dtype=torch.float64)
        right, losses = torch.zeros(2, len(changes), dtype=torch.float64)
        for rows in self.strips:
            own = self.own(rows) if before is None else before(rows)
            _add(squares, offsets, 0, own)
            for number, change in enumerate(changes):
                logits = change(rows)
                right[number] += _right(logits, right_answers[rows]).sum().cpu()
                losses[number] += _losses(logits, right_answers[rows]).sum().cpu()
                _add(squares, offsets, 1 + number, own - logits)
        # Means over all pairs of each logit are the offsets.
        without_offsets = squares - offsets.square().sum(dim=1) / n**2
        whole = float(without_offsets[0])
        outcomes = []
        for number in range(len(changes)):
            lost = float(without_offsets[1 + number])
            explained = 1 - lost / whole if whole > 0 else float("nan")
            accuracy = float(right[number]) / n**2
            loss = float(losses[number]) / n**2
            outcomes.append(Outcome(accuracy, loss, explained))
        return outcomes


def _add(squares: Tensor, offsets: Tensor, number: int, logits: Tensor) -> None:
    centered = logits - logits.mean(dim=-1, keepdim=True)
    squares[number] += centered.square().sum().cpu()
    offsets[number] += centered.sum(dim=(0, 1)).cpu()


def _right(logits: Tensor, right_answers: Tensor) -> Tensor:
    """Which pairs are answered right, (rows, n). A tie is not an answer."""
    right_logits = logits.gather(-1, right_answers[..., None])
    return (logits >= right_logits).sum(dim=-1) == 1


def _losses(logits: Tensor, right_answers: Tensor) -> Tensor:
    right_logits = logits.gather(-1, right_answers[..., None]).squeeze(-1)
    return logits.logsumexp(dim=-1) - right_logits
