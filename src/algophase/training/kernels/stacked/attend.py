"""Attention over two or three positions, for the stacked engine: scores, interpolated softmax and
mixing in one pass each way.

    w_s = softmax_s(scale q . k_s),   z = sum_s (rate w_s + 1 - rate) v_s

backward, with g_s = rate dz . v_s:

    dv_s = (rate w_s + 1 - rate) dz,   e_s = scale w_s (g_s - sum_t w_t g_t)
    dq = sum_s e_s k_s,   dk_s = e_s q      (dk and dv summed over the asking positions)

Reference: `attend_reference` in training/engines/stacked.py. Each program owns its rows and one
head; nothing is added across programs. Measured: at the floor of memory traffic, with the ReLU
kernels 28% of an epoch of two layers (docs/notes/tuning.md).

Queries, keys and values may be columns of one tensor: a row of theirs is ROW_Q or ROW_K numbers
from the next.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from algophase.training.kernels.launch import launch

ROWS = 64


@triton.jit
def _softmax(q, K, at_k, is_value, step, S: tl.constexpr, scale):
    """w (rows, 4) over positions s < S."""
    s_index = tl.arange(0, 4)[None, :]
    scores = tl.where(s_index < S, 0.0, -float("inf")) + tl.zeros_like(tl.sum(q, axis=1))[:, None]
    for s in tl.static_range(S):
        k = tl.load(K + s * step + at_k, mask=is_value, other=0.0)
        scores += tl.where(s_index == s, (tl.sum(q * k, axis=1) * scale)[:, None], 0.0)
    scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    return scores / tl.sum(scores, axis=1)[:, None]


@triton.jit
def _pick(values, s: tl.constexpr):
    return tl.sum(tl.where(tl.arange(0, 4)[None, :] == s, values, 0.0), axis=1)


@triton.jit
def _forward(
    Q,
    K,
    V,
    Z,
    RATE,
    SCALE,
    B,
    ROW_Q: tl.constexpr,
    ROW_K: tl.constexpr,
    C: tl.constexpr,
    E: tl.constexpr,
    EP: tl.constexpr,
    S: tl.constexpr,
    SQ: tl.constexpr,
    ROWS: tl.constexpr,
):
    network = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, EP)
    e = tl.program_id(1) * E + lane
    is_value = (rows < B)[:, None] & (lane < E)[None, :]
    at_q = rows[:, None] * ROW_Q + e[None, :]
    at_k = rows[:, None] * ROW_K + e[None, :]
    at_z = rows[:, None] * C + e[None, :]
    K += network * S * B * ROW_K
    V += network * S * B * ROW_K
    Q += network * SQ * B * ROW_Q
    Z += network * SQ * B * C
    rate, scale = tl.load(RATE + network), tl.load(SCALE + network)
    for sq in tl.static_range(SQ):
        q = tl.load(Q + sq * B * ROW_Q + at_q, mask=is_value, other=0.0)
        w = _softmax(q, K, at_k, is_value, B * ROW_K, S, scale)
        z = tl.zeros((ROWS, EP), tl.float32)
        for s in tl.static_range(S):
            v = tl.load(V + s * B * ROW_K + at_k, mask=is_value, other=0.0)
            z += (rate * _pick(w, s) + 1.0 - rate)[:, None] * v
        tl.store(Z + sq * B * C + at_z, z, mask=is_value)


@triton.jit
def _backward(
    Q,
    K,
    V,
    dZ,
    dQ,
    dK,
    dV,
    RATE,
    SCALE,
    B,
    ROW_Q: tl.constexpr,
    ROW_K: tl.constexpr,
    C: tl.constexpr,
    E: tl.constexpr,
    EP: tl.constexpr,
    S: tl.constexpr,
    SQ: tl.constexpr,
    ROWS: tl.constexpr,
):
    network = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, EP)
    e = tl.program_id(1) * E + lane
    is_value = (rows < B)[:, None] & (lane < E)[None, :]
    at_q = rows[:, None] * ROW_Q + e[None, :]
    at_k = rows[:, None] * ROW_K + e[None, :]
    at_z = rows[:, None] * C + e[None, :]
    K += network * S * B * ROW_K
    V += network * S * B * ROW_K
    dK += network * S * B * ROW_K
    dV += network * S * B * ROW_K
    Q += network * SQ * B * ROW_Q
    dQ += network * SQ * B * ROW_Q
    dZ += network * SQ * B * C
    rate, scale = tl.load(RATE + network), tl.load(SCALE + network)
    s_index = tl.arange(0, 4)[None, :]
    for sq in tl.static_range(SQ):
        q = tl.load(Q + sq * B * ROW_Q + at_q, mask=is_value, other=0.0)
        dz = tl.load(dZ + sq * B * C + at_z, mask=is_value, other=0.0)
        w = _softmax(q, K, at_k, is_value, B * ROW_K, S, scale)
        g = tl.zeros_like(w)
        for s in tl.static_range(S):
            v = tl.load(V + s * B * ROW_K + at_k, mask=is_value, other=0.0)
            g += tl.where(s_index == s, (rate * tl.sum(dz * v, axis=1))[:, None], 0.0)
        slope = scale * w * (g - tl.sum(w * g, axis=1)[:, None])
        dq = tl.zeros((ROWS, EP), tl.float32)
        for s in tl.static_range(S):
            k = tl.load(K + s * B * ROW_K + at_k, mask=is_value, other=0.0)
            dq += _pick(slope, s)[:, None] * k
            dk = _pick(slope, s)[:, None] * q
            dv = (rate * _pick(w, s) + 1.0 - rate)[:, None] * dz
            if sq > 0:  # this program wrote them a moment ago; not measured against registers
                dk += tl.load(dK + s * B * ROW_K + at_k, mask=is_value, other=0.0)
                dv += tl.load(dV + s * B * ROW_K + at_k, mask=is_value, other=0.0)
            tl.store(dK + s * B * ROW_K + at_k, dk, mask=is_value)
            tl.store(dV + s * B * ROW_K + at_k, dv, mask=is_value)
        tl.store(dQ + sq * B * ROW_Q + at_q, dq, mask=is_value)


def _sizes(q: Tensor, k: Tensor, heads: int) -> dict[str, int]:
    _, asking, rows, width = q.shape
    size = width // heads
    return {
        "B": rows,
        "ROW_Q": q.stride(2),
        "ROW_K": k.stride(2),
        "C": width,
        "E": size,
        "EP": triton.next_power_of_2(size),
        "S": k.shape[1],
        "SQ": asking,
        "ROWS": ROWS,
        "num_warps": 4,
    }


def _grid(q: Tensor, heads: int) -> tuple[int, int, int]:
    n, _, rows, _ = q.shape
    return triton.cdiv(rows, ROWS), heads, n


def attend_forward(
    q: Tensor, k: Tensor, v: Tensor, heads: int, rate: Tensor, scale: Tensor
) -> Tensor:
    """z (n, asking, B, C) from q (n, asking, B, C) and k, v (n, s, B, C): columns of contiguous
    tensors.
    """
    z = torch.empty(q.shape, device=q.device, dtype=q.dtype)
    tensors = {"Q": q, "K": k, "V": v, "Z": z, "RATE": rate, "SCALE": scale}
    launch(_forward, _grid(q, heads), tensors, **_sizes(q, k, heads)).run()
    return z


def attend_backward(
    read: tuple[Tensor, Tensor, Tensor],
    written: tuple[Tensor, Tensor, Tensor],
    heads: int,
    rate: Tensor,
    scale: Tensor,
    dz: Tensor,
) -> None:
    """Into the gradients of q, k and v, laid out as they are."""
    q, k, v = read
    dq, dk, dv = written
    tensors = {"Q": q, "K": k, "V": v, "dZ": dz, "dQ": dq, "dK": dk, "dV": dv}
    tensors |= {"RATE": rate, "SCALE": scale}
    launch(_backward, _grid(q, heads), tensors, **_sizes(q, k, heads)).run()
