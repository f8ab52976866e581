"""He et al. 2026 (modular-addition-feature-learning): W_out act(W_in (onehot(a) + onehot(b))), or on a learned embedding.

The activation is not in the file. Where it is not given, it is the one that gives the losses which the file records.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from algophase.networks import Network
from algophase.settings import MLPSettings, TaskSettings
from algophase.storage.formats.contents import Contents, Format, Reading
from algophase.storage.network_files import fill
from algophase.task import all_pairs, labels

CHOICES = ("relu", "square", "gelu", "none")
NO_EMBEDDING = (
    "it has no embedding: the first matrix is taken for the table, and circularity is undefined; "
    "gradient symmetricity depends on this cut"
)
CLOSE = 0.05  # relative difference to a recorded loss


def _fits(contents: Contents) -> bool:
    into, out, table = (contents.shape(name) for name in ("mlp.W_in", "mlp.W_out", "embed.W_E"))
    if len(into) != 2 or len(out) != 2 or into[0] != out[1] or "blocks.0.attn.W_Q" in contents.tensors:
        return False
    return table == (into[1], out[0]) if table else into[1] == out[0]


def _read(contents: Contents, reading: Reading) -> Network:
    into, out = contents.tensors["mlp.W_in"], contents.tensors["mlp.W_out"]
    table = contents.tensors.get("embed.W_E")
    held = {"first": into.T, "W_U": out.T} if table is None else {"first": table.T, "W": into.T, "W_U": out.T}
    width, hidden = held["first"].shape[1], 0 if table is None else len(into)

    def of(activation: str) -> Network:
        settings = MLPSettings(width, hidden, "add", activation, one_hot=table is None)
        return fill(TaskSettings(modulus=len(out)), settings, held, contents.path)

    chosen, why = (reading.activation, "as given") if reading.activation else _activation(contents, of)
    network = of(chosen)
    network.id = contents.id
    network.notes = (f"activation {chosen}, {why}", *((NO_EMBEDDING,) if table is None else ()))
    return network


@torch.no_grad()
def _activation(contents: Contents, of: Callable[[str], Network]) -> tuple[str, str]:
    losses = [contents.beside.get(name) for name in ("train_loss", "test_loss")]
    recorded = [float(loss) for loss in losses if isinstance(loss, float | Tensor)]
    found = {name: _loss(of(name)) for name in CHOICES}
    told = "which the file does not say"
    if recorded:  # between the losses of training and validation, or nearest to them
        apart = {name: max(min(recorded) - loss, loss - max(recorded), 0.0) for name, loss in found.items()}
        nearest = min(apart, key=lambda name: apart[name])
        if apart[nearest] <= CLOSE * max(recorded):
            return (
                nearest,
                f"{told}; with it the cross-entropy is {found[nearest]:.4g}, and the file records {recorded[-1]:.4g}",
            )
    best = min(found, key=lambda name: found[name])
    return best, f"{told}; of {', '.join(found)} it has the lowest cross-entropy, {found[best]:.4g}"


def _loss(network: Network) -> float:
    p, table = network.task.modulus, network.operand_tables()[0]
    pairs = all_pairs(p)
    logits = network.logits_from_embeddings(table[pairs[:, 0]], table[pairs[:, 1]]).double()
    return torch.nn.functional.cross_entropy(logits, labels(p).flatten()).item()


ONE_HOT_MLP = Format(
    "one-hot-mlp",
    "an MLP on the sum of two one-hot numbers or embeddings",
    "mlp.W_in (hidden, p), mlp.W_out (p, hidden); or embed.W_E (width, p) with mlp.W_in (hidden, width)",
    _fits,
    _read,
)
