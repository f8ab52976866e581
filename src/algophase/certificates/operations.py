"""How many operations a proof takes. A multiply-add, an addition, a comparison, an activation, an
exponential or a root is one operation.

Counted is everything from the stored weights to the verdict on the last pair: tables of tokens, the
attention of every pair, hidden units, logits, comparisons; for a compact proof also whatever
its bounds need of the advice. Finding advice is free. Brute force is the cheapest exact way that we
know: work on one token is done once per token, and W_out W_U is multiplied once.
"""

from dataclasses import dataclass

from algophase.certificates.advice import Advice
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
    n, v, units = form.order, form.outputs, form.units
    merged, nonzero = len(advice.writes), _nonzero(advice)
    write_groups = int(advice.groups.max()) + 1
    # Distances between columns of a matrix: its products of columns, then one root each.
    of_columns = v * (v + 1) // 2
    fixed = nonzero["writes"] * v + nonzero["entries"] + merged * v
    fixed += (merged + write_groups) * of_columns
    by_pair = nonzero["writes"] + nonzero["basis"] + nonzero["entries"]
    by_pair += 2 * merged + write_groups * v + 2 * v
    if form.stream is None or advice.reading is None:
        brute = form.table_operations + n * n * (form.unit_operations + units * v + v)
        return Operations(
            form.table_operations + fixed + n * n * (form.unit_operations + by_pair), brute
        )
    stream = form.stream
    width, q = advice.reading.subspace.shape
    read_groups = int(advice.reading.groups.max()) + 1
    square = (q + 1) * (q + 2) // 2
    attention = _attention(stream)
    readout = units * width * v
    brute = attention + _carried(stream, units + v) + readout
    brute += n * n * (_combined(stream, units + v) + units + units * v + v)
    inner = stream.inner_width
    lengths = 2 * inner * width * q + stream.distinct_rows * (inner * width + 2 * width * q)
    lengths += 2 * (stream.heads + 1) * stream.token_rows * width
    fixed += attention + _carried(stream, q + v) + lengths + readout
    fixed += 2 * q * width * units + 2 * q * q * width + 2 * width * units
    fixed += (q + 1) * units + units * square
    fixed += units * v + (units + read_groups) * of_columns
    by_pair += _combined(stream, q + v) + _combined(stream, 1)
    by_pair += nonzero["reads"] + merged + read_groups * (square + v)
    return Operations(fixed + n * n * by_pair, brute)


def _nonzero(advice: Advice) -> dict[str, int]:
    counts = {
        "writes": int((advice.writes != 0).sum()),
        "basis": int((advice.basis != 0).sum()),
        "entries": int((advice.entries != 0).sum()),
    }
    if advice.reading is not None:
        counts["reads"] = int((advice.reading.reads != 0).sum())
    return counts


def _attention(stream: Stream) -> int:
    """Queries, keys, scores, softmax and values."""
    rows, inner, width = stream.token_rows, stream.inner_width, stream.into_units.shape[0]
    values = stream.distinct_rows * width * inner
    if stream.uniform:
        return values
    last, pairs = len(stream.tokens[-1].mid), stream.order**2
    scores = rows * inner if last == 1 else pairs * inner + rows * inner
    queries_and_keys = 2 * values
    softmax = 2 * pairs * stream.heads * len(stream.tokens)
    return values + queries_and_keys + scores + softmax


def _carried(stream: Stream, columns: int) -> int:
    """Tables of what heads carry, and the last position itself, times a matrix with so many
    columns.
    """
    inner, width = stream.inner_width, stream.into_units.shape[0]
    return (inner * width + stream.distinct_rows * (inner + width)) * columns


def _combined(stream: Stream, columns: int) -> int:
    """What the tables of a pair's tokens take to add up."""
    parts = len(stream.tokens) * (1 if stream.uniform else stream.heads)
    return (parts + 1) * columns
