"""Our transformers as TransformerLens's HookedTransformer and back.

Names and shapes agree already, so weights are copied as they are. The attention rate, which
TransformerLens does not know, is a permanent hook on each pattern; what our networks do not have
(attention biases, an unembedding bias) is zero.
"""

import importlib
import warnings
from typing import Any

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import ACTIVATIONS, TaskSettings, TransformerSettings
from algophase.core.task import all_pairs, tokens
from algophase.networks import Network, Transformer
from algophase.networks.wrapped import wrap
from algophase.storage.files import clean_id
from algophase.storage.formats.transformer_lens import task_of

# Largest difference of logits, relative to the largest logit, between a network and its copy in
# float32
AGREEMENT = 1e-4


def to_transformer_lens(network: Network) -> Any:
    """Copy a transformer into a HookedTransformer with the same logits at the last position.

    It has the network's precision and device. The hook for the attention rate stays through
    `reset_hooks()` but is not part of the state dict. It needs the extra `lens`.

    Arguments:
        network: a transformer of ours.

    Returns:
        The HookedTransformer.

    Raises:
        InputError: the network is not a transformer, or the extra is missing.

    Example:
        >>> from algophase import RunSettings, initialize
        >>> model = to_transformer_lens(initialize(RunSettings()))  # doctest: +SKIP
        >>> model.cfg.d_model  # doctest: +SKIP
        128
    """
    if not isinstance(network, Transformer) or not network.settings.bare:
        raise InputError(
            f"network {network.id} is a {network.settings.kind} network; only a transformer has "
            "a HookedTransformer"
        )
    lens = import_transformer_lens()
    settings = network.settings
    weight = network.embed.W_E
    config = lens.HookedTransformerConfig(
        n_layers=settings.layers,
        d_model=settings.width,
        n_heads=settings.heads,
        d_head=settings.head_size,
        d_mlp=4 * settings.width,
        n_ctx=network.task.context,
        d_vocab=network.task.vocabulary,
        d_vocab_out=network.task.logits,
        act_fn=settings.activation,  # both mean the exact GELU
        attention_dir="bidirectional",
        normalization_type=None,
        init_weights=False,
        dtype=weight.dtype,
        device=str(weight.device),
        model_name=network.id,
    )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # it goes in 4.0, which the extra `lens` rules out
        model = lens.HookedTransformer(config)
    ours = network.state_dict()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(ours.get(name, torch.zeros(())))
    if settings.attention_rate != 1:
        hook = _AttentionRate(settings.attention_rate)
        for block in model.blocks:
            block.attn.hook_pattern.add_perma_hook(hook)
    return model


class _AttentionRate:
    """M' = rate * M + (1 - rate) (section 4.2)."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, pattern: Tensor, hook: object) -> Tensor:
        return self.rate * pattern + (1 - self.rate)


def from_transformer_lens(
    model: Any, task: TaskSettings | None = None, *, attention_rate: float = 1.0
) -> Network:
    """Read a HookedTransformer for modular addition as a network.

    It becomes our own `Transformer` if that gives the same logits on all pairs. A model with
    anything else in it (layer norm, biases, a mask between layers, another MLP) is wrapped as it
    is, which needs an attention rate of 1.

    Arguments:
        model: a HookedTransformer that gives its answer at the last position.
        task: how pairs are written as tokens; by default [a, b], or [a, b, =] if the model has
            three positions.
        attention_rate: 0 for uniform attention, 1 for learned attention.

    Returns:
        The network.

    Raises:
        InputError: the model does not fit the task, or has parts that no attention rate other than
            1 allows.

    Example:
        >>> network = from_transformer_lens(model, attention_rate=1.0)  # doctest: +SKIP
        >>> network.task.modulus  # doctest: +SKIP
        59
    """
    task = task or task_of(
        model.cfg.n_ctx, model.cfg.d_vocab, model.cfg.d_vocab_out, "this HookedTransformer"
    )
    try:
        return _copied(model, task, attention_rate)
    except InputError as error:
        if attention_rate != 1:
            raise
        second = f"b+{task.modulus}" if task.separate_vocabularies else "b"
        written = f"a {second}" + (f" {task.vocabulary - 1}" if task.equals_sign else "")
        network = wrap(model, task.modulus, "embed", written)
        network.id = clean_id(model.cfg.model_name or "custom")
        network.notes = (f"wrapped as it is: {error}", *network.notes)
        return network


@torch.no_grad()
def _copied(model: Any, task: TaskSettings, attention_rate: float) -> Transformer:
    """Our own transformer with its weights, if that has the same logits."""
    config = model.cfg
    if config.act_fn not in ACTIVATIONS:
        raise InputError(f"act_fn is {config.act_fn!r}; choose one of {', '.join(ACTIVATIONS)}")
    settings = TransformerSettings(
        config.d_model, config.n_layers, config.n_heads, config.act_fn, attention_rate
    )
    network = Transformer(task, settings).to(config.dtype).to(next(model.parameters()).device)
    theirs = dict(model.named_parameters())
    for name, parameter in network.named_parameters():
        if name not in theirs:
            raise InputError(
                f"this HookedTransformer has no {name}, which an attention-rate transformer has"
            )
        if theirs[name].shape != parameter.shape:
            shape = tuple(theirs[name].shape)
            expected = tuple(parameter.shape)
            raise InputError(
                f"{name} of this HookedTransformer has shape {shape}; its settings and the task "
                f"call for {expected}"
            )
        parameter.copy_(theirs[name])
    sequence = tokens(task, all_pairs(task.modulus)).to(next(model.parameters()).device)
    expected = model(sequence)[:, -1]
    ours = network(sequence)
    apart = (expected - ours).abs().max().item()
    if not apart <= AGREEMENT * max(1.0, expected.abs().max().item()):
        raise InputError(
            "logits of this HookedTransformer and its copy at attention rate "
            f"{attention_rate:g} differ by {apart:.2g}: it has "
            "another rate, layer norm, a bias on attention or unembedding, or a mask, which "
            "this network has not"
        )
    network.id = clean_id(config.model_name or "custom")
    return network


def import_transformer_lens() -> Any:
    try:
        lens = importlib.import_module("transformer_lens")
    except ImportError as error:
        raise InputError(
            f'TransformerLens is not installed ({error}): pip install "algophase[lens]"'
        ) from None
    if not hasattr(lens, "HookedTransformer"):
        raise InputError(
            "this TransformerLens has no HookedTransformer, which ended with 3: pip install "
            '"algophase[lens]"'
        )
    return lens
