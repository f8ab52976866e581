"""Some pairs of a network, on which tries for advice are tested before anything is proved."""

from dataclasses import dataclass

import numpy as np

from algophase.certificates.advice import Advice, Numbers, Reading
from algophase.certificates.balls import ACTIVATIONS, HALVES, Array, Halves, exact
from algophase.certificates.forms import Form, Stream

MOST_PAIRS = 5000  # that a try is tested on


@dataclass(frozen=True)
class Sample:
    """Some pairs of a network, without errors.

    given: what units give in a proof that keeps them as they are, (pairs, units); past: what goes
        past them, (pairs, outputs). logits: the network's own.
    stream: of a transformer, (pairs, d); direct: what goes past the units of the network itself.
    rows: the first operands of these pairs; right: their answers, (pairs,).
    readout: centered over the outputs, which changes no difference of two logits.
    """

    given: Array
    past: Array
    logits: Array
    stream: Array | None
    direct: Array
    rows: Numbers
    right: Numbers
    readout: Array

    @property
    def is_right(self) -> np.ndarray:
        """Which pairs the network answers right."""
        answers = self.logits.argmax(axis=-1)
        return np.asarray(answers == self.right)


def sample_of(form: Form, right: Numbers) -> Sample:
    """All pairs, or those of some first operands, drawn at random: elements in equal steps may be
    of one coset.
    """
    count = max(1, min(form.order, MOST_PAIRS // form.order))
    chosen = np.sort(np.random.default_rng(0).permutation(form.order)[:count])
    stream = None
    if form.stream is not None:
        width = form.stream.into_units.shape[0]
        stream = form.stream.written(exact(np.eye(width)), exact(np.zeros(width)))
    reads, directs, streams = [], [], []
    for row in chosen.tolist():
        rows = slice(row, row + 1)
        reads.append(form.read(rows).mid[0])
        shape = (form.order, form.outputs)
        directs.append(np.zeros(shape) if form.past is None else form.past(rows).mid[0])
        if stream is not None:
            streams.append(stream(rows).mid[0])
    read, direct = np.concatenate(reads), np.concatenate(directs)
    readout = form.readout.mid - form.readout.mid.mean(axis=1, keepdims=True)
    units = ACTIVATIONS[form.activation](exact(read)).mid
    given, past = units, direct
    halves = HALVES[form.activation]
    if form.tables is not None or form.stream is not None:
        given = halves.even(exact(read)).mid
        past = direct + halves.share * read @ readout
    return Sample(
        given,
        past,
        units @ readout + direct,
        np.concatenate(streams) if streams else None,
        direct,
        chosen,
        right[chosen].ravel(),
        readout,
    )


def distances(matrix: Array) -> Array:
    """Of each two columns."""
    products = matrix.T @ matrix
    squares = np.diag(products)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * products, 0.0))


@dataclass(frozen=True)
class ReadUnits:
    """Merged units on the sample's pairs: what they give (pairs, merged) and write
    (merged, outputs), what goes past them, and the bound of what merging them misses.
    """

    given: Array
    written: Array
    past: Array
    bound: Array


def read_units(
    sample: Sample, form: Form, stream: Stream, reading: Reading, outside: Array
) -> ReadUnits:
    """outside: |x'| of each pair."""
    assert sample.stream is not None
    halves = HALVES[form.activation]
    coordinates = sample.stream @ reading.subspace
    ones = np.ones((len(coordinates), 1))
    rho = np.concatenate([coordinates, ones], axis=1) @ reading.reads
    read = sample.stream @ stream.into_units.mid + stream.biases.mid
    written = np.zeros((rho.shape[1], sample.readout.shape[1]))
    np.add.at(written, reading.owners, np.abs(reading.factors)[:, None] * sample.readout)
    given = halves.even(exact(rho)).mid
    past = sample.direct + halves.share * read @ sample.readout
    apart = read - rho[:, reading.owners] * reading.factors
    bound = _reading_bound(sample, stream, reading, halves, apart, outside)
    return ReadUnits(given, written, past, bound)


def _reading_bound(
    sample: Sample,
    stream: Stream,
    reading: Reading,
    halves: Halves,
    apart: Array,
    outside: Array,
) -> Array:
    """apart: how far the network's units are from their merged ones, (pairs, units)."""
    assert halves.slope is not None
    into = stream.into_units.mid
    missed = into - reading.subspace @ (reading.back @ into)
    bound: Array = np.zeros((len(apart), sample.readout.shape[1]))
    for group in range(int(reading.groups.max()) + 1):
        chosen = reading.groups == group
        length = halves.slope * np.linalg.norm(apart[:, chosen], axis=1)
        length += (halves.slope + halves.share) * outside * np.linalg.norm(missed[:, chosen])
        bound += length[:, None] * distances(sample.readout[chosen])[sample.right]
    return bound


def as_they_are(sample: Sample) -> ReadUnits:
    """Units that are not merged."""
    no_bound = np.zeros(sample.past.shape)
    return ReadUnits(sample.given, sample.readout, sample.past, no_bound)


def margins(sample: Sample, units: ReadUnits, advice: Advice) -> Array:
    """How far the right answer is above each output at least, (pairs, outputs); infinite for the
    right answer itself.
    """
    left = units.written - advice.writes @ advice.basis
    logits = units.given @ (units.written - left) + advice.center @ left + units.past
    off_center = np.linalg.norm((units.given - advice.center) / advice.scales, axis=1)
    gaps = distances(left * advice.scales[:, None])
    bound = units.bound + off_center[:, None] * gaps[sample.right]
    rows = np.arange(len(logits))
    least = logits[rows, sample.right][:, None] - logits - bound
    least[rows, sample.right] = np.inf
    return np.asarray(least)
