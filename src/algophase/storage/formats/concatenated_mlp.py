"""Chughtai et al. 2023 (rep-theory-mech-interp): relu([W_x[a], W_y[b]] W) W_U, and without W either
bilinear, (W_x[a] * W_y[b]) W_U, or relu(W_x[a] + W_y[b]) W_U. The last two have the same tensors:
the one that answers its pairs is taken.
"""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks import Network
from algophase.storage._tensors import fill
from algophase.storage.formats.answers import MOST_NUMBERS, answered, oriented
from algophase.storage.formats.config import Config
from algophase.storage.formats.contents import Contents, Format, Reading

OURS = {"W_x": "first", "W_y": "second", "W": "W", "W_U": "W_U"}


class _Form(NamedTuple):
    """How the two embeddings meet, the activation after that, and what it is in words."""

    join: str
    activation: str
    words: str


WITH_LAYER = _Form("concatenate", "relu", "concatenated embeddings and a layer")
WITHOUT_LAYER = (
    _Form("multiply", "none", "the product of its embeddings"),
    _Form("add", "relu", "ReLU of the sum of its embeddings"),
)


def _fits(contents: Contents) -> bool:
    (p, *width), outputs = contents.shape("W_x") or (0,), contents.shape("W_U")
    if (
        not p
        or contents.shape("W_y") != contents.shape("W_x")
        or len(outputs) != 2
        or outputs[1] != p
        or len(width) != 1
    ):
        return False
    layer = contents.shape("W")
    return layer == (2 * width[0], outputs[0]) if layer else outputs[0] == width[0]


def _read(contents: Contents, reading: Reading) -> Network:
    config = Config(contents)
    p, width = contents.shape("W_x")
    has_layer = "W" in contents.tensors
    hidden = contents.shape("W_U")[0] if has_layer else 0
    config.check(modulus=p, layer_norm=False, activation=reading.activation)
    task = TaskSettings(
        p, training_fraction=config.training_fraction, operation=config.operation or "add"
    )
    stated_activation = reading.activation or config.activation

    def build(form: _Form, tensors: Mapping[str, Tensor]) -> Network:
        activation = stated_activation or form.activation
        settings = MLPSettings(width, hidden, form.join, activation, own_tables=True)
        ours = {OURS[name]: value for name, value in tensors.items()}
        return fill(task, settings, ours, contents.path)

    notes: tuple[str, ...] = ()
    form = WITH_LAYER
    if not has_layer:
        form, notes = _form_that_answers(
            {candidate: build(candidate, contents.tensors) for candidate in WITHOUT_LAYER}
        )
    elif stated_activation is None:
        notes = ("activation relu, which the file does not say; --activation gives another",)
    tensors, orientation = oriented(contents.tensors, p, lambda turned: [build(form, turned)])
    network = build(form, tensors)
    network.id = contents.id
    network.notes = (*notes, *orientation)
    return network


def _form_that_answers(networks: Mapping[_Form, Network]) -> tuple[_Form, tuple[str, ...]]:
    """Of networks with the same tensors, the one whose answers are orderly, and what is to be said.

    Networks that were trained with ReLU of the sum answer their pairs as a product, too (2 of 2,
    with a lower loss); those that were trained as a product do not with ReLU of the sum (0 of 2).
    """
    product, added = networks
    orderly = []
    for form, network in networks.items():
        if network.task.modulus <= MOST_NUMBERS and answered(network).orderly:
            orderly.append(form)
    if len(orderly) == 1:
        return orderly[0], (f"{orderly[0].words}: only then it answers its pairs",)
    if orderly:
        return added, (f"{added.words} is assumed: it answers its pairs as their product, too",)
    return product, (f"{product.words} is assumed; it may be {added.words}",)


CONCATENATED_MLP = Format(
    "concatenated-mlp",
    "an MLP on two embeddings, concatenated, multiplied or added",
    "W_x and W_y (p, width), W_U (hidden, p), W (2 width, hidden)",
    _fits,
    _read,
    used=("W_x", "W_y", "W", "W_U"),
)
