"""Linear models by units: sums over all pairs, from what `linear_rows` left. Units are rows here,
so that what one product leaves in registers is the next one's left operand.

    dW_U^T = y^T slope;   dy^T = (W_U^T slope^T) relu'(y)
    two layers:  dW_2 = dy^T relu(x);   db_2 = sum of dy;   dt from dx (`linear_tokens`)
    one layer:   dx = dy, and dt at once

A token's part of dt is a sum over the pairs it is in, so dt is a product with their incidence
matrix (pairs, tokens), exact in float16. Powers of two differ between tiles of rows: products carry
the network's largest, and the power between is exact.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    activate_both,
    largest_exponent,
    power,
    power_between,
    scale_down,
)


@triton.jit
def has_token(token, i):
    """(pairs, tokens): where a pair has a token."""
    return (token[:, None] == i[None, :]).to(tl.float16)


@triton.jit
def linear_units(
    PARAMETERS,  # (n, size)
    GRADIENTS,  # out (n, size): W_U, with two layers W_2 and b_2
    SECOND,  # (n, H, H) float16
    READOUT,  # (n, VP, H) float16
    PAIRS,  # (n, T + 16) int32
    HIDDEN,  # (n, T, H) float16
    SLOPE,  # (n, T, VP) float16
    EXPONENT,  # (n, TILES) int32
    D_TABLES,  # out (n, 1 or 2, H, PA) float32, with one layer
    size,
    AT_W2: tl.constexpr,
    AT_B2: tl.constexpr,
    AT_U: tl.constexpr,
    PA: tl.constexpr,
    T: tl.constexpr,
    H: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    SHARED: tl.constexpr,
    TWO_LAYERS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    STAGES: tl.constexpr,
):
    PER_TILE: tl.constexpr = T // ROWS // TILES
    network = tl.program_id(1).to(tl.int64)
    m, v = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, VP)
    r, i, k = tl.arange(0, ROWS), tl.arange(0, PA), tl.arange(0, H)
    HIDDEN += network * T * H
    SLOPE += network * T * VP
    PAIRS += network * (T + 16)
    EXPONENT += network * TILES
    GRADIENTS += network * size
    top = largest_exponent(EXPONENT, TILES, TILES_P)
    whole = power(top)
    u = tl.trans(tl.load(READOUT + network * VP * H + v[:, None] * H + m[None, :]))  # (BM, VP)
    d_u = tl.zeros((BM, VP), tl.float32)
    if TWO_LAYERS:
        w = tl.load(SECOND + network * H * H + m[:, None] * H + k[None, :])
        bias = tl.load(PARAMETERS + network * size + AT_B2 + m)
        d_w = tl.zeros((BM, H), tl.float32)
        d_b = tl.zeros((BM,), tl.float32)
        for step in tl.range(0, T // ROWS, num_stages=STAGES):
            row = step * ROWS + r
            hidden = tl.load(HIDDEN + row[:, None] * H + k[None, :])
            s = tl.load(SLOPE + row[:, None] * VP + v[None, :])
            factor = power_between(tl.load(EXPONENT + step // PER_TILE), top)
            y = tl.dot(w, tl.trans(hidden)) + bias[:, None]
            dy = tl.where(y > 0.0, tl.dot(u, tl.trans(s)) * factor, 0.0)
            d_u = tl.dot((activate_both(y, False)[0] * factor).to(tl.float16), s, d_u)
            d_w = tl.dot(dy.to(tl.float16), hidden, d_w)
            d_b += tl.sum(dy, axis=1)
        tl.store(GRADIENTS + AT_W2 + m[:, None] * H + k[None, :], d_w * whole)
        tl.store(GRADIENTS + AT_B2 + m, d_b * whole)
    else:
        d_1 = tl.zeros((BM, PA), tl.float32)
        d_2 = tl.zeros((BM, PA), tl.float32)
        for step in tl.range(0, T // ROWS, num_stages=STAGES):
            row = step * ROWS + r
            pair = tl.load(PAIRS + row)
            y = tl.trans(tl.load(HIDDEN + row[:, None] * H + m[None, :])).to(tl.float32)
            s = tl.load(SLOPE + row[:, None] * VP + v[None, :])
            factor = power_between(tl.load(EXPONENT + step // PER_TILE), top)
            dx = tl.where(y > 0.0, tl.dot(u, tl.trans(s)) * factor, 0.0).to(tl.float16)
            d_u = tl.dot((y * factor).to(tl.float16), s, d_u)
            # Unordered pairs, half as many rows: 3.7 µs in all (alpha), 5.0 in order (delta)
            if SHARED:
                d_1 = tl.dot(dx, has_token(pair % 256, i) + has_token(pair // 256, i), d_1)
            else:
                d_1 = tl.dot(dx, has_token(pair % 256, i), d_1)
                d_2 = tl.dot(dx, has_token(pair // 256, i), d_2)
        D_TABLE = D_TABLES + (network * (1 if SHARED else 2) * H + m[:, None]) * PA + i[None, :]
        tl.store(D_TABLE, d_1 * whole)
        if not SHARED:
            tl.store(D_TABLE + H * PA, d_2 * whole)
    tl.store(GRADIENTS + AT_U + v[None, :] * H + m[:, None], d_u * whole)


@triton.jit
def linear_tokens(
    PAIRS,
    DX,  # (n, T, H) float16
    DX_EXPONENT,  # (n, TILES) int32
    D_TABLES,  # out (n, 1, H, PA) float32
    PA: tl.constexpr,
    T: tl.constexpr,
    H: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    STAGES: tl.constexpr,
):
    """dt of two layers, whose operands share their table: BM units of the first."""
    PER_TILE: tl.constexpr = T // ROWS // TILES
    network = tl.program_id(1).to(tl.int64)
    m, r, i = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, ROWS), tl.arange(0, PA)
    DX += network * T * H
    PAIRS += network * (T + 16)
    DX_EXPONENT += network * TILES
    top = largest_exponent(DX_EXPONENT, TILES, TILES_P)
    total = tl.zeros((BM, PA), tl.float32)
    for step in tl.range(0, T // ROWS, num_stages=STAGES):
        row = step * ROWS + r
        pair = tl.load(PAIRS + row)
        factor = power_between(tl.load(DX_EXPONENT + step // PER_TILE), top)
        dx = tl.trans(tl.load(DX + row[:, None] * H + m[None, :])).to(tl.float32)
        dx = (dx * factor).to(tl.float16)
        total = tl.dot(dx, has_token(pair % 256, i) + has_token(pair // 256, i), total)
    tl.store(D_TABLES + (network * H + m[:, None]) * PA + i[None, :], total * scale_down(top))
