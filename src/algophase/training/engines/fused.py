"""One-layer transformers with products in half precision: the gradient in nine Triton kernels.

Rounded to float16 are the operands of the grid's matrix products and of the backward pass, each to
nearest and where needed after scaling by an exact power of two (`kernels.shared`). Tables over
tokens keep 22 bits; parameters, moments, gradients, sums, softmax and loss are float32. Up to 256
channels, hidden units and their gradients never leave the chip.

Times are from an H200, per network and epoch, with 512 networks of width 128 at p = 59 where
nothing else is said. All sizes of tiles together took a run from 0.28 to 0.256 s; a branch that says
"not measured" was chosen with the others, and not timed by itself.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks.stacking import padded_settings, power_of_two
from algophase.training.engines.compiling import compile_for
from algophase.training.engines.engine import ONLY_ADDS
from algophase.training.engines.flat import Flat
from algophase.training.engines.grid import GridTransformer
from algophase.training.engines.in_half import InHalf, padded_channels, round_width, token_sizes
from algophase.training.engines.rows import Rows, lay_out, slots_for
from algophase.training.kernels.launch import Launch

MOST_WIDTH = 1024
MOST_OF_A_HEAD = 128 * 256  # tokens times channels of a head, which a program of `after_rows` holds
# Channels beyond which x and dx are kept in memory (`kernels.wide`): z no longer fits into the
# registers of a program of `by_rows`
WIDE = 256
TILE = 64  # hidden units, or pairs, that a program takes at a time
WIDE_TILE = 128  # the same in the products of a wide network
GROUPS = 4  # parts the values of b are cut into on the way back to the scores; not measured
FEW_TOKENS = 64  # up to here a table over tokens fits into half as many warps; not measured


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
        if not run.task.is_addition:
            return ONLY_ADDS
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
        tokens, outputs = power_of_two(task.modulus), power_of_two(task.logits, 64)
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

    @staticmethod
    def rows_for(channels: int) -> int:
        """Rows of a program of `by_rows`, where the network is not wide. At 128 channels 128 rows
        took 3.8 µs, 64 rows 3.0 to 3.2 (prototype in Gluon)."""
        return TILE if channels <= 128 else 2 * TILE

    def prepare(self, rate: Tensor, scale: Tensor) -> None:
        heads, head_size = self.parameters.shapes["O"][:2]
        tokens, channels = power_of_two(self.modulus), heads * head_size
        self.wide = channels > WIDE
        tile = WIDE_TILE if self.wide else self.rows_for(channels)
        row_runs = 1 if self.wide else self.runs_for(tokens)
        slots = slots_for(self.modulus, int(self.weights[0].count_nonzero()), tile)
        self.rows = lay_out(self.weights, tile, slots, row_runs)
        self.every = lay_out(torch.ones_like(self.weights), tile, slots)
        self.sizes = self._sizes(tile, row_runs)
        self.memory = self._memory_outside(rate, scale)
        self.memory |= self._memory_of_wide_grid() if self.wide else self._memory_of_grid()
        parameters = self._parameter_values()
        of_rows = {"PAIRS": self.rows.pairs, "WEIGHTS": self.rows.weights}
        self.values = parameters | self.sizes | self.memory | of_rows | {"JUDGE": False}
        self.judged = {
            "PAIRS": self.every.pairs,
            "WEIGHTS": self.every.weights,
            "T": self.every.count,
            "LOSS": self.memory["PAIR_LOSS"],
            "JUDGE": True,
        }
        self.launches = {
            **self._before_grid(),
            **(self._wide_grid() if self.wide else self._grid()),
            **self._after_grid(),
        }
        self.side = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        compile_for(self.device, self.launches.values())

    def _sizes(self, tile: int, row_runs: int) -> dict[str, int]:
        """Sizes of an ensemble, by the kernels' names. tile: rows that share a slope's exponent."""
        heads, head_size = self.parameters.shapes["O"][:2]
        tokens, rows, m = power_of_two(self.modulus), self.rows, self.hidden
        tiles = rows.count // (TILE if self.wide else tile)
        programs = m // WIDE_TILE if self.wide else (m // TILE + 1) * row_runs
        return {
            **token_sizes(self.task),
            "PA": tokens,  # padded
            "D": self.settings.width,
            "H": heads,
            "E": head_size,
            "C": heads * head_size,
            "M": m,
            "V": self.outputs,
            "VP": self.table_width - m,
            "GELU": self.gelu,
            "T": rows.count,
            "MOST": max(rows.count, self.every.count),
            "S": rows.slots,
            "KB": rows.columns,
            "BP": tokens + rows.slots,
            "TILES": tiles,
            "TILES_P": power_of_two(tiles),
            "RUNS": row_runs,
            "COUNT": programs,  # that say what their largest element was
            "COUNT_P": power_of_two(programs),
            "GROUPS": GROUPS,
            "BS": -(-self.modulus // GROUPS) * GROUPS,
        }

    def _memory_outside(self, rate: Tensor, scale: Tensor) -> dict[str, Tensor]:
        """What every network has, wide or not: before the grid, between its halves, and after."""
        size = self.sizes
        p_a, d, c, heads, tiles = (size[name] for name in ("PA", "D", "C", "H", "TILES"))
        maps, tables = (2, 7) if size["EQUALS"] else (1, 5)
        every = self.every.count
        return {
            "RATE": rate.contiguous(),
            "SCALE": scale.contiguous(),
            "GIVE": 3 - 2 * rate if size["EQUALS"] else 2 - rate,
            "TABLES": self._new(tables, p_a, c),
            "SOFT": self._new(maps, heads, p_a, p_a),
            "Y": self._new(p_a, d),
            "Z": self._half(size["MOST"], c),
            "R": self._half(size["M"], size["VP"]),
            "SLOPE": self._half(size["T"], size["VP"]),
            "EXPONENT": self._exponents(tiles),
            "DZ": self._half(size["T"], c),
            "DZ_EXPONENT": self._exponents(tiles),
            "LOSS": self._new(tiles),
            "NETWORK_LOSS": self._new(),
            "PAIR_LOSS": self._new(every),
            "RIGHT": self._new(every, dtype=torch.int8),
            "DR": self._new(size["RUNS"], size["M"], size["VP"]),
            "LARGEST": self._exponents(size["COUNT"]),
            "ROW_OF": self.rows.row_of,
            "D_SCORE": self._new(heads, size["BS"], p_a),
            "D_SECOND": self._new(heads, size["BS"]),
            "D_V1": self._new(GROUPS, p_a, c),
            "D_VQ": self._new(maps, p_a, c),
            "DY": self._new(p_a, d),
            "D_TABLES": self._new(tables, p_a, c),
        }

    def _memory_of_grid(self) -> dict[str, Tensor]:
        c, b_p, runs = self.sizes["C"], self.sizes["BP"], self.sizes["RUNS"]
        w = self.table_width
        return {
            "Q": self._half(c, w),
            "BASE": self._half(3, b_p, w),
            "HOT": self.rows.one_hot(),
            "DQ": self._new(runs, w, c),
            "DBASE": self._new(b_p + runs, w),
        }

    def _memory_of_wide_grid(self) -> dict[str, Tensor]:
        size, w = self.sizes, self.table_width
        d, rows, most = size["D"], size["T"], size["MOST"]
        return {
            "IU": self._half(d, w),
            "W_O": self._half(size["C"], d),
            "PARTS": self._half(3, size["BP"], d),
            "BIAS": self._new(size["VP"]),
            "STREAM": self._half(most, d),
            "X": self._half(most, size["M"]),
            "DX": self._half(rows, w),
            "DSTREAM": self._half(rows, d),
            "COLUMNS": self._new(size["TILES"], w),
            "HOT": self.rows.all_hot(size["PA"]),
        }

    @property
    def _few_tokens(self) -> bool:
        return self.sizes["PA"] <= FEW_TOKENS

    def _before_grid(self) -> dict[str, Launch]:
        """No loop has more stages than steps, here and below."""
        from algophase.training.kernels.tables import attend, read_tokens

        c, d, heads = self.sizes["C"], self.sizes["D"], self.sizes["H"]
        warps = 4 if self._few_tokens else 8
        columns = min(128 if self._few_tokens else 64, c)  # not measured
        tables = self.memory["TABLES"].shape[1]
        return {
            "read_tokens": self._launch(
                read_tokens,
                tables * (c // columns),
                BC=columns,
                BK=min(32, d),
                num_warps=warps,
                num_stages=3 if self.wide else 1,  # not measured
            ),
            "attend": self._launch(
                attend,
                heads + d // min(64, d),
                BD=min(64, d),
                BK=min(32, c),
                BE=min(32, self.sizes["E"]),
                num_warps=warps,
            ),
            "mix": self._mix(self.rows),
            "mix_all": self._mix(self.every, judge=True),
        }

    def _mix(self, rows: Rows, *, judge: bool = False) -> Launch:
        from algophase.training.kernels.tables import mix

        at_once = TILE // 2 if self.sizes["C"] <= 128 else TILE // 4  # not measured
        return self._launch(mix, rows.count // at_once, judge=judge, ROWS=at_once, num_warps=4)

    def _after_grid(self) -> dict[str, Launch]:
        from algophase.training.kernels.after_rows import after_attention, after_rows, after_tables

        size, few = self.sizes, self._few_tokens
        c, d, e, tokens = size["C"], size["D"], size["E"], size["PA"]
        tile_c, tile_d, tile_e = min(64, c), min(64, d), min(32, e)
        warps = 4 if few else 8
        # One warp at p = 59 and width 128, 0.38 µs (prototype); twice as many for the second map of
        # an equals sign, not measured
        numbers_per_warp = 1024 if size["EQUALS"] and not few else 2048
        of_tables = min(128, c) if self.wide else tile_c  # not measured
        input_columns = tile_d if few else min(32, d)  # not measured
        return {
            "after_rows": self._launch(
                after_rows,
                size["H"] * GROUPS,
                STAGES=min(3, size["BS"] // GROUPS),
                num_warps=max(1, min(8, tokens * e // numbers_per_warp)),
            ),
            "after_attention": self._launch(
                after_attention,
                c // tile_e + c // tile_c * (d // tile_d),
                BE=tile_e,
                BC=tile_c,
                BD=tile_d,
                BK=min(32, d),
                num_warps=warps,
            ),
            "after_tables": self._launch(
                after_tables,
                d // input_columns + 3 * (c // of_tables) * (d // tile_d) + 1,
                BC=of_tables,
                BD=tile_d,
                BX=input_columns,
                BK=min(64 if few else 32, c),
                num_warps=warps,
                num_stages=1 if few else 2,  # not measured
            ),
        }

    def _grid(self) -> dict[str, Launch]:
        """The grid of up to `WIDE` channels."""
        from algophase.training.kernels.after_units import after_units
        from algophase.training.kernels.by_units import by_units
        from algophase.training.kernels.tables import project

        size, few = self.sizes, self._few_tokens
        c, d, m, outputs, runs = (size[name] for name in ("C", "D", "M", "VP", "RUNS"))
        tile_c, tile_d = min(TILE, c), min(2 * TILE, d)
        units, columns = m // TILE, (m + outputs) // TILE  # tiles of them
        few_outputs, narrow = outputs == 64, c <= 128
        # With 128 outputs 64 rows spill 32 bytes per thread and take 17.0 µs, 32 rows none and
        # 23.5 (p = 113, width 128). Above 128 channels 64 rows spill too much; not measured.
        rows_at_once = TILE if few_outputs or narrow else TILE // 2
        row_steps = size["T"] // TILE // runs
        return {
            # Operands split without a look at their largest element, and loads under way: 0.221 to
            # 0.215 s per run
            "project": self._launch(
                project,
                columns * (1 + c // tile_c) + units * (outputs // TILE),
                BW=TILE,
                BC=tile_c,
                BK=min(32, d),
                num_warps=4 if few else 8,
                num_stages=3 if few else 1,
            ),
            "by_rows": self._by_rows(self.rows),
            "judge": self._by_rows(self.every, judge=True),
            "by_units": self._launch(
                by_units,
                units + 1,
                runs,
                BM=TILE,
                ROWS=rows_at_once,
                STAGES=min(3 if few_outputs else 2, row_steps),
                num_warps=4 if narrow else 8,
            ),
            "after_units": self._launch(
                after_units,
                (2 + c // tile_c + columns + units) * (d // tile_d),
                BW=TILE,
                BC=tile_c,
                BD=tile_d,
                BB=min(64, size["PA"]),
                num_warps=4,
                num_stages=1,
            ),
        }

    def _by_rows(self, rows: Rows, *, judge: bool = False) -> Launch:
        from algophase.training.kernels.by_rows import by_rows

        size = self.sizes
        tile = size["T"] // size["TILES"]
        narrow = size["C"] <= 128
        # With 128 outputs, or GELU, half the hidden units at a time, so that two programs share a
        # multiprocessor; not measured by itself
        whole = size["VP"] == 64 and not self.gelu
        return self._launch(
            by_rows,
            rows.count // tile,
            judge=judge,
            ROWS=tile,
            BM=TILE if whole else TILE // 2,
            STAGES=3 if narrow else 2,
            num_warps=4 if narrow else 8,
        )

    def _wide_grid(self) -> dict[str, Launch]:
        """The grid of more than `WIDE` channels: plain products tile by tile. Sizes that are faster
        by themselves (slopes 0.93, sums 0.89 of their time) made an epoch 0.6% faster only."""
        from algophase.training.kernels import wide

        size, memory = self.sizes, self.memory
        d, m, outputs = size["D"], size["M"], size["VP"]
        columns = (m + outputs) // TILE
        starts = self._parameter_values()
        gradients = self.gradients.flat
        return {
            "project": self._launch(
                wide.wide_weights,
                columns + 2 * d // TILE + m // TILE * (outputs // TILE),
                BW=TILE,
                BK=min(32, d),
                num_warps=4,
            ),
            **self._wide_rows(self.rows),
            **self._wide_rows(self.every, judge=True),
            "slopes": self._launch(
                wide.wide_slopes,
                size["TILES"] * (m // WIDE_TILE + 1),
                BM=WIDE_TILE,
                ROWS=TILE,
                num_warps=4,
            ),
            "back": self._wide_back(memory["DX"], memory["IU"], memory["DSTREAM"]),
            "back_out": self._wide_back(memory["DSTREAM"], memory["W_O"], memory["DZ"]),
            "by_units": self._wide_sums(
                memory["STREAM"], memory["DX"], gradients, AT=starts["AT_IU"], FACTOR=16.0
            ),
            "of_readout": self._wide_sums(
                memory["X"], memory["DX"], memory["DR"], FIRST_B=m, N=outputs, TELLS=True
            ),
            "of_out": self._wide_sums(memory["Z"], memory["DSTREAM"], gradients, AT=starts["AT_O"]),
            "of_y": self._wide_sums(memory["HOT"], memory["DSTREAM"], memory["DY"]),
            "after_units": self._launch(
                wide.wide_rest,
                (1 + columns) * (d // min(WIDE_TILE, d)),
                BW=TILE,
                BD=min(WIDE_TILE, d),
                num_warps=4,
                num_stages=1,
            ),
        }

    def _wide_rows(self, rows: Rows, *, judge: bool = False) -> dict[str, Launch]:
        """From z to the loss of some rows."""
        from algophase.training.kernels.wide import wide_hidden, wide_logits, wide_stream

        d, m = self.sizes["D"], self.sizes["M"]
        tile_d, tiles = min(WIDE_TILE, d), rows.count // WIDE_TILE
        stream = self._launch(
            wide_stream,
            tiles * (d // tile_d),
            judge=judge,
            ROWS=WIDE_TILE,
            BD=tile_d,
            BK=TILE,
            num_warps=8,
        )
        hidden = self._launch(
            wide_hidden,
            tiles * (m // WIDE_TILE),
            judge=judge,
            BM=WIDE_TILE,
            BK=TILE,
            ROWS=WIDE_TILE,
            num_warps=8,
        )
        logits = self._launch(
            wide_logits,
            rows.count // TILE,
            judge=judge,
            ROWS=TILE,
            BK=TILE,
            num_warps=4,
            num_stages=2,  # ptxas takes 4.5 s for three stages, 7.7 s to judge, and 0.2 s for two
        )
        if judge:
            return {"stream_all": stream, "hidden_all": hidden, "judge": logits}
        return {"stream": stream, "hidden": hidden, "by_rows": logits}

    def _wide_back(self, a: Tensor, b: Tensor, out: Tensor) -> Launch:
        """out = a b^T / 16."""
        from algophase.training.kernels.wide import wide_back

        _, rows, inner = a.shape
        columns = out.shape[2]
        tile = _wide_columns(columns)
        return self._launch(
            wide_back,
            rows // WIDE_TILE * (columns // tile),
            A=a,
            B=b,
            OUT=out,
            K=inner,
            N=columns,
            ROWS=WIDE_TILE,
            BN=tile,
            BK=TILE,
            num_warps=8,
        )

    def _wide_sums(self, a: Tensor, b: Tensor, out: Tensor, **sizes: Any) -> Launch:
        """out = FACTOR a^T b over rows, from AT on, with N columns of b from FIRST_B on. TELLS: a
        holds hidden units, and the largest element is noted."""
        from algophase.training.kernels.wide import wide_sums

        own = {"AT": 0, "FACTOR": 1.0, "FIRST_B": 0, "N": b.shape[2], "TELLS": False} | sizes
        inner, columns = a.shape[2], own["N"]
        high = min(WIDE_TILE, inner)
        long = 2 * WIDE_TILE if columns > self.sizes["M"] else _wide_columns(columns)
        return self._launch(
            wide_sums,
            inner // high * -(-columns // long),
            A=a,
            B=b,
            OUT=out,
            size=out[0].numel(),
            A_ROWS=a.shape[1],
            K=inner,
            WB=b.shape[2],
            BK=high,
            BN=long,
            ROWS=TILE,
            GELU=self.gelu and own["TELLS"],
            num_warps=8,
            num_stages=4,
            **own,
        )

    def _run(self, *names: str) -> None:
        for name in names:
            self.launches[name].run()

    def _beside(self, first: Sequence[str], second: Sequence[str]) -> None:
        """Two chains of kernels that do not need each other, on a GPU at the same time. Not
        measured by itself."""
        if self.side is None:
            self._run(*first, *second)
            return
        main = torch.cuda.current_stream(self.device)
        self.side.wait_stream(main)
        self._run(*first)
        with torch.cuda.stream(self.side):
            self._run(*second)
        main.wait_stream(self.side)

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        self._run("read_tokens", "attend")
        self._beside(["project"], ["mix"])
        if self.wide:
            self._run("stream", "hidden", "by_rows", "slopes")
            sums = ["by_units", "of_readout", "after_units"]
            self._beside(sums, ["back", "back_out", "of_out", "of_y", "after_rows"])
        else:
            self._run("by_rows")
            self._beside(["by_units", "after_units"], ["after_rows"])
        self._run("after_attention", "after_tables")
        return self.memory["NETWORK_LOSS"]

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        self._run("read_tokens", "attend", "mix_all", "project")
        if self.wide:
            self._run("stream_all", "hidden_all")
        self._run("judge")
        loss = self.every.to_grid(self.memory["PAIR_LOSS"], self.modulus)
        right = self.every.to_grid(self.memory["RIGHT"], self.modulus)
        return loss, right.bool()


def _wide_columns(columns: int) -> int:
    """Columns that a product of a wide network takes at a time."""
    return min(columns, WIDE_TILE if columns % (2 * WIDE_TILE) else 2 * WIDE_TILE)
