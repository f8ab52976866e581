"""Chughtai et al. 2023 (rep-theory-mech-interp): relu([W_x[a], W_y[b]] W) W_U, and bilinear (W_x[a] * W_y[b]) W_U."""

from algophase.networks import Network
from algophase.settings import MLPSettings, TaskSettings
from algophase.storage.formats.contents import Contents, Format, Reading
from algophase.storage.network_files import fill


def _fits(contents: Contents) -> bool:
    (p, *width), outputs = contents.shape("W_x") or (0,), contents.shape("W_U")
    if not p or contents.shape("W_y") != contents.shape("W_x") or len(outputs) != 2 or outputs[1] != p or len(width) != 1:
        return False
    layer = contents.shape("W")
    return layer == (2 * width[0], outputs[0]) if layer else outputs[0] == width[0]


def _read(contents: Contents, reading: Reading) -> Network:
    tensors = contents.tensors
    (p, width), layered = tensors["W_x"].shape, "W" in tensors
    hidden = tensors["W"].shape[1] if layered else 0
    join, activation = ("concatenate", "relu") if layered else ("multiply", "none")
    settings = MLPSettings(width, hidden, join, reading.activation or activation, own_tables=True)
    held = {
        "first": tensors["W_x"],
        "second": tensors["W_y"],
        "W_U": tensors["W_U"],
        **({"W": tensors["W"]} if layered else {}),
    }
    network = fill(TaskSettings(modulus=p), settings, held, contents.path)
    network.id = contents.id
    return network


CONCATENATED_MLP = Format(
    "concatenated-mlp",
    "an MLP on two concatenated embeddings, or their product",
    "W_x and W_y (p, width), W_U (hidden, p), W (2 width, hidden)",
    _fits,
    _read,
)
