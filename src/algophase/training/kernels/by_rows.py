"""The grid by rows: each pair from z to its loss and back to dz, in one kernel. Hidden units never
leave the chip.

    x = z Q + base[b];   logits = act(x[:m]) R + x[m:];   slope = d loss / d logits
    dx = (slope R^T) act'(x);   dz = dx Q^T

A program takes ROWS rows, which have at most S successive b (`training.rows`), so the base joins
the product as KB >= 3 S more
columns: the one-hot of b modulo S, three times, against the base in three parts. Operands are
    float16, sums float32. The slope
and dz of a program are scaled by powers of two of its own.

ReLU keeps one bit of each hidden unit on the way forward; GELU computes x again on the way back.
JUDGE stops at the loss of each row, and whether the label's logit is strictly the largest.
"""

import triton
import triton.language as tl

from algophase.training.kernels.cross_entropy import judge, weighted_loss
from algophase.training.kernels.hidden import activate_both
from algophase.training.kernels.scaling import exponent, power, up


@triton.jit
def one_hot(b, j, S: tl.constexpr):
    """(rows, KB) float16: which b a row has, once for each part of the base."""
    return ((j[None, :] % S == b[:, None] % S) & (j[None, :] < 3 * S)).to(tl.float16)


@triton.jit
def b_of(first_b, j, S: tl.constexpr):
    """The b that a column of the one-hot stands for, where the first row has first_b."""
    return first_b + ((j - first_b) & (S - 1))


@triton.jit
def of_base(first_b, j, S: tl.constexpr, BP: tl.constexpr):
    """Rows of BASE that belong to the columns of the one-hot."""
    return tl.minimum(j // S, 2) * BP + b_of(first_b, j, S)


@triton.jit
def to_loss(
    logits,
    label,
    weight,
    tile,
    network,
    SLOPE,
    EXPONENT,
    LOSS,
    RIGHT,
    T: tl.constexpr,
    V: tl.constexpr,
    VP: tl.constexpr,
    ROWS: tl.constexpr,
    JUDGE: tl.constexpr,
):
    """Loss of a tile of rows, stored, and its slope: float16 with the largest in [1, 2), and its
    exponent. JUDGE: see above.
    """
    row, v = tile * ROWS + tl.arange(0, ROWS), tl.arange(0, VP)
    is_label = v[None, :] == label[:, None]
    loss, slope = weighted_loss(logits, is_label, v[None, :] >= V, weight)
    if JUDGE:
        judge(logits, is_label, loss, LOSS + network * T, RIGHT + network * T, row, V, VP)
    else:
        tl.store(LOSS + network * (T // ROWS) + tile, tl.sum(loss))
    top = exponent(slope)
    s = (slope * power(254 - top)).to(tl.float16)
    if not JUDGE:
        tl.store(EXPONENT + network * (T // ROWS) + tile, top)
        tl.store(SLOPE + network * T * VP + row[:, None] * VP + v[None, :], s)
    return s, top


@triton.jit
def by_rows(
    Z,  # (n, MOST, C) float16
    Q,  # (n, C, W) float16
    BASE,  # (n, 3, BP, W) float16
    R,  # (n, M, VP) float16
    PAIRS,  # (n, T + 16) int32
    WEIGHTS,  # (n, T) float32, 0 in padding
    SLOPE,  # out (n, T, VP) float16, the largest of a tile in [1, 2)
    EXPONENT,  # out (n, TILES) int32: of the slope
    DZ,  # out (n, T, C) float16, the largest of a tile in [2^12, 2^13)
    DZ_EXPONENT,  # out (n, TILES) int32
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
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    JUDGE: tl.constexpr,
    STAGES: tl.constexpr,
):
    W: tl.constexpr = M + VP
    TILES: tl.constexpr = T // ROWS
    tile = tl.program_id(0)
    network = tl.program_id(1).to(tl.int64)
    row = tile * ROWS + tl.arange(0, ROWS)
    v, k, j = tl.arange(0, VP), tl.arange(0, C), tl.arange(0, KB)
    PAIRS += network * (T + 16)
    Z += network * MOST * C
    Q += network * C * W
    R += network * M * VP
    pair = tl.load(PAIRS + row)
    BASE += (
        network * 3 * BP * W + of_base(tl.load(PAIRS + tile * ROWS) // 256, j, S, BP)[:, None] * W
    )
    z = tl.load(Z + row[:, None] * C + k[None, :])
    of_b = one_hot(pair // 256, j, S)
    direct = tl.load(Q + k[:, None] * W + M + v[None, :])
    logits = tl.dot(of_b, tl.load(BASE + M + v[None, :]))
    logits = tl.dot(z, direct, logits)
    active = tl.zeros((ROWS, BM), tl.int32)
    for step in tl.range(0, M // BM, num_stages=STAGES):
        m = step * BM + tl.arange(0, BM)
        q = tl.load(Q + k[:, None] * W + m[None, :])
        base = tl.load(BASE + m[None, :])
        r = tl.load(R + m[:, None] * VP + v[None, :])
        x = tl.dot(z, q, tl.dot(of_b, base))
        if not GELU:
            active |= (x > 0.0).to(tl.int32) << step
        post, _ = activate_both(x, GELU)
        logits = tl.dot(post.to(tl.float16), r, logits)

    weight = tl.full((ROWS,), 1.0, tl.float32) if JUDGE else tl.load(WEIGHTS + network * T + row)
    label = (pair % 256 + pair // 256) % P
    s, top = to_loss(
        logits, label, weight, tile, network, SLOPE, EXPONENT, LOSS, RIGHT, T, V, VP, ROWS, JUDGE
    )
    if not JUDGE:
        dz = tl.dot(s, tl.trans(tl.load(Q + k[:, None] * W + M + v[None, :])))
        for step in tl.range(0, M // BM, num_stages=STAGES):
            m = step * BM + tl.arange(0, BM)
            q = tl.load(Q + k[:, None] * W + m[None, :])
            r = tl.load(R + m[:, None] * VP + v[None, :])
            dx = tl.dot(s, tl.trans(r))
            if GELU:
                base = tl.load(BASE + m[None, :])
                _, steep = activate_both(tl.dot(z, q, tl.dot(of_b, base)), GELU)
                dx *= steep
            else:
                dx = tl.where(((active >> step) & 1) != 0, dx, 0.0)
            dz = tl.dot(dx.to(tl.float16), tl.trans(q), dz)
        top_dz = exponent(dz)
        tl.store(DZ_EXPONENT + network * TILES + tile, top_dz + top - 127)
        tl.store(
            DZ + network * T * C + row[:, None] * C + k[None, :], (dz * up(top_dz)).to(tl.float16)
        )
