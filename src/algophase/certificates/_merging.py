"""Merged units of a transformer: which units do nearly the same, and what they read together."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from algophase.certificates._writing import written_in_planes
from algophase.certificates.advice import Advice, Numbers, Reading, principal, rounded
from algophase.certificates.balls import HALVES, Array, exact
from algophase.certificates.forms import Form, Stream
from algophase.certificates.sample import ReadUnits, Sample, distances

OWN_DIRECTIONS = 4  # of the stream that units of one frequency k read: the planes of k and 2k
SMALLEST = 1e-9
READ_CUTS = (0.02, 0.04, 0.06, 0.08, 0.11, 0.15)


def groups_of_units(sample: Sample, start: Numbers | None) -> Numbers:
    """Which units write in one plane of the outputs, (units,). start: a first guess."""
    if start is None:
        return np.zeros(len(sample.readout), dtype=np.int64)
    scales = sample.results.std(axis=0) + SMALLEST
    vectors = scales[:, None] * sample.readout
    groups, count = start, int(start.max()) + 1
    for _ in range(30):  # assigned and fitted in turns, as k-means does
        reached = []
        for group in range(count):
            members = vectors[groups == group]
            if not len(members):
                members = np.zeros((1, vectors.shape[1]))
            plane = principal(members)[1][:2]
            coefficients = vectors @ plane.T
            reached.append(np.square(coefficients).sum(axis=1))
        nearest = np.stack(reached, axis=1).argmax(axis=1)
        if np.array_equal(nearest, groups):
            break
        groups = nearest
    return np.unique(groups, return_inverse=True)[1]


def units_of(form: Form, sample: Sample, stream: Stream, groups: Numbers, least: float) -> "Units":
    """The hidden units, read through few directions of the stream: the first that each group of
    units reads, then those that are left. least: of those, as a share of the largest.
    """
    sizes = np.linalg.norm(sample.readout, axis=1)
    weights = stream.into_units.mid * sizes
    parts = []
    for group in range(int(groups.max()) + 1):
        _, directions = principal(weights[:, groups == group].T)
        parts.append(directions[:OWN_DIRECTIONS].T)
    own = np.concatenate(parts, axis=1)
    on_own = np.linalg.lstsq(own, weights, rcond=None)[0]
    rest = weights - own @ on_own
    values, directions = principal(rest.T)
    largest = principal(weights.T)[0][0]
    more = directions[values > least * largest].T
    subspace = np.concatenate([own, more], axis=1)
    back = np.asarray(np.linalg.pinv(subspace), dtype=np.float64)
    return Units(form, sample, stream, groups, rounded(subspace), rounded(back))


@dataclass(frozen=True)
class Joined:
    """Merged units. signs: of what each unit reads, against its merged unit."""

    reading: Reading
    signs: Array


class Units:
    """The hidden units of a transformer, to be merged."""

    def __init__(
        self,
        form: Form,
        sample: Sample,
        stream: Stream,
        groups: Numbers,
        subspace: Array,
        back: Array,
    ) -> None:
        assert sample.stream is not None
        self.sample, self.groups = sample, groups
        self.subspace, self.back = subspace, back
        self.scales_freely = form.activation == "relu"  # relu(alpha x) = alpha relu(x)
        self.halves = HALVES[form.activation]
        self.outside = _lengths_outside(sample, stream, subspace, back)
        into_units = stream.into_units.mid
        kept = back @ into_units  # Y W_in
        through = 2 * kept - (back @ subspace) @ kept  # A
        self.missed = into_units - subspace @ kept  # N
        self.reads = np.vstack([through, stream.biases.mid]).T  # by unit
        coordinates = sample.stream @ subspace
        ones = np.ones((len(coordinates), 1))
        self.with_one = np.concatenate([coordinates, ones], axis=1)  # (z, 1), (pairs, q + 1)
        moments = self.with_one.T @ self.with_one / len(self.with_one)
        values, vectors = np.linalg.eigh(moments)
        # What units read, times this root, has the length that it has on average over the pairs.
        roots = np.sqrt(np.maximum(values, 0.0))
        self.root = (vectors * roots) @ vectors.T
        self.root_inverse = np.linalg.pinv(self.root, hermitian=True)
        self.images = self.reads @ self.root
        lengths = np.linalg.norm(self.images, axis=1)
        self.lengths = np.maximum(lengths, SMALLEST)

    def merged(self, fraction: float) -> Joined:
        """So many merged units per unit; most to groups that matter most."""
        writes = np.linalg.norm(self.sample.readout, axis=1)
        weights = self.lengths * writes if self.scales_freely else writes
        vectors = self.images / self.lengths[:, None] if self.scales_freely else self.images
        importance = self.lengths * writes
        if not np.isfinite(importance.sum()):
            raise np.linalg.LinAlgError("weights are so large that their products overflow")
        owners = np.zeros(len(vectors), dtype=np.int64)
        signs = np.ones(len(vectors))
        count = 0
        for group in range(int(self.groups.max()) + 1):
            chosen = np.flatnonzero(self.groups == group)
            share = importance[chosen].sum() / max(importance.sum(), SMALLEST)
            most = max(1, round(fraction * len(vectors) * share))
            bundles, signs[chosen] = bundled(vectors[chosen], weights[chosen], most)
            owners[chosen] = count + bundles
            count += int(bundles.max()) + 1
        images = np.zeros((count, self.reads.shape[1]))
        for owner in range(count):
            images[owner] = self._read_together(np.flatnonzero(owners == owner), signs)
        return self._joined(images @ self.root_inverse, owners, signs)

    def _read_together(self, chosen: Numbers, signs: Array) -> Array:
        """What units read together, times the root: where units scale freely the direction that
        leaves least of what they do, to first order; else their mean. chosen: the units.
        """
        turned = signs[chosen, None] * self.images[chosen]
        if len(chosen) == 1:
            return np.asarray(turned[0])
        written = self.sample.readout[chosen]
        if not self.scales_freely:
            weights = np.square(written).sum(axis=1) + SMALLEST
            return np.asarray(weights @ turned / weights.sum())
        # The first left singular vector of turned.T @ written lies in the span of few rows. There
        # it takes 10% to 20% off `certify` at p = 59.
        span, coefficients = np.linalg.qr(turned.T)
        directions = principal((coefficients @ written).T)[1]
        return np.asarray(span @ directions[0])

    def cut(self, joined: Joined, least: float) -> Joined:
        """The same, where merged units read only their larger coordinates, fitted anew. least: the
        share of what a merged unit reads below which a coordinate is left out.
        """
        reads = joined.reading.reads.T
        lengths = np.linalg.norm(reads @ self.root, axis=1)
        coordinate_lengths = np.sqrt(np.square(self.root).sum(axis=0))
        by_coordinate = np.abs(reads) * coordinate_lengths
        fitted = np.zeros_like(reads)
        for owner, sizes in enumerate(by_coordinate):
            kept = sizes > least * lengths[owner]
            image = self.root @ reads[owner]
            solution = np.linalg.lstsq(self.root[:, kept], image, rcond=None)
            fitted[owner, kept] = solution[0]
        return self._joined(fitted, joined.reading.owners, joined.signs)

    def _joined(self, reads: Array, owners: Numbers, signs: Array) -> Joined:
        reads = rounded(reads)
        factors = signs
        if self.scales_freely:
            targets = (reads @ self.root)[owners]
            squares = np.square(targets).sum(axis=1)
            products = (self.images * targets).sum(axis=1)
            factors = rounded(products / np.maximum(squares, SMALLEST**2))
        reading = Reading(self.subspace, self.back, reads.T, owners, factors, self.groups)
        return Joined(reading, signs)

    def read(self, joined: Joined) -> ReadUnits:
        """Merged units on the sample."""
        reading, readout = joined.reading, self.sample.readout
        rho = self.with_one @ reading.reads
        results = self.halves.even(exact(rho)).mid
        sizes = np.abs(reading.factors)
        written = np.zeros((rho.shape[1], readout.shape[1]))
        np.add.at(written, reading.owners, sizes[:, None] * readout)
        return ReadUnits(results, written, self._bound(reading))

    def _bound(self, reading: Reading) -> Array:
        """How far units can be from their merged ones, on the sample: as `prove_compact` has it,
        (pairs, outputs).
        """
        slope, share = self.halves.slope, self.halves.share
        assert slope is not None
        merged_reads = reading.reads.T[reading.owners]
        apart = self.reads - reading.factors[:, None] * merged_reads  # K, by unit
        bound: Array = np.zeros((len(self.with_one), self.sample.readout.shape[1]))
        for group, gaps in enumerate(self.gaps):
            chosen = self.groups == group
            square = apart[chosen].T @ apart[chosen]
            squared_lengths = ((self.with_one @ square) * self.with_one).sum(axis=1)
            inside = slope * np.sqrt(np.maximum(squared_lengths, 0.0))
            beyond = (slope + share) * self.outside * np.linalg.norm(self.missed[:, chosen])
            bound += (inside + beyond)[:, None] * gaps[self.sample.right]
        return bound

    @cached_property
    def gaps(self) -> list[Array]:
        """For each group, how far apart what it writes on two outputs is, (outputs, outputs)."""
        readout = self.sample.readout
        groups = range(int(self.groups.max()) + 1)
        return [distances(readout[self.groups == group]) for group in groups]

    def advice(self, joined: Joined, units: ReadUnits, cut: float) -> Advice:
        """The advice with what merged units write. cut: as in `cut`, of what they write."""
        reading = joined.reading
        group_of = np.zeros(len(units.written), dtype=np.int64)
        group_of[reading.owners] = self.groups
        written = written_in_planes(units, group_of, cut)
        return replace(written, reading=reading)


def _lengths_outside(sample: Sample, stream: Stream, subspace: Array, back: Array) -> Array:
    """|x'| of the sample's pairs: what of the stream is outside of the subspace, (pairs,)."""
    projection = exact(subspace) @ exact(back)
    lengths = stream.lengths(exact(np.eye(len(subspace))) - projection)
    by_row = [lengths(slice(row, row + 1)) for row in sample.rows.tolist()]
    return np.concatenate(by_row).ravel()


def bundled(vectors: Array, weights: Array, count: int) -> tuple[Numbers, Array]:
    """Vectors (n, q) in so many bundles, where a vector and its opposite are alike: which bundle
    each belongs to, and its sign there.
    """
    if count >= len(vectors):
        return np.arange(len(vectors)), np.ones(len(vectors))
    squares = np.square(vectors).sum(axis=1)
    corners = [int((weights * squares).argmax())]
    to_first = _squared_distances(vectors, squares, vectors[corners])
    nearest = to_first[:, 0]
    for _ in range(count - 1):
        corners.append(int((weights * nearest).argmax()))
        last = vectors[corners[-1:]]
        to_last = _squared_distances(vectors, squares, last)[:, 0]
        nearest = np.minimum(nearest, to_last)
    centers = vectors[corners].copy()
    owners = np.full(len(vectors), -1)
    for _ in range(40):
        nearest_now = _squared_distances(vectors, squares, centers).argmin(axis=1)
        if np.array_equal(nearest_now, owners):
            break
        owners = nearest_now
        signs = _signs(vectors, centers[owners])
        signed_weights = (weights * signs)[:, None]
        sums = np.zeros_like(centers)
        np.add.at(sums, owners, signed_weights * vectors)
        totals = np.bincount(owners, weights, minlength=count)[:, None]
        means = sums / np.maximum(totals, 1e-300)
        centers = np.where(totals > 0, means, centers)
    signs = _signs(vectors, centers[owners])
    return np.unique(owners, return_inverse=True)[1], signs


def _squared_distances(vectors: Array, squares: Array, centers: Array) -> Array:
    """Of each vector or its opposite to each center, whichever is nearer."""
    products = np.abs(vectors @ centers.T)
    center_squares = np.square(centers).sum(axis=1)
    return np.asarray(squares[:, None] + center_squares - 2 * products)


def _signs(vectors: Array, centers: Array) -> Array:
    products = (vectors * centers).sum(axis=1)
    return np.where(products < 0, -1.0, 1.0)
