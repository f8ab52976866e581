"""The grid between the tables of a one-layer network, for the fused engine: every pair from z to
its loss and back, and the sums over pairs. There are two ways, by the number of channels.

Times are from an H200, per network and epoch. "Not measured": `training.engines.fused`.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor

from algophase.training.engines._rows import Rows
from algophase.training.kernels.launch import Launch

if TYPE_CHECKING:
    from algophase.training.engines.fused import FusedTransformer

TILE = 64  # hidden units, or pairs, that a program takes at a time
WIDE_TILE = 128  # the same in the products of a wide network
FEW_TOKENS = 64  # up to here a table over tokens takes half as many warps; not measured


class NarrowGrid:
    """Hidden units and their gradients stay in registers (`by_rows`, `by_units`).

    forward, judging: kernels in their order. backward: two chains that do not need each other.
    """

    forward: ClassVar[tuple[str, ...]] = ("by_rows",)
    judging: ClassVar[tuple[str, ...]] = ("judge",)
    backward: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = (
        ("by_units", "after_units"),
        ("after_rows",),
    )

    def __init__(self, engine: "FusedTransformer") -> None:
        self.engine = engine

    @property
    def telling_programs(self) -> int:
        """Programs that say how large their largest element is."""
        return self._unit_programs() * self.engine.row_runs

    def memory(self) -> dict[str, Tensor]:
        engine, columns = self.engine, self.engine.table_width
        channels, b_values, runs = engine.channels, engine.padded_b, engine.row_runs
        memory = {"HOT": engine.rows.one_hot()}
        memory["Q"] = engine.half_tensor(channels, columns)
        memory["BASE"] = engine.half_tensor(3, b_values, columns)
        memory["DQ"] = engine.tensor(runs, columns, channels)
        memory["DBASE"] = engine.tensor(b_values + runs, columns)
        return memory

    def launches(self) -> dict[str, Launch]:
        engine = self.engine
        return {
            "project": self._project(),
            "by_rows": self._by_rows(engine.rows),
            "judge": self._by_rows(engine.every, judge=True),
            "by_units": self._by_units(),
            "after_units": self._after_units(),
        }

    def _tiles(self) -> tuple[int, int]:
        """Of hidden units, and of all columns of the tables."""
        units = self.engine.hidden // TILE
        return units, units + self.engine.padded_outputs // TILE

    def _direct_tile(self) -> int:
        """Direct logits that a program of `by_units` takes. With 256 channels, all 128 take 128 KB
        of shared memory on cards other than the H200."""
        return self.engine.padded_outputs if self.engine.card.is_tuned else TILE

    def _unit_programs(self) -> int:
        """Programs of `by_units` for each part of the rows."""
        units, _ = self._tiles()
        return units + self.engine.padded_outputs // self._direct_tile()

    def _project(self) -> Launch:
        """Operands split without a look at their largest element, and loads under way: 0.221 to
        0.215 s per run."""
        from algophase.training.kernels.one_layer.tables import project

        channels = self.engine.channels
        few_tokens = self.engine.tokens <= FEW_TOKENS
        channel_tile = min(TILE, channels)
        units, columns = self._tiles()
        products = columns * (1 + channels // channel_tile)
        return self.engine.launch(
            project,
            products + units * (columns - units),
            BW=TILE,
            BC=channel_tile,
            BK=min(32, self.engine.width),
            num_warps=4 if few_tokens else 8,
            num_stages=3 if few_tokens else 1,
        )

    def _by_rows(self, rows: Rows, *, judge: bool = False) -> Launch:
        from algophase.training.kernels.one_layer.by_rows import by_rows

        row_tile = self.engine.rows.count // self.engine.tiles
        narrow = self.engine.channels <= 128
        few_outputs = self.engine.padded_outputs == 64
        # With 128 outputs, or GELU, half the hidden units at a time, so that two programs share a
        # multiprocessor; not measured
        unit_tile = TILE if few_outputs and not self.engine.gelu else TILE // 2
        return self.engine.launch(
            by_rows,
            rows.count // row_tile,
            judge=judge,
            ROWS=row_tile,
            BM=unit_tile,
            BC=self.engine.channels,
            STAGES=3 if narrow else 2,
            num_warps=4 if narrow else 8,
        )

    def _by_units(self) -> Launch:
        from algophase.training.kernels.one_layer.by_units import by_units

        runs = self.engine.row_runs
        narrow = self.engine.channels <= 128
        few_outputs = self.engine.padded_outputs == 64
        # With 128 outputs 64 rows spill 32 bytes per thread and take 17.0 µs, 32 rows none and
        # 23.5 (p = 113, width 128). Above 128 channels 64 rows spill too much; not measured.
        row_tile = TILE if few_outputs or narrow else TILE // 2
        steps = self.engine.rows.count // TILE // runs
        stages = min(3 if few_outputs else 2, steps)
        if not narrow and not self.engine.card.is_tuned:
            # No registers are left for loads under way: with two stages 8,184 bytes per thread
            # spill, with one 424 (p = 113, sm_89)
            stages = 1
        return self.engine.launch(
            by_units,
            self._unit_programs(),
            runs,
            BM=TILE,
            BV=self._direct_tile(),
            ROWS=row_tile,
            STAGES=stages,
            num_warps=4 if narrow else 8,
        )

    def _after_units(self) -> Launch:
        from algophase.training.kernels.one_layer.after_units import after_units

        channels, width = self.engine.channels, self.engine.width
        channel_tile = min(TILE, channels)
        width_tile = min(2 * TILE, width)
        units, columns = self._tiles()
        roles = 2 + channels // channel_tile + columns + units
        return self.engine.launch(
            after_units,
            roles * (width // width_tile),
            BW=TILE,
            BC=channel_tile,
            BD=width_tile,
            BB=min(64, self.engine.tokens),
            num_warps=4,
            num_stages=1,
        )


class WideGrid:
    """Plain products tile by tile, with hidden units and dx in memory: z of more than 256 channels
    does not fit into the registers of a program. Sizes that are faster by
    themselves (slopes 0.93, sums 0.89 of their time) made an epoch 0.6% faster only.
    """

    forward: ClassVar[tuple[str, ...]] = ("stream", "hidden", "by_rows", "slopes")
    judging: ClassVar[tuple[str, ...]] = ("stream_all", "hidden_all", "judge")
    backward: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = (
        ("by_units", "of_readout", "after_units"),
        ("back", "back_out", "of_out", "of_y", "after_rows"),
    )

    def __init__(self, engine: "FusedTransformer") -> None:
        self.engine = engine

    @property
    def telling_programs(self) -> int:
        """Programs that say how large their largest element is."""
        return self.engine.hidden // WIDE_TILE

    def memory(self) -> dict[str, Tensor]:
        engine, columns = self.engine, self.engine.table_width
        width, rows, most = engine.width, engine.rows.count, engine.most_rows
        memory = {"HOT": engine.rows.all_hot(engine.tokens)}
        memory["IU"] = engine.half_tensor(width, columns)
        memory["W_O"] = engine.half_tensor(engine.channels, width)
        memory["PARTS"] = engine.half_tensor(3, engine.padded_b, width)
        memory["BIAS"] = engine.tensor(engine.padded_outputs)
        memory["STREAM"] = engine.half_tensor(most, width)
        memory["X"] = engine.half_tensor(most, engine.hidden)
        memory["DX"] = engine.half_tensor(rows, columns)
        memory["DSTREAM"] = engine.half_tensor(rows, width)
        memory["COLUMNS"] = engine.tensor(engine.tiles, columns)
        return memory

    def launches(self) -> dict[str, Launch]:
        return {
            "project": self._weights(),
            **self._rows(self.engine.rows),
            **self._rows(self.engine.every, judge=True),
            "slopes": self._slopes(),
            **self._back(),
            **self._all_sums(),
            "after_units": self._rest(),
        }

    def _weights(self) -> Launch:
        from algophase.training.kernels.one_layer.wide import wide_weights

        width = self.engine.width
        units = self.engine.hidden // TILE
        outputs = self.engine.padded_outputs // TILE
        copies = units + outputs + 2 * width // TILE
        return self.engine.launch(
            wide_weights, copies + units * outputs, BW=TILE, BK=min(32, width), num_warps=4
        )

    def _rows(self, rows: Rows, *, judge: bool = False) -> dict[str, Launch]:
        """From z to the loss of some rows."""
        from algophase.training.kernels.one_layer.wide import wide_hidden, wide_logits, wide_stream

        width = self.engine.width
        tiles = rows.count // WIDE_TILE
        width_tile = min(WIDE_TILE, width)
        stream = self.engine.launch(
            wide_stream,
            tiles * (width // width_tile),
            judge=judge,
            ROWS=WIDE_TILE,
            BD=width_tile,
            BK=TILE,
            num_warps=8,
        )
        hidden = self.engine.launch(
            wide_hidden,
            tiles * (self.engine.hidden // WIDE_TILE),
            judge=judge,
            BM=WIDE_TILE,
            BK=TILE,
            ROWS=WIDE_TILE,
            num_warps=8,
        )
        logits = self.engine.launch(
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

    def _slopes(self) -> Launch:
        from algophase.training.kernels.one_layer.wide import wide_slopes

        unit_tiles = self.engine.hidden // WIDE_TILE + 1
        programs = self.engine.tiles * unit_tiles
        return self.engine.launch(wide_slopes, programs, BM=WIDE_TILE, ROWS=TILE, num_warps=4)

    def _back(self) -> dict[str, Launch]:
        """dr = dx IU^T, dz = dr W_O^T."""
        memory = self.engine.memory
        d_stream = memory["DSTREAM"]
        return {
            "back": self._product_back(memory["DX"], memory["IU"], d_stream),
            "back_out": self._product_back(d_stream, memory["W_O"], memory["DZ"]),
        }

    def _product_back(self, a: Tensor, b: Tensor, out: Tensor) -> Launch:
        """out = a b^T / 16."""
        from algophase.training.kernels.one_layer.wide import wide_back

        _, rows, inner = a.shape
        columns = out.shape[2]
        tile = _column_tile(columns)
        return self.engine.launch(
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

    def _all_sums(self) -> dict[str, Launch]:
        """dIU, dR, dW_O, and dy by a product with one-hot rows. W_O IU is not multiplied out: an
        epoch takes 111.7 µs instead of 128.7, and 106.4 with the stream as the left side (width
        512)."""
        memory, gradients = self.engine.memory, self.engine.gradients.flat
        starts = self.engine.parameter_values()
        dx = memory["DX"]
        d_stream = memory["DSTREAM"]
        at_iu = {"AT": starts["AT_IU"], "FACTOR": 16.0}
        at_o = {"AT": starts["AT_O"]}
        readout = {"FIRST_B": self.engine.hidden, "N": self.engine.padded_outputs, "TELLS": True}
        return {
            "by_units": self._sums(memory["STREAM"], dx, gradients, at_iu),
            "of_readout": self._sums(memory["X"], dx, memory["DR"], readout),
            "of_out": self._sums(memory["Z"], d_stream, gradients, at_o),
            "of_y": self._sums(memory["HOT"], d_stream, memory["DY"], {}),
        }

    def _sums(self, a: Tensor, b: Tensor, out: Tensor, sizes: dict[str, Any]) -> Launch:
        """out = FACTOR a^T b over rows, from AT on, with N columns of b from FIRST_B on. TELLS: a
        holds hidden units, and the largest element is noted."""
        from algophase.training.kernels.one_layer.wide import wide_sums

        own = {"AT": 0, "FACTOR": 1.0, "FIRST_B": 0, "N": b.shape[2], "TELLS": False} | sizes
        _, rows, inner = a.shape
        columns = own["N"]
        inner_tile = min(WIDE_TILE, inner)
        tile = 2 * WIDE_TILE if columns > self.engine.hidden else _column_tile(columns)
        column_tiles = -(-columns // tile)
        return self.engine.launch(
            wide_sums,
            inner // inner_tile * column_tiles,
            A=a,
            B=b,
            OUT=out,
            size=out[0].numel(),
            A_ROWS=rows,
            K=inner,
            WB=b.shape[2],
            BK=inner_tile,
            BN=tile,
            ROWS=TILE,
            GELU=self.engine.gelu and own["TELLS"],
            num_warps=8,
            num_stages=4,
            **own,
        )

    def _rest(self) -> Launch:
        from algophase.training.kernels.one_layer.wide import wide_rest

        width = self.engine.width
        width_tile = min(WIDE_TILE, width)
        columns = (self.engine.hidden + self.engine.padded_outputs) // TILE
        programs = (1 + columns) * (width // width_tile)
        return self.engine.launch(
            wide_rest, programs, BW=TILE, BD=width_tile, num_warps=4, num_stages=1
        )


def _column_tile(columns: int) -> int:
    """Columns that a product of a wide network takes at a time. Not measured."""
    return min(columns, WIDE_TILE if columns % (2 * WIDE_TILE) else 2 * WIDE_TILE)
