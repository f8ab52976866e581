"""Chughtai et al. 2023 (rep-theory-mech-interp): relu([W_x[a], W_y[b]] W) W_U, and bilinear
(W_x[a] * W_y[b]) W_U.
"""

from collections.abc import Mapping

from torch import Tensor

from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks import Network
from algophase.storage._tensors import fill
from algophase.storage.formats.answers import oriented
from algophase.storage.formats.config import Config
from algophase.storage.formats.contents import Contents, Format, Reading

OURS = {"W_x": "first", "W_y": "second", "W": "W", "W_U": "W_U"}


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
    join, usual_activation = ("concatenate", "relu") if has_layer else ("multiply", "none")
    hidden = contents.shape("W_U")[0] if has_layer else 0
    config.check(modulus=p, layer_norm=False, activation=reading.activation)
    task = TaskSettings(
        p, training_fraction=config.training_fraction, operation=config.operation or "add"
    )
    activation = reading.activation or config.activation or usual_activation
    settings = MLPSettings(width, hidden, join, activation, own_tables=True)

    def build(tensors: Mapping[str, Tensor]) -> Network:
        return fill(
            task, settings, {OURS[name]: value for name, value in tensors.items()}, contents.path
        )

    tensors, orientation = oriented(contents.tensors, p, lambda turned: [build(turned)])
    network = build(tensors)
    network.id = contents.id
    network.notes = orientation
    if reading.activation is None and config.activation is None and has_layer:
        assumed = (
            f"activation {activation}, which the file does not say; --activation gives another"
        )
        network.notes = (assumed, *orientation)
    return network


CONCATENATED_MLP = Format(
    "concatenated-mlp",
    "an MLP on two concatenated embeddings, or their product",
    "W_x and W_y (p, width), W_U (hidden, p), W (2 width, hidden)",
    _fits,
    _read,
    used=("W_x", "W_y", "W", "W_U"),
)
