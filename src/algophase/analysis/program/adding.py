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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from algophase.analysis._pending import Pending, pack
from algophase.analysis.logits.sums import Totals, totals_over_strips
from algophase.core.fourier import Array
from algophase.core.memory import FLOAT64
from algophase.networks import Network
from algophase.networks.pair_logits import PairLogits, Prepared


@dataclass(frozen=True)
class Adding:
    """adding: share of its logits that is left without interactions. interaction: share of the
    variance of what hidden units read.
    """

    adding: float
    interaction: float


NOT_MEASURED = Adding(np.nan, np.nan)


@torch.no_grad()
def measure_adding(
    network: Network,
    first: Tensor,
    second: Tensor,
    prepared: Prepared | None = None,
    *,
    beside_logits: bool = True,
) -> Pending[list[Adding]]:
    """Of operand tables (embeddings, n, width), each of which keeps one instance alone;
    `NOT_MEASURED` where the network does not say what its hidden units read.

    beside_logits: whether all logits of the network are kept meanwhile.
    """
    prepared = prepared or network.pair_logits()
    embeddings, n = first.shape[:2]
    units = prepared.units
    if not units or not embeddings:
        return Pending(pack({}), lambda totals: [NOT_MEASURED] * embeddings)
    in_strips = partial(
        totals_over_strips,
        *(network, first, second),
        sum_bytes=2 * FLOAT64 * embeddings * n * units,
        prepared=prepared,
        beside_logits=beside_logits,
    )
    means = in_strips(partial(_means_of_reads, n, units))
    by_first = means["by_first"] / n
    by_second = means["by_second"] / n  # (embeddings, n, units)
    mean = by_first.mean(dim=1, keepdim=True)
    of_first = (by_first - mean).square().mean(dim=1)
    of_second = (by_second - mean).square().mean(dim=1)
    variances = {
        "variance": (means["squares"] / n**2 - mean[:, 0].square()).sum(dim=1),
        "additive variance": (of_first + of_second).sum(dim=1),
    }
    sums = in_strips(partial(_logit_sums, n, by_first, by_second - mean))
    return Pending(pack(sums | variances), partial(_read, n))


def _means_of_reads(
    n: int, units: int, pairs: PairLogits, embeddings: list[slice], rows: slice
) -> Totals:
    """Sums over some rows of what the units read, (embeddings, n, units), over the second operand
    and over the first; and of its square, (embeddings, units).
    """
    by_first, by_second, squares = [], [], []
    for chosen in embeddings:
        reads = pairs.reads(chosen, rows)[..., :units].double()  # (embeddings, rows, n, units)
        by_row = reads.new_zeros(len(reads), n, units)
        by_row[:, rows] = reads.sum(dim=2)
        by_first.append(by_row)
        by_second.append(reads.sum(dim=1))
        squares.append(reads.square().sum(dim=(1, 2)))
    return {
        "by_first": torch.cat(by_first),
        "by_second": torch.cat(by_second),
        "squares": torch.cat(squares),
    }


def _logit_sums(
    n: int,
    by_first: Tensor,
    by_second: Tensor,
    pairs: PairLogits,
    embeddings: list[slice],
    rows: slice,
) -> Totals:
    """Sums over some rows of Y and of Y - Y', centered over the labels: of their squares, (2,
    embeddings), and of what they write on each label, (2, embeddings, n).

    by_first, by_second: what the units read without interactions is their sum.
    """
    squares, offsets = [], []
    for chosen in embeddings:
        reads = pairs.reads(chosen, rows)
        sums = by_first[chosen, rows, None] + by_second[chosen, None]
        past_units = reads[..., sums.shape[-1] :]
        own = pairs.logits(reads)[..., :n].double()
        additive_reads = torch.cat([sums.to(reads), past_units], dim=-1)
        without = pairs.logits(additive_reads)[..., :n].double()
        both = torch.stack([own, own - without])
        both = both - both.mean(dim=-1, keepdim=True)
        squares.append(both.square().sum(dim=(2, 3, 4)))
        offsets.append(both.sum(dim=(2, 3)))
    return {"squares": torch.cat(squares, dim=1), "offsets": torch.cat(offsets, dim=1)}


def _read(n: int, totals: Mapping[str, Array]) -> list[Adding]:
    offsets = totals["offsets"] / n**2
    squared, squared_difference = totals["squares"] - n**2 * np.square(offsets).sum(axis=-1)
    results = []
    for row, variance in enumerate(totals["variance"]):
        adding = 1 - squared_difference[row] / squared[row] if squared[row] > 0 else np.nan
        additive = totals["additive variance"][row]
        interaction = 1 - additive / variance if variance > 0 else 0.0
        results.append(Adding(float(adding), max(0.0, float(interaction))))
    return results
