"""The chain rule through the blocks of the paper's transformer, written out.

Automatic differentiation would give the same numbers from many small batched steps. Written out,
what depends on the pair (a, b) alone is built once a pair and serves all p labels, as a few large
matrix products. Axes: n pairs, c labels, d width, m hidden units, h heads, e head size.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor

from algophase.networks._active_units import CACHED_ELEMENTS, ActiveUnits
from algophase.networks.jacobians import Jacobians, slope

if TYPE_CHECKING:
    from algophase.networks.network import Cache
    from algophase.networks.transformer import MLP, Attention, Block

# Multiplications of a pair's gradients with all hidden units from which it pays to look which units
# are on.
WORTH_PICKING = 1_000_000


def through_blocks(
    blocks: Sequence["Block"], unembedding: Tensor, labels: int, residual: Tensor, cache: "Cache"
) -> Jacobians:
    """Through the blocks from the stream (n, s, d), and from the unembedding (d, outputs) back to
    its first two positions.

    cache: takes the pre-activations of every MLP.
    """
    passed: list[tuple[Block, _Attended, Tensor]] = []
    for index, block in enumerate(blocks):
        is_last = index == len(blocks) - 1
        asking = 1 if is_last else residual.shape[1]  # the answer is read at the last position
        attended = _attend(block.attn, residual, asking)
        middle = residual[:, -asking:] + attended.out
        residual = middle + block.mlp(middle, cache, f"blocks.{index}.mlp")
        passed.append((block, attended, cache[f"blocks.{index}.mlp.hook_pre"]))
    logits = residual[:, -1] @ unembedding
    # What flows back into each position (n or 1, c, d): at first into the last one alone, the same
    # for every pair.
    flows = [unembedding.T[None, :labels]]
    for block, attended, pre in reversed(passed):
        middles = []
        for position, flow in enumerate(flows):
            middles.append(_through_mlp(block.mlp, flow, pre[:, position]))
        flows = _through_attention(block.attn, middles, attended)
    return Jacobians(logits, flows[0], flows[1])


def _through_mlp(mlp: "MLP", flow: Tensor, pre: Tensor) -> Tensor:
    """x + W_out act(W_in x): what flows back, (n, c, d), from what flows into its output, (n or
    1, c, d).
    """
    worth_picking = flow[0].numel() * len(mlp.W_out) >= WORTH_PICKING
    if worth_picking and mlp.activation is torch.relu and pre.device.type == "cpu":
        return _through_units_that_are_on(mlp, flow, pre)
    hidden = (flow @ mlp.W_out.T) * slope(mlp.activation, pre)[:, None]  # (n, c, m)
    return hidden @ mlp.W_in.T + flow


def _through_units_that_are_on(mlp: "MLP", flow: Tensor, pre: Tensor) -> Tensor:
    """The same for ReLUs, from pair to pair: few units differ. Where each pair has a flow of its
    own, it goes through a matrix (d, d) that is such a sum.
    """
    all_alike = len(flow) == 1
    width = flow.shape[-1]
    into = flow[0] if all_alike else torch.eye(width, dtype=flow.dtype)  # (c or d, d)
    units = ActiveUnits(mlp.W_out @ into.T, mlp.W_in.T, into)
    back = flow.new_empty(len(pre), flow.shape[1], width)
    at_once = max(1, CACHED_ELEMENTS // into.numel())
    for pairs, sums in units.sums(pre > 0, at_once):
        back[pairs] = sums if all_alike else torch.bmm(flow[pairs], sums)
    return back


class _Attended(NamedTuple):
    """What attention adds, (n, q, d), and what its gradients need, for positions q that ask and k
    that are read.

    softmax, pattern: S and the interpolated M' of it, (n, k, q, h). asked: x_q W_Q W_K^T,
    (n, q, h, d), whose products with x_k are the scores; matched: x_k W_K W_Q^T, the same from the
    other side, and written: x_k W_V W_O, both (n, k, h, d). circuits: W_V W_O, (h, d, d).
    """

    out: Tensor
    softmax: Tensor
    pattern: Tensor
    asked: Tensor
    matched: Tensor
    written: Tensor
    circuits: Tensor


def _attend(attention: "Attention", residual: Tensor, asking: int) -> _Attended:
    """Attention of the last `asking` positions of (n, s, d). All that is linear in the residual
    stream is one product.
    """
    n, positions, width = residual.shape
    asks = torch.bmm(attention.W_Q, attention.W_K.mT)
    circuits = torch.bmm(attention.W_V, attention.W_O)
    maps = torch.cat([asks, asks.mT, circuits]).transpose(0, 1).flatten(1)  # (d, 3 h d)
    mapped = (residual.flatten(0, 1) @ maps).view(n, positions, 3, -1, width)
    asked, matched, written = mapped.unbind(2)
    asked = asked[:, -asking:]
    products = torch.bmm(residual, asked.flatten(1, 2).mT)
    scores = products.view(n, positions, asking, -1)
    softmax = scores.div_(math.sqrt(attention.W_Q.shape[-1])).softmax(1)
    pattern = attention.attention_rate * softmax + (1 - attention.attention_rate)
    by_position = pattern.transpose(1, 2).flatten(2)  # (n, q, k h)
    out = torch.bmm(by_position, written.flatten(1, 2))
    return _Attended(out, softmax, pattern, asked, matched, written, circuits)


def _through_attention(
    attention: "Attention", flows: Sequence[Tensor], attended: _Attended
) -> list[Tensor]:
    """x + attention(x), from the positions q that asked, the last len(flows), back to all positions
    k that were read.

    For each pair the Jacobian from q to k, transposed, is a matrix (d, d): with u_k = x_k W_V W_O,
    which is `written`,

        sum over heads of M'_qk W_V W_O + (W_K q_q)^T y_qk,
        y_qk = rate S_qk (u_k - sum_l S_ql u_l) / sqrt(e),

    and for k = q also sum_l (W_Q k_l)^T y_ql, through the query. y_qk is how the output moves with
    the score of k.
    """
    n, positions, _, width = attended.written.shape
    scale = attention.attention_rate / math.sqrt(attention.W_Q.shape[-1])
    softmax = attended.softmax[..., None]  # (n, k, q, h, 1)
    written = attended.written[:, :, None]  # (n, k, 1, h, d)
    mean_written = (softmax * written).sum(1, keepdim=True)
    moves = scale * softmax * (written - mean_written)  # y (n, k, q, h, d)
    circuits = attended.circuits.flatten(1)
    matched = attended.matched.flatten(1, 2)
    back: list[Tensor | None] = [None] * positions
    for q, flow in enumerate(flows):
        asking = positions - len(flows) + q
        moved = moves[:, :, q]
        asked = attended.asked[:, q, None].expand_as(moved).flatten(0, 1)  # (n * k, h, d)
        pattern = attended.pattern[:, :, q].flatten(0, 1)  # (n * k, h)
        direct = (pattern @ circuits).view(-1, width, width)
        jacobians = torch.baddbmm(direct, asked.mT, moved.flatten(0, 1))
        jacobians = jacobians.view(n, positions, width, width)
        jacobians[:, asking].baddbmm_(matched.mT, moved.flatten(1, 2))
        for k in range(positions):
            so_far = back[k]
            jacobian = jacobians[:, k].mT
            if k == asking:
                so_far = flow if so_far is None else so_far + flow
            if so_far is None:
                back[k] = torch.bmm(flow, jacobian)
            else:
                back[k] = torch.baddbmm(so_far, flow, jacobian)
    return cast(list[Tensor], back)
