"""Any architecture, many networks at once: the specification with a leading axis over networks, and autograd.

Only training pairs go through the network. The first layer's queries, keys and values are computed once per token and position and
then gathered; with two or three positions the scores are sums of products, no tiny matrix products; the last layer serves the last
position only.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.settings import LinearSettings, RunSettings, TransformerSettings
from algophase.training.engine import Engine, run_values
from algophase.training.loss import loss_and_slope, weighted_cross_entropy
from algophase.training.precision import matmul_precision

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
        p, losses, rights = self.modulus, [], []
        numbers = torch.arange(p, device=self.device)
        for a in numbers:  # a row of the grid at a time: memory stays below that of a training step
            first, second = a.expand(self.count, p), numbers.expand(self.count, p)
            with matmul_precision(self.device, self.precision):
                logits = self.logits(dict(self.parameters), first, second)
            losses.append(loss_and_slope(logits, self.labels[a])[0])
            rights.append(logits.argmax(-1) == self.labels[a])
        return torch.stack(losses, dim=1), torch.stack(rights, dim=1)

    def _transformer_logits(self, P: Parameters, settings: TransformerSettings, first: Tensor, second: Tensor) -> Tensor:
        p, task = self.modulus, self.task
        embed, pos = P["embed.W_E"], P["pos_embed.W_pos"]
        operand_2 = embed[:, p : 2 * p] if task.separate_vocabularies else embed[:, :p]
        tables = [embed[:, :p] + pos[:, :1], operand_2 + pos[:, 1:2]]
        picks = [first, second]
        if task.equals_sign:
            tables.append(embed[:, -1:] + pos[:, 2:3])
            picks.append(torch.zeros_like(first))
        # x[s]: (n, B, d), the residual stream of position s
        x = [_gather(table, pick) for table, pick in zip(tables, picks, strict=True)]
        for layer in range(settings.layers):
            weights = {name: P[f"blocks.{layer}.attn.W_{name}"].transpose(1, 2).flatten(2) for name in "QKV"}  # (n, d, h * e)
            asking = [len(x) - 1] if layer == settings.layers - 1 else list(range(len(x)))

            def project(name: str, s: int, weights: dict[str, Tensor] = weights, layer: int = layer) -> Tensor:
                if layer == 0:
                    return _gather(torch.bmm(tables[s], weights[name]), picks[s])
                return torch.bmm(x[s], weights[name])

            keys, values = [project("K", s) for s in range(len(x))], [project("V", s) for s in range(len(x))]
            x = [self._block(P, settings, layer, x[s], project("Q", s), keys, values) for s in asking]
        return torch.bmm(x[-1], P["unembed.W_U"])

    def _block(
        self, P: Parameters, settings: TransformerSettings, layer: int, x: Tensor, q: Tensor, keys: list[Tensor], values: list[Tensor]
    ) -> Tensor:
        """One position through attention and MLP: x, q (n, B, d or h * e), keys and values one such a position read."""
        heads, prefix = settings.heads, f"blocks.{layer}"
        q = q.unflatten(2, (heads, -1)) * self.scale.view(-1, 1, 1, 1)
        scores = torch.stack([(q * k.unflatten(2, (heads, -1))).sum(-1) for k in keys], dim=-1)  # (n, B, h, s)
        rate = self.rate.view(-1, 1, 1, 1)
        pattern = rate * torch.softmax(scores, dim=-1) + (1 - rate)
        mixed = [pattern[..., s : s + 1] * v.unflatten(2, (heads, -1)) for s, v in enumerate(values)]
        z = mixed[0]
        for more in mixed[1:]:
            z = z + more
        middle = torch.baddbmm(x, z.flatten(2), P[f"{prefix}.attn.W_O"].flatten(1, 2))
        pre = torch.baddbmm(P[f"{prefix}.mlp.b_in"][:, None], middle, P[f"{prefix}.mlp.W_in"])
        post = F.relu(pre) if settings.activation == "relu" else F.gelu(pre)
        return torch.baddbmm(middle + P[f"{prefix}.mlp.b_out"][:, None], post, P[f"{prefix}.mlp.W_out"])


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
