"""What units write, nearly S B: few planes of the outputs, subspaces, cosets of subgroups, or
single entries.
"""

from collections.abc import Iterator

import numpy as np

from algophase.certificates.advice import Advice, Numbers, principal, rounded
from algophase.certificates.balls import Array
from algophase.certificates.sample import ReadUnits, Sample

SMALLEST = 1e-9
LEAST_LEFT = 1e-3  # of the longest: a unit that is written exactly counts as leaving so much
WRITE_CUTS = (0.01, 0.02, 0.035, 0.06, 0.1)
RANKS = (0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3)  # of the largest that saves much
SUBSPACES = ((4, 2), (4, 4), (6, 4), (9, 4), (12, 2), (18, 2), (12, 3), (24, 1), (36, 1))
PARTITIONS = (5, 6, 8, 10, 12, 15, 18, 22, 26)  # tried numbers of ways to divide into cosets
FEW_DIRECTIONS = (0, 1, 2, 4)
DENSITIES = (0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.22, 0.26)  # of single entries


def written_in_planes(units: ReadUnits, groups: Numbers, cut: float) -> Advice:
    """Planes of the outputs for each group of merged units, and what is left beside them. cut: the
    share of what a unit writes below which a direction is left out.
    """
    center = units.results.mean(axis=0)
    scales = _scales(units.results)
    weighted = scales[:, None] * units.written
    planes = []
    for group in range(int(groups.max()) + 1):
        values, directions = principal(weighted[groups == group])
        is_large = values > 0.2 * values[0]
        rank = max(2, int(is_large.sum()))
        planes.append(directions[:rank])
    basis = np.concatenate(planes)
    rest = weighted - weighted @ np.linalg.pinv(basis) @ basis
    values, directions = principal(rest)
    largest = principal(weighted)[0][0]
    least = (0.006 + 0.4 * cut) * largest
    more = directions[values > least]
    basis = rounded(np.concatenate([basis, more]))
    coefficients = units.written @ np.linalg.pinv(basis)
    basis_lengths = np.linalg.norm(basis, axis=1)
    sizes = scales[:, None] * np.abs(coefficients) * basis_lengths
    lengths = np.linalg.norm(weighted, axis=1, keepdims=True)
    writes = rounded(np.where(sizes > cut * lengths, coefficients, 0.0))
    bounding = _bounding_scales(scales, units.written, writes, basis)
    return Advice(None, writes, basis, rounded(center), bounding)


def _scales(results: Array) -> Array:
    """How much units vary, none next to nothing."""
    scales = results.std(axis=0) + SMALLEST
    least = 1e-3 * scales.max()
    return np.asarray(np.maximum(scales, least))


def _bounding_scales(scales: Array, written: Array, writes: Array, basis: Array) -> Array:
    """The d of the proof's bound |(h - mu) / d| |d (R[c] - R[c'])|. Where units vary by `scales`
    and R has rows of length r, it is smallest with d^2 = scales / r: a unit that is written almost
    exactly then hardly counts.
    """
    left = written - writes @ basis
    lengths = np.linalg.norm(left, axis=1)
    least = LEAST_LEFT * lengths.max() + SMALLEST
    return rounded(np.sqrt(scales / np.maximum(lengths, least)))


def tries_of_writing(sample: Sample, cosets: list[Numbers]) -> Iterator[Advice]:
    """For units that stay as they are. cosets: as of `find_advice`."""
    scales = _scales(sample.results)
    weighted = scales[:, None] * sample.readout
    units, outputs = weighted.shape
    by_both = 3 * (units + outputs)
    most = max(2, units * outputs // by_both)
    ranks = {round(most * step) for step in RANKS} - {0}
    of_one = np.zeros(units, dtype=np.int64)
    for rank in sorted(ranks):
        directions = _first_directions(weighted, rank)
        yield _in_subspaces(sample, scales, of_one, [directions])
    for count, rank in SUBSPACES:
        if count * rank <= min(units, outputs):
            owners, bases = _subspaces(weighted, count, rank)
            yield _in_subspaces(sample, scales, owners, bases)
    yield from _on_cosets(sample, scales, cosets)
    for rank in FEW_DIRECTIONS[1:]:
        for density in DENSITIES:
            yield _with_entries(sample, scales, rank, round(density * weighted.size))


def _first_directions(rows: Array, rank: int) -> Array:
    return principal(rows)[1][:rank]


def _subspaces(vectors: Array, count: int, rank: int) -> tuple[Numbers, list[Array]]:
    """Rows (n, v) in so many subspaces of that rank: which one each row is nearest to, and their
    bases (rank, v). Assigned and fitted in turns, as k-means does.
    """
    sizes = np.linalg.norm(vectors, axis=1)
    directions = vectors / np.maximum(sizes, 1e-300)[:, None]
    corners = [int(sizes.argmax())]
    nearest = np.zeros(len(vectors))
    for _ in range(count - 1):
        to_last = np.abs(directions @ directions[corners[-1]])
        nearest = np.maximum(nearest, to_last)
        missed = sizes * (1 - nearest)
        corners.append(int(missed.argmax()))
    cosines = np.abs(directions @ directions[corners].T)
    owners = cosines.argmax(axis=1)
    empty = np.zeros((0, vectors.shape[1]))
    for _ in range(30):
        bases, reached = [], []
        for index in range(count):
            members = vectors[owners == index]
            basis = _first_directions(members, rank) if len(members) else empty
            bases.append(basis)
            reached.append(np.square(vectors @ basis.T).sum(axis=1))
        nearest_now = np.stack(reached, axis=1).argmax(axis=1)
        if np.array_equal(nearest_now, owners):
            break
        owners = nearest_now
    return owners, bases


def _in_subspaces(sample: Sample, scales: Array, owners: Numbers, bases: list[Array]) -> Advice:
    """Each unit writes on the basis of its own subspace."""
    basis = rounded(np.concatenate(bases))
    writes = np.zeros((len(owners), len(basis)))
    column = 0
    for index, part in enumerate(bases):
        chosen = owners == index
        columns = slice(column, column + len(part))
        back = np.linalg.pinv(basis[columns])
        writes[chosen, columns] = sample.readout[chosen] @ back
        column += len(part)
    return _as_read(sample, scales, writes, basis)


def _on_cosets(sample: Sample, scales: Array, cosets: list[Numbers]) -> Iterator[Advice]:
    """Each unit writes one number for each coset of a subgroup. Few subgroups are used: one after
    the other, always the one that explains most of what is left.
    """
    if not cosets:
        return
    weighted = scales[:, None] * sample.readout
    indicators = [_indicator(labels) for labels in cosets]
    explained = []
    for indicator in indicators:
        roots = np.sqrt(indicator.sum(axis=1))
        means = weighted @ indicator.T / roots
        explained.append(np.square(means).sum(axis=1))
    shares = np.stack(explained)  # (ways, units)
    for most_cosets in (6, 12, 20):
        usable = np.flatnonzero([len(one) <= most_cosets for one in indicators])
        if not len(usable):
            continue
        order = _most_explaining(shares[usable], max(PARTITIONS))
        for count in PARTITIONS:
            chosen = usable[order[:count]]
            owners = chosen[shares[chosen].argmax(axis=0)]
            for rank in FEW_DIRECTIONS:
                yield _written_on(sample, scales, indicators, owners, rank)
            if count >= len(order):
                break


def _indicator(labels: Numbers) -> Array:
    """(cosets, outputs): one where an output is in that coset."""
    every = np.arange(labels.max() + 1)
    return (labels == every[:, None]).astype(float)


def _most_explaining(shares: Array, count: int) -> list[int]:
    """Ways to divide, in the order in which each adds most to what the ones before explain."""
    reached, order = np.zeros(shares.shape[1]), []
    for _ in range(min(count, len(shares))):
        gains = np.maximum(shares, reached).sum(axis=1)
        order.append(int(gains.argmax()))
        reached = np.maximum(reached, shares[order[-1]])
    return order


def _written_on(
    sample: Sample, scales: Array, indicators: list[Array], owners: Numbers, rank: int
) -> Advice:
    """Each unit on the cosets of its own subgroup, and few directions of what is left."""
    writes, basis = [], []
    for way in np.unique(owners).tolist():
        indicator, chosen = indicators[way], owners == way
        sizes = indicator.sum(axis=1)
        means = sample.readout @ indicator.T / sizes
        writes.append(np.where(chosen[:, None], means, 0.0))
        basis.append(indicator)
    if rank:
        on_cosets = np.concatenate(writes, axis=1) @ np.concatenate(basis)
        left = sample.readout - on_cosets
        weighted = scales[:, None] * left
        directions = rounded(_first_directions(weighted, rank))
        writes.append(left @ np.linalg.pinv(directions))
        basis.append(directions)
    return _as_read(sample, scales, np.concatenate(writes, axis=1), np.concatenate(basis))


def _with_entries(sample: Sample, scales: Array, rank: int, count: int) -> Advice:
    """A few directions and single entries, fitted in turns."""
    weighted = scales[:, None] * sample.readout
    entries = np.zeros_like(weighted)
    for _ in range(20):
        without = weighted - entries
        directions = _first_directions(without, rank)
        on_directions = without @ directions.T
        rest = weighted - on_directions @ directions
        rest = rest - np.median(rest, axis=1, keepdims=True)
        sizes = np.abs(rest)
        least = np.partition(sizes.ravel(), -count)[-count]
        entries = np.where(sizes >= least, rest, 0.0)
    weighted_writes = np.concatenate([on_directions, entries], axis=1)
    writes = weighted_writes / scales[:, None]
    identity = np.eye(weighted.shape[1])
    basis = np.concatenate([rounded(directions), identity])
    return _as_read(sample, scales, writes, basis)


def _as_read(sample: Sample, scales: Array, writes: Array, basis: Array) -> Advice:
    center = rounded(sample.results.mean(axis=0))
    writes = rounded(writes)
    bounding = _bounding_scales(scales, sample.readout, writes, basis)
    return Advice(None, writes, basis, center, bounding)
