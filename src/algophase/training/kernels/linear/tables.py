"""Linear models before and after their pairs: the first layer is a table over tokens.

    t_1[a] = W_1 E_a + bias,  t_2[b] = W_1 E_b
    (delta: each operand has its half of W_1; alpha': each has its embedding)
    dW_1 = dt_1 E + dt_2 E;   dE = W_1^T dt;   db_1 = sum_a dt_1[a]

Where both operands share everything (SHARED) dt is the sum of both, and a pair is in it twice.
Tables keep 22 bits, as errors in them are the same for every pair. PARAMETERS is the flat buffer,
AT_... where a tensor starts in a network's row.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    product,
    rounded_product,
)
from algophase.training.kernels.cross_entropy import add_up_loss


@triton.jit
def linear_tables(
    PARAMETERS,  # (n, size)
    TABLES,  # out (n, 2, PA, H) float32: t_1, t_2
    SECOND,  # out (n, H, H) float16: W_2, where there is one
    READOUT,  # out (n, VP, H) float16: W_U
    size,
    AT_E: tl.constexpr,
    AT_W1: tl.constexpr,
    AT_B1: tl.constexpr,
    AT_W2: tl.constexpr,
    AT_U: tl.constexpr,
    P: tl.constexpr,
    PA: tl.constexpr,
    E: tl.constexpr,
    H: tl.constexpr,
    VP: tl.constexpr,
    SHARED: tl.constexpr,
    EMBEDDINGS: tl.constexpr,
    READERS: tl.constexpr,
    BIASES: tl.constexpr,
    TWO_LAYERS: tl.constexpr,
    BH: tl.constexpr,
    BK: tl.constexpr,
    COPIED: tl.constexpr,
):
    """Roles: BH columns of a table; COPIED elements of W_U, then of W_2, rounded."""
    OWN: tl.constexpr = 1 if SHARED else 2
    role = tl.program_id(0)
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    if role < OWN * (H // BH):
        operand = role // (H // BH)
        i, h = tl.arange(0, PA), role % (H // BH) * BH + tl.arange(0, BH)
        EMBEDDING = PARAMETERS + AT_E + operand * (EMBEDDINGS - 1) * P * E
        READER = PARAMETERS + AT_W1 + operand * (READERS - 1) * H * E
        total = tl.zeros((PA, BH), tl.float32)
        for k in range(0, E, BK):
            d = k + tl.arange(0, BK)
            is_token = (i < P)[:, None]
            embedded = tl.load(EMBEDDING + i[:, None] * E + d[None, :], mask=is_token, other=0.0)
            reader = tl.load(READER + h[:, None] * E + d[None, :])
            total += product(embedded, tl.trans(reader))
        TABLE = TABLES + network * 2 * PA * H + i[:, None] * H + h[None, :]
        if operand == 0:
            tl.store(TABLE, total + BIASES * tl.load(PARAMETERS + AT_B1 + h)[None, :])
        if operand == OWN - 1:
            tl.store(TABLE + PA * H, total)
    else:
        at = (role - OWN * (H // BH)) * COPIED + tl.arange(0, COPIED)
        copied = tl.load(PARAMETERS + AT_U + at, mask=at < VP * H).to(tl.float16)
        tl.store(READOUT + network * VP * H + at, copied, mask=at < VP * H)
        if TWO_LAYERS:
            at -= VP * H
            is_weight = (at >= 0) & (at < H * H)
            copied = tl.load(PARAMETERS + AT_W2 + at, mask=is_weight).to(tl.float16)
            tl.store(SECOND + network * H * H + at, copied, mask=is_weight)


@triton.jit
def after_linear_tables(
    PARAMETERS,
    GRADIENTS,
    D_TABLES,  # (n, OWN, H, PA) float32
    LOSS,  # (n, TILES)
    NETWORK_LOSS,  # out (n,)
    size,
    AT_E: tl.constexpr,
    AT_W1: tl.constexpr,
    AT_B1: tl.constexpr,
    P: tl.constexpr,
    PA: tl.constexpr,
    E: tl.constexpr,
    H: tl.constexpr,
    SHARED: tl.constexpr,
    EMBEDDINGS: tl.constexpr,
    READERS: tl.constexpr,
    BIASES: tl.constexpr,
    BH: tl.constexpr,
    BE: tl.constexpr,
    TILES: tl.constexpr,
    TILES_P: tl.constexpr,
):
    """Roles: BE columns of an embedding; BH rows and BE columns of a reader, and its bias; the
    loss.
    """
    OWN: tl.constexpr = 1 if SHARED else 2
    role = tl.program_id(0)
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    GRADIENTS += network * size
    D_TABLES += network * OWN * H * PA
    i = tl.arange(0, PA)
    is_token = (i < P)[:, None]
    if role < EMBEDDINGS * (E // BE):
        table, e = role // (E // BE), role % (E // BE) * BE + tl.arange(0, BE)
        total = tl.zeros((PA, BE), tl.float32)
        for operand in tl.static_range(OWN):
            if (operand == table) | (EMBEDDINGS == 1):
                for k in range(0, H, BH):
                    h = k + tl.arange(0, BH)
                    d = tl.load(D_TABLES + (operand * H + h[:, None]) * PA + i[None, :])
                    unit = operand * (READERS - 1) * H + h[:, None]
                    w = tl.load(PARAMETERS + AT_W1 + unit * E + e[None, :])
                    total += rounded_product(tl.trans(d), w)
        D_EMBEDDING = GRADIENTS + AT_E + (table * P + i[:, None]) * E + e[None, :]
        tl.store(D_EMBEDDING, total, mask=is_token)
    elif role < (EMBEDDINGS + READERS * (H // BH)) * (E // BE):
        part = role - EMBEDDINGS * (E // BE)
        column = part % (E // BE) * BE + tl.arange(0, BE)
        unit = part // (E // BE) % (H // BH) * BH + tl.arange(0, BH)
        reader = part // ((E // BE) * (H // BH))
        d_reader = tl.zeros((BH, BE), tl.float32)
        for operand in tl.static_range(OWN):
            if (operand == reader) | (READERS == 1):
                own = tl.load(D_TABLES + (operand * H + unit[:, None]) * PA + i[None, :])
                token = operand * (EMBEDDINGS - 1) * P + i[:, None]
                EMBEDDING = PARAMETERS + AT_E + token * E + column[None, :]
                embedded = tl.load(EMBEDDING, mask=is_token, other=0.0)
                d_reader += rounded_product(own, embedded)
                if (operand == 0) & (part % (E // BE) == 0):
                    d_b1 = tl.sum(own, axis=1) * (BIASES * 0.5 if SHARED else BIASES)
                    tl.store(GRADIENTS + AT_B1 + unit, d_b1)
        tl.store(GRADIENTS + AT_W1 + (reader * H + unit[:, None]) * E + column[None, :], d_reader)
    else:
        add_up_loss(LOSS, NETWORK_LOSS, network, TILES, TILES_P)
