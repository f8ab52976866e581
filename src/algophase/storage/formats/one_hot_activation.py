"""Which activation a one-hot MLP of He et al. was trained with, where neither the user nor the file
says it.

A network of theirs answers every pair with several activations, so its answers do not tell. Its
recorded losses do: it is the activation that gives them. What is compared (`_comparison`):

    its split is in the file        the loss of either part over the pairs of that part; also where
                                    train_data.pth and test_data.pth lie beside it
    all pairs were trained on       the loss over all pairs; also where both losses are equal
    the training fraction f         f * train + (1 - f) * test, which is the loss over all pairs
    no split is known               the loss over all pairs lies between the two for any split

A seed does not give the split: their versions shuffle in different ways. Losses are recorded one
step before the weights, in float32. With published files this alone makes up to 30%, where a wrong
activation is off by factors of 500.

At the start of training every activation has the same loss. Their scripts write the activation into
the name of the folder (p_23_dmlp_512_ReLU_random_...), which decides then. Where nothing decides,
`ActivationMissing` names what it may be.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import TaskSettings
from algophase.networks import Network
from algophase.storage.formats.answers import MOST_NUMBERS, Answered, answered
from algophase.storage.formats.config import recorded_loss
from algophase.storage.formats.contents import Contents
from algophase.storage.formats.pickles import read_pickled

CHOICES = ("relu", "square", "gelu", "none")
# In the names of files and folders. "id" and "none" are words that may mean anything there.
WORDS = {"relu": "relu", "quad": "square", "square": "square", "gelu": "gelu"}
PARTS = ("train", "test")  # of a split
NEAR = 2.0  # factor between a loss and the recorded one
# Of two that are near, the nearer one is clear if the other is so many times as far, and further
# than the last step of training may have moved the loss. (At the start all have the same loss.)
CLEARER = 10
LAST_STEP = 1.3
# What the log-softmax of float32 resolves: half a unit in the last place of logits of up to 60.
SMALLEST_LOSS = 1e-5
# A network trained with ReLU on half of the pairs answered 84% of them, and 98% with a square in
# its place.
NO_ANSWER = 0.25


class ActivationMissing(InputError):
    """A network whose activation nobody states. With `Reading.activation` it is read.

    candidates: the activations that go with all that is known.
    """

    def __init__(self, message: str, candidates: Sequence[str]) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


def activation_in_path(path: Path) -> str | None:
    """The activation that the name of a file says, or else that of its folder.

    >>> activation_in_path(Path("p_23_dmlp_512_Quad_random_scale_0.1/final.pth"))
    'square'
    """
    for name in (path.stem, path.absolute().parent.name):
        words = re.findall("[a-z]+", name.lower())
        activations = {WORDS[word] for word in words if word in WORDS}
        if len(activations) == 1:
            return activations.pop()
    return None


def split_files(path: Path) -> list[Path]:
    """The files beside a network that hold its split, as far as they are there."""
    candidates = [path.with_name(f"{part}_data{path.suffix}") for part in PARTS]
    return [candidate for candidate in candidates if candidate != path and candidate.is_file()]


def find_activation(
    contents: Contents, task: TaskSettings, build: Callable[[str], Network]
) -> tuple[str, str]:
    """The activation of a network, and in words how it was found.

    build: the network with an activation.
    """
    if task.modulus > MOST_NUMBERS:
        raise ActivationMissing(
            f"{contents.path}: the file does not say its activation; give --activation", CHOICES
        )
    results = {name: answered(build(name)) for name in CHOICES}
    in_path = activation_in_path(contents.path)
    compare = _comparison(contents, task)
    if compare is None:
        return _without_losses(contents, results, in_path)
    distances = {name: compare.distance(result) for name, result in results.items()}
    agreeing = [name for name in CHOICES if distances[name] <= math.log(NEAR)]
    nearest, second = sorted(CHOICES, key=lambda name: distances[name])[:2]
    loss = results[nearest].losses.mean().item()
    how = (
        f"which the file does not say; with it the cross-entropy is {loss:.4g}; the file "
        f"records {compare.recorded}"
    )
    if len(agreeing) == 1:
        if in_path not in (None, nearest):
            how += f", which contradicts {in_path} in its path"
        return nearest, how
    if in_path is not None and (in_path in agreeing or in_path == nearest):
        return in_path, f"by its path; the file records a loss of {compare.recorded}"
    distance_needed = max(CLEARER * distances[nearest], math.log(LAST_STEP))
    if agreeing and compare.exact and distances[second] > distance_needed:
        return nearest, how
    if not agreeing:
        reason = f"no activation gives the loss it records, {compare.recorded}"
        raise _undecided(contents, reason, results, CHOICES)
    names = " and ".join(agreeing)
    reason = f"{names} agree with the loss it records, {compare.recorded}"
    raise _undecided(contents, reason, results, agreeing)


def _without_losses(
    contents: Contents, results: Mapping[str, Answered], in_path: str | None
) -> tuple[str, str]:
    if in_path is not None:
        return in_path, "by its path"
    best = max(results, key=lambda name: results[name].accuracy)
    other_accuracies = [result.accuracy for name, result in results.items() if name != best]
    if results[best].well and max(other_accuracies) <= NO_ANSWER:
        names = ", ".join(results)
        return best, f"which the file does not say; of {names} it alone answers the pairs"
    raise _undecided(contents, "it records no loss of pairs that are known", results, CHOICES)


def _undecided(
    contents: Contents, reason: str, results: Mapping[str, Answered], candidates: Sequence[str]
) -> ActivationMissing:
    values = [
        f"{name} {result.losses.mean():.3g} ({result.accuracy:.1%} right)"
        for name, result in results.items()
    ]
    return ActivationMissing(
        f"{contents.path}: the file does not say its activation, and {reason}; give --activation. "
        f"Cross-entropy over all pairs: {', '.join(values)}",
        candidates,
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


def _comparison(contents: Contents, task: TaskSettings) -> _Comparison | None:
    """What can be compared fairly; None where nothing can."""
    train, test = (recorded_loss(contents.beside, f"{part}_loss") for part in PARTS)
    of_its_split = []
    for part, loss in zip(PARTS, (train, test), strict=True):
        pairs = None if loss is None else _split_part(contents, part, task.modulus)
        if loss is not None and pairs is not None:
            of_its_split.append((loss, pairs))
    if of_its_split:
        return _by_split(of_its_split)
    if train is None:  # a held-out loss alone is of pairs that nobody knows
        return None
    fraction = None  # of whole pairs
    if task.training_fraction is not None:
        fraction = task.training_pairs / task.modulus**2
    if fraction == 1 or train == test:
        return _between(train, train, f"{train:.4g} for all pairs", exact=True)
    if test is None:
        return None
    if fraction is not None:
        whole = fraction * train + (1 - fraction) * test
        recorded = f"{train:.4g} for {fraction:.0%} of the pairs and {test:.4g} for the others"
        return _between(whole, whole, recorded, exact=True)
    recorded = f"{train:.4g} for the pairs it was trained on and {test:.4g} for others"
    return _between(min(train, test), max(train, test), recorded, exact=False)


def _between(low: float, high: float, recorded: str, exact: bool) -> _Comparison:
    """The loss over all pairs, with an interval that it should be in."""

    def distance(result: Answered) -> float:
        return _apart(result.losses.mean().item(), low, high)

    return _Comparison(recorded, exact, distance)


def _by_split(of_its_split: Sequence[tuple[float, Tensor]]) -> _Comparison:
    """The losses over the very pairs that they were recorded for."""
    values = " and ".join(f"{loss:.4g}" for loss, _ in of_its_split)

    def distance(result: Answered) -> float:
        distances = []
        for loss, pairs in of_its_split:
            own_loss = result.losses[pairs[:, 0], pairs[:, 1]].mean().item()
            distances.append(_apart(own_loss, loss, loss))
        return max(distances)

    return _Comparison(f"{values} for its own split", True, distance)


def _apart(loss: float, low: float, high: float) -> float:
    """How far a loss is from an interval, as the logarithm of a factor."""
    loss, low, high = (math.log(max(value, SMALLEST_LOSS)) for value in (loss, low, high))
    return max(low - loss, loss - high, 0.0)


def _split_part(contents: Contents, part: str, modulus: int) -> Tensor | None:
    """The pairs (n, 2) of one part of the split; None where nothing says which they are."""
    name = f"{part}_data"
    if name in contents.beside:
        pairs = _pairs(contents.beside[name])
        if pairs is not None and int(pairs.max()) >= modulus:
            raise InputError(
                f"its split has a pair with {int(pairs.max())}; numbers go up to {modulus - 1}"
            )
        return pairs
    for path in split_files(contents.path):
        if path.stem == name:
            pairs = _pairs_in_file(path)
            # A file beside it may be another network's
            return pairs if pairs is not None and int(pairs.max()) < modulus else None
    return None


def _pairs_in_file(path: Path) -> Tensor | None:
    try:
        return _pairs(read_pickled(path))
    except InputError:
        return None


def _pairs(value: Any) -> Tensor | None:
    """Pairs (n, 2) as the family's scripts keep them; None where a value is something else."""
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
