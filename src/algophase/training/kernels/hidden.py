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


@triton.jit
def activate_both(x, GELU: tl.constexpr):
    """The activation and its slope. For GELU, the distribution function and the slope less 1/2 are x times a polynomial in x^2
    of least largest error (1.7e-6 and 1.3e-5, far below what float16 keeps), constant beyond 4.75 and 5: no special function."""
    if GELU:
        near = tl.minimum(tl.maximum(x, -4.75), 4.75)
        u = near * near * 0.0886426592797784 - 1.0
        v = -0.00403323118 + 0.00159055414 * u
        v = -0.0219352152 + u * (0.0137911728 + u * (-0.00668885093 + u * (0.00441878755 + u * v)))
        below = 0.5 + near * (
            0.148748219 + u * (-0.0736709163 + u * (0.0532428473 + u * (-0.0405072346 + u * (0.0303071588 + u * v))))
        )
        near = tl.minimum(tl.maximum(x, -5.0), 5.0)
        u = near * near * 0.08 - 1.0
        v = 0.0212279726 + u * (-0.0277218204 + u * (0.0465147458 - 0.0207201503 * u))
        v = 0.0770893693 + u * (-0.0853556097 + u * (0.0951200426 + u * (-0.0684477016 + u * v)))
        steep = 0.5 + near * (0.142130584 + u * (-0.0751227811 + u * (0.0668261796 + u * (-0.0715419054 + u * v))))
        return x * below, steep
    return tl.where(x <= 0.0, 0.0, x), tl.where(x > 0.0, 1.0, 0.0)
