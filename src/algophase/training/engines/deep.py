"""Transformers of two layers or more with products in half precision: forward and backward in
Triton kernels.

Only training pairs go through the network, padded with pairs of weight zero. The first layer's
queries, keys and values are tables over tokens; the last layer serves the last position only.
Operands of products over pairs are float16, rounded to nearest: weights and stream in fixed units,
gradients scaled by powers of two (`kernels.shared`). Parameters, moments, their gradients, the
residual stream, sums, softmax and loss are float32. Hidden units never leave the chip.

Measured on an H200: 47 µs per network and epoch with two layers, 79 with three, 111 with four
(width 128, p = 59, 88 networks). What the compiler says is for sm_90a and width 128. Nothing here
was timed in two ways on the card (docs/notes/tuning.md lists what to try).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks.stacking import power_of_two
from algophase.training.engines._compiling import compile_for
from algophase.training.engines._deep_tiles import (
    TILE,
    Tiles,
    attention_memory,
    attention_warps,
    row_tiles,
    unit_tiles,
)
from algophase.training.engines._in_half import InHalf, padded_channels, round_width, token_sizes
from algophase.training.engines.cards import LEAST_MEMORY, OF_HOPPER
from algophase.training.engines.engine import run_values
from algophase.training.engines.flat import Flat
from algophase.training.engines.sizing import parameter_count
from algophase.training.kernels.launch import NOTHING, Launch, launch

# Padded channels of a head: with 256 `deep_back` takes 304 KB of shared memory on an H200
MOST_OF_A_HEAD = 128
MOST_CHANNELS = 256  # of the stream and of all heads together, padded
# Of every sum over pairs, never by the number of networks. One would save 5 MB per network; two
# serve small ensembles. Not measured.
PARTS = 2
BLOCK = 2048  # parameters a program takes


class DeepTransformer(InHalf):
    """layers: what each layer leaves for the next and for its own gradient, (n, rows, channels) of
    every position that asks, under the kernels' names. parts: the pairs to judge, `pairs` at a
    time."""

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
        size = power_of_two(width // network.heads)
        if size > MOST_OF_A_HEAD:
            return (
                f"with several layers it takes heads of at most {MOST_OF_A_HEAD} channels, not "
                f"{size}"
            )
        if max(width, padded_channels(width, network.heads)) > MOST_CHANNELS:
            heads = f" in {network.heads} heads" if width <= MOST_CHANNELS else ""
            return (
                f"in half precision it takes widths up to {MOST_CHANNELS} with several "
                f"layers, not {network.width}{heads}"
            )
        return cls.beyond(run, device)

    @classmethod
    def working_numbers(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """Of every training pair and position z, u, their gradients, dy, dq, dk and dv, two bytes
        each, and the stream; then matrices of two bytes and in two parts, and tables over
        tokens."""
        assert isinstance(network, TransformerSettings)
        d, positions = network.width, task.context
        channels = padded_channels(d, network.heads)
        between_layers = (network.layers - 1) * (3 * d + 5 * channels // 2)
        per_pair = positions * (between_layers + 3 * channels // 2 + 20)
        per_pair += 2 * d + channels + power_of_two(task.logits, 64)
        matrices = 6 * parameter_count(task, network.shapes())
        tables = 10 * positions * power_of_two(task.modulus) * (channels + d)
        return (task.training_pairs + 128) * per_pair + matrices + tables

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        self.side = torch.cuda.Stream(device) if device.type == "cuda" else None
        flat = self.weights.flatten(1)
        # every network has as many training pairs
        training = (flat > 0).nonzero()[:, 1].view(self.count, -1)
        self._pad(training.shape[1])
        self.half = Flat(self.count, self.parameters.shapes, device, torch.float16)
        self.partial = self.gradients
        if PARTS > 1:
            self.partial = Flat(self.count * PARTS, self.parameters.shapes, device, self.dtype)
        self.memory = self._memory()
        self.memory |= self._picked(training)
        self.memory["WEIGHTS"][:, : training.shape[1]] = flat.gather(1, training)
        self.layers = [self._layer_memory(layer) for layer in range(self.settings.layers)]
        self._divide_pairs()
        training_pairs = {"LOSS": self.memory["LOSS"], "RIGHT": self.pair_right[0], "JUDGE": False}
        self.values = self.parameter_values() | self._sizes() | self.memory | training_pairs
        self._make_launches()

    def _pad(self, training_pairs: int) -> None:
        """Sizes of an ensemble as the kernels have them."""
        self.heads, self.head_size = self.parameters.shapes["O 0"][:2]
        self.channels = self.heads * self.head_size
        self.width = self.settings.width
        self.hidden = 4 * self.width
        self.positions = self.task.context
        self.tokens = power_of_two(self.modulus)
        self.padded_outputs = self.parameters.shapes["U"][1]
        self.gelu = self.settings.activation == "gelu"
        at_a_time = TILE * PARTS
        self.pairs = -(-training_pairs // at_a_time) * at_a_time

    def _sizes(self) -> dict[str, int]:
        """By the kernels' names."""
        sizes = token_sizes(self.task)
        sizes |= {"PA": self.tokens, "S": self.positions, "T": self.pairs, "PARTS": PARTS}
        sizes |= {"D": self.width, "M": self.hidden, "GELU": self.gelu}
        sizes |= {"H": self.heads, "E": self.head_size, "C": self.channels}
        sizes |= {"V": self.task.logits, "VP": self.padded_outputs}
        return sizes

    def _memory(self) -> dict[str, Tensor]:
        """What the layers share."""
        positions = self.positions
        tokens = self.tokens
        d = self.width
        c = self.channels
        memory = {"RATE": run_values(self.runs, "attention_rate", self.device, self.dtype)}
        memory["SCALE"] = run_values(self.runs, "head_size", self.device, self.dtype).rsqrt()
        memory["WEIGHTS"] = self.tensor(self.pairs)
        memory["TOKEN_INPUTS"] = self.tensor(positions, tokens, d)
        memory["TABLES"] = self.tensor(positions, 3, tokens, c)
        memory["D_TABLES"] = self.tensor(PARTS, positions, tokens, 3 * c + d)
        memory["SLOPE"] = self.half_tensor(self.pairs, self.padded_outputs)
        memory["E_SLOPE"] = self.exponents(self.pairs // TILE)
        memory["LOSS"] = self.tensor(self.pairs // self._row_tiles().rows)
        memory["NETWORK_LOSS"] = self.tensor()
        return memory

    def _picked(self, pairs: Tensor) -> dict[str, Tensor]:
        """TOKENS (n, positions, T) and LABELS (n, T) of pairs (n, B), zero in padding."""
        count = pairs.shape[1]
        first = pairs // self.modulus
        second = pairs % self.modulus
        tokens = self.tensor(self.positions, self.pairs, dtype=torch.int32)
        tokens[:, 0, :count] = first
        tokens[:, 1, :count] = second
        labels = self.tensor(self.pairs, dtype=torch.int32)
        labels[:, :count] = self.labels[first, second]
        return {"TOKENS": tokens, "LABELS": labels}

    def _divide_pairs(self) -> None:
        """All pairs, as many at a time as are trained on."""
        numbers = torch.arange(self.modulus**2, device=self.device).expand(self.count, -1)
        parts = numbers.split(self.pairs, dim=1)
        self.pair_loss = self.tensor(len(parts), self.pairs).transpose(0, 1).contiguous()
        self.pair_right = torch.zeros_like(self.pair_loss, dtype=torch.int8)
        self.parts: list[dict[str, Any]] = []
        for pairs, loss, right in zip(parts, self.pair_loss, self.pair_right, strict=True):
            self.parts.append(self._picked(pairs) | {"LOSS": loss, "RIGHT": right, "JUDGE": True})

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        """Heads and their size are padded to powers of two, outputs too: padding is exactly zero
        and stays so.
        """
        heads, d, size = shapes["blocks.0.attn.W_Q"]
        heads = power_of_two(heads, 1)
        size = power_of_two(size)
        layout: dict[str, tuple[int, ...]] = {
            "embed": shapes["embed.W_E"],
            "pos": shapes["pos_embed.W_pos"],
        }
        for layer in range(self.settings.layers):
            layout[f"QKV {layer}"] = (d, 3, heads, size)
            layout[f"O {layer}"] = (heads, size, d)
            layout[f"W_in {layer}"] = (4 * d, d)  # transposed
            layout[f"W_out {layer}"] = (4 * d, d)
            layout[f"b_in {layer}"] = (4 * d,)
            layout[f"b_out {layer}"] = (d,)
        layout["U"] = (d, power_of_two(self.task.logits, TILE))
        return Flat(self.count, layout, self.device, self.dtype)

    def load(self, stacked: dict[str, Tensor]) -> None:
        for name, part in self.export().items():
            part.copy_(stacked[name])

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        flat = values or self.parameters
        heads, size = self.settings.heads, self.settings.head_size
        exported = {"embed.W_E": flat["embed"], "pos_embed.W_pos": flat["pos"]}
        for layer in range(self.settings.layers):
            block = f"blocks.{layer}"
            qkv = flat[f"QKV {layer}"][:, :, :, :heads, :size].transpose(1, 3)  # (n, h, 3, d, e)
            for index, name in enumerate("QKV"):
                exported[f"{block}.attn.W_{name}"] = qkv[:, :, index]
            exported[f"{block}.attn.W_O"] = flat[f"O {layer}"][:, :heads, :size]
            exported[f"{block}.mlp.W_in"] = flat[f"W_in {layer}"].mT
            for name in ("b_in", "W_out", "b_out"):
                exported[f"{block}.mlp.{name}"] = flat[f"{name} {layer}"]
        exported["unembed.W_U"] = flat["U"][:, :, : self.task.logits]
        return exported

    def _asking(self, layer: int) -> int:
        """Positions that ask: the last alone in the last layer."""
        return 1 if layer == self.settings.layers - 1 else self.positions

    def _layer_memory(self, layer: int) -> dict[str, Tensor]:
        """Exponents (E_...) are one for each tile of rows."""
        d, c, heads = self.width, self.channels, self.heads
        asking = self._asking(layer)
        positions = self.positions
        rows = asking * self.pairs
        every = positions * self.pairs
        tiles = self.pairs // TILE
        kept = 0 if layer == self.settings.layers - 1 else rows  # the last goes straight on
        bits = 0 if self.gelu else self._row_tiles().hidden
        memory = {"Z": self.half_tensor(rows, c), "U": self.half_tensor(rows, d)}
        memory["Y"] = self.tensor(kept, d)
        memory["Y_HALF"] = self.half_tensor(rows, d)
        bit_type = torch.int8 if 4 * d <= 8 * bits else torch.int32
        memory["ACTIVE"] = self.tensor(kept, bits, dtype=bit_type)  # a bit for each hidden unit
        memory["D_QKV"] = self.half_tensor(every, 3 * c)
        memory["E_QKV"] = self.exponents(3 * heads, positions * tiles)
        for name, width in (("DY", d), ("DU", d), ("DZ", c)):
            memory[name] = self.half_tensor(rows, width)
            memory[f"E_{name}"] = self.exponents(asking * tiles)
        return memory

    def _layer_weights(self, layer: int) -> dict[str, Tensor]:
        """Matrices in half precision, biases as they are."""
        half, parameters = self.half, self.parameters
        weights = {"QKV": half[f"QKV {layer}"], "W_O": half[f"O {layer}"], "W_U": half["U"]}
        weights |= {"IN": half[f"W_in {layer}"], "OUT": half[f"W_out {layer}"]}
        weights |= {"B_IN": parameters[f"b_in {layer}"], "B_OUT": parameters[f"b_out {layer}"]}
        return weights

    def _layer_inputs(self, layer: int) -> dict[str, Any]:
        """What a layer reads of the one below, or of the tokens."""
        if layer == 0:
            source = self.memory["TABLES"]
            stream = self.memory["TOKEN_INPUTS"]
        else:
            source = self.layers[layer - 1]["Y_HALF"]
            stream = self.layers[layer - 1]["Y"]
        return {"SOURCE": source, "X": stream, "FIRST": layer == 0, "SQ": self._asking(layer)}

    def _layer_launch(
        self,
        kernel: Any,
        layer: int,
        *programs: int,
        pairs: Mapping[str, Any] = NOTHING,
        **sizes: Any,
    ) -> Launch:
        """A kernel of one layer. pairs: those of `parts`, in place of the training pairs."""
        values = self.values | self.layers[layer] | self._layer_weights(layer)
        values |= self._layer_inputs(layer) | dict(pairs)
        return self.launch_with(values, kernel, *programs, **sizes)

    def _row_tiles(self, *, back: bool = False) -> Tiles:
        channels = max(self.width, self.channels)
        return row_tiles(channels, self.task.logits, self.gelu, back, self.card.is_tuned)

    def _make_launches(self) -> None:
        last = self.settings.layers - 1
        self.first = self._first()
        self.forward = [*self._forward(), self._last()]
        self.judging: list[Launch] = []
        for pairs in self.parts:
            self.judging += [*self._forward(pairs), self._last(pairs)]
        self.backward = [(self._back(layer), self._sums(layer)) for layer in range(last, -1, -1)]
        self.final = self._final()
        epoch = [*self.first, *self.forward, *self.final]
        for back, sums in self.backward:
            epoch += [*back, *sums]
        compile_for(self.device, [*epoch, self.judging[-1]])

    def _first(self) -> list[Launch]:
        from algophase.training.kernels.deep.tables import deep_tables, to_half

        c, d, positions = self.channels, self.width, self.positions
        count = self.parameters.flat.numel()
        tiles = self._table_tiles()
        blocks = -(-count // BLOCK)
        halved = launch(
            to_half,
            (blocks,),
            self.values,
            HALF=self.half.flat,
            count=count,
            BLOCK=BLOCK,
            num_warps=4,
        )
        tables = self.launch(
            deep_tables,
            positions * (3 * c // tiles["BC"] + d // tiles["BD"]),
            X=self.memory["TOKEN_INPUTS"],
            BK=min(32, d),
            **tiles,
            num_stages=1,
        )
        return [halved, tables]

    def _table_tiles(self) -> dict[str, Any]:
        """Of the kernels of tables over tokens. Not measured."""
        c, d, tokens = self.channels, self.width, self.tokens
        return {"BC": min(64, c), "BD": min(64, d), "num_warps": 4 if tokens <= 64 else 8}

    def _forward(self, pairs: Mapping[str, Any] = NOTHING) -> list[Launch]:
        """Up to the last layer's attention."""
        from algophase.training.kernels.deep.attend import deep_attend
        from algophase.training.kernels.deep.rows import deep_forward

        tiles = self._row_tiles()
        launches = []
        for layer in range(self.settings.layers):
            attend = self._layer_launch(
                deep_attend, layer, self.pairs // TILE, pairs=pairs, **self._attention_options()
            )
            launches.append(attend)
            if layer == self.settings.layers - 1:
                break
            through_mlp = self._layer_launch(
                deep_forward,
                layer,
                self.positions * self.pairs // tiles.rows,
                pairs=pairs,
                BC=self.channels,
                **tiles.options(),
            )
            launches.append(through_mlp)
        return launches

    def _attention_options(self) -> dict[str, Any]:
        warps = attention_warps(self.head_size, self.positions)
        return {"BD": self._attention_columns(), "STAGES": 1, "num_warps": warps}

    def _attention_columns(self) -> int:
        """Columns of the stream that a product of attention takes at a time: all, if they fit."""
        needed = attention_memory(self.width, self.head_size, self.positions)
        fits = needed <= (OF_HOPPER if self.card.is_tuned else LEAST_MEMORY)
        return self.width if fits else TILE

    def _last(self, pairs: Mapping[str, Any] = NOTHING) -> Launch:
        """The last layer after its attention: to the loss, and back."""
        from algophase.training.kernels.deep.rows import deep_last

        tiles = self._row_tiles()
        layer = self.settings.layers - 1
        programs = self.pairs // tiles.rows
        options = {"BC": self.channels, **tiles.options()}
        return self._layer_launch(deep_last, layer, programs, pairs=pairs, **options)

    def _back(self, layer: int) -> list[Launch]:
        """From the gradients of the layer above to those of this one. The last MLP's part is
        `deep_last`.
        """
        from algophase.training.kernels.deep.attend import deep_attend_back
        from algophase.training.kernels.deep.rows import deep_back

        launches = []
        if layer < self.settings.layers - 1:
            above = self.layers[layer + 1]
            tiles = self._row_tiles(back=True)
            rows = self.positions * self.pairs
            through_mlp = self._layer_launch(
                deep_back,
                layer,
                rows // tiles.rows,
                DU_ABOVE=above["DU"],
                E_DU_ABOVE=above["E_DU"],
                D_QKV=above["D_QKV"],
                E_QKV=above["E_QKV"],
                QKV=self.half[f"QKV {layer + 1}"],
                SQ=self._asking(layer + 1),
                HP=power_of_two(3 * self.heads),
                **tiles.options(),
            )
            launches.append(through_mlp)
        through_attention = self._layer_launch(
            deep_attend_back, layer, self.pairs // TILE, **self._attention_options()
        )
        return [*launches, through_attention]

    def _sums(self, layer: int) -> list[Launch]:
        """The gradients of a layer's matrices, once `_back` has gone by."""
        own = self.layers[layer]
        d_out = self.partial[f"O {layer}"]
        launches = [
            self._hidden_sums(layer),
            self._outer(own["Z"], own["DU"], own["E_DU"], d_out, self.width),
        ]
        if layer == self.settings.layers - 1:
            slope = self.memory["SLOPE"]
            e_slope = self.memory["E_SLOPE"]
            d_readout = self.partial["U"]
            launches.append(
                self._outer(own["Y_HALF"], slope, e_slope, d_readout, self.padded_outputs)
            )
        if layer == 0:
            return [*launches, *self._token_sums()]
        return [*launches, *self._qkv_sums(layer)]

    def _token_sums(self) -> list[Launch]:
        """Of the first layer, by token: its queries, keys and values, and its stream."""
        own = self.layers[0]
        tokens = self.memory["TOKENS"]
        tables = self.memory["D_TABLES"]
        row = 3 * self.channels + self.width
        of_stream = tables[..., 3 * self.channels :]
        return [
            self._outer(tokens, own["D_QKV"], own["E_QKV"], tables, row),
            self._outer(tokens, own["DU"], own["E_DU"], of_stream, row),
        ]

    def _qkv_sums(self, layer: int) -> list[Launch]:
        """Of W_Q, W_K and W_V of a layer above the first."""
        own = self.layers[layer]
        c = self.channels
        d_qkv = own["D_QKV"]
        e_qkv = own["E_QKV"]
        x = self.layers[layer - 1]["Y_HALF"]
        out = self.partial[f"QKV {layer}"].flatten(2)
        skipped = x.shape[1] - own["DY"].shape[1]
        if skipped == 0:
            return [self._outer(x, d_qkv, e_qkv, out, 3 * c)]
        # only the last position has a query
        queries = d_qkv[..., :c]
        e_queries = e_qkv[:, : self.heads]
        rest = d_qkv[..., c:]
        e_rest = e_qkv[:, self.heads :]
        return [
            self._outer(x, queries, e_queries, out, 3 * c, skipped=skipped),
            self._outer(x, rest, e_rest, out[..., c:], 3 * c),
        ]

    def _hidden_sums(self, layer: int) -> Launch:
        from algophase.training.kernels.deep.sums import deep_units

        tiles = unit_tiles(self.width, self.gelu, self.card.is_tuned)
        rows = self.layers[layer]["DY"].shape[1]
        return self._layer_launch(
            deep_units,
            layer,
            self.hidden // tiles.hidden + 1,
            PARTS,
            D_IN=self.partial[f"W_in {layer}"],
            D_B_IN=self.partial[f"b_in {layer}"],
            D_OUT=self.partial[f"W_out {layer}"],
            D_B_OUT=self.partial[f"b_out {layer}"],
            ALL=rows,
            TILES_P=power_of_two(rows // TILE),
            **tiles.options(),
        )

    def _outer(
        self, a: Tensor, b: Tensor, exponents: Tensor, out: Tensor, row: int, skipped: int = 0
    ) -> Launch:
        """out = a^T b over rows, or over the rows of each token and position; b, exponents and out
        may be some of the columns.
        row: from one row of out to the next."""
        from algophase.training.kernels.deep.sums import deep_outer

        of_tokens = a.dtype == torch.int32
        columns = b.shape[2]
        a_columns = self.tokens if of_tokens else a.shape[2]
        groups = exponents.shape[1] if exponents.ndim == 3 else 1
        size = self.memory["D_TABLES"][0, 0].numel() if of_tokens else self.values["size"]
        count = self.positions if of_tokens else 1
        tile_a = min(128, a_columns)
        # a power of two that divides the columns; not measured
        tile_b = min(128 if tile_a <= 64 else 64, columns & -columns)
        tiles = (a_columns // tile_a) * (columns // tile_b)
        return self.launch(
            deep_outer,
            count * tiles,
            PARTS,
            A=a,
            B=b,
            EXPONENT=exponents,
            OUT=out,
            size=size,
            ALL=b.shape[1],
            SKIPPED=skipped,
            COUNT=count,
            K=a_columns,
            N=b.stride(1),
            LAST=columns,
            ROW=row,
            WIDTH=columns // groups,
            BK=tile_a,
            BN=tile_b,
            HOT=of_tokens,
            STAGES=3,
            num_warps=4,
        )

    def _final(self) -> list[Launch]:
        from algophase.training.kernels.deep.sums import add_up
        from algophase.training.kernels.deep.tables import after_deep_tables

        c = self.channels
        d = self.width
        size = self.values["size"]
        first = int(self.parameters["O 0"].storage_offset())
        launches = []
        if PARTS > 1:
            blocks = -(-(size - first) // BLOCK)
            added = self.launch(
                add_up, blocks, PARTIAL=self.partial.flat, first=first, BLOCK=BLOCK, num_warps=4
            )
            launches.append(added)
        tiles = self._table_tiles()
        input_columns = min(32, d)
        loss_tiles = self.memory["LOSS"].shape[1]
        matrices = 3 * c // tiles["BC"] * (d // tiles["BD"])
        to_tokens = self.launch(
            after_deep_tables,
            d // input_columns + matrices + 1,
            BX=input_columns,
            BK=min(32, c),
            TILES=loss_tiles,
            TILES_P=power_of_two(loss_tiles),
            **tiles,
            num_stages=1,
        )
        return [*launches, to_tokens]

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        _run([*self.first, *self.forward])
        for back, sums in self.backward:
            _run(back)
            self._beside(sums)
        if self.side is not None:
            torch.cuda.current_stream(self.device).wait_stream(self.side)
        _run(self.final)
        return self.memory["NETWORK_LOSS"]

    def _beside(self, launches: Sequence[Launch]) -> None:
        """Sums that nothing waits for before the end, on a GPU beside what goes on. Not measured by
        itself."""
        if self.side is None:
            _run(launches)
            return
        self.side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.side):
            _run(launches)

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        _run([*self.first, *self.judging])
        return self._as_grid(self.pair_loss).clone(), self._as_grid(self.pair_right).bool()

    def _as_grid(self, values: Tensor) -> Tensor:
        """(n, a, b) of a value for each pair (parts, n, T)."""
        p = self.modulus
        return values.transpose(0, 1).flatten(1)[:, : p * p].unflatten(1, (p, p))


def _run(launches: Sequence[Launch]) -> None:
    for one in launches:
        one.run()
