"""Linear models by rows: each pair from the tables over tokens to its loss, and with two layers
back to the first.

    x = t_1[a] + t_2[b];   y = relu(x), or relu(W_2 relu(x) + b_2)
    logits = W_U y;   slope = d loss / d logits
    two layers:  dx = (W_2^T ((W_U^T slope) relu'(y))) relu'(x)

x is a sum of two float32 numbers in registers. relu(x) is rounded to float16, and kept for
`linear_units`; nothing else of a hidden unit leaves the chip. The slope and dx of a program are
scaled by powers of two of its own. JUDGE stops at the loss of each row, and whether the label's
logit is strictly the largest.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    activate_both,
    exponent,
    looked_up,
    scale_up,
)
from algophase.training.kernels.cross_entropy import to_loss


@triton.jit
def linear_rows(
    PARAMETERS,  # (n, size)
    TABLES,  # (n, 2, PA, H) float32
    SECOND,  # (n, H, H) float16
    READOUT,  # (n, VP, H) float16
    PAIRS,  # (n, T + 16) int32: a + 256 b
    LABELS,  # the answer to a and b at a + 256 b (P, 256) int8, or None: addition modulo P
    WEIGHTS,  # (n, T) float32, 0 in padding
    HIDDEN,  # out (n, T, H) float16: relu(x)
    SLOPE,  # out (n, T, VP) float16, the largest of a tile in [1, 2)
    EXPONENT,  # out (n, TILES) int32: of the slope
    DX,  # out (n, T, H) float16, the largest of a tile in [2^12, 2^13), with two layers
    DX_EXPONENT,  # out (n, TILES) int32
    LOSS,  # out (n, TILES) float32, or (n, T) with JUDGE
    RIGHT,  # out (n, T) int8 with JUDGE
    size,
    AT_B2: tl.constexpr,
    P: tl.constexpr,
    PA: tl.constexpr,
    T: tl.constexpr,
    H: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    TWO_LAYERS: tl.constexpr,
    JUDGE: tl.constexpr,
    STAGES: tl.constexpr,
):
    tile = tl.program_id(0)
    network = tl.program_id(1).to(tl.int64)
    row, v = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, VP)
    pair = tl.load(PAIRS + network * (T + 16) + row)
    a, b = pair % 256, pair // 256
    if LABELS is not None:  # early: the products below hide how long it takes
        label = looked_up(LABELS, pair)
    TABLE_1 = TABLES + network * 2 * PA * H + a[:, None] * H
    TABLE_2 = TABLES + (network * 2 + 1) * PA * H + b[:, None] * H
    HIDDEN += (network * T + row[:, None]) * H
    SECOND += network * H * H
    READOUT += network * VP * H + v[:, None] * H
    logits = tl.zeros((ROWS, VP), tl.float32)
    active = tl.zeros((ROWS, BM), tl.int32)
    # One layer takes 3.7 µs per network and epoch in all (alpha), two 8.1 (beta)
    if TWO_LAYERS:
        k = tl.arange(0, H)
        x = tl.load(TABLE_1 + k[None, :]) + tl.load(TABLE_2 + k[None, :])
        hidden = activate_both(x, False)[0].to(tl.float16)
        if not JUDGE:
            tl.store(HIDDEN + k[None, :], hidden)
        for step in tl.range(0, H // BM, num_stages=STAGES):
            m = step * BM + tl.arange(0, BM)
            w = tl.load(SECOND + m[:, None] * H + k[None, :])
            u = tl.load(READOUT + m[None, :])
            bias = tl.load(PARAMETERS + network * size + AT_B2 + m)[None, :]
            y = tl.dot(hidden, tl.trans(w)) + bias
            active |= (y > 0.0).to(tl.int32) << step
            logits = tl.dot(activate_both(y, False)[0].to(tl.float16), tl.trans(u), logits)
    else:
        for step in tl.range(0, H // BM, num_stages=STAGES):
            m = step * BM + tl.arange(0, BM)
            u = tl.load(READOUT + m[None, :])
            x = tl.load(TABLE_1 + m[None, :]) + tl.load(TABLE_2 + m[None, :])
            hidden = activate_both(x, False)[0].to(tl.float16)
            if not JUDGE:
                tl.store(HIDDEN + m[None, :], hidden)
            logits = tl.dot(hidden, tl.trans(u), logits)

    if LABELS is None:
        label = (a + b) % P
    s, top = to_loss(
        logits, label, WEIGHTS, tile, network, SLOPE, EXPONENT, LOSS, RIGHT, T, P, VP, ROWS, JUDGE
    )
    if TWO_LAYERS and not JUDGE:
        dx = tl.zeros((ROWS, H), tl.float32)
        for step in tl.range(0, H // BM, num_stages=STAGES):
            m = step * BM + tl.arange(0, BM)
            w = tl.load(SECOND + m[:, None] * H + k[None, :])
            u = tl.load(READOUT + m[None, :])
            dy = tl.where(((active >> step) & 1) != 0, tl.dot(s, u), 0.0)
            dx = tl.dot(dy.to(tl.float16), w, dx)
        dx = tl.where(hidden > 0.0, dx, 0.0)
        top_dx = exponent(dx)
        tl.store(DX_EXPONENT + network * (T // ROWS) + tile, top_dx + top - 127)
        dx_half = (dx * scale_up(top_dx)).to(tl.float16)
        tl.store(DX + (network * T + row[:, None]) * H + k[None, :], dx_half)
