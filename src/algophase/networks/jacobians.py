"""dQ_abc/dE_a and dQ_abc/dE_b for every label c at once, by automatic differentiation.

What every network can do (`Network.jacobians`). Those of the paper have the chain rule written out,
which gives the same numbers from fewer and larger steps; it is tested against this. Axes: n pairs,
c labels, d width.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from algophase.networks.network import Network


class Jacobians(NamedTuple):
    """Logits (n, outputs), and the gradients of those of all p labels by either operand's
    embedding, each (n, c, d).
    """

    logits: Tensor
    to_first: Tensor
    to_second: Tensor


def by_autograd(network: "Network", first: Tensor, second: Tensor) -> Jacobians:
    """For any network, at operand embeddings (n, d), by one batched backward pass."""
    p = network.task.modulus
    with differentiable(network, first, second) as (network, first, second):
        every_logit = network.checked_logits(first, second)
        logits = every_logit[:, :p]
        one_label_each = torch.eye(p, dtype=logits.dtype, device=logits.device)
        picks = one_label_each[:, None].expand(p, *logits.shape)
        to_first, to_second = differentiate(logits, (first, second), picks)
    return Jacobians(every_logit.detach(), to_first.transpose(0, 1), to_second.transpose(0, 1))


@contextmanager
def differentiable(
    network: "Network", first: Tensor, second: Tensor
) -> Iterator[tuple["Network", Tensor, Tensor]]:
    """A network and operand embeddings to differentiate by, also where the caller has switched
    gradients off.

    The network is a copy if it was made in inference mode: there is no differentiating through such
    tensors.
    """
    with torch.inference_mode(False), torch.enable_grad():
        if any(parameter.is_inference() for parameter in network.parameters()):
            network = copy.deepcopy(network)
        first = first.detach().clone().requires_grad_()
        second = second.detach().clone().requires_grad_()
        yield network, first, second


def differentiate(
    outputs: Tensor, inputs: tuple[Tensor, Tensor], picks: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of the outputs weighted by `picks`, or of several such sums where that has one more
    axis in front.

    Zeros for an input that the outputs do not depend on, or only in steps, as a lookup table does.
    """
    batch = picks.shape[: picks.dim() - outputs.dim()]
    gradients: tuple[Tensor | None, ...] = (None, None)
    if outputs.requires_grad:
        gradients = torch.autograd.grad(
            outputs, inputs, picks, is_grads_batched=len(batch) > 0, allow_unused=True
        )
    first, second = inputs
    to_first, to_second = gradients
    if to_first is None:
        to_first = first.new_zeros(*batch, *first.shape)
    if to_second is None:
        to_second = second.new_zeros(*batch, *second.shape)
    return to_first, to_second


def slope(activation: Callable[[Tensor], Tensor], pre: Tensor) -> Tensor:
    """An activation's derivative at each of its inputs."""
    if activation is torch.relu:
        return (pre > 0).to(pre.dtype)
    with torch.enable_grad():
        pre = pre.detach().requires_grad_()
        (derivative,) = torch.autograd.grad(activation(pre).sum(), pre)
    return derivative
