"""Pieces both grid kernels share: the activation and its slope."""

import triton
import triton.language as tl


@triton.jit
def activate(x, GELU: tl.constexpr):
    """relu(x), or x Phi(x) for GELU. On a GPU a maximum would turn NaN into 0, and a network that diverges would not show."""
    if GELU:
        return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    return tl.where(x <= 0.0, 0.0, x)


@triton.jit
def activation_slope(x, GELU: tl.constexpr):
    """1 where x > 0, or Phi(x) + x phi(x) for GELU."""
    if GELU:
        return 0.5 * (1.0 + tl.erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * tl.exp(-0.5 * x * x)
    return tl.where(x > 0.0, 1.0, 0.0)
