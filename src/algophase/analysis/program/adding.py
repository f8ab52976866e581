"""Does an instance multiply, or does it add? One definition for networks on any group.

What hidden units read of a pair is u(x, y) = mean + A(x) + B(y) + interactions. An instance that
*adds*, as a Pizza does, needs the sum alone: the hidden layer does the rest. One that *multiplies*,
as a Clock does, has products of both operands there, and loses its logits without them.

The causal test: keep the instance alone in the tables, take the interactions out of what the hidden
units read,

    u'(x, y) = mean over y of u + mean over x of u - mean

and compare its logits Y' with its own Y (both without offsets):

    adding        1 - |Y - Y'|^2 / |Y|^2        1: it adds; 0: nothing is left
    interaction   share of the variance of u that is not a sum

A network whose units read a sum by construction has `adding` 1. One that has products in place of
hidden units (the hand-made Clock) has 0.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.analysis.hidden.units import on_grid
from algophase.core.memory import FLOAT64, slabs
from algophase.networks import Network
from algophase.networks.parts import HiddenReads

COPIES = 4  # of what a slab of pairs takes: embeddings, reads, logits with and without interactions


@dataclass(frozen=True)
class Adding:
    """adding: share of its logits that is left without interactions. interaction: share of the
    variance of what hidden units read.
    """

    adding: float
    interaction: float


@torch.no_grad()
def measure_adding(network: Network, first: Tensor, second: Tensor) -> Adding | None:
    """Of operand tables (n, width), for instance those that keep one representation. None where the
    network does not say what its hidden units read.
    """
    hidden = network.hidden_reads()
    if hidden is None:
        return None
    n = len(second)
    pair_bytes = FLOAT64 * (2 * first.shape[1] + 2 * hidden.units + 2 * network.task.logits)
    strips = slabs(n, COPIES * n * pair_bytes, first.device)
    by_first, by_second, squares = _means(network, hidden, first, second, strips)
    mean = by_first.mean(dim=0)
    of_first = (by_first - mean).square().mean(dim=0)
    of_second = (by_second - mean).square().mean(dim=0)
    additive_variance = of_first + of_second
    variance = (squares - mean.square()).sum()
    interaction = 1 - additive_variance.sum() / variance if variance > 0 else variance
    squared, squared_difference = _logit_sums(
        network, hidden, first, second, strips, by_first, by_second - mean
    )
    adding = 1 - squared_difference / squared if squared > 0 else squared * torch.nan
    return Adding(float(adding), max(0.0, float(interaction)))


def _means(
    network: Network, hidden: HiddenReads, first: Tensor, second: Tensor, strips: list[slice]
) -> tuple[Tensor, Tensor, Tensor]:
    """Means of what the units read, (n, units), over the second operand and over the first; and of
    its square over all pairs, (units,).
    """
    n = len(second)
    by_first = first.new_zeros(n, hidden.units, dtype=torch.float64)
    by_second, squares = torch.zeros_like(by_first), torch.zeros_like(by_first[0])
    for rows in strips:
        reads = (
            hidden.reads(*on_grid(network, (first[rows], second))).double().unflatten(0, (-1, n))
        )
        by_first[rows] = reads.mean(dim=1)
        by_second += reads.sum(dim=0) / n
        squares += reads.square().sum(dim=(0, 1)) / n**2
    return by_first, by_second, squares


def _logit_sums(
    network: Network,
    hidden: HiddenReads,
    first: Tensor,
    second: Tensor,
    strips: list[slice],
    by_first: Tensor,
    by_second: Tensor,
) -> tuple[Tensor, Tensor]:
    """|Y|^2 and |Y - Y'|^2, of logits centered over the labels and without offsets.

    by_first, by_second: what the units read without interactions is their sum.
    """
    n = len(second)
    squares = first.new_zeros(2, dtype=torch.float64)
    offsets = first.new_zeros(2, n, dtype=torch.float64)
    for rows in strips:
        pairs = on_grid(network, (first[rows], second))
        reads = hidden.reads(*pairs)
        sums = (by_first[rows][:, None] + by_second).flatten(0, 1).to(reads)
        own = hidden.logits(*pairs, reads)[:, :n].double()
        difference = own - hidden.logits(*pairs, sums)[:, :n].double()
        both = torch.stack([own, difference])
        both = both - both.mean(dim=-1, keepdim=True)
        squares += both.square().sum(dim=(1, 2))
        offsets += both.sum(dim=1) / n**2
    without_offsets = squares - n**2 * offsets.square().sum(dim=1)
    return without_offsets[0], without_offsets[1]
