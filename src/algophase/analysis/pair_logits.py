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
    wide = max(tensor.shape[-1] for tensor in network.parameters() if tensor.dim()) + network.task.logits
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
    rate, hidden, equals_sign = attention.attention_rate, mlp.W_in.shape[1], network.task.equals_sign
    n, p, _ = first.shape
    positions = [first + places[0], second + places[1]]
    if equals_sign:
        positions.append((network.embed.W_E[-1] + places[2]).expand(n, 1, -1))
    queries = torch.einsum("nbd,hde->nhbe", positions[-1], attention.W_Q) / math.sqrt(attention.W_Q.shape[-1])
    keys = [torch.einsum("nad,hde->nhae", x, attention.W_K) for x in positions]
    into = torch.cat([mlp.W_in, unembed], dim=1)  # hidden columns, then direct logits
    through = attention.W_O @ into  # (h, e, m + v)
    values = [torch.einsum("nad,hde->nhae", x, attention.W_V) @ through for x in positions]  # (n, h, a or b, m + v)
    base = positions[-1] @ into + torch.cat([mlp.b_in, mlp.b_out @ unembed])  # (n, b or 1, m + v)
    other = keys[0] @ queries.mT  # (n, h, a, b), or (n, h, a, 1) with an equals sign, which asks alike of all pairs
    if equals_sign:
        own, sign = (keys[1] @ queries.mT).mT, keys[2] @ queries.mT
        base = base.expand(n, p, -1)
    else:
        own = (queries * keys[1]).sum(-1)[:, :, None]  # (n, h, 1, b)
    of_first = values[0].transpose(1, 2)  # (n, a, h, m + v)
    of_second = torch.cat([values[1].transpose(1, 2), base[:, :, None]], dim=2)  # (n, b, h + 1, m + v): the base's weight is 1
    if equals_sign:
        of_second = torch.cat([of_second, values[2].transpose(1, 2).expand(n, p, -1, -1)], dim=2)
    readout = mlp.W_out @ unembed

    def logits(some: slice, rows: slice) -> Tensor:
        scores = [other[some, :, rows], own[some], *([sign[some]] if equals_sign else [])]
        pattern = rate * torch.softmax(torch.stack(torch.broadcast_tensors(*scores)), dim=0) + (1 - rate)  # (s, n, h, a, b)
        weights = [pattern[1], torch.ones_like(pattern[1, :, :1]), *pattern[2:]]
        by_b = torch.cat(weights, dim=1).permute(0, 3, 2, 1) @ of_second[some]  # (n, b, a, m + v)
        pre = pattern[0].permute(0, 2, 3, 1) @ of_first[some, rows]  # (n, a, b, m + v)
        pre += by_b.transpose(1, 2)
        post = mlp.activation(pre[..., :hidden])
        return pre[..., hidden:] + post @ readout

    return logits
