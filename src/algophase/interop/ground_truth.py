"""The activations of a network with the features that are known to be in them: ground truth for
tools that look for features without knowing them, such as sparse autoencoders.

Let h(a, b) be an activation at all n^2 pairs, without its mean. Four means of it are functions of
one element g of the group:

    first        h_first(g)      = mean over b of h(g, b)
    second       h_second(g)     = mean over a of h(a, g)
    sum          h_sum(g)        = mean over all pairs with a + b = g of h(a, b)
    difference   h_difference(g) = mean over all pairs with a - b = g of h(a, b) - h_sum(a + b)

The functions on the group of one irreducible representation rho have an orthonormal basis B_rho
(m, n): for addition modulo p, the two waves of a frequency k (and -k). A *feature* is a pair of a
role and a representation. Its subspace is spanned by the rows of

    C = B_rho h_role        (m, width)

for a circle a plane. Its directions are the right singular vectors of C with the largest singular
values: as few as have 99% of |C|^2. Its share of the activation's variance is

    share = n |C|^2 / sum over a, b of |h(a, b)|^2

Features with at least 1% of the variance are *known*. As functions of (a, b) they are orthogonal to
each other, so shares add up. (In some groups a function of a + b can be one of a - b as well, such
as the wave p / 2 of an even p: sums come first, and are taken out of differences.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.checks import check_network
from algophase.analysis.device import in_float64
from algophase.analysis.hidden.units import on_grid
from algophase.analysis.operation import on_its_group
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.fourier import Array, frequencies, frequency_basis
from algophase.core.group import Group
from algophase.core.lines import reaches
from algophase.core.memory import FLOAT64, require
from algophase.core.representations import representations
from algophase.core.settings import shown
from algophase.core.task import all_pairs
from algophase.networks import Network

Role = Literal["first", "second", "both", "sum", "difference"]
# Where activations are taken, and what is said of each.
ACTIVATIONS = {
    "stream": "the residual stream that a one-layer transformer's MLP reads, at the last position",
    "reads": "what the units of the only hidden layer read, before the activation function",
    "hidden": "the units of the first hidden layer, after the activation function",
    "embedding": "the operand tables, one row per number",
}
NAMED = ("Clock", "Pizza", "hybrid", "adding", "multiplying")  # verdicts that name an algorithm
LEAST_SHARE = 0.01  # of the variance, to be a known feature; as a key frequency has of the logits
DIRECTIONS_SHARE = 0.99  # of a feature's own variance, in its directions


@dataclass(frozen=True)
class Feature:
    """One known feature of an activation: a circle of one operand, say.

    Attributes:
        role: what it is a function of: the "first" or the "second" operand, "both" where they share
            one embedding table, their "sum" or their "difference".
        name: the frequency of a circle, or the name of an irreducible representation.
        directions: (dimension, width), orthonormal rows that span it; two for a circle.
        share: its share of the activation's variance.
        instance: which of the network's instances uses it, counted from 0; None if none does.
    """

    role: Role
    name: str
    directions: Array = field(repr=False)
    share: float
    instance: int | None


@dataclass(frozen=True)
class KnownFeatures:
    """The activations of one network, and what is known to be in them.

    Attributes:
        id: the network's name.
        at: where the activations are taken: "stream", "reads", "hidden" or "embedding".
        activations: (rows, width), float32, without their mean.
        mean: (width,), their mean over all rows; the network's own activations have it.
        inputs: (rows, 2), the two numbers of each row as the network knows them; -1 for an operand
            that the row does not depend on.
        answers: (rows,), the right answers; -1 in rows of an embedding.
        features: the known features, the largest share first.
        known_share: the share of the variance that the known features have together.
        network: what the network is: its group, order, accuracy, verdict, key frequencies and
            instances.
    """

    id: str
    at: str
    activations: Tensor = field(repr=False)
    mean: Tensor = field(repr=False)
    inputs: Tensor = field(repr=False)
    answers: Tensor = field(repr=False)
    features: tuple[Feature, ...] = field(repr=False)
    known_share: float
    network: dict[str, Any] = field(repr=False)

    @property
    def width(self) -> int:
        """How many numbers an activation has."""
        return self.activations.shape[1]

    @property
    def oracle(self) -> Array:
        """The dictionary that an ideal method would find: the directions of all features, (latents,
        width).
        """
        empty = np.zeros((0, self.width))
        return np.concatenate([empty, *(feature.directions for feature in self.features)])


def has_known_algorithm(analysis: Analysis) -> bool:
    """Whether the features are those of an algorithm, and not of a network that learned none."""
    return analysis.verdict.label in NAMED


def known_features(
    network: Network, at: str = "stream", *, analysis: Analysis | None = None
) -> KnownFeatures:
    """Give a network's activations on all pairs, and the features that are known to be in them.

    Arguments:
        network: a network on any finite group.
        at: where to take the activations: "stream" (what the MLP of a one-layer transformer reads),
            "reads" (what hidden units read), "hidden" (what they give) or "embedding".
        analysis: the network's analysis, if you have it already.

    Returns:
        `KnownFeatures`: `activations` (rows, width), and `features` with their `directions`.

    Raises:
        InputError: the network has no such activation; the message names those that it has.

    Example:
        >>> from algophase import handmade_pizza
        >>> truth = known_features(handmade_pizza(23, (2, 5)), "reads")
        >>> [(item.role, item.name, round(item.share, 3)) for item in truth.features]
        [('first', '2', 0.25), ('first', '5', 0.25), ('second', '2', 0.25), ('second', '5', 0.25)]
        >>> truth.oracle.shape == (8, truth.width)
        True
    """
    check_network(network)
    if at not in ACTIVATIONS:
        raise InputError(f"at is {shown(at)}; choose one of {', '.join(ACTIVATIONS)}")
    network = on_its_group(network)
    analysis = analyze(network) if analysis is None else analysis
    exact = in_float64(network)
    taken = _tables(exact) if at == "embedding" else _on_pairs(exact, at)
    mean = taken.values.mean(axis=0)
    centered = taken.values - mean
    about = _about(network, analysis)
    features = _features(network, centered, taken, about["instances"])
    return KnownFeatures(
        id=network.id,
        at=at,
        activations=torch.from_numpy(centered).float(),
        mean=torch.from_numpy(mean).float(),
        inputs=taken.inputs,
        answers=taken.answers,
        features=tuple(features),
        known_share=sum(feature.share for feature in features),
        network=about,
    )


class _Taken(NamedTuple):
    """Activations (rows, width) with their inputs and right answers. is_shared: of an embedding,
    whether both operands have the same rows.
    """

    values: Array
    inputs: Tensor
    answers: Tensor
    at_pairs: bool
    is_shared: bool = False


@torch.no_grad()
def _on_pairs(network: Network, at: str) -> _Taken:
    """Of all pairs in the order of the network's own numbers."""
    first, second = on_grid(network)
    layer = network.hidden_layer()
    reads = network.hidden_reads()
    stream = network.stream_layer()
    units = [part.units for part in (layer, reads) if part is not None]
    size = FLOAT64 * len(first) * max(first.shape[1], *units, 0)
    require(2 * size, first.device, f"network {network.id}: its activations on all pairs")
    if at == "stream" and stream is not None:
        values = stream.stream(first, second)
    elif at == "reads" and reads is not None:
        values = reads.reads(first, second)
    elif at == "hidden" and layer is not None:
        values = layer.activation(layer.pre_activations(first, second))
    else:
        available = {"stream": stream, "reads": reads, "hidden": layer}
        names = [name for name, part in available.items() if part is not None]
        raise InputError(
            f"network {network.id} has no activation {at!r} ({ACTIVATIONS[at]}); choose one of "
            f"{', '.join([*names, 'embedding'])}"
        )
    task = network.task
    answers = task.finite_group.answers(task.elements)
    inputs = all_pairs(task.modulus)
    return _Taken(values.cpu().numpy(), inputs, torch.from_numpy(answers).flatten(), True)


@torch.no_grad()
def _tables(network: Network) -> _Taken:
    """The rows of the operand tables: the first operand's, then the second's if it has its own."""
    if network.cut == "none":
        raise InputError(f"network {network.id} is read as a function: it has no embedding")
    tables = network.distinct_tables()
    n = network.task.modulus
    numbers = torch.arange(n)
    missing = torch.full_like(numbers, -1)
    is_shared = len(tables) == 1
    inputs = torch.stack([numbers, numbers if is_shared else missing], dim=1)
    if not is_shared:
        inputs = torch.cat([inputs, torch.stack([missing, numbers], dim=1)])
    values = torch.cat(list(tables)).cpu().numpy()
    answers = torch.full((len(values),), -1)
    return _Taken(values, inputs, answers, False, is_shared)


def _by_role(network: Network, centered: Array, taken: _Taken) -> dict[Role, Array]:
    """h_role (n, width) for each role, in the order of the group's elements, and each scaled so
    that n |h_role|^2 is its part of the activation's sum of squares.
    """
    task = network.task
    group, names, n = task.finite_group, task.elements.names, task.modulus
    if taken.is_shared:
        return {"both": centered[names.first] / n**0.5}
    if not taken.at_pairs:
        first = centered[:n][names.first]
        second = centered[n:][names.second]
        return {"first": first / n**0.5, "second": second / n**0.5}
    width = centered.shape[1]
    at_elements = centered.reshape(n, n, width)[names.first][:, names.second]
    of_sum = _mean_by(group.table, at_elements)
    differences = group.table[:, group.inverses]
    return {
        "first": at_elements.mean(axis=1),
        "second": at_elements.mean(axis=0),
        "sum": of_sum,
        "difference": _mean_by(differences, at_elements - of_sum[group.table]),
    }


def _mean_by(labels: NDArray[np.int64], values: Array) -> Array:
    """Mean over the pairs of each label, (n, width), of values (n, n, width)."""
    n, _, width = values.shape
    totals = np.zeros((n, width))
    np.add.at(totals, labels.ravel(), values.reshape(n * n, width))
    return totals / n


def _bases(group: Group) -> dict[str, Array]:
    """B_rho (m, n) of every representation but the trivial one, by its name; for a cyclic group by
    frequency.
    """
    if group.is_cyclic:
        n = group.order
        return {str(k): frequency_basis(n, k).numpy() for k in frequencies(n)}
    nontrivial = representations(group)[1:]
    return {representation.name: representation.basis for representation in nontrivial}


def _features(
    network: Network, centered: Array, taken: _Taken, instances: Sequence[dict[str, Any]]
) -> list[Feature]:
    whole = float(np.square(centered).sum())
    n = network.task.modulus
    user: dict[str, int] = {}
    for number, instance in enumerate(instances):
        for name in instance["members"]:
            user.setdefault(name, number)
    features = []
    for role, values in _by_role(network, centered, taken).items():
        for name, basis in _bases(network.task.finite_group).items():
            coefficients = basis @ values
            share = n * float(np.square(coefficients).sum()) / whole if whole > 0 else 0.0
            if reaches(share, LEAST_SHARE):
                directions = _directions(coefficients)
                features.append(Feature(role, name, directions, share, user.get(name)))
    # Equal shares stay in their order whatever the rounding
    return sorted(features, key=lambda feature: -round(feature.share, 9))


def _directions(coefficients: Array) -> Array:
    """As few orthonormal rows as have 99% of the squared norm of these coefficients (m, width)."""
    _, sizes, rows = np.linalg.svd(coefficients, full_matrices=False)
    shares = np.cumsum(np.square(sizes)) / np.square(sizes).sum()
    count = int((shares < DIRECTIONS_SHARE).sum()) + 1
    return rows[:count]


def _about(network: Network, analysis: Analysis) -> dict[str, Any]:
    """What is known of the network as a whole, for JSON."""
    on_group = analysis.on_group
    instances: list[dict[str, Any]] = []
    if on_group is None:
        forms = analysis.verdict.forms
        for number, instance in enumerate(analysis.instances.instances):
            members = [str(k) for k in instance.frequencies]
            form = forms[number] if number < len(forms) else ""
            instances.append({"members": members, "share": instance.share, "form": form})
    else:
        instances = [
            {"members": list(part.representations), "share": part.share}
            for part in on_group.instances
        ]
    return {
        "group": "cyclic" if on_group is None else on_group.name,
        "order": network.task.modulus,
        "task": network.task.described,
        "weights": network.weights_digest(),
        "accuracy": analysis.accuracy,
        "verdict": analysis.label,
        "additivity": analysis.additivity,
        "key_frequencies": list(analysis.program.frequencies),
        "instances": instances,
    }
