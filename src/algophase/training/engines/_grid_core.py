"""The grid itself: from one network's tables to the loss of its pairs, and back, in plain torch.

    pre[b, a]    = sum_k C[b, a, k] T[row(b, a, k)]       (hidden columns and direct logits)
    logits[b, a] = act(pre[:m]) R^T + pre[m:]

Of the table T (`grid_tables.Terms`) every pair takes 2 h + 1 rows: each head's of its a and of its
b, and the base. Such a sum over a few rows is what an embedding bag is, and PyTorch's kernel for it
writes the result once. The gradient of T is the same kind of sum, over the pairs that take a row.

Pairs are in the order of b, then of a, and only training pairs are trained on. On a CPU they are
cut into strips, some values of b each. A strip reads the tables and returns its share of every
gradient, so that strips can be computed by any thread, in any order; the shares are added up in the
order of b.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, gelu

from algophase.training.engines._grid_tables import Terms
from algophase.training.engines._loss import Loss

# Of a strip's pre-activations on a CPU: larger ones leave the cache, smaller ones are mostly calls
STRIP_BYTES = 7 * 2**18
MOST_STRIPS = 12  # each has a sum for every a, and these are added up


@dataclass
class StripSums:
    """What one strip adds to the loss and the gradients."""

    loss: Tensor  # of its pairs (R,)
    readout: Tensor  # (v, m)
    # of the strip's own rows of T: those of every a, of its values of b, and of the base
    table: Sequence[Tensor]
    attention: Tensor  # of its pairs (R, 2 h)


class Pairs:
    """Some pairs of a strip, R of them.

    numbers: b p + a of each. rows: those of T that each takes (R, 2 h + 1). own: those that the
    strip may take, in ascending order, in three runs.
    """

    def __init__(
        self, numbers: Tensor, rows: Tensor, own: Sequence[Tensor], labels: Tensor
    ) -> None:
        self.numbers = numbers
        self.own = torch.cat(list(own))
        self.labels = labels
        self.own_sizes = [len(run) for run in own]
        self.per_pair = rows.shape[1]
        self.rows = rows.flatten()
        self.of_heads = rows[:, :-1].flatten()
        pairs = torch.arange(len(rows) + 1, device=rows.device, dtype=rows.dtype)
        self.starts = pairs * self.per_pair
        heads = torch.arange(len(self.of_heads), device=rows.device)
        self.pair_of_head = (heads // (self.per_pair - 1)).to(rows)

    def taken(self, coefficients: Tensor) -> Tensor:
        """(R, 2 h + 1) of the whole grid's (b, a, 2 h + 1)."""
        return coefficients.view(-1, self.per_pair).index_select(0, self.numbers)

    def sums(self, table: Tensor, weights: Tensor) -> Tensor:
        """(R, W): weights (R, 2 h + 1) times rows of T."""
        return _bags(table, self.rows, self.starts, weights.flatten())

    def attention_backward(self, table: Tensor, back: Tensor) -> Tensor:
        """d weights (R, 2 h) of `sums`, given d sums; that of the base is always 1."""
        backward = torch.ops.aten._embedding_bag_per_sample_weights_backward
        gradient = backward(back, table, self.of_heads, self.starts, self.pair_of_head, 0)
        return gradient.view(-1, self.per_pair - 1)

    def table_backward(self, weights: Tensor, back: Tensor) -> Sequence[Tensor]:
        """d T of `sums`, its own rows only, given d sums."""
        order, rows, starts = self._turned
        in_order = weights.flatten().index_select(0, order)
        return _bags(back, rows, starts, in_order).split(self.own_sizes)

    @cached_property
    def _turned(self) -> tuple[Tensor, Tensor, Tensor]:
        """The terms in the order of the rows they take, the pair of each, and where every row's
        begin.
        """
        own = torch.searchsorted(self.own, self.rows)
        order = torch.argsort(own, stable=True)
        starts = torch.bincount(own, minlength=len(self.own)).cumsum(0)
        starts = torch.cat([starts.new_zeros(1), starts])
        pair = order // self.per_pair
        return order.to(self.rows), pair.to(self.rows), starts.to(self.rows)


def _bags(table: Tensor, rows: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of successive rows of a table."""
    return embedding_bag(
        rows, table, starts, mode="sum", per_sample_weights=weights, include_last_offset=True
    )


class Grid:
    """Strips of one network's grid.

    `hidden` m columns, then `outputs` v direct logits; `width` may pad beyond them, with zeros that
    cost nothing: matrix products are fastest at round sizes.
    """

    def __init__(
        self,
        labels: Tensor,
        hidden: int,
        outputs: int,
        gelu: bool,
        like: Terms,
        pairs: int,
        loss: Loss,
    ) -> None:
        """like: what the grid will read. pairs: how many a network is trained on."""
        self.loss = loss
        self.hidden = hidden
        self.outputs = outputs
        self.gelu = gelu
        self.weight = 1 / pairs
        self.heads = like.heads
        p = self.p = len(labels)
        device = labels.device
        count = 1
        if device.type == "cpu":
            size = pairs * like.table.shape[2] * like.table.element_size()
            count = min(p, MOST_STRIPS, -(-size // STRIP_BYTES))
        edges = [p * index // count for index in range(count + 1)]  # all strips about as large
        self.strips = [slice(start, stop) for start, stop in pairwise(edges)]
        self.labels = labels.T.flatten()  # (b a)
        self.whole_base = like.base.shape[1] == p
        numbers = torch.arange(p, device=device)
        a = numbers.repeat(p)[:, None]
        b = numbers.repeat_interleave(p)[:, None]
        head = torch.arange(self.heads, device=device)
        base = 2 * p * self.heads + b * self.whole_base
        of_heads = [a * self.heads + head, (p + b) * self.heads + head]
        self.rows = torch.cat([*of_heads, base], dim=1).int()
        self.every = self.pairs(torch.ones_like(labels))

    def _own(self, strip: slice) -> list[Tensor]:
        """The rows of T that a strip takes: of every a, of its values of b, and the base."""
        before_second = self.p * self.heads
        before_base = 2 * before_second
        first = (0, before_second)
        second = (before_second + strip.start * self.heads, before_second + strip.stop * self.heads)
        base = (before_base, before_base + 1)
        if self.whole_base:
            base = (before_base + strip.start, before_base + strip.stop)
        runs = (first, second, base)
        return [torch.arange(*run, device=self.labels.device, dtype=torch.int32) for run in runs]

    def pairs(self, weights: Tensor) -> list[Pairs]:
        """The pairs of each strip that have a weight other than 0 in (a, b)."""
        chosen = weights.T.flatten().nonzero()[:, 0]
        pairs = []
        for strip in self.strips:
            in_strip = (chosen >= strip.start * self.p) & (chosen < strip.stop * self.p)
            numbers = chosen[in_strip]
            rows = self.rows[numbers]
            labels = self.labels[numbers]
            pairs.append(Pairs(numbers, rows, self._own(strip), labels))
        return pairs

    def _forward(self, t: Terms, pairs: Pairs, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (R, v and padding), post- and pre-activations (R, m); with ReLU both of these
        are one tensor.
        """
        raw, direct = pairs.sums(t.table, weights).tensor_split((self.hidden,), dim=1)
        post = gelu(raw) if self.gelu else raw.relu_()
        return torch.addmm(direct, post, t.readout.T), post, raw

    def share(self, t: Terms, pairs: Pairs) -> StripSums:
        """Of one network: what some of its training pairs add to the loss and the gradients."""
        weights = pairs.taken(t.coefficients)
        logits, post, raw = self._forward(t, pairs, weights)
        loss, slope = self.loss.and_slope(logits[:, : self.outputs], pairs.labels)
        back = slope.new_empty(len(slope), t.table.shape[1])
        edges = (self.hidden, self.hidden + self.outputs)
        hidden, d_logits, padding = back.tensor_split(edges, dim=1)
        torch.mul(slope, self.weight, out=d_logits)
        padding.zero_()
        d_readout = torch.mm(d_logits.T, post)
        torch.mm(d_logits, t.readout[: self.outputs], out=hidden)
        if self.gelu:
            torch.ops.aten.gelu_backward.grad_input(hidden, raw, grad_input=hidden)
        else:
            torch.ops.aten.threshold_backward.grad_input(hidden, post, 0.0, grad_input=hidden)
        return StripSums(
            loss=loss,
            readout=d_readout,
            table=pairs.table_backward(weights, back),
            attention=pairs.attention_backward(t.table, back),
        )

    def add_tables(self, shares: Sequence[StripSums], out: Terms) -> None:
        """One network's d T, given the shares of all strips in their order."""
        first, second, base = zip(*(share.table for share in shares), strict=True)
        rows = self.p * self.heads
        _add_up(first, out.table[:rows])
        torch.cat(second, out=out.table[rows : 2 * rows])
        if self.whole_base:
            torch.cat(base, out=out.table[2 * rows :])
        else:
            _add_up(base, out.table[2 * rows :])

    def add_rest(
        self, shares: Sequence[StripSums], training: Sequence[Pairs], out: Terms
    ) -> Tensor:
        """The other gradients, and the loss, which is returned."""
        _add_up([share.readout for share in shares], out.readout[: self.outputs])
        attention = out.coefficients.view(self.p**2, -1)[:, :-1]
        for share, pairs in zip(shares, training, strict=True):
            attention.index_copy_(0, pairs.numbers, share.attention)
        return torch.cat([share.loss for share in shares]).sum() * self.weight

    def judge(self, t: Terms, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Of one network: loss of every pair, and whether it is right, each (R,)."""
        logits = self._forward(t, pairs, pairs.taken(t.coefficients))[0]
        return self.loss.and_right(logits[:, : self.outputs], pairs.labels)


def _add_up(parts: Sequence[Tensor], out: Tensor) -> None:
    """In their order."""
    out.copy_(parts[0])
    for part in parts[1:]:
        out.add_(part)
