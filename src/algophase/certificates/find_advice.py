"""The search for advice: the cheapest of several tries that proves nearly all pairs right.

Nothing here has to be exact or proved: whatever comes out, `prove_compact` says what follows.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from algophase.certificates.advice import (
    Advice,
    Numbers,
    Reading,
    merged,
    rounded,
    subspaces,
)
from algophase.certificates.balls import ACTIVATIONS, Array, exact
from algophase.certificates.forms import Form, Stream
from algophase.certificates.operations import count_operations
from algophase.certificates.sample import Sample, proved_share, sample_of

ENOUGH = 0.958  # of the right pairs: of the tries that reach so many, the cheapest is taken
WIDELY = 0.9
LITTLE = 0.5
OWN_DIRECTIONS = 4  # of the stream that units of one frequency k read: the planes of k and 2k
# Of the largest: a direction that units read. Tried in turns.
LEAST_DIRECTIONS = (0.04, 0.012, 0.004)
SMALLEST = 1e-9
MERGES = (0.12, 0.18, 0.25, 0.3, 0.37, 0.5, 0.7, 1.0)  # merged units for each unit
READ_CUTS = (0.02, 0.04, 0.06, 0.08, 0.11, 0.15)
WRITE_CUTS = (0.01, 0.02, 0.035, 0.06, 0.1)


class _Search:
    """Tries so far: the cheapest that proves enough, else the one that proves most."""

    def __init__(self, form: Form, right: Numbers) -> None:
        self.form, self.sample = form, sample_of(form, right)
        logits = self.sample.hidden @ self.sample.readout + self.sample.direct
        self.accuracy = float((logits.argmax(axis=-1) == self.sample.right).mean())
        self.best: Advice | None = None
        self.rank = (np.inf, np.inf)
        self.improved = False  # whether a second try was enough, too

    def enough(self, advice: Advice, outside: Array | float = 0.0) -> bool:
        """Whether it proves enough; the best try is kept. outside: as of `proved_share`."""
        cost = count_operations(self.form, advice).share
        if self.rank[0] == 0 and cost >= self.rank[1]:
            return False
        share = proved_share(self.sample, self.form.stream, advice, outside)
        # First those that prove nearly all, then most, and the cheapest of these.
        missing = 0.0 if share >= ENOUGH * self.accuracy else 2 - share
        if missing and share >= WIDELY * self.accuracy:
            missing = 1.0
        if (missing, cost) < self.rank:
            self.improved = self.best is not None and missing == 0.0
            self.best, self.rank = advice, (missing, cost)
        return missing == 0.0


def find_advice(form: Form, right: Numbers, start: Numbers | None) -> Advice:
    """Advice for a network. start: for each hidden unit the number of its frequency, where that is
    known.
    """
    search = _Search(form, right)
    if form.stream is None:
        for advice in _tries_of_writing(search.sample):
            search.enough(advice)
    else:
        _try_reading(search, form.stream, start)
    assert search.best is not None
    return search.best


def _try_reading(search: _Search, stream: Stream, start: Numbers | None) -> None:
    """For a transformer: with few directions of the stream, and where these do not suffice with
    more.
    """
    sample = search.sample
    scales = sample.hidden.std(axis=0) + SMALLEST
    weighted = scales[:, None] * sample.readout
    if start is None:
        groups = np.zeros(len(weighted), dtype=np.int64)
    else:
        groups, _ = subspaces(weighted, int(start.max()) + 1, 2, start)
        groups = np.unique(groups, return_inverse=True)[1]
    sizes = np.linalg.norm(sample.readout, axis=1)
    by_least = {}
    for least in LEAST_DIRECTIONS:
        subspace = _subspace(stream.into_units.mid * sizes, groups, least)
        back = np.asarray(np.linalg.pinv(subspace), dtype=np.float64)
        by_least[least] = _Units(sample, stream, groups, rounded(subspace), rounded(back))
    # Without merging, by all directions: where this proves little, nothing else proves more.
    finest = by_least[LEAST_DIRECTIONS[-1]]
    search.enough(finest.advice(finest.merged(1.0, 0.0), WRITE_CUTS[0]), finest.outside)
    if search.rank[0] > 2 - LITTLE * search.accuracy:
        return
    for units in by_least.values():
        _try_merging(search, units)
        if search.improved:
            break


def _try_merging(search: _Search, units: "_Units") -> None:
    """From few merged units to all, first with all that they read and write, and where that is
    enough with less.
    """
    successes = 0
    for fraction in MERGES if units.stream.activation == "relu" else (1.0,):
        whole = units.merged(fraction, 0.0)
        if not search.enough(units.advice(whole, WRITE_CUTS[0]), units.outside):
            continue
        for read_cut in READ_CUTS:
            part = units.merged(fraction, read_cut)
            results = [search.enough(units.advice(part, cut), units.outside) for cut in WRITE_CUTS]
            if not any(results):
                break
        successes += 1
        if successes == 3:
            break


def _subspace(weights: Array, groups: Numbers, least: float) -> Array:
    """Directions of the stream (d, q): the first that each group of units reads, then those that
    are left. least: of those, as a share of the largest.
    """
    parts = []
    for group in range(int(groups.max()) + 1):
        left, _, _ = np.linalg.svd(weights[:, groups == group], full_matrices=False)
        parts.append(left[:, :OWN_DIRECTIONS])
    largest = np.linalg.norm(weights, 2)
    own = np.concatenate(parts, axis=1)
    rest = weights - own @ np.linalg.lstsq(own, weights, rcond=None)[0]
    left, values, _ = np.linalg.svd(rest, full_matrices=False)
    more = left[:, values > least * largest]
    return np.concatenate([own, more], axis=1)


class _Units:
    """The hidden units of a transformer, to be merged."""

    def __init__(
        self, sample: Sample, stream: Stream, groups: Numbers, subspace: Array, back: Array
    ) -> None:
        assert sample.stream is not None
        self.sample, self.stream, self.groups = sample, stream, groups
        self.subspace, self.back = subspace, back
        z = sample.stream @ subspace
        self.coordinates = np.concatenate([z, np.ones((len(z), 1))], axis=1)
        outside = stream.lengths(exact(np.eye(len(subspace))) - exact(subspace) @ exact(back))
        rows = [outside(slice(row, row + 1)).ravel() for row in sample.rows.tolist()]
        self.outside = np.concatenate(rows)  # |x'|, (pairs,)
        self.reads = np.vstack([back @ stream.into_units.mid, stream.biases.mid])
        moments = self.coordinates.T @ self.coordinates / len(z)
        values, vectors = np.linalg.eigh(moments)
        self.root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    def merged(self, fraction: float, cut: float) -> tuple[Reading, Array, Array]:
        """The advice on reading, what merged units give (pairs, merged), and what they write. cut:
        the share of what a merged unit reads below which one coordinate is left out.
        """
        readout = self.sample.readout
        images = (self.root @ self.reads).T  # (units, q + 1)
        lengths = np.maximum(np.linalg.norm(images, axis=1), SMALLEST)
        weights = lengths * np.linalg.norm(readout, axis=1)
        owners = np.zeros(len(images), dtype=np.int64)
        count = 0
        for group in range(int(self.groups.max()) + 1):
            chosen = np.flatnonzero(self.groups == group)
            wanted = max(1, round(fraction * len(chosen)))
            directions = images[chosen] / lengths[chosen, None]
            owners[chosen] = count + merged(directions, weights[chosen], wanted)
            count = int(owners[chosen].max()) + 1
        sums = np.zeros((count, self.reads.shape[0]))
        np.add.at(sums, owners, (weights / lengths)[:, None] * self.reads.T)
        reads = self._sparse(sums, cut).T
        if self.stream.activation != "relu":  # nothing is merged, and factors are one
            reads[:, owners] *= lengths
        reads = rounded(reads)
        targets = (self.root @ reads).T[owners]
        squares = np.maximum(np.square(targets).sum(axis=1), SMALLEST**2)
        factors = rounded(np.maximum((images * targets).sum(axis=1) / squares, 0.0))
        if self.stream.activation != "relu":
            factors = np.ones_like(factors)
        reading = Reading(self.subspace, self.back, reads, owners, factors, self.groups)
        rho = self.coordinates @ reads
        hidden = ACTIVATIONS[self.stream.activation](exact(rho)).mid
        written = np.zeros((count, readout.shape[1]))
        np.add.at(written, owners, factors[:, None] * readout)
        return reading, hidden, written

    def advice(self, parts: tuple[Reading, Array, Array], cut: float) -> Advice:
        """The advice with what merged units write. cut: as in `merged`, of what they write."""
        reading, hidden, written = parts
        return _written(reading, hidden, written, self.groups, reading.owners, cut)

    def _sparse(self, reads: Array, cut: float) -> Array:
        """What merged units read, (merged, q + 1), fitted with its larger coordinates alone."""
        lengths = np.linalg.norm(reads @ self.root, axis=1, keepdims=True)
        scaled = reads / np.maximum(lengths, SMALLEST)
        if cut == 0:
            return scaled
        sizes = np.abs(scaled) * np.sqrt(np.square(self.root).sum(axis=0))
        fitted = np.zeros_like(scaled)
        for row, kept in enumerate(sizes > cut):
            solution = np.linalg.lstsq(self.root[:, kept], self.root @ scaled[row], rcond=None)
            fitted[row, kept] = solution[0]
        return fitted


def _written(
    reading: Reading | None,
    hidden: Array,
    written: Array,
    groups: Numbers,
    owners: Numbers,
    cut: float,
) -> Advice:
    """Advice with planes of the outputs for each group of units, and what is left beside them."""
    group_of = np.zeros(len(written), dtype=np.int64)
    group_of[owners] = groups
    center, scales = hidden.mean(axis=0), hidden.std(axis=0) + SMALLEST
    scales = np.maximum(scales, 1e-3 * scales.max())
    weighted = scales[:, None] * written
    planes = []
    for group in range(int(groups.max()) + 1):
        _, values, right = np.linalg.svd(weighted[group_of == group], full_matrices=False)
        planes.append(right[: max(2, int((values > 0.2 * values[0]).sum()))])
    basis = np.concatenate(planes)
    rest = weighted - weighted @ np.linalg.pinv(basis) @ basis
    _, values, right = np.linalg.svd(rest, full_matrices=False)
    largest = np.linalg.norm(weighted, 2)
    basis = rounded(np.concatenate([basis, right[values > (0.006 + 0.4 * cut) * largest]]))
    coefficients = written @ np.linalg.pinv(basis)
    sizes = scales[:, None] * np.abs(coefficients) * np.linalg.norm(basis, axis=1)
    lengths = np.linalg.norm(weighted, axis=1, keepdims=True)
    writes = np.where(sizes > cut * lengths, coefficients, 0.0)
    return Advice(
        reading,
        rounded(writes),
        basis,
        np.zeros_like(written),
        rounded(center),
        rounded(scales),
        np.zeros(len(written), dtype=np.int64),
    )


def _tries_of_writing(sample: Sample) -> Iterator[Advice]:
    """For networks whose units are cheap to read: subspaces of the outputs, or a few directions
    and single entries.
    """
    units, outputs = sample.readout.shape
    scales = sample.hidden.std(axis=0)
    scales = np.maximum(scales, 1e-3 * scales.max() + SMALLEST)
    weighted = scales[:, None] * sample.readout
    most = max(2, units * outputs // (3 * (units + outputs)))
    groups, _ = subspaces(weighted, 4, max(1, most // 3))
    for rank in sorted({round(most * step) for step in (0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3)} - {0}):
        owners = np.zeros(units, dtype=np.int64)
        bases = [_first_directions(weighted, rank)]
        yield _in_subspaces(sample, scales, owners, bases, owners)
        yield _in_subspaces(sample, scales, owners, bases, groups)
    for count, rank in (
        (4, 2),
        (4, 4),
        (6, 4),
        (9, 4),
        (12, 2),
        (18, 2),
        (12, 3),
        (24, 1),
        (36, 1),
    ):
        if count * rank <= min(units, outputs):
            owners, bases = subspaces(weighted, count, rank)
            yield _in_subspaces(sample, scales, owners, bases, owners % 4)
    for rank in (1, 2, 4, 7):
        for density in (0.1, 0.14, 0.18, 0.22, 0.26):
            advice = _with_entries(sample, scales, rank, round(density * weighted.size), groups)
            yield replace(advice, groups=np.zeros_like(advice.groups))
            yield advice


def _first_directions(rows: Array, rank: int) -> Array:
    return np.linalg.svd(rows, full_matrices=False)[2][:rank]


def _in_subspaces(
    sample: Sample, scales: Array, owners: Numbers, bases: list[Array], groups: Numbers
) -> Advice:
    """Each unit writes on the basis of its own subspace."""
    basis = rounded(np.concatenate(bases))
    writes = np.zeros((len(owners), len(basis)))
    column = 0
    for index, part in enumerate(bases):
        chosen = owners == index
        columns = slice(column, column + len(part))
        writes[chosen, columns] = sample.readout[chosen] @ np.linalg.pinv(basis[columns])
        column += len(part)
    return _exact_reading(sample, scales, writes, basis, np.zeros_like(sample.readout), groups)


def _with_entries(sample: Sample, scales: Array, rank: int, count: int, groups: Numbers) -> Advice:
    """A few directions and single entries, fitted in turns."""
    weighted = scales[:, None] * sample.readout
    entries = np.zeros_like(weighted)
    for _ in range(20):
        left, values, right = np.linalg.svd(weighted - entries, full_matrices=False)
        rest = weighted - (left[:, :rank] * values[:rank]) @ right[:rank]
        rest = rest - np.median(rest, axis=1, keepdims=True)
        least = np.partition(np.abs(rest).ravel(), -count)[-count]
        entries = np.where(np.abs(rest) >= least, rest, 0.0)
    writes = left[:, :rank] * values[:rank] / scales[:, None]
    return _exact_reading(
        sample, scales, writes, rounded(right[:rank]), entries / scales[:, None], groups
    )


def _exact_reading(
    sample: Sample, scales: Array, writes: Array, basis: Array, entries: Array, groups: Numbers
) -> Advice:
    """Advice for units that are read as they are. They are bounded in few groups: each costs as
    much per pair as there are outputs.
    """
    return Advice(
        None,
        rounded(writes),
        basis,
        rounded(entries),
        rounded(sample.hidden.mean(axis=0)),
        rounded(scales),
        np.unique(groups, return_inverse=True)[1],
    )
