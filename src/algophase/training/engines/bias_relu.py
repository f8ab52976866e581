"""relu(x + b) with a leading axis over networks: plain torch, or one Triton kernel each way on a
GPU.
"""

from typing import Any

import torch
from torch import Tensor


def bias_relu_reference(x: Tensor, bias: Tensor) -> Tensor:
    """(n, rows, columns) for x of that shape and bias (n, columns)."""
    return torch.relu(x + bias[:, None])


class _BiasRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        from algophase.training.kernels.bias_relu import bias_relu_forward

        bias_relu_forward(x, bias.contiguous())
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor]:
        from algophase.training.kernels.bias_relu import bias_relu_backward

        (y,) = ctx.saved_tensors
        return bias_relu_backward(y, upstream[0].contiguous())


def bias_relu(x: Tensor, bias: Tensor, *, fused: bool) -> Tensor:
    """fused: in place, on a contiguous x that nobody else reads."""
    if fused:
        return _BiasRelu.apply(x, bias)
    return bias_relu_reference(x, bias)
