"""A proof for less than brute force: a lower bound on how many pairs are right, from advice.

Let x(a, b) be the stream that hidden units read, W_in and b their weights, W what they write, and
z = x Q. With x' = x (I - Q Y), N = (I - Q Y) W_in and A = (2 I - Y Q) Y W_in,

    pre = x W_in + b = z A + b + x' N                      for any Q and Y

so unit u differs from alpha_u times its merged unit, rho = (z, 1) C, by

    delta_u = pre_u - alpha_u rho_owner = (z, 1) K_u + x' N_u,    K_u = (A_u, b_u) - alpha_u C_owner

ReLU has slope at most 1 and relu(alpha rho) = alpha relu(rho), so what u gives differs by at most
|delta_u|. With Y_v the sum of alpha_u W_u over the units of merged unit v, h = relu(rho),
R = Y - S B - E, and mu any vector, the difference of two logits is at least

    l~[c] - l~[c'] - sum over groups g of |delta_g| |W_g[:, c] - W_g[:, c']|
                   - sum over groups g of |(h - mu)_g / d_g| |d_g (R_g[:, c] - R_g[:, c'])|
    l~ = h S B + h E + mu R + direct

by Cauchy-Schwarz, for any positive d. |(z, 1) K_g| is a quadratic form, and |x' N_g| is at most
|x'| |N_g|_F. Without a stream, h are the hidden units themselves and Y = W. Everything is a `Ball`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from algophase.certificates.advice import Advice, Reading
from algophase.certificates.balls import ACTIVATIONS, GELU_SLOPE, Array, Ball, exact, side_by_side
from algophase.certificates.forms import Form, Stream

ROOM = 1 + 1e-9  # for the rounding of sums of bounds, none of which is negative
ROUNDING_LEFT = 2.0**-50  # of the difference of two logits
FLOOR = 1e-290  # more than the squares of small numbers can lose by underflow

# Rows of the first operand -> merged units (rows, p, merged); and for each group of units how far
# its units can be from them, (rows, p).
Merged = Callable[[slice], tuple[Ball, list[Array]]]


def prove_compact(form: Form, right: NDArray[np.int64], advice: Advice) -> int:
    """How many pairs are right for certain. right: (p, p)."""
    proved = 0
    for rows, margins in least_margins(form, right, advice):
        is_right = np.arange(form.outputs) == right[rows][..., None]
        proved += int((is_right | (margins > 0)).all(axis=-1).sum())
    return proved


def least_margins(
    form: Form, right: NDArray[np.int64], advice: Advice
) -> Iterator[tuple[slice, Array]]:
    """Rows of pairs, and for each pair and output how far the right answer's logit is above that
    output's at least, (rows, p, outputs).
    """
    if advice.reading is None or form.stream is None:
        units, written, gaps = _all_units(form), form.readout, []
    else:
        units = _merged_units(form.stream, advice.reading)
        written = _merged_writes(form.readout, advice.reading)
        groups = advice.reading.groups
        gaps = [column_distances(form.readout[groups == g]) for g in range(groups.max() + 1)]
    writes, basis, entries = exact(advice.writes), exact(advice.basis), exact(advice.entries)
    left = written - writes @ basis - entries
    offset = exact(advice.center) @ left
    scaled = left * exact(advice.scales[:, None])
    members = [advice.groups == group for group in range(advice.groups.max() + 1)]
    left_gaps = [column_distances(scaled[chosen]) for chosen in members]
    for rows in form.slabs():
        hidden, apart = units(rows)
        logits = (hidden @ writes) @ basis + hidden @ entries + offset
        if form.direct is not None:
            logits = logits + form.direct(rows)
        answers = right[rows]
        bound: Array = np.zeros(logits.shape)
        for distance, gap in zip(apart, gaps, strict=True):
            bound += distance[..., None] * gap[answers]
        off_center = (hidden - exact(advice.center)).largest_size / advice.scales
        for chosen, gap in zip(members, left_gaps, strict=True):
            norms = np.sqrt(np.square(off_center[..., chosen]).sum(axis=-1) + FLOOR)
            bound += norms[..., None] * gap[answers]
        lowest = np.take_along_axis(logits.lower, answers[..., None], axis=-1)
        margins = lowest - logits.upper
        yield rows, margins - bound * ROOM - ROUNDING_LEFT * np.abs(margins)


def column_distances(matrix: Ball) -> Array:
    """Not below the distance of each two columns, (columns, columns)."""
    products = Ball(matrix.mid.T, matrix.rad.T) @ matrix
    squares = Ball(np.diag(products.mid), np.diag(products.rad))
    sums = squares[:, None] + squares[None]
    distances = sums - products - products
    return np.sqrt(np.maximum(distances.upper, 0.0)) * ROOM


def _all_units(form: Form) -> Merged:
    def of_rows(rows: slice) -> tuple[Ball, list[Array]]:
        return form.of_rows(rows)[0], []

    return of_rows


def _merged_writes(readout: Ball, reading: Reading) -> Ball:
    """What merged units write: the sum of alpha_u W_u over their units, (merged, outputs)."""
    sums = np.zeros((reading.reads.shape[1], len(reading.owners)))
    sums[reading.owners, np.arange(len(reading.owners))] = reading.factors
    return exact(sums) @ readout


def _merged_units(stream: Stream, reading: Reading) -> Merged:
    subspace, back, reads = (
        exact(part) for part in (reading.subspace, reading.back, reading.reads)
    )
    width, q = reading.subspace.shape
    kept = back @ stream.into_units  # Y W_in
    through = (exact(2 * np.eye(q)) - back @ subspace) @ kept  # A
    missed = stream.into_units - subspace @ kept  # N
    own = _with_row(through, stream.biases)
    apart = own - reads[:, reading.owners] * exact(reading.factors)  # K
    members = [reading.groups == group for group in range(reading.groups.max() + 1)]
    squares = [_outer(apart[:, chosen]) for chosen in members]
    missed_norms = []
    for chosen in members:
        squares_sum = np.square(missed[:, chosen].largest_size).sum()
        missed_norms.append(np.sqrt(squares_sum + FLOOR) * ROOM)
    coordinates = stream.written(subspace, exact(np.zeros(q)))
    outside = stream.lengths(exact(np.eye(width)) - subspace @ back)  # |x'|
    slope = GELU_SLOPE if stream.activation == "gelu" else 1.0
    activation = ACTIVATIONS[stream.activation]

    def of_rows(rows: slice) -> tuple[Ball, list[Array]]:
        z = coordinates(rows)
        with_one = side_by_side(z, exact(np.ones((*z.shape[:-1], 1))))
        far = outside(rows)
        distances = []
        for square, norm in zip(squares, missed_norms, strict=True):
            form_of_z = ((with_one @ square) * with_one).sum(axis=-1)
            length = np.sqrt(np.maximum(form_of_z.upper, 0.0))
            distances.append(slope * (length + far * norm) * ROOM)
        return activation(with_one @ reads), distances

    return of_rows


def _with_row(matrix: Ball, row: Ball) -> Ball:
    return Ball(np.vstack([matrix.mid, row.mid]), np.vstack([matrix.rad, row.rad]))


def _outer(matrix: Ball) -> Ball:
    """K K^T"""
    return matrix @ Ball(matrix.mid.T, matrix.rad.T)
