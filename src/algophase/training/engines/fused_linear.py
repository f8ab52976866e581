"""Linear models with products in half precision: the gradient in four Triton kernels, five with two
layers.

Rows are pairs: training pairs where each operand has a table of its own (delta, alpha'), unordered
pairs where both share one (alpha, beta, gamma), which are half as many. What is rounded, and how,
is as in `training.engines.fused`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from algophase.core.settings import LinearSettings, RunSettings
from algophase.networks.stacking import power_of_two
from algophase.training.engines.compiling import compile_for
from algophase.training.engines.engine import ONLY_ADDS
from algophase.training.engines.flat import Flat
from algophase.training.engines.fused import TILE
from algophase.training.engines.in_half import InHalf, Step, round_width
from algophase.training.engines.rows import Rows, lay_out

MOST_HIDDEN = {
    True: 256,
    False: 1024,
}  # units, with two layers or one: a program holds all of a row's where there are two
COPIED = 4096  # numbers that a program rounds to float16


class FusedLinear(InHalf):
    settings: LinearSettings

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        p, (vp, h) = self.modulus, self.parameters.shapes["U"]
        across, half = power_of_two(p), torch.float16
        self.rows, self.every = self._rows()
        places = self.every.places[0, :p, :p].mT
        self.row_of = (torch.minimum(places, places.mT) if self.shared else places).long()  # (a, b)
        rows, tiles = self.rows.count, self.rows.count // TILE
        self.tables, self.second, self.readout = (
            self._new(2, across, h),
            self._new(*((h, h) if self.two_layers else (1,)), dtype=half),
            self._new(vp, h, dtype=half),
        )
        self.hidden, self.slope = self._new(rows, h, dtype=half), self._new(rows, vp, dtype=half)
        self.dx = self._new(*((rows, h) if self.two_layers else (1,)), dtype=half)
        self.exponent, self.dx_exponent = (
            self._new(tiles, dtype=torch.int32),
            self._new(tiles, dtype=torch.int32),
        )
        self.tile_loss, self.loss = self._new(tiles), self._new()
        self.d_tables = self._new(1 if self.shared else 2, h, across)
        self.pair_loss, self.pair_right = (
            self._new(self.every.count),
            self._new(self.every.count, dtype=torch.int8),
        )
        self.steps = self._steps()
        compile_for(self.device, self.steps.values())

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        if not isinstance(run.network, LinearSettings):
            return f"it trains linear models, not {run.network.kind} networks"
        if not run.task.is_addition:
            return ONLY_ADDS
        most = MOST_HIDDEN[run.network.model in ("beta", "gamma")]
        if run.network.hidden > most:
            return (
                f"it takes at most {most} hidden units of model {run.network.model}, not "
                f"{run.network.hidden}"
            )
        return cls.beyond(run, device)

    @property
    def shared(self) -> bool:
        """Whether one table serves both operands: the logits are symmetric in a and b."""
        return self.settings.model in ("alpha", "beta", "gamma")

    @property
    def two_layers(self) -> bool:
        return self.settings.model in ("beta", "gamma")

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        """Sizes are padded (`round_width`): padding is exactly zero and stays so."""
        embeddings, readers = (
            2 if self.settings.model == "alpha-prime" else 1,
            2 if self.settings.model == "delta" else 1,
        )
        h, e = round_width(self.settings.hidden), round_width(self.settings.embedding_width)
        layout = {"E": (embeddings, self.modulus, e), "W1": (readers, h, e), "b1": (h,)}
        if self.two_layers:
            layout |= {"W2": (h, h), "b2": (h,)}
        return Flat(
            self.count, layout | {"U": (power_of_two(self.modulus, 64), h)}, self.device, self.dtype
        )

    def _parts(self, values: Flat) -> dict[str, list[Tensor]]:
        """Where each tensor of the specification is: as one view, or as two that lie side by
        side in it.
        """
        h, e = self.settings.hidden, self.settings.embedding_width
        embeddings = (
            ["embed1.weight", "embed2.weight"]
            if self.settings.model == "alpha-prime"
            else ["embed.weight"]
        )
        found = {name: [values["E"][:, index, :, :e]] for index, name in enumerate(embeddings)}
        found |= {
            "l1.weight": [half[:, :h, :e] for half in values["W1"].unbind(1)],
            "l1.bias": [values["b1"][:, :h]],
        }
        if self.two_layers:
            found |= {"l2.weight": [values["W2"][:, :h, :h]], "l2.bias": [values["b2"][:, :h]]}
        return found | {"unembed.weight": [values["U"][:, : self.modulus, :h]]}

    def load(self, stacked: dict[str, Tensor]) -> None:
        for name, parts in self._parts(self.parameters).items():
            for part, value in zip(parts, stacked[name].chunk(len(parts), dim=-1), strict=True):
                part.copy_(value)

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        found = self._parts(self.parameters if values is None else values)
        return {
            name: parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
            for name, parts in found.items()
        }

    def _rows(self) -> tuple[Rows, Rows]:
        """To train on, and all that are judged."""
        p = self.modulus
        if not self.shared:
            return lay_out(self.weights, TILE, p), lay_out(torch.ones_like(self.weights), TILE, p)
        every = lay_out(torch.ones_like(self.weights).triu(), TILE, p)
        both = self.weights + self.weights.mT * (1 - torch.eye(p, device=self.device))
        pairs = every.pairs[:, : every.count].long()
        weights = both.flatten(1).gather(1, pairs % 256 * p + pairs // 256) * (every.weights != 0)
        return replace(every, weights=weights), every

    def _steps(self) -> dict[str, Step]:
        from algophase.training.kernels.linear_rows import linear_rows
        from algophase.training.kernels.linear_tables import after_linear_tables, linear_tables
        from algophase.training.kernels.linear_units import linear_tokens, linear_units

        n, p, two = self.count, self.modulus, self.two_layers
        flat, found, size = self.parameters.flat, self.gradients.flat, self.parameters.flat.shape[1]
        shapes = self.parameters.shapes
        (embeddings, _, e), readers, (vp, h) = shapes["E"], shapes["W1"][0], shapes["U"]
        rows, tiles, across = self.rows.count, self.exponent.shape[1], self.tables.shape[2]
        starts = {
            f"AT_{name.upper()}": int(view.storage_offset())
            for name, view in self.parameters.items()
        }
        starts = {"AT_W2": 0, "AT_B2": 0} | starts
        bm, be, own = min(TILE, h), min(TILE, e), self.d_tables.shape[1]
        biases = 2.0 if self.settings.model == "gamma" else 1.0  # gamma adds b_1 with each operand
        first: dict[str, Any] = {
            "P": p,
            "PA": across,
            "E": e,
            "H": h,
            "SHARED": self.shared,
            "EMBEDDINGS": embeddings,
        }
        first |= {"READERS": readers, "BIASES": biases, "BH": bm}
        core, of_tiles = (
            {"PA": across, "T": rows, "H": h, "BM": bm},
            {"TILES": tiles, "TILES_P": power_of_two(tiles)},
        )
        few, warps = vp == 64, {"num_warps": 4 if across <= 64 else 8}

        def at(*names: str) -> dict[str, int]:
            return {f"AT_{name}": starts[f"AT_{name}"] for name in names}

        def by_rows(rows: Rows, loss: Tensor, *, judge: bool) -> Step:
            read = (flat, self.tables, self.second, self.readout, rows.pairs, rows.weights)
            write = (
                self.hidden,
                self.slope,
                self.exponent,
                self.dx,
                self.dx_exponent,
                loss,
                self.pair_right,
                size,
            )
            options: dict[str, Any] = {
                **at("B2"),
                "P": p,
                **core,
                "T": rows.count,
                "VP": vp,
                "ROWS": TILE,
                "TWO_LAYERS": two,
            }
            options |= {
                "JUDGE": judge,
                "BM": bm if few or not two else bm // 2,
                "STAGES": 2,
                "num_warps": 8 if two else 4,
            }
            return Step(linear_rows, (rows.count // TILE, n), read + write, options)

        steps = {
            "tables": Step(
                linear_tables,
                (own * (h // bm) + -(-h * (vp + h * two) // COPIED), n),
                (flat, self.tables, self.second, self.readout, size),
                {
                    **at("E", "W1", "B1", "W2", "U"),
                    **first,
                    "VP": vp,
                    "TWO_LAYERS": two,
                    "BK": min(32, e),
                    "COPIED": COPIED,
                }
                | {**warps, "num_stages": 1},
            ),
            "by_rows": by_rows(self.rows, self.tile_loss, judge=False),
            "judge": by_rows(self.every, self.pair_loss, judge=True),
            "by_units": Step(
                linear_units,
                (h // bm, n),
                (
                    *(
                        flat,
                        found,
                        self.second,
                        self.readout,
                        self.rows.pairs,
                        self.hidden,
                        self.slope,
                        self.exponent,
                    ),
                    *(self.d_tables, size),
                ),
                {
                    **at("W2", "B2", "U"),
                    **core,
                    "VP": vp,
                    "ROWS": TILE if few else TILE // 2,
                    "SHARED": self.shared,
                }
                | {
                    "TWO_LAYERS": two,
                    **of_tiles,
                    "STAGES": 3 if few else 2,
                    "num_warps": 4 if few and not two else 8,
                },
            ),
            "after_tables": Step(
                after_linear_tables,
                ((embeddings + readers * (h // bm)) * (e // be) + 1, n),
                (flat, found, self.d_tables, self.tile_loss, self.loss, size),
                {**at("E", "W1", "B1"), **first, "BE": be, **of_tiles, **warps, "num_stages": 1},
            ),
        }
        if two:
            steps["tokens"] = Step(
                linear_tokens,
                (h // bm, n),
                (self.rows.pairs, self.dx, self.dx_exponent, self.d_tables),
                {**core, "ROWS": TILE, **of_tiles, "STAGES": 3, "num_warps": 4},
            )
        return steps

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        for name in (
            "tables",
            "by_rows",
            "by_units",
            *(("tokens",) if self.two_layers else ()),
            "after_tables",
        ):
            self.steps[name].launch()
        return self.loss

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        for name in ("tables", "judge"):
            self.steps[name].launch()
        return self.pair_loss[:, self.row_of], self.pair_right[:, self.row_of].bool()
