"""The authors' released networks: model_<id>.pt, a plain state dict, with config_<id>.json beside it.

A .pt file is a pickle. It is opened with `weights_only=True`, which builds tensors and refuses everything else, so that
no code in a file runs.
"""

import io
import pickle
import struct
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from algophase.errors import InputError
from algophase.networks import Network
from algophase.settings import LinearSettings, NetworkSettings, TaskSettings, TransformerSettings, shown
from algophase.storage.files import read_bytes
from algophase.storage.network_files import check_plain, clean_id, fill, read_json

MODEL_TYPES = {"A": "alpha", "B": "beta", "C": "gamma", "D": "delta", "X": "alpha-prime"}
LARGEST_UNPACKED = 1 << 28  # bytes of compressed records; what is stored as it is is bounded by the file's own size
ACTIVATION_NAMES = {"ReLU": "relu", "GeLU": "gelu", "GELU": "gelu"}


def load_released(path: Path) -> Network:
    """A network from model_<id>.pt; its id is the run's."""
    config_path = _config_path(path)
    config = read_json(config_path, "the config of this network,")
    try:
        task, settings = read_config(config)
    except InputError as error:
        raise InputError(f"{config_path}: {error}") from None
    network = fill(task, settings, _to_our_names(_read_tensors(path), settings, path), path)
    network.id = _id(config, path)
    return network


def released_id(path: Path) -> str:
    """The id of a released network, without its tensors being read."""
    return _id(read_json(_config_path(path), "the config of this network,"), path)


def _id(config: Mapping[str, Any], path: Path) -> str:
    return clean_id(str(config.get("runid") or path.stem.removeprefix("model_")))


def _config_path(path: Path) -> Path:
    """config_<id>.json for model_<id>.pt, or NAME.json for any other NAME.pt."""
    if path.stem.startswith("model_"):
        return path.with_name(f"config_{path.stem.removeprefix('model_')}.json")
    return path.with_suffix(".json")


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
    return value


def read_config(config: Mapping[str, Any]) -> tuple[TaskSettings, NetworkSettings]:
    """Our settings from the authors' names. `attn_coeff` is the attention rate; `attention_dir` and `func` mean nothing."""
    modulus = _value(config, "C", int)
    if "model_type" in config:
        model_type = config["model_type"]
        if not isinstance(model_type, str) or model_type not in MODEL_TYPES:
            choices = ", ".join(f"{short} ({name})" for short, name in MODEL_TYPES.items())
            raise InputError(f"model_type is {shown(model_type)}; choose one of {choices}")
        width, hidden = _value(config, "d_model", int), _value(config, "d_hidden", int)
        return TaskSettings(modulus=modulus), LinearSettings(model=MODEL_TYPES[model_type], width=width, hidden=hidden)
    activation = _value(config, "act_fn", str, "ReLU")
    if not isinstance(activation, str) or activation not in ACTIVATION_NAMES:
        raise InputError(f"act_fn is {shown(activation)}; choose one of {', '.join(ACTIVATION_NAMES)}")
    task = TaskSettings(
        modulus=modulus,
        separate_vocabularies=_value(config, "diff_vocab", bool, False),
        equals_sign=_value(config, "eqn_sign", bool, False),
    )
    settings = TransformerSettings(
        width=_value(config, "d_model", int),
        layers=_value(config, "n_layers", int),
        heads=_value(config, "n_heads", int),
        activation=ACTIVATION_NAMES[activation],
        attention_rate=_value(config, "attn_coeff", float),
    )
    return task, settings


def _check_unpacked(content: io.BytesIO, path: Path) -> None:
    """That a file does not unpack to more than it is: torch does not compress. Older formats are no archive."""
    try:
        packed = [entry for entry in zipfile.ZipFile(content).infolist() if entry.compress_type != zipfile.ZIP_STORED]
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error):
        packed = []  # what is wrong with it, torch says
    unpacked = sum(entry.file_size for entry in packed)
    if unpacked > LARGEST_UNPACKED:
        raise InputError(f"{path} declares {unpacked:,} bytes of compressed records; at most {LARGEST_UNPACKED:,} are unpacked")
    content.seek(0)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    content = io.BytesIO(read_bytes(path))
    _check_unpacked(content, path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old serialisation formats warn; they load all the same
            data = torch.load(content, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if "global" in str(error).lower():
            raise InputError(f"{path} holds code beside its tensors: refused, nothing in it was run") from None
        raise InputError(
            f"{path} is not a readable .pt file of tensors (truncated, corrupt, or a pickle that holds code): "
            "refused, nothing in it was run"
        ) from None
    except Exception as error:  # torch raises many kinds for a broken archive: RuntimeError, EOFError, OSError, ...
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a readable .pt file (truncated or corrupt): {reason}") from None
    if not isinstance(data, Mapping) or not all(isinstance(k, str) and isinstance(v, Tensor) for k, v in data.items()):
        raise InputError(f"{path} does not hold a state dict of named tensors")
    return dict(data)


def _to_our_names(tensors: dict[str, Tensor], settings: NetworkSettings, path: Path) -> dict[str, Tensor]:
    """Transposed to our orientation, the unused mask left out. A tensor of the wrong rank is left as it is and named later."""
    if isinstance(settings, LinearSettings):
        return tensors
    assert isinstance(settings, TransformerSettings)
    heads, size = settings.heads, settings.head_size
    ours = {}
    for name, value in tensors.items():
        leaf = name.rsplit(".", 1)[-1]
        if leaf == "mask":
            continue
        try:
            check_plain(name, value)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        if leaf in ("W_E", "W_in", "W_out") and value.ndim == 2:
            value = value.T
        elif leaf in ("W_Q", "W_K", "W_V") and value.ndim == 3:
            value = value.transpose(1, 2)
        elif leaf == "W_O" and value.ndim == 2:
            expected = (settings.width, heads * size)
            if value.shape != expected:
                raise InputError(f"{path}: tensor {name} has shape {tuple(value.shape)}; its settings call for {expected}")
            value = value.T.unflatten(0, (heads, size))
        ours[name] = value
    return ours
