"""The inside of a linear Pizza (appendix L), for the models that add their embeddings: alpha,
alpha', beta, gamma.

    logits = W_U relu(b_2 + W_2 relu(b_1 + W_1 (E_a + E_b)))

Aligned, W_1 acts on the principal directions of the embedding and W_2 onto those of the
unembedding. Model alpha has no W_2: it is the identity, without a second ReLU. In each plane of a
matching pair of circles, the readout

    f(x, y) = (aligned W_2) relu((aligned W_1)(x, y) + b_1)

at (cos t, sin t) is the Pizza's A cos(2t + phi).

"Each pair of matching circles forms an instance of Pizza" (L.2): a pair is a circle of the
embedding with the role of a Pizza and the unembedding's circle of its frequency. A circle of
another role does not count, whatever the unembedding has: the logits of an accompanying
circle follow the frequency of its Pizza, whose units read it.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.analysis.checks import check_network
from algophase.analysis.circles.find import find_circles, plane
from algophase.analysis.circles.principal import (
    PrincipalComponents,
    network_components,
    principal_components,
)
from algophase.analysis.circles.roles import CircleEvidence, circle_evidence
from algophase.analysis.logits.all_pairs import (
    accuracy,
    cross_entropy,
    grid_logits,
    mean_cross_entropy,
    right_answers,
    share_right,
)
from algophase.core.errors import InputError
from algophase.core.lines import exceeds
from algophase.core.memory import FLOAT64, joined, slabs
from algophase.networks import Network
from algophase.networks.ordered import ordered

SIGNIFICANT = 0.1  # "coefficients of absolute value > 0.1" (appendix L.4)
READOUT_POINTS = 720


@dataclass(frozen=True)
class IdleReLU:
    """The second ReLU taken out: accuracy and cross-entropy over all pairs, before and after
    (appendix L.3).
    """

    accuracy: float
    accuracy_without: float
    cross_entropy: float
    cross_entropy_without: float


@dataclass(frozen=True)
class Readout:
    """f(cos t, sin t) of one pizza onto one axis (1 or 2) of its unembedding plane, and its best
    A cos(2t + phi), A > 0.
    """

    axis: int
    angles: Tensor
    values: Tensor
    amplitude: float
    phase: float
    variance_explained: float


@dataclass(frozen=True)
class PizzaAnatomy:
    """One matching pair of circles: its components on both sides, the hidden units that serve
    it, its readouts.
    """

    frequency: int
    embedding_components: tuple[int, ...]
    unembedding_components: tuple[int, ...]
    rows: tuple[int, ...]
    readouts: tuple[Readout, ...]


@dataclass(frozen=True)
class Anatomy:
    """What the layers of a linear network do: its pizzas, and the hidden units that serve them.

    Attributes:
        pizzas: one per Pizza circle that embedding and unembedding share.
        unmatched: frequencies of the embedding's other circles: those with another role, and those
            that the unembedding does not have.
        aligned_w1: (hidden, embedding components).
        aligned_w2: (unembedding components, hidden).
        exclusive_share: of the hidden units that read any pizza, the share that reads one alone
            (the domino pattern).
        same_pizza_share: of the hidden units that read a pizza, the share that writes most to the
            one it reads most.
        second_relu: accuracy and loss without the second ReLU; None for a network with one layer.
    """

    pizzas: tuple[PizzaAnatomy, ...]
    unmatched: tuple[int, ...]
    aligned_w1: Tensor
    aligned_w2: Tensor
    exclusive_share: float
    same_pizza_share: float
    second_relu: IdleReLU | None


def has_anatomy(network: Network) -> bool:
    return network.sum_layers() is not None


def without_second_relu(network: Network) -> Tensor:
    """Logits (p, p, p) of a network with two layers on its sum, with the second ReLU removed."""
    first, second = network.operand_tables()
    p = network.task.modulus
    layers = network.sum_layers()
    assert layers is not None
    assert layers.second is not None
    second_layer = layers.second

    def of_rows(rows: slice) -> list[Tensor]:
        some_first = first[rows]
        sums = some_first.repeat_interleave(p, dim=0) + second.repeat(len(some_first), 1)
        hidden = torch.relu(sums @ layers.first_weight.T + layers.first_bias)
        return [(second_layer(hidden) @ layers.unembedding.T).unflatten(0, (-1, p))]

    row_bytes = FLOAT64 * p * (3 * first.shape[1] + 4 * len(layers.first_bias) + 2 * p)
    (logits,) = joined(of_rows, slabs(p, row_bytes, first.device), "logits without the second ReLU")
    return logits


def has_second_relu(network: Network) -> bool:
    layers = network.sum_layers()
    return layers is not None and layers.second is not None


@torch.no_grad()
def measure_without_second_relu(network: Network) -> Tensor:
    """Accuracy and cross-entropy (2,) with the second ReLU removed, where the network is."""
    removed = without_second_relu(network)
    return torch.stack([share_right(right_answers(removed)), mean_cross_entropy(removed)])


def _idle_relu(network: Network, logits: Tensor | None) -> IdleReLU | None:
    if not has_second_relu(network):
        return None
    logits = grid_logits(network) if logits is None else logits
    accuracy_without, cross_entropy_without = measure_without_second_relu(network).tolist()
    return IdleReLU(
        accuracy(logits), accuracy_without, cross_entropy(logits), cross_entropy_without
    )


def fit_readout(axis: int, angles: Tensor, values: Tensor) -> Readout:
    """Project onto exp(2 i t): the least-squares A cos(2t + phi) on an even grid of angles."""
    coefficient = 2 * (values * torch.exp(-2j * angles)).mean()
    amplitude = coefficient.abs().item()
    phase = torch.angle(coefficient).item()
    spread = values.var(correction=0).item()
    return Readout(
        axis,
        angles,
        values,
        amplitude,
        phase,
        amplitude**2 / 2 / spread if spread > 0 else math.nan,
    )


@torch.no_grad()
def anatomy(network: Network, logits: Tensor | None = None, *, with_mean: bool = False) -> Anatomy:
    """Open a linear network that adds its embeddings (appendix L): its pizzas and the units that
    serve them.

    Arguments:
        network: a linear network with one or two ReLU layers on the sum of its embeddings.
        logits: its logits (p, p, outputs), if you have them already.
        with_mean: include in the readouts' bias what the means of the embeddings add. The paper's f
            has b_1 alone.

    Returns:
        An `Anatomy`: `pizzas`, one per circle that embedding and unembedding share, with hidden
        units and readouts.

    Raises:
        InputError: the network does not add its embeddings.

    Example:
        >>> from algophase import anatomy, handmade_pizza
        >>> [pizza.frequency for pizza in anatomy(handmade_pizza(59)).pizzas]
        [1, 5, 17]
    """
    check_network(network)
    network = ordered(network)
    if not has_anatomy(network):
        raise InputError(
            f"{network.settings.title} has no linear-Pizza anatomy; choose one of alpha, "
            "alpha-prime, beta, gamma"
        )
    principal = network_components(network)
    circles = circle_evidence(network, find_circles(principal), principal)
    relu = _idle_relu(network, logits)
    return open_linear(copy.deepcopy(network).cpu(), principal, circles, relu, with_mean=with_mean)


@torch.no_grad()
def open_linear(
    network: Network,
    embedding: PrincipalComponents,
    circles: Sequence[CircleEvidence],
    second_relu: IdleReLU | None,
    resolution: float | None = None,
    *,
    with_mean: bool = False,
) -> Anatomy:
    """The anatomy of a network on the CPU, where it is small, given its components and what its
    circles and second ReLU do.

    resolution: relative rounding of the weights, where they were stored in less than their
        precision here.
    """
    layers = network.sum_layers()
    assert layers is not None
    unembedding = principal_components((layers.unembedding,), resolution)
    w1, w2, bias = layers.first_weight, layers.second_weight, layers.first_bias
    if w2 is None:
        w2 = torch.eye(len(w1), dtype=w1.dtype)
    answers = {circle.frequency: circle for circle in find_circles(unembedding)}
    if with_mean:
        bias = bias + w1 @ (embedding.means[0] + embedding.means[-1])
    angles = torch.arange(READOUT_POINTS, dtype=w1.dtype) * (2 * torch.pi / READOUT_POINTS)
    point = torch.stack([angles.cos(), angles.sin()])  # (2, points)
    pizzas, unmatched = [], []
    read_strength, write_strength = [], []  # of every hidden unit, one entry a pizza
    for item in circles:
        circle = item.circle
        answer = answers.get(item.circle.frequency)
        if item.role != "Pizza" or answer is None:
            unmatched.append(circle.frequency)
            continue
        reading = w1 @ plane(embedding, circle).T  # (hidden, 2)
        rows = exceeds(reading.abs(), SIGNIFICANT).any(dim=1)
        hidden = torch.relu(reading[rows] @ point + bias[rows, None])  # (rows, points)
        writing = plane(unembedding, answer) @ w2  # (2, hidden)
        values = writing[:, rows] @ hidden  # (2, points)
        read_strength.append(reading.abs().amax(dim=1))
        write_strength.append(writing.abs().amax(dim=0))
        readouts = [fit_readout(axis, angles, values[axis - 1]) for axis in (1, 2)]
        row_numbers = tuple(rows.nonzero().flatten().tolist())
        pizzas.append(
            PizzaAnatomy(
                circle.frequency, circle.components, answer.components, row_numbers, tuple(readouts)
            )
        )
    exclusive, same = math.nan, math.nan
    if pizzas:
        read = torch.stack(read_strength)
        written = torch.stack(write_strength)  # (pizzas, hidden)
        served = exceeds(read, SIGNIFICANT).sum(dim=0)
        exclusive = ((served == 1).sum() / (served > 0).sum()).item()
        is_same = read.argmax(dim=0) == written.argmax(dim=0)
        same = is_same[served > 0].double().mean().item()
    aligned_w1 = w1 @ embedding.directions.T
    aligned_w2 = unembedding.directions @ w2
    return Anatomy(
        tuple(pizzas), tuple(unmatched), aligned_w1, aligned_w2, exclusive, same, second_relu
    )
