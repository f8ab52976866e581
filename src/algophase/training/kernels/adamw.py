"""One AdamW step in a single pass over parameters, gradients and moments, and one launch for what
it needs to know of every network. Formula and reference: training/run/optimizer.py. Measured: 28
bytes per parameter through memory, 1.5 µs per network and epoch at width 128; at width 512 it is at
the floor of 4.2 TB/s (docs/notes/tuning.md)."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from algophase.training.kernels.launch import launch

BLOCK = 1024


@triton.jit
def _coefficients(LOSS, SETTINGS, STEPS, ALIVE, DIVERGED_AT, COEFFICIENTS):
    """A network whose loss is not finite is frozen, at this many steps."""
    network = tl.program_id(0)
    loss, steps = tl.load(LOSS + network), tl.load(STEPS)
    diverged_at = tl.load(DIVERGED_AT + network)
    finite = loss - loss == 0.0
    is_kept = finite | (diverged_at >= 0)
    tl.store(DIVERGED_AT + network, tl.where(is_kept, diverged_at, steps.to(tl.int64)))
    alive = tl.where(finite, tl.load(ALIVE + network), 0.0)
    tl.store(ALIVE + network, alive)
    SETTINGS += network * 6
    rate, decay = tl.load(SETTINGS), tl.load(SETTINGS + 1)
    beta1, beta2 = tl.load(SETTINGS + 2), tl.load(SETTINGS + 3)
    epsilon, warmup = tl.load(SETTINGS + 4), tl.load(SETTINGS + 5)
    warm = tl.where(warmup > 0, tl.minimum(steps / tl.maximum(warmup, 1.0), 1.0), 1.0)
    rate *= warm * alive
    steps += 1.0
    COEFFICIENTS += network * 7
    tl.store(COEFFICIENTS, (1.0 - rate * decay).to(tl.float32))
    bias_1 = 1.0 - tl.exp(steps * tl.log(beta1))  # 1 - beta1^steps
    tl.store(COEFFICIENTS + 1, (rate / bias_1).to(tl.float32))
    bias_2 = 1.0 - tl.exp(steps * tl.log(beta2))
    tl.store(COEFFICIENTS + 2, (1.0 / tl.sqrt(bias_2)).to(tl.float32))
    tl.store(COEFFICIENTS + 3, (1.0 - beta1).to(tl.float32))
    tl.store(COEFFICIENTS + 4, (1.0 - beta2).to(tl.float32))
    tl.store(COEFFICIENTS + 5, epsilon.to(tl.float32))
    tl.store(COEFFICIENTS + 6, alive.to(tl.float32))


@triton.jit
def _adamw(
    PARAMETER,
    GRADIENT,
    FIRST,
    SECOND,
    COEFFICIENTS,
    STEPS,
    size,
    COUNT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    network = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = network * size + i
    COEFFICIENTS += network * 7
    shrink, step_size = tl.load(COEFFICIENTS), tl.load(COEFFICIENTS + 1)
    correction = tl.load(COEFFICIENTS + 2)
    keep_1, keep_2 = tl.load(COEFFICIENTS + 3), tl.load(COEFFICIENTS + 4)
    epsilon, alive = tl.load(COEFFICIENTS + 5), tl.load(COEFFICIENTS + 6)
    is_trained = i < tl.where(alive > 0.0, size, 0)  # a frozen network is left alone
    parameter = tl.load(PARAMETER + offsets, mask=is_trained)
    gradient = tl.load(GRADIENT + offsets, mask=is_trained)
    first = tl.load(FIRST + offsets, mask=is_trained)
    second = tl.load(SECOND + offsets, mask=is_trained)
    first = first + keep_1 * (gradient - first)
    second = second * (1.0 - keep_2) + keep_2 * gradient * gradient
    update = step_size * first / (tl.sqrt(second) * correction + epsilon)
    tl.store(PARAMETER + offsets, parameter * shrink - update, mask=is_trained)
    tl.store(FIRST + offsets, first, mask=is_trained)
    tl.store(SECOND + offsets, second, mask=is_trained)
    is_first_program = tl.program_id(0) + tl.program_id(1) == 0
    tl.store(STEPS, tl.load(STEPS) + COUNT, mask=is_first_program)  # nothing here reads them


def coefficients(
    loss: Tensor, settings: Tensor, steps: Tensor, alive: Tensor, diverged_at: Tensor, out: Tensor
) -> None:
    """out (n, 7) as `adamw` takes it, from settings (n, 6): rate, decay, b1, b2, epsilon, warm-up,
    float64. Networks whose loss (n,) is not finite are frozen in alive (n,) and diverged_at (n,).
    """
    tensors = {"LOSS": loss, "SETTINGS": settings, "STEPS": steps, "ALIVE": alive}
    tensors |= {"DIVERGED_AT": diverged_at, "COEFFICIENTS": out}
    launch(_coefficients, (len(loss),), tensors, num_warps=1).run()


def adamw(
    parameters: Tensor,
    gradients: Tensor,
    first: Tensor,
    second: Tensor,
    coefficients: Tensor,
    steps: Tensor,
    *,
    count: bool = False,
) -> None:
    """Update (n, size) tensors in place. coefficients (n, 7): shrink, step size, correction, 1 -
    b1, 1 - b2, epsilon, alive.
    count: add one to the steps."""
    n, size = parameters.shape
    assert coefficients.shape == (n, 7)
    assert coefficients.dtype == torch.float32
    grid = (triton.cdiv(size, BLOCK), n)
    tensors = {"PARAMETER": parameters, "GRADIENT": gradients, "FIRST": first, "SECOND": second}
    tensors |= {"COEFFICIENTS": coefficients, "STEPS": steps}
    sizes = {"size": size, "COUNT": int(count), "BLOCK": BLOCK}
    launch(_adamw, grid, tensors, **sizes, num_warps=4).run()
