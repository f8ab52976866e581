"""One-layer transformers on the whole p x p grid, with the backward pass derived by hand (`grid_tables`, `grid_core`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from algophase.settings import RunSettings, TransformerSettings
from algophase.threads import one_thread
from algophase.training.crew import Crew
from algophase.training.engine import Engine, run_values
from algophase.training.flat import Flat
from algophase.training.grid_core import Grid
from algophase.training.grid_part import Part
from algophase.training.grid_tables import TableMaker, Tables
from algophase.training.precision import matmul_precision
from algophase.training.sizing import SMALL, most_threads, operations

AT_ONCE = 8  # parts whose strips are computed before their shares are added up, which frees their memory


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
        cost = max(map(operations, self.runs))
        size = self.count if self.device.type == "cuda" else max(1, int(SMALL / cost))
        self.parts = [self._part(slice(start, start + size), rate, scale) for start in range(0, self.count, size)]
        heads, columns = self.settings.heads, (self.hidden, self.outputs, self.table_width)
        self.grid = Grid(self.labels, heads, *columns, self.gelu, like=self.parameters.flat)
        self.crew = Crew(most_threads(self.device, cost * self.count))

    def _part(self, rows: slice, rate: Tensor, scale: Tensor) -> Part:
        maker = TableMaker(self.task, rate[rows], scale[rows], self.hidden)
        return Part(self.task, self.parameters.part(rows), self.gradients.part(rows), self.weights[rows], maker)

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        if not isinstance(run.network, TransformerSettings):
            return f"it trains transformers, not {run.network.kind} networks"
        return None if run.network.layers == 1 else f"it trains one layer, not {run.network.layers}"

    @property
    def hidden(self) -> int:
        return 4 * self.settings.width

    @property
    def outputs(self) -> int:
        return self.task.logits

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
        return Flat(self.count, layout, self.device, self.dtype)

    def load(self, stacked: dict[str, Tensor]) -> None:
        P, m, heads, size = self.parameters, self.hidden, self.settings.heads, self.settings.head_size
        P["embed"].copy_(stacked["embed.W_E"])
        P["pos"].copy_(stacked["pos_embed.W_pos"])
        for index, name in enumerate("QKV"):
            P["QKV"][:, :, index, :heads, :size].copy_(stacked[f"blocks.0.attn.W_{name}"].transpose(1, 2))
        P["O"][:, :heads, :size].copy_(stacked["blocks.0.attn.W_O"])
        P["IU"][:, :, :m].copy_(stacked["blocks.0.mlp.W_in"])
        P["IU"][:, :, m : m + self.outputs].copy_(stacked["unembed.W_U"])
        for name in ("b_in", "W_out", "b_out"):
            P[name].copy_(stacked[f"blocks.0.mlp.{name}"])

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        P, m, heads, size = values or self.parameters, self.hidden, self.settings.heads, self.settings.head_size
        qkv = P["QKV"][:, :, :, :heads, :size].transpose(1, 3)  # (n, h, 3, d, e)
        return {
            "embed.W_E": P["embed"],
            "pos_embed.W_pos": P["pos"],
            **{f"blocks.0.attn.W_{name}": qkv[:, :, index] for index, name in enumerate("QKV")},
            "blocks.0.attn.W_O": P["O"][:, :heads, :size],
            "blocks.0.mlp.W_in": P["IU"][:, :, :m],
            **{f"blocks.0.mlp.{name}": P[name] for name in ("b_in", "W_out", "b_out")},
            "unembed.W_U": P["IU"][:, :, m : m + self.outputs],
        }

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        with self._computing():
            made = list(zip(self.parts, self._tables(), strict=True))
            losses = [self._losses(made[start : start + AT_ONCE]) for start in range(0, len(made), AT_ONCE)]
            self.crew.run([half for part, tables in made for half in part.backward_halves(tables)])
        return torch.cat(losses)

    def _tables(self) -> list[Tables]:
        """Of every part."""
        halves: list[Callable[[], Any]] = []
        for part in self.parts:
            halves += [partial(part.maker.attend, part.parameters), partial(part.maker.project, part.parameters)]
        made = self.crew.run(halves)
        joins = zip(self.parts, made[::2], made[1::2], strict=True)
        return self.crew.run([partial(part.maker.join, *both) for part, *both in joins])

    def _losses(self, made: Sequence[tuple[Part, Tables]]) -> Tensor:
        """The grid of some parts, forward and backward: the loss per network; the tables' gradients are left in the parts."""
        strips = self.grid.strips
        networks = [(part, tables, i) for part, tables in made for i in range(part.count)]
        pieces = [
            partial(self.grid.share, tables, i, strip, part.weights[i]) for part, tables, i in networks for strip in strips
        ]
        shares = self.crew.run(pieces, self.grid.put_back)
        sums = [
            partial(self.grid.add_up, shares[place * len(strips) : (place + 1) * len(strips)], i, part.table_gradients)
            for place, (part, _, i) in enumerate(networks)
        ]
        losses = self.crew.run(sums)
        for part, _ in made:
            part.maker.share_base(part.table_gradients)
        return torch.stack(losses)

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        with self._computing():
            networks = [(tables, i) for tables in self._tables() for i in range(len(tables.base))]
            pieces = [partial(self.grid.judge, *network, strip) for network in networks for strip in self.grid.strips]
            judged = self.crew.run(pieces)
        losses, rights = (torch.cat(parts).view(self.count, self.modulus, -1).mT for parts in zip(*judged, strict=True))
        return losses, rights

    @contextmanager
    def _computing(self) -> Iterator[None]:
        with matmul_precision(self.device, self.precision), one_thread(self.device.type == "cpu"):
            yield
