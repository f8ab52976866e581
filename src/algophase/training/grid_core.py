"""The p x p grid itself: from one network's tables to the loss of every pair, and back. Plain torch, and the
kernels' reference.

    pre[a, b]    = G[b] + sum_h A_1[h, a, b] T_1[h, a] + A_2[h, a, b] T_2[h, b]       (hidden columns and direct logits)
    logits[a, b] = act(pre[:m]) R + pre[m:]

Everything is laid out with b outermost, (b, a, W): the sum over T_2 is then one batched product per b straight into the
buffer, and the sum over T_1 one batched product per a into a strided view of it. One network at a time, in buffers that are
used again for the next, so that on a CPU the work stays in the cache and no page is touched for the first time.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.training.grid_tables import TableGradients, Tables
from algophase.training.loss import loss_and_slope


class Grid:
    """Buffers for one network's grid. `hidden` m columns, then `outputs` v direct logits; `width` may pad beyond
    them, with zeros that cost nothing: matrix products are fastest at round sizes."""

    def __init__(self, labels: Tensor, hidden: int, outputs: int, width: int, gelu: bool, dtype: torch.dtype) -> None:
        self.labels, self.hidden, self.outputs, self.gelu = labels, hidden, outputs, gelu
        self.p = p = len(labels)

        def empty(*shape: int) -> Tensor:
            return torch.zeros(*shape, device=labels.device, dtype=dtype)

        self.pre = empty(p, p, width)
        self.back = empty(p, p, width)
        self.logits = empty(p * p, width - hidden)
        self.slope = empty(p * p, width - hidden)
        self.ones = torch.ones(p, p, 1, device=labels.device, dtype=dtype)

    def _columns(self, buffer: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden columns and direct logits of a (b, a, W) buffer, as matrices over pairs."""
        flat = buffer.view(self.p * self.p, -1)
        return flat[:, : self.hidden], flat[:, self.hidden :]

    def forward(self, t: Tables, i: int) -> tuple[Tensor, Tensor]:
        """Logits (b * a, v and padding) and post-activations (b * a, m) of network i. With ReLU the latter overwrite
        the buffer."""
        assert t.tables is not None
        p, a1 = self.p, t.attention_1[i]
        a2 = -a1 if t.attention_2 is None else t.attention_2[i]
        t1, t2 = t.tables[i, :, :p].transpose(0, 1), t.tables[i, :, p:].transpose(0, 1)  # (a, h, W), (b, h, W)
        by_b = torch.cat([a2.permute(2, 1, 0), self.ones], dim=2)  # (b, a, h + 1): the last column takes the base along
        torch.bmm(by_b, torch.cat([t2, t.base[i].expand(p, -1)[:, None]], dim=1), out=self.pre)
        self.pre.transpose(0, 1).baddbmm_(a1.permute(1, 2, 0), t1)
        raw, direct = self._columns(self.pre)
        post = F.gelu(raw) if self.gelu else raw.relu_()
        return torch.addmm(direct, post, t.readout[i], out=self.logits), post

    def loss(self, t: Tables, i: int, weights: Tensor, out: TableGradients) -> Tensor:
        """Weighted loss of network i; the gradients of its tables are written to `out`."""
        logits, post = self.forward(t, i)
        loss, slope = loss_and_slope(logits[:, : self.outputs], self.labels.flatten())  # labels are symmetric in a and b
        by_b = weights.T.flatten()
        torch.mul(slope, by_b[:, None], out=self.slope[:, : self.outputs])
        self._backward(t, i, post, self.slope, out)
        return (loss * by_b).sum()

    def _backward(self, t: Tables, i: int, post: Tensor, slope: Tensor, out: TableGradients) -> None:
        p = self.p
        torch.mm(post.T, slope, out=out.readout[i])
        hidden, direct = self._columns(self.back)
        torch.mm(slope, t.readout[i].T, out=hidden)
        if self.gelu:
            hidden.copy_(torch.ops.aten.gelu_backward(hidden, self._columns(self.pre)[0]))
        else:
            torch.ops.aten.threshold_backward.grad_input(hidden, post, 0.0, grad_input=hidden)
        direct.copy_(slope)
        by_b, by_a = self.back, self.back.transpose(0, 1)  # (b, a, W), (a, b, W)
        a1 = t.attention_1[i]
        a2 = -a1 if t.attention_2 is None else t.attention_2[i]
        assert out.tables is not None
        assert t.tables is not None
        t1, t2 = t.tables[i, :, :p].transpose(0, 1), t.tables[i, :, p:].transpose(0, 1)
        out.tables[i, :, :p] = torch.bmm(a1.transpose(0, 1), by_a).transpose(0, 1)
        both = torch.bmm(torch.cat([a2.permute(2, 0, 1), self.ones.mT], dim=1), by_b)  # (b, h + 1, W)
        out.tables[i, :, p:] = both[:, :-1].transpose(0, 1)
        base = both[:, -1]
        out.base[i] = base if out.base.shape[1] == p else base.sum(0, keepdim=True)
        d1 = torch.bmm(t1, by_a.transpose(1, 2)).transpose(0, 1)  # (h, a, b)
        d2 = torch.bmm(t2, by_b.transpose(1, 2)).permute(1, 2, 0)
        if out.attention_2 is None:
            torch.sub(d1, d2, out=out.attention_1[i])
        else:
            out.attention_1[i], out.attention_2[i] = d1, d2
