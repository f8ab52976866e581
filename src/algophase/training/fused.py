"""The grid of one-layer transformers in Triton kernels: what sweeps on a GPU run on."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from algophase.networks.stacking import power_of_two
from algophase.settings import RunSettings, TransformerSettings
from algophase.training.engine import ONLY_ADDS
from algophase.training.grid import GridTransformer
from algophase.training.grid_tables import TableGradients, TableMaker, Tables
from algophase.training.loss import loss_and_right
from algophase.training.precision import matmul_precision, missing_triton

if TYPE_CHECKING:
    from algophase.training.kernels.launch import Launch

BLOCK = 64  # networks a library product always gets, up to width 128
WIDE_BLOCK = 16  # the same above, counted in networks of width 128
STREAMS = 8  # on which blocks overlap
MOST_OUTPUTS = 128  # more would not fit into the registers
MOST_CHANNELS = 128  # up to here the forward kernel multiplies by the projection itself
RUNS_OF_A = 4  # parts the backward pass over a is cut into: enough programs for a small ensemble, few parts to add up
DOT_PRECISION = {"float32": "ieee", "tf32": "tf32", "tf32x3": "tf32x3"}


def block_size(width: int) -> int:
    """Networks a library product gets: at 16 x 128 channels and more the card is full, and small blocks leave few spare."""
    return BLOCK if width <= 128 else max(1, WIDE_BLOCK * 128 // power_of_two(width, 1))


class FusedTransformer(GridTransformer):
    """A network's result is the same bits in any ensemble.

    Kernels see to that themselves; a library's choice of algorithm for a batched product depends on the batch, so those
    always get as many networks as their width says, spare ones (all zero) filling the last block. Kernels pass over the
    spare ones.
    """

    name: ClassVar[str] = "fused"
    rounds_sizes_on: ClassVar[tuple[str, ...]] = ("cuda", "cpu")  # hidden units come in tiles of 64

    def prepare(self, rate: Tensor, scale: Tensor) -> None:
        p, rows, width, heads = self.modulus, self.row_block, self.table_width, self.settings.heads
        channels, outputs = heads * self.settings.head_size, width - self.hidden
        self.blocks = [slice(start, start + self.per_block) for start in range(0, self.capacity, self.per_block)]
        spare = rate.new_ones(self.capacity - self.count)
        rate, scale = torch.cat([rate, spare]), torch.cat([scale, spare])
        self.makers = [
            TableMaker(self.task, rate[block], scale[block], self.hidden, with_tables=False) for block in self.blocks
        ]
        streams = min(STREAMS, len(self.blocks)) if self.device.type == "cuda" else 0
        self.streams = [torch.cuda.Stream(self.device) for _ in range(streams)]
        self.at_hand = channels > MOST_CHANNELS
        # what the kernels read, ...
        maps = 2 if self.task.equals_sign else 1  # attention to a and to b, or one that gives both
        self.attention, self.values = self._zeros(maps, heads, p, p), self._zeros(2 * p, channels)
        self.projected, self.base = self._zeros(channels, width), self._zeros(p, width)
        self.readout = self._zeros(self.hidden, outputs)
        # ... what they pass on, ...
        self.z, self.dz = self._zeros(p, rows, channels), self._zeros(p, rows, channels)
        # TF32 products round the hidden units to eleven significant bits, which is what float16 keeps: half the traffic.
        self.hidden_units = self._zeros(p, rows, self.hidden).to(torch.float16 if self.precision == "tf32" else self.dtype)
        self.back = self._zeros(p, rows, width)  # gradient of pre-activations, then of logits
        self.base_parts = self._zeros(RUNS_OF_A, rows, self.hidden)
        self.readout_parts = self._zeros(RUNS_OF_A, self.hidden, outputs)
        self.pair_loss = self._zeros(p, rows)
        # ... and the gradients they leave
        self.d_attention, self.d_values = self._zeros(maps, heads, p, p), self._zeros(2 * p, channels)
        self.d_projected, self.d_base = self._zeros(channels, width), self._zeros(1 if maps == 2 else p, width)
        self.d_readout = self._zeros(self.hidden, outputs)

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(self.capacity, *shape, device=self.device, dtype=self.dtype)

    @property
    def capacity(self) -> int:
        return -(-self.count // self.per_block) * self.per_block

    @property
    def per_block(self) -> int:
        return block_size(self.settings.width)

    @classmethod
    def block(cls, run: RunSettings) -> int:
        assert isinstance(run.network, TransformerSettings)
        return block_size(run.network.width)  # padding stays below the next power of two

    @property
    def row_block(self) -> int:
        """b padded to a power of two."""
        return power_of_two(self.modulus)

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        reason = super().unsupported(run, device)
        if reason is not None:
            return reason
        if not run.task.is_addition:
            return ONLY_ADDS
        if run.task.logits > MOST_OUTPUTS:
            return f"it takes at most {MOST_OUTPUTS} outputs, not {run.task.logits}"
        if device.type != "cuda":
            return "it needs a CUDA device"
        return missing_triton()

    @classmethod
    def precisions(cls, device: torch.device) -> tuple[str, ...]:
        return ("tf32", "float32", "tf32x3")

    @property
    def table_width(self) -> int:
        return self.hidden + power_of_two(self.outputs, 32)

    def _launch(self) -> "tuple[Launch, Launch]":
        """Tile sizes measured on an H200 (docs/notes/tuning.md): large where TF32 and 64 outputs leave the registers for it."""
        from algophase.training.kernels.launch import Launch

        roomy = self.precision == "tf32" and self.table_width - self.hidden <= 64 and self.row_block <= 64
        if self.at_hand:
            forward = Launch(tile=32, rows=128, warps=8, stages=3)
        elif roomy:
            forward = Launch(tile=64, rows=256, warps=8, stages=1)
        else:
            forward = Launch(tile=32, rows=64, warps=4, stages=1)
        large = roomy and self.hidden % 128 == 0
        backward = Launch(tile=128, rows=0, warps=8, stages=2) if large else Launch(tile=32, rows=0, warps=4, stages=2)
        return forward, backward

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        tables: dict[int, Tables] = {}
        with matmul_precision(self.device, self.precision):
            self._each_block(lambda index, block: tables.update({index: self._before_grid(index, block)}))
            self._grid()
            self._each_block(lambda index, block: self._after_grid(index, block, tables[index]))
        return self.pair_loss.sum((1, 2))[: self.count]

    def _each_block(self, work: Callable[[int, slice], None]) -> None:
        """Blocks do not wait for each other: on a GPU their many small operations overlap on a few streams."""
        if not self.streams:
            for index, block in enumerate(self.blocks):
                work(index, block)
            return
        main = torch.cuda.current_stream(self.device)
        for stream in self.streams:
            stream.wait_stream(main)
        for index, block in enumerate(self.blocks):
            with torch.cuda.stream(self.streams[index % len(self.streams)]):
                work(index, block)
        for stream in self.streams:
            main.wait_stream(stream)

    def _before_grid(self, index: int, block: slice) -> Tables:
        from algophase.training.kernels.grid_mix import mix

        t = self.makers[index].forward(self.parameters.part(block))
        self.attention[block, 0] = t.attention_1
        if t.attention_2 is not None:
            self.attention[block, 1] = t.attention_2
        self.values[block].unflatten(2, (self.settings.heads, -1)).copy_(t.values.transpose(1, 2))
        self.projected[block] = t.projected.flatten(1, 2)
        self.base[block], self.readout[block] = t.base, t.readout  # the equals sign's base is the same for every b
        real = self._real(block)
        mix(self.attention[real], self.values[real], self.z[real])
        if self.at_hand:
            torch.bmm(self.z[block].flatten(1, 2), self.projected[block], out=self.back[block].flatten(1, 2))
        return t

    def _grid(self) -> None:
        from algophase.training.kernels.grid_backward import grid_backward
        from algophase.training.kernels.grid_forward import grid_forward

        precision, n = DOT_PRECISION[self.precision], self.count
        forward, backward = self._launch()
        readout, hidden_units, back = self.readout[:n], self.hidden_units[:n], self.back[:n]
        grid_forward(
            self.z[:n],
            self.projected[:n],
            self.base[:n],
            readout,
            self.weights,
            hidden_units,
            back,
            self.pair_loss[:n],
            outputs=self.outputs,
            gelu=self.gelu,
            precision=precision,
            at_hand=self.at_hand,
            launch=forward,
        )
        parts = (self.base_parts[:n], self.readout_parts[:n])
        grid_backward(readout, hidden_units, back, *parts, gelu=self.gelu, precision=precision, launch=backward)

    def _real(self, block: slice) -> slice:
        """The networks of a block without the spare ones."""
        return slice(block.start, min(block.stop, self.count))

    def _after_grid(self, index: int, block: slice, t: Tables) -> None:
        from algophase.training.kernels.grid_mix import mix_backward

        back = self.back[block].flatten(1, 2)
        torch.bmm(back, self.projected[block].mT, out=self.dz[block].flatten(1, 2))
        torch.bmm(self.z[block].flatten(1, 2).mT, back, out=self.d_projected[block])
        real = self._real(block)
        mix_backward(self.attention[real], self.values[real], self.dz[real], self.d_attention[real], self.d_values[real])
        gradients = self._gradients(block)
        self.makers[index].backward(self.parameters.part(block), t, gradients, self.gradients.part(block))

    def _gradients(self, block: slice) -> TableGradients:
        """What the kernels found for a block, the parts of a sum added up."""
        p, m, equals = self.modulus, self.hidden, self.task.equals_sign
        # each b has a base of its own, or the equals sign's serves them all
        over, d_base = ((1, 2), self.d_base[block, 0]) if equals else ((1,), self.d_base[block])
        torch.sum(self.readout_parts[block], dim=1, out=self.d_readout[block])
        torch.sum(self.base_parts[block, :, :p], dim=over, out=d_base[..., :m])
        torch.sum(self.back[block, :, :p, m:], dim=over, out=d_base[..., m:])
        return TableGradients(
            attention_1=self.d_attention[block, 0],
            attention_2=self.d_attention[block, 1] if equals else None,
            base=self.d_base[block],
            readout=self.d_readout[block],
            values=self.d_values[block],
            projected=self.d_projected[block],
        )

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        p, judged = self.modulus, []
        with matmul_precision(self.device, self.precision):
            for maker, block in zip(self.makers, self.blocks, strict=True):
                t = maker.forward(self.parameters.part(block))
                for index in range(min(self.per_block, self.count - block.start)):  # one network's grid at a time
                    v = t.values[index]  # (h, 2p, e)
                    if t.attention_2 is None:
                        z = t.attention_1[index, ..., None] * (v[:, :p, None] - v[:, None, p:])  # (h, a, b, e)
                    else:
                        z = t.attention_1[index, ..., None] * v[:, :p, None] + t.attention_2[index, ..., None] * v[:, None, p:]
                    x = (z.permute(1, 2, 0, 3).flatten(2) @ t.projected[index].flatten(0, 1)).add_(t.base[index])
                    raw = x[..., : self.hidden]
                    post = torch.nn.functional.gelu(raw) if self.gelu else raw.relu_()
                    logits = (post @ t.readout[index] + x[..., self.hidden :])[..., : self.outputs]
                    judged.append(loss_and_right(logits, self.labels))
        losses, rights = zip(*judged, strict=True)
        return torch.stack(losses), torch.stack(rights)
