"""Logits of all pairs of a one-layer transformer, with most of the work done once per token.

A token's query, key and value are its own, whatever its partner is:

    residual[a, b] = x_last + sum_h A_1[h, a, b] u_1[h, a] + A_2[h, a, b] u_2[h, b]
                     (+ A_3[h, a, b] u_3[h]),   u = x W_V W_O,

A the interpolated attention of the last position; the third term is the equals sign's. Projected
through [W_in | W_U] once per token, what is left per pair is a sum of a few rows, an activation and
the read-out W_out W_U: a sixth of the arithmetic of running every pair through the network. Where
there are more outputs than the stream has dimensions, tokens are projected through [W_in | 1], and
W_U reads the stream of each pair: fewer numbers per token, and less arithmetic.

Axes: n embeddings, a rows of the first operand, b second operand, h heads, e head size, m hidden
units, v outputs, r what is read out.
"""

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.networks.pair_logits import PairLogits

if TYPE_CHECKING:
    from algophase.networks.transformer import Block


class OneLayerPairs:
    """columns: from a token to what it asks and writes, (d, columns); bias: written in any case,
    (m + r,); readout: from hidden units to what they write, (m, r); unembedding: from that to
    logits, (r, v). r is v, and there is no unembedding, where outputs are few; else r is d.

    position_embeddings: (s, d). equals_sign: its embedding (d,), None where there is none.
    """

    def __init__(
        self,
        block: "Block",
        unembedding: Tensor,
        position_embeddings: Tensor,
        equals_sign: Tensor | None,
    ) -> None:
        attention, mlp = block.attn, block.mlp
        self.rate = attention.attention_rate
        self.activation = mlp.activation
        self.position_embeddings = position_embeddings
        self.equals_sign = equals_sign
        self.heads, _, self.head_size = attention.W_Q.shape
        width, outputs = unembedding.shape
        direct = unembedding
        self.unembedding: Tensor | None = None
        if outputs > width:
            direct = torch.eye(width, dtype=unembedding.dtype, device=unembedding.device)
            self.unembedding = unembedding
        into = torch.cat([mlp.W_in, direct], dim=1)  # hidden columns, then what passes them by
        asks = torch.cat([attention.W_Q / math.sqrt(self.head_size), attention.W_K])  # (2 h, d, e)
        by_heads = attention.W_V @ (attention.W_O @ into)  # (h, d, m + r)
        writes = torch.cat([by_heads, into[None]])  # by each head, and directly
        asking_columns = asks.transpose(0, 1).flatten(1)
        writing_columns = writes.transpose(0, 1).flatten(1)
        self.columns = torch.cat([asking_columns, writing_columns], dim=1)
        self.bias = torch.cat([mlp.b_in, mlp.b_out @ direct])
        self.readout = mlp.W_out @ direct

    def of_tokens(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys (..., h, p, e), and what is written (..., p, h + 1, m + r), of tokens
        (..., p, d).
        """
        asking_columns = 2 * self.heads * self.head_size
        asked, written = (tokens @ self.columns).tensor_split([asking_columns], dim=-1)
        asked = asked.unflatten(-1, (2, self.heads, self.head_size))
        query, key = asked.movedim(-3, 0).transpose(-3, -2)
        return query, key, written.unflatten(-1, (self.heads + 1, -1))

    def __call__(self, first: Tensor, second: Tensor) -> PairLogits:
        heads, rate = self.heads, self.rate
        positions = torch.stack([first, second]) + self.position_embeddings[:2, None, None]
        queries, (first_key, second_key), (of_first, of_others) = self.of_tokens(positions)
        # Scores of the position that asks, the last: it is b's, or the equals sign's, which asks
        # alike of all pairs.
        if self.equals_sign is None:
            query = queries[1]
            second_score = (query * second_key).sum(-1)[:, :, None]  # (n, h, 1, b)
        else:
            sign = (self.equals_sign + self.position_embeddings[2]).expand(len(first), 1, -1)
            query, sign_key, of_sign = self.of_tokens(sign)
            second_score = (second_key @ query.mT).mT  # (n, h, 1, b)
            sign_score = sign_key @ query.mT  # (n, h, 1, 1)
            by_attention = of_others[:, :, :heads]
            of_others = torch.cat([by_attention, of_sign.expand_as(of_others)], dim=2)
            # (n, b, 2 h + 1, m + r)
        of_others[:, :, -1].add_(self.bias)
        first_score = first_key @ query.mT  # (n, h, a, b), or (n, h, a, 1) with an equals sign

        def patterns(embeddings: slice, rows: slice) -> tuple[Tensor, Tensor]:
            """Interpolated attention to the first operand (n, h, a, b), and to what comes after
            it (n, h or 2 h, a, b).
            """
            to_a = first_score[embeddings, :, rows]
            to_b = second_score[embeddings]
            if self.equals_sign is None:
                to_first = torch.sigmoid(to_a - to_b).mul_(rate)  # the softmax of two
                return to_first + (1 - rate), 1 - to_first
            scores = torch.broadcast_tensors(to_a, to_b, sign_score[embeddings])
            softmax = torch.softmax(torch.stack(scores), dim=0)
            to_first, *to_others = rate * softmax + (1 - rate)
            return to_first, torch.cat(to_others, dim=1)

        def reads(embeddings: slice, rows: slice) -> Tensor:
            to_first, to_others = patterns(embeddings, rows)
            # What is written directly counts once.
            to_others = F.pad(to_others, (0, 0, 0, 0, 0, 1), value=1.0)
            by_b = to_others.permute(0, 3, 2, 1) @ of_others[embeddings]  # (n, b, a, m + r)
            by_a = of_first[embeddings, rows, :heads]
            pre = to_first.permute(0, 2, 3, 1) @ by_a  # (n, a, b, m + r)
            pre += by_b.transpose(1, 2)
            return pre

        return PairLogits(reads, self._logits)

    def _logits(self, read: Tensor) -> Tensor:
        """From pre-activations and what passes them by, (n, a, b, m + r)."""
        hidden = len(self.readout)
        post = self.activation(read[..., :hidden]).flatten(0, 2)
        direct = read[..., hidden:].flatten(0, 2)
        written = torch.addmm(direct, post, self.readout)
        if self.unembedding is not None:
            written = written @ self.unembedding
        return written.unflatten(0, read.shape[:3])
