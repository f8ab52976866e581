"""What a network shows of itself, so that an analysis need not know its architecture.

Each is the answer to one question to a `Network`, which gives None where it has no such part. Axes:
n pairs, d width of the residual stream, s positions, m hidden units, p labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class HiddenUnits:
    """A network's first hidden layer, at the position where the answer is read.

    units: how many it has. activation: theirs.
    pre_activations: what the units read, (n, units), from operand embeddings (n, width) of n pairs.
    readout: gives what each unit writes on the p labels, (units, p); None where other units come
        in between.
    """

    units: int
    activation: Callable[[Tensor], Tensor]
    pre_activations: Callable[[Tensor, Tensor], Tensor]
    readout: Callable[[], Tensor] | None


@dataclass(frozen=True)
class HiddenReads:
    """What the hidden units of a network with one such layer read, and the logits when they read
    something else in its place.

    units: how many numbers are read. reads: (n, units), of operand embeddings (n, width) of n
        pairs. logits: (n, outputs), of operand embeddings, for what does not go through the hidden
        units, and of what these read.
    """

    units: int
    reads: Callable[[Tensor, Tensor], Tensor]
    logits: Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class SumLayers:
    """The layers of a network that reads the sum of its two embeddings (appendix E),

        W_U relu(W_2 relu(W_1 (x_1 + x_2) + b_1) + b_2),  or without W_2, b_2 and their ReLU.

    first_weight: W_1, (m, width); first_bias: b_1, (m,). second: what L_2 gives of hidden units
    (n, m); second_weight: W_2, (m, m); both None where there is one layer. unembedding: (p, m).
    """

    first_weight: Tensor
    first_bias: Tensor
    second: Callable[[Tensor], Tensor] | None
    second_weight: Tensor | None
    unembedding: Tensor


@dataclass(frozen=True)
class ResidualStream:
    """A residual stream (n, s, d) that layers add to.

    embed: the stream before the first layer, of operand embeddings (n, width). layers: each gives
    the stream after it from that before. unembed: logits (n, outputs) of the stream after the last.
    """

    embed: Callable[[Tensor, Tensor], Tensor]
    layers: Sequence[Callable[[Tensor], Tensor]]
    unembed: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class StreamLayer:
    """The only hidden layer of a network, which reads and writes a residual stream x (n, d),

        logits = (x + W_out act(W_in x + b_in) + b_out) W_U.

    units, outputs: how many hidden units and logits there are. stream: x of operand embeddings
    (n, width). pre_activations: W_in x + b_in, (n, m). logits: from x and from pre-activations,
    which may be those of another x.
    """

    units: int
    outputs: int
    stream: Callable[[Tensor, Tensor], Tensor]
    pre_activations: Callable[[Tensor], Tensor]
    logits: Callable[[Tensor, Tensor], Tensor]
