"""From dz (`by_rows`) back through the mix, the softmax and the scores to embeddings, positions,
queries, keys and values.

    dv_1[a] = sum_b A_1 dz   [dv_2 alike];   dv_q[b] = -sum_a (A_1 [+ A_2]) dz
    g_1 = rate dz . (v_1[a] - v_q[b])   [g_2 alike];   mean = S_1 g_1 [+ S_2 g_2]
    e_i[a, b] = scale S_i (g_i - mean), and minus the sum of the others for the asking position
    dq[b] = sum_a e_1 k_1[a] [+ sum_a e_2 k_2[b]] - (sum of both) k_q[b]
    dk_1[a] = sum_b e_1 q[b];   dk_q, dk_2 alike
    dW_Q = x_q^T dq, ...;   dx_i = dq W_Q^T + dk W_K^T + dv W_V^T

Names and the order of rows: `tables`. Every sum is added up in a fixed order.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    rounded_product,
    scale_down,
    scaled,
    store_operand_gradients,
    sum_of_parts,
    token_inputs,
)
from algophase.training.kernels.cross_entropy import add_up_loss


@triton.jit
def after_rows(
    RATE,
    SCALE,
    SOFT,  # (n, maps, H, PA, PA)
    TABLES,  # (n, TABLE_COUNT, PA, C)
    # (n, PA, PA) int32: the row of b and a, the last one, which is padding, where it is in none
    ROW_OF,
    DZ,  # (n, T, C) float16, scaled
    DZ_EXPONENT,  # (n, TILES)
    D_SCORE,  # out (n, H, BS, PA) float32: e_1, b by a
    D_SECOND,  # out (n, H, BS) float32: sum over a of e_2, with an equals sign
    D_V1,  # out (n, GROUPS, PA, C) float32: parts of a sum
    D_VQ,  # out (n, 1 or 2, PA, C) float32: dv_q, with an equals sign dv_2
    EQUALS: tl.constexpr,
    PA: tl.constexpr,
    T: tl.constexpr,
    BS: tl.constexpr,
    H: tl.constexpr,
    E: tl.constexpr,
    TILES: tl.constexpr,
    GROUPS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """One head and some b, one after the other."""
    C: tl.constexpr = H * E
    MAPS: tl.constexpr = 2 if EQUALS > 0 else 1
    ROWS: tl.constexpr = T // TILES
    LENGTH: tl.constexpr = BS // GROUPS  # values of b in a group
    h = tl.program_id(0) % H
    group = tl.program_id(0) // H
    network = tl.program_id(1).to(tl.int64)
    a, e = tl.arange(0, PA), tl.arange(0, E)
    rate, scale = tl.load(RATE + network), tl.load(SCALE + network)
    SOFT += (network * MAPS * H + h) * PA * PA + a
    ROW_OF += network * PA * PA + a
    DZ += network * T * C + h * E
    DZ_EXPONENT += network * TILES
    D_SCORE += (network * H + h) * BS * PA + a
    D_SECOND += (network * H + h) * BS
    D_VQ += network * MAPS * PA * C + h * E + e
    V = TABLES + (network * (3 + 2 * MAPS) + 3) * PA * C + h * E
    v1 = tl.load(V + a[:, None] * C + e[None, :])
    dv1 = tl.zeros((PA, E), tl.float32)
    for step in tl.range(0, LENGTH, num_stages=STAGES):
        b = group * LENGTH + step
        row = tl.load(ROW_OF + b * PA)
        dz = tl.load(DZ + row[:, None] * C + e[None, :]).to(tl.float32)
        dz *= scale_down(tl.load(DZ_EXPONENT + row // ROWS))[:, None]
        soft = tl.load(SOFT + b * PA)
        vq = tl.load(V + (PA + b) * C + e)
        weighted = (rate * soft + (1.0 - rate))[:, None] * dz
        dv1 += weighted
        dvq = -tl.sum(weighted, axis=0)
        g = tl.sum(dz * (v1 - vq[None, :]), axis=1) * rate
        # As in `tables`: 0.225 s per run with an equals sign, 0.216 without
        if EQUALS > 0:
            soft_2 = tl.load(SOFT + (H * PA + b) * PA)
            v2 = tl.load(V + (3 * PA + b) * C + e)
            dv2 = tl.sum((rate * soft_2 + (1.0 - rate))[:, None] * dz, axis=0)
            tl.store(D_VQ + (PA + b) * C, dv2)
            dvq -= dv2
            g_2 = tl.sum(dz * (v2 - vq)[None, :], axis=1) * rate
            mean = soft * g + soft_2 * g_2
            tl.store(D_SCORE + b * PA, soft * (g - mean) * scale)
            tl.store(D_SECOND + b, tl.sum(soft_2 * (g_2 - mean), axis=0) * scale)
        else:
            tl.store(D_SCORE + b * PA, g * soft * (1.0 - soft) * scale)
        tl.store(D_VQ + b * C, dvq)
    tl.store(D_V1 + ((network * GROUPS + group) * PA + a[:, None]) * C + h * E + e[None, :], dv1)


@triton.jit
def after_attention(
    PARAMETERS,
    GRADIENTS,
    GIVE,
    TABLES,
    D_SCORE,
    D_SECOND,
    D_V1,
    D_VQ,
    DY,  # (n, PA, D)
    D_TABLES,  # out, as TABLES
    size,
    AT_O: tl.constexpr,
    P: tl.constexpr,
    EQUALS: tl.constexpr,
    PA: tl.constexpr,
    BS: tl.constexpr,
    D: tl.constexpr,
    H: tl.constexpr,
    E: tl.constexpr,
    BE: tl.constexpr,
    BC: tl.constexpr,
    BD: tl.constexpr,
    BK: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """Roles: BE columns of one head's tables; BC rows and BD columns of W_O, what reaches it
    through y.
    """
    C: tl.constexpr = H * E
    MAPS: tl.constexpr = 2 if EQUALS > 0 else 1
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    TABLES += network * (3 + 2 * MAPS) * PA * C
    D_TABLES += network * (3 + 2 * MAPS) * PA * C
    DY += network * PA * D
    i = tl.arange(0, PA)
    give = tl.load(GIVE + network)
    if tl.program_id(0) < C // BE:
        h = tl.program_id(0) // (E // BE)
        e = tl.program_id(0) * BE + tl.arange(0, BE)
        of_h = i[:, None] * C + e[None, :]
        is_b = (i < P)[:, None]
        SCORES = D_SCORE + ((network * H + h) * BS + i[:, None]) * PA + i[None, :]
        score = tl.load(SCORES, mask=is_b, other=0.0)
        over = tl.sum(score, axis=1)[:, None]  # of each b
        score, back = scaled(score)
        q = tl.load(TABLES + of_h)
        far, back_far = scaled(tl.load(TABLES + PA * C + of_h))
        dq = tl.dot(score, far) * back * back_far
        near, back_near = scaled(q)
        tl.store(D_TABLES + PA * C + of_h, tl.dot(tl.trans(score), near) * back * back_near)
        if EQUALS > 0:
            second = tl.load(D_SECOND + (network * H + h) * BS + i, mask=i < P, other=0.0)[:, None]
            dq += second * tl.load(TABLES + 5 * PA * C + of_h)
            over += second
            tl.store(D_TABLES + 5 * PA * C + of_h, second * q)
            D_V_2 = D_TABLES + 6 * PA * C + of_h
            tl.store(D_V_2, tl.load(D_VQ + (network * MAPS + 1) * PA * C + of_h))
        tl.store(D_TABLES + of_h, dq - over * tl.load(TABLES + 2 * PA * C + of_h))
        tl.store(D_TABLES + 2 * PA * C + of_h, -over * q)
        D_V_1 = D_TABLES + 3 * PA * C + of_h
        tl.store(D_V_1, sum_of_parts(D_V1, network * GROUPS * PA * C + of_h, PA * C, GROUPS))
        through_y = tl.zeros((PA, BE), tl.float32)
        for k in range(0, D, BK):
            d = k + tl.arange(0, BK)
            o = tl.load(PARAMETERS + AT_O + e[:, None] * D + d[None, :])
            through_y += rounded_product(tl.load(DY + i[:, None] * D + d[None, :]), tl.trans(o))
        D_V_Q = D_TABLES + 4 * PA * C + of_h
        tl.store(D_V_Q, tl.load(D_VQ + network * MAPS * PA * C + of_h) + give * through_y)
    else:
        role = tl.program_id(0) - C // BE
        c = role % (C // BC) * BC + tl.arange(0, BC)
        d = role // (C // BC) * BD + tl.arange(0, BD)
        v = tl.load(TABLES + (4 * PA + i[:, None]) * C + c[None, :])
        d_o = rounded_product(tl.trans(v), tl.load(DY + i[:, None] * D + d[None, :])) * give
        D_O = GRADIENTS + network * size + AT_O + c[:, None] * D + d[None, :]
        tl.store(D_O, tl.load(D_O) + d_o)


@triton.jit
def after_tables(
    PARAMETERS,
    GRADIENTS,
    D_TABLES,
    DY,
    LOSS,  # (n, TILES)
    NETWORK_LOSS,  # out (n,)
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
    BD: tl.constexpr,
    BX: tl.constexpr,
    BK: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
):
    """Roles: BX columns of embeddings and positions; BD rows and BC columns of W_Q, W_K or W_V;
    the loss.
    """
    MAPS: tl.constexpr = 2 if EQUALS > 0 else 1
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    GRADIENTS += network * size
    D_TABLES += network * (3 + 2 * MAPS) * PA * C
    i = tl.arange(0, PA)
    if tl.program_id(0) < D // BX:
        d = tl.program_id(0) * BX + tl.arange(0, BX)
        dx1 = tl.zeros((PA, BX), tl.float32)
        dx2 = tl.zeros((PA, BX), tl.float32)
        dxq = tl.load(DY + (network * PA + i[:, None]) * D + d[None, :])
        for k in range(0, C, BK):
            c = k + tl.arange(0, BK)
            QKV = PARAMETERS + AT_QKV + d[None, :] * (3 * C) + c[:, None]
            D_TABLE = D_TABLES + i[:, None] * C + c[None, :]
            w_q, back_q = scaled(tl.load(QKV))
            w_k, back_k = scaled(tl.load(QKV + C))
            w_v, back_v = scaled(tl.load(QKV + 2 * C))
            dxq += (
                _table_product(D_TABLE, w_q, back_q)
                + _table_product(D_TABLE + 2 * PA * C, w_k, back_k)
                + _table_product(D_TABLE + 4 * PA * C, w_v, back_v)
            )
            dx1 += _table_product(D_TABLE + PA * C, w_k, back_k) + _table_product(
                D_TABLE + 3 * PA * C, w_v, back_v
            )
            if EQUALS > 0:
                dx2 += _table_product(D_TABLE + 5 * PA * C, w_k, back_k) + _table_product(
                    D_TABLE + 6 * PA * C, w_v, back_v
                )
        is_token = (i < P)[:, None]
        dx1, dxq = tl.where(is_token, dx1, 0.0), tl.where(is_token, dxq, 0.0)
        if EQUALS > 0:
            own = tl.sum(dxq, axis=0)
            tl.store(GRADIENTS + AT_EMBED + EQUALS * D + d, own)
            tl.store(GRADIENTS + AT_POS + 2 * D + d, own)
            dx2 = tl.where(is_token, dx2, 0.0)
        else:
            dx2 = dxq
        EMBEDDING = GRADIENTS + AT_EMBED + i[:, None] * D + d[None, :]
        store_operand_gradients(EMBEDDING, GRADIENTS + AT_POS + d, dx1, dx2, is_token, SECOND, D)
    elif tl.program_id(0) < D // BX + 3 * (C // BC) * (D // BD):
        role = tl.program_id(0) - D // BX
        matrix, c = role % 3, role // 3 % (C // BC) * BC + tl.arange(0, BC)
        d = role // (3 * (C // BC)) * BD + tl.arange(0, BD)
        total = tl.zeros((BD, BC), tl.float32)
        for position in range(1 + MAPS):
            if (matrix > 0) | (position == MAPS):  # only the asking position has a query
                # q, k_1, k_q, v_1, v_q, k_2, v_2
                of_position = tl.where(
                    position == MAPS,
                    2 * matrix,
                    tl.where(position == 0, 2 * matrix - 1, 4 + matrix),
                )
                x = token_inputs(PARAMETERS, position, i, d, AT_EMBED, AT_POS, P, SECOND, EQUALS, D)
                d_table = tl.load(D_TABLES + (of_position * PA + i[:, None]) * C + c[None, :])
                total += rounded_product(tl.trans(x), d_table)
        tl.store(GRADIENTS + AT_QKV + d[:, None] * (3 * C) + matrix * C + c[None, :], total)
    else:
        add_up_loss(LOSS, NETWORK_LOSS, network, TILES, TILES_P)


@triton.jit
def _table_product(D_TABLE, w, back_w):
    """A table's gradient times a matrix that `scaled` gave."""
    half, back = scaled(tl.load(D_TABLE))
    return tl.dot(half, w) * back * back_w
