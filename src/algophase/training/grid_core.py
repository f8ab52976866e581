"""The p x p grid itself: from one network's tables to the loss of every pair, and back, in plain torch.

    pre[a, b]    = G[b] + sum_h A_1[h, a, b] T_1[h, a] + A_2[h, a, b] T_2[h, b]       (hidden columns and direct logits)
    logits[a, b] = act(pre[:m]) R + pre[m:]

Everything is laid out with b outermost, (b, a, W): the sum over T_2 is then one batched product per b straight into the
buffer, and the sum over T_1 one batched product per a into a strided view of it. Large grids go strip by strip, some
values of b at a time. Buffers are used again for the next strip and the next network, so that no page is touched for the
first time.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.training.grid_tables import TableGradients, Tables
from algophase.training.loss import loss_and_slope

STRIP_BYTES = 64 * 2**20  # of one buffer on a CPU: memory stays small at any size; smaller strips were slower, not faster


class Grid:
    """Buffers for a strip of one network's grid.

    `hidden` m columns, then `outputs` v direct logits; `width` may pad beyond them, with zeros that cost nothing: matrix
    products are fastest at round sizes.
    """

    def __init__(self, labels: Tensor, hidden: int, outputs: int, width: int, gelu: bool, dtype: torch.dtype) -> None:
        self.labels, self.hidden, self.outputs, self.gelu = labels, hidden, outputs, gelu
        self.p = p = len(labels)
        on_cpu = labels.device.type == "cpu"
        fitting = STRIP_BYTES // (p * width * dtype.itemsize)
        rows = max(1, min(p, fitting)) if on_cpu else p
        strips = -(-p // rows)
        rows = -(-p // strips)  # all strips about as large
        self.strips = [slice(start, min(start + rows, p)) for start in range(0, p, rows)]

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(*shape, device=labels.device, dtype=dtype)

        self.pre, self.back = zeros(rows, p, width), zeros(rows, p, width)
        self.logits, self.slope = zeros(rows * p, width - hidden), zeros(rows * p, width - hidden)
        self.ones = torch.ones(rows, p, 1, device=labels.device, dtype=dtype)

    def _columns(self, buffer: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden columns and direct logits of a (b, a, W) buffer, as matrices over pairs."""
        flat = buffer.view(-1, buffer.shape[2])
        return flat[:, : self.hidden], flat[:, self.hidden :]

    def _forward(self, t: Tables, i: int, strip: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (b * a, v and padding), post- and pre-activations (b * a, m); with ReLU both of these are one buffer."""
        assert t.tables is not None
        p, count = self.p, strip.stop - strip.start
        a1 = t.attention_1[i, :, :, strip]  # (h, a, b)
        a2 = -a1 if t.attention_2 is None else t.attention_2[i, :, :, strip]
        t1, t2 = t.tables[i, :, :p].transpose(0, 1), t.tables[i, :, p:][:, strip].transpose(0, 1)  # (a, h, W), (b, h, W)
        base = t.base[i][strip] if t.base.shape[1] == p else t.base[i].expand(count, -1)
        pre = self.pre[:count]
        # the last column of ones takes the base along
        torch.bmm(torch.cat([a2.permute(2, 1, 0), self.ones[:count]], dim=2), torch.cat([t2, base[:, None]], dim=1), out=pre)
        pre.transpose(0, 1).baddbmm_(a1.permute(1, 2, 0), t1)
        raw, direct = self._columns(pre)
        post = F.gelu(raw) if self.gelu else raw.relu_()
        return torch.addmm(direct, post, t.readout[i], out=self.logits[: count * p]), post, raw

    def loss(self, t: Tables, i: int, weights: Tensor, out: TableGradients) -> Tensor:
        """Weighted loss of network i; the gradients of its tables are written to `out`."""
        total = weights.new_zeros(())
        for strip in self.strips:
            logits, post, raw = self._forward(t, i, strip)
            loss, slope = loss_and_slope(logits[:, : self.outputs], self.labels[strip].flatten())
            by_b = weights.T[strip].flatten()
            back = self.slope[: len(slope)]
            torch.mul(slope, by_b[:, None], out=back[:, : self.outputs])
            self._backward(t, i, strip, post, raw, back, out)
            total += (loss * by_b).sum()
        return total

    def logits_of(self, t: Tables, i: int) -> Tensor:
        """Logits (a, b, v) of network i."""
        strips = [self._forward(t, i, strip)[0][:, : self.outputs].clone() for strip in self.strips]
        return torch.cat(strips).view(self.p, self.p, -1).transpose(0, 1)

    def _backward(self, t: Tables, i: int, strip: slice, post: Tensor, raw: Tensor, slope: Tensor, out: TableGradients) -> None:
        """Sums over a belong to this strip alone; sums over b grow strip by strip."""
        p, count, first = self.p, strip.stop - strip.start, strip.start == 0
        assert out.tables is not None
        assert t.tables is not None
        torch.addmm(out.readout[i], post.T, slope, beta=0 if first else 1, out=out.readout[i])
        back = self.back[:count]
        hidden, direct = self._columns(back)
        torch.mm(slope, t.readout[i].T, out=hidden)
        if self.gelu:
            hidden.copy_(torch.ops.aten.gelu_backward(hidden, raw))
        else:
            torch.ops.aten.threshold_backward.grad_input(hidden, post, 0.0, grad_input=hidden)
        direct.copy_(slope)
        by_b, by_a = back, back.transpose(0, 1)  # (b, a, W), (a, b, W)
        a1 = t.attention_1[i, :, :, strip]
        a2 = -a1 if t.attention_2 is None else t.attention_2[i, :, :, strip]
        t1, t2 = t.tables[i, :, :p].transpose(0, 1), t.tables[i, :, p:][:, strip].transpose(0, 1)
        over_b = torch.bmm(a1.transpose(0, 1), by_a).transpose(0, 1)  # (h, a, W)
        over_a = torch.bmm(torch.cat([a2.permute(2, 0, 1), self.ones[:count].mT], dim=1), by_b)  # (b, h + 1, W)
        whole_base = out.base.shape[1] == p
        if first:
            out.tables[i, :, :p] = over_b
            if not whole_base:
                out.base[i].zero_()
        else:
            out.tables[i, :, :p] += over_b
        out.tables[i, :, p:][:, strip] = over_a[:, :-1].transpose(0, 1)
        if whole_base:
            out.base[i][strip] = over_a[:, -1]
        else:
            out.base[i] += over_a[:, -1].sum(0, keepdim=True)
        d1 = torch.bmm(t1, by_a.transpose(1, 2)).transpose(0, 1)  # (h, a, b)
        d2 = torch.bmm(t2, by_b.transpose(1, 2)).permute(1, 2, 0)
        if out.attention_2 is None:
            torch.sub(d1, d2, out=out.attention_1[i, :, :, strip])
        else:
            out.attention_1[i, :, :, strip], out.attention_2[i, :, :, strip] = d1, d2
