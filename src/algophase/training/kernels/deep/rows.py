"""The MLP of a deep network by rows: hidden units never leave the chip.

    u = x + z W_O;   h = u W_in + b_in;   y = u + act(h) W_out + b_out
    dh = (dy W_out^T) act'(h);   du = dy + dh W_in^T;   dz = du W_O^T

The last layer goes from z to the loss and back to dz in one kernel, with

    logits = y W_U;   slope = d loss / d logits;   dy = slope W_U^T

W_in is kept transposed, M by D as W_out is. The stream is float32; operands are float16, sums
float32. A gradient of the stream is float16 with its largest element in [1, 2), and one exponent
for each TILE rows. Units: `shared`. ReLU keeps one bit of each hidden unit on the way forward;
GELU computes h again on the way back.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    STREAM_UNIT,
    TILE,
    WEIGHT_UNIT,
    activate_both,
    in_unit,
    power_between,
)
from algophase.training.kernels.cross_entropy import judge, weighted_loss


@triton.jit
def _middle(
    X,
    TOKENS,
    Z,
    W_O,
    U,
    network,
    row,
    T: tl.constexpr,
    S: tl.constexpr,
    SQ: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    BC: tl.constexpr,
    FIRST: tl.constexpr,
):
    """u of some rows (row, D) float32, and in float16 as it is stored. BC channels at a time: all
    of 256 take 160 KB."""
    d, c = tl.arange(0, D), tl.arange(0, C)
    if FIRST:
        token = row // T * PA + tl.load(TOKENS + network * S * T + row)
        x = tl.load(X + network * S * PA * D + token[:, None] * D + d[None, :])
    else:
        x = tl.load(X + network * S * T * D + ((S - SQ) * T + row)[:, None] * D + d[None, :])
    if BC == C:
        z = tl.load(Z + network * SQ * T * C + row[:, None] * C + c[None, :])
        u = tl.dot(z, tl.load(W_O + c[:, None] * D + d[None, :]), x)
    else:
        u = x
        for first in tl.range(0, C, BC, num_stages=1):
            part = first + tl.arange(0, BC)
            w_o = tl.load(W_O + part[:, None] * D + d[None, :])
            z_part = tl.load(Z + network * SQ * T * C + row[:, None] * C + part[None, :])
            u = tl.dot(z_part, w_o, u)
    half = (u * STREAM_UNIT).to(tl.float16)
    tl.store(U + network * SQ * T * D + row[:, None] * D + d[None, :], half)
    return u, half


@triton.jit
def _mlp(
    u,
    u_half,
    IN,
    B_IN,
    OUT,
    B_OUT,
    D: tl.constexpr,
    M: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    STAGES: tl.constexpr,
):
    """The stream after the hidden layer, (ROWS, D), and one bit of each hidden unit (ROWS, BM),
    as in `deep_forward`.
    """
    d = tl.arange(0, D)
    y = u + tl.load(B_OUT + d)[None, :]
    active = tl.zeros((ROWS, BM), tl.int32)
    for step in tl.range(0, M // BM, num_stages=STAGES):
        m = step * BM + tl.arange(0, BM)
        w_in = tl.load(IN + m[:, None] * D + d[None, :])
        w_out = tl.load(OUT + m[:, None] * D + d[None, :])
        h = tl.dot(u_half, tl.trans(w_in)) + tl.load(B_IN + m)[None, :]
        # A bit of 1 / 16 of what h would take in memory; what it saves here is not measured
        if not GELU:
            active |= (h > 0.0).to(tl.int32) << step
        post, _ = activate_both(h, GELU)
        y = tl.dot((post * STREAM_UNIT).to(tl.float16), w_out, y)
    return y, active


@triton.jit
def deep_forward(
    X,  # (n, S T, D) float32: the stream; FIRST: (n, S, PA, D), by token
    TOKENS,  # (n, S, T) int32
    Z,  # (n, S T, C) float16
    W_O,  # C by D float16
    IN,  # M by D float16
    B_IN,  # M
    OUT,  # M by D float16
    B_OUT,  # D
    U,  # out (n, S T, D) float16
    # Out (n, S T, BM) int8 or int32: bit `step` says whether hidden unit step BM + column is on;
    # not with GELU
    ACTIVE,
    Y,  # out (n, S T, D) float32
    Y_HALF,  # out, the same in float16
    size,
    T: tl.constexpr,
    S: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    M: tl.constexpr,
    BC: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    FIRST: tl.constexpr,
    STAGES: tl.constexpr,
):
    network = tl.program_id(1).to(tl.int64)
    row, d = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    u, u_half = _middle(
        X, TOKENS, Z, W_O + network * size, U, network, row, T, S, S, PA, D, C, BC, FIRST
    )
    IN += network * size
    OUT += network * size
    B_IN += network * size
    y, active = _mlp(u, u_half, IN, B_IN, OUT, B_OUT + network * size, D, M, BM, ROWS, GELU, STAGES)
    if not GELU:
        bits = network * S * T * BM + row[:, None] * BM + tl.arange(0, BM)[None, :]
        tl.store(ACTIVE + bits, active.to(ACTIVE.dtype.element_ty))
    offsets = network * S * T * D + row[:, None] * D + d[None, :]
    tl.store(Y + offsets, y)
    tl.store(Y_HALF + offsets, (y * STREAM_UNIT).to(tl.float16))


@triton.jit
def _store(
    half,
    top,
    VALUES,
    EXPONENTS,
    network,
    row,
    ALL: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A gradient of some rows, and its exponent."""
    column = tl.arange(0, WIDTH)[None, :]
    tl.store(VALUES + network * ALL * WIDTH + row[:, None] * WIDTH + column, half)
    tile = tl.program_id(0) * (ROWS // TILE) + tl.arange(0, ROWS // TILE)
    tl.store(EXPONENTS + network * (ALL // TILE) + tile, tl.zeros_like(tile) + top)


@triton.jit
def _back(
    dy,  # (ROWS, D) float16
    e_dy,
    u_half,
    active,
    W_O,
    IN,
    B_IN,
    OUT,
    DU,
    E_DU,
    DZ,
    E_DZ,
    network,
    row,
    ALL: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    M: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    STAGES: tl.constexpr,
):
    """From dy to du and dz. ReLU needs active (ROWS, BM), GELU u."""
    d, c = tl.arange(0, D), tl.arange(0, C)
    du = dy.to(tl.float32) * (1.0 / (STREAM_UNIT * STREAM_UNIT))
    for step in tl.range(0, M // BM, num_stages=STAGES):
        m = step * BM + tl.arange(0, BM)
        w_in = tl.load(IN + m[:, None] * D + d[None, :])
        w_out = tl.load(OUT + m[:, None] * D + d[None, :])
        dh = tl.dot(dy, tl.trans(w_out))
        if GELU:
            h = tl.dot(u_half, tl.trans(w_in)) + tl.load(B_IN + m)[None, :]
            _, steep = activate_both(h, GELU)
            dh *= steep
        else:
            dh = tl.where(((active >> step) & 1) != 0, dh, 0.0)
        du = tl.dot(dh.to(tl.float16), w_in, du)
    du_half, top = in_unit(du * (STREAM_UNIT * STREAM_UNIT))
    e_du = e_dy + top - 127
    _store(du_half, e_du, DU, E_DU, network, row, ALL, D, ROWS)
    dz = tl.dot(du_half, tl.trans(tl.load(W_O + c[:, None] * D + d[None, :])))
    # where W_O has died, dz vanishes; its unit stays within 2^-34 of du's, so that no power between
    # the two overflows
    dz_half, top_dz = in_unit(dz, 97)
    _store(dz_half, e_du + top_dz - 131, DZ, E_DZ, network, row, ALL, C, ROWS)


@triton.jit
def deep_last(
    X,  # (n, S T, D) float32
    TOKENS,
    Z,  # (n, T, C) float16
    W_O,
    IN,
    B_IN,
    OUT,
    B_OUT,
    W_U,  # D by VP float16
    LABELS,  # (n, T) int32
    WEIGHTS,  # (n, T) float32, 0 in padding
    U,  # out (n, T, D) float16
    Y_HALF,  # out (n, T, D) float16
    SLOPE,  # out (n, T, VP) float16
    E_SLOPE,  # out (n, T / TILE) int32, as all of these
    DY,  # out (n, T, D) float16
    E_DY,
    DU,  # out (n, T, D) float16
    E_DU,
    DZ,  # out (n, T, C) float16
    E_DZ,
    LOSS,  # out (n, T / ROWS) float32, or (n, T) with JUDGE
    RIGHT,  # out (n, T) int8 with JUDGE
    size,
    T: tl.constexpr,
    S: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    M: tl.constexpr,
    V: tl.constexpr,
    VP: tl.constexpr,
    BC: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    JUDGE: tl.constexpr,
    STAGES: tl.constexpr,
):
    """JUDGE stops at the loss of each row, and whether the label's logit is strictly the
    largest.
    """
    network = tl.program_id(1).to(tl.int64)
    row, d, v = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D), tl.arange(0, VP)
    W_O += network * size
    u, u_half = _middle(X, TOKENS, Z, W_O, U, network, row, T, S, 1, PA, D, C, BC, False)
    IN += network * size
    OUT += network * size
    B_IN += network * size
    y, active = _mlp(u, u_half, IN, B_IN, OUT, B_OUT + network * size, D, M, BM, ROWS, GELU, STAGES)
    y_half = (y * STREAM_UNIT).to(tl.float16)
    W_U += network * size
    logits = tl.dot(y_half, tl.load(W_U + d[:, None] * VP + v[None, :]))

    is_label = v[None, :] == tl.load(LABELS + network * T + row)[:, None]
    outside = v[None, :] >= V
    if JUDGE:
        loss, _ = weighted_loss(logits, is_label, outside, tl.full((ROWS,), 1.0, tl.float32))
        judge(logits, is_label, loss, LOSS + network * T, RIGHT + network * T, row, V, VP)
    else:
        tl.store(Y_HALF + network * T * D + row[:, None] * D + d[None, :], y_half)
        loss, slope = weighted_loss(logits, is_label, outside, tl.load(WEIGHTS + network * T + row))
        tl.store(LOSS + network * (T // ROWS) + tl.program_id(0), tl.sum(loss))
        slope, e_slope = in_unit(slope)
        _store(slope, e_slope, SLOPE, E_SLOPE, network, row, T, VP, ROWS)
        w_u = tl.load(W_U + d[:, None] * VP + v[None, :])  # again: it need not stay in registers
        dy, top = in_unit(tl.dot(slope, tl.trans(w_u)))
        e_dy = e_slope + top - 131
        _store(dy, e_dy, DY, E_DY, network, row, T, D, ROWS)
        _back(
            dy, e_dy, u_half, active, W_O, IN, B_IN, OUT, DU, E_DU, DZ, E_DZ, network, row,
            T, D, C, M, BM, ROWS, GELU, STAGES,
        )  # fmt: skip


@triton.jit
def deep_back(
    DU_ABOVE,  # (n, SQ T, D) float16: of the layer above, whose last SQ positions ask
    E_DU_ABOVE,
    D_QKV,  # (n, S T, 3 C) float16: of the layer above
    E_QKV,  # (n, 3 H, S T / TILE) int32
    QKV,  # D by 3 C float16: of the layer above
    U,  # (n, S T, D) float16, for GELU
    ACTIVE,  # (n, S T, BM), for ReLU
    W_O,
    IN,
    B_IN,
    OUT,
    DY,  # out (n, S T, D) float16
    E_DY,
    DU,  # out
    E_DU,
    DZ,  # out
    E_DZ,
    size,
    T: tl.constexpr,
    S: tl.constexpr,
    SQ: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    H: tl.constexpr,
    HP: tl.constexpr,
    M: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    STAGES: tl.constexpr,
):
    """dy = du + dq W_Q^T + dk W_K^T + dv W_V^T of the layer above, and on to du and dz of this
    one.
    """
    TILES: tl.constexpr = S * T // TILE
    SKIPPED: tl.constexpr = (S - SQ) * T
    E: tl.constexpr = C // H
    network = tl.program_id(1).to(tl.int64)
    row, d = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    E_DU_ABOVE += network * (SQ * T // TILE) - SKIPPED // TILE
    E_QKV += network * 3 * H * TILES
    D_QKV += network * S * T * 3 * C
    QKV += network * size
    # everything in the largest unit of the rows
    group = tl.arange(0, HP)
    tile = tl.program_id(0) * (ROWS // TILE) + tl.arange(0, ROWS // TILE)
    asks = tile * TILE >= SKIPPED
    top = tl.max(tl.load(E_DU_ABOVE + tile, mask=asks, other=0), axis=0)
    exponents = tl.load(
        E_QKV + group[:, None] * TILES + tile[None, :], mask=(group < 3 * H)[:, None], other=0
    )
    top = tl.maximum(top, tl.max(tl.max(exponents, axis=1), axis=0))
    row_asks = row >= SKIPPED
    factor = power_between(tl.load(E_DU_ABOVE + row // TILE, mask=row_asks, other=0), top)
    ABOVE = DU_ABOVE + network * SQ * T * D + (row - SKIPPED)[:, None] * D + d[None, :]
    dy = tl.load(ABOVE, mask=row_asks[:, None], other=0.0).to(tl.float32)
    dy *= (factor * WEIGHT_UNIT)[:, None]
    for g in tl.range(0, 3 * H, num_stages=STAGES):
        c = g * E + tl.arange(0, E)
        part = tl.load(D_QKV + row[:, None] * (3 * C) + c[None, :]).to(tl.float32)
        part *= power_between(tl.load(E_QKV + g * TILES + row // TILE), top)[:, None]
        w = tl.load(QKV + d[:, None] * (3 * C) + c[None, :])
        dy = tl.dot(part.to(tl.float16), tl.trans(w), dy)
    dy, e_dy = in_unit(dy)
    e_dy += top - 131
    _store(dy, e_dy, DY, E_DY, network, row, S * T, D, ROWS)
    if GELU:
        active = dy
        u_half = tl.load(U + network * S * T * D + row[:, None] * D + d[None, :])
    else:
        bits = ACTIVE + network * S * T * BM + row[:, None] * BM + tl.arange(0, BM)[None, :]
        active = tl.load(bits).to(tl.int32)
        u_half = dy
    W_O += network * size
    IN += network * size
    B_IN += network * size
    OUT += network * size
    _back(
        dy, e_dy, u_half, active, W_O, IN, B_IN, OUT,
        DU, E_DU, DZ, E_DZ, network, row, S * T, D, C, M, BM, ROWS, GELU, STAGES,
    )  # fmt: skip
