"""The attention-rate transformer, as section 4.2 and appendices F.1 and G write it: no layer norm,
no mask, no attention bias (`TransformerSettings`). Or with all of these, as others train them
(`LensSettings`).

Parameters and activations carry the names and shapes TransformerLens uses, so its state dicts load
as they are. Axes: n inputs, s positions, d width, h heads, e head size, m hidden units, v
vocabulary.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from algophase.core.settings import LensSettings, TaskSettings, TransformerSettings
from algophase.networks._one_layer_gradients import OneLayerGradients
from algophase.networks._transformer_jacobians import through_blocks
from algophase.networks._transformer_pairs import OneLayerPairs
from algophase.networks.gradient_products import GradientProducts
from algophase.networks.jacobians import Jacobians
from algophase.networks.network import Cache, InitialValues, Network, record
from algophase.networks.pair_logits import Prepared, pair_elements
from algophase.networks.parts import HiddenUnits, ResidualStream, StreamLayer

Settings = TransformerSettings | LensSettings

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class Embed(nn.Module):
    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.W_E = nn.Parameter(torch.empty(vocabulary, width))


class PositionalEmbed(nn.Module):
    def __init__(self, context: int, width: int) -> None:
        super().__init__()
        self.W_pos = nn.Parameter(torch.empty(context, width))


class Unembed(nn.Module):
    def __init__(self, width: int, vocabulary: int, *, bias: bool) -> None:
        super().__init__()
        self.W_U = nn.Parameter(torch.empty(width, vocabulary))
        self.b_U = nn.Parameter(torch.empty(vocabulary)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        logits = x @ self.W_U
        return logits if self.b_U is None else logits + self.b_U


class LayerNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(width))
        self.b = nn.Parameter(torch.empty(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.w, self.b, eps=1e-5)


def norm_of(settings: Settings) -> nn.Module:
    return LayerNorm(settings.width) if settings.layer_norm else nn.Identity()


class Attention(nn.Module):
    """sum_h M'_h x W_V^h W_O^h with the interpolated pattern M' = rate * softmax(q k / sqrt(e)) +
    (1 - rate) (section 4.2).

    The rate applies to every entry: rows of M' do not sum to one unless the rate is 1. It may be a
    tensor without axes.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        heads, width, size = settings.heads, settings.width, settings.head_size
        self.attention_rate: float | Tensor = settings.attention_rate
        self.causal = settings.causal
        self.W_Q = nn.Parameter(torch.empty(heads, width, size))
        self.W_K = nn.Parameter(torch.empty(heads, width, size))
        self.W_V = nn.Parameter(torch.empty(heads, width, size))
        self.W_O = nn.Parameter(torch.empty(heads, size, width))
        biased = not settings.bare
        self.b_Q = nn.Parameter(torch.empty(heads, size)) if biased else None
        self.b_K = nn.Parameter(torch.empty(heads, size)) if biased else None
        self.b_V = nn.Parameter(torch.empty(heads, size)) if biased else None
        self.b_O = nn.Parameter(torch.empty(width)) if biased else None

    def forward(
        self, queries: Tensor, residual: Tensor, cache: Cache | None, prefix: str
    ) -> Tensor:
        """(n, s', d) from the positions that ask (n, s', d) and those that are read (n, s, d)."""
        q = record(cache, f"{prefix}.hook_q", _by_heads(queries, self.W_Q, self.b_Q))
        k = record(cache, f"{prefix}.hook_k", _by_heads(residual, self.W_K, self.b_K))
        v = record(cache, f"{prefix}.hook_v", _by_heads(residual, self.W_V, self.b_V))
        scores = torch.einsum("nqhe,nkhe->nhqk", q, k) / math.sqrt(q.shape[-1])
        record(cache, f"{prefix}.hook_attn_scores", scores)
        if self.causal:
            scores = scores.masked_fill(_later_positions(scores), -torch.inf)
        pattern = self.attention_rate * torch.softmax(scores, dim=-1) + (1 - self.attention_rate)
        record(cache, f"{prefix}.hook_pattern", pattern)
        z = record(cache, f"{prefix}.hook_z", torch.einsum("nhqk,nkhe->nqhe", pattern, v))
        out = torch.einsum("nqhe,hed->nqd", z, self.W_O)
        return out if self.b_O is None else out + self.b_O


def _by_heads(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """(n, s, h, e) of a stream (n, s, d)."""
    projected = torch.einsum("nsd,hde->nshe", x, weight)
    return projected if bias is None else projected + bias


def _later_positions(scores: Tensor) -> Tensor:
    """Which of the positions that are read come after the one that asks, (q, k). The last `q` of
    all positions ask.
    """
    asking, read = scores.shape[-2:]
    every_pair = torch.ones(asking, read, dtype=torch.bool, device=scores.device)
    return every_pair.triu(1 + read - asking)


class MLP(nn.Module):
    """b_out + W_out act(b_in + W_in x)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, hidden = settings.width, settings.hidden
        self.activation = ACTIVATIONS[settings.activation]
        self.W_in = nn.Parameter(torch.empty(width, hidden))
        self.b_in = nn.Parameter(torch.empty(hidden))
        self.W_out = nn.Parameter(torch.empty(hidden, width))
        self.b_out = nn.Parameter(torch.empty(width))

    def pre_activations(self, x: Tensor) -> Tensor:
        return x @ self.W_in + self.b_in

    def forward(self, x: Tensor, cache: Cache | None, prefix: str) -> Tensor:
        pre = record(cache, f"{prefix}.hook_pre", self.pre_activations(x))
        post = record(cache, f"{prefix}.hook_post", self.activation(pre))
        return post @ self.W_out + self.b_out


def attentions(network: nn.Module) -> list[Attention]:
    """The attention of every layer, in their order."""
    return [module for module in network.modules() if isinstance(module, Attention)]


class Block(nn.Module):
    """Attention, then an MLP; without hidden units, attention alone."""

    mlp: MLP

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.has_mlp = settings.hidden > 0
        self.attn = Attention(settings)
        if self.has_mlp:
            self.mlp = MLP(settings)
        self.ln1 = norm_of(settings)
        if self.has_mlp:
            self.ln2 = norm_of(settings)

    def attend(
        self, residual: Tensor, cache: Cache | None, prefix: str, *, last_position_only: bool
    ) -> Tensor:
        """The residual stream after attention: (n, s, d), or (n, 1, d) where only the last
        position is still needed.
        """
        record(cache, f"{prefix}.hook_resid_pre", residual)
        asking = residual[:, -1:] if last_position_only else residual
        attention_out = self.attn(self.ln1(asking), self.ln1(residual), cache, f"{prefix}.attn")
        record(cache, f"{prefix}.hook_attn_out", attention_out)
        return record(cache, f"{prefix}.hook_resid_mid", asking + attention_out)

    def forward(
        self,
        residual: Tensor,
        cache: Cache | None,
        prefix: str,
        *,
        last_position_only: bool = False,
    ) -> Tensor:
        stream = self.attend(residual, cache, prefix, last_position_only=last_position_only)
        if self.has_mlp:
            mlp_out = self.mlp(self.ln2(stream), cache, f"{prefix}.mlp")
            stream = stream + record(cache, f"{prefix}.hook_mlp_out", mlp_out)
        return record(cache, f"{prefix}.hook_resid_post", stream)


class Transformer(Network):
    """Logits of the last position.

    What is written out for the paper's transformer is so for bare settings alone. With biases,
    layer norm or a mask it has `Network`'s general answers.
    """

    settings: Settings
    is_pure = True

    def __init__(self, task: TaskSettings, settings: Settings) -> None:
        super().__init__(task, settings)
        self.embed = Embed(task.vocabulary, settings.width)
        self.pos_embed = PositionalEmbed(task.context, settings.width)
        self.blocks = nn.ModuleList([Block(settings) for _ in range(settings.layers)])
        self.ln_final = norm_of(settings)
        self.unembed = Unembed(settings.width, task.logits, bias=not settings.bare)

    @property
    def is_recordable(self) -> bool:
        return self.settings.bare

    @property
    def label_axis(self) -> int | None:
        return 1 if self.settings.bare else None

    @property
    def may_read_sum_alone(self) -> bool:
        """Not the paper's: its residual stream tells the positions apart."""
        return not self.settings.bare

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        p, table = self.task.modulus, self.embed.W_E
        first = table[:p]
        return first, table[p : 2 * p] if self.task.separate_vocabularies else first

    def _residual(self, first: Tensor, second: Tensor, cache: Cache | None) -> Tensor:
        """The residual stream (n, s, d) before the first block."""
        positions = [first, second]
        if self.task.equals_sign:
            positions.append(self.embed.W_E[-1].expand_as(first))
        embedded = record(cache, "hook_embed", torch.stack(positions, dim=1))  # (n, s, d)
        return embedded + record(cache, "hook_pos_embed", self.pos_embed.W_pos.expand_as(embedded))

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        residual = self._residual(first, second, cache)
        for index, block in enumerate(self.blocks):
            # The answer is read at the last position; the others matter in the last block only to
            # someone who looks.
            last_only = index == len(self.blocks) - 1 and cache is None
            residual = block(residual, cache, f"blocks.{index}", last_position_only=last_only)
        return self._unembed(residual)

    def _unembed(self, residual: Tensor) -> Tensor:
        logits: Tensor = self.unembed(self.ln_final(residual[:, -1]))
        return logits

    @property
    def _blocks(self) -> list[Block]:
        return cast(list[Block], list(self.blocks))

    def _stream_before_hidden(self, first: Tensor, second: Tensor) -> Tensor:
        """The residual stream at the last position that the first hidden layer reads, (n, d)."""
        residual = self._residual(first, second, None)
        attended = self._blocks[0].attend(residual, None, "", last_position_only=True)
        return attended[:, -1]

    @torch.no_grad()
    def jacobians(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Jacobians:
        if not self.settings.bare:
            return super().jacobians(first, second, cache)
        residual = self._residual(first, second, None)
        cache = {} if cache is None else cache
        return through_blocks(self._blocks, self.unembed.W_U, self.task.modulus, residual, cache)

    @torch.no_grad()
    def gradient_products(self, first: Tensor, second: Tensor) -> GradientProducts | None:
        """Where there is one layer, of ReLUs."""
        written_out = self.settings.bare and len(self.blocks) == 1
        if not written_out or self.settings.activation != "relu":
            return None
        embeddings = [first, second]
        if self.task.equals_sign:
            embeddings.append(self.embed.W_E[-1:])
        positions = [x + at for x, at in zip(embeddings, self.pos_embed.W_pos, strict=True)]
        block = self._blocks[0]
        labels = self.task.modulus
        return OneLayerGradients(block, self.unembed.W_U, labels, positions).products()

    @torch.no_grad()
    def pair_logits(self) -> Prepared:
        """Most of it once per token, where there is one layer."""
        if len(self.blocks) > 1 or not self.settings.bare:
            return super().pair_logits()
        equals_sign = self.embed.W_E[-1] if self.task.equals_sign else None
        by_tokens = OneLayerPairs(
            self._blocks[0], self.unembed.W_U, self.pos_embed.W_pos, equals_sign
        )
        columns = by_tokens.columns.shape[1]
        units = len(by_tokens.readout)
        return Prepared(by_tokens, pair_elements(self), columns, units)

    def hidden_layer(self) -> HiddenUnits | None:
        """The first layer's MLP at the last position."""
        if not self.settings.bare:
            return None
        mlp = self._blocks[0].mlp

        def pre_activations(first: Tensor, second: Tensor) -> Tensor:
            return mlp.pre_activations(self._stream_before_hidden(first, second))

        def readout() -> Tensor:
            return mlp.W_out @ self.unembed.W_U[:, : self.task.modulus]

        own_readout = readout if len(self.blocks) == 1 else None
        return HiddenUnits(len(mlp.b_in), mlp.activation, pre_activations, own_readout)

    def stream_layer(self) -> StreamLayer | None:
        """The MLP of a one-layer transformer, at the last position."""
        if len(self.blocks) > 1 or not self.settings.bare:
            return None
        mlp = self._blocks[0].mlp
        unembedding = self.unembed.W_U
        written = mlp.W_out @ unembedding

        def logits(stream: Tensor, pre: Tensor) -> Tensor:
            return mlp.activation(pre) @ written + (stream + mlp.b_out) @ unembedding

        return StreamLayer(
            len(mlp.b_in),
            unembedding.shape[1],
            self._stream_before_hidden,
            mlp.pre_activations,
            logits,
        )

    def residual_stream(self) -> ResidualStream | None:
        if not self.settings.bare:
            return None

        def embed(first: Tensor, second: Tensor) -> Tensor:
            return self._residual(first, second, None)

        layers = [partial(block, cache=None, prefix="") for block in self.blocks]
        return ResidualStream(embed, layers, self._unembed)

    def first_attention(self) -> Callable[[Tensor, Tensor], Tensor] | None:
        if not self.settings.bare:
            return None

        def pattern(first: Tensor, second: Tensor) -> Tensor:
            cache: Cache = {}
            residual = self._residual(first, second, None)
            self._blocks[0].attend(residual, cache, "", last_position_only=True)
            return cache[".attn.hook_pattern"][:, :, 0]

        return pattern

    def without_equals_sign(self) -> "Transformer | None":
        if not self.task.equals_sign or not self.settings.bare:
            return None
        with torch.device("meta"):
            bare = Transformer(replace(self.task, equals_sign=False), self.settings)
        weights = self.state_dict()
        weights["embed.W_E"] = weights["embed.W_E"][:-1]
        weights["pos_embed.W_pos"] = weights["pos_embed.W_pos"][:-1]
        weights["unembed.W_U"] = weights["unembed.W_U"][:, : bare.task.logits]
        bare.load_state_dict(weights, assign=True)
        for own, of_bare in zip(attentions(self), attentions(bare), strict=True):
            # A recording reads the rate from memory (`replay`), not from the settings.
            of_bare.attention_rate = own.attention_rate
        return bare

    def initial_values(self) -> dict[str, InitialValues]:
        """The paper's start: biases are zero and weights Gaussian, with deviation 1 / sqrt(fan).

        The fan is 4 d for the MLP's input matrix, the number of outputs for the unembedding, and d
        for all others.
        """
        width, rules = self.settings.width, {}
        fans = {"W_in": 4 * width, "W_U": self.task.logits}
        for name, _ in self.named_parameters():
            leaf = name.rsplit(".", 1)[-1]
            if leaf.startswith("b"):
                rules[name] = InitialValues("zeros")
            elif self.settings.bare:
                rules[name] = InitialValues("normal", 1 / math.sqrt(fans.get(leaf, width)))
            else:
                rules[name] = InitialValues("normal", 0.02)
        return rules
