"""Which device computes: one rule for training, sweeps, retraining, gradient checks and
analyses.
"""

import logging
import os
import re

import torch

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.core.wording import counted

# For tests: KB of shared memory of a card that this one stands in for (docs/engines.md)
SIMULATED_MEMORY = "ALGOPHASE_SHARED_MEMORY_KB"

log = logging.getLogger(__name__)


def choose_device(device: torch.device | str = "auto", *, strict: bool = False) -> torch.device:
    """The device of that name: auto, cpu, cuda (the current GPU), cuda:0, cuda:1, ...

    "auto" is the GPU, or the CPU on a machine without one. Where a GPU is asked for by name and the
    machine has none, the CPU takes over and a warning is logged; with `strict` that is an
    `InputError`. A GPU's number that does not exist on a machine with GPUs is always an
    `InputError`.

    Functions that take no `strict` of their own take the device this returns:

        algophase.analyze(network, device=choose_device("cuda", strict=True))
    """
    name = str(device) if isinstance(device, str | torch.device) else ""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise InputError(
            f"device is {shown(device)}; choose one of auto, cpu, cuda, cuda:0, cuda:1, ..."
        )
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        if strict:
            raise InputError(f"device is {name!r}; this machine has no GPU: choose auto or cpu")
        log.warning("no GPU was found for device %s: using the CPU instead", name)
        return torch.device("cpu")
    number = int(name.partition(":")[2] or torch.cuda.current_device())
    count = torch.cuda.device_count()
    if number >= count:
        raise InputError(
            f"device is {name!r}; this machine has {', '.join(f'cuda:{i}' for i in range(count))}"
        )
    return torch.device("cuda", number)


def device_name(device: torch.device) -> str:
    """What the hardware is called, as a sweep's table keeps it."""
    if device.type == "cuda":
        simulated = os.environ.get(SIMULATED_MEMORY)
        standing_in = "" if simulated is None else f" with {simulated} KB of shared memory"
        return torch.cuda.get_device_name(device) + standing_in
    return f"CPU, {counted(torch.get_num_threads(), 'thread')}"
