"""Any architecture, many networks at once: the specification with a leading axis over networks, and autograd.

Only training pairs go through the network. The first layer's queries, keys and values are computed once per token and
position and then gathered; attention over two or three positions is one operation (`attend`); the last layer serves the
last position only.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.settings import LinearSettings, RunSettings, TransformerSettings
from algophase.training.attend import attend
from algophase.training.engine import Engine, run_values
from algophase.training.loss import loss_and_right, weighted_cross_entropy
from algophase.training.precision import matmul_precision, missing_triton

Parameters = dict[str, Tensor]


class StackedEngine(Engine):
    name: ClassVar[str] = "stacked"

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        flat = self.weights.flatten(1)
        pairs = (flat > 0).nonzero()[:, 1].view(self.count, -1)  # (n, B): every network has as many training pairs
        self.first, self.second = pairs // self.modulus, pairs % self.modulus
        self.pair_labels = (self.first + self.second) % self.modulus
        self.pair_weights = flat.gather(1, pairs)
        if isinstance(self.settings, TransformerSettings):
            self.rate = run_values(runs, "attention_rate", device, self.dtype)
            self.scale = run_values(runs, "head_size", device, self.dtype).rsqrt()
        self.kernels = device.type == "cuda" and self.dtype == torch.float32 and missing_triton() is None

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        if isinstance(run.network, TransformerSettings | LinearSettings):
            return None
        return f"it trains transformers and linear models, not {run.network.kind} networks"

    def logits(self, P: Parameters, first: Tensor, second: Tensor) -> Tensor:
        """(n, B, outputs) for operands (n, B)."""
        if isinstance(self.settings, LinearSettings):
            return linear_logits(P, self.settings.model, first, second)
        assert isinstance(self.settings, TransformerSettings)
        return self._transformer_logits(P, self.settings, first, second)

    def loss_and_gradient(self) -> Tensor:
        with matmul_precision(self.device, self.precision), torch.enable_grad():
            values = {name: value.detach().requires_grad_() for name, value in self.parameters.items()}
            logits = self.logits(values, self.first, self.second)
            loss = weighted_cross_entropy(logits, self.pair_labels, self.pair_weights)
            gradients = torch.autograd.grad(loss.sum(), list(values.values()))
        for name, gradient in zip(values, gradients, strict=True):
            self.gradients[name].copy_(gradient)
        return loss.detach()

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        p, judged = self.modulus, []
        numbers = torch.arange(p, device=self.device)
        for a in numbers:  # a row of the grid at a time: memory stays below that of a training step
            first, second = a.expand(self.count, p), numbers.expand(self.count, p)
            with matmul_precision(self.device, self.precision):
                logits = self.logits(dict(self.parameters), first, second)
            judged.append(loss_and_right(logits, self.labels[a]))
        losses, rights = zip(*judged, strict=True)
        return torch.stack(losses, dim=1), torch.stack(rights, dim=1)

    def _transformer_logits(self, P: Parameters, settings: TransformerSettings, first: Tensor, second: Tensor) -> Tensor:
        n, count = first.shape
        x, tables, picks = self._inputs(P, first, second)  # (n, s, B, d)
        positions, width = x.shape[1], x.shape[3]
        for layer in range(settings.layers):
            weights = {name: P[f"blocks.{layer}.attn.W_{name}"].transpose(1, 2).flatten(2) for name in "QKV"}  # (n, d, h * e)
            last = layer == settings.layers - 1
            asking = x[:, -1:] if last else x
            if layer == 0:  # once per token, then gathered
                k, v = (_gather_all([torch.bmm(table, weights[name]) for table in tables], picks) for name in "KV")
                asked = slice(positions - 1, None) if last else slice(None)
                q = _gather_all([torch.bmm(table, weights["Q"]) for table in tables[asked]], picks[asked])
            else:
                k, v = (torch.bmm(x.flatten(1, 2), weights[name]).view(n, positions, count, -1) for name in "KV")
                q = torch.bmm(asking.flatten(1, 2), weights["Q"]).view(n, -1, count, k.shape[3])
            z = attend(q, k, v, settings.heads, self.rate, self.scale, fused=self.kernels)
            x = self._after_attention(P, settings, f"blocks.{layer}", asking.flatten(1, 2), z.flatten(1, 2))
            x = x.view(n, -1, count, width)
        return torch.bmm(x[:, -1], P["unembed.W_U"])

    def _inputs(self, P: Parameters, first: Tensor, second: Tensor) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """The residual stream before the first block (n, s, B, d), and the tables (n, rows, d) and picks (n, B) it comes
        from."""
        p, task = self.modulus, self.task
        embed, pos = P["embed.W_E"], P["pos_embed.W_pos"]
        operand_2 = embed[:, p : 2 * p] if task.separate_vocabularies else embed[:, :p]
        tables, picks = [embed[:, :p] + pos[:, :1], operand_2 + pos[:, 1:2]], [first, second]
        if task.equals_sign:
            tables.append(embed[:, -1:] + pos[:, 2:3])
            picks.append(torch.zeros_like(first))
        return _gather_all(tables, picks), tables, picks

    def _after_attention(self, P: Parameters, settings: TransformerSettings, prefix: str, x: Tensor, z: Tensor) -> Tensor:
        """Output projection and MLP: x (n, rows, d), z (n, rows, h * e) -> (n, rows, d)."""
        middle = torch.baddbmm(x, z, P[f"{prefix}.attn.W_O"].flatten(1, 2))
        pre = torch.bmm(middle, P[f"{prefix}.mlp.W_in"]) + P[f"{prefix}.mlp.b_in"][:, None]
        post = F.relu(pre) if settings.activation == "relu" else F.gelu(pre)
        return torch.baddbmm(middle, post, P[f"{prefix}.mlp.W_out"]) + P[f"{prefix}.mlp.b_out"][:, None]


def _gather_all(tables: list[Tensor], picks: list[Tensor]) -> Tensor:
    """(n, positions, B, k)."""
    return torch.stack([_gather(table, pick) for table, pick in zip(tables, picks, strict=True)], dim=1)


def _gather(table: Tensor, index: Tensor) -> Tensor:
    """Rows of (n, rows, k) for an index (n, B). A product with a one-hot matrix: its backward adds up in a fixed order."""
    return torch.bmm(F.one_hot(index, table.shape[1]).to(table.dtype), table)


def linear_logits(P: Parameters, model: str, first: Tensor, second: Tensor) -> Tensor:
    """Appendix E with a leading axis over networks."""
    table_1 = P["embed1.weight"] if model == "alpha-prime" else P["embed.weight"]
    table_2 = P["embed2.weight"] if model == "alpha-prime" else P["embed.weight"]
    x1, x2 = _gather(table_1, first), _gather(table_2, second)
    bias, weight = P["l1.bias"][:, None], P["l1.weight"].mT
    if model == "delta":
        hidden = torch.baddbmm(bias, torch.cat([x1, x2], dim=2), weight)
    elif model == "gamma":
        hidden = torch.baddbmm(bias, x1, weight) + torch.baddbmm(bias, x2, weight)
    else:
        hidden = torch.baddbmm(bias, x1 + x2, weight)
    hidden = F.relu(hidden)
    if model in ("beta", "gamma"):
        hidden = F.relu(torch.baddbmm(P["l2.bias"][:, None], hidden, P["l2.weight"].mT))
    return torch.bmm(hidden, P["unembed.weight"].mT)
