"""Transformers of two layers or more with products in half precision: forward and backward in
Triton kernels.

Only training pairs go through the network, padded with pairs of weight zero. The first layer's
queries, keys and values are tables over tokens; the last layer serves the last position only.
Operands of products over pairs are float16, rounded to
nearest: weights and stream in fixed units, gradients scaled by powers of two (`kernels.shared`).
    Parameters, moments, their
gradients, the residual stream, sums, softmax and loss are float32. Hidden units never leave the
chip.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from algophase.core.settings import RunSettings, TransformerSettings
from algophase.networks.stacking import power_of_two
from algophase.training.engines.compiling import compile_for
from algophase.training.engines.engine import run_values
from algophase.training.engines.flat import Flat
from algophase.training.engines.in_half import InHalf, Step, round_width

MOST_CHANNELS = 256  # of the stream and of all heads together, padded
TILE = 64  # pairs a program of attention takes; rows that share a power of two
PARTS = 2  # of every sum over pairs: never by the number of networks
BLOCK = 2048  # parameters a program takes


class Tiles(NamedTuple):
    """How the rows of an MLP are cut up: so that nothing spills and two programs share a
    multiprocessor, up to width 128.
    """

    rows: int  # a program takes
    hidden: int  # units at a time
    warps: int
    stages: int  # of loads under way


def row_tiles(channels: int, outputs: int, gelu: bool, back: bool) -> Tiles:
    """Of the kernels by rows, with so many channels at most; back: of `deep_back`."""
    if channels > 128:
        return Tiles(64, 32, 8, 2)
    return (
        Tiles(64, 32, 4, 3 if outputs <= 64 else 2)
        if gelu or outputs > 64
        else Tiles(64, 64, 4, 3 if back else 2)
    )


def unit_tiles(channels: int, gelu: bool) -> Tiles:
    """Of `deep_units`."""
    wide = channels > 128
    return Tiles(32 if gelu or wide else 64, 64, 8 if wide else 4, 2)


def attention_warps(size: int, positions: int) -> int:
    """Of the attention kernels, with heads of so many channels."""
    return min(16, max(4, size // 8) * (positions - 1))


class Layer(NamedTuple):
    """What a layer leaves for the next and for its own gradient: (n, rows, channels) of every
    position that asks.
    """

    z: Tensor
    u: Tensor
    y: Tensor  # float32; empty in the last layer, which goes straight on
    y_half: Tensor
    active: Tensor  # a bit for each hidden unit; empty in the last layer, and with GELU
    dy: Tensor
    e_dy: Tensor  # exponents, one for each tile of rows
    du: Tensor
    e_du: Tensor
    dz: Tensor
    e_dz: Tensor
    d_qkv: Tensor  # of every position
    e_qkv: Tensor


class DeepTransformer(InHalf):
    settings: TransformerSettings

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        network = run.network
        if not isinstance(network, TransformerSettings):
            return f"it trains transformers, not {network.kind} networks"
        if network.layers == 1:
            return "it trains two layers or more, not 1"
        if network.heads > 8:
            return f"in half precision it takes at most 8 heads, not {network.heads}"
        width = round_width(network.width)
        if max(width, _channels(width, network.heads)) > MOST_CHANNELS:
            heads = f" in {network.heads} heads" if width <= MOST_CHANNELS else ""
            return (
                f"in half precision it takes widths up to {MOST_CHANNELS} with several "
                f"layers, not {network.width}{heads}"
            )
        return cls.beyond(run, device)

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        self.rate = run_values(runs, "attention_rate", device, self.dtype)
        self.scale = run_values(runs, "head_size", device, self.dtype).rsqrt()
        self.side = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._prepare()

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        """Heads and their size are padded to powers of two, outputs too: padding is exactly zero
        and stays so.
        """
        heads, d, size = shapes["blocks.0.attn.W_Q"]
        heads, size = power_of_two(heads, 1), power_of_two(size)
        layout: dict[str, tuple[int, ...]] = {
            "embed": shapes["embed.W_E"],
            "pos": shapes["pos_embed.W_pos"],
        }
        for layer in range(self.settings.layers):
            layout[f"QKV {layer}"] = (d, 3, heads, size)
            layout[f"O {layer}"] = (heads, size, d)
            layout |= {
                f"{name} {layer}": (4 * d, d) for name in ("W_in", "W_out")
            }  # W_in transposed
            layout |= {f"b_in {layer}": (4 * d,), f"b_out {layer}": (d,)}
        return Flat(
            self.count,
            {**layout, "U": (d, power_of_two(self.task.logits, TILE))},
            self.device,
            self.dtype,
        )

    def load(self, stacked: dict[str, Tensor]) -> None:
        for name, part in self.export().items():
            part.copy_(stacked[name])

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        P, heads, size = values or self.parameters, self.settings.heads, self.settings.head_size
        found = {"embed.W_E": P["embed"], "pos_embed.W_pos": P["pos"]}
        for layer in range(self.settings.layers):
            qkv, block = (
                P[f"QKV {layer}"][:, :, :, :heads, :size].transpose(1, 3),
                f"blocks.{layer}",
            )  # (n, h, 3, d, e)
            found |= {
                f"{block}.attn.W_{name}": qkv[:, :, index] for index, name in enumerate("QKV")
            }
            found[f"{block}.attn.W_O"] = P[f"O {layer}"][:, :heads, :size]
            found[f"{block}.mlp.W_in"] = P[f"W_in {layer}"].mT
            found |= {
                f"{block}.mlp.{name}": P[f"{name} {layer}"] for name in ("b_in", "W_out", "b_out")
            }
        return {**found, "unembed.W_U": P["U"][:, :, : self.task.logits]}

    def _prepare(self) -> None:
        p, d, positions = self.modulus, self.settings.width, self.task.context
        heads, size = self.parameters.shapes["O 0"][:2]
        self.channels, self.across, outputs = (
            heads * size,
            power_of_two(p),
            self.parameters.shapes["U"][1],
        )
        flat = self.weights.flatten(1)
        pairs = (
            (flat > 0).nonzero()[:, 1].view(self.count, -1)
        )  # every network has as many training pairs
        self.pairs = -(-pairs.shape[1] // (TILE * PARTS)) * TILE * PARTS  # padded
        self.tokens, self.pair_labels = self._picked(pairs)
        self.pair_weights = self._new(self.pairs)
        self.pair_weights[:, : pairs.shape[1]] = flat.gather(1, pairs)
        self.half = Flat(self.count, self.parameters.shapes, self.device, torch.float16)
        shapes = self.parameters.shapes
        self.partial = (
            Flat(self.count * PARTS, shapes, self.device, self.dtype)
            if PARTS > 1
            else self.gradients
        )
        self.x = self._new(positions, self.across, d)
        self.tables = self._new(positions, 3, self.across, self.channels)
        self.d_tables = self._new(PARTS, positions, self.across, 3 * self.channels + d)
        self.layers = [self._layer(layer) for layer in range(self.settings.layers)]
        self.slope = self._new(self.pairs, outputs, dtype=torch.float16)
        self.e_slope = self._new(self.pairs // TILE, dtype=torch.int32)
        self.tile_loss, self.loss = self._new(self.pairs // self._of_rows()["ROWS"]), self._new()
        everything = (
            torch.arange(p * p, device=self.device).expand(self.count, -1).split(self.pairs, dim=1)
        )
        self.pair_loss = self._new(len(everything), self.pairs).transpose(0, 1).contiguous()
        self.pair_right = torch.zeros_like(self.pair_loss, dtype=torch.int8)
        self.first_steps, self.forward_steps = self._first(), self._forward(self.tokens)
        self.last_step = self._last(
            self.tokens, self.pair_labels, (self.tile_loss, self.pair_right[0]), judge=False
        )
        self.judging = []
        for some, loss, right in zip(everything, self.pair_loss, self.pair_right, strict=True):
            tokens, labels = self._picked(some)
            self.judging += [
                *self._forward(tokens),
                self._last(tokens, labels, (loss, right), judge=True),
            ]
        self.backward_steps = [
            (self._back(layer), self._sums(layer)) for layer in reversed(range(len(self.layers)))
        ]
        self.final_steps = self._final()
        compile_for(self.device, self.steps.values())

    def _picked(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens (n, positions, T) and labels (n, T) of some pairs (n, B), zero in padding."""
        first, second = pairs // self.modulus, pairs % self.modulus
        tokens = self._new(self.task.context, self.pairs, dtype=torch.int32)
        labels = self._new(self.pairs, dtype=torch.int32)
        tokens[:, 0, : pairs.shape[1]], tokens[:, 1, : pairs.shape[1]] = first, second
        labels[:, : pairs.shape[1]] = self.labels[first, second]
        return tokens, labels

    def _asking(self, layer: int) -> int:
        return 1 if layer == self.settings.layers - 1 else self.task.context

    def _layer(self, layer: int) -> Layer:
        d, c, half, tiles = self.settings.width, self.channels, torch.float16, self.pairs // TILE
        asking, heads = self._asking(layer), self.parameters.shapes["O 0"][0]
        rows, every = asking * self.pairs, self.task.context * self.pairs
        last, bits = (
            layer == self.settings.layers - 1,
            0 if self.settings.activation == "gelu" else self._of_rows()["BM"],
        )

        def gradient(width: int) -> tuple[Tensor, Tensor]:
            return self._new(rows, width, dtype=half), self._new(asking * tiles, dtype=torch.int32)

        return Layer(
            self._new(rows, c, dtype=half),
            self._new(rows, d, dtype=half),
            self._new(0 if last else rows, d),
            self._new(rows, d, dtype=half),
            self._new(
                0 if last else rows, bits, dtype=torch.int8 if 4 * d <= 8 * bits else torch.int32
            ),
            *gradient(d),
            *gradient(d),
            *gradient(c),
            self._new(every, 3 * c, dtype=half),
            self._new(3 * heads, self.task.context * tiles, dtype=torch.int32),
        )

    def _weights(self, layer: int, *names: str) -> tuple[Tensor, ...]:
        """Matrices in half precision, biases as they are."""
        return tuple(
            (self.parameters if name[0] == "b" else self.half)[f"{name} {layer}"] for name in names
        )

    def _sizes(self) -> dict[str, Any]:
        return {
            "T": self.pairs,
            "S": self.task.context,
            "PA": self.across,
            "D": self.settings.width,
        }

    @property
    def size(self) -> int:
        return self.parameters.flat.shape[1]

    def _tokens(self) -> dict[str, int]:
        """What the kernels of tables know: where tensors start, and which tokens there are."""
        starts = {
            f"AT_{name.split()[0].upper()}": int(self.parameters[name].storage_offset())
            for name in ("embed", "pos", "QKV 0")
        }
        return {
            **starts,
            "P": self.modulus,
            "SECOND": self.modulus if self.task.separate_vocabularies else 0,
            "EQUALS": self.task.vocabulary - 1 if self.task.equals_sign else 0,
            "S": self.task.context,
            "PA": self.across,
            "D": self.settings.width,
            "C": self.channels,
            "BC": min(64, self.channels),
            "BD": min(64, self.settings.width),
            "num_warps": 4 if self.across <= 64 else 8,
        }

    def _of_rows(self, *, back: bool = False) -> dict[str, Any]:
        d, gelu = self.settings.width, self.settings.activation == "gelu"
        sizes = {"D": d, "C": self.channels, "M": 4 * d, "GELU": gelu}
        return sizes | _options(row_tiles(max(d, self.channels), self.task.logits, gelu, back))

    def _first(self) -> list[Step]:
        from algophase.training.kernels.deep_tables import deep_tables, to_half

        d, count, tokens = self.settings.width, self.parameters.flat.numel(), self._tokens()
        roles = self.task.context * (3 * self.channels // tokens["BC"] + d // tokens["BD"])
        options = {**tokens, "BK": min(32, d), "num_stages": 1}
        return [
            Step(
                to_half,
                (-(-count // BLOCK),),
                (self.parameters.flat, self.half.flat, count),
                {"BLOCK": BLOCK, "num_warps": 4},
            ),
            Step(
                deep_tables,
                (roles, self.count),
                (self.parameters.flat, self.x, self.tables, self.size),
                options,
            ),
        ]

    def _attention(self, layer: int, tokens: Tensor) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
        """What attention reads, and its sizes."""
        source = self.layers[layer - 1].y_half if layer else self.tables
        heads, size = self.parameters.shapes["O 0"][:2]
        sizes = {
            **self._sizes(),
            "SQ": self._asking(layer),
            "H": heads,
            "E": size,
            "FIRST": layer == 0,
        }
        return (self.rate, self.scale, source, tokens, *self._weights(layer, "QKV")), sizes

    def _forward(self, tokens: Tensor) -> list[Step]:
        """Up to the last layer's attention."""
        from algophase.training.kernels.deep_attend import deep_attend
        from algophase.training.kernels.deep_rows import deep_forward

        steps = []
        for layer, held in enumerate(self.layers):
            read, sizes = self._attention(layer, tokens)
            options = {**sizes, "STAGES": 1, "num_warps": attention_warps(sizes["E"], sizes["S"])}
            steps.append(
                Step(
                    deep_attend,
                    (self.pairs // TILE, self.count),
                    (*read, held.z, self.size),
                    options,
                )
            )
            if layer < len(self.layers) - 1:
                stream = self.layers[layer - 1].y if layer else self.x
                weights = self._weights(layer, "O", "W_in", "b_in", "W_out", "b_out")
                of_rows = self._of_rows()
                steps.append(
                    Step(
                        deep_forward,
                        (held.z.shape[1] // of_rows["ROWS"], self.count),
                        (
                            stream,
                            tokens,
                            held.z,
                            *weights,
                            held.u,
                            held.active,
                            held.y,
                            held.y_half,
                            self.size,
                        ),
                        {**self._sizes(), **of_rows, "FIRST": layer == 0},
                    )
                )
        return steps

    def _last(
        self, tokens: Tensor, labels: Tensor, found: tuple[Tensor, Tensor], *, judge: bool
    ) -> Step:
        """The last layer after its attention: to the loss, and back."""
        from algophase.training.kernels.deep_rows import deep_last

        layer, held, of_rows = len(self.layers) - 1, self.layers[-1], self._of_rows()
        weights = (*self._weights(layer, "O", "W_in", "b_in", "W_out", "b_out"), self.half["U"])
        written = (held.u, held.y_half, self.slope, self.e_slope, *held[5:11])
        outputs = {"V": self.task.logits, "VP": self.slope.shape[2], "JUDGE": judge}
        return Step(
            deep_last,
            (self.pairs // of_rows["ROWS"], self.count),
            (
                self.layers[-2].y,
                tokens,
                held.z,
                *weights,
                labels,
                self.pair_weights,
                *written,
                *found,
                self.size,
            ),
            {**self._sizes(), **of_rows, **outputs},
        )

    def _back(self, layer: int) -> list[Step]:
        """From the gradients of the layer above to those of this one. The last MLP's part is
        `deep_last`.
        """
        from algophase.training.kernels.deep_attend import deep_attend_back
        from algophase.training.kernels.deep_rows import deep_back

        held, steps = self.layers[layer], []
        read, sizes = self._attention(layer, self.tokens)
        if layer < len(self.layers) - 1:
            above, of_rows, heads = self.layers[layer + 1], self._of_rows(back=True), sizes["H"]
            weights = self._weights(layer, "O", "W_in", "b_in", "W_out")
            of_above = (
                above.du,
                above.e_du,
                above.d_qkv,
                above.e_qkv,
                *self._weights(layer + 1, "QKV"),
            )
            asking = {"T": self.pairs, "S": self.task.context, "SQ": self._asking(layer + 1)}
            steps.append(
                Step(
                    deep_back,
                    (held.dy.shape[1] // of_rows["ROWS"], self.count),
                    (*of_above, held.u, held.active, *weights, *held[5:11], self.size),
                    {**asking, **of_rows, "H": heads, "HP": power_of_two(3 * heads)},
                )
            )
        written = (held.dz, held.e_dz, held.d_qkv, held.e_qkv)
        options = {**sizes, "STAGES": 1, "num_warps": attention_warps(sizes["E"], sizes["S"])}
        steps.append(
            Step(
                deep_attend_back,
                (self.pairs // TILE, self.count),
                (*read, *written, self.size),
                options,
            )
        )
        return steps

    def _sums(self, layer: int) -> list[Step]:
        """The gradients of a layer's matrices, once `_back` has gone by."""
        from algophase.training.kernels.deep_sums import deep_units

        held, d, c, gelu = (
            self.layers[layer],
            self.settings.width,
            self.channels,
            self.settings.activation == "gelu",
        )
        tiles, rows, heads = unit_tiles(d, gelu), held.dy.shape[1], self.parameters.shapes["O 0"][0]
        sizes = {
            "ALL": rows,
            "D": d,
            "M": 4 * d,
            "GELU": gelu,
            "PARTS": PARTS,
            "TILES_P": power_of_two(rows // TILE),
        }
        D = [self.partial[f"{name} {layer}"] for name in ("W_in", "b_in", "W_out", "b_out")]
        steps = [
            Step(
                deep_units,
                (4 * d // tiles.hidden + 1, PARTS, self.count),
                (
                    held.u,
                    held.dy,
                    held.e_dy,
                    *self._weights(layer, "W_in", "b_in", "W_out"),
                    *D,
                    self.size,
                ),
                sizes | _options(tiles),
            ),
            self._outer(held.z, held.du, held.e_du, self.partial[f"O {layer}"], d),
        ]
        if layer == len(self.layers) - 1:
            steps.append(
                self._outer(
                    held.y_half, self.slope, self.e_slope, self.partial["U"], self.slope.shape[2]
                )
            )
        if layer == 0:
            steps.append(self._outer(self.tokens, held.d_qkv, held.e_qkv, self.d_tables, 3 * c + d))
            steps.append(
                self._outer(self.tokens, held.du, held.e_du, self.d_tables[..., 3 * c :], 3 * c + d)
            )
            return steps
        x, out, queries = (
            self.layers[layer - 1].y_half,
            self.partial[f"QKV {layer}"].flatten(2),
            held.d_qkv[..., :c],
        )
        if rows < x.shape[1]:  # only the last position has a query
            steps.append(
                self._outer(
                    x, queries, held.e_qkv[:, :heads], out, 3 * c, skipped=x.shape[1] - rows
                )
            )
            steps.append(
                self._outer(x, held.d_qkv[..., c:], held.e_qkv[:, heads:], out[..., c:], 3 * c)
            )
        else:
            steps.append(self._outer(x, held.d_qkv, held.e_qkv, out, 3 * c))
        return steps

    def _outer(
        self, a: Tensor, b: Tensor, exponents: Tensor, out: Tensor, row: int, skipped: int = 0
    ) -> Step:
        """out = a^T b over rows, or over the rows of each token and position; b, exponents and out
        may be some of the columns.
        row: from one row of out to the next."""
        from algophase.training.kernels.deep_sums import deep_outer

        hot, every, columns = a.dtype == torch.int32, b.shape[1], b.shape[2]
        of_a, groups = (
            self.across if hot else a.shape[2],
            exponents.shape[1] if exponents.ndim == 3 else 1,
        )
        count, tile_a = self.task.context if hot else 1, min(128, of_a)
        tile_b = min(128 if tile_a <= 64 else 64, columns & -columns)
        return Step(
            deep_outer,
            (count * (of_a // tile_a) * (columns // tile_b), PARTS, self.count),
            (a, b, exponents, out, self.d_tables[0, 0].numel() if hot else self.size),
            {
                "ALL": every,
                "SKIPPED": skipped,
                "COUNT": count,
                "K": of_a,
                "N": b.stride(1),
                "LAST": columns,
                "ROW": row,
                "WIDTH": columns // groups,
                "BK": tile_a,
                "BN": tile_b,
                "PARTS": PARTS,
                "HOT": hot,
                "STAGES": 3,
                "num_warps": 4,
            },
        )

    def _final(self) -> list[Step]:
        from algophase.training.kernels.deep_sums import add_up
        from algophase.training.kernels.deep_tables import after_deep_tables

        d, tokens, loss_tiles = self.settings.width, self._tokens(), self.tile_loss.shape[1]
        bx, first = min(32, d), int(self.parameters["O 0"].storage_offset())
        steps = []
        if PARTS > 1:
            grid = (-(-(self.size - first) // BLOCK), self.count)
            options = {"PARTS": PARTS, "BLOCK": BLOCK, "num_warps": 4}
            steps.append(
                Step(
                    add_up,
                    grid,
                    (self.partial.flat, self.gradients.flat, first, self.size),
                    options,
                )
            )
        roles = d // bx + 3 * self.channels // tokens["BC"] * (d // tokens["BD"]) + 1
        options = {"BX": bx, "BK": min(32, self.channels), "PARTS": PARTS}
        options |= {"TILES": loss_tiles, "TILES_P": power_of_two(loss_tiles), "num_stages": 1}
        tensors = (
            self.parameters.flat,
            self.gradients.flat,
            self.d_tables,
            self.tile_loss,
            self.loss,
            self.size,
        )
        return [
            *steps,
            Step(after_deep_tables, (roles, self.count), tensors, {**tokens, **options}),
        ]

    @property
    def steps(self) -> dict[str, Step]:
        """Every kernel of an epoch, in order, and `judge`."""
        back = [step for both in self.backward_steps for steps in both for step in steps]
        steps = [*self.first_steps, *self.forward_steps, self.last_step, *back, *self.final_steps]
        return {f"{step.kernel.__name__} {place}": step for place, step in enumerate(steps)} | {
            "judge": self.judging[-1]
        }

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        _launch([*self.first_steps, *self.forward_steps, self.last_step])
        for back, sums in self.backward_steps:
            _launch(back)
            self._beside(sums)
        if self.side is not None:
            torch.cuda.current_stream(self.device).wait_stream(self.side)
        _launch(self.final_steps)
        return self.loss

    def _beside(self, steps: Sequence[Step]) -> None:
        """Sums that nothing waits for before the end, on a GPU beside what goes on."""
        if self.side is None:
            _launch(steps)
            return
        self.side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.side):
            _launch(steps)

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        _launch([*self.first_steps, *self.judging])
        p = self.modulus
        loss, right = (
            found.transpose(0, 1).flatten(1)[:, : p * p]
            for found in (self.pair_loss, self.pair_right)
        )
        return loss.unflatten(1, (p, p)).clone(), right.unflatten(1, (p, p)).bool()


def _launch(steps: Sequence[Step]) -> None:
    for step in steps:
        step.launch()


def _options(tiles: Tiles) -> dict[str, int]:
    return {
        "ROWS": tiles.rows,
        "BM": tiles.hidden,
        "STAGES": tiles.stages,
        "num_warps": tiles.warps,
    }


def _channels(width: int, heads: int) -> int:
    """Of all heads together, padded."""
    return power_of_two(heads, 1) * power_of_two(width // heads)
