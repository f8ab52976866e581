"""Transformers in TransformerLens's parameters: biases, layer norm, a causal mask, any head and
hidden size (`LensSettings`).

What ours, `Transformer`, does not have. Names and shapes are TransformerLens's, so its state dicts
load as they are. Axes: n inputs, s positions, d width, h heads, e head size, m hidden units.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from algophase.core.settings import LensSettings, TaskSettings
from algophase.networks.network import Cache, InitialValues, Network, record

ACT: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


def _parameters(**shapes: tuple[int, ...]) -> nn.Module:
    """A module that holds these parameters."""
    module = nn.Module()
    for name, shape in shapes.items():
        module.register_parameter(name, nn.Parameter(torch.empty(shape)))
    return module


class LensTransformer(Network):
    """Logits of the last position."""

    settings: LensSettings
    is_pure = True

    def __init__(self, task: TaskSettings, settings: LensSettings) -> None:
        super().__init__(task, settings)
        d, h, e, m = settings.width, settings.heads, settings.head_size, settings.hidden
        self.embed, self.pos_embed = (
            _parameters(W_E=(task.vocabulary, d)),
            _parameters(W_pos=(task.context, d)),
        )
        self.unembed = _parameters(W_U=(d, task.logits), b_U=(task.logits,))
        self.blocks = nn.ModuleList()
        into, norm = {f"W_{name}": (h, d, e) for name in "QKV"}, {"w": (d,), "b": (d,)}
        biases = {f"b_{name}": (h, e) for name in "QKV"}
        for _ in range(settings.layers):
            block = nn.Module()
            block.attn = _parameters(**into, **biases, W_O=(h, e, d), b_O=(d,))
            if m:
                block.mlp = _parameters(W_in=(d, m), b_in=(m,), W_out=(m, d), b_out=(d,))
            if settings.layer_norm:
                block.ln1 = _parameters(**norm)
                if m:
                    block.ln2 = _parameters(**norm)
            self.blocks.append(block)
        if settings.layer_norm:
            self.ln_final = _parameters(**norm)

    @property
    def normalises(self) -> bool:
        return self.settings.layer_norm

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        p, table = self.task.modulus, self.embed.get_parameter("W_E")
        return table[:p], table[p : 2 * p] if self.task.separate_vocabularies else table[:p]

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        positions = [first, second]
        if self.task.equals_sign:
            positions.append(self.embed.get_parameter("W_E")[-1].expand_as(first))
        x = torch.stack(positions, dim=1) + self.pos_embed.get_parameter("W_pos")
        for index, block in enumerate(self.blocks):
            prefix, last = f"blocks.{index}", index == len(self.blocks) - 1
            x = self._attended(block, x, last, cache, prefix)
            if self.settings.hidden:
                mlp = dict(block.mlp.named_parameters())  # type: ignore[union-attr]
                pre = record(
                    cache,
                    f"{prefix}.mlp.hook_pre",
                    self._normed(block, "ln2", x) @ mlp["W_in"] + mlp["b_in"],
                )
                post = record(cache, f"{prefix}.mlp.hook_post", ACT[self.settings.activation](pre))
                x = x + post @ mlp["W_out"] + mlp["b_out"]
        return self._normed(self, "ln_final", x)[:, -1] @ self.unembed.get_parameter(
            "W_U"
        ) + self.unembed.get_parameter("b_U")

    def _attended(
        self, block: nn.Module, x: Tensor, last: bool, cache: Cache | None, prefix: str
    ) -> Tensor:
        """The residual stream after attention; in the last block only the last position asks."""
        w, read = dict(block.attn.named_parameters()), self._normed(block, "ln1", x)  # type: ignore[union-attr]
        asking = read[:, -1:] if last else read
        q = torch.einsum("nsd,hde->nshe", asking, w["W_Q"]) + w["b_Q"]
        k, v = (
            torch.einsum("nsd,hde->nshe", read, w[f"W_{name}"]) + w[f"b_{name}"] for name in "KV"
        )
        scores = torch.einsum("nqhe,nkhe->nhqk", q, k) / math.sqrt(q.shape[-1])
        if self.settings.causal and not last:
            ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(ahead, -torch.inf)
        pattern = record(cache, f"{prefix}.attn.hook_pattern", scores.softmax(dim=-1))
        z = torch.einsum("nhqk,nkhe->nqhe", pattern, v)
        return (x[:, -1:] if last else x) + torch.einsum("nqhe,hed->nqd", z, w["W_O"]) + w["b_O"]

    def _normed(self, holder: nn.Module, name: str, x: Tensor) -> Tensor:
        if not self.settings.layer_norm:
            return x
        norm = holder.get_submodule(name)
        return F.layer_norm(
            x, x.shape[-1:], norm.get_parameter("w"), norm.get_parameter("b"), eps=1e-5
        )

    def initial_values(self) -> dict[str, InitialValues]:
        return {
            name: InitialValues("zeros")
            if name.rsplit(".", 1)[-1].startswith("b")
            else InitialValues("normal", 0.02)
            for name, _ in self.named_parameters()
        }
