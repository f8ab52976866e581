"""Attention over two or three positions with a leading axis over networks: plain torch, or one
Triton kernel each way on a GPU."""

from typing import Any

import torch
from torch import Tensor


def attend_reference(
    q: Tensor, k: Tensor, v: Tensor, heads: int, rate: Tensor, scale: Tensor
) -> Tensor:
    """z (n, asking, B, C) for q (n, asking, B, C), k and v (n, s, B, C), C = heads * size; rate
    and scale (n,).
    """
    q, k, v = (x.unflatten(3, (heads, -1)) for x in (q, k, v))
    scores = torch.stack(
        [(q * k[:, s : s + 1]).sum(-1) for s in range(k.shape[1])], dim=-1
    )  # (n, asking, B, h, s)
    pattern = torch.softmax(scores * scale.view(-1, 1, 1, 1, 1), dim=-1)
    pattern = rate.view(-1, 1, 1, 1, 1) * pattern + (1 - rate.view(-1, 1, 1, 1, 1))
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
        from algophase.training.kernels.attend import attend_forward

        q, joint = None if q is None else q.contiguous(), joint.contiguous()
        ctx.heads = heads
        ctx.save_for_backward(q, joint, rate, scale)
        return attend_forward(*_parts(q, joint), heads, rate, scale)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        from algophase.training.kernels.attend import attend_backward

        q, joint, rate, scale = ctx.saved_tensors
        dq, d_joint = None if q is None else torch.empty_like(q), torch.empty_like(joint)
        attend_backward(
            _parts(q, joint), _parts(dq, d_joint), ctx.heads, rate, scale, upstream[0].contiguous()
        )
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
