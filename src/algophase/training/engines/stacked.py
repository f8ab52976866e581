"""Any architecture, many networks at once: the specification with a leading axis over networks, and
autograd.

Only training pairs go through the network. The first layer's queries, keys and values are computed
once per token and position and then gathered; attention over two or three positions is one
operation (`attend`), and so are the MLP's bias and ReLU (`bias_relu`); the last layer serves the
last position only. On a GPU memory traffic is what costs (docs/notes/tuning.md).
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.training.engines.engine import Engine, matmul_precision, missing_triton, run_values

Parameters = dict[str, Tensor]


class StackedEngine(Engine):
    name: ClassVar[str] = "stacked"

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        flat = self.weights.flatten(1)
        # (n, B): every network has as many training pairs
        self.pairs = (flat > 0).nonzero()[:, 1].view(self.count, -1)
        first = self.pairs // self.modulus
        second = self.pairs % self.modulus
        self.one_hot = self._one_hot(first, second)
        self.pair_labels = self.labels[first, second]
        self.pair_weights = flat.gather(1, self.pairs)
        if isinstance(self.settings, TransformerSettings):
            self.rate = run_values(runs, "attention_rate", device, self.dtype)
            self.scale = run_values(runs, "head_size", device, self.dtype).rsqrt()
        on_gpu = device.type == "cuda" and self.dtype == torch.float32
        self.kernels = on_gpu and missing_triton() is None

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        if isinstance(run.network, TransformerSettings | LinearSettings):
            return None
        return f"it trains transformers and linear models, not {run.network.kind} networks"

    @classmethod
    def working_numbers(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """Of every pair one-hot rows and logits, and with their gradients: hidden units of linear
        models; the residual stream, queries, keys, values and the MLP's two 4 d of every position
        and layer."""
        p = task.modulus
        pairs = task.modulus**2
        if isinstance(network, LinearSettings):
            return pairs * (6 * network.hidden + 4 * task.logits + 4 * network.width + 4 * p)
        assert isinstance(network, TransformerSettings)
        activations = 24 * network.width * network.layers * task.context
        return pairs * (activations + 4 * task.context * p + 6 * task.logits)

    def _one_hot(self, first: Tensor, second: Tensor) -> Tensor:
        """One-hot rows (n, s, B, padded p) that pick, for operands (n, B), each position's row of
        its table.

        Gathering is a product with them: its backward adds up in a fixed order.
        """
        picks = [first, second]
        if self.task.equals_sign:
            picks.append(torch.zeros_like(first))
        picked = torch.stack(picks, dim=1)
        return F.one_hot(picked, _padded(self.modulus)).to(self.dtype)

    def logits(self, P: Parameters, one_hot: Tensor) -> Tensor:
        """(n, B, outputs) for one-hot rows (n, s, B, padded p)."""
        if isinstance(self.settings, LinearSettings):
            return linear_logits(P, self.settings.model, one_hot)
        assert isinstance(self.settings, TransformerSettings)
        return self._transformer_logits(P, self.settings, one_hot)

    def loss_and_gradient(self) -> Tensor:
        with matmul_precision(self.device, self.precision), torch.enable_grad():
            values = {}
            for name, value in self.parameters.items():
                values[name] = value.detach().requires_grad_()
            logits = self.logits(values, self.one_hot)
            loss = self.loss.weighted(
                logits, self.pair_labels, self.pair_weights, fused=self.kernels
            )
            gradients = torch.autograd.grad(loss.sum(), list(values.values()))
        for name, gradient in zip(values, gradients, strict=True):
            self.gradients[name].copy_(gradient)
        return loss.detach()

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        p = self.modulus
        numbers = torch.arange(p, device=self.device)
        judged = []
        for a in numbers:  # a row of the grid at a time: memory stays below that of a training step
            one_hot = self._one_hot(a.expand(self.count, p), numbers.expand(self.count, p))
            with matmul_precision(self.device, self.precision):
                logits = self.logits(dict(self.parameters), one_hot)
            judged.append(self.loss.and_right(logits, self.labels[a]))
        losses, rights = zip(*judged, strict=True)
        return torch.stack(losses, dim=1), torch.stack(rights, dim=1)

    def _transformer_logits(
        self, P: Parameters, settings: TransformerSettings, one_hot: Tensor
    ) -> Tensor:
        n, _, count, _ = one_hot.shape
        tables = self._tables(P)  # (n, s, padded p, d)
        x = _gather(one_hot, tables)  # (n, s, B, d)
        for layer in range(settings.layers):
            block = f"blocks.{layer}"
            query = P[f"{block}.attn.W_Q"].transpose(1, 2)  # (n, d, h, e)
            key = P[f"{block}.attn.W_K"].transpose(1, 2)
            value = P[f"{block}.attn.W_V"].transpose(1, 2)
            # Only the last position asks in the last layer; elsewhere queries are made together
            # with keys and values.
            last = layer == settings.layers - 1
            together = [key, value] if last else [query, key, value]
            joint = torch.cat(together, dim=2).flatten(2)
            asking = x[:, -1:] if last else x
            q = None
            if layer == 0:  # once per token, then gathered
                joint_rows = _gather(one_hot, _times(tables, joint))
                if last:
                    query_table = _times(tables[:, -1:], query.flatten(2))
                    q = _gather(one_hot[:, -1:], query_table)
            elif last:
                joint_rows, asking = _TimesAndLast.apply(x, joint)
                q = _times(asking, query.flatten(2))
            else:
                joint_rows = _times(x, joint)
            z = attend(q, joint_rows, settings.heads, self.rate, self.scale, fused=self.kernels)
            rows = asking.flatten(1, 2)
            z_rows = z.flatten(1, 2)
            x = self._after_attention(P, settings, block, rows, z_rows)
            x = x.view(n, -1, count, settings.width)
        unembed = P["unembed.W_U"]
        outputs = unembed.shape[2]
        padded_unembed = F.pad(unembed, (0, _padded(outputs) - outputs))
        return torch.bmm(x[:, -1], padded_unembed)[..., :outputs]

    def _tables(self, P: Parameters) -> Tensor:
        """What each position's residual stream starts from, by token: (n, s, padded p, d)."""
        p, task = self.modulus, self.task
        embed = P["embed.W_E"]
        pos = P["pos_embed.W_pos"]
        operand_2 = embed[:, p : 2 * p] if task.separate_vocabularies else embed[:, :p]
        tables = [embed[:, :p], operand_2]
        if task.equals_sign:
            tables.append(embed[:, -1:].expand(-1, p, -1))  # the same whatever is picked
        return _padded_rows(torch.stack(tables, dim=1) + pos[:, :, None])

    def _after_attention(
        self, P: Parameters, settings: TransformerSettings, prefix: str, x: Tensor, z: Tensor
    ) -> Tensor:
        """Output projection and MLP: x (n, rows, d), z (n, rows, h * e) -> (n, rows, d)."""
        middle = torch.baddbmm(x, z, P[f"{prefix}.attn.W_O"].flatten(1, 2))
        pre = torch.bmm(middle, P[f"{prefix}.mlp.W_in"])
        bias = P[f"{prefix}.mlp.b_in"]
        if settings.activation == "relu":
            post = bias_relu(pre, bias, fused=self.kernels)
        else:
            post = F.gelu(pre + bias[:, None])
        with_bias = middle + P[f"{prefix}.mlp.b_out"][:, None]
        return with_bias.baddbmm_(post, P[f"{prefix}.mlp.W_out"])


class _TimesAndLast(torch.autograd.Function):
    """`_times` and the last position of x, (n, 1, B, d). Slicing alone would go back through a
    tensor of zeros as large as x, and another addition."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x, weights)
        return _times(x, weights), x[:, -1:]

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor]:
        x, weights = ctx.saved_tensors
        rows = upstream[0].flatten(1, 2)
        d_last = upstream[1]
        dx = torch.bmm(rows, weights.mT).unflatten(1, x.shape[1:3])
        dx[:, -1:] += d_last
        return dx, torch.bmm(x.flatten(1, 2).mT, rows)


def _padded(count: int) -> int:
    """A library's products are slow where rows do not begin at multiples of 16 bytes, as with an
    odd modulus.
    """
    return -(-count // 8) * 8


def _padded_rows(tables: Tensor) -> Tensor:
    """(..., p, d) with rows of zeros below, which nothing picks."""
    rows = tables.shape[-2]
    return F.pad(tables, (0, 0, 0, _padded(rows) - rows))


def _gather(one_hot: Tensor, tables: Tensor) -> Tensor:
    """Rows (n, s, B, k) of tables (n, s, padded p, k)."""
    rows = torch.bmm(one_hot.flatten(0, 1), tables.flatten(0, 1))
    return rows.unflatten(0, one_hot.shape[:2])


def _times(x: Tensor, weights: Tensor) -> Tensor:
    """(n, s, rows, k) for x (n, s, rows, d) and a network's weights (n, d, k)."""
    return torch.bmm(x.flatten(1, 2), weights).unflatten(1, x.shape[1:3])


def linear_logits(P: Parameters, model: str, one_hot: Tensor) -> Tensor:
    """Appendix E with a leading axis over networks."""
    table_names = ["embed.weight", "embed.weight"]
    if model == "alpha-prime":
        table_names = ["embed1.weight", "embed2.weight"]
    table_1, table_2 = [P[name] for name in table_names]
    x1 = torch.bmm(one_hot[:, 0], _padded_rows(table_1))
    x2 = torch.bmm(one_hot[:, 1], _padded_rows(table_2))
    bias = P["l1.bias"][:, None]
    weight = P["l1.weight"].mT
    if model == "delta":
        hidden = torch.baddbmm(bias, torch.cat([x1, x2], dim=2), weight)
    elif model == "gamma":
        hidden = torch.baddbmm(bias, x1, weight) + torch.baddbmm(bias, x2, weight)
    else:
        hidden = torch.baddbmm(bias, x1 + x2, weight)
    hidden = F.relu(hidden)
    if model in ("beta", "gamma"):
        pre = torch.baddbmm(P["l2.bias"][:, None], hidden, P["l2.weight"].mT)
        hidden = F.relu(pre)
    return torch.bmm(hidden, P["unembed.weight"].mT)


def attend_reference(
    q: Tensor, k: Tensor, v: Tensor, heads: int, rate: Tensor, scale: Tensor
) -> Tensor:
    """z (n, asking, B, C) for q (n, asking, B, C), k and v (n, s, B, C), C = heads * size; rate
    and scale (n,).
    """
    q, k, v = (x.unflatten(3, (heads, -1)) for x in (q, k, v))
    by_position = [(q * k[:, s : s + 1]).sum(-1) for s in range(k.shape[1])]
    scores = torch.stack(by_position, dim=-1)
    rate = rate.view(-1, 1, 1, 1, 1)
    scale = scale.view(-1, 1, 1, 1, 1)
    pattern = torch.softmax(scores * scale, dim=-1)  # (n, asking, B, h, s)
    pattern = rate * pattern + (1 - rate)
    z = pattern[..., :1] * v[:, :1]
    for s in range(1, k.shape[1]):
        z = z + pattern[..., s : s + 1] * v[:, s : s + 1]
    return z.flatten(3)


def _parts(q: Tensor | None, joint: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, as views."""
    if q is None:
        return joint.chunk(3, dim=3)  # type: ignore[return-value]
    return q, *joint.chunk(2, dim=3)  # type: ignore[return-value]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor | None, joint: Tensor, heads: int, rate: Tensor, scale: Tensor
    ) -> Tensor:
        from algophase.training.kernels.stacked.attend import attend_forward

        q = None if q is None else q.contiguous()
        joint = joint.contiguous()
        ctx.heads = heads
        ctx.save_for_backward(q, joint, rate, scale)
        return attend_forward(*_parts(q, joint), heads, rate, scale)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        from algophase.training.kernels.stacked.attend import attend_backward

        q, joint, rate, scale = ctx.saved_tensors
        dq = None if q is None else torch.empty_like(q)
        d_joint = torch.empty_like(joint)
        read = _parts(q, joint)
        written = _parts(dq, d_joint)
        dz = upstream[0].contiguous()
        attend_backward(read, written, ctx.heads, rate, scale, dz)
        return dq, d_joint, None, None, None


def attend(
    q: Tensor | None, joint: Tensor, heads: int, rate: Tensor, scale: Tensor, *, fused: bool
) -> Tensor:
    """z (n, asking, B, C): joint is keys and values side by side (n, s, B, 2 C) and q the queries
    (n, asking, B, C); or, where every position asks, joint is queries, keys and values (n, s, B, 3
    C) and q None."""
    if fused:
        return _Attend.apply(q, joint, heads, rate, scale)
    return attend_reference(*_parts(q, joint), heads, rate, scale)


def bias_relu_reference(x: Tensor, bias: Tensor) -> Tensor:
    """(n, rows, columns) for x of that shape and bias (n, columns)."""
    return torch.relu(x + bias[:, None])


class _BiasRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        from algophase.training.kernels.stacked.bias_relu import bias_relu_forward

        bias_relu_forward(x, bias.contiguous())
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor]:
        from algophase.training.kernels.stacked.bias_relu import bias_relu_backward

        (y,) = ctx.saved_tensors
        return bias_relu_backward(y, upstream[0].contiguous())


def bias_relu(x: Tensor, bias: Tensor, *, fused: bool) -> Tensor:
    """fused: in place, on a contiguous x that nobody else reads."""
    if fused:
        return _BiasRelu.apply(x, bias)
    return bias_relu_reference(x, bias)
