"""Logits of many embeddings of one network, some rows of the grid at a time.

A pair of tokens (a, b) shares all that each token does by itself. In a one-layer transformer that is its query, key and value:

    residual[a, b] = x_last + sum_h A_1[h, a, b] u_1[h, a] + A_2[h, a, b] u_2[h, b] (+ A_3[h, a, b] u_3[h]),   u = x W_V W_O,

A the interpolated attention of the last position; the third term is the equals sign's. Projected through [W_in | W_U] once
per token, what is left per pair is a sum of a few rows, an activation and the read-out W_out W_U: a sixth of the arithmetic
of running every pair through the network. In a linear model it is L_1(x_1) and L_1(x_2). Any other network runs every pair.
All three agree up to rounding, which is tested.

Axes: n embeddings, a rows of the first operand, b second operand, h heads, e head size, m hidden units, v outputs.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.analysis.grid import chunk_elements, rows_per_chunk
from algophase.networks import Linear, Network, Transformer
from algophase.networks.transformer import Block

# Logits (n, a, b, v) of some embeddings and some rows of the first operand.
PairLogits = Callable[[slice, slice], Tensor]

# Numbers of one block on a CPU: activations that stay in its cache are worth more than few calls.
CACHED_ELEMENTS = 250_000


def by_tokens(network: Network) -> bool:
    """Whether most of a network's work is done once per token here, and not once per pair."""
    return type(network) is Linear or (type(network) is Transformer and len(network.blocks) == 1)


@torch.no_grad()
def prepare(network: Network, first: Tensor, second: Tensor) -> PairLogits:
    """What gives the logits of operand tables (n, p, width), block by block. Per-token work is done here, once."""
    if by_tokens(network) and isinstance(network, Transformer):
        return _one_layer(network, first, second)
    if by_tokens(network) and isinstance(network, Linear):
        return _linear(network, first, second)
    return _every_pair(network, first, second)


def blocks(network: Network, count: int) -> tuple[list[slice], list[slice]]:
    """Slices of embeddings and of rows that fit a CPU's cache, or a GPU's share of memory, for so many embeddings."""
    p, device = network.task.modulus, network.operand_tables()[0].device
    wide = max(tensor.shape[-1] for tensor in network.parameters() if tensor.dim()) + network.task.vocabulary
    whole = CACHED_ELEMENTS if device.type == "cpu" else chunk_elements(device)
    if not by_tokens(network):
        wide *= network.task.context
    rows = min(p, max(1, whole // (p * wide)))
    together = max(1, whole // (rows * p * wide))
    return _slices(count, together), _slices(p, rows)


def _slices(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _every_pair(network: Network, first: Tensor, second: Tensor) -> PairLogits:
    p = second.shape[1]

    def logits(some: slice, rows: slice) -> Tensor:
        one, other = first[some, rows], second[some]
        flat = one.flatten(0, 1)
        which = torch.arange(len(flat), device=first.device) // one.shape[1]
        size = rows_per_chunk(network, p)
        found = [
            network.logits_from_embeddings(a[:, None].expand(-1, p, -1).flatten(0, 1), other[n].flatten(0, 1))
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


def _one_layer(network: Transformer, first: Tensor, second: Tensor) -> PairLogits:
    block, places = network.blocks[0], network.pos_embed.W_pos
    assert isinstance(block, Block)
    attention, mlp, unembed = block.attn, block.mlp, network.unembed.W_U
    rate, equals_sign = attention.attention_rate, network.task.equals_sign
    (heads, _, size), hidden = attention.W_Q.shape, mlp.W_in.shape[1]
    into = torch.cat([mlp.W_in, unembed], dim=1)  # hidden columns, then direct logits
    asks = torch.cat([attention.W_Q / math.sqrt(size), attention.W_K])  # (2 h, d, e)
    writes = torch.cat([attention.W_V @ (attention.W_O @ into), into[None]])  # (h + 1, d, m + v): by each head, and directly
    columns = torch.cat([asks.transpose(0, 1).flatten(1), writes.transpose(0, 1).flatten(1)], dim=1)

    def of_tokens(tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys (..., h, p, e), and what is written (..., p, h + 1, m + v), of tokens (..., p, d)."""
        asked, written = (tokens @ columns).tensor_split([2 * heads * size], dim=-1)
        query, key = asked.unflatten(-1, (2, heads, size)).movedim(-3, 0).transpose(-3, -2)
        return query, key, written.unflatten(-1, (heads + 1, -1))

    queries, (first_key, own_key), (of_first, of_others) = of_tokens(torch.stack([first, second]) + places[:2, None, None])
    query = queries[1]
    if equals_sign:
        query, sign_key, of_sign = of_tokens((network.embed.W_E[-1] + places[2]).expand(len(first), 1, -1))
        own, sign = (own_key @ query.mT).mT, sign_key @ query.mT  # (n, h, 1, b), (n, h, 1, 1): it asks alike of all pairs
        of_others = torch.cat([of_others[:, :, :heads], of_sign.expand_as(of_others)], dim=2)  # (n, b, 2 h + 1, m + v)
    else:
        own = (query * own_key).sum(-1)[:, :, None]
    of_others[:, :, -1] += torch.cat([mlp.b_in, mlp.b_out @ unembed])
    other = first_key @ query.mT  # (n, h, a, b), or (n, h, a, 1) with an equals sign
    readout = mlp.W_out @ unembed

    def patterns(some: slice, rows: slice) -> tuple[Tensor, Tensor]:
        """Interpolated attention to the first operand (n, h, a, b), and to what comes after it (n, h or 2 h, a, b)."""
        if equals_sign:
            scores = torch.broadcast_tensors(other[some, :, rows], own[some], sign[some])
            to_first, *to_others = rate * torch.softmax(torch.stack(scores), dim=0) + (1 - rate)
            return to_first, torch.cat(to_others, dim=1)
        to_first = torch.sigmoid(other[some, :, rows] - own[some]).mul_(rate)  # the softmax of two
        return to_first + (1 - rate), 1 - to_first

    def logits(some: slice, rows: slice) -> Tensor:
        to_first, to_others = patterns(some, rows)
        to_others = F.pad(to_others, (0, 0, 0, 0, 0, 1), value=1.0)  # what is written directly counts once
        by_b = to_others.permute(0, 3, 2, 1) @ of_others[some]  # (n, b, a, m + v)
        pre = to_first.permute(0, 2, 3, 1) @ of_first[some, rows, :heads]  # (n, a, b, m + v)
        pre += by_b.transpose(1, 2)
        post = mlp.activation(pre[..., :hidden])
        return torch.addmm(pre[..., hidden:].flatten(0, 2), post.flatten(0, 2), readout).unflatten(0, pre.shape[:3])

    return logits
