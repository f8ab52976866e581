"""What a deep network does once per token, not once per pair: its inputs, and the first layer's
queries, keys and values.

    x_s[i] = embedding of number i at position s, with the position
    q, k, v = x W_Q, x W_K, x W_V, of every position
    back:   d[W_Q | W_K | W_V] = sum_s x_s^T [dq | dk | dv]
            dx_s = du + dq W_Q^T + dk W_K^T + dv W_V^T

An error made here is the same for every pair: operands keep 22 bits (`shared.product`). The equals
sign is the third position's only token, whatever number is picked; pairs pick number 0.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    WEIGHT_UNIT,
    rounded_product,
    store_operand_gradients,
    sum_of_parts,
    token_inputs,
    token_table,
)
from algophase.training.kernels.cross_entropy import add_up_loss


@triton.jit
def to_half(PARAMETERS, HALF, count, BLOCK: tl.constexpr):
    """Weights in float16, in their unit (`shared`)."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    weights = tl.load(PARAMETERS + i, mask=i < count) * WEIGHT_UNIT
    tl.store(HALF + i, weights.to(tl.float16), mask=i < count)


@triton.jit
def deep_tables(
    PARAMETERS,  # (n, size)
    X,  # out (n, S, PA, D) float32
    TABLES,  # out (n, S, 3, PA, C) float32
    size,
    AT_EMBED: tl.constexpr,
    AT_POS: tl.constexpr,
    AT_QKV: tl.constexpr,
    P: tl.constexpr,
    SECOND: tl.constexpr,
    EQUALS: tl.constexpr,
    S: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    BC: tl.constexpr,
    BD: tl.constexpr,
    BK: tl.constexpr,
):
    """Roles: BC columns of one table; BD columns of one position's inputs."""
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    i = tl.arange(0, PA)
    if tl.program_id(0) < S * 3 * (C // BC):
        table = tl.program_id(0) // (C // BC)
        c = tl.program_id(0) % (C // BC) * BC + tl.arange(0, BC)
        total = token_table(
            PARAMETERS, table // 3, table % 3, i, c,
            AT_EMBED, AT_POS, AT_QKV, P, SECOND, EQUALS, PA, D, C, BC, BK,
        )  # fmt: skip
        TABLE = TABLES + network * S * 3 * PA * C + (table * PA + i[:, None]) * C + c[None, :]
        tl.store(TABLE, total)
    else:
        role = tl.program_id(0) - S * 3 * (C // BC)
        position, d = role // (D // BD), role % (D // BD) * BD + tl.arange(0, BD)
        x = token_inputs(PARAMETERS, position, i, d, AT_EMBED, AT_POS, P, SECOND, EQUALS, D)
        tl.store(X + network * S * PA * D + (position * PA + i[:, None]) * D + d[None, :], x)


@triton.jit
def after_deep_tables(
    PARAMETERS,
    GRADIENTS,
    D_TABLES,  # (n, PARTS, S, PA, 3 C + D) float32: dq, dk, dv, du
    LOSS,  # (n, TILES)
    NETWORK_LOSS,  # out (n,)
    size,
    AT_EMBED: tl.constexpr,
    AT_POS: tl.constexpr,
    AT_QKV: tl.constexpr,
    P: tl.constexpr,
    SECOND: tl.constexpr,
    EQUALS: tl.constexpr,
    S: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    BC: tl.constexpr,
    BD: tl.constexpr,
    BX: tl.constexpr,
    BK: tl.constexpr,
    PARTS: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
):
    """Roles: BX columns of embeddings and positions; BD rows and BC columns of W_Q, W_K and W_V;
    the loss.
    """
    ROW: tl.constexpr = 3 * C + D
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    GRADIENTS += network * size
    D_TABLES += network * PARTS * S * PA * ROW
    i = tl.arange(0, PA)
    if tl.program_id(0) < D // BX:
        d = tl.program_id(0) * BX + tl.arange(0, BX)
        EMBEDDING = GRADIENTS + AT_EMBED + i[:, None] * D + d[None, :]
        is_token = (i < P)[:, None]
        dx_1 = _input_gradient(PARAMETERS + AT_QKV, D_TABLES, 0, i, d, S, PA, D, C, BX, BK, PARTS)
        dx_2 = _input_gradient(PARAMETERS + AT_QKV, D_TABLES, 1, i, d, S, PA, D, C, BX, BK, PARTS)
        store_operand_gradients(EMBEDDING, GRADIENTS + AT_POS + d, dx_1, dx_2, is_token, SECOND, D)
        if EQUALS > 0:
            dx_3 = _input_gradient(
                PARAMETERS + AT_QKV, D_TABLES, 2, i, d, S, PA, D, C, BX, BK, PARTS
            )
            dx_3 = tl.sum(dx_3, axis=0)
            tl.store(GRADIENTS + AT_EMBED + EQUALS * D + d, dx_3)
            tl.store(GRADIENTS + AT_POS + 2 * D + d, dx_3)
    elif tl.program_id(0) < D // BX + 3 * C // BC * (D // BD):
        role = tl.program_id(0) - D // BX
        c = role % (3 * C // BC) * BC + tl.arange(0, BC)
        d = role // (3 * C // BC) * BD + tl.arange(0, BD)
        total = tl.zeros((BD, BC), tl.float32)
        for position in range(S):
            x = token_inputs(PARAMETERS, position, i, d, AT_EMBED, AT_POS, P, SECOND, EQUALS, D)
            offsets = (position * PA + i[:, None]) * ROW + c[None, :]
            d_table = sum_of_parts(D_TABLES, offsets, S * PA * ROW, PARTS)
            total += rounded_product(tl.trans(x), d_table)
        tl.store(GRADIENTS + AT_QKV + d[:, None] * (3 * C) + c[None, :], total)
    else:
        add_up_loss(LOSS, NETWORK_LOSS, network, TILES, TILES_P)


@triton.jit
def _input_gradient(
    QKV,
    D_TABLES,
    position,
    i,
    d,
    S: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    BX: tl.constexpr,
    BK: tl.constexpr,
    PARTS: tl.constexpr,
):
    """dx of a position, (PA, BX)."""
    ROW: tl.constexpr = 3 * C + D
    row = (position * PA + i[:, None]) * ROW
    total = sum_of_parts(D_TABLES, row + 3 * C + d[None, :], S * PA * ROW, PARTS)
    for k in range(0, 3 * C, BK):
        c = k + tl.arange(0, BK)
        d_table = sum_of_parts(D_TABLES, row + c[None, :], S * PA * ROW, PARTS)
        weights = tl.load(QKV + d[None, :] * (3 * C) + c[:, None])
        total += rounded_product(d_table, weights)
    return total
