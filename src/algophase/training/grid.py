"""One-layer transformers on the whole p x p grid, with the backward pass derived by hand (`grid_tables`, `grid_core`)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from algophase.settings import RunSettings, TransformerSettings
from algophase.training.engine import Engine, run_values
from algophase.training.flat import Flat
from algophase.training.grid_core import Grid
from algophase.training.grid_tables import TableGradients, TableMaker, Tables
from algophase.training.loss import loss_and_right
from algophase.training.precision import matmul_precision


class GridTransformer(Engine):
    name: ClassVar[str] = "grid"
    settings: TransformerSettings
    output_multiple: ClassVar[int] = 16  # padded outputs: rows start on a cache line, products have round sizes

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        rate = run_values(runs, "attention_rate", device, self.dtype)
        scale = run_values(runs, "head_size", device, self.dtype).rsqrt()
        self.gelu = self.settings.activation == "gelu"
        self.prepare(rate, scale)

    def prepare(self, rate: Tensor, scale: Tensor) -> None:
        """Everything an epoch needs beside the parameters; rate and scale (n,)."""
        self.maker = TableMaker(self.task, rate, scale, self.hidden)
        self.table_gradients = self._allocate_gradients()
        self.grid = Grid(self.labels, self.hidden, self.outputs, self.table_width, self.gelu, self.dtype)

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        if not isinstance(run.network, TransformerSettings):
            return f"it trains transformers, not {run.network.kind} networks"
        return None if run.network.layers == 1 else f"it trains one layer, not {run.network.layers}"

    @property
    def hidden(self) -> int:
        return 4 * self.settings.width

    @property
    def capacity(self) -> int:
        """Rows of parameters to allocate."""
        return self.count

    @property
    def outputs(self) -> int:
        return self.task.vocabulary

    @property
    def table_width(self) -> int:
        return self.hidden + -(-self.outputs // self.output_multiple) * self.output_multiple

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        heads, d, size = shapes["blocks.0.attn.W_Q"]
        layout = {
            "embed": shapes["embed.W_E"],
            "pos": shapes["pos_embed.W_pos"],
            "QKV": (d, 3, heads, size),
            "O": (heads, size, d),
            "IU": (d, self.table_width),
            "b_in": (self.hidden,),
            "W_out": (self.hidden, d),
            "b_out": (d,),
        }
        return Flat(self.count, layout, self.device, self.dtype, self.capacity)

    def load(self, stacked: dict[str, Tensor]) -> None:
        P, m = self.parameters, self.hidden
        P["embed"].copy_(stacked["embed.W_E"])
        P["pos"].copy_(stacked["pos_embed.W_pos"])
        for index, name in enumerate("QKV"):
            P["QKV"][:, :, index].copy_(stacked[f"blocks.0.attn.W_{name}"].transpose(1, 2))
        P["O"].copy_(stacked["blocks.0.attn.W_O"])
        P["IU"][:, :, :m].copy_(stacked["blocks.0.mlp.W_in"])
        P["IU"][:, :, m : m + self.outputs].copy_(stacked["unembed.W_U"])
        for name in ("b_in", "W_out", "b_out"):
            P[name].copy_(stacked[f"blocks.0.mlp.{name}"])

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        P, m = self.parameters if values is None else values, self.hidden
        return {
            "embed.W_E": P["embed"],
            "pos_embed.W_pos": P["pos"],
            **{f"blocks.0.attn.W_{name}": P["QKV"][:, :, index].transpose(1, 2) for index, name in enumerate("QKV")},
            "blocks.0.attn.W_O": P["O"],
            "blocks.0.mlp.W_in": P["IU"][:, :, :m],
            **{f"blocks.0.mlp.{name}": P[name] for name in ("b_in", "W_out", "b_out")},
            "unembed.W_U": P["IU"][:, :, m : m + self.outputs],
        }

    def _allocate_gradients(self) -> TableGradients:
        n, p, heads, width = self.count, self.modulus, self.settings.heads, self.table_width

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(n, *shape, device=self.device, dtype=self.dtype)

        equals = self.task.equals_sign
        return TableGradients(
            attention_1=zeros(heads, p, p),
            attention_2=zeros(heads, p, p) if equals else None,
            tables=zeros(heads, 2 * p, width),
            base=zeros(1 if equals else p, width),
            readout=zeros(self.hidden, width - self.hidden),
        )

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        with matmul_precision(self.device, self.precision):
            tables = self.maker.forward(self.parameters)
            loss = self.core(tables)
            self.maker.backward(self.parameters, tables, self.table_gradients, self.gradients)
        return loss

    def core(self, tables: Tables) -> Tensor:
        """The grid, forward and backward: the loss per network, and the tables' gradients in `table_gradients`."""
        losses = [self.grid.loss(tables, i, self.weights[i], self.table_gradients) for i in range(self.count)]
        return torch.stack(losses)

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        with matmul_precision(self.device, self.precision):
            tables = self.maker.forward(self.parameters)
            judged = [loss_and_right(self.grid.logits_of(tables, index), self.labels) for index in range(self.count)]
        losses, rights = zip(*judged, strict=True)
        return torch.stack(losses), torch.stack(rights)
