"""Sums over all p^3 logits of several embeddings of one network: all that the program and the
instances are read from.

Logits are centred over the p labels first, since softmax does not see their mean. With d = a - b, s
= a + b, r = a + b - c,

    offset[c]       mean over a, b              (functions of c alone)
    answer[d, r]    mean over triples of (d, r) (the answer-following class: one triple for each a)
    sums[s, c]      mean over triples of (s, c)
    products[i, j]  sum of Q_i Q_j over all triples, of embeddings i and j
    right[i]        share of the pairs answered right
    means[i]        variance over a, b of what centring removes

Triples are walked some rows of a at a time, so memory does not grow with p^3 times the number of
embeddings, and nothing
waits for the device: numbers come back in one tensor, which `read_sums` takes apart on the CPU.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis.logits.all_pairs import correct_logits, largest_wrong_logits
from algophase.core.fourier import amplitude_matrix, circle
from algophase.core.memory import FLOAT64, require, workers_that_fit
from algophase.core.threads import one_thread, side_by_side
from algophase.networks import Network
from algophase.networks.pair_logits import PairLogits, Prepared

Array = NDArray[np.float64]

STRIP_COPIES = 4  # arrays as large as a strip's logits: as they are, centred, compared, reordered
SUM_COPIES = 2  # arrays over (d, r) of all embeddings: a worker's, and one that waits to be added


@dataclass(frozen=True)
class LogitSums:
    """right and means (n,), products (n, n), offset (n, p), answer (n, p, p) over (d, r), sums (p,
    p) over (s, c).

    sums: of the first embedding, which is the network's own; empty where they were not asked for.
    """

    right: Array
    means: Array
    products: Array
    offset: Array
    answer: Array
    sums: Array

    @functools.cached_property
    def without_offsets(self) -> Array:
        """`products` of what is left without the functions of c alone, (n, n)."""
        p = self.offset.shape[-1]
        return self.products - p * p * self.offset @ self.offset.T

    @functools.cached_property
    def following(self) -> Array:
        """`answer` without the offsets, (n, p, p). At odd p these have no part in it."""
        p = self.offset.shape[-1]
        if p % 2:
            return self.answer
        # The mean over a of offset(2 a - d - r) is that over all c of the parity of d + r: (-1)^(d
        # + r) times a number.
        signs = circle(p, p // 2)[:, 0].numpy()
        return self.answer - (self.offset @ signs / p)[:, None, None] * np.outer(signs, signs)

    @functools.cached_property
    def amplitudes(self) -> Array:
        """g_k(d), then h_k(d), of `following` = sum over k of g_k(d) cos w_k r + h_k(d) sin w_k
        r, (n, p, 2 floor(p / 2)).
        """
        return self.following @ amplitude_matrix(self.following.shape[-1])


@torch.no_grad()
def launch_sums(
    network: Network,
    first: Tensor,
    second: Tensor,
    *,
    with_sums: bool = False,
    prepared: Prepared | None = None,
) -> Tensor:
    """Start on operand tables (n, p, width), which are where the network is; a flat tensor for
    `read_sums`.

    with_sums: also the means over (s, c) of the first, which should be the network's own. prepared:
        the network, if it is.
    """
    n, p = first.shape[:2]
    on_cpu = first.device.type == "cpu" and network.concurrent
    workers = torch.get_num_threads() if on_cpu else 1
    # Strips fit a CPU's cache, and threads that share one would mostly wait for each other: each
    # takes strips of its own.
    with one_thread(on_cpu):
        prepared = prepared or network.pair_logits()
        groups, strips = prepared.blocks(p, n, first.device)
        logit_bytes = FLOAT64 * p * max(p, network.task.logits)  # of one row of one embedding
        sum_bytes = FLOAT64 * n * p * p
        strip_bytes = STRIP_COPIES * n * strips[0].stop * logit_bytes + SUM_COPIES * sum_bytes
        kept = p * logit_bytes + 2 * FLOAT64 * n * p * prepared.token_elements + sum_bytes
        what = f"network {network.id}: its logits and those of {n} of its embeddings' parts"
        require(kept + strip_bytes, first.device, what, share=1.0)
        workers = workers_that_fit(workers, strip_bytes, kept, first.device)
        return _sums(prepared(first, second), (groups, strips), first, with_sums, workers)


def _sums(
    logits_of: PairLogits,
    cuts: tuple[list[slice], list[slice]],
    first: Tensor,
    with_sums: bool,
    workers: int,
) -> Tensor:
    p, (groups, strips) = first.shape[1], cuts

    @torch.no_grad()  # which holds for the thread that says it
    def of_strip(rows: slice) -> list[Tensor]:
        found = [logits_of(some, rows).double() for some in groups]  # (n, a, b, outputs)
        every = found[0] if len(found) == 1 else torch.cat(found)
        return _of_strip(every, places(p, rows.start, rows.stop, first.device), with_sums)

    return torch.cat([part.flatten() for part in _added(side_by_side(of_strip, strips, workers))])


def _added(strips: Iterable[list[Tensor]]) -> list[Tensor]:
    total: list[Tensor] = []
    for parts in strips:
        total = (
            [one.add_(other) for one, other in zip(total, parts, strict=True)] if total else parts
        )
    return total


class _Places(NamedTuple):
    """Where the numbers of some rows a are. label: the right answers, (1, a, b, 1).

    by_answer, by_sum: (a * p * p), places among their logits (a, b, c) of the triples with each d
        and r, or s and c.
    """

    label: Tensor
    by_answer: Tensor
    by_sum: Tensor


@torch.inference_mode(False)
def make_places(p: int, start: int, stop: int, device: torch.device) -> _Places:
    numbers, a = (
        torch.arange(p, device=device),
        torch.arange(start, stop, device=device)[:, None, None],
    )

    def place(b: Tensor, c: Tensor) -> Tensor:
        return (((a - start) * p + b % p) * p + c % p).flatten()

    row = numbers[:, None]
    by_answer = place(a - row, 2 * a - row - numbers)
    return _Places(((a + row) % p)[None], by_answer, place(row - a, numbers))


# Enough for networks that are one strip; others make them again, which is soon done.
places = functools.lru_cache(maxsize=4)(make_places)


def _of_strip(every: Tensor, places: _Places, with_sums: bool) -> list[Tensor]:
    """Sums over some rows a of logits (n, a, b, outputs), as `read_sums` reads them."""
    n, p = len(every), every.shape[2]
    # A tie is not an answer: no other output may reach the right one.
    reached = (every >= every.gather(-1, places.label.expand(n, -1, -1, 1))).sum(dim=-1)
    mean = every[..., :p].mean(dim=-1)
    logits = every[..., :p] - mean[..., None]
    flat, mean = logits.flatten(1), mean.flatten(1)
    return [
        (reached == 1).sum(dim=(1, 2), dtype=torch.float64),
        mean.sum(dim=1),
        mean.square().sum(dim=1),
        flat @ flat.T,
        logits.sum(dim=(1, 2)),
        flat[:, places.by_answer].view(n, -1, p, p).sum(dim=1),
        *([flat[0, places.by_sum].view(-1, p, p).sum(dim=0)] if with_sums else []),
    ]


def read_sums(numbers: Array, modulus: int, count: int, *, with_sums: bool = False) -> LogitSums:
    """What `launch_sums` gave for so many embeddings, on the CPU."""
    p, n = modulus, count
    ends = [*accumulate([0, n, n, n, n * n, n * p, n * p * p]), len(numbers)]
    right, mean, square, products, offset, answer, sums = (
        numbers[slice(*each)] for each in pairwise(ends)
    )
    return LogitSums(
        right / p**2,  # whole numbers until here: all pairs are exactly 1
        np.maximum(square / p**2 - (mean / p**2) ** 2, 0.0),
        products.reshape(n, n),
        offset.reshape(n, p) / p**2,
        answer.reshape(n, p, p) / p,
        sums.reshape(p, p) / p if with_sums else sums,
    )


def answers(logits: Tensor) -> Tensor:
    """What is answered for each pair, (..., p, p): the largest output, or -1 where two share it."""
    top = logits.topk(2, dim=-1)
    return torch.where(top.values[..., 0] > top.values[..., 1], top.indices[..., 0], -1)


def smallest_margin(logits: Tensor) -> float:
    """The least by which a right answer leads over all others; negative where one does not."""
    return (correct_logits(logits) - largest_wrong_logits(logits)).min().item()
