"""What attention hands each pair, and the way back.

    z[a, b, h] = A_1[h, a, b] v_1[h, a] + A_2[h, a, b] v_2[h, b]

    dA_1[h, a, b] = dz[a, b, h] . v_1[h, a]               dA_2[h, a, b] = dz[a, b, h] . v_2[h, b]
    dv_1[h, a] = sum_b A_1[h, a, b] dz[a, b, h]           dv_2[h, b] = sum_a A_2[h, a, b] dz[a, b, h]

With an equals sign there are two maps, A_1 and A_2, and v_1, v_2 are differences from the equals sign's value. With two
positions there is one, A: A_1 = A and A_2 = -A, so z = A (v_1 - v_2) and dA = dz . (v_1 - v_2).

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
    MAPS: tl.constexpr,
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
    A += network * MAPS * HEADS * P * P
    VALUES += network * 2 * P * row
    weight = tl.load(A + ((c // E)[None, :] * P + a) * P + b[:, None], mask=both, other=0.0)
    v1 = tl.load(VALUES + a * row + c, mask=in_c, other=0.0)
    v2 = tl.load(VALUES + (P + b[:, None]) * row + c[None, :], mask=both, other=0.0)
    place = ((network * P + a) * PB + b[:, None]) * z_row + c[None, :]
    if MAPS == 2:
        weight_2 = tl.load(A + ((HEADS + c // E)[None, :] * P + a) * P + b[:, None], mask=both, other=0.0)
        tl.store(Z + place, weight * v1[None, :] + weight_2 * v2, mask=in_c[None, :])
    else:
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
    MAPS: tl.constexpr,
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
    A += (network * MAPS * HEADS + h) * P * P
    dA += (network * MAPS * HEADS + h) * P * P
    VALUES += network * 2 * P * row
    dVALUES += network * 2 * P * d_row
    DZ += network * P * PB * (HEADS * E)
    v2 = tl.load(VALUES + (P + b[:, None]) * row + c[None, :], mask=both, other=0.0)
    dv2 = tl.zeros((PB, EP), tl.float32)
    for a in range(P):
        weight = tl.load(A + a * P + b, mask=in_b, other=0.0)
        v1 = tl.load(VALUES + a * row + c, mask=in_e, other=0.0)
        dz = tl.load(DZ + (a * PB + b[:, None]) * (HEADS * E) + c[None, :], mask=both, other=0.0)
        if MAPS == 2:
            second = (HEADS * P + a) * P + b  # this pair in A_2
            tl.store(dA + a * P + b, tl.sum(dz * v1[None, :], axis=1), mask=in_b)
            tl.store(dA + second, tl.sum(dz * v2, axis=1), mask=in_b)
            dv2 += tl.load(A + second, mask=in_b, other=0.0)[:, None] * dz
        else:
            tl.store(dA + a * P + b, tl.sum(dz * (v1[None, :] - v2), axis=1), mask=in_b)
        weighted = weight[:, None] * dz
        tl.store(dVALUES + a * d_row + c, tl.sum(weighted, axis=0), mask=in_e)
        if MAPS == 1:
            dv2 -= weighted
    tl.store(dVALUES + (P + b[:, None]) * d_row + c[None, :], dv2, mask=both)


def mix(attention: Tensor, values: Tensor, z: Tensor) -> None:
    """Fill the first c columns of z (n, p, PB, any). attention (n, 1 or 2, h, p, p) contiguous, values (n, 2p, c) with unit
    stride in c."""
    n, maps, heads, p, _ = attention.shape
    channels = values.shape[2]
    most = 128 if maps == 1 else min(128, 4096 // z.shape[2])  # two maps in larger tiles would not fit into the registers
    block = min(most, triton.next_power_of_2(channels))
    _mix[(p, triton.cdiv(channels, block), n)](
        attention,
        values,
        z,
        values.stride(1),
        z.stride(2),
        P=p,
        MAPS=maps,
        HEADS=heads,
        E=channels // heads,
        C=channels,
        PB=z.shape[2],
        BC=block,
        num_warps=4,
    )


def mix_backward(attention: Tensor, values: Tensor, dz: Tensor, d_attention: Tensor, d_values: Tensor) -> None:
    """Fill d_attention (n, 1 or 2, h, p, p) and d_values (n, 2p, c), given dz (n, p, PB, c), all contiguous."""
    n, maps, heads, p, _ = attention.shape
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
        MAPS=maps,
        HEADS=heads,
        E=size,
        EP=triton.next_power_of_2(size),
        PB=dz.shape[2],
        num_warps=4,
    )


def mix_reference(attention: Tensor, values: Tensor) -> Tensor:
    """z (n, a, b, c) in plain torch, differentiable."""
    maps, heads, p = attention.shape[1:4]
    v1, v2 = values[:, :p].unflatten(2, (heads, -1)), values[:, p:].unflatten(2, (heads, -1))
    first = attention[:, 0].permute(0, 2, 3, 1)[..., None]  # (n, a, b, h, 1)
    second = attention[:, 1].permute(0, 2, 3, 1)[..., None] if maps == 2 else -first
    return (first * v1[:, :, None] + second * v2[:, None]).flatten(3)
