"""relu(x + b) over the rows of every network, for the stacked engine: one pass each way, bias
gradient included.

backward, with y the output:   dx = dy where y > 0, else 0;   db = sum over rows of dx

Reference: `bias_relu_reference` in training/engines/bias_relu.py. A program adds up the rows it
    owns;
these sums are then added in a fixed order.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS = 512  # at most, a program
ROWS = 8  # at a time
PART = 128  # rows of a program


@triton.jit
def _forward(X, BIAS, rows, columns, COLUMNS: tl.constexpr, ROWS: tl.constexpr, PART: tl.constexpr):
    network = tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    bias = tl.load(BIAS + network * columns + c, mask=c < columns, other=0.0)
    for start in range(0, PART, ROWS):
        r = tl.program_id(0) * PART + start + tl.arange(0, ROWS)
        place = X + (network * rows + r[:, None]) * columns + c[None, :]
        inside = (r < rows)[:, None] & (c < columns)[None, :]
        x = tl.load(place, mask=inside, other=0.0) + bias[None, :]
        tl.store(place, tl.where(x <= 0.0, 0.0, x), mask=inside)  # a maximum would turn NaN into 0


@triton.jit
def _backward(
    Y, dY, dX, SUMS, rows, columns, COLUMNS: tl.constexpr, ROWS: tl.constexpr, PART: tl.constexpr
):
    network = tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for start in range(0, PART, ROWS):
        r = tl.program_id(0) * PART + start + tl.arange(0, ROWS)
        place = (network * rows + r[:, None]) * columns + c[None, :]
        inside = (r < rows)[:, None] & (c < columns)[None, :]
        y = tl.load(Y + place, mask=inside, other=0.0)
        dx = tl.where(y > 0.0, tl.load(dY + place, mask=inside, other=0.0), 0.0)
        tl.store(dX + place, dx, mask=inside)
        total += tl.sum(dx, axis=0)
    tl.store(
        SUMS + (network * tl.num_programs(0) + tl.program_id(0)) * columns + c,
        total,
        mask=c < columns,
    )


def _launch(x: Tensor) -> tuple[tuple[int, int, int], dict[str, int]]:
    n, rows, columns = x.shape
    width = min(COLUMNS, triton.next_power_of_2(columns))
    return (triton.cdiv(rows, PART), triton.cdiv(columns, width), n), {
        "COLUMNS": width,
        "ROWS": ROWS,
        "PART": PART,
    }


def bias_relu_forward(x: Tensor, bias: Tensor) -> None:
    """In place on contiguous x (n, rows, columns), with bias (n, columns)."""
    grid, sizes = _launch(x)
    _forward[grid](x, bias, x.shape[1], x.shape[2], **sizes, num_warps=4)


def bias_relu_backward(y: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the bias, from contiguous y and dy (n, rows, columns)."""
    grid, sizes = _launch(y)
    dx = torch.empty_like(y)
    sums = torch.empty(y.shape[0], grid[0], y.shape[2], device=y.device, dtype=y.dtype)
    _backward[grid](y, dy, dx, sums, y.shape[1], y.shape[2], **sizes, num_warps=4)
    return dx, sums.sum(1)
