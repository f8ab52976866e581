"""Numbers for half-precision products: float16 rounds to nearest and keeps eleven bits, but spans
only 2^-14 to 2^16. So what may be small or large is multiplied by an exact power of two first, and
the product by the one that undoes it."""

import triton
import triton.language as tl

# Deep networks: weights are kept in float16 as 16 times themselves and the stream as a sixteenth,
# so that a product of the two is right as it is. Weights then keep bits down to 4e-9, and the
# stream may grow to a million.
WEIGHT = tl.constexpr(16.0)
STREAM = tl.constexpr(1 / 16)
TILE = tl.constexpr(64)  # rows of a stream's gradient that share a power of two


@triton.jit
def exponent(x):
    """Biased exponent (0 to 253) of the largest magnitude in a matrix."""
    top = tl.max(tl.max(tl.abs(x), axis=1), axis=0)
    return tl.minimum(top.to(tl.int32, bitcast=True) >> 23, 253)


@triton.jit
def power(biased):
    """2 ** (biased - 127), and 0 for biased <= 0."""
    return (tl.maximum(biased, 0) << 23).to(tl.float32, bitcast=True)


@triton.jit
def up(biased):
    """The power of two that takes a largest element of that exponent to [2^12, 2^13): float16 then
    keeps all eleven bits of elements 2^26 times smaller, and sums of a few still fit."""
    return power(tl.minimum(266 - biased, 254))


@triton.jit
def down(biased):
    """The way back."""
    return power(biased - 12)


@triton.jit
def scaled(x):
    """A matrix in float16, and what its products are to be multiplied by."""
    top = exponent(x)
    return (x * up(top)).to(tl.float16), down(top)


@triton.jit
def rounded_product(a, b):
    """Of two float32 matrices, each rounded to float16."""
    a_half, a_back = scaled(a)
    b_half, b_back = scaled(b)
    return tl.dot(a_half, b_half) * a_back * b_back


@triton.jit
def halves(x):
    """A matrix as two in float16 that add up to 22 bits of it, and what their products are to be
    multiplied by.
    """
    top = exponent(x)
    x = x * up(top)
    first = x.to(tl.float16)
    return first, (x - first.to(tl.float32)).to(tl.float16), down(top)


@triton.jit
def product(a, b):
    """Of two float32 matrices, to about float32's precision."""
    a_first, a_second, a_back = halves(a)
    b_first, b_second, b_back = halves(b)
    total = tl.dot(a_first, b_second, tl.dot(a_second, b_first))
    return tl.dot(a_first, b_first, total) * a_back * b_back


@triton.jit
def onto(a, b, total, rest):
    """a b added to a product of two float32 matrices below 2^16 in size, which is total + rest /
    2^11: what float16 leaves of each operand is kept 2^11 times larger. Needs no look at the
    largest element, but elements below 1e-11 count as zero."""
    a_first, b_first = a.to(tl.float16), b.to(tl.float16)
    a_second = ((a - a_first.to(tl.float32)) * 2048.0).to(tl.float16)
    b_second = ((b - b_first.to(tl.float32)) * 2048.0).to(tl.float16)
    rest = tl.dot(a_first, b_second, tl.dot(a_second, b_first, rest))
    return tl.dot(a_first, b_first, total), rest


@triton.jit
def parts(START, place, stride, COUNT: tl.constexpr):
    """Parts of a sum, added up in order."""
    total = tl.load(START + place)
    for part in tl.static_range(1, COUNT):
        total += tl.load(START + part * stride + place)
    return total


@triton.jit
def unit(x, LEAST: tl.constexpr = 0):
    """A matrix in float16 with its largest element in [1, 2), and that element's exponent, or
    LEAST.
    """
    top = tl.maximum(exponent(x), LEAST)
    return (x * power(254 - top)).to(tl.float16), top
