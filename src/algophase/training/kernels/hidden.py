"""The activation and its slope, as all kernels of the grid take them."""

import triton
import triton.language as tl


@triton.jit
def activate_both(x, GELU: tl.constexpr):
    """relu(x), or x Phi(x) for GELU, and its slope. On a GPU a maximum would turn NaN into 0, and a
    network that diverges would not show. For GELU, the distribution function and the slope less 1/2
    are x times a polynomial in x^2 of least largest error (1.7e-6 and 1.3e-5, far below what
    float16 keeps): no special function. Beyond 4.75 and 5 they are constant, and exactly
    right: of units that never fire there can be so many that any slope of theirs would show in a
        gradient."""
    if GELU:
        near = tl.minimum(tl.maximum(x, -4.75), 4.75)
        u = near * near * 0.0886426592797784 - 1.0
        v = 0.00198793889 + u * (-0.00245385179 + u * 0.00158034413)
        v = 0.0174505508 + u * (-0.0128622117 + u * (0.00907429847 + u * (-0.00469896095 + u * v)))
        v = -0.0434850645 + u * (0.0301858726 + u * (-0.0230563724 + u * v))
        below = 0.5 + near * (0.5 / 4.75 + (u - 1.0) * v)
        near = tl.minimum(tl.maximum(x, -5.0), 5.0)
        u = near * near * 0.08 - 1.0
        v = 0.01903469 + u * (-0.00215342603 + u * (0.025974255 - 0.0205580306 * u))
        v = 0.03768556 + u * (-0.0393939288 + u * (0.0461040713 + u * (-0.0490472749 + u * v)))
        v = -0.0421305628 + u * (0.032993174 + u * (-0.0338340739 + u * v))
        steep = 0.5 + near * (0.1 + (u - 1.0) * v)
        return x * below, steep
    return tl.where(x <= 0.0, 0.0, x), tl.where(x > 0.0, 1.0, 0.0)
