"""The grid for wide networks, whose z does not fit into the registers of a program: `by_rows` and `by_units` as products tile
by tile, with the pre-activations x and their gradient dx in memory, in float16.

    wide_rows    x = z Q + base[b], logits, loss, slope, dx = (slope R^T) act'(x); the direct logits' dx is the slope
    wide_back    dz = dx Q^T
    wide_units   dQ^T = dx^T z;   dR = act(x)^T slope;   dbase = sum_a dx

Rows, parts of the base and scales are those of `by_rows`; dz has the slope's power of two.
"""

import triton
import triton.language as tl

from algophase.training.kernels.by_rows import one_hot
from algophase.training.kernels.cross_entropy import weighted_loss
from algophase.training.kernels.hidden import activate_both
from algophase.training.kernels.scaling import exponent, power


@triton.jit
def wide_rows(
    Z,  # (n, T, C) float16
    Q,  # (n, C, W) float16
    BASE,  # (n, BLOCKS, 16, W) float16
    R,  # (n, M, VP) float16
    WEIGHTS,  # (n, T) float32, 0 in padding
    X,  # out (n, T, M) float16
    DX,  # out (n, T, W) float16, scaled as the slope
    SLOPE,  # out (n, T, VP) float16, the largest of a tile in [1, 2)
    EXPONENT,  # out (n, TILES) int32: of the slope
    DZ_EXPONENT,  # out (n, TILES) int32
    LOSS,  # out (n, TILES) float32, or (n, T) with JUDGE
    RIGHT,  # out (n, T) int8 with JUDGE
    P: tl.constexpr,
    PA: tl.constexpr,
    T: tl.constexpr,
    M: tl.constexpr,
    V: tl.constexpr,
    C: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    BK: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    JUDGE: tl.constexpr,
):
    W: tl.constexpr = M + VP
    TILES: tl.constexpr = T // ROWS
    tile = tl.program_id(0)
    network = tl.program_id(1).to(tl.int64)
    row = tile * ROWS + tl.arange(0, ROWS)
    block = tile * ROWS // (4 * PA)
    a, b = (row // 4) % PA, block * 4 + row % 4
    v, j = tl.arange(0, VP), tl.arange(0, 16)
    Z += network * T * C
    Q += network * C * W
    X += network * T * M
    BASE += (network * (T // (4 * PA)) + block) * 16 * W
    R += network * M * VP
    of_b = one_hot(row, j)
    logits = tl.dot(of_b, tl.load(BASE + j[:, None] * W + M + v[None, :]))
    for c in range(0, C, BK):
        k = c + tl.arange(0, BK)
        direct = tl.load(Q + k[:, None] * W + M + v[None, :])
        logits = tl.dot(tl.load(Z + row[:, None] * C + k[None, :]), direct, logits)
    for first in range(0, M, BM):
        m = first + tl.arange(0, BM)
        x = tl.dot(of_b, tl.load(BASE + j[:, None] * W + m[None, :]))
        for c in range(0, C, BK):
            k = c + tl.arange(0, BK)
            q = tl.load(Q + k[:, None] * W + m[None, :])
            x = tl.dot(tl.load(Z + row[:, None] * C + k[None, :]), q, x)
        if not JUDGE:
            tl.store(X + row[:, None] * M + m[None, :], x.to(tl.float16))
        post, _ = activate_both(x, GELU)
        logits = tl.dot(post.to(tl.float16), tl.load(R + m[:, None] * VP + v[None, :]), logits)

    is_label = v[None, :] == ((a + b) % P)[:, None]
    outside = v[None, :] >= V
    if JUDGE:
        loss, _ = weighted_loss(logits, is_label, outside, tl.full((ROWS,), 1.0, tl.float32))
        at_label = tl.sum(tl.where(is_label, logits, 0.0), axis=1)
        below = tl.sum(((logits < at_label[:, None]) & (v[None, :] < V)).to(tl.int32), axis=1)
        tl.store(LOSS + network * T + row, loss)
        tl.store(RIGHT + network * T + row, (below == V - 1).to(tl.int8))
    else:
        loss, slope = weighted_loss(logits, is_label, outside, tl.load(WEIGHTS + network * T + row))
        tl.store(LOSS + network * TILES + tile, tl.sum(loss))
        top = exponent(slope)
        tl.store(EXPONENT + network * TILES + tile, top)
        tl.store(DZ_EXPONENT + network * TILES + tile, top + 12)  # so that `down` gives the slope's power
        s = (slope * power(254 - top)).to(tl.float16)
        tl.store(SLOPE + network * T * VP + row[:, None] * VP + v[None, :], s)
        DX += network * T * W
        tl.store(DX + row[:, None] * W + M + v[None, :], s)
        tl.debug_barrier()  # x was written by other threads of this program
        for first in range(0, M, BM):
            m = first + tl.arange(0, BM)
            dx = tl.dot(s, tl.trans(tl.load(R + m[:, None] * VP + v[None, :])))
            _, steep = activate_both(tl.load(X + row[:, None] * M + m[None, :]).to(tl.float32), GELU)
            tl.store(DX + row[:, None] * W + m[None, :], (dx * steep).to(tl.float16))


@triton.jit
def wide_back(
    DX,
    Q,
    DZ,  # out (n, T, C) float16, scaled as the slope
    T: tl.constexpr,
    W: tl.constexpr,
    C: tl.constexpr,
    ROWS: tl.constexpr,
    BC: tl.constexpr,
    BK: tl.constexpr,
):
    network = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) // (C // BC) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(0) % (C // BC) * BC + tl.arange(0, BC)
    DX += network * T * W
    Q += network * C * W
    dz = tl.zeros((ROWS, BC), tl.float32)
    for k in range(0, W, BK):
        w = k + tl.arange(0, BK)
        dx = tl.load(DX + row[:, None] * W + w[None, :])
        dz = tl.dot(dx, tl.trans(tl.load(Q + c[:, None] * W + w[None, :])), dz)
    tl.store(DZ + (network * T + row[:, None]) * C + c[None, :], dz.to(tl.float16))


@triton.jit
def wide_units(
    Z,
    X,
    DX,
    SLOPE,
    EXPONENT,
    DQ,  # out (n, 1, W, C) float32
    DBASE,  # out (n, BLOCKS, W, 4) float32
    DR,  # out (n, 1, M, VP) float32
    LARGEST,  # out (n, W / BM, C / BC + 1) int32
    PA: tl.constexpr,
    T: tl.constexpr,
    M: tl.constexpr,
    C: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    GELU: tl.constexpr,
):
    """BM units. Roles: BC columns of dQ; dR and dbase."""
    W: tl.constexpr = M + VP
    BLOCKS: tl.constexpr = T // (4 * PA)
    STEPS: tl.constexpr = 4 * PA // ROWS  # of a block
    PER_TILE: tl.constexpr = T // ROWS // TILES
    role, unit = tl.program_id(0) % (C // BC + 1), tl.program_id(0) // (C // BC + 1)
    network = tl.program_id(1).to(tl.int64)
    i, v, four = tl.arange(0, ROWS), tl.arange(0, VP), tl.arange(0, 4)
    w = unit * BM + tl.arange(0, BM)
    Z += network * T * C
    X += network * T * M
    DX += network * T * W
    SLOPE += network * T * VP
    EXPONENT += network * TILES
    LARGEST += network * tl.num_programs(0) + tl.program_id(0)
    t = tl.arange(0, TILES_P)
    top = tl.max(tl.load(EXPONENT + t, mask=t < TILES, other=0), axis=0)
    whole = power(top)
    if role < C // BC:
        c = role * BC + tl.arange(0, BC)
        dq = tl.zeros((BM, BC), tl.float32)
        for step in range(T // ROWS):
            row = step * ROWS + i
            factor = power(tl.load(EXPONENT + step // PER_TILE) - top + 127).to(tl.float16)
            dx = tl.load(DX + row[:, None] * W + w[None, :]) * factor
            dq = tl.dot(tl.trans(dx), tl.load(Z + row[:, None] * C + c[None, :]), dq)
        dq *= whole
        tl.store(DQ + (network * W + w[:, None]) * C + c[None, :], dq)
        tl.store(LARGEST, exponent(dq))
    else:
        dr = tl.zeros((BM, VP), tl.float32)
        db = tl.zeros((BM, 4), tl.float32)
        top_db = tl.zeros((BM, 4), tl.float32)
        hidden = w < M
        for step in range(T // ROWS):
            row = step * ROWS + i
            factor = power(tl.load(EXPONENT + step // PER_TILE) - top + 127)
            dx = tl.trans(tl.load(DX + row[:, None] * W + w[None, :])).to(tl.float32) * factor
            db += tl.sum(tl.reshape(dx, (BM, ROWS // 4, 4)), axis=1)
            x = tl.load(X + row[:, None] * M + w[None, :], mask=hidden[None, :], other=0.0).to(tl.float32)
            post, _ = activate_both(x, GELU)
            s = tl.load(SLOPE + row[:, None] * VP + v[None, :])
            dr = tl.dot(tl.trans((post * factor).to(tl.float16)), s, dr)
            if step % STEPS == STEPS - 1:
                place = DBASE + ((network * BLOCKS + step // STEPS) * W + w[:, None]) * 4 + four[None, :]
                tl.store(place, db * whole)
                top_db = tl.maximum(top_db, tl.abs(db))
                db = tl.zeros((BM, 4), tl.float32)
        dr *= whole
        tl.store(DR + (network * M + w[:, None]) * VP + v[None, :], dr, mask=hidden[:, None])
        tl.store(LARGEST, tl.maximum(exponent(dr), exponent(top_db * whole)))
