"""Some pairs of a network, on which tries for advice are tested before anything is proved."""

from dataclasses import dataclass

import numpy as np

from algophase.certificates.advice import Advice, Numbers
from algophase.certificates.balls import ACTIVATIONS, Array, exact
from algophase.certificates.forms import Form, Stream

MOST_PAIRS = 5000  # that a try is tested on


@dataclass(frozen=True)
class Sample:
    """Some pairs of a network, without errors. readout: centered over the outputs, which changes
    no difference of two logits.
    """

    hidden: Array  # (pairs, units)
    direct: Array  # (pairs, outputs)
    stream: Array | None  # (pairs, d)
    rows: Numbers  # the first operands of these pairs
    readout: Array  # (units, outputs)
    right: Numbers  # (pairs,)


def sample_of(form: Form, right: Numbers) -> Sample:
    """All pairs, or those of some first operands, drawn at random: elements in equal steps may be
    of one coset.
    """
    count = max(1, min(form.order, MOST_PAIRS // form.order))
    chosen = np.sort(np.random.default_rng(0).permutation(form.order)[:count])
    hidden, direct, streams = [], [], []
    width = 0 if form.stream is None else form.stream.into_units.shape[0]
    stream = None
    if form.stream is not None:
        stream = form.stream.written(exact(np.eye(width)), exact(np.zeros(width)))
    for row in chosen.tolist():
        units, past_units = form.of_rows(slice(row, row + 1))
        hidden.append(units.mid[0])
        shape = (form.order, form.outputs)
        direct.append(np.zeros(shape) if past_units is None else past_units.mid[0])
        if stream is not None:
            streams.append(stream(slice(row, row + 1)).mid[0])
    readout = form.readout.mid - form.readout.mid.mean(axis=1, keepdims=True)
    return Sample(
        np.concatenate(hidden),
        np.concatenate(direct),
        np.concatenate(streams) if streams else None,
        chosen,
        readout,
        right[chosen].ravel(),
    )


def _distances(matrix: Array) -> Array:
    products = matrix.T @ matrix
    squares = np.diag(products)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * products, 0.0))


def proved_share(
    sample: Sample, stream: Stream | None, advice: Advice, outside: Array | float = 0.0
) -> float:
    """The share of the sample's pairs that a proof with this advice would reach. outside: |x'| of
    each pair.
    """
    hidden, written = sample.hidden, sample.readout
    bound: Array = np.zeros(sample.direct.shape)
    if advice.reading is not None and stream is not None and sample.stream is not None:
        reading = advice.reading
        z = sample.stream @ reading.subspace
        ones = np.ones((len(z), 1))
        pre = sample.stream @ stream.into_units.mid + stream.biases.mid
        rho = np.concatenate([z, ones], axis=1) @ reading.reads
        apart = pre - rho[:, reading.owners] * reading.factors
        missed = stream.into_units.mid - reading.subspace @ (reading.back @ stream.into_units.mid)
        for group in range(int(reading.groups.max()) + 1):
            chosen = reading.groups == group
            length = np.linalg.norm(apart[:, chosen], axis=1)
            length += outside * np.linalg.norm(missed[:, chosen])
            bound += length[:, None] * _distances(sample.readout[chosen])[sample.right]
        hidden = ACTIVATIONS[stream.activation](exact(rho)).mid
        written = np.zeros((rho.shape[1], sample.readout.shape[1]))
        np.add.at(written, reading.owners, reading.factors[:, None] * sample.readout)
    left = written - advice.writes @ advice.basis - advice.entries
    logits = hidden @ (written - left) + advice.center @ left + sample.direct
    off_center = (hidden - advice.center) / advice.scales
    scaled = left * advice.scales[:, None]
    for group in range(int(advice.groups.max()) + 1):
        chosen = advice.groups == group
        lengths = np.linalg.norm(off_center[:, chosen], axis=1)
        bound += lengths[:, None] * _distances(scaled[chosen])[sample.right]
    rows = np.arange(len(logits))
    margins = logits[rows, sample.right][:, None] - logits - bound
    margins[rows, sample.right] = np.inf
    return float((margins.min(axis=1) > 0).mean())
