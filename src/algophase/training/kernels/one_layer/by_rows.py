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

from algophase.training.kernels._shared import (
    activate_both,
    base_rows,
    exponent,
    looked_up,
    one_hot,
    scale_up,
)
from algophase.training.kernels.cross_entropy import to_loss


@triton.jit
def by_rows(
    Z,  # (n, MOST, C) float16
    Q,  # (n, C, W) float16
    BASE,  # (n, 3, BP, W) float16
    R,  # (n, M, VP) float16
    PAIRS,  # (n, T + 16) int32
    LABELS,  # the answer to a and b at a + 256 b (P, 256) int8, or None: addition modulo P
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
    BC: tl.constexpr,
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
    if LABELS is not None:  # early: the products below hide how long it takes
        label = looked_up(LABELS, pair)
    first_b = tl.load(PAIRS + tile * ROWS) // 256
    BASE += network * 3 * BP * W + base_rows(first_b, j, S, BP)[:, None] * W
    z = tl.load(Z + row[:, None] * C + k[None, :])
    of_b = one_hot(pair // 256, j, S)
    # All channels at a time take 96 KB with 256 of them and 128 outputs: too much for most cards
    if BC == C:
        direct = tl.load(Q + k[:, None] * W + M + v[None, :])
        logits = tl.dot(of_b, tl.load(BASE + M + v[None, :]))
        logits = tl.dot(z, direct, logits)
    else:
        logits = tl.dot(of_b, tl.load(BASE + M + v[None, :]))
        for first_c in tl.range(0, C, BC, num_stages=1):
            c = first_c + tl.arange(0, BC)
            direct_part = tl.load(Q + c[:, None] * W + M + v[None, :])
            logits = tl.dot(tl.load(Z + row[:, None] * C + c[None, :]), direct_part, logits)
    active = tl.zeros((ROWS, BM), tl.int32)
    for step in tl.range(0, M // BM, num_stages=STAGES):
        m = step * BM + tl.arange(0, BM)
        q = tl.load(Q + k[:, None] * W + m[None, :])
        base = tl.load(BASE + m[None, :])
        r = tl.load(R + m[:, None] * VP + v[None, :])
        x = tl.dot(z, q, tl.dot(of_b, base))
        # A bit kept instead of x computed again saved 0.1 µs of 4.2 (prototype); GELU needs x, and
        # takes 0.286 s per run, ReLU 0.216
        if not GELU:
            active |= (x > 0.0).to(tl.int32) << step
        post, _ = activate_both(x, GELU)
        logits = tl.dot(post.to(tl.float16), r, logits)

    if LABELS is None:
        label = (pair % 256 + pair // 256) % P
    s, top = to_loss(
        logits, label, WEIGHTS, tile, network, SLOPE, EXPONENT, LOSS, RIGHT, T, V, VP, ROWS, JUDGE
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
        top_dz = exponent(dz)  # dz in float32 would take 0.35 µs more (prototype)
        tl.store(DZ_EXPONENT + network * TILES + tile, top_dz + top - 127)
        DZ_TILE = DZ + network * T * C + row[:, None] * C + k[None, :]
        tl.store(DZ_TILE, (dz * scale_up(top_dz)).to(tl.float16))
