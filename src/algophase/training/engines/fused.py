"""One-layer transformers with products in half precision: the gradient in nine Triton kernels.

Rounded to float16 are the operands of the grid's matrix products and of the backward pass, each to
nearest and where needed after scaling by an exact power of two (`kernels.shared`). Tables over
tokens keep 22 bits; parameters, moments, gradients, sums, softmax and loss are float32. Up to 256
channels, hidden units and their gradients never leave the chip.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from algophase.core.settings import NetworkSettings, RunSettings, TransformerSettings
from algophase.networks.stacking import padded_settings, power_of_two
from algophase.training.engines.compiling import compile_for
from algophase.training.engines.engine import ONLY_ADDS
from algophase.training.engines.flat import Flat
from algophase.training.engines.grid import GridTransformer
from algophase.training.engines.in_half import InHalf, Step, round_width
from algophase.training.engines.rows import Rows, lay_out, slots_for

MOST_WIDTH = 1024
MOST_OF_A_HEAD = 128 * 256  # tokens times channels of a head, which a program of `after_rows` holds
WIDE = 256  # channels beyond which x and dx are kept in memory (`kernels.wide`)
TILE = 64  # hidden units, or pairs, that a program takes at a time
WIDE_TILE = 128  # the same in the products of a wide network
GROUPS = 4  # parts the values of b are cut into on the way back to the scores


def _round_width(width: int) -> int:
    return round_width(width) if width <= WIDE else -(-width // WIDE_TILE) * WIDE_TILE


class FusedTransformer(InHalf, GridTransformer):
    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        reason = GridTransformer.unsupported(run, device)
        if reason is not None:
            return reason
        assert isinstance(run.network, TransformerSettings)
        if not run.task.is_addition:
            return ONLY_ADDS
        if run.network.width > MOST_WIDTH:
            return f"it takes widths up to {MOST_WIDTH}, not {run.network.width}"
        if run.network.heads > 8:
            return f"it takes at most 8 heads, not {run.network.heads}"
        if power_of_two(run.task.modulus) * power_of_two(run.network.head_size) > MOST_OF_A_HEAD:
            return (
                f"heads of {run.network.head_size} channels are too large at p = {run.task.modulus}"
            )
        return cls.beyond(run, device)

    @classmethod
    def padded(cls, runs: Sequence[RunSettings], device: torch.device) -> NetworkSettings:
        """Above `WIDE` to a multiple of `WIDE_TILE`: three quarters of 512 have half of its
        products.
        """
        return padded_settings(runs, _round_width)

    @property
    def table_width(self) -> int:
        return self.hidden + power_of_two(self.outputs, TILE)

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        """Heads and their size are padded to powers of two: padding is exactly zero and stays
        so.
        """
        heads, d, size = shapes["blocks.0.attn.W_Q"]
        return super().allocate(
            {**shapes, "blocks.0.attn.W_Q": (power_of_two(heads, 1), d, power_of_two(size))}
        )

    @staticmethod
    def runs_for(across: int) -> int:
        """Parts that the rows are cut into for sums over pairs: never by the number of networks. At
        p = 59 three parts take 2.5 s for a run alone where one takes 3.9, and 0.256 s instead of
        0.244 among 512 (with all pairs as rows)."""
        return 3 if across <= 64 else 2

    @staticmethod
    def rows_for(channels: int) -> int:
        """Rows of a program of `by_rows`, where the network is not wide."""
        return TILE if channels <= 128 else 2 * TILE

    def prepare(self, rate: Tensor, scale: Tensor) -> None:
        p, d, m, w = self.modulus, self.settings.width, self.hidden, self.table_width
        heads, size = self.parameters.shapes["O"][:2]
        c, vp, equals = heads * size, w - m, self.task.equals_sign
        across = power_of_two(p)  # a, padded
        self.wide = c > WIDE
        self.row_runs = 1 if self.wide else self.runs_for(across)
        tile = WIDE_TILE if self.wide else self.rows_for(c)
        slots = slots_for(p, int(self.weights[0].count_nonzero()), tile)
        self.rows = lay_out(self.weights, tile, slots, self.row_runs)
        self.every = lay_out(torch.ones_like(self.weights), tile, slots)
        rows, most, bp = self.rows.count, max(self.rows.count, self.every.count), across + slots
        tiles = rows // (TILE if self.wide else tile)
        self.hot = self.rows.all_hot(across) if self.wide else self.rows.one_hot()
        self.rate, self.scale = rate.contiguous(), scale.contiguous()
        self.give = 3 - 2 * rate if equals else 2 - rate
        maps, tables, half = 2 if equals else 1, 7 if equals else 5, torch.float16
        # before the grid, ...
        self.soft, self.tables = (
            self._new(maps, heads, across, across),
            self._new(tables, across, c),
        )
        self.y, self.z, self.R = (
            self._new(across, d),
            self._new(most, c, dtype=half),
            self._new(m, vp, dtype=half),
        )
        if self.wide:
            self.IU, self.out, self.y_parts = (
                self._new(*shape, dtype=half) for shape in ((d, w), (c, d), (3, bp, d))
            )
            self.bias, self.stream = self._new(vp), self._new(most, d, dtype=half)
        else:
            self.Q, self.base = self._new(c, w, dtype=half), self._new(3, bp, w, dtype=half)
        # ... from it, ...
        self.slope, self.dz = self._new(rows, vp, dtype=half), self._new(rows, c, dtype=half)
        self.exponent, self.dz_exponent = (
            self._new(tiles, dtype=torch.int32),
            self._new(tiles, dtype=torch.int32),
        )
        self.tile_loss, self.loss = self._new(tiles), self._new()
        self.dR = self._new(self.row_runs, m, vp)
        programs = m // WIDE_TILE if self.wide else (m // TILE + 1) * self.row_runs
        self.largest = self._new(programs, dtype=torch.int32)
        if self.wide:
            self.x, self.dx = self._new(most, m, dtype=half), self._new(rows, w, dtype=half)
            self.dr, self.columns = self._new(rows, d, dtype=half), self._new(tiles, w)
        else:
            self.dQ, self.dbase = self._new(self.row_runs, w, c), self._new(bp + self.row_runs, w)
        # ... and after it
        of_b = -(-p // GROUPS) * GROUPS
        self.d_score, self.d_other = self._new(heads, of_b, across), self._new(heads, of_b)
        self.d_v1, self.d_vq = self._new(GROUPS, across, c), self._new(maps, across, c)
        self.dy, self.d_tables = self._new(across, d), self._new(tables, across, c)
        self.pair_loss, self.pair_right = (
            self._new(self.every.count),
            self._new(self.every.count, dtype=torch.int8),
        )
        self.steps = self._steps()
        self.side = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        compile_for(self.device, self.steps.values())

    def _steps(self) -> dict[str, Step]:
        """Every kernel of an epoch, and `judge`. No loop has more stages than steps."""
        from algophase.training.kernels.after_rows import after_attention, after_rows, after_tables
        from algophase.training.kernels.tables import attend, read_tokens

        n, d = self.count, self.settings.width
        flat, found, size = self.parameters.flat, self.gradients.flat, self.parameters.flat.shape[1]
        c, heads = self.z.shape[2], self.soft.shape[2]
        e, across, tiles, tables = (
            c // heads,
            self.y.shape[1],
            self.exponent.shape[1],
            self.tables.shape[1],
        )
        tokens = {
            "P": self.modulus,
            "SECOND": self.modulus if self.task.separate_vocabularies else 0,
            "EQUALS": self.task.vocabulary - 1 if self.task.equals_sign else 0,
        }
        equals = {"EQUALS": tokens["EQUALS"]}
        of_heads = {"H": heads, "E": e}
        of_b = {"PA": across, "BS": self.d_score.shape[2]}
        bc, bd, be, bk = min(64, c), min(64, d), min(32, e), min(32, d)
        bt, bx = (min(128, c), bd) if across <= 64 else (bc, bk)
        of_tiles = {"TILES": tiles, "TILES_P": power_of_two(tiles)}
        warps = {"num_warps": 4 if across <= 64 else 8}
        of_tables = min(128, c) if self.wide else bc
        return {
            "read_tokens": Step(
                read_tokens,
                (tables * (c // bt), n),
                (flat, self.tables, size),
                {
                    **self._at("EMBED", "POS", "QKV"),
                    **tokens,
                    "PA": across,
                    "D": d,
                    "C": c,
                    "BC": bt,
                    "BK": bk,
                    **warps,
                }
                | {"num_stages": 3 if self.wide else 1},
            ),
            "attend": Step(
                attend,
                (heads + d // bd, n),
                (flat, self.scale, self.give, self.tables, self.soft, self.y, size),
                {
                    **self._at("EMBED", "POS", "O"),
                    **tokens,
                    "PA": across,
                    "D": d,
                    **of_heads,
                    "BD": bd,
                    "BK": min(32, c),
                    "BE": be,
                    **warps,
                },
            ),
            "mix": self._mix(self.rows, {**equals, **of_heads}),
            "mix_all": self._mix(self.every, {**equals, **of_heads}),
            **(self._wide_grid() if self.wide else self._grid()),
            "after_rows": Step(
                after_rows,
                (heads * GROUPS, n),
                (
                    *(
                        self.rate,
                        self.scale,
                        self.soft,
                        self.tables,
                        self.rows.places,
                        self.dz,
                        self.dz_exponent,
                    ),
                    *(self.d_score, self.d_other, self.d_v1, self.d_vq),
                ),
                {
                    **equals,
                    **of_b,
                    "T": self.rows.count,
                    **of_heads,
                    "TILES": tiles,
                    "GROUPS": GROUPS,
                    "STAGES": min(3, of_b["BS"] // GROUPS),
                    "num_warps": max(
                        1,
                        min(8, across * e // (1024 if tokens["EQUALS"] and across > 64 else 2048)),
                    ),
                },
            ),
            "after_attention": Step(
                after_attention,
                (c // be + c // bc * (d // bd), n),
                (
                    *(
                        flat,
                        found,
                        self.give,
                        self.tables,
                        self.d_score,
                        self.d_other,
                        self.d_v1,
                        self.d_vq,
                    ),
                    *(self.dy, self.d_tables, size),
                ),
                {
                    **self._at("O"),
                    "P": self.modulus,
                    **equals,
                    **of_b,
                    "D": d,
                    **of_heads,
                    "BE": be,
                    "BC": bc,
                    "BD": bd,
                    "BK": bk,
                    "GROUPS": GROUPS,
                    **warps,
                },
            ),
            "after_tables": Step(
                after_tables,
                (d // bx + 3 * (c // of_tables) * (d // bd) + 1, n),
                (flat, found, self.d_tables, self.dy, self.tile_loss, self.loss, size),
                {
                    **self._at("EMBED", "POS", "QKV"),
                    **tokens,
                    "PA": across,
                    "D": d,
                    "C": c,
                    "BC": of_tables,
                    "BD": bd,
                    "BX": bx,
                    "BK": min(64 if across <= 64 else 32, c),
                    **of_tiles,
                    **warps,
                    "num_stages": 1 if across <= 64 else 2,
                },
            ),
        }

    def _at(self, *names: str) -> dict[str, int]:
        """Where tensors start in a network's row of parameters."""
        starts = {
            name.upper(): int(view.storage_offset()) for name, view in self.parameters.items()
        }
        return {f"AT_{name}": starts[name] for name in names}

    def _mix(self, rows: Rows, options: dict[str, int]) -> Step:
        from algophase.training.kernels.tables import mix

        (most, c), across = self.z.shape[1:], self.y.shape[1]
        at_once = TILE // 2 if c <= 128 else TILE // 4
        sizes = {"PA": across, "T": rows.count, "MOST": most, "ROWS": at_once, "num_warps": 4}
        arguments = (self.rate, self.soft, self.tables, rows.pairs, self.z)
        return Step(mix, (rows.count // at_once, self.count), arguments, options | sizes)

    def _core(self, rows: Rows) -> dict[str, Any]:
        (most, c), (m, vp) = self.z.shape[1:], self.R.shape[1:]
        of_base = {"S": rows.slots, "KB": rows.columns, "BP": self.y.shape[1] + rows.slots}
        return {
            **of_base,
            "T": rows.count,
            "MOST": most,
            "M": m,
            "C": c,
            "VP": vp,
            "GELU": self.gelu,
        }

    def _grid(self) -> dict[str, Step]:
        from algophase.training.kernels.after_units import after_units
        from algophase.training.kernels.by_rows import by_rows
        from algophase.training.kernels.by_units import by_units
        from algophase.training.kernels.tables import project

        n, tiles, core = self.count, self.exponent.shape[1], self._core(self.rows)
        c, m, vp, d, across, counted = (
            core["C"],
            core["M"],
            core["VP"],
            *self.y.shape[:0:-1],
            self.largest.shape[1],
        )
        bc, bd = min(TILE, c), min(2 * TILE, d)
        few, narrow = core["VP"] == 64, core["C"] <= 128
        warps = {"num_warps": 4 if narrow else 8}
        read, tile = (self.z, self.Q, self.base, self.R), core["T"] // tiles

        def of_rows(rows: Rows, loss: Tensor, *, judge: bool) -> Step:
            slopes = (self.slope, self.exponent, self.dz, self.dz_exponent)
            options = {
                "P": self.modulus,
                "V": self.outputs,
                **self._core(rows),
                "ROWS": tile,
                "JUDGE": judge,
            }
            # with 128 outputs, or GELU, half the hidden units at a time, so that two programs share
            # a multiprocessor
            options |= {
                "BM": TILE if few and not self.gelu else TILE // 2,
                "STAGES": 3 if narrow else 2,
                **warps,
            }
            arguments = (*read, rows.pairs, rows.weights, *slopes, loss, self.pair_right)
            return Step(by_rows, (rows.count // tile, n), arguments, options)

        flat, size = self.parameters.flat, self.parameters.flat.shape[1]
        sides = {
            "PA": across,
            "D": d,
            **{key: core[key] for key in ("BP", "M", "C", "VP")},
            "BW": TILE,
            "BC": bc,
        }
        sides |= self._at("O", "IU", "B_IN", "W_OUT", "B_OUT")
        return {
            "project": Step(
                project,
                ((m + vp) // TILE * (1 + c // bc) + m // TILE * (vp // TILE), n),
                (flat, self.y, self.Q, self.base, self.R, size),
                {**sides, "BK": min(32, d)}
                | {"num_warps": 4 if across <= 64 else 8, "num_stages": 3 if across <= 64 else 1},
            ),
            "by_rows": of_rows(self.rows, self.tile_loss, judge=False),
            "judge": of_rows(self.every, self.pair_loss, judge=True),
            "by_units": Step(
                by_units,
                (self.hidden // TILE + 1, self.row_runs, n),
                (
                    *(*read, self.rows.pairs, self.hot, self.slope, self.exponent),
                    *(self.dQ, self.dbase, self.dR, self.largest),
                ),
                {
                    **core,
                    "BM": TILE,
                    "ROWS": TILE if few or narrow else TILE // 2,  # or registers spill
                    "TILES": tiles,
                    "TILES_P": power_of_two(tiles),
                    "RUNS": self.row_runs,
                    "STAGES": min(3 if few else 2, core["T"] // TILE // self.row_runs),
                    **warps,
                },
            ),
            "after_units": Step(
                after_units,
                ((2 + c // bc + (m + vp) // TILE + m // TILE) * (d // bd), n),
                (
                    *(
                        flat,
                        self.gradients.flat,
                        self.y,
                        self.dQ,
                        self.dbase,
                        self.rows.pairs,
                        self.dR,
                    ),
                    *(self.largest, self.dy, size),
                ),
                {
                    **sides,
                    "T": core["T"],
                    "BD": bd,
                    "BB": min(64, across),
                    "RUNS": self.row_runs,
                    "COUNT": counted,
                }
                | {"COUNT_P": power_of_two(counted), "num_warps": 4, "num_stages": 1},
            ),
        }

    def _wide_grid(self) -> dict[str, Step]:
        from algophase.training.kernels import wide

        n, (m, vp), (across, d), tiles = (
            self.count,
            self.R.shape[1:],
            self.y.shape[1:],
            self.columns.shape[1],
        )
        flat, size, counted = (
            self.parameters.flat,
            self.parameters.flat.shape[1],
            self.largest.shape[1],
        )
        of_tiles = {"TILES": tiles, "TILES_P": power_of_two(tiles)}
        bd, eight = min(WIDE_TILE, d), {"num_warps": 8}

        def some(rows: Rows, *names: str) -> dict[str, Any]:
            core = {**self._core(rows), "D": d}
            return {name: core[name] for name in names}

        def stream(rows: Rows) -> Step:
            options = some(rows, "S", "KB", "BP", "T", "MOST", "C", "D") | {
                "ROWS": WIDE_TILE,
                "BD": bd,
                "BK": TILE,
                **eight,
            }
            arguments = (self.z, self.out, self.y_parts, rows.pairs, self.stream)
            return Step(
                wide.wide_stream, (rows.count // WIDE_TILE * (d // bd), n), arguments, options
            )

        def hidden(rows: Rows) -> Step:
            options = self._at("B_IN") | some(rows, "MOST", "M", "D", "VP", "GELU")
            options |= {"BM": WIDE_TILE, "BK": TILE, "ROWS": WIDE_TILE, **eight}
            arguments = (self.stream, self.IU, flat, self.x, size)
            return Step(
                wide.wide_hidden,
                (rows.count // WIDE_TILE * (m // WIDE_TILE), n),
                arguments,
                options,
            )

        def logits(rows: Rows, loss: Tensor, *, judge: bool) -> Step:
            options = {
                "P": self.modulus,
                "V": self.outputs,
                **some(rows, "T", "MOST", "M", "D", "VP", "GELU"),
                "BK": TILE,
            }
            read = (self.stream, self.x, self.IU, self.R, self.bias, rows.pairs, rows.weights)
            arguments = (*read, self.slope, self.exponent, loss, self.pair_right)
            # ptxas takes seconds for three stages and 0.2 s for two
            options |= {"ROWS": TILE, "JUDGE": judge, "num_warps": 4, "num_stages": 2}
            return Step(wide.wide_logits, (rows.count // TILE, n), arguments, options)

        def across_tile(columns: int) -> int:
            return min(columns, WIDE_TILE if columns % (2 * WIDE_TILE) else 2 * WIDE_TILE)

        def back(a: Tensor, b: Tensor, to: Tensor) -> Step:
            rows, k, columns = a.shape[1], a.shape[2], to.shape[2]
            long = across_tile(columns)
            options = {
                "T": rows,
                "K": k,
                "N": columns,
                "ROWS": WIDE_TILE,
                "BN": long,
                "BK": TILE,
                **eight,
            }
            return Step(
                wide.wide_back, (rows // WIDE_TILE * (columns // long), n), (a, b, to), options
            )

        def sums(
            a: Tensor,
            b: Tensor,
            to: Tensor,
            at: int = 0,
            factor: float = 1.0,
            *,
            of_r: bool = False,
        ) -> Step:
            k, columns = a.shape[2], vp if of_r else b.shape[2]
            high, long = min(WIDE_TILE, k), 2 * WIDE_TILE if columns > m else across_tile(columns)
            options: dict[str, Any] = {
                "A_ROWS": a.shape[1],
                "K": k,
                "WB": b.shape[2],
                "FIRST_B": m if of_r else 0,
                "N": columns,
            }
            options |= {
                "AT": at,
                "T": b.shape[1],
                "BK": high,
                "BN": long,
                "ROWS": TILE,
                **of_tiles,
                "FACTOR": factor,
            }
            options |= {"GELU": self.gelu and of_r, "TELLS": of_r, **eight, "num_stages": 4}
            grid = (k // high * -(-columns // long), n)
            return Step(
                wide.wide_sums,
                grid,
                (a, b, to, self.exponent, self.largest, to[0].numel()),
                options,
            )

        return {
            "project": Step(
                wide.wide_weights,
                ((m + vp + 2 * d) // TILE + m // TILE * (vp // TILE), n),
                (flat, self.y, self.IU, self.out, self.y_parts, self.R, self.bias, size),
                self._at("O", "IU", "W_OUT", "B_OUT")
                | {
                    "PA": across,
                    **some(self.rows, "BP", "D", "C", "M", "VP"),
                    "BW": TILE,
                    "BK": min(32, d),
                    "num_warps": 4,
                },
            ),
            "stream": stream(self.rows),
            "stream_all": stream(self.every),
            "hidden": hidden(self.rows),
            "hidden_all": hidden(self.every),
            "by_rows": logits(self.rows, self.tile_loss, judge=False),
            "judge": logits(self.every, self.pair_loss, judge=True),
            "slopes": Step(
                wide.wide_slopes,
                (tiles * (m // WIDE_TILE + 1), n),
                (
                    self.x,
                    self.R,
                    self.slope,
                    self.exponent,
                    self.dx,
                    self.dz_exponent,
                    self.columns,
                ),
                some(self.rows, "T", "MOST", "M", "VP", "GELU")
                | {**of_tiles, "BM": WIDE_TILE, "ROWS": TILE, "num_warps": 4},
            ),
            "back": back(self.dx, self.IU, self.dr),
            "back_out": back(self.dr, self.out, self.dz),
            "by_units": sums(
                self.stream, self.dx, self.gradients.flat, self._at("IU")["AT_IU"], 16.0
            ),
            "of_r": sums(self.x, self.dx, self.dR, of_r=True),
            "of_out": sums(self.z, self.dr, self.gradients.flat, self._at("O")["AT_O"]),
            "of_y": sums(self.hot, self.dr, self.dy),
            "after_units": Step(
                wide.wide_rest,
                ((1 + (m + vp) // TILE) * (d // bd), n),
                (
                    flat,
                    self.gradients.flat,
                    self.columns,
                    self.exponent,
                    self.dR,
                    self.largest,
                    size,
                ),
                {
                    **self._at("IU", "B_IN", "W_OUT", "B_OUT"),
                    "D": d,
                    "M": m,
                    "VP": vp,
                    "BW": TILE,
                    "BD": bd,
                    **of_tiles,
                }
                | {
                    "COUNT": counted,
                    "COUNT_P": power_of_two(counted),
                    "num_warps": 4,
                    "num_stages": 1,
                },
            ),
        }

    def _go(self, *names: str) -> None:
        for name in names:
            self.steps[name].launch()

    def _beside(self, first: Sequence[str], second: Sequence[str]) -> None:
        """Two chains of kernels that do not need each other, on a GPU at the same time."""
        if self.side is None:
            self._go(*first, *second)
            return
        main = torch.cuda.current_stream(self.device)
        self.side.wait_stream(main)
        self._go(*first)
        with torch.cuda.stream(self.side):
            self._go(*second)
        main.wait_stream(self.side)

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        self._go("read_tokens", "attend")
        self._beside(["project"], ["mix"])
        if self.wide:
            self._go("stream", "hidden", "by_rows", "slopes")
            self._beside(
                ["by_units", "of_r", "after_units"],
                ["back", "back_out", "of_out", "of_y", "after_rows"],
            )
        else:
            self._go("by_rows")
            self._beside(["by_units", "after_units"], ["after_rows"])
        self._go("after_attention", "after_tables")
        return self.loss

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        self._go(
            "read_tokens",
            "attend",
            "mix_all",
            "project",
            *(["stream_all", "hidden_all"] if self.wide else []),
            "judge",
        )
        return self.every.to_grid(self.pair_loss, self.modulus), self.every.to_grid(
            self.pair_right, self.modulus
        ).bool()
