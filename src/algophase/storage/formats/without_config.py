"""A network of the authors' layout whose config is lost: what its tensors say, and what they do
not.

Of a transformer only the attention rate is lost. It cannot be found from the loss: networks that
were trained at rates 0.1 to 0.4 have their lowest loss at rate 0 (docs/elsewhere.md has numbers).
"""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.networks import Network
from algophase.storage._tensors import fill
from algophase.storage.formats.answers import answered
from algophase.storage.formats.contents import Contents, Reading


class RateMissing(InputError):
    """A transformer whose attention rate nobody states. With `Reading.attention_rate` it is
    read.
    """


def read_without_config(
    contents: Contents, tensors: Mapping[str, Tensor], reading: Reading
) -> Network:
    """The network that a file's tensors are, with notes on what was assumed.

    tensors: in our orientation.
    """
    beside = contents.file.beside
    missing = beside.path
    lacks = "does not describe it" if beside.exists else "is missing"
    if "l1.weight" in tensors:
        notes = [f"{missing.name} {lacks}: its model is the one that its tensors fit"]
        candidates = _linear_candidates(tensors)
    elif reading.attention_rate is None:
        raise RateMissing(
            f"{contents.path}: its config {missing.name} {lacks}: give the attention rate with "
            "--attention-rate"
        )
    else:
        activation = reading.activation or "relu"
        notes = [f"{missing.name} {lacks}: activation {activation}, sizes by the tensors"]
        candidates = _transformer_candidates(tensors, activation, reading.attention_rate)
    fitting = [
        (task, settings) for task, settings in candidates if reading.modulus in (None, task.modulus)
    ]
    network = _that_answers(fitting, tensors, contents.path)
    network.notes = tuple(notes)
    return network


def _that_answers(
    candidates: list[tuple[TaskSettings, NetworkSettings]],
    tensors: Mapping[str, Tensor],
    path: Path,
) -> Network:
    """Of several networks that a file's tensors can be, the one that answers its pairs."""
    if not candidates:
        raise InputError(f"{path}: its config is missing, and its tensors fit no known network")
    if len(candidates) == 1:
        (task, settings) = candidates[0]
        return fill(task, settings, tensors, path)
    networks = [fill(task, settings, tensors, path) for task, settings in candidates]
    answering = [network for network in networks if answered(network).well]
    if len(answering) != 1:
        raise InputError(
            f"{path}: its config is missing; its tensors fit {len(networks)} networks, of which "
            f"{len(answering)} answer their pairs: only the config can say which one it is"
        )
    return answering[0]


def _linear_candidates(
    tensors: Mapping[str, Tensor],
) -> list[tuple[TaskSettings, NetworkSettings]]:
    """beta and gamma have the same tensors (networks/linear.py)."""
    modulus = len(tensors["unembed.weight"])
    hidden, width = tensors["l1.weight"].shape
    if "l2.weight" in tensors:
        models = ["beta", "gamma"]
    elif "embed1.weight" in tensors:
        models = ["alpha-prime"]
    else:
        concatenated = "embed.weight" in tensors and tensors["embed.weight"].shape[-1] != width
        models = ["delta"] if concatenated else ["alpha"]
    task = TaskSettings(modulus=modulus, training_fraction=None)
    return [(task, LinearSettings(model=model, width=width, hidden=hidden)) for model in models]


def _transformer_candidates(
    tensors: Mapping[str, Tensor], activation: str, rate: float
) -> list[tuple[TaskSettings, NetworkSettings]]:
    """The numbers may have tokens of their own for each operand, and an equals sign."""
    vocabulary, width = tensors["embed.W_E"].shape
    heads = tensors["blocks.0.attn.W_Q"].shape[0]
    layers = len([name for name in tensors if name.endswith(".attn.W_Q")])
    equals = len(tensors["pos_embed.W_pos"]) == 3
    numbers = vocabulary - equals
    settings = TransformerSettings(width, layers, heads, activation, rate)
    tasks = [TaskSettings(numbers, equals_sign=equals, training_fraction=None)]
    if numbers % 2 == 0 and numbers > 2:
        separate = TaskSettings(
            numbers // 2,
            separate_vocabularies=True,
            equals_sign=equals,
            training_fraction=None,
        )
        tasks.append(separate)
    return [(task, settings) for task in tasks]
