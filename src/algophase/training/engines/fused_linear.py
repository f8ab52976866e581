"""Linear models with products in half precision: the gradient in four Triton kernels, five with two
layers.

Rows are pairs: training pairs where each operand has a table of its own (delta, alpha'), unordered
pairs where both share one (alpha, beta, gamma), which are half as many. What is rounded, and how,
is as in `training.engines.fused`.

Measured on an H200, p = 59, 512 networks: 3.7 / 8.1 / 8.1 / 5.0 / 5.5 µs per network and epoch for
alpha, beta, gamma, delta, alpha'. No size of a tile was timed by itself. Compiled for sm_90a
nothing spills. By rows, one layer takes 130 registers with 4 warps and 48 KiB of shared memory, two
layers 255 with 8 warps and 112 KiB, one program per multiprocessor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from algophase.core.settings import LinearSettings, NetworkSettings, RunSettings, TaskSettings
from algophase.networks.stacking import power_of_two
from algophase.training.engines._compiling import compile_for
from algophase.training.engines._in_half import InHalf, round_width
from algophase.training.engines._rows import Rows, lay_out
from algophase.training.engines.flat import Flat
from algophase.training.kernels.launch import Launch

TILE = 64  # hidden units, or pairs, that a program takes at a time
# Hidden units with two layers: a program holds all of a row's where there are two
MOST_IN_TWO_LAYERS = 256
MOST_IN_ONE_LAYER = 1024
COPIED = 4096  # numbers that a program rounds to float16


class FusedLinear(InHalf):
    settings: LinearSettings

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        p = self.modulus
        self.rows, self.every = self._rows()
        row_of = self.every.row_of[0, :p, :p].mT  # (a, b)
        self.row_of = (torch.minimum(row_of, row_of.mT) if self.shared else row_of).long()
        self.sizes = self._sizes()
        self.memory = self._memory()
        starts = {"AT_W2": 0, "AT_B2": 0} | self.parameter_values()
        of_rows = {"PAIRS": self.rows.pairs, "WEIGHTS": self.rows.weights}
        self.values = starts | self.sizes | self.memory | of_rows | {"JUDGE": False}
        self.values["LABELS"] = self.label_table()
        self.judged = {"PAIRS": self.every.pairs, "WEIGHTS": self.every.weights, "JUDGE": True}
        self.judged |= {"T": self.every.count, "LOSS": self.memory["PAIR_LOSS"]}
        self.launches = self._launches()
        compile_for(self.device, self.launches.values())

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        network = run.network
        if not isinstance(network, LinearSettings):
            return f"it trains linear models, not {network.kind} networks"
        most = MOST_IN_TWO_LAYERS if _has_two_layers(network) else MOST_IN_ONE_LAYER
        if network.hidden > most:
            return (
                f"it takes at most {most} hidden units of model {network.model}, not "
                f"{network.hidden}"
            )
        return cls.beyond(run, device)

    @classmethod
    def working_numbers(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """Of every row hidden units, with two layers their gradient, and the slope, two bytes each;
        then tables over tokens and matrices."""
        assert isinstance(network, LinearSettings)
        p = task.modulus
        tokens = power_of_two(task.modulus)
        hidden = power_of_two(network.hidden)
        outputs = power_of_two(task.logits, 64)
        layers = 2 if _has_two_layers(network) else 1
        pairs = (p**2 + p) // 2 if _shares_tables(network) else p**2
        of_rows = (64 + pairs) * (hidden * layers + outputs) // 2
        return of_rows + 4 * tokens * hidden + hidden * (hidden + outputs) + 2 * tokens**2

    @property
    def shared(self) -> bool:
        """Whether one table serves both operands: the logits are symmetric in a and b."""
        return _shares_tables(self.settings)

    @property
    def two_layers(self) -> bool:
        return _has_two_layers(self.settings)

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        """Sizes are padded (`round_width`): padding is exactly zero and stays so."""
        embeddings = 2 if self.settings.model == "alpha-prime" else 1
        readers = 2 if self.settings.model == "delta" else 1
        h = round_width(self.settings.hidden)
        e = round_width(self.settings.embedding_width)
        layout = {"E": (embeddings, self.modulus, e), "W1": (readers, h, e), "b1": (h,)}
        if self.two_layers:
            layout |= {"W2": (h, h), "b2": (h,)}
        layout["U"] = (power_of_two(self.modulus, 64), h)
        return Flat(self.count, layout, self.device, self.dtype)

    def _views(self, values: Flat) -> dict[str, list[Tensor]]:
        """Where each tensor of the specification is: as one view, or as two that lie side by
        side in it.
        """
        h, e = self.settings.hidden, self.settings.embedding_width
        embeddings = ["embed.weight"]
        if self.settings.model == "alpha-prime":
            embeddings = ["embed1.weight", "embed2.weight"]
        views = {name: [values["E"][:, index, :, :e]] for index, name in enumerate(embeddings)}
        views["l1.weight"] = [half[:, :h, :e] for half in values["W1"].unbind(1)]
        views["l1.bias"] = [values["b1"][:, :h]]
        if self.two_layers:
            views["l2.weight"] = [values["W2"][:, :h, :h]]
            views["l2.bias"] = [values["b2"][:, :h]]
        views["unembed.weight"] = [values["U"][:, : self.modulus, :h]]
        return views

    def load(self, stacked: dict[str, Tensor]) -> None:
        self.overwrite(stacked)

    def overwrite(self, stacked: Mapping[str, Tensor]) -> None:
        views = self._views(self.parameters)
        for name, whole in stacked.items():
            pieces = whole.chunk(len(views[name]), dim=-1)
            for view, value in zip(views[name], pieces, strict=True):
                view.copy_(value)

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        exported = {}
        for name, views in self._views(self.parameters if values is None else values).items():
            exported[name] = views[0] if len(views) == 1 else torch.cat(views, dim=-1)
        return exported

    def _rows(self) -> tuple[Rows, Rows]:
        """To train on, and all that are judged."""
        p = self.modulus
        ones = torch.ones_like(self.weights)
        if not self.shared:
            return lay_out(self.weights, TILE, p), lay_out(ones, TILE, p)
        every = lay_out(ones.triu(), TILE, p)
        both_orders = self.weights + self.weights.mT * (1 - torch.eye(p, device=self.device))
        pairs = every.pairs[:, : every.count].long()
        weights = both_orders.flatten(1).gather(1, pairs % 256 * p + pairs // 256)
        return replace(every, weights=weights * (every.weights != 0)), every

    def _sizes(self) -> dict[str, Any]:
        """Sizes of an ensemble, by the kernels' names."""
        shapes = self.parameters.shapes
        embeddings, _, e = shapes["E"]
        outputs, h = shapes["U"]
        tiles = self.rows.count // TILE
        sizes: dict[str, Any] = {"P": self.modulus, "PA": power_of_two(self.modulus)}
        sizes |= {"E": e, "H": h, "VP": outputs}
        sizes |= {"T": self.rows.count, "TILES": tiles, "TILES_P": power_of_two(tiles)}
        sizes |= {"SHARED": self.shared, "TWO_LAYERS": self.two_layers}
        sizes |= {"EMBEDDINGS": embeddings, "READERS": shapes["W1"][0]}
        # gamma adds b_1 with each operand
        sizes["BIASES"] = 2.0 if self.settings.model == "gamma" else 1.0
        return sizes

    def _memory(self) -> dict[str, Tensor]:
        size = self.sizes
        tokens, h, outputs, rows, tiles = (size[name] for name in ("PA", "H", "VP", "T", "TILES"))
        memory = {"TABLES": self.tensor(2, tokens, h), "READOUT": self.half_tensor(outputs, h)}
        memory["SECOND"] = self.half_tensor(h, h) if self.two_layers else self.half_tensor(1)
        memory["HIDDEN"] = self.half_tensor(rows, h)
        memory["SLOPE"] = self.half_tensor(rows, outputs)
        memory["EXPONENT"] = self.exponents(tiles)
        memory["DX"] = self.half_tensor(rows, h) if self.two_layers else self.half_tensor(1)
        memory["DX_EXPONENT"] = self.exponents(tiles)
        memory["LOSS"] = self.tensor(tiles)
        memory["NETWORK_LOSS"] = self.tensor()
        memory["PAIR_LOSS"] = self.tensor(self.every.count)
        memory["RIGHT"] = self.tensor(self.every.count, dtype=torch.int8)
        memory["D_TABLES"] = self.tensor(1 if self.shared else 2, h, tokens)
        return memory

    def _launches(self) -> dict[str, Launch]:
        """In the order of an epoch, and `judge`."""
        launches = {"tables": self._to_tables(), "by_rows": self._by_rows(self.rows)}
        launches["by_units"] = self._by_units()
        if self.two_layers:
            launches["tokens"] = self._to_tokens()
        launches["after_tables"] = self._after_tables()
        launches["judge"] = self._by_rows(self.every, judge=True)
        return launches

    @property
    def _unit_tile(self) -> int:
        return min(TILE, self.sizes["H"])

    @property
    def _table_warps(self) -> int:
        return 4 if self.sizes["PA"] <= 64 else 8

    @property
    def _few_outputs(self) -> bool:
        return self.sizes["VP"] == 64

    def _to_tables(self) -> Launch:
        from algophase.training.kernels.linear.tables import linear_tables

        hidden = self.sizes["H"]
        outputs = self.sizes["VP"]
        own_tables = 1 if self.shared else 2
        rounded = hidden * (outputs + hidden * self.two_layers)  # numbers
        table_tiles = own_tables * (hidden // self._unit_tile)
        return self.launch(
            linear_tables,
            table_tiles + -(-rounded // COPIED),
            BH=self._unit_tile,
            BK=min(32, self.sizes["E"]),
            COPIED=COPIED,
            num_warps=self._table_warps,
            num_stages=1,
        )

    def _by_units(self) -> Launch:
        from algophase.training.kernels.linear.units import linear_units

        tile, few = self._unit_tile, self._few_outputs
        return self.launch(
            linear_units,
            self.sizes["H"] // tile,
            BM=tile,
            ROWS=TILE if few else TILE // 2,
            STAGES=3 if few else 2,
            num_warps=4 if few and not self.two_layers else 8,
        )

    def _to_tokens(self) -> Launch:
        from algophase.training.kernels.linear.units import linear_tokens

        tile = self._unit_tile
        programs = self.sizes["H"] // tile
        return self.launch(linear_tokens, programs, BM=tile, ROWS=TILE, STAGES=3, num_warps=4)

    def _after_tables(self) -> Launch:
        from algophase.training.kernels.linear.tables import after_linear_tables

        size, tile = self.sizes, self._unit_tile
        width_tile = min(TILE, size["E"])
        readers = size["READERS"] * (size["H"] // tile)
        matrices = size["EMBEDDINGS"] + readers
        return self.launch(
            after_linear_tables,
            matrices * (size["E"] // width_tile) + 1,
            BH=tile,
            BE=width_tile,
            num_warps=self._table_warps,
            num_stages=1,
        )

    def _by_rows(self, rows: Rows, *, judge: bool = False) -> Launch:
        from algophase.training.kernels.linear.rows import linear_rows

        halved = self.two_layers and not self._few_outputs
        return self.launch(
            linear_rows,
            rows.count // TILE,
            judge=judge,
            ROWS=TILE,
            BM=self._unit_tile // 2 if halved else self._unit_tile,
            STAGES=2,
            num_warps=8 if self.two_layers else 4,
        )

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        for name, launch in self.launches.items():
            if name != "judge":
                launch.run()
        return self.memory["NETWORK_LOSS"]

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        self.launches["tables"].run()
        self.launches["judge"].run()
        loss = self.memory["PAIR_LOSS"]
        right = self.memory["RIGHT"]
        return loss[:, self.row_of], right[:, self.row_of].bool()


def _has_two_layers(settings: LinearSettings) -> bool:
    return settings.model in ("beta", "gamma")


def _shares_tables(settings: LinearSettings) -> bool:
    return settings.model in ("alpha", "beta", "gamma")
