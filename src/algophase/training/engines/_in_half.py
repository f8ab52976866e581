"""What the engines in half precision share: what they can take, and how their kernels get their
tensors and sizes.

A network's result is the same bits in any ensemble: no program sees more than one network, sums
have a fixed order, and no size of a kernel depends on how many networks there are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings
from algophase.networks.stacking import padded_settings, power_of_two
from algophase.training.engines.cards import card_of, fitted
from algophase.training.engines.engine import Engine, missing_triton
from algophase.training.kernels.launch import Launch, launch

MOST_OUTPUTS = 128  # more would not fit into the registers
# Networks that take about as long as one (prototype, H200: 90 µs per epoch for 1, 220 for 16)
ALIKE = 8


def round_width(width: int) -> int:
    """Powers of two from 64 on. With Triton 3.6 a product whose right operand is 16 or 32 columns
    wide, outside of a loop, read where it must not now and then (H200: two layers of width 16,
    linear models of 16 hidden units).
    """
    return power_of_two(width, 64)


class InHalf(Engine):
    """values: tensors and sizes under the names that kernels have for them. judged: those that are
    others where all pairs are judged instead of trained on."""

    name: ClassVar[str] = "fused"
    any_loss: ClassVar[bool] = False
    values: dict[str, Any]
    judged: dict[str, Any]

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        if precision != "half":
            raise InputError(f"precision is {precision!r}; this engine has half")
        self.card = card_of(device)
        super().__init__(runs, device, precision)

    @classmethod
    def beyond(cls, run: RunSettings, device: torch.device) -> str | None:
        """Why no engine in half precision can train a run on a device, or None."""
        if run.task.logits > MOST_OUTPUTS:
            return f"it takes at most {MOST_OUTPUTS} outputs, not {run.task.logits}"
        if device.type != "cuda":
            return "it needs a CUDA device"
        return missing_triton() or card_of(device).refusal()

    @classmethod
    def precisions(cls, device: torch.device) -> tuple[str, ...]:
        return ("half",)

    @classmethod
    def padded(cls, runs: Sequence[RunSettings], device: torch.device) -> NetworkSettings:
        return padded_settings(runs, round_width)

    @classmethod
    def block(cls, run: RunSettings) -> int:
        return ALIKE

    def tensor(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(self.count, *shape, dtype=dtype, device=self.device)

    def half_tensor(self, *shape: int) -> Tensor:
        return self.tensor(*shape, dtype=torch.float16)

    def exponents(self, *shape: int) -> Tensor:
        return self.tensor(*shape, dtype=torch.int32)

    def label_table(self) -> Tensor | None:
        """The right answer to a and b in row b, column a, (p, 256). None for addition under its
        own names, whose answers the kernels compute.
        """
        if self.task.is_addition:
            return None
        table = torch.zeros(self.modulus, 256, dtype=torch.int8, device=self.device)
        table[:, : self.modulus] = self.labels.T
        return table

    def launch(self, kernel: Any, *programs: int, judge: bool = False, **sizes: Any) -> Launch:
        """A kernel with so many programs per network. sizes: what this launch alone has."""
        values = self.values | self.judged if judge else self.values
        return self.launch_with(values, kernel, *programs, **sizes)

    def launch_with(
        self, values: Mapping[str, Any], kernel: Any, *programs: int, **sizes: Any
    ) -> Launch:
        """The same with tensors and sizes that are given, and tiles that fit the card."""
        tiles = fitted(self.card, kernel.__name__, sizes)
        return launch(kernel, (*programs, self.count), values, **tiles)

    def parameter_values(self) -> dict[str, Any]:
        """The flat buffers, the length of a network's row in them, and where tensors start in it:
        AT_QKV of "QKV", and of a tensor of the first layer also where several have layers."""
        starts: dict[str, int] = {}
        for name, view in self.parameters.items():
            starts.setdefault(f"AT_{name.split()[0].upper()}", int(view.storage_offset()))
        flat, gradients = self.parameters.flat, self.gradients.flat
        return {"PARAMETERS": flat, "GRADIENTS": gradients, "size": flat.shape[1], **starts}


def token_sizes(task: TaskSettings) -> dict[str, int]:
    """Which tokens there are: P numbers, the second operand's from SECOND on, and the equals sign,
    or 0."""
    return {
        "P": task.modulus,
        "SECOND": task.modulus if task.separate_vocabularies else 0,
        "EQUALS": task.vocabulary - 1 if task.equals_sign else 0,
    }


def padded_channels(width: int, heads: int) -> int:
    """Channels of all heads together, with heads and their size padded to powers of two."""
    return power_of_two(heads, 1) * power_of_two(width // heads)
