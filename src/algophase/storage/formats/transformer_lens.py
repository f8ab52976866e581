"""State dicts of TransformerLens: its names and shapes, biases, buffers beside them, outputs p or p
+ 1.

A network that has nothing beyond ours becomes our `Transformer`: those of Chughtai et al. 2023
(rep-theory-mech-interp), whose biases are zero, do. Any other has `LensSettings`.

Tensors leave some things open: which tokens are numbers, which axis of a square matrix is which,
and whether a layer norm was folded into the weights, which leaves no tensor behind. Every way to
read them is a `_Variant`. The usual one is taken if the network then gives orderly answers; else
the first one that does; else the usual one, with a caution.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import (
    ACTIVATIONS,
    LensSettings,
    NetworkSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.networks import Network
from algophase.storage._tensors import fill
from algophase.storage.formats.answers import (
    MOST_NUMBERS,
    answered,
    is_square,
    square_doubt,
    turned_note,
)
from algophase.storage.formats.config import Config
from algophase.storage.formats.contents import Contents, Format, Reading

ATTENTION_BIASES = ("b_Q", "b_K", "b_V", "b_O")
BIASES = (*ATTENTION_BIASES, "b_in", "b_out", "b_U")
USED = (
    *("embed.W_E", "pos_embed.W_pos", "unembed.W_U", "unembed.b_U"),
    *(f"blocks.*.attn.{kind}_{name}" for name in "QKVO" for kind in "Wb"),
    *(f"blocks.*.mlp.{kind}_{name}" for name in ("in", "out") for kind in "Wb"),
    *(f"blocks.*.{norm}.{name}" for norm in ("ln1", "ln2") for name in "wb"),
    *("ln_final.w", "ln_final.b"),
)
# A causal mask with the number it writes, and what rep-theory-mech-interp keeps of the
# representations it compares with.
IGNORED = ("blocks.*.attn.mask", "blocks.*.attn.IGNORE", "x_embed", "y_embed")
RATE_ASSUMED = "attention rate 1, which the file does not say"  # how a note begins


def _fits(contents: Contents) -> bool:
    named = {
        "embed.W_E",
        "pos_embed.W_pos",
        "unembed.W_U",
        "blocks.0.attn.W_Q",
    } <= contents.tensors.keys()
    if not named:
        return False
    biased = "unembed.b_U" in contents.tensors or "blocks.0.attn.b_Q" in contents.tensors
    # Ours have the same names and no biases: a .safetensors file may be one that lost its JSON file
    by_head = len(contents.shape("blocks.0.attn.W_O")) == 3
    return biased or (by_head and contents.path.suffix != ".safetensors")


def _read(contents: Contents, reading: Reading) -> Network:
    buffers = tuple(name.rsplit(".", 1)[-1] for name in IGNORED)
    weights = {
        name: value
        for name, value in contents.tensors.items()
        if name.rsplit(".", 1)[-1] not in buffers
    }
    turned = {name: value.mT.contiguous() for name, value in weights.items() if is_square(value)}
    return from_weights(weights, turned, contents, reading)


def task_of(context: int, vocabulary: int, outputs: int, where: object) -> TaskSettings:
    """[a, b] or [a, b, =], with as many outputs as numbers or as tokens. Nothing says how the
    pairs were split.
    """
    _check_context(context, where)
    modulus = vocabulary - (context == 3)
    if outputs not in (modulus, vocabulary):
        raise InputError(
            f"{where}: it has {vocabulary} tokens and {outputs} outputs; expected {modulus} or "
            f"{vocabulary} outputs"
        )
    kept = "modulus" if outputs < vocabulary else "vocabulary"
    return TaskSettings(modulus, equals_sign=context == 3, training_fraction=None, outputs=kept)


def _check_context(context: int, where: object) -> None:
    if context not in (2, 3):
        raise InputError(
            f"{where}: it has {context} positions; a network that adds has two, or three with "
            "an equals sign"
        )


@dataclass(frozen=True)
class _Sizes:
    """Of the network in a file, by its tensors. outputs: columns of the read-out; normed: it has
    tensors of a layer norm.
    """

    vocabulary: int
    width: int
    heads: int
    head_size: int
    context: int
    outputs: int
    layers: int
    hidden: int
    normed: bool


def _sizes(weights: Mapping[str, Tensor], contents: Contents) -> _Sizes:
    try:
        vocabulary, width = weights["embed.W_E"].shape
        heads, _, size = weights["blocks.0.attn.W_Q"].shape
        context = len(weights["pos_embed.W_pos"])
        outputs = weights["unembed.W_U"].shape[1]
    except (ValueError, IndexError, TypeError):
        raise InputError(
            f"{contents.path}: embed.W_E must be (tokens, width) and attn.W_Q (heads, width, size)"
        ) from None
    layers = len([name for name in weights if name.endswith(".attn.W_Q")])
    hidden = weights["blocks.0.mlp.W_in"].shape[-1] if "blocks.0.mlp.W_in" in weights else 0
    normed = any(name.rsplit(".", 1)[-1] in ("w", "b") for name in weights)
    return _Sizes(vocabulary, width, heads, size, context, outputs, layers, hidden, normed)


@dataclass(frozen=True)
class _Layout:
    """How pairs are written: the task, and which tokens and outputs of the file it has; what is
    to be said about it.
    """

    task: TaskSettings
    tokens: tuple[int, ...]
    outputs: tuple[int, ...]
    note: str = ""


def _layouts(sizes: _Sizes) -> list[_Layout]:
    """All ways in which the tokens can be numbers and an equals sign, the usual one first."""
    equals = sizes.context == 3
    numbers = sizes.vocabulary - equals
    layouts = []

    def add(modulus: int, tokens: tuple[int, ...], separate: bool, note: str) -> None:
        if modulus < 2 or sizes.outputs not in (modulus, sizes.vocabulary):
            return
        kept = "modulus" if sizes.outputs < len(tokens) else "vocabulary"
        task = TaskSettings(modulus, separate, equals, None, kept)
        outputs = tokens if sizes.outputs == sizes.vocabulary else tuple(range(modulus))
        layouts.append(_Layout(task, tokens, outputs, note))

    every = tuple(range(sizes.vocabulary))
    add(numbers, every, False, "")
    fewer = numbers - 1
    unused = (
        f"modulus {fewer}: one of its {sizes.vocabulary} tokens is not used, and its logit "
        "is left out"
    )
    for spare in dict.fromkeys(
        (fewer, sizes.vocabulary - 1)
    ):  # before the equals sign, or the last of all
        add(fewer, tuple(token for token in every if token != spare), False, unused)
    if numbers % 2 == 0:
        add(
            numbers // 2, every, True, f"modulus {numbers // 2}: each operand has tokens of its own"
        )
    return layouts


@dataclass(frozen=True)
class _Variant:
    """One way to read a file. doubts: what is to be said where the network's answers do not
    support it.
    """

    weights: dict[str, Tensor]
    task: TaskSettings
    folded_norm: bool
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def _variants(
    weights: dict[str, Tensor],
    turned: Mapping[str, Tensor],
    layouts: list[_Layout],
    sizes: _Sizes,
    config: Config,
    reading: Reading,
) -> Iterator[_Variant]:
    says_folded = config.folded_norm
    # A norm goes with attention of the usual kind alone.
    may_be_folded = (
        not sizes.normed and "layer_norm" not in config and _rate(config, reading) in (None, 1)
    )
    modulus_said = reading.modulus is not None or "modulus" in config
    doubts = []
    if len(layouts) > 1 and not modulus_said:
        modulus = layouts[0].task.modulus
        doubts.append(
            f"modulus {modulus}, taken from its {sizes.vocabulary} tokens; --modulus gives another"
        )
    if turned:
        doubts.append(square_doubt(turned))
    if may_be_folded:
        doubts.append(
            "no layer norm is assumed; one that was folded into the weights leaves no tensor behind"
        )
    usual = _laid_out(
        _Variant(weights, layouts[0].task, says_folded, doubts=tuple(doubts)), layouts[0]
    )
    yield usual
    for layout in layouts[1:]:
        yield _laid_out(_Variant(weights, layout.task, says_folded), layout)
    if may_be_folded:
        note = (
            "layer norm, folded into the weights: without it the network does not answer its pairs"
        )
        yield replace(usual, folded_norm=True, notes=(*usual.notes, note))
    for name, value in turned.items():
        notes = (turned_note(name),)
        yield _laid_out(
            _Variant({**weights, name: value}, layouts[0].task, says_folded, notes), layouts[0]
        )


def _laid_out(variant: _Variant, layout: _Layout) -> _Variant:
    """With the tokens and outputs of a layout."""
    weights = dict(variant.weights)
    tokens = torch.tensor(layout.tokens)
    outputs = torch.tensor(layout.outputs)
    weights["embed.W_E"] = weights["embed.W_E"][tokens]
    weights["unembed.W_U"] = weights["unembed.W_U"][:, outputs]
    if "unembed.b_U" in weights:
        weights["unembed.b_U"] = weights["unembed.b_U"][outputs]
    notes = (layout.note, *variant.notes) if layout.note else variant.notes
    return replace(variant, weights=weights, notes=notes)


def from_weights(
    weights: dict[str, Tensor], turned: Mapping[str, Tensor], contents: Contents, reading: Reading
) -> Network:
    """Our transformer where it can be that, else one with biases, norms and sizes of its own.

    turned: square matrices of the file, read with their axes exchanged.
    """
    config = Config(contents)
    sizes = _sizes(weights, contents)
    _check_context(sizes.context, contents.path)
    config.check(
        **{
            name: getattr(sizes, name)
            for name in ("vocabulary", "width", "heads", "context", "outputs", "layers")
        },
        head_size=sizes.head_size,
        hidden=sizes.hidden or None,
        layer_norm=None if config.folded_norm else sizes.normed,
        modulus=reading.modulus,
        activation=reading.activation,
        attention_rate=reading.attention_rate,
    )
    layouts = _layouts(sizes)
    modulus = reading.modulus or config.integer("modulus")
    fitting = [layout for layout in layouts if modulus in (None, layout.task.modulus)]
    if not fitting:
        moduli = ", ".join(dict.fromkeys(str(layout.task.modulus) for layout in layouts)) or "none"
        contradiction = "" if modulus is None else f", which contradicts modulus {modulus}"
        raise InputError(
            f"{contents.path}: it has {sizes.context} positions, {sizes.vocabulary} tokens and "
            f"{sizes.outputs} outputs"
            f"{contradiction}; possible moduli: {moduli}"
        )
    variants = list(_variants(weights, turned, fitting, sizes, config, reading))
    network = _first_that_answers(variants, sizes, config, contents, reading)
    network.id = contents.id
    network.notes = (*_assumed(sizes, config, reading), *network.notes)
    return network


def _rate(config: Config, reading: Reading) -> float | None:
    return (
        config.share("attention_rate") if reading.attention_rate is None else reading.attention_rate
    )


def _first_that_answers(
    variants: list[_Variant], sizes: _Sizes, config: Config, contents: Contents, reading: Reading
) -> Network:
    tried = variants if sizes.vocabulary <= MOST_NUMBERS or len(variants) == 1 else []
    for variant in tried:
        network = _network(variant, sizes, config, contents, reading)
        network.notes = variant.notes
        if len(variants) == 1 or answered(network).orderly:
            return network
    network = _network(variants[0], sizes, config, contents, reading)
    network.notes = (*variants[0].notes, *variants[0].doubts)
    return network


def _assumed(sizes: _Sizes, config: Config, reading: Reading) -> list[str]:
    """What neither the file nor the user says."""
    notes = []
    if reading.activation is None and config.activation is None and sizes.hidden:
        notes.append("activation relu, which the file does not say; --activation gives another")
    if reading.attention_rate is None and "attention_rate" not in config:
        notes.append(f"{RATE_ASSUMED}; --attention-rate gives another")
    if sizes.layers > 1 and config.causal is None:
        notes.append("a causal mask is assumed between its layers")
    return notes


def _network(
    variant: _Variant, sizes: _Sizes, config: Config, contents: Contents, reading: Reading
) -> Network:
    weights = variant.weights
    task = variant.task
    task = replace(
        task, training_fraction=config.training_fraction, operation=config.operation or "add"
    )
    activation = reading.activation or config.activation or "relu"
    rate = _rate(config, reading)
    norm = sizes.normed or variant.folded_norm
    idle_names = [name for name in weights if name.rsplit(".", 1)[-1] in (*ATTENTION_BIASES, "b_U")]
    idle = not any(bool(weights[name].any()) for name in idle_names)
    our_shape = sizes.hidden == 4 * sizes.width and sizes.head_size == sizes.width // sizes.heads
    settings: NetworkSettings
    if idle and our_shape and activation in ACTIVATIONS and not norm and sizes.layers == 1:
        settings = TransformerSettings(
            sizes.width, 1, sizes.heads, activation, 1.0 if rate is None else rate
        )
        weights = {name: value for name, value in weights.items() if name not in idle_names}
    elif rate not in (None, 1):
        raise InputError(
            f"{contents.path}: attention rate {rate:g} goes with one layer without layer norm "
            "and attention biases, "
            "with 4 * width hidden units; this network has another form, and only rate 1 is "
            "known for it"
        )
    else:
        causal = config.causal is not False
        settings = LensSettings(
            sizes.width,
            sizes.layers,
            sizes.heads,
            sizes.head_size,
            sizes.hidden,
            activation,
            norm,
            causal,
        )
    absent = dict.fromkeys(BIASES, 0.0)
    if variant.folded_norm:
        absent |= {"w": 1.0, "b": 0.0}
    return fill(task, settings, weights, contents.path, absent)


TRANSFORMER_LENS = Format(
    "transformer-lens",
    "a TransformerLens state dict (its answer read at the last position)",
    "embed.W_E, pos_embed.W_pos, unembed.W_U, blocks.0.attn.W_Q, and biases or W_O (heads, size, "
    "width)",
    _fits,
    _read,
    used=USED,
    ignored=IGNORED,
)
