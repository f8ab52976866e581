"""PyTorch as it comes, whatever the caller has set; and a module as it was, whatever running it
does to it.

An analysis must give the same numbers inside `torch.autocast` or with another default device, and
leave the caller's settings, random numbers and weights alone, also when it stops with an error.
"""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


@contextmanager
def neutral() -> Iterator[None]:
    """Default device CPU, no autocast, no inference mode, in this thread alone; random numbers
    go on as before.
    """
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))  # whose tensors have no gradients
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        stack.enter_context(_same_random_numbers())
        yield


@contextmanager
def _same_random_numbers() -> Iterator[None]:
    of_python = random.getstate()
    of_numpy = np.random.get_state()  # noqa: NPY002 - the one that a module may draw from
    of_torch = torch.get_rng_state()
    of_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
        torch.set_rng_state(of_torch)
        for number, state in enumerate(of_gpus):
            if not torch.equal(torch.cuda.get_rng_state(number), state):
                torch.cuda.set_rng_state(state, number)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """The module as at inference, without dropout and the like. Each part is left in the mode it
    was in.
    """
    training = [part for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True


@contextmanager
def untouched(module: nn.Module) -> Iterator[None]:
    """The module as at inference; mode, parameters and buffers as before afterwards.

    Some forward passes write into them in every mode: an `nn.Embedding` with `max_norm`, or a
    buffer that counts calls.
    """
    registries: list[dict[str, Any]] = []
    for part in module.modules():
        registries += [part._parameters, part._buffers]
    copies = [dict(registry) for registry in registries]
    tensors: list[Tensor] = []
    for copy in copies:
        tensors += [tensor for tensor in copy.values() if tensor is not None]
    values = [tensor.detach().clone() for tensor in tensors]
    with evaluating(module):
        try:
            yield
        finally:
            for registry, copy in zip(registries, copies, strict=True):
                registry.clear()
                registry.update(copy)
            for tensor, value in zip(tensors, values, strict=True):
                _restore(tensor, value)


def _restore(tensor: Tensor, value: Tensor) -> None:
    if tensor.is_meta or torch.equal(tensor, value):
        return
    with torch.inference_mode(tensor.is_inference()), torch.no_grad():
        tensor.copy_(value)


def unsteady(apart: float) -> str:
    """Why a network is refused whose answers change; apart: as `difference` gives it."""
    return (
        "its answers change from call to call, also in evaluation mode: logits of the same pairs "
        f"differ by {apart:.1%} of the largest; turn off noise and dropout, and fix what it draws"
    )


def difference(once: Tensor, again: Tensor) -> float:
    """How far two results are apart, relative to the largest number; 0 where a GPU's order of
    sums can do that.
    """
    if once.shape != again.shape:
        return float("inf")
    apart = (once - again).abs().max().item()
    largest = once.abs().max().item()
    type_of_numbers = once.dtype if once.is_floating_point() else torch.float64
    rounding = 64 * torch.finfo(type_of_numbers).eps * largest
    return apart / largest if apart > rounding and largest > 0 else 0.0
