"""Some pairs of a network, on which tries for advice are tested before anything is proved."""

from dataclasses import dataclass

import numpy as np

from algophase.certificates.advice import Advice, Numbers
from algophase.certificates.balls import ACTIVATIONS, HALVES, Array, exact
from algophase.certificates.forms import Form, OfRows

MOST_PAIRS = 5000  # that a try is tested on


@dataclass(frozen=True)
class Sample:
    """Some pairs of a network, without errors.

    results: what units give in a proof that keeps them as they are, (pairs, units); past: what goes
        past them, (pairs, outputs). logits: the network's own.
    stream: of a transformer, (pairs, d).
    rows: the first operands of these pairs; right: their answers, (pairs,).
    readout: centered over the outputs, which changes no difference of two logits.
    """

    results: Array
    past: Array
    logits: Array
    stream: Array | None
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
    slabs = [slice(row, row + 1) for row in chosen.tolist()]
    if count == form.order:
        slabs = [slice(0, form.order)]

    def of_sample(of_rows: OfRows) -> Array:
        by_slab = [of_rows(rows).mid for rows in slabs]
        values = np.concatenate(by_slab)
        return values.reshape(-1, values.shape[-1])

    stream = None
    if form.stream is None:
        read = of_sample(form.read)
    else:
        width = form.stream.into_units.shape[0]
        identity, no_bias = exact(np.eye(width)), exact(np.zeros(width))
        stream = of_sample(form.stream.written(identity, no_bias))
        read = stream @ form.stream.into_units.mid + form.stream.biases.mid
    means = form.readout.mid.mean(axis=1, keepdims=True)
    readout = form.readout.mid - means
    direct = np.zeros((len(read), form.outputs))
    if form.past is not None:
        direct = of_sample(form.past)
    activation = ACTIVATIONS[form.activation]
    units = activation(exact(read)).mid
    results, past = units, direct
    halves = HALVES[form.activation]
    if form.tables is not None or form.stream is not None:
        results = halves.even(exact(read)).mid
        past = direct + halves.share * read @ readout
    logits = units @ readout + direct
    return Sample(results, past, logits, stream, chosen, right[chosen].ravel(), readout)


def distances(matrix: Array) -> Array:
    """Of each two columns."""
    products = matrix.T @ matrix
    squares = np.diag(products)
    sums = squares[:, None] + squares
    return np.sqrt(np.maximum(sums - 2 * products, 0.0))


@dataclass(frozen=True)
class ReadUnits:
    """Merged units on the sample's pairs: their results (pairs, merged), what they write
    (merged, outputs), and the bound of what merging them misses, (pairs, outputs).
    """

    results: Array
    written: Array
    bound: Array


def as_they_are(sample: Sample) -> ReadUnits:
    """Units that are not merged."""
    no_bound = np.zeros(sample.past.shape)
    return ReadUnits(sample.results, sample.readout, no_bound)


def margins(sample: Sample, units: ReadUnits, advice: Advice) -> Array:
    """How far the right answer is above each output at least, (pairs, outputs); infinite for the
    right answer itself.
    """
    left = units.written - advice.writes @ advice.basis
    offset = advice.center @ left
    logits = units.results @ (units.written - left) + offset + sample.past
    deviations = (units.results - advice.center) / advice.scales
    off_center = np.linalg.norm(deviations, axis=1)
    gaps = distances(left * advice.scales[:, None])
    bound = units.bound + off_center[:, None] * gaps[sample.right]
    rows = np.arange(len(logits))
    of_right = logits[rows, sample.right]
    least = of_right[:, None] - logits - bound
    least[rows, sample.right] = np.inf
    return np.asarray(least)
