"""Each pair of the grid, from what attention hands it to its loss.

    x = z Q + base[b];   logits = act(x[:m]) R + x[m:];   loss and slope = d loss / d logits

with Q = W_O [W_in | W_U] (c, W), R = W_out W_U (m, v), and the loss of kernels/cross_entropy.py.
One program takes ROWS pairs. The hidden units (after ReLU; before GELU, whose derivative needs that) and the slope go on
to `grid_backward`. Programs write disjoint memory: the same bits every time, whatever else is in the ensemble. Reference:
`grid_reference`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from algophase.training.kernels.cross_entropy import weighted_loss
from algophase.training.kernels.hidden import activate
from algophase.training.kernels.launch import Launch


@triton.jit
def _projection(
    z, Q, BACK, pair, stored, columns, k, C: tl.constexpr, W: tl.constexpr, x, AT_HAND: tl.constexpr, PRECISION: tl.constexpr
):
    """x + z Q for some columns: computed here, or read where a matrix product has left it."""
    if AT_HAND:
        x += tl.load(BACK + pair[:, None] * W + columns[None, :], mask=stored, other=0.0)
    else:
        q = tl.load(Q + k[:, None] * W + columns[None, :], mask=(k < C)[:, None], other=0.0)
        x = tl.dot(z, q, x, input_precision=PRECISION)
    return x


@triton.jit
def _grid_forward(
    Z,
    Q,
    BASE,
    R,
    WEIGHTS,
    HIDDEN,
    BACK,
    LOSS,
    P: tl.constexpr,
    M: tl.constexpr,
    V: tl.constexpr,
    C: tl.constexpr,
    BC: tl.constexpr,
    PB: tl.constexpr,
    VP: tl.constexpr,
    BM: tl.constexpr,
    ROWS: tl.constexpr,
    GELU: tl.constexpr,
    AT_HAND: tl.constexpr,
    PRECISION: tl.constexpr,
):
    W: tl.constexpr = M + VP
    network = tl.program_id(1).to(tl.int64)
    pair = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    a, b = pair // PB, pair % PB
    v, k = tl.arange(0, VP), tl.arange(0, BC)
    stored = (pair < P * PB)[:, None]  # rows that exist, padding of b included
    real = stored & (b < P)[:, None]
    Z += network * P * PB * C
    Q += network * C * W
    BASE += network * P * W
    R += network * M * VP
    WEIGHTS += network * P * P
    HIDDEN += network * P * PB * M
    BACK += network * P * PB * W
    LOSS += network * P * PB

    # with the product at hand z is not needed, and the compiler drops the load
    z = tl.load(Z + pair[:, None] * C + k[None, :], mask=stored & (k < C)[None, :], other=0.0)
    logits = tl.load(BASE + b[:, None] * W + M + v[None, :], mask=real, other=0.0)
    logits = _projection(z, Q, BACK, pair, stored, M + v, k, C, W, logits, AT_HAND, PRECISION)
    for start in range(0, M, BM):
        m = start + tl.arange(0, BM)
        x = tl.load(BASE + b[:, None] * W + m[None, :], mask=real, other=0.0)
        x = _projection(z, Q, BACK, pair, stored, m, k, C, W, x, AT_HAND, PRECISION)
        post = activate(x, GELU)
        tl.store(HIDDEN + pair[:, None] * M + m[None, :], x if GELU else post, mask=stored)
        r = tl.load(R + m[:, None] * VP + v[None, :])
        logits = tl.dot(post, r, logits, input_precision=PRECISION)

    is_label = v[None, :] == ((a + b) % P)[:, None]
    weight = tl.load(WEIGHTS + a * P + b, mask=(pair < P * PB) & (b < P), other=0.0)
    loss, slope = weighted_loss(logits, is_label, v[None, :] >= V, weight)
    tl.store(LOSS + pair, loss, mask=pair < P * PB)
    tl.store(BACK + pair[:, None] * W + M + v[None, :], slope, mask=stored)


def grid_forward(
    z: Tensor,
    projected: Tensor,
    base: Tensor,
    readout: Tensor,
    weights: Tensor,
    hidden: Tensor,
    back: Tensor,
    loss: Tensor,
    *,
    outputs: int,
    gelu: bool,
    precision: str,
    at_hand: bool,
    launch: Launch,
) -> None:
    """Fill hidden (n, p, PB, m), the last VP columns of back (n, p, PB, W) with the slope, and loss (n, p, PB).

    z (n, p, PB, c), projected Q (n, c, W), base (n, p, W), readout R (n, m, VP), weights (n, p, p), all contiguous.
    at_hand: z Q is in `back` already. With many channels a library product is faster than one here.
    hidden may be float16 under tf32, which rounds it to as many digits anyway.
    """
    n, p, block, units = hidden.shape
    channels, width = projected.shape[1:]
    _grid_forward[(triton.cdiv(p * block, launch.rows), n)](
        z,
        projected,
        base,
        readout,
        weights,
        hidden,
        back,
        loss,
        P=p,
        M=units,
        V=outputs,
        C=channels,
        BC=16 if at_hand else max(16, triton.next_power_of_2(channels)),
        PB=block,
        VP=width - units,
        BM=launch.tile,
        ROWS=launch.rows,
        GELU=gelu,
        AT_HAND=at_hand,
        PRECISION=precision,
        num_warps=launch.warps,
        num_stages=launch.stages,
    )


def grid_reference(
    z: Tensor, projected: Tensor, base: Tensor, readout: Tensor, weights: Tensor, *, outputs: int, gelu: bool
) -> Tensor:
    """Loss per network (n,) from z (n, a, b, c) without padding, in plain torch, differentiable."""
    from algophase.training.loss import weighted_cross_entropy

    p, units = z.shape[1], readout.shape[1]
    x = z @ projected[:, None] + base[:, None]
    post = torch.nn.functional.gelu(x[..., :units]) if gelu else torch.relu(x[..., :units])
    logits = post @ readout[:, None] + x[..., units:]
    numbers = torch.arange(p, device=z.device)
    return weighted_cross_entropy(logits[..., :outputs], (numbers[:, None] + numbers) % p, weights)
