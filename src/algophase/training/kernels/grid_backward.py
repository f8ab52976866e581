"""The grid backward through the hidden units, from the slope that `grid_forward` left.

    back[a, b] = (slope[a, b] R^T) act'(x[a, b])
    dR = sum_{a, b} act(x[a, b]) slope[a, b]^T            dbase[b] = sum_a back[a, b]

One program takes a tile of hidden units and a run of values of a, all b at once; R^T and both sums stay in registers. The
few runs' parts of dR and dbase are added up afterwards, always in the same order.
"""

import triton
import triton.language as tl
from torch import Tensor

from algophase.training.kernels.hidden import activate, activation_slope
from algophase.training.kernels.launch import Launch


@triton.jit
def _grid_backward(
    R,
    HIDDEN,
    BACK,
    BASE_PARTS,
    READOUT_PARTS,
    P: tl.constexpr,
    M: tl.constexpr,
    PB: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    RUNS: tl.constexpr,
    GELU: tl.constexpr,
    PRECISION: tl.constexpr,
):
    W: tl.constexpr = M + VP
    LENGTH: tl.constexpr = (P + RUNS - 1) // RUNS
    network = tl.program_id(2).to(tl.int64)
    run = tl.program_id(1)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    b, v = tl.arange(0, PB), tl.arange(0, VP)
    HIDDEN += network * P * PB * M
    BACK += network * P * PB * W
    r = tl.load(R + (network * M + m[None, :]) * VP + v[:, None])  # R^T (VP, BM)
    d_base = tl.zeros((PB, BM), tl.float32)
    d_readout = tl.zeros((BM, VP), tl.float32)
    for a in range(run * LENGTH, tl.minimum((run + 1) * LENGTH, P)):
        pair = a * PB + b
        x = tl.load(HIDDEN + pair[:, None] * M + m[None, :]).to(tl.float32)
        slope = tl.load(BACK + pair[:, None] * W + M + v[None, :])
        back = tl.dot(slope, r, input_precision=PRECISION) * activation_slope(x, GELU)
        tl.store(BACK + pair[:, None] * W + m[None, :], back)
        d_readout = tl.dot(tl.trans(activate(x, GELU)), slope, d_readout, input_precision=PRECISION)
        d_base += back
    part = network * RUNS + run
    tl.store(BASE_PARTS + (part * PB + b[:, None]) * M + m[None, :], d_base)
    tl.store(READOUT_PARTS + (part * M + m[:, None]) * VP + v[None, :], d_readout)


def grid_backward(
    readout: Tensor,
    hidden: Tensor,
    back: Tensor,
    base_parts: Tensor,
    readout_parts: Tensor,
    *,
    gelu: bool,
    precision: str,
    launch: Launch,
) -> None:
    """Fill the first m columns of back (n, p, PB, W), base_parts (n, runs, PB, m) and readout_parts (n, runs, m, VP).

    readout (n, m, VP), hidden (n, p, PB, m), and the slope in the last VP columns of back, all contiguous.
    """
    n, p, block, units = hidden.shape
    runs = base_parts.shape[1]
    _grid_backward[(units // launch.tile, runs, n)](
        readout,
        hidden,
        back,
        base_parts,
        readout_parts,
        P=p,
        M=units,
        PB=block,
        VP=readout.shape[2],
        BM=launch.tile,
        RUNS=runs,
        GELU=gelu,
        PRECISION=precision,
        num_warps=launch.warps,
        num_stages=launch.stages,
    )
