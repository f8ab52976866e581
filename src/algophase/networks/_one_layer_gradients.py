"""Inner products of the gradients of the paper's transformer with one layer of ReLUs.

With g_c the gradient of logit c by the stream x that the hidden units read, (d,), and for each head
h the parts z_h = g W_O^h, v_kh = x_k W_V^h, the scores' gradients q_h = W_K^h W_Q^h x_asking and
m_kh = W_Q^h W_K^h x_k, softmax S and interpolated attention M = rate S + 1 - rate, the gradient by
what position k holds is

    t_k = sum over h of M_kh W_V^h z_h + f_kh q_h,   f_kh = rate S_kh z_h (v_kh - mean) / sqrt(e),

mean the sum over l of S_lh v_lh; and the position that asks adds g + sum over l, h of f_lh m_lh.
With two positions, S_1 + S_2 = 1 and f_1 = -f_2 = f. The gradients' sum is then

    t_1 + t_2 = g (1 + (2 - rate) sum over h of W_O^h W_V^h) + sum over h of f_h (m_1h - m_2h).

z and the first term of that sum are linear in g, and g is a sum over the units that are on. So both
are sums over units (`ActiveUnits`), and one product with W_V per pair is left.

Axes: n pairs, c labels, d width, m hidden units, h heads, e head size, p operands.
"""

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algophase.networks._active_units import ActiveUnits
from algophase.networks.gradient_products import GradientProducts, Products, inner_products

if TYPE_CHECKING:
    from algophase.networks.transformer import Block


# Of the squared norm of a sum, relative to those of its terms: from here on rounding below 1e-12.
CANCELED = 1e-3


class OneLayerGradients:
    """positions: what each position holds before the layer, (p, d), and the equals sign (1, d) as
    the third where there is one. unembedding: (d, outputs), labels: how many of them are labels.
    """

    def __init__(
        self, block: "Block", unembedding: Tensor, labels: int, positions: list[Tensor]
    ) -> None:
        attention = block.attn
        self.mlp = block.mlp
        self.unembedding = unembedding
        self.positions = positions
        self.rate = attention.attention_rate
        self.heads, width, self.head_size = attention.W_Q.shape
        self.scale = 1 / math.sqrt(self.head_size)
        self.sign_asks = len(positions) == 3

        # What each token does by itself. Lists are by position.
        asking = positions[-1]
        self.values = [_by_head(x, attention.W_V) for x in positions]  # v, (p, h, e)
        self.written = [_onto_width(v, attention.W_O) for v in self.values]  # (p, h, d)
        queries = _by_head(asking, attention.W_Q)
        self.asked = _onto_width(queries, attention.W_K.mT)  # q, (p or 1, h, d)
        # (a, b, h) of the first position; the others' do not depend on a: (b or 1, h)
        self.first_scores = self.scale * torch.einsum("ad,bhd->abh", positions[0], self.asked)
        self.other_scores: list[Tensor] = []
        for x in positions[1:]:
            products = (x[:, None] * self.asked).sum(dim=-1)
            self.other_scores.append(self.scale * products)

        # From the stream's gradient to z and, without an equals sign, to the gradients' sum.
        self.value_map = attention.W_V.transpose(0, 1).flatten(1)  # (d, h e)
        from_stream = attention.W_O.flatten(0, 1).T  # (d, h e)
        if not self.sign_asks:
            keys = [_by_head(x, attention.W_K) for x in positions]
            self.matched = [_onto_width(key, attention.W_Q.mT) for key in keys]  # m, (p, h, d)
            one = torch.eye(width, dtype=unembedding.dtype)
            to_sum = one + (2 - self.rate) * from_stream @ self.value_map.T
            from_stream = torch.cat([from_stream, to_sum], dim=1)
        unembedded = unembedding[:, :labels]
        self.units = ActiveUnits(
            written=block.mlp.W_out @ unembedded,
            read=block.mlp.W_in.T @ from_stream,
            base=unembedded.T @ from_stream,
        )

    def products(self) -> GradientProducts:
        elements = self.units.base.numel() + 4 * self.mlp.W_in.shape[1]
        return GradientProducts(self.of_block, elements)

    @torch.no_grad()  # also in a thread of its own
    def of_block(self, rows: slice, columns: slice) -> Products:
        """Of some rows a and columns b."""
        by_column = [self._of_column(rows, b) for b in range(columns.start, columns.stop)]
        joined = [torch.cat(kind, dim=1) for kind in zip(*by_column, strict=True)]
        return Products(*joined)

    def _of_column(self, rows: slice, column: int) -> Products:
        """Of some rows a with one column b, which has an axis of its own."""
        tokens = [rows, slice(column, column + 1)]
        if self.sign_asks:
            tokens.append(slice(0, 1))
        softmax = self._softmax(tokens)
        attention = self.rate * softmax + (1 - self.rate)
        stream = self.positions[-1][tokens[-1]]
        for shares, written, token in zip(attention, self.written, tokens, strict=True):
            stream = stream + (shares[..., None] * written[token]).sum(dim=1)
        pre = self.mlp.pre_activations(stream)
        post = self.mlp.activation(pre) @ self.mlp.W_out + self.mlp.b_out
        logits = (stream + post) @ self.unembedding

        z_to_f = self._z_to_f(softmax, tokens)
        asked = self.asked[tokens[-1]][0]  # (h, d)
        onto_width = torch.cat([self.value_map.T, asked])  # (h e + h, d)
        z_size = len(self.value_map.T)

        def by_position(k: int, pairs: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
            """t_k without what the position that asks adds, (n, c, d), and f_k, (n, c, h)."""
            f = torch.bmm(z, z_to_f[k][pairs])
            shares = attention[k, pairs].repeat_interleave(self.head_size, dim=-1)
            parts = torch.cat([z * shares[:, None], f], dim=-1)
            return parts @ onto_width, f

        def products_of(pairs: Tensor, sums: Tensor) -> list[Tensor]:
            z = sums[..., :z_size]
            if self.sign_asks:
                products = by_heads(pairs, z)
                if products is not None:
                    return products
            to_first, f = by_position(0, pairs, z)
            if self.sign_asks:
                to_second, _ = by_position(1, pairs, z)
                return inner_products(to_first, to_second)
            matched = self.matched[0][rows.start + pairs] - self.matched[1][column]
            gradient_sum = torch.baddbmm(sums[..., z_size:], f, matched)
            return inner_products(to_first, gradient_sum.sub_(to_first))

        if self.sign_asks:
            by_heads = HeadProducts(self.value_map, self.asked[0], attention[:2], z_to_f)
        first, second, mixed = self.units.products(pre > 0, products_of)
        return Products(logits[:, None], first, second, mixed, pre[:, None])

    def _softmax(self, tokens: list[slice]) -> Tensor:
        """Attention of the last position to each, (k, n, h), before it is interpolated."""
        first, *later = tokens
        scores = [self.first_scores[first, tokens[-1]][:, 0]]
        for score, token in zip(self.other_scores, later, strict=True):
            scores.append(score[token].expand_as(scores[0]))
        return torch.stack(scores).softmax(dim=0)

    def _z_to_f(self, softmax: Tensor, tokens: list[slice]) -> list[Tensor]:
        """Of the two operands: the map from z to f, (n, h e, h). Each head's z gives its own f."""
        shares = softmax[..., None]
        values = [value[token] for value, token in zip(self.values, tokens, strict=True)]
        mean = shares[0] * values[0]
        for share, value in zip(shares[1:], values[1:], strict=True):
            mean = mean + share * value
        own_head = torch.eye(self.heads, dtype=mean.dtype)[:, None]  # (h, 1, h)
        maps = []
        for share, value in zip(shares[:2], values[:2], strict=True):
            moves = self.rate * self.scale * share * (value - mean)  # (n, h, e)
            maps.append((moves[..., None] * own_head).flatten(1, 2))
        return maps


def _by_head(tokens: Tensor, weights: Tensor) -> Tensor:
    """(p, d) through a matrix (d, e) of each head: (p, h, e)."""
    return torch.einsum("pd,hde->phe", tokens, weights)


def _onto_width(by_head: Tensor, weights: Tensor) -> Tensor:
    """(p, h, e) through a matrix (e, d) of each head: (p, h, d)."""
    return torch.einsum("phe,hed->phd", by_head, weights)


class HeadProducts:
    """The inner products of t_1 and t_2 where an equals sign asks, without t_1 and t_2: from those
    of what each head adds to them.

    With w_h = W_V^h z_h, t_k = sum over h of M_kh w_h + f_kh q_h, and q is the same for all pairs.
    The products of the w_h with each other take five eighths of the arithmetic of one t_k.

    value_map: (d, h e). asked: q, (h, d). attention: M of the two operands, (2, n, h). z_to_f: of
    each, (n, h e, h).
    """

    def __init__(
        self, value_map: Tensor, asked: Tensor, attention: Tensor, z_to_f: list[Tensor]
    ) -> None:
        self.heads = len(asked)
        self.size = value_map.shape[1] // self.heads
        self.gram = value_map.T @ value_map
        self.asked_gram = asked @ asked.T
        asked_by_value = value_map.T @ asked.T  # (h e, h)
        shares = attention.repeat_interleave(self.size, dim=-1)[..., None]
        self.maps = torch.cat([*z_to_f, *(shares * asked_by_value)], dim=-1)  # (n, h e, 4 h)
        first_head, second_head = torch.triu_indices(self.heads, self.heads)
        self.is_square = first_head == second_head
        twice = torch.where(self.is_square, 0.5, 1.0).to(attention)
        first, second = attention
        factors = [
            2 * first[:, first_head] * first[:, second_head],
            2 * second[:, first_head] * second[:, second_head],
            first[:, first_head] * second[:, second_head]
            + second[:, first_head] * first[:, second_head],
        ]
        self.factors = torch.stack(factors, dim=-1) * twice[:, None]  # (n, pairs of heads, 3)

    def __call__(self, pairs: Tensor, z: Tensor) -> list[Tensor] | None:
        """first, second and mixed of `Products`, (k, c), from z (k, c, h e); None where heads
        cancel each other, so that rounding would show.
        """
        of_heads = []
        for head in range(self.heads):
            start = head * self.size
            own = slice(start, start + self.size)
            onto_later = z[..., own] @ self.gram[own, start:]
            onto_later *= z[..., start:]
            by_head = onto_later.unflatten(-1, (-1, self.size))
            of_heads.append(by_head.sum(dim=-1))
        head_products = torch.cat(of_heads, dim=-1)  # (k, c, pairs of heads)
        factors = self.factors[pairs]
        products = torch.bmm(head_products, factors)
        mapped = torch.bmm(z, self.maps[pairs])
        f_first, f_second, r_first, r_second = mapped.chunk(4, dim=-1)
        q_first = f_first @ self.asked_gram
        q_second = f_second @ self.asked_gram
        with_first = f_first * (2 * r_first + q_first)
        with_second = f_second * (2 * r_second + q_second)
        with_both = f_first * r_second + f_second * (r_first + q_first)
        first = products[..., 0] + with_first.sum(dim=-1)
        second = products[..., 1] + with_second.sum(dim=-1)
        mixed = products[..., 2] + with_both.sum(dim=-1)
        squares = head_products[..., self.is_square] @ factors[:, self.is_square, :2]
        least_first, least_second = (CANCELED * squares).unbind(dim=-1)
        if (first < least_first).any() or (second < least_second).any():
            return None
        return [first, second, mixed]
