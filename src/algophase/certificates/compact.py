"""A proof for less than brute force: a lower bound on how many pairs are right, from advice.

An activation is act(x) = l x + e(x): a linear share, and an even part e whose slope is at most s
(ReLU: l = s = 1/2, e(x) = |x| / 2). Let x(a, b) be the stream that hidden units read, W_in and b
their weights, W what they write, z = x Q, x' = x (I - Q Y), N = (I - Q Y) W_in and
A = (2 I - Y Q) Y W_in. Then

    pre = x W_in + b = z A + b + x' N                      for any Q and Y

and unit u differs from alpha_u times its merged unit, rho = (z, 1) C, by

    delta_u = pre_u - alpha_u rho_owner = (z, 1) K_u + x' N_u,    K_u = (A_u, b_u) - alpha_u C_owner

e is even, and e(alpha rho) = |alpha| e(rho) (ReLU; for other activations alpha is 1 or -1), so what
u gives of e differs by at most s |delta_u|. With Y_v the sum of |alpha_u| W_u over the units of
merged unit v, h = e(rho), R = Y - S B, and mu any vector, the difference of two logits is at least

    l~[c] - l~[c'] - sum over groups g of (s |(z, 1) K_g| + (s + l) |x'| |N_g|) |W_g[c] - W_g[c']|
                   - |(h - mu) / d| |d (R[c] - R[c'])|
    l~ = h S B + mu R + l (z A + b) W + past

by Cauchy-Schwarz, for any positive d. |(z, 1) K_g| is the root of a quadratic form. Without a
stream h = e(pre), Y = W, and l pre W comes from a table of each operand; where units do not read
such a sum, h are the units themselves and l = 0. Everything is a `Ball`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from algophase.certificates.advice import Advice, Reading
from algophase.certificates.balls import (
    ACTIVATIONS,
    HALVES,
    Array,
    Ball,
    Halves,
    exact,
    side_by_side,
)
from algophase.certificates.forms import Form, OfRows, Stream

ROOM = 1 + 1e-9  # for the rounding of sums of bounds, none of which is negative
ROUNDING_LEFT = 2.0**-50  # of the difference of two logits
FLOOR = 1e-290  # more than the squares of small numbers can lose by underflow

# Rows of the first operand -> what (merged) units give (rows, p, merged); and for each group of
# units how far its units can be from that, (rows, p).
Given = Callable[[slice], tuple[Ball, list[Array]]]


def prove_compact(form: Form, right: NDArray[np.int64], advice: Advice) -> int:
    """How many pairs are right for certain. right: (p, p)."""
    proved = 0
    for rows, margins in least_margins(form, right, advice):
        answers = right[rows][..., None]
        is_right = np.arange(form.outputs) == answers
        is_above = is_right | (margins > 0)
        proved += int(is_above.all(axis=-1).sum())
    return proved


def least_margins(
    form: Form, right: NDArray[np.int64], advice: Advice
) -> Iterator[tuple[slice, Array]]:
    """Rows of pairs, and for each pair and output how far the right answer's logit is above that
    output's at least, (rows, p, outputs).
    """
    gaps: list[Array] = []
    past: OfRows | None
    if advice.reading is not None and form.stream is not None:
        reading, groups = advice.reading, advice.reading.groups
        units_of, past = _merged_units(form, form.stream, reading)
        written = _merged_writes(form.readout, reading)
        for group in range(groups.max() + 1):
            chosen = groups == group
            gaps.append(column_distances(form.readout[chosen]))
    else:
        units_of, past = _all_units(form)
        written = form.readout
    writes, basis = exact(advice.writes), exact(advice.basis)
    center = exact(advice.center)
    left = written - writes @ basis
    offset = center @ left
    scales = exact(advice.scales[:, None])
    left_gap = column_distances(left * scales)
    for rows in form.slabs():
        hidden, apart = units_of(rows)
        logits = (hidden @ writes) @ basis + offset
        if past is not None:
            logits = logits + past(rows)
        answers = right[rows]
        off_center = (hidden - center).largest_size / advice.scales
        squares = np.square(off_center).sum(axis=-1)
        norms = np.sqrt(squares + FLOOR)
        bound = norms[..., None] * left_gap[answers]
        for distance, gap in zip(apart, gaps, strict=True):
            bound += distance[..., None] * gap[answers]
        margins = _margins(logits, answers)
        rounding = ROUNDING_LEFT * np.abs(margins)
        margins = margins - bound * ROOM - rounding
        _compare_exactly(form, advice, rows, answers, margins)
        yield rows, margins


def _margins(logits: Ball, answers: NDArray[np.int64]) -> Array:
    """How far the right answer's logit is above each at least."""
    chosen = answers[..., None]
    lowest: Array = np.take_along_axis(logits.lower, chosen, axis=-1)
    return lowest - logits.upper


def _compare_exactly(
    form: Form, advice: Advice, rows: slice, answers: NDArray[np.int64], margins: Array
) -> None:
    """Put the margins of the network's own logits where the advice leaves an answer open."""
    chosen = range(form.order)[rows]
    left_open = [entry for entry in advice.contested if entry[0] in chosen]
    if not left_open:
        return
    exact_margins = _margins(form.logits(rows), answers)
    for a, b, open_answers in left_open:
        row = a - chosen.start
        margins[row, b, open_answers] = exact_margins[row, b, open_answers]


def column_distances(matrix: Ball) -> Array:
    """Not below the distance of each two columns, (columns, columns)."""
    transposed = Ball(matrix.mid.T, matrix.rad.T)
    products = transposed @ matrix
    squares = Ball(np.diag(products.mid), np.diag(products.rad))
    sums = squares[:, None] + squares[None]
    distances = sums - products - products
    lengths = np.sqrt(np.maximum(distances.upper, 0.0))
    return lengths * ROOM


def _all_units(form: Form) -> tuple[Given, OfRows | None]:
    """What units give without a stream, and what goes past them."""
    halves = HALVES[form.activation]
    activation = ACTIVATIONS[form.activation]
    if form.tables is None:
        return (lambda rows: (activation(form.read(rows)), [])), form.past
    of_first, of_second = form.tables
    first = _scaled(of_first @ form.readout, halves.share)
    second = _scaled(of_second @ form.readout, halves.share)

    def past(rows: slice) -> Ball:
        return first[rows, None] + second[None]

    return (lambda rows: (halves.even(form.read(rows)), [])), past


def _scaled(ball: Ball, factor: float) -> Ball:
    """Times 0, 1/2 or 1, without a rounding but for underflow."""
    return Ball(ball.mid * factor, ball.rad * factor + FLOOR)


def _merged_writes(readout: Ball, reading: Reading) -> Ball:
    """What merged units write: the sum of |alpha_u| W_u over their units, (merged, outputs)."""
    merged, units = reading.reads.shape[1], len(reading.owners)
    sums = np.zeros((merged, units))
    every_unit = np.arange(units)
    sums[reading.owners, every_unit] = np.abs(reading.factors)
    return exact(sums) @ readout


def _merged_units(form: Form, stream: Stream, reading: Reading) -> tuple[Given, OfRows]:
    """What merged units give, how far the units of each group can be, and what goes past them."""
    halves = HALVES[form.activation]
    subspace, back = exact(reading.subspace), exact(reading.back)
    width, q = reading.subspace.shape
    kept = back @ stream.into_units  # Y W_in
    twice = exact(2 * np.eye(q))
    through = (twice - back @ subspace) @ kept  # A
    missed = stream.into_units - subspace @ kept  # N
    through_units = through @ form.readout
    linear = _scaled(subspace @ through_units, halves.share)
    of_biases = stream.biases @ form.readout
    past_bias = stream.past_bias + _scaled(of_biases, halves.share)
    past = stream.written(stream.unembedding + linear, past_bias)
    mid = np.vstack([through.mid, stream.biases.mid])
    rad = np.vstack([through.rad, stream.biases.rad])
    own = Ball(mid, rad)
    reads = exact(reading.reads)
    merged_reads = reads[:, reading.owners]
    apart = own - merged_reads * exact(reading.factors)  # K
    no_bias = exact(np.zeros(q))
    coordinates = stream.written(subspace, no_bias)
    identity = exact(np.eye(width))
    outside = stream.lengths(identity - subspace @ back)  # |x'|
    distances = _distances_of_groups(apart, missed, reading, halves)

    def units_of(rows: slice) -> tuple[Ball, list[Array]]:
        z = coordinates(rows)
        pairs = z.shape[:-1]
        ones = exact(np.ones((*pairs, 1)))
        with_one = side_by_side(z, ones)
        merged = halves.even(with_one @ reads)
        return merged, distances(with_one, outside(rows))

    return units_of, past


def _distances_of_groups(
    apart: Ball, missed: Ball, reading: Reading, halves: Halves
) -> Callable[[Ball, Array], list[Array]]:
    """(z, 1) and |x'| of pairs -> s |(z, 1) K_g| + (s + l) |x'| |N_g| of every group g."""
    assert halves.slope is not None
    slope, share = halves.slope, halves.share
    squares, missed_norms = [], []
    for group in range(reading.groups.max() + 1):
        chosen = reading.groups == group
        part = apart[:, chosen]
        transposed = Ball(part.mid.T, part.rad.T)
        squares.append(part @ transposed)
        sizes = missed[:, chosen].largest_size
        of_missed = np.square(sizes).sum()
        missed_norms.append(np.sqrt(of_missed + FLOOR) * ROOM)

    def of_pairs(with_one: Ball, far: Array) -> list[Array]:
        distances = []
        for square, norm in zip(squares, missed_norms, strict=True):
            products = (with_one @ square) * with_one
            form_of_z = products.sum(axis=-1)
            length = np.sqrt(np.maximum(form_of_z.upper, 0.0))
            beyond = (slope + share) * far * norm
            distances.append((slope * length + beyond) * ROOM)
        return distances

    return of_pairs
