"""The one-layer transformer as tables over tokens, and their backward pass: everything outside the
p x p grid.

Every token's query, key and value is needed once, not once per pair. With x_1, x_2 the two
operands' embeddings (position added), u = v W_O the heads' outputs and A the interpolated attention
of the last position, the residual stream before the MLP is

    two positions      x_2[b] + (2 - rate) sum_h u_2[h, b]
                           + sum_h A_1[h, a, b] (u_1[h, a] - u_2[h, b])
    with equals sign   x_3 + (3 - 2 rate) sum_h u_3[h]
                           + sum_h A_1[h, a, b] (u_1[h, a] - u_3[h])
                           + sum_h A_2[h, a, b] (u_2[h, b] - u_3[h])

because the weights of all positions add up to a constant. Both are base[b] + sum_h A_1 U_1[h, a] +
A_2 U_2[h, b] (A_2 is -A_1 in the first). Projected through [W_in | W_U] at once, U and base become
tables T_1, T_2 and G of width m + v: hidden pre-activations and direct logits.

Axes: n networks, s positions, d width, h heads, e head size, m hidden units, v outputs, W = m + v.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from algophase.core.settings import TaskSettings
from algophase.training.engines.flat import Flat


@dataclass(kw_only=True)
class Terms:
    """What the grid reads, of n networks; the gradients it hands back have the same form. Memory
    is used again every epoch.
    """

    coefficients: Tensor  # A_1 and A_2 of every head, and 1: (n, b, a, 2 h + 1)
    table: Tensor  # T_1[a, h], T_2[b, h] and G, one below the other: (n, 2 p h + p or 1, W)
    readout: Tensor  # W_out W_U, turned: (n, v, m); so the products over pairs are about 5% faster

    @classmethod
    def like(cls, task: TaskSettings, P: Flat) -> "Terms":
        """Memory for the networks of some parameters."""
        p, (n, heads), (_, hidden) = task.modulus, P["O"].shape[:2], P["b_in"].shape
        rows = 2 * p * heads + (1 if task.equals_sign else p)
        width = P["IU"].shape[2]
        return cls(
            coefficients=P.flat.new_ones(n, p, p, 2 * heads + 1),
            table=P.flat.new_zeros(n, rows, width),
            readout=P.flat.new_zeros(n, width - hidden, hidden),
        )

    def each(self) -> "list[Terms]":
        """Of every network alone, without the first axis."""
        views = zip(self.coefficients, self.table, self.readout, strict=True)
        return [Terms(coefficients=c, table=t, readout=r) for c, t, r in views]

    @cached_property
    def heads(self) -> int:
        return self.coefficients.shape[3] // 2

    @cached_property
    def tables(self) -> Tensor:
        """T (n, h, 2 p, W): T_1 in the first p rows, T_2 in the next p."""
        return self.table[:, : self._before_base].unflatten(1, (-1, self.heads)).transpose(1, 2)

    @cached_property
    def base(self) -> Tensor:
        """G (n, p or 1, W)."""
        return self.table[:, self._before_base :]

    @cached_property
    def attention(self) -> tuple[Tensor, Tensor]:
        """A_1 and A_2, each (n, h, a, b)."""
        both = self.coefficients.permute(0, 3, 2, 1)
        return both[:, : self.heads], both[:, self.heads : 2 * self.heads]

    @property
    def _before_base(self) -> int:
        return 2 * self.coefficients.shape[1] * self.heads


@dataclass(kw_only=True)
class Attended:
    """What an ensemble's parameters give without the projection W_O [W_in | W_U]."""

    inputs: Tensor  # x of every position, stacked (n, rows, d)
    queries: Tensor  # (n, h, p or 1, e)
    keys: Tensor  # (n, h, rows, e)
    values: Tensor  # (n, h, 2p, e); with an equals sign, their differences from its own
    softmax_1: Tensor  # before the rate is applied
    softmax_2: Tensor | None
    own_value: Tensor | None  # the equals sign's (n, h, 1, e)


@dataclass(kw_only=True)
class Tables(Attended):
    """What the backward pass needs of how the terms were made."""

    projected: Tensor  # W_O [W_in | W_U] (n, h, e, W)


class TableMaker:
    """Forward and backward between an ensemble's parameters and its tables.

    Parameters: embed (V, d), pos (s, d), QKV (d, 3, h, e), O (h, e, d), IU (d, W), b_in (m), W_out
    (m, d), b_out (d).
    """

    def __init__(self, task: TaskSettings, rate: Tensor, scale: Tensor, hidden: int) -> None:
        self.task, self.p, self.hidden = task, task.modulus, hidden
        self.rate = rate.view(-1, 1, 1, 1)
        self.scale = scale.view(-1, 1, 1, 1)
        self.rest = 1 - self.rate
        self.rate_scale = self.rate * self.scale
        # what a head's weights of all positions add up to
        self.total = task.context - (task.context - 1) * self.rate[:, 0]

    def _input(self, P: Flat, position: int) -> Tensor:
        """x_1, x_2 (n, p, d) or the equals sign's x_3 (n, 1, d), for position 0, 1 or 2."""
        start = self.p if position == 1 and self.task.separate_vocabularies else 0
        tokens = slice(start, start + self.p) if position < 2 else slice(-1, None)
        return P["embed"][:, tokens] + P["pos"][:, position : position + 1]

    @property
    def _asking(self) -> slice:
        """Rows of the position that attends: the equals sign's, or the second operand's."""
        return slice(2 * self.p, None) if self.task.equals_sign else slice(self.p, 2 * self.p)

    def attend(self, P: Flat, terms: Terms) -> Attended:
        """What does not need the projection. The readout is left in the terms."""
        p = self.p
        positions = range(self.task.context)
        x = torch.cat([self._input(P, position) for position in positions], dim=1)
        n, rows, _ = x.shape
        heads, size = P["O"].shape[1:3]
        w_u = P["IU"][:, :, self.hidden :]
        torch.bmm(w_u.mT, P["W_out"].mT, out=terms.readout)
        qkv = torch.bmm(x, P["QKV"].flatten(2)).view(n, rows, 3, heads, size)
        q = qkv[:, self._asking, 0].transpose(1, 2)
        k = qkv[:, :, 1].transpose(1, 2)
        v = qkv[:, :, 2].transpose(1, 2)
        if not self.task.equals_sign:
            own = (q * k[:, :, p:]).sum(-1)  # q_2[b] . k_2[b]
            scores = k[:, :, :p] @ q.mT - own[:, :, None, :]
            soft_1 = torch.sigmoid(scores * self.scale)
            return Attended(
                inputs=x,
                queries=q,
                keys=k,
                values=v,
                softmax_1=soft_1,
                softmax_2=None,
                own_value=None,
            )
        soft_1, soft_2 = self._softmax_of_three(q, k)
        own_value = v[:, :, 2 * p :]
        return Attended(
            inputs=x,
            queries=q,
            keys=k,
            values=v[:, :, : 2 * p] - own_value,
            softmax_1=soft_1,
            softmax_2=soft_2,
            own_value=own_value,
        )

    def _softmax_of_three(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Of the operands, beside the equals sign: (n, h, a, b) each. There is one query; its
        scores depend on a alone, b alone, and on nothing."""
        p = self.p
        scores = (k @ q.mT).squeeze(-1) * self.scale.squeeze(-1)  # (n, h, rows)
        s1 = scores[:, :, :p, None]
        s2 = scores[:, :, None, p : 2 * p]
        s3 = scores[:, :, 2 * p :, None]
        top = torch.maximum(torch.maximum(s1, s2), s3)
        e1 = torch.exp(s1 - top)
        e2 = torch.exp(s2 - top)
        e3 = torch.exp(s3 - top)
        whole = e1 + e2 + e3
        return e1 / whole, e2 / whole

    def project(self, P: Flat, terms: Terms) -> Tensor:
        """W_O [W_in | W_U] (n, h, e, W): what needs no attention. The base without the heads'
        outputs is left in the terms.
        """
        heads, size = P["O"].shape[1:3]
        w_u = P["IU"][:, :, self.hidden :]
        direct = torch.bmm(P["b_out"][:, None], w_u)[:, 0]
        bias = torch.cat([P["b_in"], direct], dim=1)
        asking = self._input(P, self.task.context - 1)
        torch.baddbmm(bias[:, None], asking, P["IU"], out=terms.base)
        return torch.bmm(P["O"].flatten(1, 2), P["IU"]).unflatten(1, (heads, size))

    def complete_first(self, t: Tables, terms: Terms) -> None:
        """T_1 and the coefficients."""
        attention_1, attention_2 = terms.attention
        _multiply(t.values[:, :, : self.p], t.projected, terms.tables[:, :, : self.p])
        torch.addcmul(self.rest, self.rate, t.softmax_1, out=attention_1)
        if t.softmax_2 is not None:
            torch.addcmul(self.rest, self.rate, t.softmax_2, out=attention_2)
        else:
            torch.neg(attention_1, out=attention_2)

    def complete_second(self, t: Tables, terms: Terms) -> None:
        """T_2 and the base."""
        second = terms.tables[:, :, self.p :]
        _multiply(t.values[:, :, self.p :], t.projected, second)
        if t.own_value is not None:
            own_value = t.own_value.transpose(1, 2).flatten(2)  # (n, 1, h e)
            terms.base.baddbmm_(self.total * own_value, t.projected.flatten(1, 2))
        else:
            terms.base.addcmul_(self.total, second.sum(1))

    def share_base(self, g: Terms) -> None:
        """Give d tables what reaches them through the base. The two halves of the backward pass
        read both, and change none.
        """
        if not self.task.equals_sign:
            g.tables[:, :, self.p :].addcmul_(self.total[:, None], g.base[:, None])

    def backward_inputs(self, P: Flat, t: Tables, g: Terms, out: Flat) -> None:
        """To embeddings, queries, keys, values and the biases."""
        p, m = self.p, self.hidden
        n, heads, rows, size = t.keys.shape
        W_U = P["IU"][:, :, m:]
        column = g.base.sum(1)  # d bias
        out["b_in"].copy_(column[:, :m])
        out["b_out"].copy_(torch.bmm(W_U, column[:, m:, None])[:, :, 0])
        # attention
        d_qkv = torch.zeros(n, rows, 3, heads, size, dtype=t.keys.dtype, device=t.keys.device)
        self._values_backward(t, g, d_qkv[:, :, 2].transpose(1, 2))
        self._attention_backward(t, g, d_qkv)
        d_qkv = d_qkv.flatten(2)
        torch.bmm(t.inputs.mT, d_qkv, out=out["QKV"].flatten(2))
        d_inputs = torch.bmm(d_qkv, P["QKV"].flatten(2).mT)
        d_inputs[:, self._asking].add_(torch.bmm(g.base, P["IU"].mT))
        # embeddings
        first = d_inputs[:, :p]
        second = d_inputs[:, p : 2 * p]
        out["embed"].zero_()
        out["embed"][:, :p].add_(first)
        start = p if self.task.separate_vocabularies else 0
        out["embed"][:, start : start + p].add_(second)
        out["pos"][:, 0] = first.sum(1)
        out["pos"][:, 1] = second.sum(1)
        if self.task.equals_sign:
            out["embed"][:, -1].add_(d_inputs[:, 2 * p])
            out["pos"][:, 2] = d_inputs[:, 2 * p]

    def backward_projection(self, P: Flat, t: Tables, g: Terms, out: Flat) -> None:
        """To W_O, W_in, W_out and W_U."""
        m = self.hidden
        torch.bmm(g.readout.mT, P["IU"][:, :, m:].mT, out=out["W_out"])
        d_IU = torch.bmm(t.inputs[:, self._asking].mT, g.base, out=out["IU"])
        d_projected = self._d_projected(t, g).flatten(1, 2)  # (n, h e, W)
        torch.bmm(d_projected, P["IU"].mT, out=out["O"].flatten(1, 2))
        d_IU.baddbmm_(P["O"].flatten(1, 2).mT, d_projected)
        d_IU[:, :, m:].baddbmm_(P["W_out"].mT, g.readout.mT)
        d_IU[:, :, m:].baddbmm_(P["b_out"][:, :, None], g.base.sum(1)[:, None, m:])

    def _own_share(self, g: Terms) -> Tensor:
        """d (sum over heads of v_3 projected) through the equals sign's base (n, 1, W)."""
        return self.total * g.base

    def _values_backward(self, t: Tables, g: Terms, out: Tensor) -> None:
        """d v (n, h, rows, e) of T = v projected; with an equals sign of T = (v - v_3)
        projected.
        """
        d_values = out[:, :, : 2 * self.p]
        _multiply(g.tables, t.projected.mT, d_values)
        if self.task.equals_sign:
            d_own = torch.bmm(self._own_share(g), t.projected.flatten(1, 2).mT)
            d_own = d_own.unflatten(2, t.projected.shape[1:3]).transpose(1, 2)
            torch.sub(d_own, d_values.sum(2, keepdim=True), out=out[:, :, 2 * self.p :])

    def _d_projected(self, t: Tables, g: Terms) -> Tensor:
        """d projected (n, h, e, W)."""
        d_projected = torch.empty_like(t.projected)
        _multiply(t.values.mT, g.tables, d_projected)
        if t.own_value is not None:
            d_projected.addcmul_(t.own_value.mT, self._own_share(g)[:, None])
        return d_projected

    def _attention_backward(self, t: Tables, g: Terms, d_qkv: Tensor) -> None:
        """Through softmax and scores into d_qkv (n, rows, 3, h, e)."""
        p, rate, asking = self.p, self.rate, self._asking
        q, k, (d_attention_1, d_attention_2) = t.queries, t.keys, g.attention
        if t.softmax_2 is None:
            d_softmax = torch.empty_like(t.softmax_1)  # contiguous, unlike both
            torch.sub(d_attention_1, d_attention_2, out=d_softmax)
            d_score = torch.ops.aten.sigmoid_backward(d_softmax, t.softmax_1)
            d_score.mul_(self.rate_scale)  # (n, h, a, b)
            over_a = d_score.sum(2)[..., None]  # (n, h, b, 1)
            dq = d_score.mT @ k[:, :, :p] - over_a * k[:, :, p:]
            d_qkv[:, asking, 0] = dq.transpose(1, 2)
            d_qkv[:, :p, 1] = (d_score @ q).transpose(1, 2)
            d_qkv[:, p:, 1] = (-over_a * q).transpose(1, 2)
            return
        w1, w2 = t.softmax_1, t.softmax_2
        g1 = d_attention_1 * rate
        g2 = d_attention_2 * rate
        mean = w1 * g1 + w2 * g2
        d1 = (w1 * (g1 - mean)).sum(3)  # (n, h, a)
        d2 = (w2 * (g2 - mean)).sum(2)  # (n, h, b)
        d3 = -((1 - w1 - w2) * mean).sum((2, 3))[..., None]  # (n, h, 1)
        d_score = torch.cat([d1, d2, d3], dim=2)[..., None] * self.scale  # (n, h, rows, 1)
        d_qkv[:, asking, 0] = (d_score.mT @ k).transpose(1, 2)
        d_qkv[:, :, 1] = (d_score * q).transpose(1, 2)


def _multiply(left: Tensor, right: Tensor, out: Tensor) -> None:
    """Products (n, h, ...) into memory that need not be contiguous: merging the two axes would
    copy it.
    """
    for network in zip(left, right, out, strict=True):
        torch.bmm(*network[:2], out=network[2])
