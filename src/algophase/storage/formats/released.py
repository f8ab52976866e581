"""The authors' released networks: model_<id>.pt, a state dict, with config_<id>.json beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    TaskSettings,
    TransformerSettings,
    shown,
)
from algophase.networks import Network
from algophase.storage._tensors import fill
from algophase.storage.files import clean_id
from algophase.storage.formats.contents import (
    RELEASED_PREFIX,
    Contents,
    Format,
    NetworkFile,
    Reading,
)
from algophase.storage.formats.without_config import RateMissing, read_without_config

MODEL_TYPES = {"A": "alpha", "B": "beta", "C": "gamma", "D": "delta", "X": "alpha-prime"}
ACTIVATION_NAMES = {"relu": "relu", "gelu": "gelu"}
# Settings by the authors' names. A config that lacks one may have the others.
THEIR_NAMES = ("C", "attn_coeff", "model_type", "n_heads", "d_model", "diff_vocab", "eqn_sign")
ENOUGH_NAMES = 2  # to be theirs, under their name


def _fits(contents: Contents) -> bool:
    """By its config, or for want of one by tensors that no other format has."""
    if contents.path.suffix == ".safetensors":
        return False
    if has_authors_config(contents.file):
        return True
    linear = {"unembed.weight", "l1.weight", "l1.bias"} <= contents.tensors.keys()
    return linear or len(contents.shape("blocks.0.attn.W_O")) == 2


def _read(contents: Contents, reading: Reading) -> Network:
    """A network from model_<id>.pt; its id is the run's."""
    path = contents.path
    beside = contents.file.beside
    if not has_authors_config(contents.file):
        tensors = contents.tensors
        is_linear = "l1.weight" in tensors
        network = read_without_config(
            contents, tensors if is_linear else transposed(tensors), reading
        )
        network.id = _id({}, path)
        return network
    config = beside.object
    stated = {**_sizes_of(contents, config), **_without_null(config)}
    if reading.attention_rate is not None:
        stated.setdefault("attn_coeff", reading.attention_rate)
    if "model_type" not in stated and "attn_coeff" not in stated:
        raise RateMissing(
            f"{path}: {beside.path.name} does not say the attention rate, attn_coeff; give it "
            "with --attention-rate"
        )
    try:
        task, settings = read_config(stated)
    except InputError as error:
        raise InputError(f"{beside.path}: {error}") from None
    tensors = (
        contents.tensors
        if isinstance(settings, LinearSettings)
        else _transposed_as(contents.tensors, settings, path)
    )
    network = fill(task, settings, tensors, path)
    network.id = _id(config, path)
    if isinstance(settings, TransformerSettings) and stated.get("act_fn") is None:
        network.notes = (f"activation relu, which {beside.path.name} does not say",)
    return network


def _without_null(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if value is not None}


def _sizes_of(contents: Contents, config: Mapping[str, Any]) -> dict[str, Any]:
    """By the authors' names, what the tensors say: for a config that does not."""
    hidden = contents.shape("l1.weight")
    if len(hidden) == 2:
        outputs = contents.shape("unembed.weight")[:1]
        modulus = {"C": outputs[0]} if outputs else {}
        return {**modulus, "d_model": hidden[1], "d_hidden": hidden[0]}
    embedding = contents.shape("embed.W_E")
    queries = contents.shape("blocks.0.attn.W_Q")
    if len(embedding) != 2 or len(queries) != 3:
        return {}
    width, vocabulary = embedding
    layers = len([name for name in contents.tensors if name.endswith(".attn.W_Q")])
    has_equals = contents.shape("pos_embed.W_pos")[:1] == (3,)
    numbers = vocabulary - has_equals
    sizes = {"d_model": width, "n_heads": queries[0], "n_layers": layers, "eqn_sign": has_equals}
    if config.get("C") is not None:
        sizes["diff_vocab"] = numbers == 2 * config["C"]
    elif config.get("diff_vocab") is not None:
        sizes["C"] = numbers // 2 if config["diff_vocab"] else numbers
    elif numbers % 2:  # both operands have the same numbers
        sizes["C"] = numbers
    return sizes


def _released_id(file: NetworkFile) -> str:
    return _id(file.beside.object, file.path) if has_authors_config(file) else ""


def _id(config: Mapping[str, Any], path: Path) -> str:
    return clean_id(str(config.get("runid") or path.stem.removeprefix(RELEASED_PREFIX)))


def has_authors_config(file: NetworkFile) -> bool:
    """Whether the authors' config lies beside a network. Another program's JSON file is ignored."""
    if file.path.suffix == ".safetensors" or not file.beside.exists:
        return False
    try:
        config = file.beside.object
    except InputError:  # what is wrong with a file of their name, `_read` says
        return file.path.stem.startswith(RELEASED_PREFIX)
    if "C" in config and ("attn_coeff" in config or "model_type" in config):
        return True
    named = [name for name in THEIR_NAMES if name in config]
    return file.path.stem.startswith(RELEASED_PREFIX) and len(named) >= ENOUGH_NAMES


def _value(config: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    value = config.get(name, default)
    if value is None:
        raise InputError(f"setting {name} is missing")
    if kind is bool:  # the authors mix 0, 1, false and true
        if value not in (0, 1):
            raise InputError(f"{name} is {shown(value)}; it must be 0, 1, false or true")
        return bool(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is float and isinstance(value, bool):
        return float(value)
    return value


def read_config(config: Mapping[str, Any]) -> tuple[TaskSettings, NetworkSettings]:
    """Our settings from the authors' names. `attn_coeff` is the attention rate; `attention_dir`
    and `func` mean nothing.
    """
    modulus = _value(config, "C", int)
    if "model_type" in config:
        model_type = config["model_type"]
        if not isinstance(model_type, str) or model_type not in MODEL_TYPES:
            choices = ", ".join(f"{short} ({name})" for short, name in MODEL_TYPES.items())
            raise InputError(f"model_type is {shown(model_type)}; choose one of {choices}")
        width = _value(config, "d_model", int)
        hidden = _value(config, "d_hidden", int)
        task = TaskSettings(modulus=modulus, training_fraction=config.get("frac"))
        return task, LinearSettings(model=MODEL_TYPES[model_type], width=width, hidden=hidden)
    activation = _value(config, "act_fn", str, "ReLU")
    if not isinstance(activation, str) or activation.lower() not in ACTIVATION_NAMES:
        raise InputError(f"act_fn is {shown(activation)}; choose one of ReLU, GeLU")
    task = TaskSettings(
        modulus=modulus,
        separate_vocabularies=_value(config, "diff_vocab", bool, False),
        equals_sign=_value(config, "eqn_sign", bool, False),
        training_fraction=config.get("frac"),
    )
    settings = TransformerSettings(
        width=_value(config, "d_model", int),
        layers=_value(config, "n_layers", int),
        heads=_value(config, "n_heads", int),
        activation=ACTIVATION_NAMES[activation.lower()],
        attention_rate=_value(config, "attn_coeff", float),
    )
    return task, settings


def _transposed_as(
    tensors: Mapping[str, Tensor], settings: NetworkSettings, path: Path
) -> dict[str, Tensor]:
    assert isinstance(settings, TransformerSettings)
    expected = (settings.width, settings.heads * settings.head_size)
    for name, value in tensors.items():
        if name.endswith(".W_O") and value.ndim == 2 and value.shape != expected:
            raise InputError(
                f"{path}: tensor {name} has shape {tuple(value.shape)}; its settings call for "
                f"{expected}"
            )
    return transposed(tensors)


def transposed(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """In our orientation, the unused mask left out. A tensor of the wrong rank is left as it is
    and named later.
    """
    ours = {}
    for name, value in tensors.items():
        leaf = name.rsplit(".", 1)[-1]
        if leaf == "mask":
            continue
        if leaf in ("W_E", "W_in", "W_out") and value.ndim == 2:
            value = value.T
        elif leaf in ("W_Q", "W_K", "W_V") and value.ndim == 3:
            value = value.transpose(1, 2)
        elif leaf == "W_O" and value.ndim == 2:
            heads = tensors.get(f"{name.removesuffix('W_O')}W_Q")
            if (
                heads is not None
                and heads.ndim == 3
                and value.shape[1] == heads.shape[0] * heads.shape[1]
            ):
                value = value.T.unflatten(0, (heads.shape[0], heads.shape[1]))
        ours[name] = value
    return ours


RELEASED = Format(
    "released",
    "a network released by the authors of The Clock and the Pizza",
    "config_<id>.json beside model_<id>.pt",
    _fits,
    _read,
    id_beside=_released_id,
)
