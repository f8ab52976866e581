"""Attention of a deep network, a tile of pairs at a time: queries, keys and values are made in
registers, both ways.

    w_s = softmax_s(scale q . k_s),   z = sum_s (rate w_s + 1 - rate) v_s

backward, with g_s = rate dz . v_s:

    dv_s = (rate w_s + 1 - rate) dz,   e_s = scale w_s (g_s - sum_t w_t g_t)
    dq = sum_s e_s k_s,   dk_s = e_s q      (dk and dv summed over the positions that ask)

S positions, of which the last SQ ask. Rows are pairs by position: row = position T + pair. In the
FIRST layer queries, keys and values come from tables over tokens (`tables`), and go back into
them (`sums`). Units: `shared`.

The stream's gradient, made here, spilled 784 bytes per thread even with 8 warps. It is a product at
the head of `deep_back`, which reads 4.3 MB more per network and layer. The branches for two and
three positions, and for the first layer, are not measured against each other.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    STREAM_UNIT,
    TILE,
    exponent,
    power_between,
    to_unit,
)


@triton.jit
def _of_position(s: tl.constexpr, first, second, third):
    if s == 1:
        first = second
    elif s == 2:
        first = third
    return first


@triton.jit
def _matrix(
    QKV, matrix, c, D: tl.constexpr, C: tl.constexpr, BD: tl.constexpr, FIRST: tl.constexpr
):
    """Columns c of W_Q, W_K or W_V (0, 1, 2). In the first layer, and where `_project` reads BD
    rows at a time, the columns' numbers."""
    if not FIRST and BD == D:
        c = tl.load(QKV + tl.arange(0, D)[:, None] * (3 * C) + matrix * C + c[None, :])
    return c


@triton.jit
def _project(
    SOURCE,
    QKV,
    x,
    w,
    position,
    matrix,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    E: tl.constexpr,
    BD: tl.constexpr,
    FIRST: tl.constexpr,
):
    """Queries, keys or values (rows, E) float32 of a position's x (rows, D), or in the first
    layer of its tokens (rows,). With BD below D, x and the matrix are read part by part: where all
    of both do not fit into shared memory."""
    if FIRST:
        row = (position * 3 + matrix) * PA + x[:, None]
        projected = tl.load(SOURCE + row * C + w[None, :])
    elif BD < D:
        projected = tl.zeros((TILE, E), tl.float32)
        for first in tl.range(0, D, BD, num_stages=1):
            d = first + tl.arange(0, BD)
            stream = tl.load(SOURCE + x[:, None] * D + d[None, :])
            weights = tl.load(QKV + d[:, None] * (3 * C) + matrix * C + w[None, :])
            projected = tl.dot(stream, weights, projected)
    else:
        projected = tl.dot(x, w)
    return projected


@triton.jit
def _key_and_value(
    SOURCE,
    QKV,
    x,
    w_k,
    w_v,
    position,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    E: tl.constexpr,
    BD: tl.constexpr,
    FIRST: tl.constexpr,
):
    k = _project(SOURCE, QKV, x, w_k, position, 1, PA, D, C, E, BD, FIRST)
    v = _project(SOURCE, QKV, x, w_v, position, 2, PA, D, C, E, BD, FIRST)
    return k, v


@triton.jit
def _interpolated(rate, w):
    """rate w + 1 - rate, (rows, 1)."""
    return (rate * w + 1.0 - rate)[:, None]


@triton.jit
def _inputs(
    SOURCE,
    TOKENS,
    position,
    t,
    T: tl.constexpr,
    D: tl.constexpr,
    BD: tl.constexpr,
    FIRST: tl.constexpr,
):
    """Of a position's pairs the stream (rows, D), or in the first layer the tokens (rows,). Where
    `_project` reads BD columns at a time, the rows' numbers (rows,)."""
    if FIRST:
        x = tl.load(TOKENS + position * T + t)
    elif BD < D:
        x = position * T + t
    else:
        x = tl.load(SOURCE + (position * T + t)[:, None] * D + tl.arange(0, D)[None, :])
    return x


@triton.jit
def _pattern(q, k_0, k_1, k_2, scale, S: tl.constexpr):
    """Softmax over positions, (rows,) each."""
    s_0, s_1 = tl.sum(q * k_0, axis=1) * scale, tl.sum(q * k_1, axis=1) * scale
    if S == 3:
        s_2 = tl.sum(q * k_2, axis=1) * scale
        top = tl.maximum(tl.maximum(s_0, s_1), s_2)
        w_0, w_1, w_2 = tl.exp(s_0 - top), tl.exp(s_1 - top), tl.exp(s_2 - top)
        whole = w_0 + w_1 + w_2
        w_0, w_1, w_2 = w_0 / whole, w_1 / whole, w_2 / whole
    else:
        less = tl.exp(-tl.abs(s_0 - s_1))
        top, rest = 1.0 / (1.0 + less), less / (1.0 + less)
        w_0, w_1 = tl.where(s_0 > s_1, top, rest), tl.where(s_0 > s_1, rest, top)
        w_2 = tl.zeros_like(less)
    return w_0, w_1, w_2


@triton.jit
def deep_attend(
    RATE,  # (n,)
    SCALE,  # (n,)
    SOURCE,  # (n, S T, D) float16: the stream; FIRST: (n, S, 3, PA, C) float32, tables of q, k, v
    TOKENS,  # (n, S, T) int32
    QKV,  # D by 3 C float16
    Z,  # out (n, SQ T, C) float16
    size,
    T: tl.constexpr,
    S: tl.constexpr,
    SQ: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    H: tl.constexpr,
    E: tl.constexpr,
    BD: tl.constexpr,
    FIRST: tl.constexpr,
    STAGES: tl.constexpr,
):
    C: tl.constexpr = H * E
    network = tl.program_id(1).to(tl.int64)
    t = tl.program_id(0) * TILE + tl.arange(0, TILE)
    QKV += network * size
    TOKENS += network * S * T
    SOURCE += network * S * (3 * PA * C if FIRST else T * D)
    Z += network * SQ * T * C
    rate, scale = tl.load(RATE + network), tl.load(SCALE + network)
    x_0 = _inputs(SOURCE, TOKENS, 0, t, T, D, BD, FIRST)
    x_1 = _inputs(SOURCE, TOKENS, 1, t, T, D, BD, FIRST)
    x_2 = _inputs(SOURCE, TOKENS, S - 1, t, T, D, BD, FIRST)
    for h in tl.range(0, H, num_stages=STAGES):
        c = h * E + tl.arange(0, E)
        w_q, w_k = _matrix(QKV, 0, c, D, C, BD, FIRST), _matrix(QKV, 1, c, D, C, BD, FIRST)
        w_v = _matrix(QKV, 2, c, D, C, BD, FIRST)
        k_0, v_0 = _key_and_value(SOURCE, QKV, x_0, w_k, w_v, 0, PA, D, C, E, BD, FIRST)
        k_1, v_1 = _key_and_value(SOURCE, QKV, x_1, w_k, w_v, 1, PA, D, C, E, BD, FIRST)
        k_2, v_2 = k_1, v_1
        if S == 3:
            k_2, v_2 = _key_and_value(SOURCE, QKV, x_2, w_k, w_v, 2, PA, D, C, E, BD, FIRST)
        for s in tl.static_range(S - SQ, S):
            x = _of_position(s, x_0, x_1, x_2)
            q = _project(SOURCE, QKV, x, w_q, s, 0, PA, D, C, E, BD, FIRST)
            w_0, w_1, w_2 = _pattern(q, k_0, k_1, k_2, scale, S)
            z = _interpolated(rate, w_0) * v_0 + _interpolated(rate, w_1) * v_1
            if S == 3:
                z += _interpolated(rate, w_2) * v_2
            z_half = (z * STREAM_UNIT).to(tl.float16)
            tl.store(Z + ((s + SQ - S) * T + t)[:, None] * C + c[None, :], z_half)


@triton.jit
def _store_unit(d, top, reference, TARGET, EXPONENT):
    """Store a gradient of queries, keys or values, and its exponent."""
    tl.store(TARGET, to_unit(d, top))
    tl.store(EXPONENT, reference + top - 127)


@triton.jit
def deep_attend_back(
    RATE,
    SCALE,
    SOURCE,
    TOKENS,
    QKV,
    DZ,  # (n, SQ T, C) float16
    E_DZ,  # (n, SQ T / TILE) int32, as all of these
    D_QKV,  # out (n, S T, 3 C) float16; no dq of positions that do not ask
    E_QKV,  # out (n, 3 H, S T / TILE)
    size,
    T: tl.constexpr,
    S: tl.constexpr,
    SQ: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    H: tl.constexpr,
    E: tl.constexpr,
    BD: tl.constexpr,
    FIRST: tl.constexpr,
    STAGES: tl.constexpr,
):
    C: tl.constexpr = H * E
    TILES: tl.constexpr = T // TILE
    SKIPPED: tl.constexpr = S - SQ
    network = tl.program_id(1).to(tl.int64)
    tile = tl.program_id(0)
    t = tile * TILE + tl.arange(0, TILE)
    QKV += network * size
    TOKENS += network * S * T
    SOURCE += network * S * (3 * PA * C if FIRST else T * D)
    DZ += network * SQ * T * C
    E_DZ += network * SQ * TILES
    D_QKV += network * S * T * 3 * C
    E_QKV += network * 3 * H * S * TILES
    rate, scale = tl.load(RATE + network), tl.load(SCALE + network)
    x_0 = _inputs(SOURCE, TOKENS, 0, t, T, D, BD, FIRST)
    x_1 = _inputs(SOURCE, TOKENS, 1, t, T, D, BD, FIRST)
    x_2 = _inputs(SOURCE, TOKENS, S - 1, t, T, D, BD, FIRST)
    reference = tl.load(E_DZ + tile)
    for s in tl.static_range(1, SQ):
        reference = tl.maximum(reference, tl.load(E_DZ + s * TILES + tile))
    for h in tl.range(0, H, num_stages=STAGES):
        c = h * E + tl.arange(0, E)
        w_q, w_k = _matrix(QKV, 0, c, D, C, BD, FIRST), _matrix(QKV, 1, c, D, C, BD, FIRST)
        w_v = _matrix(QKV, 2, c, D, C, BD, FIRST)
        k_0, v_0 = _key_and_value(SOURCE, QKV, x_0, w_k, w_v, 0, PA, D, C, E, BD, FIRST)
        k_1, v_1 = _key_and_value(SOURCE, QKV, x_1, w_k, w_v, 1, PA, D, C, E, BD, FIRST)
        k_2, v_2 = k_1, v_1
        if S == 3:
            k_2, v_2 = _key_and_value(SOURCE, QKV, x_2, w_k, w_v, 2, PA, D, C, E, BD, FIRST)
        dk_0 = tl.zeros((TILE, E), tl.float32)
        dk_1 = tl.zeros((TILE, E), tl.float32)
        dk_2 = tl.zeros((TILE, E), tl.float32)
        dv_0 = tl.zeros((TILE, E), tl.float32)
        dv_1 = tl.zeros((TILE, E), tl.float32)
        dv_2 = tl.zeros((TILE, E), tl.float32)
        for s in tl.static_range(SKIPPED, S):
            x = _of_position(s, x_0, x_1, x_2)
            q = _project(SOURCE, QKV, x, w_q, s, 0, PA, D, C, E, BD, FIRST)
            w_0, w_1, w_2 = _pattern(q, k_0, k_1, k_2, scale, S)
            factor = power_between(tl.load(E_DZ + (s - SKIPPED) * TILES + tile), reference)
            dz = tl.load(DZ + ((s - SKIPPED) * T + t)[:, None] * C + c[None, :]).to(tl.float32)
            dz *= factor
            dv_0 += _interpolated(rate, w_0) * dz
            dv_1 += _interpolated(rate, w_1) * dz
            if S == 3:
                dv_2 += _interpolated(rate, w_2) * dz
                g_0 = tl.sum(dz * (v_0 - v_2), axis=1)  # above g_2
                g_1 = tl.sum(dz * (v_1 - v_2), axis=1)
                mean = w_0 * g_0 + w_1 * g_1
                e_0 = (scale * rate * w_0 * (g_0 - mean))[:, None]
                e_1 = (scale * rate * w_1 * (g_1 - mean))[:, None]
                e_2 = -(e_0 + e_1)
                dq = e_0 * k_0 + e_1 * k_1 + e_2 * k_2
                dk_2 += e_2 * q
            else:
                e_0 = (scale * rate * w_0 * w_1 * tl.sum(dz * (v_0 - v_1), axis=1))[:, None]
                e_1 = -e_0
                dq = e_0 * (k_0 - k_1)
            dk_0 += e_0 * q
            dk_1 += e_1 * q
            TARGET = D_QKV + (s * T + t)[:, None] * (3 * C) + c[None, :]
            _store_unit(dq, exponent(dq), reference, TARGET, E_QKV + (h * S + s) * TILES + tile)
        for s in tl.static_range(S):
            TARGET = D_QKV + (s * T + t)[:, None] * (3 * C) + c[None, :]
            EXPONENT = E_QKV + (h * S + s) * TILES + tile
            dk, dv = _of_position(s, dk_0, dk_1, dk_2), _of_position(s, dv_0, dv_1, dv_2)
            _store_unit(dk, exponent(dk), reference, TARGET + C, EXPONENT + H * S * TILES)
            _store_unit(dv, 127, reference, TARGET + 2 * C, EXPONENT + 2 * H * S * TILES)
