"""Nanda et al. 2023 (progress-measures-paper): a one-layer transformer on a, b, "=", in the transposed shapes of its time."""

from dataclasses import replace

from algophase.errors import InputError
from algophase.networks import Network
from algophase.storage.formats.contents import Contents, Format, Reading
from algophase.storage.formats.released import config_path, transposed
from algophase.storage.formats.transformer_lens import from_weights


def is_transposed(contents: Contents) -> bool:
    """embed.W_E (width, tokens), attn.W_Q (heads, size, width), attn.W_O (width, heads * size)."""
    embed, keys = contents.shape("embed.W_E"), contents.shape("blocks.0.attn.W_Q")
    return len(embed) == 2 and len(keys) == 3 and keys[2] == embed[0] and len(contents.shape("blocks.0.attn.W_O")) == 2


def _fits(contents: Contents) -> bool:
    alone = not config_path(contents.path).exists()
    return alone and is_transposed(contents) and contents.shape("pos_embed.W_pos")[:1] == (3,)


def _read(contents: Contents, reading: Reading) -> Network:
    config = contents.beside.get("config", {})
    asked = config.get("fn_name", "add") if isinstance(config, dict) else "add"
    if asked not in ("add", "subtract"):
        raise InputError(f"{contents.path}: it was trained on {asked!r}, which is not equivalent to addition")
    network = from_weights(transposed(contents.tensors), contents, reading)
    network.task = replace(network.task, operation=asked)
    return network


PROGRESS_MEASURES = Format(
    "progress-measures",
    "a transformer of the progress-measures paper (tokens a, b, =)",
    "embed.W_E (width, tokens), attn.W_Q (heads, size, width), attn.W_O (width, width), pos_embed.W_pos (3, width)",
    _fits,
    _read,
)
