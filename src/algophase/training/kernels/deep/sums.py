"""Gradients of a deep network's matrices: sums over rows, from what `rows` and `attend` left.

    h^T = W_in^T u^T + b_in;   dh^T = (W_out dy^T) act'(h^T)
    dW_in^T = dh^T u;   db_in = sum dh;   dW_out = act(h^T) dy;   db_out = sum dy
    dW_O = z^T du;   d[W_Q | W_K | W_V] = x^T [dq | dk | dv];   dW_U = y^T slope
    of tables over tokens: the sum of du, dq, dk, dv over a token's pairs

`deep_units` is transposed, so that what one product leaves in registers is the next one's left
operand, and hidden units are computed again rather than read. Every sum is cut into PARTS, whatever
the number of networks, and `add_up` adds them in order.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    STREAM_UNIT,
    TILE,
    WEIGHT_UNIT,
    activate_both,
    largest_exponent,
    power,
    power_between,
)


@triton.jit
def deep_units(
    U,  # (n, ALL, D) float16
    DY,  # (n, ALL, D) float16
    E_DY,  # (n, ALL / TILE) int32
    IN,  # M by D float16
    B_IN,  # M
    OUT,  # M by D float16
    D_IN,  # out, of each part, M by D
    D_B_IN,  # M
    D_OUT,  # M by D
    D_B_OUT,  # D
    size,
    ALL: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    PARTS: tl.constexpr,
    TILES_P: tl.constexpr,
    GELU: tl.constexpr,
    STAGES: tl.constexpr,
):
    """BM hidden units and one part of the rows; the last programs take db_out."""
    TILES: tl.constexpr = ALL // TILE
    STEPS: tl.constexpr = ALL // (ROWS * PARTS)  # products overlap only if this is constant
    tile, part = tl.program_id(0), tl.program_id(1)
    network = tl.program_id(2).to(tl.int64)
    i, d = tl.arange(0, ROWS), tl.arange(0, D)
    U += network * ALL * D
    DY += network * ALL * D
    E_DY += network * TILES
    out = (network * PARTS + part) * size
    if tile < M // BM:
        top = largest_exponent(E_DY, TILES, TILES_P)
        m = tile * BM + tl.arange(0, BM)
        w_in = tl.load(IN + network * size + m[:, None] * D + d[None, :])
        w_out = tl.load(OUT + network * size + m[:, None] * D + d[None, :])
        bias = tl.load(B_IN + network * size + m)[:, None]
        d_in = tl.zeros((BM, D), tl.float32)
        d_out = tl.zeros((BM, D), tl.float32)
        d_b = tl.zeros((BM,), tl.float32)
        for step in tl.range(0, STEPS, num_stages=STAGES):
            row = (part * STEPS + step) * ROWS + i
            u = tl.load(U + row[:, None] * D + d[None, :])
            dy = tl.load(DY + row[:, None] * D + d[None, :])
            factor = power_between(tl.load(E_DY + (part * STEPS + step) * ROWS // TILE), top)
            h = tl.dot(w_in, tl.trans(u)) + bias
            dh = tl.dot(w_out, tl.trans(dy))
            if GELU:
                post, steep = activate_both(h, GELU)
                post *= factor * STREAM_UNIT
                dh *= steep * factor
            else:
                post = tl.where(h <= 0.0, 0.0, h) * (factor * STREAM_UNIT)
                dh = tl.where(h > 0.0, dh * factor, 0.0)
            d_out = tl.dot(post.to(tl.float16), dy, d_out)
            d_in = tl.dot(dh.to(tl.float16), u, d_in)
            d_b += tl.sum(dh, axis=1)
        whole = power(top)
        tl.store(D_OUT + out + m[:, None] * D + d[None, :], d_out * (whole * WEIGHT_UNIT))
        tl.store(D_IN + out + m[:, None] * D + d[None, :], d_in * whole)
        tl.store(D_B_IN + out + m, d_b * (whole * STREAM_UNIT))
    else:
        d_b_out = tl.zeros((D,), tl.float32)
        for step in tl.range(0, STEPS, num_stages=STAGES):
            row = (part * STEPS + step) * ROWS + i
            dy = tl.load(DY + row[:, None] * D + d[None, :]).to(tl.float32)
            of_rows = tl.sum(dy, axis=0)
            d_b_out += of_rows * power(tl.load(E_DY + (part * STEPS + step) * ROWS // TILE))
        tl.store(D_B_OUT + out + d, d_b_out)


@triton.jit
def deep_outer(
    A,  # (n, ALL, K) float16: a stream; HOT: (n, ALL) int32, tokens
    B,  # (n, ALL, N) float16
    EXPONENT,  # (n, N / WIDTH, ALL / TILE) int32: of WIDTH columns each
    OUT,  # out, of each part, K by N, a row ROW numbers from the next; of HOT (COUNT, K, N)
    size,
    ALL: tl.constexpr,
    SKIPPED: tl.constexpr,
    COUNT: tl.constexpr,
    K: tl.constexpr,
    N: tl.constexpr,
    LAST: tl.constexpr,
    ROW: tl.constexpr,
    WIDTH: tl.constexpr,
    BK: tl.constexpr,
    BN: tl.constexpr,
    PARTS: tl.constexpr,
    HOT: tl.constexpr,
    STAGES: tl.constexpr,
):
    """A^T B over the rows from SKIPPED on, which are cut into COUNT sums. BK rows and BN columns
    of the first LAST.
    """
    TILES: tl.constexpr = ALL // TILE
    STEPS: tl.constexpr = (ALL - SKIPPED) // (TILE * PARTS * COUNT)
    role, part = tl.program_id(0), tl.program_id(1)
    network = tl.program_id(2).to(tl.int64)
    n = role % (LAST // BN) * BN + tl.arange(0, BN)
    k = role // (LAST // BN) % (K // BK) * BK + tl.arange(0, BK)
    which = role // (LAST // BN) // (K // BK)
    first = SKIPPED // TILE + (which * PARTS + part) * STEPS
    A += network * ALL * (1 if HOT else K)
    B += network * ALL * N
    EXPONENT += (network * (N // WIDTH) + n // WIDTH) * TILES
    total = tl.zeros((BK, BN), tl.float32)
    for step in tl.range(0, STEPS, num_stages=STAGES):
        row = (first + step) * TILE + tl.arange(0, TILE)
        # One-hot rows are compared, not read: what reading them would take is not measured
        if HOT:
            a = (tl.load(A + row)[None, :] == k[:, None]).to(tl.float16)
        else:
            a = tl.trans(tl.load(A + row[:, None] * K + k[None, :]))
        b = tl.load(B + row[:, None] * N + n[None, :])
        total += tl.dot(a, b) * power(tl.load(EXPONENT + first + step))[None, :]
    if not HOT:
        total *= WEIGHT_UNIT
    offsets = (network * PARTS + part) * size + (which * K + k)[:, None] * ROW + n[None, :]
    tl.store(OUT + offsets, total)


@triton.jit
def add_up(PARTIAL, GRADIENTS, first, size, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """GRADIENTS (n, size) from column `first` on: PARTIAL (n, PARTS, size), added up in order."""
    network = tl.program_id(1).to(tl.int64)
    i = first + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_parameter = i < size
    total = tl.load(PARTIAL + network * PARTS * size + i, mask=is_parameter)
    for part in tl.static_range(1, PARTS):
        total += tl.load(PARTIAL + (network * PARTS + part) * size + i, mask=is_parameter)
    tl.store(GRADIENTS + network * size + i, total, mask=is_parameter)
