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
from algophase.networks import Network
from algophase.networks.parts import ResidualStream


@dataclass(frozen=True)
class LayerAdditivity:
    """Additivity when instances are kept apart after some layers.

    after_layers: how many layers. shares: of each instance, <X, Y_i> / |X|^2.
    """

    after_layers: int
    additivity: float
    shares: tuple[float, ...]


@torch.no_grad()
def additivity_by_layer(network: Network, groups: Sequence[Sequence[int]]) -> list[LayerAdditivity]:
    """For a transformer: instances, given by their frequencies, kept apart after 0, 1, ...
    layers. In float64.
    """
    residual = network.residual_stream()
    if residual is None:
        raise InputError(
            f"network {network.id} has no layers to look between: it is a {type(network).__name__}"
        )
    p = network.task.modulus
    first, second = network.operand_tables()
    with at_inference(network):
        a = first[:, None].expand(-1, p, -1).flatten(0, 1)
        b = second.repeat(p, 1)
        stream = residual.embed(a, b)
        by_layer = []
        own = _logits(residual, stream, 0, p)
        whole = own.square().sum()
        for done in range(len(residual.layers) + 1):
            if done > 0:
                stream = residual.layers[done - 1](stream)
            left, shares = own.clone(), []
            for group in groups:
                alone = _logits(residual, _kept(stream, p, group), done, p)
                left -= alone
                shares.append(((own * alone).sum() / whole).item())
            additivity = 1 - left.square().sum() / whole
            by_layer.append(LayerAdditivity(done, additivity.item(), tuple(shares)))
    return by_layer


def _kept(stream: Tensor, p: int, group: Sequence[int]) -> Tensor:
    """The part of a stream (p * p, s, d) at these frequencies and 0, in a and in b."""
    constant = torch.full((1, p), p**-0.5, dtype=torch.float64)
    waves = torch.cat([constant, basis(p, tuple(group))])
    projection = (waves.T @ waves).to(stream)
    over_a = projection @ stream.reshape(p, -1)  # (a, b * s * d)
    return (projection @ over_a.view(p, p, -1)).view(stream.shape)


def _logits(residual: ResidualStream, stream: Tensor, done: int, p: int) -> Tensor:
    """Logits (p * p, p) of the layers that are left, without their mean over c and their offsets
    in c.
    """
    for layer in residual.layers[done:]:
        stream = layer(stream)
    logits = residual.unembed(stream)[:, :p]
    logits = logits - logits.mean(dim=1, keepdim=True)
    return logits - logits.mean(dim=0)
