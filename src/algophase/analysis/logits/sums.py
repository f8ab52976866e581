"""Sums over all p^3 logits of several embeddings of one network: all that the program and the
instances are read from.

Logits are centered over the p labels first, since softmax does not see their mean. With d = a - b,
s = a + b, r = a + b - c,

    offset[c]       mean over a, b              (functions of c alone)
    answer[d, r]    mean over triples of (d, r) (the answer-following class: one triple for each a)
    sums[s, c]      mean over triples of (s, c)
    from_left       mean over triples of (b, c - a)
    from_right      mean over triples of (a, c - b)
    products[i, j]  sum of Q_i Q_j over all triples, of embeddings i and j
    right[i]        share of the pairs answered right
    means[i]        variance over a, b of what centering removes

Triples are walked some rows of a at a time, so memory does not grow with p^3 times the number of
embeddings, and nothing waits for the device: the sums are `Pending`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algophase.analysis._pending import Pending, pack
from algophase.analysis.logits.all_pairs import correct_logits, largest_wrong_logits
from algophase.core.fourier import Array, amplitude_matrix, circle
from algophase.core.group import cyclic_group
from algophase.core.memory import FLOAT64, require, workers_that_fit
from algophase.core.threads import one_thread, side_by_side
from algophase.networks import Network
from algophase.networks.pair_logits import PairLogits, Prepared

Totals = dict[str, Tensor]  # sums by name
STRIP_COPIES = 4  # arrays as large as a strip's logits: as they are, centered, compared, reordered
SUM_COPIES = 2  # arrays over (d, r) of all embeddings: a worker's, and one that waits to be added


def products_without_offsets(products: Array, offset: Array) -> Array:
    """Products (n, n) of what is left of n logits without their means (n, p) over all pairs."""
    pairs = offset.shape[-1] ** 2
    return products - pairs * offset @ offset.T


@dataclass(frozen=True)
class LogitSums:
    """right and means (n,), products (n, n), offset (n, p), answer (n, p, p) over (d, r).

    sums (p, p) over (s, c), from_left over (b, c - a), from_right over (a, c - b): of the first
        embedding, which is the network's own; empty if they were not computed.
    """

    right: Array
    means: Array
    products: Array
    offset: Array
    answer: Array
    sums: Array
    from_left: Array
    from_right: Array

    @functools.cached_property
    def without_offsets(self) -> Array:
        """`products` of what is left without the functions of c alone, (n, n)."""
        return products_without_offsets(self.products, self.offset)

    @functools.cached_property
    def following(self) -> Array:
        """`answer` without the offsets, (n, p, p). At odd p these have no part in it."""
        p = self.offset.shape[-1]
        if p % 2:
            return self.answer
        # The mean over a of offset(2 a - d - r) is that over all c of the parity of d + r: (-1)^(d
        # + r) times a number.
        signs = circle(p, p // 2)[:, 0].numpy()
        alternating = (self.offset @ signs / p)[:, None, None]
        return self.answer - alternating * np.outer(signs, signs)

    @functools.cached_property
    def amplitudes(self) -> Array:
        """g_k(d), then h_k(d), of `following` = sum over k of g_k(d) cos w_k r + h_k(d) sin w_k
        r, (n, p, 2 floor(p / 2)).
        """
        return self.following @ amplitude_matrix(self.following.shape[-1])


@torch.no_grad()
def logit_sums(
    network: Network,
    first: Tensor,
    second: Tensor,
    *,
    with_sums: bool = False,
    prepared: Prepared | None = None,
) -> Pending[LogitSums]:
    """The sums of operand tables (n, p, width) of one network, computed where these are.

    with_sums: also the means over (s, c), (b, c - a) and (a, c - b) of the first, which should be
        the network's own.
    prepared: the network, if it is prepared already.
    """
    n, p = first.shape[:2]

    def totals_of(logits: Tensor, rows: slice) -> dict[str, Tensor]:
        indices = indices_of(p, rows.start, rows.stop, first.device)
        return _totals(logits, rows, indices, with_sums)

    sum_bytes = FLOAT64 * n * p * p
    totals = totals_over_rows(network, first, second, totals_of, sum_bytes, prepared)
    return Pending(pack(totals), functools.partial(_read_totals, p))


def totals_over_rows(
    network: Network,
    first: Tensor,
    second: Tensor,
    totals_of: Callable[[Tensor, slice], dict[str, Tensor]],
    sum_bytes: int,
    prepared: Prepared | None = None,
    *,
    beside_logits: bool = True,
) -> Totals:
    """Sums over all pairs of operand tables (n, p, width), some rows of the first operand at a
    time.

    totals_of: the sums over some rows, by name, from the logits (n, rows, p, outputs) and the rows.
    sum_bytes: the memory that these sums take. beside_logits: whether all logits of the network are
        kept meanwhile.
    """

    def totals_of_strip(pairs: PairLogits, embeddings: list[slice], rows: slice) -> Totals:
        logits = [pairs(chosen, rows).double() for chosen in embeddings]  # (n, a, b, outputs)
        every = logits[0] if len(logits) == 1 else torch.cat(logits)
        return totals_of(every, rows)

    return totals_over_strips(
        network, first, second, totals_of_strip, sum_bytes, prepared, beside_logits=beside_logits
    )


def totals_over_strips(
    network: Network,
    first: Tensor,
    second: Tensor,
    totals_of: Callable[[PairLogits, list[slice], slice], Totals],
    sum_bytes: int,
    prepared: Prepared | None = None,
    *,
    beside_logits: bool = True,
) -> Totals:
    """The same, where the sums are not of the logits alone.

    totals_of: the sums over some rows, by name, from what gives the logits, how many embeddings to
        take at once, and the rows.
    """
    n, p = first.shape[:2]
    on_cpu = first.device.type == "cpu" and network.concurrent
    threads = torch.get_num_threads() if on_cpu else 1
    # Strips fit a CPU's cache, and threads that share one would mostly wait for each other: each
    # takes strips of its own.
    with one_thread(on_cpu):
        prepared = prepared or network.pair_logits()
        groups, strips = prepared.blocks(p, n, first.device)
        logit_bytes = FLOAT64 * p * max(p, network.task.logits)  # of one row of one embedding
        token_bytes = 2 * FLOAT64 * n * p * prepared.token_elements
        strip_bytes = STRIP_COPIES * n * strips[0].stop * logit_bytes + SUM_COPIES * sum_bytes
        kept_bytes = token_bytes + sum_bytes
        if beside_logits:
            kept_bytes += p * logit_bytes
        what = f"network {network.id}: its logits and those of {n} of its embeddings' parts"
        require(kept_bytes + strip_bytes, first.device, what, share=1.0)
        workers = workers_that_fit(threads, strip_bytes, kept_bytes, first.device)
        pair_logits = prepared(first, second)

        @torch.no_grad()  # which holds for the thread that says it
        def totals_of_strip(rows: slice) -> Totals:
            return totals_of(pair_logits, groups, rows)

        return _added(side_by_side(totals_of_strip, strips, workers))


def _added(strips: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    total: dict[str, Tensor] = {}
    for totals in strips:
        for name, values in totals.items():
            total[name] = total[name].add_(values) if name in total else values
    return total


class _Indices(NamedTuple):
    """Indices into the logits of some rows a. label: the right answers, (1, a, b, 1).

    by_answer: (a * p * p), indices among their logits (a, b, c) of the triples with each d and r.
    table, inverses: of the group, (p, p) and (p,).
    """

    label: Tensor
    by_answer: Tensor
    table: Tensor
    inverses: Tensor


@torch.inference_mode(False)
def make_indices(p: int, start: int, stop: int, device: torch.device) -> _Indices:
    group = cyclic_group(p)
    numbers = torch.arange(p, device=device)
    row = numbers[:, None]
    a = torch.arange(start, stop, device=device)[:, None, None]

    def index_of(b: Tensor, c: Tensor) -> Tensor:
        return (((a - start) * p + b) * p + c).flatten()

    right_answers = group.sum(a, row)[None]
    b = group.difference(a, row)  # of a and d
    by_answer = index_of(b, group.difference(group.sum(a, b), numbers))
    table, inverses = (
        torch.from_numpy(values).to(device) for values in (group.table, group.inverses)
    )
    return _Indices(right_answers, by_answer, table, inverses)


# Enough for networks that are one strip; others make them again, which is soon done.
indices_of = functools.lru_cache(maxsize=4)(make_indices)


def _totals(every: Tensor, rows: slice, indices: _Indices, with_sums: bool) -> Totals:
    """Totals over some rows a of logits (n, a, b, outputs), by name; `_read_totals` reads them."""
    n = len(every)
    p = every.shape[2]
    centered = center(every, indices.label)
    flat = centered.logits.flatten(1)
    flat_mean = centered.mean.flatten(1)
    totals = {
        **centered.totals,
        "mean": flat_mean.sum(dim=1),
        "squared mean": flat_mean.square().sum(dim=1),
        "answer": flat[:, indices.by_answer].view(n, -1, p, p).sum(dim=1),
    }
    if with_sums:
        own = centered.logits[0]
        totals |= totals_by_action(own, rows, indices.table, indices.inverses)
    return totals


def totals_by_action(own: Tensor, rows: slice, table: Tensor, inverses: Tensor) -> Totals:
    """Sums over some rows x of logits (x, y, z) of a network on any group, over what each of three
    actions leaves unchanged (`program.actions`): (y, -x + z), (x, z - y) and (x + y, z).

    table, inverses: of the group, (n, n) and (n,).
    """
    count, n = own.shape[:2]
    # z = x + u for every u, of each x
    of_left = table[rows][:, None].expand(count, n, n)
    # z = u + y for every u, of each y
    of_right = table.T[None].expand(count, n, n)
    from_right = own.new_zeros(n, n)
    from_right[rows] = own.gather(2, of_right).sum(dim=1)
    # y = -x + s for every s, of each x
    second_operands = table[inverses[rows]]  # (x, s)
    of_sums = own.gather(1, second_operands[..., None].expand(count, n, n))
    return {
        "from_left": own.gather(2, of_left).sum(dim=0),
        "from_right": from_right,
        "readout": of_sums.sum(dim=0),
    }


class Centered(NamedTuple):
    """logits: (n, a, b, p), centered over the labels. mean: (n, a, b), what that removed. totals:
    those that every group has, by name.
    """

    logits: Tensor
    mean: Tensor
    totals: dict[str, Tensor]


def center(every: Tensor, right_answers: Tensor) -> Centered:
    """Logits (n, a, b, outputs) of some rows, centered. right_answers: (1, a, b, 1)"""
    p = every.shape[2]
    # A tie is not an answer: no other output may reach the right one.
    right_logits = every.gather(-1, right_answers.expand(len(every), -1, -1, 1))
    reached = (every >= right_logits).sum(dim=-1)
    mean = every[..., :p].mean(dim=-1)
    logits = every[..., :p] - mean[..., None]
    flat = logits.flatten(1)
    totals = {
        "right": (reached == 1).sum(dim=(1, 2), dtype=torch.float64),
        "products": flat @ flat.T,
        "offset": logits.sum(dim=(1, 2)),
    }
    return Centered(logits, mean, totals)


def _read_totals(p: int, totals: Mapping[str, Array]) -> LogitSums:
    pairs = p**2
    mean = totals["mean"] / pairs
    nothing = np.zeros((0, 0))
    return LogitSums(
        right=totals["right"] / pairs,  # whole numbers until here: all pairs are exactly 1
        means=np.maximum(totals["squared mean"] / pairs - mean**2, 0.0),
        products=totals["products"],
        offset=totals["offset"] / pairs,
        answer=totals["answer"] / p,
        sums=totals["readout"] / p if "readout" in totals else nothing,
        from_left=totals["from_left"] / p if "from_left" in totals else nothing,
        from_right=totals["from_right"] / p if "from_right" in totals else nothing,
    )


def answers(logits: Tensor) -> Tensor:
    """What is answered for each pair, (..., p, p): the largest output, or -1 where two share it."""
    top = logits.topk(2, dim=-1)
    largest, second = top.values[..., 0], top.values[..., 1]
    return torch.where(largest > second, top.indices[..., 0], -1)


def smallest_margin(logits: Tensor) -> float:
    """The least by which a right answer leads over all others; negative where one does not."""
    return (correct_logits(logits) - largest_wrong_logits(logits)).min().item()
