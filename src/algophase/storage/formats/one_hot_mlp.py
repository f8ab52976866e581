"""He et al. 2026 (modular-addition-feature-learning): W_out act(W_in (onehot(a) + onehot(b))), or
on a learned embedding. The activation is seldom in the file: see `one_hot_activation`.
"""

from collections.abc import Mapping

from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks import Network
from algophase.storage._tensors import fill
from algophase.storage.formats.answers import oriented
from algophase.storage.formats.config import Config
from algophase.storage.formats.contents import Contents, Format, Reading
from algophase.storage.formats.one_hot_activation import CHOICES, find_activation

OURS = {
    "mlp.W_in": "W",
    "mlp.W_out": "W_U",
    "embed.W_E": "first",
}  # names of a network with an embedding
NO_EMBEDDING = (
    "it has no embedding: the first matrix is taken for the table, and circularity is undefined; "
    "gradient symmetricity depends on this cut"
)


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
        activation, reason = find_activation(contents, task, build)
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
