"""The grid for wide networks, whose z does not fit into the registers of a program: `by_rows` and `by_units` as plain products
tile by tile, with hidden units and dx in memory, in float16.

    wide_hidden   x = z Q + base[b]; kept is relu(x), or x itself for GELU
    wide_logits   logits = act(x) R + z Q_direct + base[b], loss, slope
    wide_slopes   dx = (slope R^T) act'(x), the direct logits' dx is the slope;   dbase = sum_a dx
    wide_back     dz = dx Q^T
    wide_units    dQ^T = dx^T z;   dR = act(x)^T slope

Rows, parts of the base and the slope's scales are those of `by_rows`. dx and dz carry the power of two of the network's largest
slope, so that sums over pairs need no other.
"""

import triton
import triton.language as tl

from algophase.training.kernels.by_rows import of_base, one_hot, to_loss
from algophase.training.kernels.by_units import put_down
from algophase.training.kernels.hidden import activate_both
from algophase.training.kernels.scaling import exponent, power


@triton.jit
def wide_hidden(
    Z,  # (n, MOST, C) float16
    Q,  # (n, C, W) float16
    BASE,  # (n, 3, BP, W) float16
    PAIRS,  # (n, T + 16) int32
    X,  # out (n, MOST, M) float16
    S: tl.constexpr,
    KB: tl.constexpr,
    BP: tl.constexpr,
    T: tl.constexpr,
    MOST: tl.constexpr,
    M: tl.constexpr,
    C: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    BK: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
):
    """ROWS pairs and BM units."""
    W: tl.constexpr = M + VP
    network = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) // (M // BM) * ROWS
    row, m = first + tl.arange(0, ROWS), tl.program_id(0) % (M // BM) * BM + tl.arange(0, BM)
    j = tl.arange(0, KB)
    PAIRS += network * (T + 16)
    Z += network * MOST * C
    Q += network * C * W
    BASE += network * 3 * BP * W + of_base(tl.load(PAIRS + first) // 256, j, S, BP)[:, None] * W
    x = tl.dot(one_hot(tl.load(PAIRS + row) // 256, j, S), tl.load(BASE + m[None, :]))
    for c in range(0, C, BK):
        k = c + tl.arange(0, BK)
        x = tl.dot(tl.load(Z + row[:, None] * C + k[None, :]), tl.load(Q + k[:, None] * W + m[None, :]), x)
    if not GELU:
        x, _ = activate_both(x, GELU)
    tl.store(X + (network * MOST + row[:, None]) * M + m[None, :], x.to(tl.float16))


@triton.jit
def wide_logits(
    Z,
    X,
    Q,
    BASE,
    R,  # (n, M, VP) float16
    PAIRS,
    WEIGHTS,  # (n, T) float32, 0 in padding
    SLOPE,  # out (n, T, VP) float16, the largest of a tile in [1, 2)
    EXPONENT,  # out (n, TILES) int32: of the slope
    LOSS,  # out (n, TILES) float32, or (n, T) with JUDGE
    RIGHT,  # out (n, T) int8 with JUDGE
    P: tl.constexpr,
    S: tl.constexpr,
    KB: tl.constexpr,
    BP: tl.constexpr,
    T: tl.constexpr,
    MOST: tl.constexpr,
    M: tl.constexpr,
    V: tl.constexpr,
    C: tl.constexpr,
    VP: tl.constexpr,
    BK: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    JUDGE: tl.constexpr,
):
    W: tl.constexpr = M + VP
    tile = tl.program_id(0)
    network = tl.program_id(1).to(tl.int64)
    row = tile * ROWS + tl.arange(0, ROWS)
    v, j = tl.arange(0, VP), tl.arange(0, KB)
    PAIRS += network * (T + 16)
    Z += network * MOST * C
    Q += network * C * W
    X += network * MOST * M
    R += network * M * VP
    pair = tl.load(PAIRS + row)
    base = network * 3 * BP * W + of_base(tl.load(PAIRS + tile * ROWS) // 256, j, S, BP)[:, None] * W
    logits = tl.dot(one_hot(pair // 256, j, S), tl.load(BASE + base + M + v[None, :]))
    for c in range(0, C, BK):
        k = c + tl.arange(0, BK)
        direct = tl.load(Q + k[:, None] * W + M + v[None, :])
        logits = tl.dot(tl.load(Z + row[:, None] * C + k[None, :]), direct, logits)
    for first in range(0, M, BK):
        m = first + tl.arange(0, BK)
        post = _active(tl.load(X + row[:, None] * M + m[None, :]), GELU)
        logits = tl.dot(post, tl.load(R + m[:, None] * VP + v[None, :]), logits)
    weight = tl.full((ROWS,), 1.0, tl.float32) if JUDGE else tl.load(WEIGHTS + network * T + row)
    label = (pair % 256 + pair // 256) % P
    to_loss(logits, label, weight, tile, network, SLOPE, EXPONENT, LOSS, RIGHT, T, V, VP, ROWS, JUDGE)


@triton.jit
def _active(x, GELU: tl.constexpr):
    """Hidden units from what `wide_hidden` kept."""
    if GELU:
        post, _ = activate_both(x.to(tl.float32), GELU)
        return post.to(tl.float16)
    return x


@triton.jit
def wide_slopes(
    X,
    R,
    PAIRS,
    SLOPE,
    EXPONENT,
    DX,  # out (n, T, W) float16
    DZ_EXPONENT,  # out (n, TILES) int32
    DBASE,  # out (n, BP + CUTS, W) float32
    LARGEST,  # out (n, COUNT) int32: exponent of the largest element that a program wrote
    S: tl.constexpr,
    KB: tl.constexpr,
    BP: tl.constexpr,
    CUTS: tl.constexpr,
    T: tl.constexpr,
    MOST: tl.constexpr,
    M: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    COUNT: tl.constexpr,
    GELU: tl.constexpr,
):
    """One of CUTS runs of rows and BM units, or outputs; each step is a tile of rows, with one exponent."""
    W: tl.constexpr = M + VP
    LENGTH: tl.constexpr = TILES // CUTS
    network = tl.program_id(1).to(tl.int64)
    run, unit = tl.program_id(0) // (W // BM), tl.program_id(0) % (W // BM)
    i, v, j, w = tl.arange(0, ROWS), tl.arange(0, VP), tl.arange(0, KB), unit * BM + tl.arange(0, BM)
    PAIRS += network * (T + 16)
    X += network * MOST * M
    DX += network * T * W
    SLOPE += network * T * VP
    EXPONENT += network * TILES
    t = tl.arange(0, TILES_P)
    top = tl.max(tl.load(EXPONENT + t, mask=t < TILES, other=0), axis=0)
    whole = power(top)
    DBASE += network * (BP + CUTS) * W
    db = tl.zeros((BM, KB), tl.float32)
    top_db = tl.zeros((BM, KB), tl.float32)
    if unit < M // BM:
        r = tl.trans(tl.load(R + (network * M + w[:, None]) * VP + v[None, :]))
        for tile in range(run * LENGTH, (run + 1) * LENGTH):
            row = tile * ROWS + i
            factor = power(tl.load(EXPONENT + tile) - top + 127)
            s = tl.load(SLOPE + row[:, None] * VP + v[None, :])
            _, steep = activate_both(tl.load(X + row[:, None] * M + w[None, :]).to(tl.float32), GELU)
            dx = (tl.dot(s, r) * (steep * factor)).to(tl.float16)
            tl.store(DX + row[:, None] * W + w[None, :], dx)
            db = tl.dot(tl.trans(dx), one_hot(tl.load(PAIRS + row) // 256, j, S), db)
            db, top_db = put_down(DBASE, db, top_db, whole, PAIRS, tile, j, w, S, W, ROWS)
    else:
        for tile in range(run * LENGTH, (run + 1) * LENGTH):
            row = tile * ROWS + i
            factor = power(tl.load(EXPONENT + tile) - top + 127)
            slope = (tl.load(SLOPE + row[:, None] * VP + (w - M)[None, :]).to(tl.float32) * factor).to(tl.float16)
            tl.store(DX + row[:, None] * W + w[None, :], slope)
            db = tl.dot(tl.trans(slope), one_hot(tl.load(PAIRS + row) // 256, j, S), db)
            db, top_db = put_down(DBASE, db, top_db, whole, PAIRS, tile, j, w, S, W, ROWS)
            if unit == M // BM:
                tl.store(DZ_EXPONENT + network * TILES + tile, top + 12)  # so that `down` gives the power
    cut = tl.load(PAIRS + (run + 1) * LENGTH * ROWS) // 256
    tl.store(DBASE + (BP + run) * W + w[:, None] + 0 * j[None, :], db * whole, mask=(j == cut % S)[None, :])
    tl.store(LARGEST + network * COUNT + tl.program_id(0), exponent(top_db * whole))


@triton.jit
def wide_back(
    DX,
    Q,
    DZ,  # out (n, T, C) float16
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
    EXPONENT,
    DQ,  # out (n, 1, W, C) float32
    DR,  # out (n, 1, M, VP) float32
    LARGEST,  # out (n, COUNT) int32, from FIRST on
    T: tl.constexpr,
    MOST: tl.constexpr,
    M: tl.constexpr,
    C: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    FIRST: tl.constexpr,
    COUNT: tl.constexpr,
    GELU: tl.constexpr,
):
    """BM units. Roles: BC columns of dQ, dR last."""
    W: tl.constexpr = M + VP
    ROLES: tl.constexpr = C // BC + 1
    role, unit = tl.program_id(0) % ROLES, tl.program_id(0) // ROLES
    network = tl.program_id(1).to(tl.int64)
    i, v, w = tl.arange(0, ROWS), tl.arange(0, VP), unit * BM + tl.arange(0, BM)
    inside = w < W
    X += network * MOST * M
    DX += network * T * W
    t = tl.arange(0, TILES_P)
    whole = power(tl.max(tl.load(EXPONENT + network * TILES + t, mask=t < TILES, other=0), axis=0))
    top = 0
    if role < C // BC:
        c = role * BC + tl.arange(0, BC)
        Z += network * MOST * C
        dq = tl.zeros((BM, BC), tl.float32)
        for first in range(0, T, ROWS):
            row = first + i
            dx = tl.load(DX + row[:, None] * W + w[None, :], mask=inside[None, :], other=0.0)
            dq = tl.dot(tl.trans(dx), tl.load(Z + row[:, None] * C + c[None, :]), dq)
        dq *= whole
        tl.store(DQ + (network * W + w[:, None]) * C + c[None, :], dq, mask=inside[:, None])
        top = exponent(dq)
    elif unit < M // BM:
        dr = tl.zeros((BM, VP), tl.float32)
        for first in range(0, T, ROWS):
            row = first + i
            post = _active(tl.load(X + row[:, None] * M + w[None, :]), GELU)
            dr = tl.dot(tl.trans(post), tl.load(DX + row[:, None] * W + M + v[None, :]), dr)
        dr *= whole
        tl.store(DR + (network * M + w[:, None]) * VP + v[None, :], dr)
        top = exponent(dr)
    tl.store(LARGEST + network * COUNT + FIRST + tl.program_id(0), top)
