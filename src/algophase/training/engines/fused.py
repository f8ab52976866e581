"""One-layer transformers with products in half precision: the gradient in nine Triton kernels.

Rounded to float16 are the operands of the grid's matrix products and of the backward pass, each to
nearest and where needed after scaling by an exact power of two (`kernels.shared`). Tables over
tokens keep 22 bits; parameters, moments, gradients, sums, softmax and loss are float32. Up to 256
channels, hidden units and their gradients never leave the chip.

Times are from an H200, per network and epoch, with 512 networks of width 128 at p = 59 where
nothing else is said. All sizes of tiles together took a run from 0.28 to 0.256 s; a branch that
says "not measured" was chosen with the others, and not timed by itself.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks.stacking import padded_settings, power_of_two
from algophase.training.engines._compiling import compile_for
from algophase.training.engines._fused_grids import (
    FEW_TOKENS,
    TILE,
    WIDE_TILE,
    NarrowGrid,
    WideGrid,
)
from algophase.training.engines._in_half import InHalf, padded_channels, round_width, token_sizes
from algophase.training.engines._rows import Rows, lay_out, slots_for
from algophase.training.engines.flat import Flat
from algophase.training.engines.grid import GridTransformer
from algophase.training.kernels.launch import Launch

MOST_WIDTH = 1024
MOST_OF_A_HEAD = 128 * 256  # tokens times channels of a head, which a program of `after_rows` holds
# Channels beyond which x and dx are kept in memory (`WideGrid`): z no longer fits into the
# registers of a program of `by_rows`
WIDE = 256
GROUPS = 4  # parts the values of b are cut into on the way back to the scores; not measured


def _round_width(width: int) -> int:
    return round_width(width) if width <= WIDE else -(-width // WIDE_TILE) * WIDE_TILE


class FusedTransformer(InHalf, GridTransformer):
    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        reason = GridTransformer.unsupported(run, device)
        if reason is not None:
            return reason
        assert isinstance(run.network, TransformerSettings)
        network, p = run.network, run.task.modulus
        if network.width > MOST_WIDTH:
            return f"it takes widths up to {MOST_WIDTH}, not {network.width}"
        if network.heads > 8:
            return f"it takes at most 8 heads, not {network.heads}"
        if power_of_two(p) * power_of_two(network.head_size) > MOST_OF_A_HEAD:
            return f"heads of {network.head_size} channels are too large at p = {p}"
        return cls.beyond(run, device)

    @classmethod
    def padded(cls, runs: Sequence[RunSettings], device: torch.device) -> NetworkSettings:
        """Above `WIDE` to a multiple of `WIDE_TILE`: three quarters of 512 have half of its
        products.
        """
        return padded_settings(runs, _round_width)

    @classmethod
    def working_numbers(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """Of every pair z, dz and the slope, for wide networks hidden units and dx too, two bytes
        each; then sums in three parts and tables over tokens."""
        assert isinstance(network, TransformerSettings)
        tokens = power_of_two(task.modulus)
        outputs = power_of_two(task.logits, 64)
        channels = padded_channels(network.width, network.heads)
        columns = 4 * network.width + outputs
        b_values = task.modulus + 12
        per_pair = channels + outputs // 2 + 4 * network.heads * (task.context - 1)
        if channels > WIDE:
            per_pair += columns
        sums = 4 * columns * (channels + outputs) + 3 * b_values * columns
        tables = 20 * tokens * (channels + network.width)
        return tokens * b_values * per_pair + sums + tables

    @property
    def table_width(self) -> int:
        return self.hidden + power_of_two(self.outputs, TILE)

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        """Heads and their size are padded to powers of two: padding is exactly zero and stays
        so.
        """
        heads, d, size = shapes["blocks.0.attn.W_Q"]
        padded = (power_of_two(heads, 1), d, power_of_two(size))
        return super().allocate({**shapes, "blocks.0.attn.W_Q": padded})

    @staticmethod
    def runs_for(tokens: int) -> int:
        """Parts that the rows are cut into for sums over pairs: never by the number of networks. At
        p = 59 three parts take 2.5 s for a run alone where one takes 3.9, and 0.256 s instead of
        0.244 among 512 (with all pairs as rows)."""
        return 3 if tokens <= FEW_TOKENS else 2

    def rows_for(self, channels: int) -> int:
        """Rows of a program of `by_rows`, where the network is not wide. At 128 channels 128 rows
        took 3.8 µs, 64 rows 3.0 to 3.2 (prototype in Gluon). With 256 channels, 128 rows take 116
        KB on other cards, and spill 744 bytes per thread; 64 rows take 80 KB and spill none."""
        return TILE if channels <= 128 or not self.card.is_tuned else 2 * TILE

    def prepare(self, rate: Tensor, scale: Tensor) -> None:
        self._pad()
        tile = WIDE_TILE if self.wide else self.rows_for(self.channels)
        self.row_runs = 1 if self.wide else self.runs_for(self.tokens)
        slots = slots_for(self.modulus, int(self.weights[0].count_nonzero()), tile)
        self.rows = lay_out(self.weights, tile, slots, self.row_runs)
        self.every = lay_out(torch.ones_like(self.weights), tile, slots)
        self.most_rows = max(self.rows.count, self.every.count)
        # Tiles of rows that share a slope's exponent
        self.tiles = self.rows.count // (TILE if self.wide else tile)
        self.between: NarrowGrid | WideGrid = WideGrid(self) if self.wide else NarrowGrid(self)
        self.memory = self._memory_before(rate, scale) | self._memory_of_rows()
        self.memory |= self.between.memory() | self._memory_after()
        self.values = self.parameter_values() | self.memory
        self.values |= self._network_sizes() | self._row_sizes()
        self.values |= {"PAIRS": self.rows.pairs, "WEIGHTS": self.rows.weights, "JUDGE": False}
        self.values["LABELS"] = self.label_table()
        self.judged = {"PAIRS": self.every.pairs, "WEIGHTS": self.every.weights, "JUDGE": True}
        self.judged |= {"T": self.every.count, "LOSS": self.memory["PAIR_LOSS"]}
        self.launches = self._before_grid() | self.between.launches() | self._after_grid()
        self.side = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        compile_for(self.device, self.launches.values())

    def _pad(self) -> None:
        """Sizes of a network as the kernels have them."""
        self.heads, self.head_size = self.parameters.shapes["O"][:2]
        self.channels = self.heads * self.head_size
        self.wide = self.channels > WIDE
        self.width, self.tokens = self.settings.width, power_of_two(self.modulus)
        self.padded_outputs = self.table_width - self.hidden
        self.b_values = -(-self.modulus // GROUPS) * GROUPS

    def _network_sizes(self) -> dict[str, int]:
        """By the kernels' names."""
        sizes = token_sizes(self.task)
        sizes |= {"PA": self.tokens, "D": self.width}
        sizes |= {"H": self.heads, "E": self.head_size, "C": self.channels}
        sizes |= {"M": self.hidden, "V": self.outputs, "VP": self.padded_outputs}
        sizes |= {"GROUPS": GROUPS, "BS": self.b_values, "GELU": self.gelu}
        return sizes

    def _row_sizes(self) -> dict[str, int]:
        """Of what goes by rows, by the kernels' names."""
        rows, telling = self.rows, self.between.telling_programs
        sizes = {"T": rows.count, "MOST": self.most_rows, "RUNS": self.row_runs}
        sizes |= {"S": rows.slots, "KB": rows.columns, "BP": self.padded_b}
        sizes |= {"TILES": self.tiles, "TILES_P": power_of_two(self.tiles)}
        sizes |= {"COUNT": telling, "COUNT_P": power_of_two(telling)}
        return sizes

    @property
    def padded_b(self) -> int:
        """Rows of a part of the base: a tile that begins at the last b reads `slots` from there."""
        return self.tokens + self.rows.slots

    def _memory_before(self, rate: Tensor, scale: Tensor) -> dict[str, Tensor]:
        tokens = self.tokens
        maps, tables = (2, 7) if self.task.equals_sign else (1, 5)
        memory = {"RATE": rate.contiguous(), "SCALE": scale.contiguous()}
        memory["GIVE"] = 3 - 2 * rate if self.task.equals_sign else 2 - rate
        memory["TABLES"] = self.tensor(tables, tokens, self.channels)
        memory["SOFT"] = self.tensor(maps, self.heads, tokens, tokens)
        memory["Y"] = self.tensor(tokens, self.width)
        memory["Z"] = self.half_tensor(self.most_rows, self.channels)
        memory["R"] = self.half_tensor(self.hidden, self.padded_outputs)
        return memory

    def _memory_of_rows(self) -> dict[str, Tensor]:
        rows, every, tiles = self.rows.count, self.every.count, self.tiles
        outputs = self.padded_outputs
        memory = {"SLOPE": self.half_tensor(rows, outputs), "EXPONENT": self.exponents(tiles)}
        memory["DZ"] = self.half_tensor(rows, self.channels)
        memory["DZ_EXPONENT"] = self.exponents(tiles)
        memory["LOSS"] = self.tensor(tiles)
        memory["NETWORK_LOSS"] = self.tensor()
        memory["PAIR_LOSS"] = self.tensor(every)
        memory["RIGHT"] = self.tensor(every, dtype=torch.int8)
        memory["DR"] = self.tensor(self.row_runs, self.hidden, outputs)
        memory["LARGEST"] = self.exponents(self.between.telling_programs)
        memory["ROW_OF"] = self.rows.row_of
        return memory

    def _memory_after(self) -> dict[str, Tensor]:
        tokens, heads, channels = self.tokens, self.heads, self.channels
        b_values = self.b_values
        maps, tables = (2, 7) if self.task.equals_sign else (1, 5)
        memory = {"D_SCORE": self.tensor(heads, b_values, tokens)}
        memory["D_SECOND"] = self.tensor(heads, b_values)
        memory["D_V1"] = self.tensor(GROUPS, tokens, channels)
        memory["D_VQ"] = self.tensor(maps, tokens, channels)
        memory["DY"] = self.tensor(tokens, self.width)
        memory["D_TABLES"] = self.tensor(tables, tokens, channels)
        return memory

    @property
    def _few_tokens(self) -> bool:
        return self.tokens <= FEW_TOKENS

    @property
    def _table_warps(self) -> int:
        return 4 if self._few_tokens else 8

    def _before_grid(self) -> dict[str, Launch]:
        return {
            "read_tokens": self._read_tokens(),
            "attend": self._attend(),
            "mix": self._mix(self.rows),
            "mix_all": self._mix(self.every, judge=True),
        }

    def _read_tokens(self) -> Launch:
        from algophase.training.kernels.one_layer.tables import read_tokens

        channels = self.channels
        tables = self.memory["TABLES"].shape[1]
        columns = min(128 if self._few_tokens else 64, channels)  # not measured
        return self.launch(
            read_tokens,
            tables * (channels // columns),
            BC=columns,
            BK=min(32, self.width),
            num_warps=self._table_warps,
            num_stages=3 if self.wide else 1,  # not measured
        )

    def _attend(self) -> Launch:
        from algophase.training.kernels.one_layer.tables import attend

        width = self.width
        columns = min(64, width)
        return self.launch(
            attend,
            self.heads + width // columns,
            BD=columns,
            BK=min(32, self.channels),
            BE=min(32, self.head_size),
            num_warps=self._table_warps,
        )

    def _mix(self, rows: Rows, *, judge: bool = False) -> Launch:
        from algophase.training.kernels.one_layer.tables import mix

        at_once = TILE // 2 if self.channels <= 128 else TILE // 4  # not measured
        return self.launch(mix, rows.count // at_once, judge=judge, ROWS=at_once, num_warps=4)

    def _after_grid(self) -> dict[str, Launch]:
        return {
            "after_rows": self._after_rows(),
            "after_attention": self._after_attention(),
            "after_tables": self._after_tables(),
        }

    def _after_rows(self) -> Launch:
        from algophase.training.kernels.one_layer.after_rows import after_rows

        # One warp at p = 59 and width 128, 0.38 µs (prototype); twice as many for the second map of
        # an equals sign, not measured
        numbers_per_warp = 1024 if self.task.equals_sign and not self._few_tokens else 2048
        warps = self.tokens * self.head_size // numbers_per_warp
        steps = self.b_values // GROUPS
        return self.launch(
            after_rows,
            self.heads * GROUPS,
            STAGES=min(3, steps),  # no loop has more stages than steps
            num_warps=max(1, min(8, warps)),
        )

    def _after_attention(self) -> Launch:
        from algophase.training.kernels.one_layer.after_rows import after_attention

        channels, width = self.channels, self.width
        channel_tile = min(64, channels)
        width_tile = min(64, width)
        head_tile = min(32, self.head_size)
        of_w_o = channels // channel_tile * (width // width_tile)
        return self.launch(
            after_attention,
            channels // head_tile + of_w_o,
            BE=head_tile,
            BC=channel_tile,
            BD=width_tile,
            BK=min(32, width),
            num_warps=self._table_warps,
        )

    def _after_tables(self) -> Launch:
        from algophase.training.kernels.one_layer.after_rows import after_tables

        channels, width, few = self.channels, self.width, self._few_tokens
        channel_tile = min(128 if self.wide else 64, channels)  # not measured
        width_tile = min(64, width)
        input_columns = width_tile if few else min(32, width)  # not measured
        matrices = 3 * (channels // channel_tile) * (width // width_tile)
        return self.launch(
            after_tables,
            width // input_columns + matrices + 1,
            BC=channel_tile,
            BD=width_tile,
            BX=input_columns,
            BK=min(64 if few else 32, channels),
            num_warps=self._table_warps,
            num_stages=1 if few else 2,  # not measured
        )

    def _run(self, names: Sequence[str]) -> None:
        for name in names:
            self.launches[name].run()

    def _beside(self, first: Sequence[str], second: Sequence[str]) -> None:
        """Two chains of kernels that do not need each other, on a GPU at the same time. Not
        measured by itself."""
        if self.side is None:
            self._run([*first, *second])
            return
        main = torch.cuda.current_stream(self.device)
        self.side.wait_stream(main)
        self._run(first)
        with torch.cuda.stream(self.side):
            self._run(second)
        main.wait_stream(self.side)

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        self._run(["read_tokens", "attend"])
        self._beside(["project"], ["mix"])
        self._run(self.between.forward)
        self._beside(*self.between.backward)
        self._run(["after_attention", "after_tables"])
        return self.memory["NETWORK_LOSS"]

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        self._run(["read_tokens", "attend", "mix_all", "project", *self.between.judging])
        loss = self.every.to_grid(self.memory["PAIR_LOSS"], self.modulus)
        right = self.every.to_grid(self.memory["RIGHT"], self.modulus)
        return loss, right.bool()
