"""The p x p grid itself: from one network's tables to the loss of every pair, and back, in plain torch.

    pre[a, b]    = G[b] + sum_h A_1[h, a, b] T_1[h, a] + A_2[h, a, b] T_2[h, b]       (hidden columns and direct logits)
    logits[a, b] = act(pre[:m]) R + pre[m:]

Everything is laid out with b outermost, (b, a, W): the sum over T_2 is then one batched product per b straight into the
buffer, and the sum over T_1 one batched product per a into a strided view of it. On a CPU the grid is cut into strips, some
values of b each. A strip reads the tables, computes in buffers of its own and returns its share of every gradient, so that
strips can be computed by any thread, in any order; `add_up` takes the shares in the order of b. Buffers are used
again, so that no page is touched for the first time.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from algophase.training.grid_tables import TableGradients, Tables
from algophase.training.loss import loss_and_right, loss_and_slope

STRIP_BYTES = 9 * 2**17  # of one buffer on a CPU: with its gradient it stays in a core's cache


@dataclass
class Share:
    """What one strip adds to the gradients: sums over its values of b, and what belongs to these alone."""

    loss: Tensor  # ()
    readout: Tensor  # (m, v)
    first: Tensor  # d T_1 (a, h, W)
    second: Tensor  # d T_2 (b, h, W), and as its last head d base
    attention_1: Tensor  # (h, a, b)
    attention_2: Tensor  # (h, a, b)


class Buffers:
    """What a strip computes in."""

    def __init__(self, rows: int, p: int, heads: int, hidden: int, width: int, gelu: bool, like: Tensor) -> None:
        self.pre, self.back = like.new_zeros(rows, p, width), like.new_zeros(rows, p, width)
        self.post = like.new_zeros(rows * p, hidden) if gelu else None
        self.logits, self.slope = like.new_zeros(rows * p, width - hidden), like.new_zeros(rows * p, width - hidden)
        self.weights = like.new_ones(rows, p, heads + 1)  # A_2, and ones that take the base along
        self.values = like.new_zeros(rows, heads + 1, width)  # T_2 and the base


class Grid:
    """Strips of one network's grid.

    `hidden` m columns, then `outputs` v direct logits; `width` may pad beyond them, with zeros that cost nothing: matrix
    products are fastest at round sizes.
    """

    def __init__(self, labels: Tensor, heads: int, hidden: int, outputs: int, width: int, gelu: bool, like: Tensor) -> None:
        """like: a tensor of the type and on the device to compute in."""
        self.hidden, self.outputs, self.gelu = hidden, outputs, gelu
        self.p = p = len(labels)
        fitting = STRIP_BYTES // (p * width * like.element_size()) if like.device.type == "cpu" else p
        count = -(-p // max(1, min(p, fitting)))
        edges = [p * index // count for index in range(count + 1)]  # all strips about as large
        self.strips = [slice(start, stop) for start, stop in pairwise(edges)]
        self.labels = labels.T.contiguous()  # (b, a)
        self.sizes = (max(strip.stop - strip.start for strip in self.strips), p, heads, hidden, width, gelu)
        self.like = like.new_empty(0)
        self.buffers: deque[Buffers] = deque()  # free ones; a deque may be used by several threads
        self.shares: dict[int, deque[Share]] = {strip.stop - strip.start: deque() for strip in self.strips}

    def _take_buffers(self) -> Buffers:
        try:
            return self.buffers.pop()
        except IndexError:
            return Buffers(*self.sizes, self.like)

    def _take_share(self, rows: int) -> Share:
        try:
            return self.shares[rows].pop()
        except IndexError:
            _, p, heads, hidden, width, _ = self.sizes
            zeros = self.like.new_zeros
            attention = (heads, p, rows)
            return Share(
                zeros(()),
                zeros(hidden, width - hidden),
                zeros(p, heads, width),
                zeros(rows, heads + 1, width),
                zeros(attention),
                zeros(attention),
            )

    def put_back(self, share: Share) -> None:
        self.shares[len(share.second)].append(share)

    def _columns(self, buffer: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden columns and direct logits of a (b, a, W) buffer, as matrices over pairs."""
        flat = buffer.view(-1, buffer.shape[2])
        return flat[:, : self.hidden], flat[:, self.hidden :]

    def _forward(self, t: Tables, i: int, strip: slice, buffers: Buffers) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (b * a, v and padding), post- and pre-activations (b * a, m); with ReLU both of these are one buffer."""
        p, count = self.p, strip.stop - strip.start
        a1 = t.attention_1[i, :, :, strip]  # (h, a, b)
        weights, values, pre = buffers.weights[:count], buffers.values[:count], buffers.pre[:count]
        if t.attention_2 is None:
            torch.neg(a1.permute(2, 1, 0), out=weights[:, :, :-1])
        else:
            weights[:, :, :-1].copy_(t.attention_2[i, :, :, strip].permute(2, 1, 0))
        values[:, :-1].copy_(t.tables[i, :, p:][:, strip].transpose(0, 1))
        values[:, -1].copy_(t.base[i][strip] if t.base.shape[1] == p else t.base[i].expand(count, -1))
        torch.bmm(weights, values, out=pre)
        # not added by the product itself: into a strided view that would be one small product after the other
        by_a = buffers.back.view(-1)[: pre.numel()].view(p, count, -1)  # (a, b, W); free until the backward pass
        torch.bmm(a1.permute(1, 2, 0), t.tables[i, :, :p].transpose(0, 1), out=by_a)
        pre.add_(by_a.transpose(0, 1))
        raw, direct = self._columns(pre)
        post = raw.relu_() if buffers.post is None else torch.ops.aten.gelu.out(raw, out=buffers.post[: count * p])
        return torch.addmm(direct, post, t.readout[i], out=buffers.logits[: count * p]), post, raw

    def share(self, t: Tables, i: int, strip: slice, weights: Tensor) -> Share:
        """Of network i: a strip's weighted loss and its share of the gradients."""
        buffers, share = self._take_buffers(), self._take_share(strip.stop - strip.start)
        logits, post, raw = self._forward(t, i, strip, buffers)
        loss, slope = loss_and_slope(logits[:, : self.outputs], self.labels[strip].flatten())
        by_b = weights.T[strip].flatten()
        back = buffers.slope[: len(slope)]
        torch.mul(slope, by_b[:, None], out=back[:, : self.outputs])
        torch.dot(loss, by_b, out=share.loss)
        self._backward(t, i, strip, post, raw, back, buffers, share)
        self.buffers.append(buffers)
        return share

    def judge(self, t: Tables, i: int, strip: slice) -> tuple[Tensor, Tensor]:
        """Of network i: loss of every pair of a strip, and whether it is right, each (b, a)."""
        buffers = self._take_buffers()
        logits = self._forward(t, i, strip, buffers)[0][:, : self.outputs].unflatten(0, (-1, self.p))
        judged = loss_and_right(logits, self.labels[strip])
        self.buffers.append(buffers)
        return judged

    def _backward(
        self, t: Tables, i: int, strip: slice, post: Tensor, raw: Tensor, slope: Tensor, buffers: Buffers, share: Share
    ) -> None:
        p, count = self.p, strip.stop - strip.start
        torch.mm(post.T, slope, out=share.readout)
        back = buffers.back[:count]
        hidden, direct = self._columns(back)
        torch.mm(slope, t.readout[i].T, out=hidden)
        if self.gelu:
            torch.ops.aten.gelu_backward.grad_input(hidden, raw, grad_input=hidden)
        else:
            torch.ops.aten.threshold_backward.grad_input(hidden, post, 0.0, grad_input=hidden)
        direct.copy_(slope)
        by_b, by_a = back, back.transpose(0, 1)  # (b, a, W), (a, b, W)
        a1 = t.attention_1[i, :, :, strip]
        torch.bmm(a1.transpose(0, 1), by_a, out=share.first)
        torch.bmm(buffers.weights[:count].mT, by_b, out=share.second)
        d1 = torch.bmm(t.tables[i, :, :p].transpose(0, 1), by_a.transpose(1, 2)).transpose(0, 1)  # (h, a, b)
        d2 = torch.bmm(buffers.values[:count, :-1], by_b.transpose(1, 2)).permute(1, 2, 0)
        if t.attention_2 is None:
            torch.sub(d1, d2, out=share.attention_1)
        else:
            share.attention_1.copy_(d1)
            share.attention_2.copy_(d2)

    def add_up(self, shares: Sequence[Share], i: int, out: TableGradients) -> Tensor:
        """Write network i's gradients to `out` and return its loss, given the shares of all strips in their order."""
        p = self.p
        total = shares[0].loss.clone()
        first, whole_base = out.tables[i, :, :p].transpose(0, 1), out.base.shape[1] == p
        for index, (share, strip) in enumerate(zip(shares, self.strips, strict=True)):
            if index == 0:
                out.readout[i].copy_(share.readout)
                first.copy_(share.first)
                if not whole_base:
                    out.base[i].zero_()
            else:
                total += share.loss
                out.readout[i] += share.readout
                first += share.first
            out.tables[i, :, p:][:, strip] = share.second[:, :-1].transpose(0, 1)
            if whole_base:
                out.base[i][strip] = share.second[:, -1]
            else:
                out.base[i] += share.second[:, -1].sum(0, keepdim=True)
            out.attention_1[i, :, :, strip] = share.attention_1
            if out.attention_2 is not None:
                out.attention_2[i, :, :, strip] = share.attention_2
            self.put_back(share)
        return total
