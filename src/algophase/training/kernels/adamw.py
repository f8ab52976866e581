"""One AdamW step in a single pass over parameters, gradients and moments (formula and reference: training/optimizer.py)."""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 2048


@triton.jit
def _adamw(PARAMETER, GRADIENT, FIRST, SECOND, COEFFICIENTS, size, BLOCK: tl.constexpr):
    network = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = network * size + i
    COEFFICIENTS += network * 7
    shrink, step_size, correction = tl.load(COEFFICIENTS), tl.load(COEFFICIENTS + 1), tl.load(COEFFICIENTS + 2)
    keep_1, keep_2 = tl.load(COEFFICIENTS + 3), tl.load(COEFFICIENTS + 4)
    epsilon, alive = tl.load(COEFFICIENTS + 5), tl.load(COEFFICIENTS + 6)
    inside = i < tl.where(alive > 0.0, size, 0)  # a frozen network is left alone
    parameter, gradient = tl.load(PARAMETER + place, mask=inside), tl.load(GRADIENT + place, mask=inside)
    first, second = tl.load(FIRST + place, mask=inside), tl.load(SECOND + place, mask=inside)
    first = first + keep_1 * (gradient - first)
    second = second * (1.0 - keep_2) + keep_2 * gradient * gradient
    update = step_size * first / (tl.sqrt(second) * correction + epsilon)
    tl.store(PARAMETER + place, parameter * shrink - update, mask=inside)
    tl.store(FIRST + place, first, mask=inside)
    tl.store(SECOND + place, second, mask=inside)


def adamw(parameters: Tensor, gradients: Tensor, first: Tensor, second: Tensor, coefficients: Tensor) -> None:
    """Update (n, size) tensors in place. coefficients (n, 7): shrink, step size, correction, 1 - b1, 1 - b2, epsilon, alive."""
    n, size = parameters.shape
    assert coefficients.shape == (n, 7)
    assert coefficients.dtype == torch.float32
    _adamw[(triton.cdiv(size, BLOCK), n)](parameters, gradients, first, second, coefficients, size, BLOCK=BLOCK, num_warps=4)
