"""The grid for wide networks, whose z does not fit into the registers of a program: `by_rows` and `by_units` as plain products
tile by tile, with hidden units and dx in memory, in float16. W_O IU is not multiplied out: that would take more than it saves.

    wide_product  u = z W_O;   du = dx IU^T;   dz = du W_O^T
    wide_hidden   x = u W_in + base[b]; kept is relu(x), or x itself for GELU
    wide_logits   logits = act(x) R + u W_U + base[b], loss, slope
    wide_slopes   dx = (slope R^T) act'(x), the direct logits' dx is the slope;   dbase = sum_a dx
    wide_sums     dIU = u^T dx + y^T dbase;   dW_O = z^T du;   dR = act(x)^T slope

Rows, parts of the base and the slope's scales are those of `by_rows`. u is kept as a sixteenth, weights as 16 times themselves
(`scaling`); dx, du and dz carry the power of two of the network's largest slope, so that sums over pairs need no other.
"""

import triton
import triton.language as tl

from algophase.training.kernels.after_units import base_gradient
from algophase.training.kernels.by_rows import of_base, one_hot, to_loss
from algophase.training.kernels.by_units import put_down
from algophase.training.kernels.hidden import activate_both
from algophase.training.kernels.scaling import down, exponent, power, up


@triton.jit
def wide_product(
    A,  # (n, A_ROWS, K) float16
    B,  # (n, K, N) float16, or (n, N, K) if TURNED
    OUT,  # out (n, OUT_ROWS, N) float16
    A_ROWS: tl.constexpr,
    OUT_ROWS: tl.constexpr,
    K: tl.constexpr,
    N: tl.constexpr,
    ROWS: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FACTOR: tl.constexpr,
    TURNED: tl.constexpr,
):
    """FACTOR A B, or A B^T: ROWS rows and BN columns."""
    network = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) // (N // BN) * ROWS + tl.arange(0, ROWS)
    n = tl.program_id(0) % (N // BN) * BN + tl.arange(0, BN)
    A += network * A_ROWS * K
    B += network * K * N
    total = tl.zeros((ROWS, BN), tl.float32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        a = tl.load(A + row[:, None] * K + k[None, :])
        if TURNED:
            total = tl.dot(a, tl.trans(tl.load(B + n[:, None] * K + k[None, :])), total)
        else:
            total = tl.dot(a, tl.load(B + k[:, None] * N + n[None, :]), total)
    tl.store(OUT + (network * OUT_ROWS + row[:, None]) * N + n[None, :], (total * FACTOR).to(tl.float16))


@triton.jit
def wide_hidden(
    U,  # (n, MOST, D) float16
    IU,  # (n, D, W) float16
    BASE,  # (n, 3, BP, W) float16
    PAIRS,  # (n, T + 16) int32
    X,  # out (n, MOST, M) float16
    S: tl.constexpr,
    KB: tl.constexpr,
    BP: tl.constexpr,
    T: tl.constexpr,
    MOST: tl.constexpr,
    M: tl.constexpr,
    D: tl.constexpr,
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
    U += network * MOST * D
    IU += network * D * W
    BASE += network * 3 * BP * W + of_base(tl.load(PAIRS + first) // 256, j, S, BP)[:, None] * W
    x = tl.dot(one_hot(tl.load(PAIRS + row) // 256, j, S), tl.load(BASE + m[None, :]))
    for first_d in range(0, D, BK):
        d = first_d + tl.arange(0, BK)
        x = tl.dot(tl.load(U + row[:, None] * D + d[None, :]), tl.load(IU + d[:, None] * W + m[None, :]), x)
    if not GELU:
        x, _ = activate_both(x, GELU)
    tl.store(X + (network * MOST + row[:, None]) * M + m[None, :], x.to(tl.float16))


@triton.jit
def wide_logits(
    U,
    X,
    IU,
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
    D: tl.constexpr,
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
    U += network * MOST * D
    IU += network * D * W
    X += network * MOST * M
    R += network * M * VP
    pair = tl.load(PAIRS + row)
    base = network * 3 * BP * W + of_base(tl.load(PAIRS + tile * ROWS) // 256, j, S, BP)[:, None] * W
    logits = tl.dot(one_hot(pair // 256, j, S), tl.load(BASE + base + M + v[None, :]))
    for first in range(0, D, BK):
        d = first + tl.arange(0, BK)
        direct = tl.load(IU + d[:, None] * W + M + v[None, :])
        logits = tl.dot(tl.load(U + row[:, None] * D + d[None, :]), direct, logits)
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
    """One of CUTS runs of rows and BM units, or the outputs; each step is a tile of rows, with one exponent."""
    W: tl.constexpr = M + VP
    LENGTH: tl.constexpr = TILES // CUTS
    UNITS: tl.constexpr = M // BM + 1
    network = tl.program_id(1).to(tl.int64)
    run, unit = tl.program_id(0) // UNITS, tl.program_id(0) % UNITS
    i, v, j = tl.arange(0, ROWS), tl.arange(0, VP), tl.arange(0, KB)
    PAIRS += network * (T + 16)
    X += network * MOST * M
    DX += network * T * W
    SLOPE += network * T * VP
    EXPONENT += network * TILES
    LARGEST += network * COUNT + tl.program_id(0)
    t = tl.arange(0, TILES_P)
    top = tl.max(tl.load(EXPONENT + t, mask=t < TILES, other=0), axis=0)
    whole = power(top)
    DBASE += network * (BP + CUTS) * W
    LEFT = DBASE + (BP + run) * W + 0 * j[None, :]
    unfinished = (j == tl.load(PAIRS + (run + 1) * LENGTH * ROWS) // 256 % S)[None, :]
    if unit < M // BM:
        m = unit * BM + tl.arange(0, BM)
        r = tl.trans(tl.load(R + (network * M + m[:, None]) * VP + v[None, :]))
        db = tl.zeros((BM, KB), tl.float32)
        top_db = tl.zeros((BM, KB), tl.float32)
        for tile in range(run * LENGTH, (run + 1) * LENGTH):
            row = tile * ROWS + i
            factor = power(tl.load(EXPONENT + tile) - top + 127)
            s = tl.load(SLOPE + row[:, None] * VP + v[None, :])
            _, steep = activate_both(tl.load(X + row[:, None] * M + m[None, :]).to(tl.float32), GELU)
            dx = (tl.dot(s, r) * (steep * factor)).to(tl.float16)
            tl.store(DX + row[:, None] * W + m[None, :], dx)
            db = tl.dot(tl.trans(dx), one_hot(tl.load(PAIRS + row) // 256, j, S), db)
            db, top_db = put_down(DBASE, db, top_db, whole, PAIRS, tile, j, m, S, W, ROWS)
        tl.store(LEFT + m[:, None], db * whole, mask=unfinished)
        tl.store(LARGEST, exponent(top_db * whole))
    else:
        db_direct = tl.zeros((VP, KB), tl.float32)
        top_direct = tl.zeros((VP, KB), tl.float32)
        for tile in range(run * LENGTH, (run + 1) * LENGTH):
            row = tile * ROWS + i
            factor = power(tl.load(EXPONENT + tile) - top + 127)
            slope = (tl.load(SLOPE + row[:, None] * VP + v[None, :]).to(tl.float32) * factor).to(tl.float16)
            tl.store(DX + row[:, None] * W + M + v[None, :], slope)
            db_direct = tl.dot(tl.trans(slope), one_hot(tl.load(PAIRS + row) // 256, j, S), db_direct)
            db_direct, top_direct = put_down(DBASE, db_direct, top_direct, whole, PAIRS, tile, j, M + v, S, W, ROWS)
            tl.store(DZ_EXPONENT + network * TILES + tile, top + 12)  # so that `down` gives the power
        tl.store(LEFT + M + v[:, None], db_direct * whole, mask=unfinished)
        tl.store(LARGEST, exponent(top_direct * whole))


@triton.jit
def wide_sums(
    A,  # (n, A_ROWS, K) float16
    B,  # (n, T, WB) float16: N columns from FIRST_B on
    OUT,  # out (n, size) float32, K by N from AT on
    EXPONENT,
    LARGEST,  # (n, COUNT) int32; out, from FIRST on, if FIRST >= 0
    PARAMETERS,
    Y,  # (n, PA, D) float32
    DBASE,
    PAIRS,
    size,
    A_ROWS: tl.constexpr,
    K: tl.constexpr,
    WB: tl.constexpr,
    FIRST_B: tl.constexpr,
    N: tl.constexpr,
    AT: tl.constexpr,
    AT_B_IN: tl.constexpr,
    AT_B_OUT: tl.constexpr,
    PA: tl.constexpr,
    BP: tl.constexpr,
    CUTS: tl.constexpr,
    T: tl.constexpr,
    M: tl.constexpr,
    BK: tl.constexpr,
    BN: tl.constexpr,
    BB: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    FIRST: tl.constexpr,
    COUNT: tl.constexpr,
    COUNT_P: tl.constexpr,
    FACTOR: tl.constexpr,
    BASED: tl.constexpr,
    GELU: tl.constexpr,
):
    """FACTOR A^T B: BK columns of A by BN of B. GELU: A holds pre-activations. BASED: dIU, with what comes through the base,
    and the gradient of b_in."""
    ACROSS: tl.constexpr = (N + BN - 1) // BN
    network = tl.program_id(1).to(tl.int64)
    i, k = tl.arange(0, ROWS), tl.program_id(0) // ACROSS * BK + tl.arange(0, BK)
    n = tl.program_id(0) % ACROSS * BN + tl.arange(0, BN)
    inside = n < N
    A += network * A_ROWS * K
    B += network * T * WB + FIRST_B
    OUT += network * size
    t = tl.arange(0, TILES_P)
    whole = power(tl.max(tl.load(EXPONENT + network * TILES + t, mask=t < TILES, other=0), axis=0))
    total = tl.zeros((BK, BN), tl.float32)
    for first in range(0, T, ROWS):
        row = first + i
        a = _active(tl.load(A + row[:, None] * K + k[None, :]), GELU)
        b = tl.load(B + row[:, None] * WB + n[None, :], mask=inside[None, :], other=0.0)
        total = tl.dot(tl.trans(a), b, total)
    total *= whole * FACTOR
    if BASED:
        PARAMETERS += network * size
        of_slopes = tl.arange(0, COUNT_P)
        top = tl.max(tl.load(LARGEST + network * COUNT + of_slopes, mask=of_slopes < FIRST, other=0), axis=0)
        w = tl.minimum(n, N - 1)
        column = tl.zeros((BN,), tl.float32)
        through = tl.zeros((BK, BN), tl.float32)
        for first in range(0, PA, BB):
            b_place = first + tl.arange(0, BB)
            db = base_gradient(DBASE + network * (BP + CUTS) * N, PAIRS + network * (T + 16), b_place, w, T, N, BP, CUTS)
            column += tl.sum(db, axis=0)
            y = tl.load(Y + (network * PA + b_place[:, None]) * K + k[None, :]).to(tl.float16)
            through = tl.dot(tl.trans(y), (db * up(top)).to(tl.float16), through)
        direct = tl.where(w >= M, column, 0.0)
        total += through * down(top) + tl.load(PARAMETERS + AT_B_OUT + k)[:, None] * direct[None, :]
        if tl.program_id(0) < ACROSS:
            tl.store(OUT + AT_B_IN + n, column, mask=n < M)
    tl.store(OUT + AT + k[:, None] * N + n[None, :], total, mask=inside[None, :])
    if FIRST >= 0 and not BASED:
        tl.store(LARGEST + network * COUNT + FIRST + tl.program_id(0), exponent(total))
