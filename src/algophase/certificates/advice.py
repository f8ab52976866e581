"""Advice for a compact proof: the explanation of a network, as numbers that a proof can use.

An activation is a share of x plus an even part: relu(x) = x / 2 + |x| / 2. The linear share is
cheap and needs no advice. Of the even part the advice says what is nearly true.

A transformer's hidden units read few directions of the stream, and units of one frequency that read
at nearly the same phase, or at the opposite one, do nearly the same:

    Q, Y      directions of the stream (d, q), and the way back (q, d): x is nearly x Q Y
    owners    for each unit u one of fewer *merged* units, and its factor alpha_u: |pre_u| is nearly
              |alpha_u| |rho_owner|
    C         what merged units read of (x Q, 1): rho = (x Q, 1) C
    S, B      what merged units write, nearly S B: few planes of the outputs, or cosets of
              subgroups, each unit on its own

Networks of other kinds are cheap to read, so all their units stay, and only S and B are given. For
these, the advice also lists pairs with answers that it leaves open: those are compared exactly.
A proof holds for any advice; good advice makes it succeed. What the advice misses, the proof bounds
(`compact.py`). Numbers are rounded as a file holds them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algophase.certificates.balls import Array

Numbers = NDArray[np.int64]
Contested = tuple[int, int, list[int]]  # a pair, and the answers that are left open
DIGITS = 6  # significant ones of every number
POWERS_OF_TEN = np.array([float(10**power) for power in range(23)])


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

    writes: S, (merged, r); basis: B, (r, outputs).
    center: what merged units give on average, (merged,); scales: their weights in the bound of what
        S B misses, (merged,).
    contested: pairs and answers that are compared exactly.
    """

    reading: Reading | None
    writes: Array
    basis: Array
    center: Array
    scales: Array
    contested: tuple[Contested, ...] = ()

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
            "rank": len(self.basis),
            "writes": _listed(self.writes),
            "basis": _listed(self.basis),
            "center": self.center.tolist(),
            "scales": self.scales.tolist(),
            "contested": [list(entry) for entry in self.contested],
        }


def _listed(matrix: Array) -> list[list[float]]:
    rows, columns = np.nonzero(matrix)
    values = matrix[rows, columns].tolist()
    parts = (rows.tolist(), columns.tolist(), values)
    return [list(entry) for entry in zip(*parts, strict=True)]


def rounded(values: Array) -> Array:
    """To so many digits: the float64 that reading its text gives, so a file holds it exactly."""
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log10(np.abs(values)))
    decimals = DIGITS - 1 - exponents
    # A whole number divided by a power of ten that float64 has exactly is the nearest to the text.
    is_usual = (decimals >= 0) & (decimals < len(POWERS_OF_TEN))
    scales = POWERS_OF_TEN[decimals[is_usual].astype(int)]
    numbers = np.zeros_like(values)
    numbers[is_usual] = np.rint(values[is_usual] * scales) / scales
    is_unusual = ~is_usual & (values != 0)
    texts = [f"{value:.{DIGITS}g}" for value in values[is_unusual].tolist()]
    numbers[is_unusual] = [float(text) for text in texts]
    return numbers


def principal(rows: Array) -> tuple[Array, Array]:
    """Singular values of a matrix (n, v), the largest first, and its right singular vectors as
    rows. By the eigenvectors of its products: LAPACK's own decomposition does not always converge
    where weights have decayed to denormal numbers.
    """
    squares, vectors = np.linalg.eigh(rows.T @ rows)
    largest_first = np.maximum(squares[::-1], 0.0)
    values = np.sqrt(largest_first)
    return values, np.ascontiguousarray(vectors.T[::-1])
