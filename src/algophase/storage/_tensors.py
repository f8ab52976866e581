"""Tensors in files: whether they can be used, said before anything of their size is allocated;
then the network that they are.
"""

import json
import math
import struct
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from algophase.core.errors import InputError, NotFinite
from algophase.core.settings import NetworkSettings, TaskSettings
from algophase.core.wording import counted
from algophase.networks import Network, build, template
from algophase.storage._mistaken import check_no_text
from algophase.storage.files import clean_id, size_of

MOST_TENSORS = 2048  # of one network: 128 layers of 16. A template of a layer takes 20 kB and 2 ms
LARGEST_HEADER = 1 << 22  # bytes of a safetensors header: about 100 per tensor
MOST_SHARING = (
    2  # how often all numbers of a file may be used: a table is now and then tied to another
)
FLOATS = (torch.float32, torch.float64)
MOST_NAMED = 12  # tensors in a message
SHARED_BYTES = 1 << 20  # that may be used any number of times


def check_plain(name: str, tensor: Tensor) -> None:
    """That a tensor holds its numbers one beside the other. Others can be in a .pt file, and
    little can be done with them.
    """
    if tensor.is_meta:
        raise InputError(f"tensor {name} is on device meta: it has a shape but no numbers")
    if tensor.layout is not torch.strided or tensor.is_nested:
        kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        raise InputError(f"tensor {name} is {kind}; it must be an ordinary dense tensor")
    available = tensor.untyped_storage().nbytes() // tensor.element_size()
    if tensor.numel() > available:  # one number, shown as many: a small file could fill the memory
        raise InputError(
            f"tensor {name} has {tensor.numel():,} numbers, of which the file holds {available:,}"
        )


def check_together(tensors: Mapping[str, Tensor]) -> None:
    """That tensors are usable together: not too many, none empty, and not all of them views of
    the same few numbers.
    """
    if len(tensors) > MOST_TENSORS:
        raise InputError(f"it has {len(tensors):,} tensors; a network has at most {MOST_TENSORS:,}")
    for name, tensor in tensors.items():
        check_plain(name, tensor)
        if (
            tensor.numel() == 0
        ):  # its other dimensions may be anything, and whatever goes with them is allocated
            raise InputError(f"tensor {name} has shape {tuple(tensor.shape)}: it holds no numbers")
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for tensor in tensors.values()
    }
    used = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    available = sum(storages.values())
    if used > MOST_SHARING * available + SHARED_BYTES:
        raise InputError(
            f"its tensors have {used:,} bytes in all, of which the file holds {available:,}"
        )


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], bytes]:
    """The tensors of a safetensors file, and its content."""
    size = size_of(path)
    if size == 0:
        raise _unreadable(path, "it is empty")
    try:
        with path.open("rb") as file:
            check_no_text(path, file)
            _check_header(path, file, size)
            file.seek(0)
            content = file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        tensors = safetensors.torch.load(content)  # in another order each time
        return dict(sorted(tensors.items())), content
    except (SafetensorError, ValueError, KeyError) as error:
        raise _unreadable(path, str(error)) from None


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(f"{path} is not a readable safetensors file (truncated or corrupt): {why}")


def _check_header(path: Path, file: IO[bytes], size: int) -> None:
    """That the first bytes of a file, which list its tensors, are short and promise what the
    file has. size: of the file, in bytes.
    """
    start = file.read(8)
    length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
    if length > LARGEST_HEADER:
        raise _unreadable(
            path, f"its header has {length:,} bytes; at most {LARGEST_HEADER:,} are read"
        )
    try:
        header = json.loads(file.read(length))
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"its header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise _unreadable(path, "its header is not a JSON object")
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    if len(entries) > MOST_TENSORS:
        raise InputError(
            f"{path} has {len(entries):,} tensors; a network has at most {MOST_TENSORS:,}"
        )
    for name, entry in entries.items():
        shape = entry.get("shape") if isinstance(entry, dict) else None
        _check_shape(path, name, shape, size)


def _check_shape(path: Path, name: str, shape: Any, size: int) -> None:
    """size: of the file, in bytes. No number takes less than half of one."""
    if not isinstance(shape, list) or not all(
        type(length) is int and length >= 0 for length in shape
    ):
        raise _unreadable(path, f"tensor {name[:100]} has no shape")
    count = math.prod(shape[:16])
    if count == 0:
        raise InputError(
            f"{path}: tensor {name[:100]} has shape {tuple(shape[:16])}: it holds no numbers"
        )
    if len(shape) > 16 or count > 2 * size:
        raise _unreadable(
            path, f"tensor {name[:100]} has {len(shape)} dimensions and more numbers than the file"
        )


def _listed(names: Collection[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(sorted(names)[:MOST_NAMED]) + more


def check_tensors(expected: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """That tensors are those of a template, by name, shape and type, and hold numbers."""
    missing = expected.keys() - tensors.keys()
    extra = tensors.keys() - expected.keys()
    if missing:
        raise InputError(f"tensor {_listed(missing)} is missing")
    if extra:
        raise InputError(f"tensor {_listed(extra)} does not belong to this kind of network")
    for name, parameter in expected.items():
        check_plain(name, tensors[name])
        if tensors[name].shape != parameter.shape:
            raise InputError(
                f"tensor {name} has shape {tuple(tensors[name].shape)}; its settings call for "
                f"{tuple(parameter.shape)}"
            )
        if tensors[name].dtype not in FLOATS:
            raise InputError(
                f"tensor {name} is {tensors[name].dtype}; it must be float32 or float64"
            )


def fill(
    task: TaskSettings,
    settings: NetworkSettings,
    tensors: Mapping[str, Tensor],
    path: Path,
    absent: Mapping[str, float] = MappingProxyType({}),
) -> Network:
    """A network from named tensors, each checked against the template of its settings before
    anything is allocated.

    absent: what fills tensors that a file may leave out, by the last part of their names, such as
        b_Q.
    """
    layers = getattr(settings, "layers", 0)
    blocks = len({name.split(".")[1] for name in tensors if name.startswith("blocks.")})
    if layers > blocks:  # before a template of as many layers is built
        raise InputError(
            f"{path}: layers is {layers}, but the file holds {counted(blocks, 'block')}"
        )
    try:
        expected = dict(template(task, settings).named_parameters())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (
        RuntimeError,
        TypeError,
        OverflowError,
        MemoryError,
    ) as error:  # sizes that torch cannot hold
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path}: no network of its settings can be built: {reason}") from None
    left_out = {}
    for name in expected.keys() - tensors.keys():
        value = absent.get(name.rsplit(".", 1)[-1])
        if value is not None:
            left_out[name] = value
    stored = {name: value for name, value in expected.items() if name not in left_out}
    try:
        check_tensors(stored, tensors)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    # Only now: next to weights that are as they should be, what a file may leave out is small.
    filled = {name: torch.full(expected[name].shape, value) for name, value in left_out.items()}
    tensors = {**tensors, **filled}
    network = build(task, settings).to(next(iter(tensors.values())).dtype)
    try:
        network.load_state_dict(dict(tensors))
    except RuntimeError as error:
        raise InputError(
            f"{path}: its tensors cannot be used: {str(error).splitlines()[-1].strip()}"
        ) from None
    network.id = clean_id(path.stem)
    try:
        network.check_finite()
    except InputError as error:
        raise NotFinite(f"{path}: {error}") from None
    return network
