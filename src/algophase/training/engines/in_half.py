"""What the engines in half precision share: what they can take, their memory, and kernels ready to
launch.

A network's result is the same bits in any ensemble: no program sees more than one network, sums
have a fixed order, and no size of a kernel depends on how many networks there are.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import NetworkSettings, RunSettings
from algophase.networks.stacking import padded_settings, power_of_two
from algophase.training.engines.engine import Engine, missing_triton

MOST_OUTPUTS = 128  # more would not fit into the registers
ALIKE = 8  # networks that take about as long as one


def round_width(width: int) -> int:
    """Powers of two from 64 on. With Triton 3.6 a product whose right operand is 16 or 32 columns
    wide, outside of a loop, read
    where it must not now and then (H200: two layers of width 16, linear models of 16 hidden units).
    """
    return power_of_two(width, 64)


class Step(NamedTuple):
    """A kernel ready to launch."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def launch(self) -> None:
        self.kernel[self.grid](*self.arguments, **self.options)


class InHalf(Engine):
    name: ClassVar[str] = "fused"

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        if precision != "half":
            raise InputError(f"precision is {precision!r}; this engine has half")
        super().__init__(runs, device, precision)

    @classmethod
    def beyond(cls, run: RunSettings, device: torch.device) -> str | None:
        """Why no engine in half precision can train a run on a device, or None."""
        if run.task.logits > MOST_OUTPUTS:
            return f"it takes at most {MOST_OUTPUTS} outputs, not {run.task.logits}"
        if device.type != "cuda":
            return "it needs a CUDA device"
        return missing_triton()

    @classmethod
    def precisions(cls, device: torch.device) -> tuple[str, ...]:
        return ("half",)

    @classmethod
    def padded(cls, runs: Sequence[RunSettings], device: torch.device) -> NetworkSettings:
        return padded_settings(runs, round_width)

    @classmethod
    def block(cls, run: RunSettings) -> int:
        return ALIKE

    def _new(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(self.count, *shape, dtype=dtype, device=self.device)
