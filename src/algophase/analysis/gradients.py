"""dQ_abc/dE_a and dQ_abc/dE_b for every label c at once: the chain rule written out for each of the paper's networks.

Automatic differentiation would give the same numbers from many small batched steps. Written out, what depends on the pair
(a, b) alone is built once a pair and serves all p labels, as a few large matrix products. Axes: n pairs, c labels, d width.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor

from algophase.analysis.checks import check_logits
from algophase.networks import Cache, Clock, Linear, Network, Transformer
from algophase.networks.transformer import MLP, Attention, Block

# From so many multiplications of a pair's gradients with all hidden units it pays to pick those that are on.
WORTH_PICKING = 1_000_000


def logits_and_gradients(network: Network, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (n, outputs) at operand embeddings (n, d), and gradients of those of all p labels by either, each (n, c, d).

    The two operands are separate inputs here, also where they share one table and a = b. A class derived from one of ours may
    compute something else: its gradients are autograd's.
    """
    ours = type(network) in (Transformer, Linear, Clock)
    with torch.no_grad():
        match network:
            case Transformer() if ours:
                return _transformer(network, first, second)
            case Linear() if ours:
                return _linear(network, first, second)
            case Clock() if ours:
                return _clock(network, first, second)
    return by_autograd(network, first, second)


def by_autograd(network: Network, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same for any network, by one batched backward pass: what the written-out forms are tested against."""
    p = network.task.modulus
    with differentiable(network, first, second) as (network, a, b):
        every = network.logits_from_embeddings(a, b)
        check_logits(network, every, len(a))
        logits = every[:, :p]
        picks = torch.eye(p, dtype=logits.dtype, device=logits.device)[:, None].expand(p, *logits.shape)
        to_first, to_second = differentiate(logits, (a, b), picks)
    return every.detach(), to_first.transpose(0, 1), to_second.transpose(0, 1)


@contextmanager
def differentiable(network: Network, first: Tensor, second: Tensor) -> Iterator[tuple[Network, Tensor, Tensor]]:
    """A network and operand embeddings to differentiate by, also where the caller has switched gradients off.

    The network is a copy if it was made in inference mode: there is no differentiating through such tensors.
    """
    with torch.inference_mode(False), torch.enable_grad():
        if any(parameter.is_inference() for parameter in network.parameters()):
            network = copy.deepcopy(network)
        yield network, first.detach().clone().requires_grad_(), second.detach().clone().requires_grad_()


def differentiate(outputs: Tensor, inputs: tuple[Tensor, Tensor], picks: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the outputs weighted by `picks`, or of several such sums where that has one more axis in front.

    Zeros for an input that the outputs do not depend on, or only in steps, as a lookup table does.
    """
    batch = picks.shape[: picks.dim() - outputs.dim()]
    found: tuple[Tensor | None, ...] = (None, None)
    if outputs.requires_grad:
        found = torch.autograd.grad(outputs, inputs, picks, is_grads_batched=len(batch) > 0, allow_unused=True)
    to_first, to_second = (
        one.new_zeros(*batch, *one.shape) if grad is None else grad for one, grad in zip(inputs, found, strict=True)
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
    """With E as complex numbers, Q_abc = Re(E_a E_b conj(E_c)): the gradient for E_a is conj(E_b) E_c, and the reverse."""
    labels, a, b = (torch.view_as_complex(table.unflatten(-1, (-1, 2))) for table in (network.embed.weight, first, second))
    to_first, to_second = (torch.view_as_real(other.conj()[:, None] * labels).flatten(-2) for other in (b, a))
    return network.logits_from_embeddings(first, second), to_first, to_second


def _linear(network: Linear, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """W_U -> relu'(2) -> W_2 -> relu'(1) -> W_1. Models that add their embeddings have one gradient for both operands."""
    cache: Cache = {}
    logits = network.logits_from_embeddings(first, second, cache)
    back = network.unembed.weight[None]  # (1, c, hidden)
    if network.settings.model in ("beta", "gamma"):
        back = (back * _slope(torch.relu, cache["l2.hook_pre"])[:, None]) @ network.l2.weight
    back = (back * _slope(torch.relu, cache["l1.hook_pre"])[:, None]) @ network.l1.weight
    if network.settings.model == "delta":
        to_first, to_second = back.chunk(2, dim=-1)
        return logits, to_first, to_second
    return logits, back, back


def _transformer(network: Transformer, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """From the unembedding back through the blocks. Gradients are lists over positions of (n, c, d)."""
    cache: Cache = {}
    residual = network._residual(first, second, None)
    *earlier, last = cast(list[Block], list(network.blocks))
    for index, block in enumerate(earlier):
        residual = block(residual, cache, f"blocks.{index}")
    prefix = f"blocks.{len(earlier)}"
    logits = last(residual, cache, prefix, last_position_only=True)[:, -1] @ network.unembed.W_U
    back = [network.unembed.W_U.T[None, : network.task.modulus]]  # at the last position, the same for every pair
    for index, block in reversed(list(enumerate([*earlier, last]))):
        pre = cache[f"blocks.{index}.mlp.hook_pre"]
        middle = [_through_mlp(block.mlp, flow, pre[:, position]) for position, flow in enumerate(back)]
        back = _through_attention(block.attn, middle, cache, f"blocks.{index}.attn")
    return logits, back[0], back[1]


def _through_mlp(mlp: MLP, flow: Tensor, pre: Tensor) -> Tensor:
    """x + W_out act(W_in x): what flows back, (n, c, d), from what flows into its output, (n or 1, c, d)."""
    picked = flow.numel() * len(mlp.W_out) >= WORTH_PICKING and pre.device.type == "cpu"
    if picked and mlp.activation is torch.relu and len(flow) == 1:
        return _through_units_that_are_on(mlp, flow[0], pre)
    hidden = (flow @ mlp.W_out.T) * _slope(mlp.activation, pre)[:, None]  # (n, c, m)
    return hidden @ mlp.W_in.T + flow


def _through_units_that_are_on(mlp: MLP, flow: Tensor, pre: Tensor) -> Tensor:
    """The same for ReLUs and a flow (c, d) that all pairs share, pair by pair: half of all units are off, and are left out."""
    written, read = mlp.W_out @ flow.T, mlp.W_in.T.contiguous()  # (m, c), (m, d)
    back = flow.new_empty(len(pre), *flow.shape)
    for row, on in zip(back, pre > 0, strict=True):
        units = on.nonzero()[:, 0]
        torch.addmm(flow, written[units].T, read[units], out=row)
    return back


def _through_attention(attention: Attention, flows: Sequence[Tensor], cache: Cache, prefix: str) -> list[Tensor]:
    """x + attention(x), from the last len(flows) positions q that asked back to all positions k that were read.

    For each pair the Jacobian from q to k is a matrix (d, d): with S the softmax, M' the pattern and u_k = W_O^T W_V^T x_k,

        sum over heads of M'_qk W_O^T W_V^T + y_qk (W_K q_q)^T,  y_qk = rate S_qk (u_k - sum_l S_ql u_l) / sqrt(e),

    and for k = q also sum_l y_ql (W_Q k_l)^T, through the query. y_qk is how the output moves with the score of k.
    """
    queries, keys, values = (cache[f"{prefix}.hook_{name}"] for name in "qkv")  # (n, s, h, e)
    pattern, softmax = cache[f"{prefix}.hook_pattern"], cache[f"{prefix}.hook_attn_scores"].softmax(-1)  # (n, h, q, k)
    written = torch.einsum("nkhe,hed->nhkd", values, attention.W_O)  # u
    scale = attention.attention_rate / math.sqrt(queries.shape[-1])
    moves = scale * softmax[..., None] * (written[:, :, None] - (softmax @ written)[..., None, :])  # y (n, h, q, k, d)
    through_key = torch.einsum("nqhe,hde->nqhd", queries, attention.W_K)
    through_query = torch.einsum("nkhe,hde->nhkd", keys, attention.W_Q).flatten(1, 2)  # (n, h * k, d)
    circuits = (attention.W_V @ attention.W_O).mT.flatten(1)  # (h, d * d), rows the output and columns the input
    positions, width = keys.shape[1], written.shape[-1]
    back: list[Tensor | None] = [None] * positions
    for q, flow in enumerate(flows):
        asking = positions - len(flows) + q
        for k in range(positions):
            jacobian = (pattern[:, :, q, k] @ circuits).view(-1, width, width)
            jacobian = torch.baddbmm(jacobian, moves[:, :, q, k].mT, through_key[:, q])
            if k == asking:
                jacobian = torch.baddbmm(jacobian, moves[:, :, q].flatten(1, 2).mT, through_query)
            before = back[k]
            if k == asking:
                before = flow if before is None else before + flow
            back[k] = flow @ jacobian if before is None else torch.baddbmm(before, flow, jacobian)
    return cast(list[Tensor], back)
