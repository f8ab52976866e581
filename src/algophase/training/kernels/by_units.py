"""The grid by hidden units: sums over all pairs, from the slope that `by_rows` left. Everything is transposed, so that what one
product leaves in registers is the next one's left operand, and hidden units are computed again rather than read.

    x^T = Q^T z^T + base^T;   dx^T = (R slope^T) act'(x^T)
    dQ^T = dx^T z;   dR = act(x^T) slope;   dbase^T = sum_a dx^T

A program takes BM units and a run of blocks of four b; those of the last tile take the direct logits, whose dx is the slope.
The slope's powers of two differ between tiles of rows: products carry the network's largest, and the power between is exact.
"""

import triton
import triton.language as tl

from algophase.training.kernels.by_rows import one_hot
from algophase.training.kernels.hidden import activate_both
from algophase.training.kernels.scaling import exponent, power


@triton.jit
def by_units(
    Z,  # (n, T, C) float16
    Q,  # (n, C, W) float16
    BASE,  # (n, BLOCKS, 16, W) float16
    R,  # (n, M, VP) float16
    SLOPE,  # (n, T, VP) float16
    EXPONENT,  # (n, TILES) int32
    DQ,  # out (n, RUNS, W, C) float32
    DBASE,  # out (n, BLOCKS, W, 4) float32
    DR,  # out (n, RUNS, M, VP) float32
    LARGEST,  # out (n, M / BM + 1, RUNS) int32: exponent of the largest element that a program wrote
    PA: tl.constexpr,
    T: tl.constexpr,
    M: tl.constexpr,
    C: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    RUNS: tl.constexpr,
    GELU: tl.constexpr,
    STAGES: tl.constexpr,
):
    W: tl.constexpr = M + VP
    BLOCKS: tl.constexpr = T // (4 * PA)
    LENGTH: tl.constexpr = BLOCKS // RUNS  # RUNS divides it: products overlap only if the number of steps is constant
    STEPS: tl.constexpr = 4 * PA // ROWS  # of a block
    PER_TILE: tl.constexpr = T // ROWS // TILES
    tile, run = tl.program_id(0), tl.program_id(1)
    network = tl.program_id(2).to(tl.int64)
    i, v, k, j = tl.arange(0, ROWS), tl.arange(0, VP), tl.arange(0, C), tl.arange(0, 16)
    four = tl.arange(0, 4)
    Z += network * T * C
    Q += network * C * W
    BASE += network * BLOCKS * 16 * W
    R += network * M * VP
    SLOPE += network * T * VP
    EXPONENT += network * TILES
    DBASE += network * BLOCKS * W * 4
    LARGEST += (network * tl.num_programs(0) + tile) * RUNS + run
    DQ += (network * RUNS + run) * W * C
    DR += (network * RUNS + run) * M * VP
    t = tl.arange(0, TILES_P)
    top = tl.max(tl.load(EXPONENT + t, mask=t < TILES, other=0), axis=0)
    whole = power(top)
    begin = run * LENGTH * STEPS
    if tile < M // BM:
        m = tile * BM + tl.arange(0, BM)
        q = tl.trans(tl.load(Q + k[:, None] * W + m[None, :]))  # (BM, C)
        r = tl.load(R + m[:, None] * VP + v[None, :])
        of_b = tl.trans(one_hot(i, j))
        dq = tl.zeros((BM, C), tl.float32)
        dr = tl.zeros((BM, VP), tl.float32)
        db = tl.zeros((BM, 4), tl.float32)
        top_db = tl.zeros((BM, 4), tl.float32)
        for offset in tl.range(0, LENGTH * STEPS, num_stages=STAGES):
            step = begin + offset
            block = step // STEPS
            row = step * ROWS + i
            z = tl.load(Z + row[:, None] * C + k[None, :])
            s = tl.load(SLOPE + row[:, None] * VP + v[None, :])
            base = tl.load(BASE + (block * 16 + j[:, None]) * W + m[None, :])
            factor = power(tl.load(EXPONENT + step // PER_TILE) - top + 127)
            x = tl.dot(q, tl.trans(z), tl.dot(tl.trans(base), of_b))
            d = tl.dot(r, tl.trans(s))
            if GELU:
                post, steep = activate_both(x, GELU)
                post *= factor
                dx = d * steep * factor
            else:
                post = tl.where(x <= 0.0, 0.0, x) * factor
                dx = tl.where(x > 0.0, d * factor, 0.0)
            dr = tl.dot(post.to(tl.float16), s, dr)
            dq = tl.dot(dx.to(tl.float16), z, dq)
            db += tl.sum(tl.reshape(dx, (BM, ROWS // 4, 4)), axis=1)
            if step % STEPS == STEPS - 1:
                tl.store(DBASE + (block * W + m[:, None]) * 4 + four[None, :], db * whole)
                top_db = tl.maximum(top_db, tl.abs(db))
                db = tl.zeros((BM, 4), tl.float32)
        dr, dq = dr * whole, dq * whole
        tl.store(DR + m[:, None] * VP + v[None, :], dr)
        tl.store(DQ + m[:, None] * C + k[None, :], dq)
        tl.store(LARGEST, tl.maximum(tl.maximum(exponent(dq), exponent(dr)), exponent(top_db * whole)))
    else:
        w = M + v
        direct = tl.zeros((VP, C), tl.float32)
        db_direct = tl.zeros((VP, 4), tl.float32)
        top_direct = tl.zeros((VP, 4), tl.float32)
        for offset in tl.range(0, LENGTH * STEPS, num_stages=STAGES):
            step = begin + offset
            block = step // STEPS
            row = step * ROWS + i
            z = tl.load(Z + row[:, None] * C + k[None, :])
            turned = tl.trans(tl.load(SLOPE + row[:, None] * VP + v[None, :]))
            dx = turned.to(tl.float32) * power(tl.load(EXPONENT + step // PER_TILE) - top + 127)
            direct = tl.dot(dx.to(tl.float16), z, direct)
            db_direct += tl.sum(tl.reshape(dx, (VP, ROWS // 4, 4)), axis=1)
            if step % STEPS == STEPS - 1:
                tl.store(DBASE + (block * W + w[:, None]) * 4 + four[None, :], db_direct * whole)
                top_direct = tl.maximum(top_direct, tl.abs(db_direct))
                db_direct = tl.zeros((VP, 4), tl.float32)
        direct = direct * whole
        tl.store(DQ + w[:, None] * C + k[None, :], direct)
        tl.store(LARGEST, tl.maximum(exponent(direct), exponent(top_direct * whole)))
