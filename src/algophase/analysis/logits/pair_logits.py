"""Logits of many embeddings of one network, some rows of the grid at a time.

A pair of tokens (a, b) shares all that each token does by itself. In a one-layer transformer that
is its query, key and value:

    residual[a, b] = x_last + sum_h A_1[h, a, b] u_1[h, a] + A_2[h, a, b] u_2[h, b] (+ A_3[h, a, b] u_3[h]),   u = x W_V W_O,

A the interpolated attention of the last position; the third term is the equals sign's. Projected
through [W_in | W_U] once per token, what is left per pair is a sum of a few rows, an activation and
the read-out W_out W_U: a sixth of the arithmetic of running every pair through the network. In a
linear model it is L_1(x_1) and L_1(x_2). Any other network runs every pair. All three agree up to
rounding, which is tested.

Axes: n embeddings, a rows of the first operand, b second operand, h heads, e head size, m hidden
    units, v outputs.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.analysis.logits.all_pairs import chunk_elements, rows_per_chunk
from algophase.core.memory import slices
from algophase.networks import Linear, Network, Transformer
from algophase.networks.transformer import Block

# Logits (n, a, b, v) of some embeddings and some rows of the first operand.
PairLogits = Callable[[slice, slice], Tensor]
OfTables = Callable[[Tensor, Tensor], PairLogits]

# Numbers of one block on a CPU: activations that stay in its cache are worth more than few calls.
CACHED_ELEMENTS = 250_000


def by_tokens(network: Network) -> bool:
    """Whether most of a network's work is done once per token here, and not once per pair."""
    return type(network) is Linear or (type(network) is Transformer and len(network.blocks) == 1)


@dataclass(frozen=True)
class Prepared:
    """Gives the logits of operand tables (n, p, width). Per-token work is done when it is given
    them.

    elements: numbers that a pair takes; token_elements: numbers kept of each token of an embedding.
    """

    of_tables: OfTables
    elements: int
    token_elements: int = 0

    def __call__(self, first: Tensor, second: Tensor) -> PairLogits:
        return self.of_tables(first, second)


@torch.no_grad()
def prepare(network: Network) -> Prepared:
    """What gives the logits of operand tables (n, p, width), block by block. What all tables
    share is done here, once.
    """
    elements = (
        max(tensor.shape[-1] for tensor in network.parameters() if tensor.dim())
        + network.task.logits
    )
    if by_tokens(network) and isinstance(network, Transformer):
        one_layer = _OneLayer(network)
        return Prepared(one_layer, elements, one_layer.columns.shape[1])
    if by_tokens(network) and isinstance(network, Linear):
        return Prepared(functools.partial(_linear, network), elements, len(network.l1.weight))
    return Prepared(functools.partial(_every_pair, network), elements * network.task.context)


def blocks(
    p: int, elements: int, count: int, device: torch.device
) -> tuple[list[slice], list[slice]]:
    """Slices of embeddings and of rows that fit a CPU's cache, or a GPU's share of memory, for
    so many embeddings.
    """
    whole = CACHED_ELEMENTS if device.type == "cpu" else chunk_elements(device)
    rows = min(p, max(1, whole // (p * elements)))
    together = max(1, whole // (rows * p * elements))
    return slices(count, together), slices(p, rows)


def _every_pair(network: Network, first: Tensor, second: Tensor) -> PairLogits:
    p = second.shape[1]

    def logits(some: slice, rows: slice) -> Tensor:
        one, other = first[some, rows], second[some]
        flat = one.flatten(0, 1)
        which = torch.arange(len(flat), device=first.device) // one.shape[1]
        size = rows_per_chunk(network, p)
        found = [
            network.logits_from_embeddings(
                a[:, None].expand(-1, p, -1).flatten(0, 1), other[n].flatten(0, 1)
            )
            for a, n in zip(flat.split(size), which.split(size), strict=True)
        ]
        return torch.cat(found).view(*one.shape[:2], p, -1)

    return logits


def _linear(network: Linear, first: Tensor, second: Tensor) -> PairLogits:
    layer, model = network.l1, network.settings.model
    if model == "delta":
        left, right = layer.weight.chunk(2, dim=1)
        one, other = first @ left.T + layer.bias, second @ right.T
    else:
        one, other = layer(first), second @ layer.weight.T
        if model == "gamma":  # L_1(x_1) + L_1(x_2): the bias counts twice
            one = one + layer.bias
    readout = network.unembed.weight.T

    def logits(some: slice, rows: slice) -> Tensor:
        hidden = (one[some, rows, None] + other[some, None]).relu_()  # (n, a, b, m)
        if model in ("beta", "gamma"):
            hidden = network.l2(hidden).relu_()
        return hidden @ readout

    return logits


class _OneLayer:
    """columns: from a token to what it asks and writes; bias: written in any case; readout: from
    hidden units to logits.
    """

    def __init__(self, network: Transformer) -> None:
        block = network.blocks[0]
        assert isinstance(block, Block)
        self.network, self.attention, self.mlp, unembed = (
            network,
            block.attn,
            block.mlp,
            network.unembed.W_U,
        )
        self.heads, _, self.size = block.attn.W_Q.shape
        into = torch.cat([block.mlp.W_in, unembed], dim=1)  # hidden columns, then direct logits
        asks = torch.cat([block.attn.W_Q / math.sqrt(self.size), block.attn.W_K])  # (2 h, d, e)
        by_heads = block.attn.W_V @ (block.attn.W_O @ into)  # (h, d, m + v)
        writes = torch.cat([by_heads, into[None]])  # by each head, and directly
        self.columns = torch.cat(
            [asks.transpose(0, 1).flatten(1), writes.transpose(0, 1).flatten(1)], dim=1
        )
        self.bias = torch.cat([block.mlp.b_in, block.mlp.b_out @ unembed])
        self.readout = block.mlp.W_out @ unembed

    def of_tokens(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys (..., h, p, e), and what is written (..., p, h + 1, m + v), of tokens
        (..., p, d).
        """
        asked, written = (tokens @ self.columns).tensor_split([2 * self.heads * self.size], dim=-1)
        query, key = (
            asked.unflatten(-1, (2, self.heads, self.size)).movedim(-3, 0).transpose(-3, -2)
        )
        return query, key, written.unflatten(-1, (self.heads + 1, -1))

    def __call__(self, first: Tensor, second: Tensor) -> PairLogits:
        network, heads, rate = self.network, self.heads, self.attention.attention_rate
        hidden, equals_sign, places = (
            len(self.readout),
            network.task.equals_sign,
            network.pos_embed.W_pos,
        )
        positions = torch.stack([first, second]) + places[:2, None, None]
        queries, (first_key, own_key), (of_first, of_others) = self.of_tokens(positions)
        query = queries[1]
        if equals_sign:
            query, sign_key, of_sign = self.of_tokens(
                (network.embed.W_E[-1] + places[2]).expand(len(first), 1, -1)
            )
            own, sign = (
                (own_key @ query.mT).mT,
                sign_key @ query.mT,
            )  # (n, h, 1, b), (n, h, 1, 1): it asks alike of all pairs
            of_others = torch.cat(
                [of_others[:, :, :heads], of_sign.expand_as(of_others)], dim=2
            )  # (n, b, 2 h + 1, m + v)
        else:
            own = (query * own_key).sum(-1)[:, :, None]
        of_others[:, :, -1].add_(self.bias)
        other = first_key @ query.mT  # (n, h, a, b), or (n, h, a, 1) with an equals sign

        def patterns(some: slice, rows: slice) -> tuple[Tensor, Tensor]:
            """Interpolated attention to the first operand (n, h, a, b), and to what comes after
            it (n, h or 2 h, a, b).
            """
            if equals_sign:
                scores = torch.broadcast_tensors(other[some, :, rows], own[some], sign[some])
                to_first, *to_others = rate * torch.softmax(torch.stack(scores), dim=0) + (1 - rate)
                return to_first, torch.cat(to_others, dim=1)
            to_first = torch.sigmoid(other[some, :, rows] - own[some]).mul_(
                rate
            )  # the softmax of two
            return to_first + (1 - rate), 1 - to_first

        def logits(some: slice, rows: slice) -> Tensor:
            to_first, to_others = patterns(some, rows)
            to_others = F.pad(
                to_others, (0, 0, 0, 0, 0, 1), value=1.0
            )  # what is written directly counts once
            by_b = to_others.permute(0, 3, 2, 1) @ of_others[some]  # (n, b, a, m + v)
            pre = to_first.permute(0, 2, 3, 1) @ of_first[some, rows, :heads]  # (n, a, b, m + v)
            pre += by_b.transpose(1, 2)
            post = self.mlp.activation(pre[..., :hidden]).flatten(0, 2)
            return torch.addmm(pre[..., hidden:].flatten(0, 2), post, self.readout).unflatten(
                0, pre.shape[:3]
            )

        return logits
