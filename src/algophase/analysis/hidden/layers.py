"""Where a deeper network stops being a sum of instances: the same isolation, in the residual stream
after each layer.

After layer l the residual stream at each position is a function of (a, b). An instance's part of it
are the modes e^{i(w_i a + w_j b)} whose i and j are both 0 or one of its frequencies, up to sign.
We keep that part alone (with the mean over all pairs), run the layers that are left, and add up the
logits of all instances:

    additivity_l = 1 - |X - sum_i Y_i|^2 / |X|^2,

offsets in c removed. At l = 0 that is the isolation of circles in the embedding, by Fourier modes.
After the last layer what is left is linear, and additivity is the share of the logits in which no
two instances mix. A value that is low before a layer and high after it says that this layer mixes
the instances.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.analysis.checks import at_inference
from algophase.core.errors import InputError
from algophase.core.fourier import basis
from algophase.networks import Network, Transformer


@dataclass(frozen=True)
class LayerAdditivity:
    """additivity when instances are kept apart after so many layers, and each instance's share
    <X, Y_i> / |X|^2.
    """

    after_layers: int
    additivity: float
    shares: tuple[float, ...]


@torch.no_grad()
def additivity_by_layer(network: Network, groups: Sequence[Sequence[int]]) -> list[LayerAdditivity]:
    """For a transformer: instances, given by their frequencies, kept apart after 0, 1, ...
    layers. In float64.
    """
    if not isinstance(network, Transformer):
        raise InputError(
            f"network {network.id} has no layers to look between: it is a {type(network).__name__}"
        )
    p = network.task.modulus
    first, second = network.operand_tables()
    with at_inference(network):
        a, b = first[:, None].expand(-1, p, -1).flatten(0, 1), second.repeat(p, 1)
        stream = network._residual(a, b, None)
        found, own = [], _logits(network, stream, 0)
        whole = own.square().sum()
        for layer in range(len(network.blocks) + 1):
            if layer > 0:
                stream = network.blocks[layer - 1](stream, None, f"blocks.{layer - 1}")
            left, shares = own.clone(), []
            for group in groups:
                alone = _logits(network, _kept(stream, p, group), layer)
                left -= alone
                shares.append(((own * alone).sum() / whole).item())
            found.append(
                LayerAdditivity(layer, (1 - left.square().sum() / whole).item(), tuple(shares))
            )
    return found


def _kept(stream: Tensor, p: int, group: Sequence[int]) -> Tensor:
    """The part of a stream (p * p, s, d) at these frequencies and 0, in a and in b."""
    waves = torch.cat([torch.full((1, p), p**-0.5, dtype=torch.float64), basis(p, tuple(group))])
    projection = (waves.T @ waves).to(stream)
    over_a = projection @ stream.reshape(p, -1)  # (a, b * s * d)
    return (projection @ over_a.view(p, p, -1)).view(stream.shape)


def _logits(network: Transformer, stream: Tensor, done: int) -> Tensor:
    """Logits (p * p, p) of the layers that are left, without their mean over c and their offsets
    in c.
    """
    for index in range(done, len(network.blocks)):
        stream = network.blocks[index](stream, None, f"blocks.{index}")
    logits = (stream[:, -1] @ network.unembed.W_U)[:, : network.task.modulus]
    logits = logits - logits.mean(dim=1, keepdim=True)
    return logits - logits.mean(dim=0)
