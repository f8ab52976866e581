"""The grid of one-layer transformers in Triton kernels: what sweeps on a GPU run on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from algophase.settings import NetworkSettings, RunSettings, TransformerSettings
from algophase.training.grid import GridTransformer
from algophase.training.grid_tables import TableGradients, Tables
from algophase.training.loss import loss_and_slope
from algophase.training.precision import matmul_precision, missing_triton

if TYPE_CHECKING:
    from algophase.training.kernels.launch import Launch

WIDTH_MULTIPLE = 16  # so that hidden units come in tiles of 64
MOST_CHANNELS = 128  # up to here the forward kernel multiplies by the projection itself
RUNS_OF_A = 4  # parts the backward pass over a is cut into: enough programs for a small ensemble, few parts to add up
DOT_PRECISION = {"float32": "ieee", "tf32": "tf32", "tf32x3": "tf32x3"}


def _power_of_two(value: int) -> int:
    return 1 << (value - 1).bit_length()


class FusedTransformer(GridTransformer):
    name: ClassVar[str] = "fused"

    reads_tables: ClassVar[bool] = False

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        p, block, width = self.modulus, self.row_block, self.table_width
        channels, outputs = self.settings.heads * self.settings.head_size, width - self.hidden
        self.z, self.dz = self._zeros(p, block, channels), self._zeros(p, block, channels)
        # TF32 products round the hidden units to eleven significant bits, which is what float16 keeps: half the traffic.
        self.hidden_units = self._zeros(p, block, self.hidden).to(torch.float16 if precision == "tf32" else self.dtype)
        self.back = self._zeros(p, block, width)  # gradient of pre-activations, then of logits
        self.base_parts = self._zeros(RUNS_OF_A, block, self.hidden)
        self.readout_parts = self._zeros(RUNS_OF_A, self.hidden, outputs)
        self.d_values = self._zeros(2 * p, channels)
        self.pair_loss = self._zeros(p, block)

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(self.count, *shape, device=self.device, dtype=self.dtype)

    @property
    def row_block(self) -> int:
        """b padded to a power of two."""
        return max(16, _power_of_two(self.modulus))

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        reason = super().unsupported(run, device)
        if reason is not None:
            return reason
        if run.task.equals_sign:
            return "it does not take the equals sign"
        if run.task.vocabulary > 256:
            return f"it takes at most 256 outputs, not {run.task.vocabulary}"
        if device.type != "cuda":
            return "it needs a CUDA device"
        return missing_triton()

    @classmethod
    def precisions(cls, device: torch.device) -> tuple[str, ...]:
        return ("tf32", "float32", "tf32x3")

    @staticmethod
    def padded(runs: Sequence[RunSettings]) -> NetworkSettings:
        settings = GridTransformer.padded(runs)
        assert isinstance(settings, TransformerSettings)
        width = -(-settings.width // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
        return TransformerSettings(width, settings.layers, settings.heads, settings.activation)

    @property
    def table_width(self) -> int:
        return self.hidden + max(32, _power_of_two(self.outputs))

    def _allocate_gradients(self) -> TableGradients:
        p, width = self.modulus, self.table_width
        return TableGradients(
            attention_1=self._zeros(self.settings.heads, p, p),
            attention_2=None,
            base=self._zeros(p, width),
            readout=self._zeros(self.hidden, width - self.hidden),
        )

    def _launch(self, at_hand: bool) -> "tuple[Launch, Launch]":
        """Tile sizes measured on an H200 (docs/speed.md): large where TF32 and 64 outputs leave the registers for it."""
        from algophase.training.kernels.launch import Launch

        roomy = self.precision == "tf32" and self.table_width - self.hidden <= 64 and self.row_block <= 64
        if at_hand:
            forward = Launch(tile=32, rows=64, warps=4, stages=2)
        elif roomy:
            forward = Launch(tile=64, rows=256, warps=8, stages=1)
        else:
            forward = Launch(tile=32, rows=64, warps=4, stages=1)
        large = roomy and self.hidden % 128 == 0
        backward = Launch(tile=128, rows=0, warps=8, stages=2) if large else Launch(tile=32, rows=0, warps=4, stages=2)
        return forward, backward

    def core(self, tables: Tables) -> Tensor:
        from algophase.training.kernels.grid_backward import grid_backward
        from algophase.training.kernels.grid_forward import grid_forward
        from algophase.training.kernels.grid_mix import mix, mix_backward

        out, p, m = self.table_gradients, self.modulus, self.hidden
        attention, readout = tables.attention_1, tables.readout
        values, projected = tables.values.transpose(1, 2).flatten(2), tables.projected.flatten(1, 2)  # (n, 2p, c), (n, c, W)
        gelu, precision = self.settings.activation == "gelu", DOT_PRECISION[self.precision]
        mix(attention, values, self.z)
        inputs = (self.z, projected, tables.base, readout, self.weights)
        results = (self.hidden_units, self.back, self.pair_loss)
        at_hand = projected.shape[1] > MOST_CHANNELS
        if at_hand:
            torch.bmm(self.z.flatten(1, 2), projected, out=self.back.flatten(1, 2))
        forward, backward = self._launch(at_hand)
        grid_forward(*inputs, *results, outputs=self.outputs, gelu=gelu, precision=precision, at_hand=at_hand, launch=forward)
        parts = (self.base_parts, self.readout_parts)
        grid_backward(readout, self.hidden_units, self.back, *parts, gelu=gelu, precision=precision, launch=backward)
        pairs, back = self.z.flatten(1, 2), self.back.flatten(1, 2)
        torch.bmm(back, projected.mT, out=self.dz.flatten(1, 2))
        mix_backward(attention, values, self.dz, out.attention_1, self.d_values)
        out.values, out.projected = self.d_values, torch.bmm(pairs.mT, back)
        torch.sum(self.readout_parts, dim=1, out=out.readout)
        torch.sum(self.base_parts[:, :, :p], dim=1, out=out.base[:, :, :m])
        torch.sum(self.back[:, :, :p, m:], dim=1, out=out.base[:, :, m:])
        return self.pair_loss.sum((1, 2))

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        p, gelu = self.modulus, self.settings.activation == "gelu"
        losses, rights = [], []
        with matmul_precision(self.device, self.precision):
            tables = self.maker.forward(self.parameters)
            for index in range(self.count):  # one network's grid at a time
                v = tables.values[index]  # (h, 2p, e)
                z = tables.attention_1[index, ..., None] * (v[:, :p, None] - v[:, None, p:])  # (h, a, b, e)
                x = (z.permute(1, 2, 0, 3).flatten(2) @ tables.projected[index].flatten(0, 1)).add_(tables.base[index])
                raw = x[..., : self.hidden]
                post = torch.nn.functional.gelu(raw) if gelu else raw.relu_()
                logits = (post @ tables.readout[index] + x[..., self.hidden :])[..., : self.outputs]
                losses.append(loss_and_slope(logits, self.labels)[0])
                rights.append(logits.argmax(-1) == self.labels)
        return torch.stack(losses), torch.stack(rights)
