"""A network's copy in double precision on the device where it is analysed.

A plain copy to a GPU waits until everything queued there is done. A copy through page-locked memory
does not, so all tensors go over in one.
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
PLAIN = (
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

    It is in evaluation mode, whatever the network's: what is analysed is what the network answers
    at inference.
    """
    held: list[Tensor] = [
        *network.parameters(),
        *network.buffers(),
    ]  # each once, however many names it has
    known_already = set(map(id, held))
    for module in network.modules():  # a mask that its author did not register
        held += [
            value
            for value in vars(module).values()
            if isinstance(value, Tensor) and id(value) not in known_already
        ]
    floating = [tensor for tensor in held if tensor.is_floating_point()]
    moved = dict(zip(floating, upload(floating, torch.device(device), torch.float64), strict=True))
    moved |= {tensor: tensor.to(device, copy=True) for tensor in held if tensor not in moved}
    moved = {
        old: nn.Parameter(new, False) if isinstance(old, nn.Parameter) else new
        for old, new in moved.items()
    }
    if is_plain(network):
        return _copied(network, moved, {}).eval()
    known: dict[int, object] = {
        id(old): new for old, new in moved.items()
    }  # wherever a tensor is held, its copy is
    return copy.deepcopy(network, known).eval()


def is_plain(network: nn.Module) -> bool:
    """Whether its modules hold parameters, buffers, modules and plain values alone: all networks
    of ours do, without hooks.
    """
    return all(_is_plain(module) for module in network.modules())


def _is_plain(module: nn.Module) -> bool:
    rest = [value for name, value in vars(module).items() if name not in REGISTRIES]
    plain = all((type(value) in EMPTIED and not value) or _may_be_shared(value) for value in rest)
    return plain and not hasattr(module, "__deepcopy__")


def plain_values(module: nn.Module) -> Iterator[tuple[str, Hashable]]:
    """A module's own numbers, names and settings, by their names."""
    return ((name, value) for name, value in vars(module).items() if _may_be_shared(value))


def _may_be_shared(value: object) -> bool:
    return isinstance(value, PLAIN) or (
        type(value) is tuple and all(isinstance(each, PLAIN) for each in value)
    )


def _copied(
    module: SomeModule, moved: Mapping[Tensor, Tensor], known: dict[int, nn.Module]
) -> SomeModule:
    """A plain module with other tensors, in a tenth of the time of a deep copy. known: the
    copies so far, by what is copied.
    """
    if id(module) not in known:
        known[id(module)] = made = type(module).__new__(type(module))
        for name, value in vars(module).items():
            if name == "_modules":
                value = {
                    key: child and _copied(child, moved, known) for key, child in value.items()
                }
            elif name in REGISTRIES:
                value = {
                    key: None if tensor is None else moved[tensor] for key, tensor in value.items()
                }
            elif not _may_be_shared(value):
                value = type(value)()  # empty: hooks, mostly
            made.__dict__[name] = value
    return cast(SomeModule, known[id(module)])
