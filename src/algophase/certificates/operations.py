"""How many operations a proof takes: multiply-adds of matrix products, from the stored weights to
the verdict on the last pair.

Counted are tables of tokens, the attention of every pair, hidden units and logits; for a compact
proof whatever its bounds need of the advice, norms and quadratic forms among it, and answers that
are compared exactly. Entries of the
advice that are zero are not multiplied. Sums, activations, roots and comparisons are not counted,
here or for brute force. Finding advice is free. Brute force is the cheapest exact way that we know:
work on one token is done once per token, and W_out W_U is multiplied once.
"""

from dataclasses import dataclass

import numpy as np

from algophase.certificates.advice import Advice, Reading
from algophase.certificates.balls import Array
from algophase.certificates.forms import Form, Stream


@dataclass(frozen=True)
class Operations:
    """Of a compact proof and of brute force."""

    compact: int
    brute_force: int

    @property
    def share(self) -> float:
        return self.compact / self.brute_force


def count_operations(form: Form, advice: Advice) -> Operations:
    """Both counts for a network and the advice of its compact proof."""
    pairs = form.order**2
    brute_by_pair = form.layer_operations + form.units * form.outputs
    if form.stream is None or advice.reading is None:
        shared = form.table_operations
        compact = shared + pairs * form.layer_operations
        if form.tables is not None:
            compact += 2 * form.order * form.units * form.outputs
        brute = shared + pairs * brute_by_pair
    else:
        stream = form.stream
        shared = _shared(stream, form)
        compact = shared + _reading(stream, form, advice.reading)
        columns = form.units + form.outputs
        combined = _combined(stream) * columns
        brute = shared + _carried(stream, columns)
        brute += pairs * (combined + brute_by_pair)
    return Operations(compact + _writing(form, advice), brute)


def _nonzero(matrix: Array) -> int:
    return int(np.count_nonzero(matrix))


def _writing(form: Form, advice: Advice) -> int:
    """What merged units write, the bound on what S B misses, and answers that are left open."""
    outputs, merged = form.outputs, len(advice.writes)
    read_groups = 0
    if advice.reading is not None:
        read_groups = int(advice.reading.groups.max()) + 1
    writes, basis = _nonzero(advice.writes), _nonzero(advice.basis)
    left = writes * outputs  # R = Y - S B
    offset = merged * outputs  # mu R
    distances = merged * _column_pairs(outputs)
    logits = writes + basis
    norm = merged
    bounds = (read_groups + 1) * outputs
    by_pair = logits + norm + bounds
    exact_answers = sum(len(answers) + 1 for _, _, answers in advice.contested)
    by_all_pairs = form.order**2 * by_pair
    return left + offset + distances + by_all_pairs + merged * exact_answers


def _column_pairs(columns: int) -> int:
    return columns * (columns + 1) // 2


def _shared(stream: Stream, form: Form) -> int:
    """Values of the heads, attention, W_out W_U and b_out W_U."""
    width, inner = stream.into_units.shape[0], stream.inner_width
    values = stream.distinct_rows * width * inner
    readout = (form.units + 1) * width * form.outputs
    if stream.uniform:
        return values + readout
    asking = len(stream.tokens[-1].mid)
    scores = stream.token_rows * inner * asking
    return 3 * values + scores + readout


def _reading(stream: Stream, form: Form, reading: Reading) -> int:
    """What merged units read, how far units can be from them, and the linear share."""
    width, q = reading.subspace.shape
    units, outputs, inner = form.units, form.outputs, stream.inner_width
    groups = int(reading.groups.max()) + 1
    kept = q * width * units  # Y W_in
    through = q * width * q + q * q * units  # A
    missed = width * q * units  # N
    fixed = kept + through + missed
    apart = (q + 1) * units  # K
    squares = (q + 1) * apart  # K K^T
    fixed += apart + squares
    distances = units * _column_pairs(outputs)
    merged_writes = units * outputs
    fixed += distances + merged_writes
    linear = q * units * outputs + width * q * outputs
    linear_bias = units * outputs
    fixed += linear + linear_bias
    fixed += _carried(stream, q + outputs)
    outside = 2 * q * width  # of a row
    fixed += (inner + stream.distinct_rows) * outside
    fixed += stream.distinct_rows * inner * width
    asking = len(stream.tokens[-1].mid)
    norms = stream.heads * stream.token_rows + asking + units
    fixed += norms * width
    by_pair = _combined(stream) * (q + outputs + 1)
    quadratic = _column_pairs(q + 1) + q + 1
    by_pair += _nonzero(reading.reads) + groups * quadratic
    return fixed + form.order**2 * by_pair


def _carried(stream: Stream, columns: int) -> int:
    """Tables of what heads carry, and the last position itself, times a matrix with so many
    columns.
    """
    inner = stream.inner_width
    width = stream.into_units.shape[0]
    of_outputs = inner * width
    of_rows = stream.distinct_rows * (inner + width)
    return (of_outputs + of_rows) * columns


def _combined(stream: Stream) -> int:
    """Tables that a pair adds up, weighted."""
    return len(stream.tokens) * stream.heads
