"""Everything before the grid, for the fused engine: attention, z, and the projection W_O [W_in |
W_U].

    x_1[a], x_2[b] the operands' embeddings with positions; x_q[b] of the position that attends:
    x_2[b], or x_3 for every b q = x_q W_Q,  k_i = x_i W_K,  v_i = x_i W_V
    S = softmax over positions of scale q[b] . k_i;   A = rate S + 1 - rate
    z[a, b] = A_1 (v_1[a] - v_q[b])  [+ A_2 (v_2[b] - v_q[b]) with an equals sign]
    y[b] = x_q[b] + give v_q[b] W_O,  give = 2 - rate  [3 - 2 rate];   base = y IU + bias
    Q = W_O IU,   R = W_out W_U

Pairs are T rows in the order of b (`training.rows`): PAIRS (n, T + 16) has a + 256 b of each,
padding included.

An error made here is the same for every pair, so it does not average out in a gradient, and late in
training gradients are small differences. These products are small, too: each operand is two float16
numbers that add up to 22 bits. Only the results that the grid multiplies, z, Q and R, are rounded
to float16; the base is three.

PARAMETERS is the flat buffer, AT_... where a tensor starts in a network's row.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    add_product,
    product,
    store_in_parts,
    token_inputs,
    token_table,
)


@triton.jit
def read_tokens(
    PARAMETERS,  # (n, size)
    TABLES,  # out (n, 5 or 7, PA, C) float32: q, k_1, k_q, v_1, v_q, with an equals sign k_2, v_2
    size,
    AT_EMBED: tl.constexpr,
    AT_POS: tl.constexpr,
    AT_QKV: tl.constexpr,
    P: tl.constexpr,
    SECOND: tl.constexpr,
    EQUALS: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    BC: tl.constexpr,
    BK: tl.constexpr,
):
    """Queries, keys and values: BC columns of one table."""
    ASKING: tl.constexpr = 2 if EQUALS > 0 else 1
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    table = tl.program_id(0) // (C // BC)
    matrix = tl.where(table == 0, 0, tl.where((table == 1) | (table == 2) | (table == 5), 1, 2))
    position = tl.where((table == 1) | (table == 3), 0, tl.where(table >= 5, 1, ASKING))
    i, c = tl.arange(0, PA), tl.program_id(0) % (C // BC) * BC + tl.arange(0, BC)
    total = token_table(
        PARAMETERS, position, matrix, i, c,
        AT_EMBED, AT_POS, AT_QKV, P, SECOND, EQUALS, PA, D, C, BC, BK,
    )  # fmt: skip
    row = (network * tl.num_programs(0) // (C // BC) + table) * PA + i[:, None]
    tl.store(TABLES + row * C + c[None, :], total)


@triton.jit
def attend(
    PARAMETERS,
    SCALE,  # (n,)
    GIVE,  # (n,)
    TABLES,
    SOFT,  # out (n, maps, H, PA, PA) float32, b by a: the weight of a, and with an equals sign of b
    Y,  # out (n, PA, D) float32
    size,
    AT_EMBED: tl.constexpr,
    AT_POS: tl.constexpr,
    AT_O: tl.constexpr,
    P: tl.constexpr,
    SECOND: tl.constexpr,
    EQUALS: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    H: tl.constexpr,
    E: tl.constexpr,
    BD: tl.constexpr,
    BK: tl.constexpr,
    BE: tl.constexpr,
):
    """Roles: the scores of one head; BD columns of y."""
    C: tl.constexpr = H * E
    MAPS: tl.constexpr = 2 if EQUALS > 0 else 1
    network = tl.program_id(1).to(tl.int64)
    i = tl.arange(0, PA)
    TABLES += network * (3 + 2 * MAPS) * PA * C
    if tl.program_id(0) < H:
        h = tl.program_id(0)
        score = tl.zeros((PA, PA), tl.float32)  # (b, a)
        own = tl.zeros((PA,), tl.float32)
        second = tl.zeros((PA,), tl.float32)
        for k in range(0, E, BE):
            of_h = TABLES + i[:, None] * C + h * E + k + tl.arange(0, BE)[None, :]
            q = tl.load(of_h)
            score += product(q, tl.trans(tl.load(of_h + PA * C)))
            own += tl.sum(q * tl.load(of_h + 2 * PA * C), axis=1)
            if EQUALS > 0:
                second += tl.sum(q * tl.load(of_h + 5 * PA * C), axis=1)
        scale = tl.load(SCALE + network)
        score *= scale
        own_score = (own * scale)[:, None]
        WEIGHTS = SOFT + (network * MAPS * H + h) * PA * PA + i[:, None] * PA + i[None, :]
        # Runs with an equals sign take 0.225 s here (0.216 without); the engine that served them
        # before took about 3 times as long as this family then
        if EQUALS > 0:
            second_score = (second * scale)[:, None]
            top = tl.maximum(tl.maximum(own_score, second_score), score)
            soft, soft_2 = tl.exp(score - top), tl.exp(second_score - top)
            whole = soft + soft_2 + tl.exp(own_score - top)
            tl.store(WEIGHTS, soft / whole)
            tl.store(WEIGHTS + H * PA * PA, soft_2 / whole)
        else:
            tl.store(WEIGHTS, 1.0 / (1.0 + tl.exp(own_score - score)))
    else:
        PARAMETERS += network * size
        d = (tl.program_id(0) - H) * BD + tl.arange(0, BD)
        total = tl.zeros((PA, BD), tl.float32)
        for k in range(0, C, BK):
            c = k + tl.arange(0, BK)
            v = tl.load(TABLES + (4 * PA + i[:, None]) * C + c[None, :])
            total += product(v, tl.load(PARAMETERS + AT_O + c[:, None] * D + d[None, :]))
        asking: tl.constexpr = MAPS  # the last position
        x = token_inputs(PARAMETERS, asking, i, d, AT_EMBED, AT_POS, P, SECOND, EQUALS, D)
        Y_TILE = Y + (network * PA + i[:, None]) * D + d[None, :]
        tl.store(Y_TILE, x + tl.load(GIVE + network) * total)


@triton.jit
def mix(
    RATE,  # (n,)
    SOFT,
    TABLES,
    PAIRS,  # (n, T + 16) int32
    Z,  # out (n, MOST, C) float16, the first T rows
    EQUALS: tl.constexpr,
    PA: tl.constexpr,
    T: tl.constexpr,
    MOST: tl.constexpr,
    H: tl.constexpr,
    E: tl.constexpr,
    ROWS: tl.constexpr,
):
    """z of some rows, all heads. A kernel of its own, 0.29 µs per network and epoch: made inside
    `by_rows`, z took 0.5 µs more (254 registers; prototype at p = 59, width 128, H200)."""
    C: tl.constexpr = H * E
    MAPS: tl.constexpr = 2 if EQUALS > 0 else 1
    network = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    h, e = tl.arange(0, H), tl.arange(0, E)
    rate = tl.load(RATE + network)
    pair = tl.load(PAIRS + network * (T + 16) + row)
    a, b = pair % 256, pair // 256
    V = TABLES + (network * (3 + 2 * MAPS) + 3) * PA * C + h[None, :, None] * E + e[None, None, :]
    v1 = tl.load(V + a[:, None, None] * C)  # (ROWS, H, E)
    vq = tl.load(V + (PA + b)[:, None, None] * C)
    SOFT += (network * MAPS * H + h[None, :]) * PA * PA + (b * PA + a)[:, None]  # (ROWS, H)
    z = (rate * tl.load(SOFT) + (1.0 - rate))[:, :, None] * (v1 - vq)
    if EQUALS > 0:
        v2 = tl.load(V + (3 * PA + b)[:, None, None] * C)
        z += (rate * tl.load(SOFT + H * PA * PA) + (1.0 - rate))[:, :, None] * (v2 - vq)
    offset = (network * MOST + row[:, None, None]) * C + h[None, :, None] * E + e[None, None, :]
    tl.store(Z + offset, z.to(tl.float16))


@triton.jit
def readout(
    PARAMETERS,
    R,
    tile,
    AT_IU: tl.constexpr,
    AT_W_OUT: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    VP: tl.constexpr,
    BW: tl.constexpr,
    BK: tl.constexpr,
):
    """R of BW hidden units and BW outputs."""
    m = tile // (VP // BW) * BW + tl.arange(0, BW)
    v = tile % (VP // BW) * BW + tl.arange(0, BW)
    r = tl.zeros((BW, BW), tl.float32)
    rest = tl.zeros((BW, BW), tl.float32)
    for k in range(0, D, BK):
        d = k + tl.arange(0, BK)
        w_out = tl.load(PARAMETERS + AT_W_OUT + m[:, None] * D + d[None, :])
        w_u = tl.load(PARAMETERS + AT_IU + d[:, None] * (M + VP) + M + v[None, :])
        r, rest = add_product(w_out, w_u, r, rest)
    tl.store(R + m[:, None] * VP + v[None, :], (r + rest / 2048.0).to(tl.float16))


@triton.jit
def project(
    PARAMETERS,
    Y,
    Q,  # out (n, C, W) float16
    BASE,  # out (n, 3, BP, W) float16: three parts that add up to the float32 value
    R,  # out (n, M, VP) float16
    size,
    AT_O: tl.constexpr,
    AT_IU: tl.constexpr,
    AT_B_IN: tl.constexpr,
    AT_W_OUT: tl.constexpr,
    AT_B_OUT: tl.constexpr,
    PA: tl.constexpr,
    BP: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    M: tl.constexpr,
    VP: tl.constexpr,
    BW: tl.constexpr,
    BC: tl.constexpr,
    BK: tl.constexpr,
):
    """Roles: the base, BW columns at a time; Q, BC rows and BW columns at a time; R, BW hidden
    units and BW outputs.
    """
    W: tl.constexpr = M + VP
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    if tl.program_id(0) < W // BW:
        i, w = tl.arange(0, PA), tl.program_id(0) * BW + tl.arange(0, BW)
        base = tl.zeros((PA, BW), tl.float32)
        rest = tl.zeros((PA, BW), tl.float32)
        bias = tl.zeros((BW,), tl.float32)
        for k in range(0, D, BK):
            d = k + tl.arange(0, BK)
            iu = tl.load(PARAMETERS + AT_IU + d[:, None] * W + w[None, :])
            y = tl.load(Y + (network * PA + i[:, None]) * D + d[None, :])
            base, rest = add_product(y, iu, base, rest)
            bias += tl.sum(tl.load(PARAMETERS + AT_B_OUT + d)[:, None] * iu, axis=0)
        if tl.program_id(0) < M // BW:
            bias = tl.load(PARAMETERS + AT_B_IN + w)
        base += rest / 2048.0 + bias[None, :]
        # One float16 instead of three parts doubles the errors of dQ (prototype)
        store_in_parts(BASE + (network * 3 * BP + i[:, None]) * W + w[None, :], base, BP * W)
    elif tl.program_id(0) < (1 + C // BC) * (W // BW):
        role = tl.program_id(0) - W // BW
        c = role % (C // BC) * BC + tl.arange(0, BC)
        w = role // (C // BC) * BW + tl.arange(0, BW)
        q = tl.zeros((BC, BW), tl.float32)
        rest_q = tl.zeros((BC, BW), tl.float32)
        for k in range(0, D, BK):
            d = k + tl.arange(0, BK)
            o = tl.load(PARAMETERS + AT_O + c[:, None] * D + d[None, :])
            iu_columns = tl.load(PARAMETERS + AT_IU + d[:, None] * W + w[None, :])
            q, rest_q = add_product(o, iu_columns, q, rest_q)
        Q_TILE = Q + (network * C + c[:, None]) * W + w[None, :]
        tl.store(Q_TILE, (q + rest_q / 2048.0).to(tl.float16))
    else:
        role = tl.program_id(0) - (1 + C // BC) * (W // BW)
        readout(PARAMETERS, R + network * M * VP, role, AT_IU, AT_W_OUT, D, M, VP, BW, BK)
