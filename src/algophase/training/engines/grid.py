"""One-layer transformers on the grid of pairs, from tables over tokens, with the backward pass
derived by hand (`grid_tables`, `grid_core`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import torch
from torch import Tensor

from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.core.threads import one_thread
from algophase.training.engines._grid_core import Grid, Pairs
from algophase.training.engines._grid_tables import TableMaker, Tables, Terms
from algophase.training.engines.crew import Crew
from algophase.training.engines.engine import Engine, matmul_precision, run_values
from algophase.training.engines.flat import Flat
from algophase.training.engines.sizing import SMALL, most_threads, operations

# Networks whose strips are computed before their shares are added up, which frees their memory
AT_ONCE = 8


class Part:
    """Some networks of a grid ensemble whose tables are made together: one network, or several so
    small that each alone would mostly be overhead.
    """

    def __init__(
        self, task: TaskSettings, parameters: Flat, gradients: Flat, maker: TableMaker
    ) -> None:
        """Parameters and their gradients: of these networks alone."""
        self.parameters, self.gradients, self.maker = parameters, gradients, maker
        self.terms = Terms.like(task, parameters)
        self.d_terms = Terms.like(task, parameters)
        self.d_terms.coefficients.zero_()  # and it stays so at pairs that are not trained on

    def first_halves(self) -> list[Callable[[], Any]]:
        """What an epoch begins with, for two threads: the tables' halves, which `second_halves`
        makes terms of.
        """
        arguments = (self.parameters, self.terms)
        return [
            partial(self.maker.attend, *arguments),
            partial(self.maker.project, *arguments),
        ]

    def second_halves(self, tables: Tables) -> list[Callable[[], None]]:
        return [
            partial(self.maker.complete_first, tables, self.terms),
            partial(self.maker.complete_second, tables, self.terms),
        ]

    def backward_halves(self, tables: Tables) -> list[Callable[[], None]]:
        arguments = (self.parameters, tables, self.d_terms, self.gradients)
        return [
            partial(self.maker.backward_inputs, *arguments),
            partial(self.maker.backward_projection, *arguments),
        ]


class GridTransformer(Engine):
    name: ClassVar[str] = "grid"
    settings: TransformerSettings
    # Padded outputs: rows start on a cache line, products have round sizes
    output_multiple: ClassVar[int] = 16

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
        starts = range(0, self.count, size)
        self.parts = [self._part(slice(start, start + size), rate, scale) for start in starts]
        pairs = int(self.weights[0].count_nonzero())
        terms_of_part = self.parts[0].terms
        self.grid = Grid(
            self.labels, self.hidden, self.outputs, self.gelu, terms_of_part, pairs, self.loss
        )
        terms: list[Terms] = []
        gradients: list[Terms] = []
        for part in self.parts:
            terms += part.terms.each()
            gradients += part.d_terms.each()
        pairs_of_networks = map(self.grid.pairs, self.weights)
        self.networks = list(zip(terms, gradients, pairs_of_networks, strict=True))
        if self.device.type == "cpu":
            # Allocated and freed: glibc then keeps freed memory up to that size. Pages that are new
            # every epoch cost 1 ms.
            torch.empty(2**24, dtype=torch.uint8)
        self.crew = Crew(most_threads(self.device, cost * self.count))

    def _part(self, rows: slice, rate: Tensor, scale: Tensor) -> Part:
        maker = TableMaker(self.task, rate[rows], scale[rows], self.hidden)
        return Part(self.task, self.parameters.part(rows), self.gradients.part(rows), maker)

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        if not isinstance(run.network, TransformerSettings):
            return f"it trains transformers, not {run.network.kind} networks"
        return None if run.network.layers == 1 else f"it trains one layer, not {run.network.layers}"

    @classmethod
    def working_numbers(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """Tables with their gradients; of every pair attention, and which rows of the tables it
        takes."""
        assert isinstance(network, TransformerSettings)
        columns = 4 * network.width + 2 * task.logits
        tables = 2 * task.modulus * network.heads * columns
        return 4 * tables + (18 * network.heads + 10) * task.modulus**2

    @property
    def hidden(self) -> int:
        return 4 * self.settings.width

    @property
    def outputs(self) -> int:
        return self.task.logits

    @property
    def table_width(self) -> int:
        multiples = -(-self.outputs // self.output_multiple)
        return self.hidden + multiples * self.output_multiple

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
        P = self.parameters
        heads, size = self.settings.heads, self.settings.head_size
        direct = slice(self.hidden, self.hidden + self.outputs)  # columns of IU
        P["embed"].copy_(stacked["embed.W_E"])
        P["pos"].copy_(stacked["pos_embed.W_pos"])
        for index, name in enumerate("QKV"):
            weights = stacked[f"blocks.0.attn.W_{name}"].transpose(1, 2)
            P["QKV"][:, :, index, :heads, :size].copy_(weights)
        P["O"][:, :heads, :size].copy_(stacked["blocks.0.attn.W_O"])
        P["IU"][:, :, : self.hidden].copy_(stacked["blocks.0.mlp.W_in"])
        P["IU"][:, :, direct].copy_(stacked["unembed.W_U"])
        for name in ("b_in", "W_out", "b_out"):
            P[name].copy_(stacked[f"blocks.0.mlp.{name}"])

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        P = values or self.parameters
        heads, size = self.settings.heads, self.settings.head_size
        direct = slice(self.hidden, self.hidden + self.outputs)  # columns of IU
        qkv = P["QKV"][:, :, :, :heads, :size].transpose(1, 3)  # (n, h, 3, d, e)
        exported = {"embed.W_E": P["embed"], "pos_embed.W_pos": P["pos"]}
        for index, name in enumerate("QKV"):
            exported[f"blocks.0.attn.W_{name}"] = qkv[:, :, index]
        exported["blocks.0.attn.W_O"] = P["O"][:, :heads, :size]
        exported["blocks.0.mlp.W_in"] = P["IU"][:, :, : self.hidden]
        for name in ("b_in", "W_out", "b_out"):
            exported[f"blocks.0.mlp.{name}"] = P[name]
        exported["unembed.W_U"] = P["IU"][:, :, direct]
        return exported

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        with self._computing():
            tables = self._tables()
            losses: list[Tensor] = []
            for start in range(0, self.count, AT_ONCE):
                losses += self._losses(self.networks[start : start + AT_ONCE])
            halves: list[Callable[[], None]] = []
            for part, part_tables in zip(self.parts, tables, strict=True):
                part.maker.share_base(part.d_terms)
                halves += part.backward_halves(part_tables)
            self.crew.run(halves)
        # In the caller's mode: tensors made in inference mode could not be changed outside it.
        return torch.stack(losses)

    def _tables(self) -> list[Tables]:
        """Of every part; its terms are made too."""
        first = [half for part in self.parts for half in part.first_halves()]
        results = self.crew.run(first)
        tables: list[Tables] = []
        second: list[Callable[[], None]] = []
        for part, attended, projected in zip(self.parts, results[::2], results[1::2], strict=True):
            tables.append(Tables(**vars(attended), projected=projected))
            second += part.second_halves(tables[-1])
        self.crew.run(second)
        return tables

    def _losses(self, networks: Sequence[tuple[Terms, Terms, list[Pairs]]]) -> list[Tensor]:
        """The grid of some networks, forward and backward: their losses; the terms' gradients
        are left in the parts.
        """
        pieces = []
        for terms, _, strips in networks:
            pieces += [partial(self.grid.share, terms, pairs) for pairs in strips]
        shares = iter(self.crew.run(pieces, twice=True))
        count = len(self.grid.strips)
        sums: list[Callable[[], Any]] = []
        for _, gradients, strips in networks:
            own = list(islice(shares, count))
            sums += [
                partial(self.grid.add_tables, own, gradients),
                partial(self.grid.add_rest, own, strips, gradients),
            ]
        return self.crew.run(sums)[1::2]

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        with self._computing():
            self._tables()
            pieces = []
            for terms, *_ in self.networks:
                pieces += [partial(self.grid.judge, terms, pairs) for pairs in self.grid.every]
            losses, rights = zip(*self.crew.run(pieces), strict=True)
        return self._as_grid(losses), self._as_grid(rights)

    def _as_grid(self, parts: Sequence[Tensor]) -> Tensor:
        """(n, a, b) of what strips say of their pairs."""
        return torch.cat(list(parts)).view(self.count, self.modulus, -1).mT

    @contextmanager
    def _computing(self) -> Iterator[None]:
        precision = matmul_precision(self.device, self.precision)
        threads = one_thread(self.device.type == "cpu")
        # inference mode costs each operation less than no_grad
        with precision, threads, torch.inference_mode():
            yield
