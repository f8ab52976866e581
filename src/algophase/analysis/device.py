"""A network's copy in double precision on the device where it is analyzed.

An ordinary copy to a GPU waits until everything queued there is done. A copy through page-locked
memory does not, so all tensors go over in one.
"""

import copy
import types
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import torch
from torch import Tensor, nn

from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings
from algophase.networks import Network

SomeNetwork = TypeVar("SomeNetwork", bound=Network)
SomeModule = TypeVar("SomeModule", bound=nn.Module)

REGISTRIES = ("_parameters", "_buffers", "_modules")
EMPTIED = (dict, OrderedDict, set, list)
# What a copy may share: it cannot be changed.
SHAREABLE = (
    types.NoneType,
    int,
    float,
    str,
    types.BuiltinFunctionType,
    TaskSettings,
    NetworkSettings,
    RunSettings,
)


def upload(tensors: Sequence[Tensor], device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    """The tensors on `device` in one precision, in one copy that is not waited for."""
    if device.type == "cpu":
        return [tensor.to(device, dtype, copy=True) for tensor in tensors]
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    if flat.device.type == "cpu" and device.type == "cuda":
        flat = flat.pin_memory()
    parts = (
        flat.to(device, non_blocking=True).to(dtype).split([tensor.numel() for tensor in tensors])
    )
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


@torch.inference_mode(False)  # whose tensors have no gradients
@torch.no_grad()
def in_float64(network: SomeNetwork, device: torch.device | str = "cpu") -> SomeNetwork:
    """A copy in double precision on `device`, so that no digit of a metric is the analysis's own
    rounding.

    It is in evaluation mode, whatever the network's: what is analyzed is what the network answers
    at inference.
    """
    # Each once, however many names it has.
    tensors: list[Tensor] = [*network.parameters(), *network.buffers()]
    registered = set(map(id, tensors))
    for module in network.modules():  # a mask that its author did not register
        attributes = [value for value in vars(module).values() if isinstance(value, Tensor)]
        tensors += [tensor for tensor in attributes if id(tensor) not in registered]

    floating = [tensor for tensor in tensors if tensor.is_floating_point()]
    copies = upload(floating, torch.device(device), torch.float64)
    copy_of = dict(zip(floating, copies, strict=True))
    for tensor in tensors:
        if tensor not in copy_of:
            copy_of[tensor] = tensor.to(device, copy=True)
    for tensor, copied in copy_of.items():
        if isinstance(tensor, nn.Parameter):
            copy_of[tensor] = nn.Parameter(copied, False)
    if is_copyable(network):
        return _copied(network, copy_of, {}).eval()
    # Wherever a tensor is referred to, its copy is.
    memo: dict[int, object] = {id(tensor): copied for tensor, copied in copy_of.items()}
    return copy.deepcopy(network, memo).eval()


def is_copyable(network: nn.Module) -> bool:
    """Whether its modules hold parameters, buffers, modules and immutable values alone: all
    networks of ours do, without hooks.
    """
    return all(_is_copyable(module) for module in network.modules())


def _is_copyable(module: nn.Module) -> bool:
    rest = [value for name, value in vars(module).items() if name not in REGISTRIES]
    copyable = all(
        (type(value) in EMPTIED and not value) or _may_be_shared(value) for value in rest
    )
    return copyable and not hasattr(module, "__deepcopy__")


def own_values(module: nn.Module) -> Iterator[tuple[str, Hashable]]:
    """A module's own numbers, names and settings, by their names."""
    return ((name, value) for name, value in vars(module).items() if _may_be_shared(value))


def _may_be_shared(value: object) -> bool:
    if type(value) is tuple:
        return all(isinstance(item, SHAREABLE) for item in value)
    return isinstance(value, SHAREABLE)


def _copied(
    module: SomeModule, copy_of: Mapping[Tensor, Tensor], copies: dict[int, nn.Module]
) -> SomeModule:
    """A copyable module with other tensors, in a tenth of the time of a deep copy.

    copies: of the modules so far, by the id of what is copied.
    """
    if id(module) in copies:
        return cast(SomeModule, copies[id(module)])
    copied = type(module).__new__(type(module))
    copies[id(module)] = copied
    for name, value in vars(module).items():
        if name == "_modules":
            children = value.items()
            value = {key: child and _copied(child, copy_of, copies) for key, child in children}
        elif name in REGISTRIES:
            tensors = value.items()
            value = {key: None if tensor is None else copy_of[tensor] for key, tensor in tensors}
        elif not _may_be_shared(value):
            value = type(value)()  # empty: hooks, mostly
        copied.__dict__[name] = value
    return copied
