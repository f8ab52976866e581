"""From the sums over pairs (`by_units`) to the gradients of IU = [W_in | W_U], W_out, the biases
and part of W_O.

    dIU = y^T dbase + W_O^T dQ;   dW_U += W_out^T dR + b_out^T db;   db = sum_b dbase
    dy = dbase IU^T;   dW_O = dQ IU^T [+ give v_q^T dy, in `after_attention`];   dW_out = dR W_U^T

Operands are float16. dQ, dbase and dR share one power of two: that of the largest element in any of
them.
"""

import triton
import triton.language as tl

from algophase.training.kernels._shared import (
    largest_exponent,
    scale_down,
    scale_up,
    sum_of_parts,
)


@triton.jit
def _base(
    DBASE, PAIRS, b, w, T: tl.constexpr, W: tl.constexpr, BP: tl.constexpr, RUNS: tl.constexpr
):
    """dbase of some b and columns (b, w): a sum, and what the run before left of it."""
    total = tl.load(DBASE + b[:, None] * W + w[None, :])
    for run in tl.static_range(1, RUNS):
        cut = tl.load(PAIRS + run * (T // RUNS)) // 256
        is_cut = (b == cut)[:, None]
        left = tl.load(DBASE + (BP + run - 1) * W + w)[None, :]
        total += tl.where(is_cut, left, 0.0)
    return total


@triton.jit
def _scaled_parts(START, offsets, stride, scale, COUNT: tl.constexpr):
    """A sum in parts, times scale, in float16."""
    return (sum_of_parts(START, offsets, stride, COUNT) * scale).to(tl.float16)


@triton.jit
def after_units(
    PARAMETERS,
    GRADIENTS,
    Y,  # (n, PA, D)
    DQ,  # (n, RUNS, W, C)
    DBASE,  # (n, BP + RUNS, W)
    PAIRS,  # (n, T + 16)
    DR,  # (n, RUNS, M, VP)
    LARGEST,  # (n, COUNT)
    DY,  # out (n, PA, D)
    size,
    AT_O: tl.constexpr,
    AT_IU: tl.constexpr,
    AT_B_IN: tl.constexpr,
    AT_W_OUT: tl.constexpr,
    AT_B_OUT: tl.constexpr,
    PA: tl.constexpr,
    BP: tl.constexpr,
    T: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    M: tl.constexpr,
    VP: tl.constexpr,
    BW: tl.constexpr,
    BC: tl.constexpr,
    BD: tl.constexpr,
    BB: tl.constexpr,
    RUNS: tl.constexpr,
    COUNT: tl.constexpr,
    COUNT_P: tl.constexpr,
):
    """BD columns or rows of D at a time. Roles: y; b_out; rows of W_O; columns of IU; rows of
    W_out.
    """
    W: tl.constexpr = M + VP
    ROLES: tl.constexpr = 2 + C // BC + W // BW + M // BW
    role = tl.program_id(0) % ROLES
    network = tl.program_id(1).to(tl.int64)
    PARAMETERS += network * size
    GRADIENTS += network * size
    DQ += network * RUNS * W * C
    DR += network * RUNS * M * VP
    DBASE += network * (BP + RUNS) * W
    PAIRS += network * (T + 16)
    Y += network * PA * D
    d = tl.program_id(0) // ROLES * BD + tl.arange(0, BD)
    top = largest_exponent(LARGEST + network * COUNT, COUNT, COUNT_P)
    scale, back = scale_up(top), scale_down(top)
    if role == 0:
        i = tl.arange(0, PA)
        dy = tl.zeros((PA, BD), tl.float32)
        for k in range(0, W, BW):
            w = k + tl.arange(0, BW)
            iu = tl.load(PARAMETERS + AT_IU + d[:, None] * W + w[None, :]).to(tl.float16)
            db = _base(DBASE, PAIRS, i, w, T, W, BP, RUNS)
            dy = tl.dot((db * scale).to(tl.float16), tl.trans(iu), dy)
        tl.store(DY + (network * PA + i[:, None]) * D + d[None, :], dy * back)
    elif role == 1:
        d_b_out = tl.zeros((BD,), tl.float32)
        i = tl.arange(0, PA)
        for k in range(0, VP, BW):
            w = M + k + tl.arange(0, BW)
            column = tl.sum(_base(DBASE, PAIRS, i, w, T, W, BP, RUNS), axis=0)
            w_u = tl.load(PARAMETERS + AT_IU + d[:, None] * W + w[None, :])
            d_b_out += tl.sum(w_u * column[None, :], axis=1)
        tl.store(GRADIENTS + AT_B_OUT + d, d_b_out)
    elif role < 2 + C // BC:
        c = (role - 2) * BC + tl.arange(0, BC)
        d_o = tl.zeros((BC, BD), tl.float32)
        for k in range(0, W, BW):
            w = k + tl.arange(0, BW)
            iu = tl.load(PARAMETERS + AT_IU + d[:, None] * W + w[None, :]).to(tl.float16)
            dq = _scaled_parts(DQ, w[:, None] * C + c[None, :], W * C, scale, RUNS)
            d_o = tl.dot(tl.trans(dq), tl.trans(iu), d_o)
        tl.store(GRADIENTS + AT_O + c[:, None] * D + d[None, :], d_o * back)
    elif role < 2 + C // BC + W // BW:
        w = (role - 2 - C // BC) * BW + tl.arange(0, BW)
        d_iu = tl.zeros((BD, BW), tl.float32)
        column = tl.zeros((BW,), tl.float32)
        for k in range(0, PA, BB):
            b = k + tl.arange(0, BB)
            db = _base(DBASE, PAIRS, b, w, T, W, BP, RUNS)
            column += tl.sum(db, axis=0)
            y = tl.load(Y + b[:, None] * D + d[None, :]).to(tl.float16)
            d_iu = tl.dot(tl.trans(y), (db * scale).to(tl.float16), d_iu)
        for k in range(0, C, BC):
            c = k + tl.arange(0, BC)
            o = tl.load(PARAMETERS + AT_O + c[:, None] * D + d[None, :]).to(tl.float16)
            dq = _scaled_parts(DQ, w[:, None] * C + c[None, :], W * C, scale, RUNS)
            d_iu = tl.dot(tl.trans(o), tl.trans(dq), d_iu)
        if role < 2 + C // BC + M // BW:
            if tl.program_id(0) < ROLES:
                tl.store(GRADIENTS + AT_B_IN + w, column)
            d_iu *= back
        else:
            v = w - M
            for k in range(0, M, BW):
                m = k + tl.arange(0, BW)
                dr = _scaled_parts(DR, m[:, None] * VP + v[None, :], M * VP, scale, RUNS)
                w_out = tl.load(PARAMETERS + AT_W_OUT + m[:, None] * D + d[None, :]).to(tl.float16)
                d_iu = tl.dot(tl.trans(w_out), dr, d_iu)
            d_iu = d_iu * back + tl.load(PARAMETERS + AT_B_OUT + d)[:, None] * column[None, :]
        tl.store(GRADIENTS + AT_IU + d[:, None] * W + w[None, :], d_iu)
    else:
        m = (role - 2 - C // BC - W // BW) * BW + tl.arange(0, BW)
        d_w_out = tl.zeros((BW, BD), tl.float32)
        for k in range(0, VP, BW):
            v = k + tl.arange(0, BW)
            w_u = tl.load(PARAMETERS + AT_IU + d[:, None] * W + M + v[None, :]).to(tl.float16)
            dr = _scaled_parts(DR, m[:, None] * VP + v[None, :], M * VP, scale, RUNS)
            d_w_out = tl.dot(dr, tl.trans(w_u), d_w_out)
        tl.store(GRADIENTS + AT_W_OUT + m[:, None] * D + d[None, :], d_w_out * back)
