"""dQ_abc/dE_a and dQ_abc/dE_b for every label c at once: the chain rule written out for each of the
paper's networks.

Automatic differentiation would give the same numbers from many small batched steps. Written out,
what depends on the pair (a, b) alone is built once a pair and serves all p labels, as a few large
matrix products. Axes: n pairs, c labels, d width.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

import torch
from torch import Tensor

from algophase.analysis.checks import check_logits
from algophase.networks import Cache, Clock, Linear, Network, Transformer
from algophase.networks.transformer import MLP, Attention, Block

# From so many multiplications of a pair's gradients with all hidden units it pays to pick those
# that are on.
WORTH_PICKING = 1_000_000


def logits_and_gradients(
    network: Network, first: Tensor, second: Tensor, cache: Cache | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (n, outputs) at operand embeddings (n, d), and gradients of those of all p labels by
    either, each (n, c, d).

    The two operands are separate inputs here, also where they share one table and a = b. A class
    derived from one of ours may
    compute something else: its gradients are autograd's.

    cache: takes the hidden units' pre-activations by their hook names, where the chain rule is
        written out.
    """
    cache = {} if cache is None else cache
    ours = type(network) in (Transformer, Linear, Clock)
    with torch.no_grad():
        match network:
            case Transformer() if ours:
                return _transformer(network, first, second, cache)
            case Linear() if ours:
                return _linear(network, first, second, cache)
            case Clock() if ours:
                return _clock(network, first, second)
    return by_autograd(network, first, second)


def by_autograd(network: Network, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same for any network, by one batched backward pass: what the written-out forms are
    tested against.
    """
    p = network.task.modulus
    with differentiable(network, first, second) as (network, a, b):
        every = network.logits_from_embeddings(a, b)
        check_logits(network, every, len(a))
        logits = every[:, :p]
        picks = torch.eye(p, dtype=logits.dtype, device=logits.device)[:, None].expand(
            p, *logits.shape
        )
        to_first, to_second = differentiate(logits, (a, b), picks)
    return every.detach(), to_first.transpose(0, 1), to_second.transpose(0, 1)


@contextmanager
def differentiable(
    network: Network, first: Tensor, second: Tensor
) -> Iterator[tuple[Network, Tensor, Tensor]]:
    """A network and operand embeddings to differentiate by, also where the caller has switched
    gradients off.

    The network is a copy if it was made in inference mode: there is no differentiating through such
    tensors.
    """
    with torch.inference_mode(False), torch.enable_grad():
        if any(parameter.is_inference() for parameter in network.parameters()):
            network = copy.deepcopy(network)
        yield (
            network,
            first.detach().clone().requires_grad_(),
            second.detach().clone().requires_grad_(),
        )


def differentiate(
    outputs: Tensor, inputs: tuple[Tensor, Tensor], picks: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of the outputs weighted by `picks`, or of several such sums where that has one more
    axis in front.

    Zeros for an input that the outputs do not depend on, or only in steps, as a lookup table does.
    """
    batch = picks.shape[: picks.dim() - outputs.dim()]
    found: tuple[Tensor | None, ...] = (None, None)
    if outputs.requires_grad:
        found = torch.autograd.grad(
            outputs, inputs, picks, is_grads_batched=len(batch) > 0, allow_unused=True
        )
    to_first, to_second = (
        one.new_zeros(*batch, *one.shape) if grad is None else grad
        for one, grad in zip(inputs, found, strict=True)
    )
    return to_first, to_second


def _slope(activation: Callable[[Tensor], Tensor], pre: Tensor) -> Tensor:
    """The activation's derivative at each input."""
    if activation is torch.relu:
        return (pre > 0).to(pre.dtype)
    with torch.enable_grad():
        pre = pre.detach().requires_grad_()
        (slope,) = torch.autograd.grad(activation(pre).sum(), pre)
    return slope


def _clock(network: Clock, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """With E as complex numbers, Q_abc = Re(E_a E_b conj(E_c)): the gradient for E_a is
    conj(E_b) E_c, and the reverse.
    """
    labels, a, b = (
        torch.view_as_complex(table.unflatten(-1, (-1, 2)))
        for table in (network.embed.weight, first, second)
    )
    to_first, to_second = (
        torch.view_as_real(other.conj()[:, None] * labels).flatten(-2) for other in (b, a)
    )
    return network.logits_from_embeddings(first, second), to_first, to_second


def _linear(
    network: Linear, first: Tensor, second: Tensor, cache: Cache
) -> tuple[Tensor, Tensor, Tensor]:
    """W_U -> relu'(2) -> W_2 -> relu'(1) -> W_1. Models that add their embeddings have one
    gradient for both operands.
    """
    logits = network.logits_from_embeddings(first, second, cache)
    back = network.unembed.weight[None]  # (1, c, hidden)
    if network.settings.model in ("beta", "gamma"):
        back = (back * _slope(torch.relu, cache["l2.hook_pre"])[:, None]) @ network.l2.weight
    back = (back * _slope(torch.relu, cache["l1.hook_pre"])[:, None]) @ network.l1.weight
    if network.settings.model == "delta":
        to_first, to_second = back.chunk(2, dim=-1)
        return logits, to_first, to_second
    return logits, back, back


def _transformer(
    network: Transformer, first: Tensor, second: Tensor, cache: Cache
) -> tuple[Tensor, Tensor, Tensor]:
    """Through the blocks, and from the unembedding back. Gradients are lists over positions of
    (n, c, d).
    """
    residual, passed = (
        network._residual(first, second, None),
        list[tuple[Block, _Attended, Tensor]](),
    )
    blocks = cast(list[Block], list(network.blocks))
    for index, block in enumerate(blocks):
        asking = (
            residual.shape[1] if block is not blocks[-1] else 1
        )  # the answer is read at the last position
        attended = _attend(block.attn, residual, asking)
        middle = residual[:, -asking:] + attended.out
        residual = middle + block.mlp(middle, cache, f"blocks.{index}.mlp")
        passed.append((block, attended, cache[f"blocks.{index}.mlp.hook_pre"]))
    logits = residual[:, -1] @ network.unembed.W_U
    back = [
        network.unembed.W_U.T[None, : network.task.modulus]
    ]  # at the last position, the same for every pair
    for block, attended, pre in reversed(passed):
        middles = [
            _through_mlp(block.mlp, flow, pre[:, position]) for position, flow in enumerate(back)
        ]
        back = _through_attention(block.attn, middles, attended)
    return logits, back[0], back[1]


def _through_mlp(mlp: MLP, flow: Tensor, pre: Tensor) -> Tensor:
    """x + W_out act(W_in x): what flows back, (n, c, d), from what flows into its output, (n or
    1, c, d).
    """
    picked = flow.numel() * len(mlp.W_out) >= WORTH_PICKING and pre.device.type == "cpu"
    if picked and mlp.activation is torch.relu and len(flow) == 1:
        return _through_units_that_are_on(mlp, flow[0], pre)
    hidden = (flow @ mlp.W_out.T) * _slope(mlp.activation, pre)[:, None]  # (n, c, m)
    return hidden @ mlp.W_in.T + flow


def _through_units_that_are_on(mlp: MLP, flow: Tensor, pre: Tensor) -> Tensor:
    """The same for ReLUs and a flow (c, d) that all pairs share, pair by pair: half of all units
    are off, and are left out.
    """
    written, read = mlp.W_out @ flow.T, mlp.W_in.T.contiguous()  # (m, c), (m, d)
    back = flow.new_empty(len(pre), *flow.shape)
    for row, on in zip(back, pre > 0, strict=True):
        units = on.nonzero()[:, 0]
        torch.addmm(flow, written[units].T, read[units], out=row)
    return back


class _Attended(NamedTuple):
    """What attention adds, (n, q, d), and what its gradients need, for positions q that ask and k
    that are read.

    softmax, pattern: S and the interpolated M' of it, (n, k, q, h). asked: x_q W_Q W_K^T, (n, q, h,
        d), whose products with x_k
    are the scores; wanted: x_k W_K W_Q^T, the same from the other side, and written: x_k W_V W_O,
    (n, k, h, d).
    circuits: W_V W_O, (h, d, d).
    """

    out: Tensor
    softmax: Tensor
    pattern: Tensor
    asked: Tensor
    wanted: Tensor
    written: Tensor
    circuits: Tensor


def _attend(attention: Attention, residual: Tensor, asking: int) -> _Attended:
    """Attention of the last `asking` positions of (n, s, d). All that is linear in the residual
    stream is one product.
    """
    n, s, d = residual.shape
    asks, circuits = (
        torch.bmm(attention.W_Q, attention.W_K.mT),
        torch.bmm(attention.W_V, attention.W_O),
    )
    every = torch.cat([asks, asks.mT, circuits]).transpose(0, 1).flatten(1)  # (d, 3 h d)
    asked, wanted, written = (residual.flatten(0, 1) @ every).view(n, s, 3, -1, d).unbind(2)
    asked = asked[:, -asking:]
    scores = torch.bmm(residual, asked.flatten(1, 2).mT).view(n, s, asking, -1)
    softmax = scores.div_(math.sqrt(attention.W_Q.shape[-1])).softmax(1)
    pattern = attention.attention_rate * softmax + (1 - attention.attention_rate)
    out = torch.bmm(pattern.transpose(1, 2).flatten(2), written.flatten(1, 2))
    return _Attended(out, softmax, pattern, asked, wanted, written, circuits)


def _through_attention(
    attention: Attention, flows: Sequence[Tensor], of: _Attended
) -> list[Tensor]:
    """x + attention(x), from the positions q that asked, the last len(flows), back to all positions
    k that were read.

    For each pair the Jacobian from q to k, transposed, is a matrix (d, d): with u_k = x_k W_V W_O,
    which is `written`,

        sum over heads of M'_qk W_V W_O + (W_K q_q)^T y_qk,  y_qk = rate S_qk (u_k - sum_l S_ql u_l)
        / sqrt(e),

    and for k = q also sum_l (W_Q k_l)^T y_ql, through the query. y_qk is how the output moves with
    the score of k.
    """
    n, positions, _, width = of.written.shape
    scale = attention.attention_rate / math.sqrt(attention.W_Q.shape[-1])
    softmax, written = (
        of.softmax[..., None],
        of.written[:, :, None],
    )  # (n, k, q, h, 1), (n, k, 1, h, d)
    moves = (
        scale * softmax * (written - (softmax * written).sum(1, keepdim=True))
    )  # y (n, k, q, h, d)
    circuits, wanted = of.circuits.flatten(1), of.wanted.flatten(1, 2)
    back: list[Tensor | None] = [None] * positions
    for q, flow in enumerate(flows):
        asking, moved = positions - len(flows) + q, moves[:, :, q]
        asked = of.asked[:, q, None].expand_as(moved).flatten(0, 1)  # (n * k, h, d)
        direct = (of.pattern[:, :, q].flatten(0, 1) @ circuits).view(-1, width, width)
        jacobians = torch.baddbmm(direct, asked.mT, moved.flatten(0, 1)).view(
            n, positions, width, width
        )
        jacobians[:, asking].baddbmm_(wanted.mT, moved.flatten(1, 2))
        for k in range(positions):
            before, jacobian = back[k], jacobians[:, k].mT
            if k == asking:
                before = flow if before is None else before + flow
            back[k] = (
                torch.bmm(flow, jacobian)
                if before is None
                else torch.baddbmm(before, flow, jacobian)
            )
    return cast(list[Tensor], back)
