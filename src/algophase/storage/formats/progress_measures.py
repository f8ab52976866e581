"""Nanda et al. 2023 (progress-measures-paper): a one-layer transformer on a, b, "=", in the
transposed shapes of its time.
"""

from algophase.networks import Network
from algophase.storage.formats.answers import is_square
from algophase.storage.formats.contents import RELEASED_PREFIX, Contents, Format, Reading
from algophase.storage.formats.released import has_authors_config, transposed
from algophase.storage.formats.transformer_lens import from_weights


def is_transposed(contents: Contents) -> bool:
    """embed.W_E (width, tokens), attn.W_Q (heads, size, width), attn.W_O (width, heads * size)."""
    embed = contents.shape("embed.W_E")
    keys = contents.shape("blocks.0.attn.W_Q")
    return (
        len(embed) == 2
        and len(keys) == 3
        and keys[2] == embed[0]
        and len(contents.shape("blocks.0.attn.W_O")) == 2
    )


def _fits(contents: Contents) -> bool:
    if not is_transposed(contents) or contents.shape("pos_embed.W_pos")[:1] != (3,):
        return False
    return not has_authors_config(contents.file) and not _lost_authors_config(contents)


def _lost_authors_config(contents: Contents) -> bool:
    """Whether a file has the name of the authors' and nothing but tensors inside, as theirs have:
    its attention rate stood in a config that is lost.
    """
    return contents.path.stem.startswith(RELEASED_PREFIX) and contents.is_bare


def _read(contents: Contents, reading: Reading) -> Network:
    theirs = contents.tensors
    turned = {}
    for name, value in theirs.items():
        if is_square(value) and not name.endswith(".mask"):
            turned[name] = transposed({**theirs, name: value.mT})[name]
    return from_weights(transposed(theirs), turned, contents, reading)


PROGRESS_MEASURES = Format(
    "progress-measures",
    "a transformer of the progress-measures paper (tokens a, b, =)",
    "embed.W_E (width, tokens), attn.W_Q (heads, size, width), attn.W_O (width, width), "
    "pos_embed.W_pos (3, width)",
    _fits,
    _read,
    used=(
        *("embed.W_E", "pos_embed.W_pos", "unembed.W_U"),
        *(f"blocks.*.attn.W_{name}" for name in "QKVO"),
        *(f"blocks.*.mlp.{kind}_{name}" for name in ("in", "out") for kind in "Wb"),
    ),
    ignored=("blocks.*.attn.mask",),
)
