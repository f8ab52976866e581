"""State dicts of TransformerLens: its names and shapes, biases, buffers beside them, outputs p or p + 1.

A network that has nothing beyond ours becomes our `Transformer` at attention rate 1: those of Chughtai et al. 2023
(rep-theory-mech-interp), whose biases are zero, do. Any other becomes a `LensTransformer`.
"""

from torch import Tensor

from algophase.errors import InputError
from algophase.networks import Network, template
from algophase.settings import ACTIVATIONS, LensSettings, NetworkSettings, TaskSettings, TransformerSettings
from algophase.storage.formats.contents import Contents, Format, Reading
from algophase.storage.network_files import fill

LEAVES = ("W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_in", "W_out", "W_U", "w", "b")
BIASES = ("b_Q", "b_K", "b_V", "b_O", "b_in", "b_out", "b_U")


def _fits(contents: Contents) -> bool:
    named = {"embed.W_E", "pos_embed.W_pos", "unembed.W_U", "blocks.0.attn.W_Q"} <= contents.tensors.keys()
    return named and ("unembed.b_U" in contents.tensors or "blocks.0.attn.b_Q" in contents.tensors)


def _read(contents: Contents, reading: Reading) -> Network:
    weights = {
        name: value for name, value in contents.tensors.items() if "." in name and name.rsplit(".", 1)[-1] in (*LEAVES, *BIASES)
    }
    network = from_weights(weights, contents, reading)
    if len([name for name in weights if name.endswith(".attn.W_Q")]) > 1:
        network.notes = (*network.notes, "a causal mask is assumed between its layers")
    return network


def task_of(context: int, vocabulary: int, outputs: int, where: object) -> TaskSettings:
    """[a, b] or [a, b, =], with as many outputs as numbers or as tokens."""
    if context not in (2, 3):
        raise InputError(f"{where}: it has {context} positions; a network that adds has two, or three with an equals sign")
    modulus = vocabulary - (context == 3)
    if outputs not in (modulus, vocabulary):
        raise InputError(
            f"{where}: it has {vocabulary} tokens and {outputs} outputs; expected {modulus} or {vocabulary} outputs"
        )
    return TaskSettings(modulus, equals_sign=context == 3, outputs="modulus" if outputs < vocabulary else "vocabulary")


def from_weights(weights: dict[str, Tensor], contents: Contents, reading: Reading) -> Network:
    """Our transformer where it can be that, else one with biases, norms and sizes of its own."""
    try:
        (vocabulary, width), (heads, _, size) = weights["embed.W_E"].shape, weights["blocks.0.attn.W_Q"].shape
        context, outputs = len(weights["pos_embed.W_pos"]), weights["unembed.W_U"].shape[1]
    except ValueError:
        raise InputError(f"{contents.path}: embed.W_E must be (tokens, width) and attn.W_Q (heads, width, size)") from None
    task = task_of(context, vocabulary, outputs, contents.path)
    layers = len([name for name in weights if name.endswith(".attn.W_Q")])
    hidden = weights["blocks.0.mlp.W_in"].shape[-1] if "blocks.0.mlp.W_in" in weights else 0
    normed = "blocks.0.ln1.w" in weights
    activation = reading.activation or "relu"
    plain = {name: value for name, value in weights.items() if name.rsplit(".", 1)[-1] not in BIASES[:4] + BIASES[6:]}
    idle = not any(bool(weights[name].any()) for name in weights.keys() - plain.keys())
    fitting = hidden == 4 * width and size == width // heads and activation in ACTIVATIONS
    settings: NetworkSettings
    if idle and fitting and not normed and layers == 1:
        settings = TransformerSettings(width, 1, heads, activation)
    else:
        settings, plain = LensSettings(width, layers, heads, size, hidden, activation, normed), weights
    like = {name: value for name, value in _zeros(task, settings).items() if name not in plain}
    network = fill(task, settings, {**plain, **like}, contents.path)
    network.id = contents.id
    if reading.activation is None and hidden:
        network.notes = ("activation relu, which the file does not say; --activation gives another",)
    return network


def _zeros(task: TaskSettings, settings: NetworkSettings) -> dict[str, Tensor]:
    """Biases that a state dict may leave out."""
    names = template(task, settings).named_parameters()
    return {name: each.new_zeros(each.shape, device="cpu") for name, each in names if name.rsplit(".", 1)[-1] in BIASES}


TRANSFORMER_LENS = Format(
    "transformer-lens",
    "a TransformerLens state dict (its answer read at the last position)",
    "embed.W_E, pos_embed.W_pos, blocks.0.attn.W_Q with b_Q, unembed.W_U with b_U",
    _fits,
    _read,
)
