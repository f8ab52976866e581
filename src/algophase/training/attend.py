"""Attention over two or three positions with a leading axis over networks: plain torch, or one Triton kernel each way on
a GPU."""

from typing import Any

import torch
from torch import Tensor


def attend_reference(q: Tensor, k: Tensor, v: Tensor, heads: int, rate: Tensor, scale: Tensor) -> Tensor:
    """z (n, asking, B, C) for q (n, asking, B, C), k and v (n, s, B, C), C = heads * size; rate and scale (n,)."""
    q, k, v = (x.unflatten(3, (heads, -1)) for x in (q, k, v))
    scores = torch.stack([(q * k[:, s : s + 1]).sum(-1) for s in range(k.shape[1])], dim=-1)  # (n, asking, B, h, s)
    pattern = torch.softmax(scores * scale.view(-1, 1, 1, 1, 1), dim=-1)
    pattern = rate.view(-1, 1, 1, 1, 1) * pattern + (1 - rate.view(-1, 1, 1, 1, 1))
    z = pattern[..., :1] * v[:, :1]
    for s in range(1, k.shape[1]):
        z = z + pattern[..., s : s + 1] * v[:, s : s + 1]
    return z.flatten(3)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, heads: int, rate: Tensor, scale: Tensor) -> Tensor:
        from algophase.training.kernels.attend import attend_forward

        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        ctx.heads = heads
        ctx.save_for_backward(q, k, v, rate, scale)
        return attend_forward(q, k, v, heads, rate, scale)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        from algophase.training.kernels.attend import attend_backward

        q, k, v, rate, scale = ctx.saved_tensors
        return (*attend_backward(q, k, v, ctx.heads, rate, scale, upstream[0].contiguous()), None, None, None)


def attend(q: Tensor, k: Tensor, v: Tensor, heads: int, rate: Tensor, scale: Tensor, *, fused: bool) -> Tensor:
    if fused:
        return _Attend.apply(q, k, v, heads, rate, scale)
    return attend_reference(q, k, v, heads, rate, scale)
