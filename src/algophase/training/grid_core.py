"""The grid itself: from one network's tables to the loss of its pairs, and back, in plain torch.

    pre[b, a]    = sum_k C[b, a, k] T[row(b, a, k)]       (hidden columns and direct logits)
    logits[b, a] = act(pre[:m]) R^T + pre[m:]

Of the table T (`grid_tables.Terms`) every pair takes 2 h + 1 rows: each head's of its a and of its b, and the base. Such a sum
over a few rows is what an embedding bag is, and PyTorch's kernel for it writes the result once. The gradient of T is the same
kind of sum, over the pairs that take a row.

Pairs are in the order of b, then of a, and only training pairs are trained on. On a CPU they are cut into strips, some values
of b each. A strip reads the tables and returns its share of every gradient, so that strips can be computed by any thread, in
any order; the shares are added up in the order of b.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, gelu

from algophase.training.grid_tables import Terms
from algophase.training.loss import loss_and_right, loss_and_slope

STRIP_BYTES = 9 * 2**17  # of a strip's pre-activations on a CPU: with their gradient they are about as large as a core's cache
MOST_STRIPS = 12  # each has a sum for every a, and these are added up


@dataclass
class Share:
    """What one strip adds to the loss and the gradients."""

    loss: Tensor  # ()
    readout: Tensor  # (v, m)
    table: Tensor  # of the strip's own rows of T
    coefficients: Tensor  # of its pairs (R, 2 h + 1)


class Pairs:
    """Some pairs of a strip, R of them.

    places: b p + a of each. rows: those of T that each takes (R, 2 h + 1). own: those that the strip may take, in ascending
    order.
    """

    def __init__(self, places: Tensor, rows: Tensor, own: Tensor, labels: Tensor) -> None:
        self.places, self.own, self.labels = places, own, labels
        self.each = rows.shape[1]
        self.rows = rows.flatten()
        self.starts = torch.arange(0, len(self.rows) + 1, self.each, device=rows.device, dtype=rows.dtype)

    def taken(self, coefficients: Tensor) -> Tensor:
        """(R, 2 h + 1) of the whole grid's (b, a, 2 h + 1)."""
        return coefficients.view(-1, self.each).index_select(0, self.places)

    def sums(self, table: Tensor, weights: Tensor) -> Tensor:
        """(R, W): weights (R, 2 h + 1) times rows of T."""
        return _bags(table, self.rows, self.starts, weights.flatten())

    def weights_backward(self, table: Tensor, back: Tensor) -> Tensor:
        """d weights (R, 2 h + 1) of `sums`, given d sums."""
        backward = torch.ops.aten._embedding_bag_per_sample_weights_backward
        return backward(back, table, self.rows, self.starts, self._pair_of_row, 0).view(-1, self.each)

    def table_backward(self, weights: Tensor, back: Tensor) -> Tensor:
        """d T of `sums`, its own rows only, given d sums."""
        order, rows, starts = self._turned
        return _bags(back, rows, starts, weights.flatten().index_select(0, order))

    @cached_property
    def _pair_of_row(self) -> Tensor:
        return torch.arange(len(self.rows), device=self.rows.device, dtype=self.rows.dtype) // self.each

    @cached_property
    def _turned(self) -> tuple[Tensor, Tensor, Tensor]:
        """The terms in the order of the rows they take, the pair of each, and where every row's begin."""
        own = torch.searchsorted(self.own, self.rows)
        order = torch.argsort(own, stable=True)
        starts = torch.bincount(own, minlength=len(self.own)).cumsum(0)
        return order.to(self.rows.dtype), self._pair_of_row[order], torch.cat([starts.new_zeros(1), starts]).to(self.rows)


def _bags(table: Tensor, rows: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of successive rows of a table."""
    return embedding_bag(rows, table, starts, mode="sum", per_sample_weights=weights, include_last_offset=True)


class Grid:
    """Strips of one network's grid.

    `hidden` m columns, then `outputs` v direct logits; `width` may pad beyond them, with zeros that cost nothing: matrix
    products are fastest at round sizes.
    """

    def __init__(self, labels: Tensor, hidden: int, outputs: int, gelu: bool, like: Terms, pairs: int) -> None:
        """like: what the grid will read. pairs: how many a network is trained on."""
        self.hidden, self.outputs, self.gelu, self.weight = hidden, outputs, gelu, 1 / pairs
        self.p, self.heads, device = len(labels), like.heads, labels.device
        width, p = like.table.shape[2], self.p
        size = pairs * width * like.table.element_size()
        count = min(p, MOST_STRIPS, -(-size // STRIP_BYTES)) if device.type == "cpu" else 1
        edges = [p * index // count for index in range(count + 1)]  # all strips about as large
        self.strips = [slice(start, stop) for start, stop in pairwise(edges)]
        self.labels = labels.T.flatten()  # (b a)
        whole_base = like.base.shape[1] == p
        self.own = [self._own(strip, whole_base) for strip in self.strips]
        a, b = torch.arange(p, device=device).repeat(p)[:, None], torch.arange(p, device=device).repeat_interleave(p)[:, None]
        head = torch.arange(self.heads, device=device)
        base = 2 * p * self.heads + b * whole_base
        self.rows = torch.cat([a * self.heads + head, (p + b) * self.heads + head, base], dim=1).int()
        self.every = self.pairs(torch.ones_like(labels))

    def _own(self, strip: slice, whole_base: bool) -> list[slice]:
        """The rows of T that a strip takes: of every a, of its values of b, and the base."""
        p, heads, start, stop = self.p, self.heads, strip.start, strip.stop
        base = slice(2 * p * heads + start, 2 * p * heads + stop) if whole_base else slice(2 * p * heads, 2 * p * heads + 1)
        return [slice(0, p * heads), slice((p + start) * heads, (p + stop) * heads), base]

    def pairs(self, weights: Tensor) -> list[Pairs]:
        """The pairs of each strip that have a weight other than 0 in (a, b)."""
        chosen = weights.T.flatten().nonzero()[:, 0]
        made = []
        for strip, slices in zip(self.strips, self.own, strict=True):
            places = chosen[(chosen >= strip.start * self.p) & (chosen < strip.stop * self.p)]
            own = torch.cat([torch.arange(rows.start, rows.stop, device=chosen.device) for rows in slices]).int()
            made.append(Pairs(places, self.rows[places], own, self.labels[places]))
        return made

    def _forward(self, t: Terms, pairs: Pairs, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (R, v and padding), post- and pre-activations (R, m); with ReLU both of these are one tensor."""
        raw, direct = self._columns(pairs.sums(t.table, weights))
        post = gelu(raw) if self.gelu else raw.relu_()
        return torch.addmm(direct, post, t.readout.T), post, raw

    def _columns(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden columns and direct logits of (R, W)."""
        return values[:, : self.hidden], values[:, self.hidden :]

    def share(self, t: Terms, pairs: Pairs) -> Share:
        """Of one network: what some of its training pairs add to the loss and the gradients."""
        weights = pairs.taken(t.coefficients)
        logits, post, raw = self._forward(t, pairs, weights)
        loss, slope = loss_and_slope(logits[:, : self.outputs], pairs.labels)
        back = slope.new_empty(len(slope), t.table.shape[1])
        hidden, d_logits = self._columns(back)
        torch.mul(slope, self.weight, out=d_logits[:, : self.outputs])
        d_logits[:, self.outputs :].zero_()
        torch.mm(d_logits, t.readout, out=hidden)
        if self.gelu:
            torch.ops.aten.gelu_backward.grad_input(hidden, raw, grad_input=hidden)
        else:
            torch.ops.aten.threshold_backward.grad_input(hidden, post, 0.0, grad_input=hidden)
        return Share(
            loss=loss.sum() * self.weight,
            readout=torch.mm(d_logits.T, post),
            table=pairs.table_backward(weights, back),
            coefficients=pairs.weights_backward(t.table, back),
        )

    def add_tables(self, shares: Sequence[Share], out: Terms) -> None:
        """One network's d T, given the shares of all strips in their order."""
        out.table.zero_()
        for share, own in zip(shares, self.own, strict=True):
            for rows, part in zip(own, share.table.split([rows.stop - rows.start for rows in own]), strict=True):
                out.table[rows].add_(part)

    def add_rest(self, shares: Sequence[Share], training: Sequence[Pairs], out: Terms) -> Tensor:
        """The other gradients, and the loss, which is returned."""
        out.readout.zero_()
        for share, pairs in zip(shares, training, strict=True):
            out.readout.add_(share.readout)
            out.coefficients.view(self.p**2, -1).index_copy_(0, pairs.places, share.coefficients)
        return torch.stack([share.loss for share in shares]).sum()

    def judge(self, t: Terms, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Of one network: loss of every pair, and whether it is right, each (R,)."""
        logits = self._forward(t, pairs, pairs.taken(t.coefficients))[0]
        return loss_and_right(logits[:, : self.outputs], pairs.labels)
