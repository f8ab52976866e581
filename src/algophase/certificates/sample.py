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

    results: what units give in a proof that keeps them as they are, (pairs, units); past: what goes
        past them, (pairs, outputs). logits: the network's own.
    stream: of a transformer, (pairs, d); direct: what goes past the units of the network itself.
    rows: the first operands of these pairs; right: their answers, (pairs,).
    readout: centered over the outputs, which changes no difference of two logits.
    """

    results: Array
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
    shuffled = np.random.default_rng(0).permutation(form.order)
    chosen = np.sort(shuffled[:count])
    stream = None
    if form.stream is not None:
        width = form.stream.into_units.shape[0]
        identity, no_bias = exact(np.eye(width)), exact(np.zeros(width))
        stream = form.stream.written(identity, no_bias)
    reads, directs, streams = [], [], []
    nothing = np.zeros((form.order, form.outputs))
    for row in chosen.tolist():
        rows = slice(row, row + 1)
        reads.append(form.read(rows).mid[0])
        if form.past is None:
            directs.append(nothing)
        else:
            directs.append(form.past(rows).mid[0])
        if stream is not None:
            streams.append(stream(rows).mid[0])
    read, direct = np.concatenate(reads), np.concatenate(directs)
    means = form.readout.mid.mean(axis=1, keepdims=True)
    readout = form.readout.mid - means
    activation = ACTIVATIONS[form.activation]
    units = activation(exact(read)).mid
    results, past = units, direct
    halves = HALVES[form.activation]
    if form.tables is not None or form.stream is not None:
        results = halves.even(exact(read)).mid
        past = direct + halves.share * read @ readout
    return Sample(
        results,
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
    sums = squares[:, None] + squares
    return np.sqrt(np.maximum(sums - 2 * products, 0.0))


@dataclass(frozen=True)
class ReadUnits:
    """Merged units on the sample's pairs: their results (pairs, merged), what they write
    (merged, outputs), what goes past them, and the bound of what merging them misses.
    """

    results: Array
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
    with_one = np.concatenate([coordinates, ones], axis=1)
    rho = with_one @ reading.reads
    read = sample.stream @ stream.into_units.mid + stream.biases.mid
    written = np.zeros((rho.shape[1], sample.readout.shape[1]))
    sizes = np.abs(reading.factors)
    np.add.at(written, reading.owners, sizes[:, None] * sample.readout)
    results = halves.even(exact(rho)).mid
    past = sample.direct + halves.share * read @ sample.readout
    merged = rho[:, reading.owners] * reading.factors
    bound = _reading_bound(sample, stream, reading, halves, read - merged, outside)
    return ReadUnits(results, written, past, bound)


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
        lengths = np.linalg.norm(apart[:, chosen], axis=1)
        norm = np.linalg.norm(missed[:, chosen])
        beyond = (halves.slope + halves.share) * outside * norm
        lengths = halves.slope * lengths + beyond
        gaps = distances(sample.readout[chosen])
        bound += lengths[:, None] * gaps[sample.right]
    return bound


def as_they_are(sample: Sample) -> ReadUnits:
    """Units that are not merged."""
    no_bound = np.zeros(sample.past.shape)
    return ReadUnits(sample.results, sample.readout, sample.past, no_bound)


def margins(sample: Sample, units: ReadUnits, advice: Advice) -> Array:
    """How far the right answer is above each output at least, (pairs, outputs); infinite for the
    right answer itself.
    """
    left = units.written - advice.writes @ advice.basis
    offset = advice.center @ left
    logits = units.results @ (units.written - left) + offset + units.past
    deviations = (units.results - advice.center) / advice.scales
    off_center = np.linalg.norm(deviations, axis=1)
    gaps = distances(left * advice.scales[:, None])
    bound = units.bound + off_center[:, None] * gaps[sample.right]
    rows = np.arange(len(logits))
    of_right = logits[rows, sample.right]
    least = of_right[:, None] - logits - bound
    least[rows, sample.right] = np.inf
    return np.asarray(least)
