"""The grid for wide networks, whose z does not fit into the registers of a program: `by_rows` and
`by_units` as plain products tile by tile, with hidden units and dx in memory, in float16. W_O IU is
not multiplied out: an epoch of width 512 takes 111.7 µs per network without it and 128.7 with it,
and 106.4 with the stream r as the left side of the sums and no base beside it (64 networks, H200).

    wide_weights  W_O, IU and y in float16, R, and what b_out adds to the logits
    wide_stream   r = y[b] + z W_O
    wide_hidden   x = r W_in + b_in; kept is relu(x), or x itself for GELU
    wide_logits   logits = act(x) R + (r + b_out) W_U, loss, slope
    wide_slopes   dx = (slope R^T) act'(x), the direct logits' dx is the slope; sums of dx over rows
    wide_back     dr = dx IU^T;   dz = dr W_O^T
    wide_sums     dIU = r^T dx;   dW_O = z^T dr;   dy = one-hot(b)^T dr;   dR = act(x)^T slope
    wide_rest     the rest of dW_U, dW_out, and the biases'

Rows and the slope's scales are those of `by_rows`; y joins a product as the base does there. r is
kept as a sixteenth, weights as 16 times themselves (`shared`); dx, dr and dz carry the power of
two of the network's largest slope, so that sums over pairs need no other.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    WEIGHT_UNIT,
    activate_both,
    base_rows,
    exponent,
    largest_exponent,
    looked_up,
    one_hot,
    power,
    power_between,
    scale_down,
    scale_up,
    store_in_parts,
)
from algophase.training.kernels.cross_entropy import to_loss
from algophase.training.kernels.one_layer.tables import readout


@triton.jit
def wide_weights(
    PARAMETERS,
    Y,  # (n, PA, D) float32
    IU,  # out (n, D, W) float16, 16 times itself, as are the next two
    W_O,  # out (n, C, D) float16
    PARTS,  # out (n, 3, BP, D) float16: y in three parts
    R,  # out (n, M, VP) float16
    BIAS,  # out (n, VP) float32: b_out W_U
    size,
    AT_O: tl.constexpr,
    AT_IU: tl.constexpr,
    AT_W_OUT: tl.constexpr,
    AT_B_OUT: tl.constexpr,
    PA: tl.constexpr,
    BP: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    M: tl.constexpr,
    VP: tl.constexpr,
    BW: tl.constexpr,
    BK: tl.constexpr,
):
    """Roles: BW columns of IU; BW columns of W_O; BW columns of y; BW hidden units and BW
    outputs of R.
    """
    W: tl.constexpr = M + VP
    network = tl.program_id(1).to(tl.int64)
    role = tl.program_id(0)
    PARAMETERS += network * size
    if role < W // BW:
        w = role * BW + tl.arange(0, BW)
        bias = tl.zeros((BW,), tl.float32)
        for k in range(0, D, BK):
            d = k + tl.arange(0, BK)
            iu = tl.load(PARAMETERS + AT_IU + d[:, None] * W + w[None, :])
            iu_half = (iu * WEIGHT_UNIT).to(tl.float16)
            tl.store(IU + (network * D + d[:, None]) * W + w[None, :], iu_half)
            bias += tl.sum(tl.load(PARAMETERS + AT_B_OUT + d)[:, None] * iu, axis=0)
        tl.store(BIAS + network * VP + w - M, bias, mask=w >= M)
    elif role < (W + D) // BW:
        d = (role - W // BW) * BW + tl.arange(0, BW)
        for k in range(0, C, BK):
            c = k + tl.arange(0, BK)
            o = tl.load(PARAMETERS + AT_O + c[:, None] * D + d[None, :])
            o_half = (o * WEIGHT_UNIT).to(tl.float16)
            tl.store(W_O + (network * C + c[:, None]) * D + d[None, :], o_half)
    elif role < (W + 2 * D) // BW:
        i, d = tl.arange(0, PA), (role - (W + D) // BW) * BW + tl.arange(0, BW)
        y = tl.load(Y + (network * PA + i[:, None]) * D + d[None, :])
        store_in_parts(
            PARTS + (network * 3 * BP + i[:, None]) * D + d[None, :], y * WEIGHT_UNIT, BP * D
        )
    else:
        tile = role - (W + 2 * D) // BW
        readout(PARAMETERS, R + network * M * VP, tile, AT_IU, AT_W_OUT, D, M, VP, BW, BK)


@triton.jit
def wide_stream(
    Z,  # (n, MOST, C) float16
    W_O,
    PARTS,
    PAIRS,  # (n, T + 16) int32
    STREAM,  # out (n, MOST, D) float16
    S: tl.constexpr,
    KB: tl.constexpr,
    BP: tl.constexpr,
    T: tl.constexpr,
    MOST: tl.constexpr,
    C: tl.constexpr,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    BD: tl.constexpr,
    BK: tl.constexpr,
):
    """ROWS pairs and BD columns."""
    network = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) // (D // BD) * ROWS
    row = first + tl.arange(0, ROWS)
    d = tl.program_id(0) % (D // BD) * BD + tl.arange(0, BD)
    j = tl.arange(0, KB)
    PAIRS += network * (T + 16)
    Z += network * MOST * C
    W_O += network * C * D
    first_b = tl.load(PAIRS + first) // 256
    PARTS += network * 3 * BP * D + base_rows(first_b, j, S, BP)[:, None] * D
    r = tl.dot(one_hot(tl.load(PAIRS + row) // 256, j, S), tl.load(PARTS + d[None, :]))
    for first_c in range(0, C, BK):
        c = first_c + tl.arange(0, BK)
        z = tl.load(Z + row[:, None] * C + c[None, :])
        w_o = tl.load(W_O + c[:, None] * D + d[None, :])
        r = tl.dot(z, w_o, r)
    r_half = (r * (1 / 256)).to(tl.float16)
    tl.store(STREAM + (network * MOST + row[:, None]) * D + d[None, :], r_half)


@triton.jit
def wide_hidden(
    STREAM,
    IU,
    PARAMETERS,
    X,  # out (n, MOST, M) float16
    size,
    AT_B_IN: tl.constexpr,
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
    row = tl.program_id(0) // (M // BM) * ROWS + tl.arange(0, ROWS)
    m = tl.program_id(0) % (M // BM) * BM + tl.arange(0, BM)
    STREAM += network * MOST * D
    IU += network * D * W
    x = tl.zeros((ROWS, BM), tl.float32)
    for first in range(0, D, BK):
        d = first + tl.arange(0, BK)
        stream = tl.load(STREAM + row[:, None] * D + d[None, :])
        w_in = tl.load(IU + d[:, None] * W + m[None, :])
        x = tl.dot(stream, w_in, x)
    x += tl.load(PARAMETERS + network * size + AT_B_IN + m)[None, :]
    if not GELU:
        x, _ = activate_both(x, GELU)
    tl.store(X + (network * MOST + row[:, None]) * M + m[None, :], x.to(tl.float16))


@triton.jit
def wide_logits(
    STREAM,
    X,
    IU,
    R,
    BIAS,
    PAIRS,
    LABELS,  # the answer to a and b at a + 256 b (P, 256) int8, or None: addition modulo P
    WEIGHTS,  # (n, T) float32, 0 in padding
    SLOPE,  # out (n, T, VP) float16, the largest of a tile in [1, 2)
    EXPONENT,  # out (n, TILES) int32: of the slope
    LOSS,  # out (n, TILES) float32, or (n, T) with JUDGE
    RIGHT,  # out (n, T) int8 with JUDGE
    P: tl.constexpr,
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
    row, v = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, VP)
    STREAM += network * MOST * D
    IU += network * D * W
    X += network * MOST * M
    R += network * M * VP
    logits = tl.zeros((ROWS, VP), tl.float32)
    for first in range(0, D, BK):
        d = first + tl.arange(0, BK)
        direct = tl.load(IU + d[:, None] * W + M + v[None, :])
        logits = tl.dot(tl.load(STREAM + row[:, None] * D + d[None, :]), direct, logits)
    for first in range(0, M, BK):
        m = first + tl.arange(0, BK)
        post = _active(tl.load(X + row[:, None] * M + m[None, :]), GELU)
        logits = tl.dot(post, tl.load(R + m[:, None] * VP + v[None, :]), logits)
    logits += tl.load(BIAS + network * VP + v)[None, :]
    pair = tl.load(PAIRS + network * (T + 16) + row)
    label = (pair % 256 + pair // 256) % P if LABELS is None else looked_up(LABELS, pair)
    to_loss(
        logits, label, WEIGHTS, tile, network, SLOPE, EXPONENT, LOSS, RIGHT, T, V, VP, ROWS, JUDGE
    )


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
    SLOPE,
    EXPONENT,
    DX,  # out (n, T, W) float16
    DZ_EXPONENT,  # out (n, TILES) int32
    COLUMNS,  # out (n, TILES, W) float32: sums of dx over a tile of rows
    T: tl.constexpr,
    MOST: tl.constexpr,
    M: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    GELU: tl.constexpr,
):
    """A tile of rows, which has one exponent, and BM units, or the outputs."""
    W: tl.constexpr = M + VP
    UNITS: tl.constexpr = M // BM + 1
    network = tl.program_id(1).to(tl.int64)
    tile, unit = tl.program_id(0) // UNITS, tl.program_id(0) % UNITS
    row, v = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, VP)
    EXPONENT += network * TILES
    DX += network * T * W
    COLUMNS += (network * TILES + tile) * W
    top = largest_exponent(EXPONENT, TILES, TILES_P)
    factor = power_between(tl.load(EXPONENT + tile), top)
    s = tl.load(SLOPE + (network * T + row[:, None]) * VP + v[None, :])
    if unit < M // BM:
        m = unit * BM + tl.arange(0, BM)
        r = tl.trans(tl.load(R + (network * M + m[:, None]) * VP + v[None, :]))
        x = tl.load(X + (network * MOST + row[:, None]) * M + m[None, :]).to(tl.float32)
        _, steep = activate_both(x, GELU)
        dx = tl.dot(s, r) * (steep * factor)
        tl.store(DX + row[:, None] * W + m[None, :], dx.to(tl.float16))
        tl.store(COLUMNS + m, tl.sum(dx, axis=0))
    else:
        slope = s.to(tl.float32) * factor
        tl.store(DX + row[:, None] * W + M + v[None, :], slope.to(tl.float16))
        tl.store(COLUMNS + M + v, tl.sum(slope, axis=0))
        tl.store(DZ_EXPONENT + network * TILES + tile, top + 12)  # so that `down` gives the power


@triton.jit
def wide_back(
    A,  # (n, T, K) float16
    B,  # (n, N, K) float16, 16 times a weight
    OUT,  # out (n, T, N) float16
    T: tl.constexpr,
    K: tl.constexpr,
    N: tl.constexpr,
    ROWS: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """A B^T / 16: ROWS rows and BN columns."""
    network = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) // (N // BN) * ROWS + tl.arange(0, ROWS)
    n = tl.program_id(0) % (N // BN) * BN + tl.arange(0, BN)
    A += network * T * K
    B += network * N * K
    total = tl.zeros((ROWS, BN), tl.float32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        a = tl.load(A + row[:, None] * K + k[None, :])
        total = tl.dot(a, tl.trans(tl.load(B + n[:, None] * K + k[None, :])), total)
    total_half = (total * (1 / 16)).to(tl.float16)
    tl.store(OUT + (network * T + row[:, None]) * N + n[None, :], total_half)


@triton.jit
def wide_sums(
    A,  # (n, A_ROWS, K) float16
    B,  # (n, T, WB) float16: N columns from FIRST_B on
    OUT,  # out (n, size) float32, K by N from AT on
    EXPONENT,
    # Out (n, programs) int32 with TELLS: exponent of the largest element that a program wrote
    LARGEST,
    size,
    A_ROWS: tl.constexpr,
    K: tl.constexpr,
    WB: tl.constexpr,
    FIRST_B: tl.constexpr,
    N: tl.constexpr,
    AT: tl.constexpr,
    T: tl.constexpr,
    BK: tl.constexpr,
    BN: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    FACTOR: tl.constexpr,
    GELU: tl.constexpr,
    TELLS: tl.constexpr,
):
    """FACTOR A^T B: BK columns of A by BN of B. GELU: A holds pre-activations."""
    ACROSS: tl.constexpr = (N + BN - 1) // BN
    network = tl.program_id(1).to(tl.int64)
    i, k = tl.arange(0, ROWS), tl.program_id(0) // ACROSS * BK + tl.arange(0, BK)
    n = tl.program_id(0) % ACROSS * BN + tl.arange(0, BN)
    is_column = (n < N)[None, :]
    A += network * A_ROWS * K
    B += network * T * WB + FIRST_B
    total = tl.zeros((BK, BN), tl.float32)
    for first in range(0, T, ROWS):
        row = first + i
        a = _active(tl.load(A + row[:, None] * K + k[None, :]), GELU)
        b = tl.load(B + row[:, None] * WB + n[None, :], mask=is_column, other=0.0)
        total = tl.dot(tl.trans(a), b, total)
    total *= power(largest_exponent(EXPONENT + network * TILES, TILES, TILES_P)) * FACTOR
    tl.store(OUT + network * size + AT + k[:, None] * N + n[None, :], total, mask=is_column)
    if TELLS:
        tl.store(LARGEST + network * tl.num_programs(0) + tl.program_id(0), exponent(total))


@triton.jit
def _columns(COLUMNS, w, W: tl.constexpr, TILES: tl.constexpr, TILES_P: tl.constexpr):
    """Sums of dx over all rows."""
    t = tl.arange(0, TILES_P)
    of_tiles = tl.load(COLUMNS + t[:, None] * W + w[None, :], mask=(t < TILES)[:, None], other=0.0)
    return tl.sum(of_tiles, axis=0)


@triton.jit
def wide_rest(
    PARAMETERS,
    GRADIENTS,
    COLUMNS,
    EXPONENT,
    DR,  # (n, M, VP) float32
    LARGEST,  # (n, COUNT)
    size,
    AT_IU: tl.constexpr,
    AT_B_IN: tl.constexpr,
    AT_W_OUT: tl.constexpr,
    AT_B_OUT: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    VP: tl.constexpr,
    BW: tl.constexpr,
    BD: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
    COUNT: tl.constexpr,
    COUNT_P: tl.constexpr,
):
    """BD rows or columns of D at a time. Roles: b_out; columns of W_U, which `wide_sums` has
    begun; rows of W_out, and b_in.
    """
    W: tl.constexpr = M + VP
    ROLES: tl.constexpr = 1 + W // BW
    role = tl.program_id(0) % ROLES
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    GRADIENTS += network * size
    COLUMNS += network * TILES * W
    DR += network * M * VP
    d = tl.program_id(0) // ROLES * BD + tl.arange(0, BD)
    whole = power(largest_exponent(EXPONENT + network * TILES, TILES, TILES_P))
    top = largest_exponent(LARGEST + network * COUNT, COUNT, COUNT_P)
    if role == 0:
        d_b_out = tl.zeros((BD,), tl.float32)
        for k in range(0, VP, BW):
            w = M + k + tl.arange(0, BW)
            column = _columns(COLUMNS, w, W, TILES, TILES_P) * whole
            w_u = tl.load(PARAMETERS + AT_IU + d[:, None] * W + w[None, :])
            d_b_out += tl.sum(w_u * column[None, :], axis=1)
        tl.store(GRADIENTS + AT_B_OUT + d, d_b_out)
    elif role <= VP // BW:
        v = (role - 1) * BW + tl.arange(0, BW)
        d_u = tl.zeros((BD, BW), tl.float32)
        for k in range(0, M, BW):
            m = k + tl.arange(0, BW)
            dr = (tl.load(DR + m[:, None] * VP + v[None, :]) * scale_up(top)).to(tl.float16)
            w_out = tl.load(PARAMETERS + AT_W_OUT + m[:, None] * D + d[None, :]).to(tl.float16)
            d_u = tl.dot(tl.trans(w_out), dr, d_u)
        column = _columns(COLUMNS, M + v, W, TILES, TILES_P) * whole
        D_U = GRADIENTS + AT_IU + d[:, None] * W + M + v[None, :]
        d_u = d_u * scale_down(top) + tl.load(PARAMETERS + AT_B_OUT + d)[:, None] * column[None, :]
        tl.store(D_U, tl.load(D_U) + d_u)
    else:
        m = (role - 1 - VP // BW) * BW + tl.arange(0, BW)
        d_w_out = tl.zeros((BW, BD), tl.float32)
        for k in range(0, VP, BW):
            v = k + tl.arange(0, BW)
            w_u = tl.load(PARAMETERS + AT_IU + d[:, None] * W + M + v[None, :]).to(tl.float16)
            dr = (tl.load(DR + m[:, None] * VP + v[None, :]) * scale_up(top)).to(tl.float16)
            d_w_out = tl.dot(dr, tl.trans(w_u), d_w_out)
        tl.store(GRADIENTS + AT_W_OUT + m[:, None] * D + d[None, :], d_w_out * scale_down(top))
        if tl.program_id(0) < ROLES:
            tl.store(GRADIENTS + AT_B_IN + m, _columns(COLUMNS, m, W, TILES, TILES_P) * whole)
