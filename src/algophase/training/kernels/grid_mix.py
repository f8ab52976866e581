"""What attention hands each pair, and the way back.

    z[a, b, h] = A[h, a, b] (v_1[h, a] - v_2[h, b])

    dA[h, a, b] = dz[a, b, h] . (v_1[h, a] - v_2[h, b])
    dv_1[h, a]  = sum_b A[h, a, b] dz[a, b, h]            dv_2[h, b] = -sum_a A[h, a, b] dz[a, b, h]

Channels c = (h, e). Rows b are padded to PB with zeros. A program of the backward takes one head and walks through a,
dv_2 in registers. Reference: `mix_reference`.
"""

import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _mix(
    A,
    VALUES,
    Z,
    row,
    z_row,
    P: tl.constexpr,
    HEADS: tl.constexpr,
    E: tl.constexpr,
    C: tl.constexpr,
    PB: tl.constexpr,
    BC: tl.constexpr,
):
    network = tl.program_id(2).to(tl.int64)
    a = tl.program_id(0)
    b, c = tl.arange(0, PB), tl.program_id(1) * BC + tl.arange(0, BC)
    in_b, in_c = b < P, c < C
    both = in_b[:, None] & in_c[None, :]
    A += network * HEADS * P * P
    VALUES += network * 2 * P * row
    weight = tl.load(A + ((c // E)[None, :] * P + a) * P + b[:, None], mask=both, other=0.0)
    v1 = tl.load(VALUES + a * row + c, mask=in_c, other=0.0)
    v2 = tl.load(VALUES + (P + b[:, None]) * row + c[None, :], mask=both, other=0.0)
    place = ((network * P + a) * PB + b[:, None]) * z_row + c[None, :]
    tl.store(Z + place, weight * (v1[None, :] - v2), mask=in_c[None, :])


@triton.jit
def _mix_backward(
    A,
    VALUES,
    DZ,
    dA,
    dVALUES,
    row,
    d_row,
    P: tl.constexpr,
    HEADS: tl.constexpr,
    E: tl.constexpr,
    EP: tl.constexpr,
    PB: tl.constexpr,
):
    network = tl.program_id(1).to(tl.int64)
    h = tl.program_id(0)
    b, lane = tl.arange(0, PB), tl.arange(0, EP)
    in_b, in_e = b < P, lane < E
    both = in_b[:, None] & in_e[None, :]
    c = h * E + lane
    A += (network * HEADS + h) * P * P
    dA += (network * HEADS + h) * P * P
    VALUES += network * 2 * P * row
    dVALUES += network * 2 * P * d_row
    DZ += network * P * PB * (HEADS * E)
    v2 = tl.load(VALUES + (P + b[:, None]) * row + c[None, :], mask=both, other=0.0)
    dv2 = tl.zeros((PB, EP), tl.float32)
    for a in range(P):
        weight = tl.load(A + a * P + b, mask=in_b, other=0.0)
        v1 = tl.load(VALUES + a * row + c, mask=in_e, other=0.0)
        dz = tl.load(DZ + (a * PB + b[:, None]) * (HEADS * E) + c[None, :], mask=both, other=0.0)
        tl.store(dA + a * P + b, tl.sum(dz * (v1[None, :] - v2), axis=1), mask=in_b)
        weighted = weight[:, None] * dz
        tl.store(dVALUES + a * d_row + c, tl.sum(weighted, axis=0), mask=in_e)
        dv2 -= weighted
    tl.store(dVALUES + (P + b[:, None]) * d_row + c[None, :], dv2, mask=both)


def mix(attention: Tensor, values: Tensor, z: Tensor) -> None:
    """Fill the first c columns of z (n, p, PB, any). attention (n, h, p, p), values (n, 2p, c) with unit stride in c."""
    n, heads, p, _ = attention.shape
    channels = values.shape[2]
    block = min(128, triton.next_power_of_2(channels))
    _mix[(p, triton.cdiv(channels, block), n)](
        attention,
        values,
        z,
        values.stride(1),
        z.stride(2),
        P=p,
        HEADS=heads,
        E=channels // heads,
        C=channels,
        PB=z.shape[2],
        BC=block,
        num_warps=4,
    )


def mix_backward(attention: Tensor, values: Tensor, dz: Tensor, d_attention: Tensor, d_values: Tensor) -> None:
    """Fill d_attention (n, h, p, p) and d_values (n, 2p, c), given dz (n, p, PB, c) contiguous."""
    n, heads, p, _ = attention.shape
    size = values.shape[2] // heads
    _mix_backward[(heads, n)](
        attention,
        values,
        dz,
        d_attention,
        d_values,
        values.stride(1),
        d_values.stride(1),
        P=p,
        HEADS=heads,
        E=size,
        EP=triton.next_power_of_2(size),
        PB=dz.shape[2],
        num_warps=4,
    )


def mix_reference(attention: Tensor, values: Tensor) -> Tensor:
    """z (n, a, b, c) in plain torch, differentiable."""
    heads, p = attention.shape[1:3]
    v1, v2 = values[:, :p].unflatten(2, (heads, -1)), values[:, p:].unflatten(2, (heads, -1))
    difference = v1[:, :, None] - v2[:, None]  # (n, a, b, h, e)
    return (attention.permute(0, 2, 3, 1)[..., None] * difference).flatten(3)
