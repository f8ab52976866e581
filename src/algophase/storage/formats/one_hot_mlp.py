"""He et al. 2026 (modular-addition-feature-learning): W_out act(W_in (onehot(a) + onehot(b))), or
on a learned embedding.

The activation is seldom in the file. Where neither the user nor the file says it, it is the one
that gives the losses which the file records. A network of theirs answers every pair with several
activations, so nothing else tells which one is its own, and without such losses the file is
refused. What is compared (`_comparison`):

    its split is in the file        the loss of either part over the pairs of that part
    all pairs were trained on       the loss over all pairs; also where both losses are equal
    the training fraction f         f * train + (1 - f) * test, which is the loss over all pairs
    no split is known               the loss over all pairs lies between the two for any split

A seed does not give the split: their versions shuffle in different ways. Losses are recorded one
step before the weights, in float32. With published files this alone makes up to 30%, where a wrong
activation is off by factors of 500.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks import Network
from algophase.storage._tensors import fill
from algophase.storage.formats.answers import MOST_NUMBERS, Answered, answered, oriented
from algophase.storage.formats.config import Config, recorded_loss
from algophase.storage.formats.contents import Contents, Format, Reading

OURS = {
    "mlp.W_in": "W",
    "mlp.W_out": "W_U",
    "embed.W_E": "first",
}  # names of a network with an embedding
CHOICES = ("relu", "square", "gelu", "none")
NO_EMBEDDING = (
    "it has no embedding: the first matrix is taken for the table, and circularity is undefined; "
    "gradient symmetricity depends on this cut"
)
NEAR = 2.0  # factor between a loss and the recorded one
CLEARER = 10  # so many times as far, in log loss, is any other activation that is near, too
SMALLEST_LOSS = 1e-7  # what the log-softmax of float32 resolves
# A network trained with ReLU on half of the pairs answered 84% of them, and 98% with a square in
# its place.
NO_ANSWER = 0.25


def _fits(contents: Contents) -> bool:
    into, out, table = (contents.shape(name) for name in ("mlp.W_in", "mlp.W_out", "embed.W_E"))
    if (
        len(into) != 2
        or len(out) != 2
        or into[0] != out[1]
        or "blocks.0.attn.W_Q" in contents.tensors
    ):
        return False
    return table == (into[1], out[0]) if table else into[1] == out[0]


def _read(contents: Contents, reading: Reading) -> Network:
    config = Config(contents)
    table = contents.tensors.get("embed.W_E")
    p, hidden = contents.tensors["mlp.W_out"].shape
    config.check(
        modulus=p, vocabulary=p, hidden=hidden, layer_norm=False, activation=reading.activation
    )
    if config.operation == "subtract":
        raise InputError(
            f"{contents.path}: its config says subtract, but it adds a and b before anything else"
        )
    task = TaskSettings(modulus=p, training_fraction=config.training_fraction)
    width = hidden if table is None else len(table)

    def build(activation: str) -> Network:
        return _network(contents, tensors, task, width, activation)

    known_activation = reading.activation or config.activation
    tried = CHOICES if known_activation is None else (known_activation,)
    tensors, orientation = oriented(
        {name: contents.tensors[name] for name in OURS if name in contents.tensors},
        p,
        lambda turned: (
            _network(contents, turned, task, width, activation) for activation in tried
        ),
    )
    if reading.activation is not None:
        activation = reading.activation
        reason = "as given"
    elif config.activation is not None:
        activation = config.activation
        reason = "which its config says"
    else:
        activation, reason = _activation(contents, task, build)
    network = build(activation)
    network.id = contents.id
    network.notes = (
        f"activation {activation}, {reason}",
        *orientation,
        *((NO_EMBEDDING,) if table is None else ()),
    )
    return network


def _network(
    contents: Contents,
    tensors: Mapping[str, Tensor],
    task: TaskSettings,
    width: int,
    activation: str,
) -> Network:
    """From tensors by their names in the file, each of which is the transpose of ours."""
    one_hot = "embed.W_E" not in tensors
    names = {**OURS, "mlp.W_in": "first"} if one_hot else OURS
    hidden = 0 if one_hot else len(tensors["mlp.W_in"])
    settings = MLPSettings(width, hidden, "add", activation, one_hot=one_hot)
    ours = {names[name]: value.T for name, value in tensors.items()}
    return fill(task, settings, ours, contents.path)


def _activation(
    contents: Contents, task: TaskSettings, build: Callable[[str], Network]
) -> tuple[str, str]:
    """The activation that the recorded losses show, and in words how they do."""
    if task.modulus > MOST_NUMBERS:
        raise InputError(
            f"{contents.path}: the file does not say its activation; give --activation"
        )
    results = {name: answered(build(name)) for name in CHOICES}
    compare = _comparison(contents.beside, task)
    if compare is None:
        return _only_one_that_answers(contents, results)
    distances = {name: compare.distance(result) for name, result in results.items()}
    nearest, second = sorted(distances, key=lambda name: distances[name])[:2]
    if distances[nearest] > math.log(NEAR):
        raise _undecided(
            contents, f"no activation gives the loss it records, {compare.recorded}", results
        )
    is_clear = compare.exact and distances[second] > CLEARER * distances[nearest]
    if distances[second] <= math.log(NEAR) and not is_clear:
        raise _undecided(
            contents,
            f"{nearest} and {second} both agree with the loss it records, {compare.recorded}",
            results,
        )
    loss = results[nearest].losses.mean().item()
    return (
        nearest,
        f"which the file does not say; with it the cross-entropy is {loss:.4g}; the file "
        f"records {compare.recorded}",
    )


def _only_one_that_answers(contents: Contents, results: Mapping[str, Answered]) -> tuple[str, str]:
    best = max(results, key=lambda name: results[name].accuracy)
    other_accuracies = [result.accuracy for name, result in results.items() if name != best]
    if not results[best].well or max(other_accuracies) > NO_ANSWER:
        raise _undecided(contents, "it records no loss of pairs that are known", results)
    return best, f"which the file does not say; of {', '.join(results)} it alone answers the pairs"


def _undecided(contents: Contents, reason: str, results: Mapping[str, Answered]) -> InputError:
    values = [
        f"{name} {result.losses.mean():.3g} ({result.accuracy:.1%} right)"
        for name, result in results.items()
    ]
    return InputError(
        f"{contents.path}: the file does not say its activation, and {reason}; give --activation. "
        f"Cross-entropy over all pairs: {', '.join(values)}"
    )


@dataclass(frozen=True)
class _Comparison:
    """recorded: losses of a file, in words; distance: how far a network's are from them, as the
    logarithm of a factor.

    exact: both are of the same pairs, so that the right activation is off by a step of training and
        rounding alone.
    """

    recorded: str
    exact: bool
    distance: Callable[[Answered], float]


def _comparison(beside: Mapping[str, Any], task: TaskSettings) -> _Comparison | None:
    """What can be compared fairly; None where nothing can."""
    fraction = (
        None if task.training_fraction is None else task.training_pairs / task.modulus**2
    )  # of whole pairs
    train = recorded_loss(beside, "train_loss")
    test = recorded_loss(beside, "test_loss")
    trained = _pairs(beside, "train")
    tested = _pairs(beside, "test")
    recorded = [
        (loss, pairs)
        for loss, pairs in ((train, trained), (test, tested))
        if loss is not None and pairs is not None
    ]
    if recorded:
        values = " and ".join(f"{loss:.4g}" for loss, _ in recorded)
        return _Comparison(
            f"{values} for its own split",
            True,
            lambda result: max(
                _apart(_mean(result, pairs), loss, loss) for loss, pairs in recorded
            ),
        )
    if train is None:  # a held-out loss alone is of pairs that nobody knows
        return None
    if fraction == 1 or train == test:
        return _Comparison(
            f"{train:.4g} for all pairs",
            True,
            lambda result: _apart(result.losses.mean().item(), train, train),
        )
    if test is None:
        return None
    if fraction is not None:
        whole = fraction * train + (1 - fraction) * test
        return _Comparison(
            f"{train:.4g} for {fraction:.0%} of the pairs and {test:.4g} for the others",
            True,
            lambda result: _apart(result.losses.mean().item(), whole, whole),
        )
    low, high = sorted((train, test))
    return _Comparison(
        f"{train:.4g} for the pairs it was trained on and {test:.4g} for others",
        False,
        lambda result: _apart(result.losses.mean().item(), low, high),
    )


def _apart(loss: float, low: float, high: float) -> float:
    """How far a loss is from an interval, as the logarithm of a factor."""
    loss, low, high = (math.log(max(value, SMALLEST_LOSS)) for value in (loss, low, high))
    return max(low - loss, loss - high, 0.0)


def _mean(result: Answered, pairs: Tensor) -> float:
    if int(pairs.max()) >= len(result.losses):
        raise InputError(
            f"its split has a pair with {int(pairs.max())}; numbers go up to "
            f"{len(result.losses) - 1}"
        )
    return result.losses[pairs[:, 0], pairs[:, 1]].mean().item()


def _pairs(beside: Mapping[str, Any], part: str) -> Tensor | None:
    """The pairs (n, 2) of one part of the split, as the family's scripts keep them; None where
    they are not in the file.
    """
    value = beside.get(f"{part}_data")
    if isinstance(value, Tensor):
        pairs = value
    elif (
        isinstance(value, list)
        and value
        and all(isinstance(pair, list | tuple) and len(pair) >= 2 for pair in value)
    ):
        numbers = [pair[:2] for pair in value]
        if not all(isinstance(number, int) for pair in numbers for number in pair):
            return None
        pairs = torch.tensor(numbers)
    else:
        return None
    is_list_of_pairs = pairs.ndim == 2 and pairs.shape[0] > 0 and pairs.shape[1] >= 2
    if (
        not is_list_of_pairs
        or pairs.is_floating_point()
        or pairs.is_complex()
        or int(pairs[:, :2].min()) < 0
    ):
        return None
    return pairs[:, :2].long()


ONE_HOT_MLP = Format(
    "one-hot-mlp",
    "an MLP on the sum of two one-hot numbers or embeddings",
    "mlp.W_in (hidden, p), mlp.W_out (p, hidden); or embed.W_E (width, p) with mlp.W_in "
    "(hidden, width)",
    _fits,
    _read,
    used=("mlp.W_in", "mlp.W_out", "embed.W_E"),
    ignored=("mlp.basis",),
)
