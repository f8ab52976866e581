"""Weighted cross-entropy of rows of logits and its slope, in the form that does not cancel
(training/engines/_loss.py).

Part of the kernels by rows, and for the stacked engine a kernel of its own: one pass over the
logits in place of a dozen. Measured, with padded tokens and outputs: 142 to 130 µs per network and
epoch (two layers; docs/notes/tuning.md).

    slope_c = q_c at a wrong class, -s at the label;   s = sum over c != y of q_c
    loss = log1p(sum over c != y of exp(l_c - l_y))

Reference: `loss_and_slope` in training/engines/_loss.py.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from algophase.training.kernels._shared import exponent, to_unit
from algophase.training.kernels.launch import launch

TILE = 2048  # logits a program holds


@triton.jit
def weighted_loss(logits, is_label, outside, weight):
    """Loss (rows,) and slope (rows, columns), both times weight (rows,). outside: columns that
    are no output.
    """
    at_label = tl.sum(tl.where(is_label, logits, 0.0), axis=1)
    margin = tl.where(is_label | outside, -float("inf"), logits - at_label[:, None])
    shift = tl.maximum(tl.max(margin, axis=1), 0.0)
    wrong = tl.exp(margin - shift[:, None])
    total = tl.sum(wrong, axis=1)
    whole = total + tl.exp(-shift)
    slope = wrong / whole[:, None] - tl.where(is_label, (total / whole)[:, None], 0.0)
    slope *= weight[:, None]
    # log1p(total) by its series where total is tiny: log(1 + total) would have no digits left
    small = total * (1.0 - total * (0.5 - total * (0.3333333333333333 - 0.25 * total)))
    loss = tl.where((shift == 0.0) & (total < 0.01), small, shift + tl.log(whole)) * weight
    return loss, slope


@triton.jit
def judge(logits, is_label, loss, LOSS, RIGHT, row, V: tl.constexpr, VP: tl.constexpr):
    """Store the loss of each row, and whether the label's logit is strictly the largest."""
    at_label = tl.sum(tl.where(is_label, logits, 0.0), axis=1)
    is_below = (logits < at_label[:, None]) & (tl.arange(0, VP)[None, :] < V)
    below = tl.sum(is_below.to(tl.int32), axis=1)
    tl.store(LOSS + row, loss)
    tl.store(RIGHT + row, (below == V - 1).to(tl.int8))


@triton.jit
def to_loss(
    logits,
    label,
    WEIGHTS,
    tile,
    network,
    SLOPE,
    EXPONENT,
    LOSS,
    RIGHT,
    T: tl.constexpr,
    V: tl.constexpr,
    VP: tl.constexpr,
    ROWS: tl.constexpr,
    JUDGE: tl.constexpr,
):
    """Loss of a tile of rows, stored, and its slope: float16 with the largest in [1, 2), and its
    exponent. JUDGE: instead the loss of each row, unweighted, and whether the label's logit is
    strictly the largest.
    """
    row, v = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, VP)
    weight = tl.full((ROWS,), 1.0, tl.float32) if JUDGE else tl.load(WEIGHTS + network * T + row)
    is_label = v[None, :] == label[:, None]
    loss, slope = weighted_loss(logits, is_label, v[None, :] >= V, weight)
    if JUDGE:
        judge(logits, is_label, loss, LOSS + network * T, RIGHT + network * T, row, V, VP)
    else:
        tl.store(LOSS + network * (T // ROWS) + tile, tl.sum(loss))
    top = exponent(slope)
    s = to_unit(slope, top)
    if not JUDGE:
        tl.store(EXPONENT + network * (T // ROWS) + tile, top)
        tl.store(SLOPE + network * T * VP + row[:, None] * VP + v[None, :], s)
    return s, top


@triton.jit
def add_up_loss(LOSS, NETWORK_LOSS, network, TILES: tl.constexpr, TILES_P: tl.constexpr):
    """A network's loss from that of its tiles."""
    t = tl.arange(0, TILES_P)
    of_tiles = tl.load(LOSS + network * TILES + t, mask=t < TILES, other=0.0)
    tl.store(NETWORK_LOSS + network, tl.sum(of_tiles, axis=0))


@triton.jit
def _cross_entropy(
    LOGITS,
    LABELS,
    WEIGHTS,
    LOSS,
    SLOPE,
    rows,
    ROW: tl.constexpr,
    V: tl.constexpr,
    VP: tl.constexpr,
    ROWS: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    v = tl.arange(0, VP)
    outside = v[None, :] >= V
    is_logit = (r < rows)[:, None] & (v < V)[None, :]
    logits = tl.load(LOGITS + r[:, None] * ROW + v[None, :], mask=is_logit, other=0.0)
    is_label = v[None, :] == tl.load(LABELS + r, mask=r < rows, other=0)[:, None]
    weight = tl.load(WEIGHTS + r, mask=r < rows, other=0.0)
    loss, slope = weighted_loss(logits, is_label, outside, weight)
    tl.store(LOSS + r, loss, mask=r < rows)
    tl.store(SLOPE + r[:, None] * V + v[None, :], slope, mask=is_logit)


def cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted loss (n, B) and slope (n, B, outputs) for logits (n, B, outputs), the first columns
    of a contiguous tensor, and contiguous labels and weights (n, B)."""
    n, rows, outputs = logits.shape
    columns = triton.next_power_of_2(outputs)
    at_a_time = max(1, TILE // columns)
    loss = torch.empty_like(weights)
    slope = torch.empty(n, rows, outputs, device=logits.device, dtype=logits.dtype)
    tensors = {"LOGITS": logits, "LABELS": labels, "WEIGHTS": weights, "LOSS": loss, "SLOPE": slope}
    launch(
        _cross_entropy,
        (triton.cdiv(n * rows, at_a_time),),
        tensors,
        rows=n * rows,
        ROW=logits.stride(1),
        V=outputs,
        VP=columns,
        ROWS=at_a_time,
        num_warps=4,
    ).run()
    return loss, slope
