"""The grid by hidden units: sums over all pairs, from the slope that `by_rows` left. Everything is
transposed, so that what one product leaves in registers is the next one's left operand, and hidden
units are computed again rather than read.

    x^T = Q^T z^T + base^T;   dx^T = (R slope^T) act'(x^T)
    dQ^T = dx^T z;   dR = act(x^T) slope;   dbase^T = sum_a dx^T

A program takes BM units and a run of rows; those of the last tiles take BV direct logits, whose dx
is the slope. dbase is a product with the one-hot of b modulo S (`by_rows`): rows come in the order
of b, so a sum is stored when its b is over, and the one that a run leaves unfinished in a row of
its own, after the BP others. The slope's powers of two differ between tiles of rows: products carry
the network's largest, and the power between is exact.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    activate_both,
    b_of_column,
    base_rows,
    exponent,
    largest_exponent,
    power,
    power_between,
)


@triton.jit
def put_down(
    DBASE,
    db,
    top_db,
    whole,
    PAIRS,
    step,
    j,
    m,
    S: tl.constexpr,
    W: tl.constexpr,
    ROWS: tl.constexpr,
):
    """After a tile of rows: store the sums (units, KB) of every b that the next tile has none of,
    and begin them anew. Returns them and the largest of their sizes so far."""
    b = b_of_column(tl.load(PAIRS + step * ROWS) // 256, j % S, S)
    over = (b < tl.load(PAIRS + (step + 1) * ROWS) // 256)[None, :]
    slot = (j < S)[None, :]
    tl.store(DBASE + b[None, :] * W + m[:, None], db * whole, mask=over & slot)
    top_db = tl.maximum(top_db, tl.abs(db))
    return tl.where(over, 0.0, db), top_db


@triton.jit
def by_units(
    Z,  # (n, MOST, C) float16
    Q,  # (n, C, W) float16
    BASE,  # (n, 3, BP, W) float16
    R,  # (n, M, VP) float16
    PAIRS,  # (n, T + 16) int32
    HOT,  # (n, T, KB) float16
    SLOPE,  # (n, T, VP) float16
    EXPONENT,  # (n, TILES) int32
    DQ,  # out (n, RUNS, W, C) float32
    DBASE,  # out (n, BP + RUNS, W) float32
    DR,  # out (n, RUNS, M, VP) float32
    # Out (n, M / BM + VP / BV, RUNS) int32: exponent of the largest element that a program wrote
    LARGEST,
    S: tl.constexpr,
    KB: tl.constexpr,
    BP: tl.constexpr,
    T: tl.constexpr,
    MOST: tl.constexpr,
    M: tl.constexpr,
    C: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    BV: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    RUNS: tl.constexpr,
    GELU: tl.constexpr,
    STAGES: tl.constexpr,
):
    W: tl.constexpr = M + VP
    # RUNS divides it: products overlap only if the number of steps is constant (3.9 µs per network
    # and epoch where it was not, 3.2 where it is; prototype at p = 59, width 128, H200)
    LENGTH: tl.constexpr = T // ROWS // RUNS
    PER_TILE: tl.constexpr = T // ROWS // TILES
    tile, run = tl.program_id(0), tl.program_id(1)
    network = tl.program_id(2).to(tl.int64)
    i, v, k, j = tl.arange(0, ROWS), tl.arange(0, VP), tl.arange(0, C), tl.arange(0, KB)
    Z += network * MOST * C
    Q += network * C * W
    BASE += network * 3 * BP * W
    PAIRS += network * (T + 16)
    HOT += network * T * KB
    R += network * M * VP
    SLOPE += network * T * VP
    EXPONENT += network * TILES
    DBASE += network * (BP + RUNS) * W
    LARGEST += (network * tl.num_programs(0) + tile) * RUNS + run
    DQ += (network * RUNS + run) * W * C
    DR += (network * RUNS + run) * M * VP
    top = largest_exponent(EXPONENT, TILES, TILES_P)
    whole = power(top)
    begin = run * LENGTH
    cut = tl.load(PAIRS + (begin + LENGTH) * ROWS) // 256
    left = (j < S)[None, :] & (j == cut % S)[None, :]  # unfinished when the run ends
    if tile < M // BM:
        m = tile * BM + tl.arange(0, BM)
        q = tl.trans(tl.load(Q + k[:, None] * W + m[None, :]))  # (BM, C)
        r = tl.load(R + m[:, None] * VP + v[None, :])
        dq = tl.zeros((BM, C), tl.float32)
        dr = tl.zeros((BM, VP), tl.float32)
        db = tl.zeros((BM, KB), tl.float32)
        top_db = tl.zeros((BM, KB), tl.float32)
        for offset in tl.range(0, LENGTH, num_stages=STAGES):
            step = begin + offset
            row = step * ROWS + i
            z = tl.load(Z + row[:, None] * C + k[None, :])
            s = tl.load(SLOPE + row[:, None] * VP + v[None, :])
            hot = tl.load(HOT + row[:, None] * KB + j[None, :])
            first_b = tl.load(PAIRS + step * ROWS) // 256
            base = tl.load(BASE + base_rows(first_b, j, S, BP)[:, None] * W + m[None, :])
            factor = power_between(tl.load(EXPONENT + step // PER_TILE), top)
            x = tl.dot(q, tl.trans(z), tl.dot(tl.trans(base), tl.trans(hot)))
            d = tl.dot(r, tl.trans(s))
            # Polynomials, not special functions: both kernels of the grid take 9.4 µs with GELU
            if GELU:
                post, steep = activate_both(x, GELU)
                post *= factor
                dx = d * steep * factor
            else:
                post = tl.where(x <= 0.0, 0.0, x) * factor
                dx = tl.where(x > 0.0, d * factor, 0.0)
            dr = tl.dot(post.to(tl.float16), s, dr)
            dx_half = dx.to(tl.float16)
            dq = tl.dot(dx_half, z, dq)
            db = tl.dot(dx_half, hot, db)
            db, top_db = put_down(DBASE, db, top_db, whole, PAIRS, step, j, m, S, W, ROWS)
        tl.store(DBASE + (BP + run) * W + m[:, None] + 0 * j[None, :], db * whole, mask=left)
        dr, dq = dr * whole, dq * whole
        tl.store(DR + m[:, None] * VP + v[None, :], dr)
        tl.store(DQ + m[:, None] * C + k[None, :], dq)
        tl.store(
            LARGEST, tl.maximum(tl.maximum(exponent(dq), exponent(dr)), exponent(top_db * whole))
        )
    else:
        u = v
        if BV < VP:  # 128 outputs and 256 channels would take 128 KB of shared memory
            u = (tile - M // BM) * BV + tl.arange(0, BV)
        w = M + u
        direct = tl.zeros((BV, C), tl.float32)
        db_direct = tl.zeros((BV, KB), tl.float32)
        top_direct = tl.zeros((BV, KB), tl.float32)
        for offset in tl.range(0, LENGTH, num_stages=STAGES):
            step = begin + offset
            row = step * ROWS + i
            z = tl.load(Z + row[:, None] * C + k[None, :])
            turned = tl.trans(tl.load(SLOPE + row[:, None] * VP + u[None, :])).to(tl.float32)
            factor = power_between(tl.load(EXPONENT + step // PER_TILE), top)
            turned = (turned * factor).to(tl.float16)
            direct = tl.dot(turned, z, direct)
            db_direct = tl.dot(turned, tl.load(HOT + row[:, None] * KB + j[None, :]), db_direct)
            db_direct, top_direct = put_down(
                DBASE, db_direct, top_direct, whole, PAIRS, step, j, w, S, W, ROWS
            )
        tl.store(DBASE + (BP + run) * W + w[:, None] + 0 * j[None, :], db_direct * whole, mask=left)
        direct = direct * whole
        tl.store(DQ + w[:, None] * C + k[None, :], direct)
        tl.store(LARGEST, tl.maximum(exponent(direct), exponent(top_direct * whole)))
