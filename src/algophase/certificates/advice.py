"""Advice for a compact proof: the explanation of a network, as numbers that a proof can use.

A transformer's hidden units read few directions of the stream, and units of one frequency that read
at nearly the same phase do nearly the same. So the advice names

    Q, Y      directions of the stream (d, q), and the way back (q, d): x is nearly x Q Y
    owners    for each unit u one of fewer *merged* units, and its factor alpha_u >= 0:
              relu(pre_u) is nearly alpha_u relu(rho_owner), since relu(alpha x) = alpha relu(x)
    C         what merged units read of (x Q, 1): rho = (x Q, 1) C
    S, B, E   what merged units write, nearly S B + E: few planes of the outputs, each unit on its
              own, and single entries

Networks of other kinds are cheap to read, so all their units stay, and only S, B and E are given.
A proof holds for any advice; good advice makes it succeed. What the advice misses, the proof bounds
(`compact.py`). Numbers are rounded as a file holds them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algophase.certificates.balls import Array

Numbers = NDArray[np.int64]
DIGITS = 6  # significant ones of every number


@dataclass(frozen=True)
class Reading:
    """What merged units read, for a network with a residual stream.

    subspace: Q, (d, q); back: Y, (q, d); reads: C, (q + 1, merged).
    owners: (units,), the merged unit of each; factors: alpha, (units,).
    groups: (units,), which units are bounded together.
    """

    subspace: Array
    back: Array
    reads: Array
    owners: Numbers
    factors: Array
    groups: Numbers


@dataclass(frozen=True)
class Advice:
    """All that a compact proof is told.

    writes: S, (merged, r); basis: B, (r, outputs); entries: E, (merged, outputs).
    center: what merged units give on average, (merged,); scales: how much they vary, (merged,).
    groups: (merged,), which of them are bounded together.
    """

    reading: Reading | None
    writes: Array
    basis: Array
    entries: Array
    center: Array
    scales: Array
    groups: Numbers

    def as_json(self) -> dict[str, Any]:
        """The advice as a certificate holds it. Matrices that are mostly zero are lists of
        (row, column, value).
        """
        reading = None
        if self.reading is not None:
            reading = {
                "subspace": self.reading.subspace.tolist(),
                "back": self.reading.back.tolist(),
                "reads": _listed(self.reading.reads),
                "owners": self.reading.owners.tolist(),
                "factors": self.reading.factors.tolist(),
                "groups": self.reading.groups.tolist(),
            }
        return {
            "reading": reading,
            "writes": _listed(self.writes),
            "basis": self.basis.tolist(),
            "entries": _listed(self.entries),
            "center": self.center.tolist(),
            "scales": self.scales.tolist(),
            "groups": self.groups.tolist(),
        }


def _listed(matrix: Array) -> list[list[float]]:
    rows, columns = np.nonzero(matrix)
    parts = (rows.tolist(), columns.tolist(), matrix[rows, columns].tolist())
    return [list(entry) for entry in zip(*parts, strict=True)]


def rounded(values: Array) -> Array:
    """As a file holds them."""
    flat = [float(f"{value:.{DIGITS}g}") for value in values.ravel().tolist()]
    return np.array(flat).reshape(values.shape)


def subspaces(
    vectors: Array, count: int, rank: int, start: Numbers | None = None
) -> tuple[Numbers, list[Array]]:
    """Rows (n, v) in so many subspaces of that rank: which one each row is nearest to, and their
    bases (rank, v). Assigned and fitted in turns, as k-means does.
    """
    sizes = np.linalg.norm(vectors, axis=1)
    directions = vectors / np.maximum(sizes, 1e-300)[:, None]
    if start is None:
        corners = [int(sizes.argmax())]
        nearest = np.zeros(len(vectors))
        for _ in range(count - 1):
            nearest = np.maximum(nearest, np.abs(directions @ directions[corners[-1]]))
            corners.append(int((sizes * (1 - nearest)).argmax()))
        start = np.abs(directions @ directions[corners].T).argmax(axis=1)
    owners = start
    for _ in range(30):
        bases = [_leading(vectors[owners == index], rank) for index in range(count)]
        reached = [np.square(vectors @ basis.T).sum(axis=1) for basis in bases]
        nearest_now = np.stack(reached, axis=1).argmax(axis=1)
        if np.array_equal(nearest_now, owners):
            break
        owners = nearest_now
    return owners, bases


def _leading(rows: Array, rank: int) -> Array:
    """The first directions of rows, (rank or fewer, v)."""
    if not len(rows):
        return np.zeros((0, rows.shape[1]))
    return np.linalg.svd(rows, full_matrices=False)[2][:rank]


def merged(directions: Array, weights: Array, count: int) -> Numbers:
    """Unit vectors (n, q) in so many bundles: which bundle each belongs to."""
    if count >= len(directions):
        return np.arange(len(directions))
    corners = [int(weights.argmax())]
    nearest = np.full(len(directions), -2.0)
    for _ in range(count - 1):
        nearest = np.maximum(nearest, directions @ directions[corners[-1]])
        corners.append(int((weights * (1 - nearest)).argmax()))
    centers = directions[corners].copy()
    owners = (directions @ centers.T).argmax(axis=1)
    for _ in range(40):
        sums = np.zeros_like(centers)
        np.add.at(sums, owners, weights[:, None] * directions)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centers = np.where(lengths > 0, sums / np.maximum(lengths, 1e-300), centers)
        nearest_now = (directions @ centers.T).argmax(axis=1)
        if np.array_equal(nearest_now, owners):
            break
        owners = nearest_now
    return np.unique(owners, return_inverse=True)[1]
