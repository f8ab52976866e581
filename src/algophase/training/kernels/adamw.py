"""One AdamW step in a single pass over parameters, gradients and moments, and one launch for what
it needs to know of every network. Formula and reference: training/run/optimizer.py."""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _coefficients(LOSS, SETTINGS, STEPS, ALIVE, DIVERGED_AT, COEFFICIENTS):
    """A network whose loss is not finite is frozen, at this many steps."""
    network = tl.program_id(0)
    loss, steps, before = tl.load(LOSS + network), tl.load(STEPS), tl.load(DIVERGED_AT + network)
    finite = loss - loss == 0.0
    tl.store(DIVERGED_AT + network, tl.where(finite | (before >= 0), before, steps.to(tl.int64)))
    alive = tl.where(finite, tl.load(ALIVE + network), 0.0)
    tl.store(ALIVE + network, alive)
    SETTINGS += network * 6
    rate, decay, beta1, beta2 = (
        tl.load(SETTINGS),
        tl.load(SETTINGS + 1),
        tl.load(SETTINGS + 2),
        tl.load(SETTINGS + 3),
    )
    epsilon, warmup = tl.load(SETTINGS + 4), tl.load(SETTINGS + 5)
    warm = tl.where(warmup > 0, tl.minimum(steps / tl.maximum(warmup, 1.0), 1.0), 1.0)
    rate *= warm * alive
    steps += 1.0
    COEFFICIENTS += network * 7
    tl.store(COEFFICIENTS, (1.0 - rate * decay).to(tl.float32))
    tl.store(COEFFICIENTS + 1, (rate / (1.0 - tl.exp(steps * tl.log(beta1)))).to(tl.float32))
    tl.store(COEFFICIENTS + 2, (1.0 / tl.sqrt(1.0 - tl.exp(steps * tl.log(beta2)))).to(tl.float32))
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
    place = network * size + i
    COEFFICIENTS += network * 7
    shrink, step_size, correction = (
        tl.load(COEFFICIENTS),
        tl.load(COEFFICIENTS + 1),
        tl.load(COEFFICIENTS + 2),
    )
    keep_1, keep_2 = tl.load(COEFFICIENTS + 3), tl.load(COEFFICIENTS + 4)
    epsilon, alive = tl.load(COEFFICIENTS + 5), tl.load(COEFFICIENTS + 6)
    inside = i < tl.where(alive > 0.0, size, 0)  # a frozen network is left alone
    parameter, gradient = (
        tl.load(PARAMETER + place, mask=inside),
        tl.load(GRADIENT + place, mask=inside),
    )
    first, second = tl.load(FIRST + place, mask=inside), tl.load(SECOND + place, mask=inside)
    first = first + keep_1 * (gradient - first)
    second = second * (1.0 - keep_2) + keep_2 * gradient * gradient
    update = step_size * first / (tl.sqrt(second) * correction + epsilon)
    tl.store(PARAMETER + place, parameter * shrink - update, mask=inside)
    tl.store(FIRST + place, first, mask=inside)
    tl.store(SECOND + place, second, mask=inside)
    tl.store(
        STEPS, tl.load(STEPS) + COUNT, mask=tl.program_id(0) + tl.program_id(1) == 0
    )  # nothing here reads them


def coefficients(
    loss: Tensor, settings: Tensor, steps: Tensor, alive: Tensor, diverged_at: Tensor, out: Tensor
) -> None:
    """out (n, 7) as `adamw` takes it, from settings (n, 6): rate, decay, b1, b2, epsilon, warm-up,
    float64. Networks whose loss (n,) is not finite are frozen in alive (n,) and diverged_at (n,).
    """
    _coefficients[(len(loss),)](loss, settings, steps, alive, diverged_at, out, num_warps=1)


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
    _adamw[grid](
        parameters,
        gradients,
        first,
        second,
        coefficients,
        steps,
        size,
        COUNT=int(count),
        BLOCK=BLOCK,
        num_warps=4,
    )
