"""What several kernels do: powers of two, products that keep more bits than float16, sums in parts,
token tables, the one-hot base, right answers, the activation.

float16 rounds to nearest and keeps eleven bits, but spans only 2^-14 to 2^16. So what may be small
or large is multiplied by an exact power of two first, and the product by the one that undoes it.
A power of two is kept as the biased exponent of a float32: 2^(biased - 127).

Parameters in capitals are pointers or sizes. PARAMETERS and GRADIENTS are a network's row of the
flat buffers, AT_... where a tensor starts in it.
"""

import triton
import triton.language as tl

# Deep networks: weights are kept in float16 as 16 times themselves and the stream as a sixteenth,
# so that a product of the two is right as it is. Weights then keep bits down to 4e-9, and the
# stream may grow to a million.
WEIGHT_UNIT = tl.constexpr(16.0)
STREAM_UNIT = tl.constexpr(1 / 16)
TILE = tl.constexpr(64)  # rows of a stream's gradient that share a power of two


# Powers of two


@triton.jit
def exponent(x):
    """Biased exponent (0 to 253) of the largest magnitude in a matrix."""
    largest = tl.max(tl.max(tl.abs(x), axis=1), axis=0)
    return tl.minimum(largest.to(tl.int32, bitcast=True) >> 23, 253)


@triton.jit
def power(biased):
    """2^(biased - 127), and 0 for biased <= 0."""
    return (tl.maximum(biased, 0) << 23).to(tl.float32, bitcast=True)


@triton.jit
def power_between(biased, reference):
    """2^(biased - reference), and 0 where that is too small."""
    return power(biased - reference + 127)


@triton.jit
def scale_up(biased):
    """The power of two that takes a largest element of that exponent to [2^12, 2^13): float16 then
    keeps all eleven bits of elements 2^26 times smaller, and sums of a few still fit."""
    return power(tl.minimum(266 - biased, 254))


@triton.jit
def scale_down(biased):
    """The way back: 1 / scale_up(biased)."""
    return power(biased - 12)


@triton.jit
def largest_exponent(EXPONENTS, COUNT: tl.constexpr, COUNT_P: tl.constexpr):
    """The largest of COUNT exponents. COUNT_P: padded to a power of two."""
    index = tl.arange(0, COUNT_P)
    return tl.max(tl.load(EXPONENTS + index, mask=index < COUNT, other=0), axis=0)


@triton.jit
def scaled(x):
    """A matrix in float16, and what its products are to be multiplied by."""
    top = exponent(x)
    return (x * scale_up(top)).to(tl.float16), scale_down(top)


@triton.jit
def to_unit(x, top):
    """x 2^(127 - top) in float16: in [1, 2) what has that exponent."""
    return (x * power(254 - top)).to(tl.float16)


@triton.jit
def in_unit(x, LEAST: tl.constexpr = 0):
    """A matrix in float16 with its largest element in [1, 2), and that element's exponent, or
    LEAST.
    """
    top = tl.maximum(exponent(x), LEAST)
    return to_unit(x, top), top


# Products of float32 matrices


@triton.jit
def rounded_product(a, b):
    """a b, each rounded to float16."""
    a_half, a_back = scaled(a)
    b_half, b_back = scaled(b)
    return tl.dot(a_half, b_half) * a_back * b_back


@triton.jit
def halves(x):
    """x = (first + second) back: two matrices in float16 that add up to 22 bits of it, and what
    their products are to be multiplied by.
    """
    top = exponent(x)
    x = x * scale_up(top)
    first = x.to(tl.float16)
    return first, (x - first.to(tl.float32)).to(tl.float16), scale_down(top)


@triton.jit
def product(a, b):
    """a b to about float32's precision: a_1 b_1 + a_1 b_2 + a_2 b_1, with `halves` of each."""
    a_first, a_second, a_back = halves(a)
    b_first, b_second, b_back = halves(b)
    total = tl.dot(a_first, b_second, tl.dot(a_second, b_first))
    return tl.dot(a_first, b_first, total) * a_back * b_back


@triton.jit
def add_product(a, b, total, rest):
    """a b added to a product that is total + rest / 2^11, of float32 matrices below 2^16 in size:
    what float16 leaves of each operand is kept 2^11 times larger. Needs no look at the largest
    element, but elements below 1e-11 count as zero."""
    a_first, b_first = a.to(tl.float16), b.to(tl.float16)
    a_second = ((a - a_first.to(tl.float32)) * 2048.0).to(tl.float16)
    b_second = ((b - b_first.to(tl.float32)) * 2048.0).to(tl.float16)
    rest = tl.dot(a_first, b_second, tl.dot(a_second, b_first, rest))
    return tl.dot(a_first, b_first, total), rest


# Sums in parts


@triton.jit
def sum_of_parts(START, offsets, stride, COUNT: tl.constexpr):
    """START[offsets] + START[offsets + stride] + ..., COUNT of them, added up in order."""
    total = tl.load(START + offsets)
    for part in tl.static_range(1, COUNT):
        total += tl.load(START + part * stride + offsets)
    return total


@triton.jit
def store_in_parts(TARGET, x, stride):
    """x = part_1 + part_2 + part_3: a float32 matrix as three in float16, stride apart."""
    first = x.to(tl.float16)
    remainder = x - first.to(tl.float32)
    second = remainder.to(tl.float16)
    tl.store(TARGET, first)
    tl.store(TARGET + stride, second)
    tl.store(TARGET + 2 * stride, (remainder - second.to(tl.float32)).to(tl.float16))


# Tables over tokens


@triton.jit
def token_inputs(
    PARAMETERS,
    position,
    i,
    d,
    AT_EMBED: tl.constexpr,
    AT_POS: tl.constexpr,
    P: tl.constexpr,
    SECOND: tl.constexpr,
    EQUALS: tl.constexpr,
    D: tl.constexpr,
):
    """x[i] = embed[token(i)] + pos[position], columns d: what the stream starts from, zero in
    padding. position: 0, 1, or 2 for the equals sign. SECOND: the first token of the second
    operand; EQUALS: the equals sign's token, or 0."""
    token = tl.where(position == 0, i, tl.where(position == 1, SECOND + i, EQUALS))
    is_token = (i < P)[:, None]
    embedded = tl.load(
        PARAMETERS + AT_EMBED + token[:, None] * D + d[None, :], mask=is_token, other=0.0
    )
    at_position = tl.load(PARAMETERS + AT_POS + position * D + d)[None, :]
    return tl.where(is_token, embedded + at_position, 0.0)


@triton.jit
def token_table(
    PARAMETERS,
    position,
    matrix,
    i,
    c,
    AT_EMBED: tl.constexpr,
    AT_POS: tl.constexpr,
    AT_QKV: tl.constexpr,
    P: tl.constexpr,
    SECOND: tl.constexpr,
    EQUALS: tl.constexpr,
    PA: tl.constexpr,
    D: tl.constexpr,
    C: tl.constexpr,
    BC: tl.constexpr,
    BK: tl.constexpr,
):
    """x W of every token (PA, BC), to 22 bits: BC columns c of W_Q, W_K or W_V (matrix 0, 1, 2)."""
    total = tl.zeros((PA, BC), tl.float32)
    for first in range(0, D, BK):
        d = first + tl.arange(0, BK)
        x = token_inputs(PARAMETERS, position, i, d, AT_EMBED, AT_POS, P, SECOND, EQUALS, D)
        weights = tl.load(PARAMETERS + AT_QKV + d[:, None] * (3 * C) + matrix * C + c[None, :])
        total += product(x, weights)
    return total


@triton.jit
def store_operand_gradients(
    EMBEDDING, POSITION, dx_1, dx_2, is_token, SECOND: tl.constexpr, D: tl.constexpr
):
    """d embed[token] = dx of every position that has the token; d pos = sum of dx over tokens: of
    both operands (tokens, columns). EMBEDDING: of the first operand's tokens; POSITION: of the
    first position."""
    if SECOND > 0:
        tl.store(EMBEDDING, dx_1, mask=is_token)
        tl.store(EMBEDDING + SECOND * D, dx_2, mask=is_token)
    else:
        tl.store(EMBEDDING, dx_1 + dx_2, mask=is_token)
    tl.store(POSITION, tl.sum(dx_1, axis=0))
    tl.store(POSITION + D, tl.sum(dx_2, axis=0))


# The base as a product with one-hot rows: a tile of rows has at most S successive b


@triton.jit
def one_hot(b, j, S: tl.constexpr):
    """(rows, KB) float16: 1 where column j stands for a row's b, once for each part of the base."""
    return ((j[None, :] % S == b[:, None] % S) & (j[None, :] < 3 * S)).to(tl.float16)


@triton.jit
def b_of_column(first_b, j, S: tl.constexpr):
    """The b that a column of the one-hot stands for, where the first row has first_b."""
    return first_b + ((j - first_b) & (S - 1))


@triton.jit
def base_rows(first_b, j, S: tl.constexpr, BP: tl.constexpr):
    """Rows of BASE that belong to the columns of the one-hot: part j // S of b."""
    return tl.minimum(j // S, 2) * BP + b_of_column(first_b, j, S)


# The right answers of a task that is not addition under its own names


@triton.jit
def looked_up(LABELS, pair):
    """The right answer to each pair a + 256 b."""
    return tl.load(LABELS + pair).to(tl.int32)


# The activation


@triton.jit
def activate_both(x, GELU: tl.constexpr):
    """relu(x), or x Phi(x) for GELU, and its slope. On a GPU a maximum would turn NaN into 0, and a
    network that diverges would not show. For GELU, the distribution function and the slope less 1/2
    are x times a polynomial in x^2 of least largest error (1.7e-6 and 1.3e-5, far below what
    float16 keeps): no special function. Beyond 4.75 and 5 they are constant, and exactly right: of
    units that never fire there can be so many that any slope of theirs would show in a gradient
    (W_in was off by 0.26 at width 512, and is by 0.006)."""
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
