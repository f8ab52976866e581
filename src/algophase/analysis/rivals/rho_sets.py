"""Rho-sets (Wu et al. 2025): units read b^T rho(x) a - a^T rho(y) b', with b and b' from a finite
set B that rho(G) permutes, and the same a for both operands. A full circuit has |B|^2 units: 25 for
the standard representation of S5, with five vectors.

Of each unit, in its main representation of dimension d,

    A(x) = sum over ij of F_ij rho(x)_ij        F = (d / n) sum over x of A(x) rho(x) = b a^T
    B(y) likewise                               F' = -a b'^T

so F and F' have rank one, and share a. Vectors count up to their sign. In a complex or quaternionic
representation they count up to numbers of that field, and singular values come in twos and fours:
there b is a plane, or a space of four dimensions.

In a representation of one dimension (over its field) nothing of this can fail: every function is
b^T rho(x) a. Those are left out of what is said of vectors.
"""

from dataclasses import dataclass

import numpy as np

from algophase.analysis.program.instances import TINY
from algophase.analysis.rivals.account import SAME_VECTOR, Account, Measure
from algophase.analysis.rivals.evidence import EXPLAINED, NO_UNITS, Evidence
from algophase.analysis.rivals.reads import UnitReads, random_coefficients
from algophase.core.fourier import Array
from algophase.core.group import Numbers
from algophase.core.representations import Representation

SOURCE = "Wu et al. 2025"
NAME = "rho-sets"
PREDICTS = "units read b^T rho(x) a - a^T rho(y) b', with b and b' from a set that rho(G) permutes"
MULTIPLICITY = {"real": 1, "complex": 2, "quaternionic": 4}  # of singular values
LEAST_VECTOR = 0.01  # of the weight of a representation's vectors; fewer are not of the set
SAMPLES = 64


@dataclass(frozen=True, eq=False)
class RhoSet:
    """The units of one representation.

    units: (u,), their numbers. weight: of all of them in the network.
    rank_one: (u,), share of their variance, all representations counted, that has rank one in this.
    same_vector: (u,), squared cosine between the a of both operands.
    vectors: (|B|, D, D), projections onto the vectors of B.
    closed: mean squared cosine between images of B and the nearest member; by_chance: of as many
        random vectors.
    first, second: (n, u), what the units read if they have this form alone.
    """

    representation: Representation
    units: Numbers
    weight: float
    rank_one: Array
    rank_one_by_chance: float
    same_vector: Array
    vectors: Array
    closed: float
    closed_by_chance: float
    first: Array
    second: Array

    @property
    def says_something(self) -> bool:
        """Whether it could have failed: not in one dimension over its field."""
        representation = self.representation
        return representation.real_dimension > MULTIPLICITY[representation.kind]


def rho_sets(evidence: Evidence) -> Account:
    reads = evidence.reads
    if reads is None:
        return Account(NAME, SOURCE, PREDICTS, undefined=NO_UNITS)
    sets = [read_set(reads, *one) for one in reads.by_representation()]
    telling = [one for one in sets if one.says_something]
    line = evidence.thresholds.program
    measures = [
        Measure(
            "what units read that has rank one in one representation",
            _mean(reads, sets, "rank_one"),
            line,
            by_chance=_set_mean(sets, "rank_one_by_chance"),
            why=EXPLAINED,
        ),
        *evidence.instead(
            "have this form, with b from B", reads, random_coefficients(reads), by_rho_sets
        ),
    ]
    if telling:
        dimensions = [_free_dimension(one.representation) for one in telling]
        weights = [one.weight for one in telling]
        measures[1:1] = [
            Measure(
                "squared cosine of the a of both operands",
                _mean(reads, telling, "same_vector"),
                line,
                by_chance=float(np.average(1 / np.array(dimensions), weights=weights)),
                why=EXPLAINED,
            ),
            Measure(
                "squared cosine of images of B with B",
                _set_mean(telling, "closed"),
                SAME_VECTOR,
                by_chance=_set_mean(telling, "closed_by_chance"),
                why="ours: the line from which two vectors are one",
            ),
        ]
    notes = evidence.unit_notes
    notes += [_note(one) for one in sorted(telling, key=lambda one: -one.weight)]
    if not telling:
        notes.append("in one dimension every function is b^T rho(x) a: vectors say nothing here")
    details = tuple(_details(one) for one in sets)
    return Account(NAME, SOURCE, PREDICTS, tuple(measures), tuple(notes), details)


def by_rho_sets(reads: UnitReads) -> tuple[Array, Array]:
    """A and B of live units in the form of a rho-set, the others silent."""
    first = np.zeros_like(reads.first)
    second = np.zeros_like(reads.second)
    for representation, units in reads.by_representation():
        one = read_set(reads, representation, units)
        first[:, units], second[:, units] = one.first, one.second
    return first, second


def read_set(reads: UnitReads, representation: Representation, units: Numbers) -> RhoSet:
    """The rho-set of the units whose main representation this is."""
    of_first = coefficients(representation, reads.first[:, units])
    # F'^T = -b' a^T: both operands then have b on the left and a on the right.
    of_second = coefficients(representation, reads.second[:, units]).transpose(0, 2, 1)
    multiplicity = MULTIPLICITY[representation.kind]
    left_first, sizes_first, right_first = np.linalg.svd(of_first)
    left_second, sizes_second, right_second = np.linalg.svd(of_second)
    top = slice(multiplicity)
    leading = np.square(sizes_first[:, top]).sum(1) + np.square(sizes_second[:, top]).sum(1)
    of_each = np.stack([np.square(sizes_first).sum(1), np.square(sizes_second).sum(1)])
    both = np.maximum(of_each.sum(axis=0), TINY)
    overlaps = np.einsum("uki,uli->ukl", right_first[:, top], right_second[:, top])
    weights = reads.weights[units]
    vectors = distinct_vectors(
        np.concatenate([_onto(left_first[:, :, top]), _onto(left_second[:, :, top])]),
        (weights * of_each / both).ravel(),
    )
    generator = np.random.default_rng(0)
    drawn = generator.standard_normal((len(vectors), representation.real_dimension, multiplicity))
    form_first, form_second = _of_this_form(of_first, of_second, vectors, multiplicity)
    return RhoSet(
        representation=representation,
        units=units,
        weight=float(weights.sum()),
        rank_one=reads.main_share[units] * leading / both,
        rank_one_by_chance=_rank_one_by_chance(representation),
        same_vector=np.square(overlaps).sum(axis=(1, 2)) / multiplicity,
        vectors=vectors,
        closed=closure(representation, vectors),
        closed_by_chance=closure(representation, _onto(np.linalg.qr(drawn)[0])),
        first=functions(representation, form_first),
        second=functions(representation, form_second.transpose(0, 2, 1)),
    )


def coefficients(representation: Representation, values: Array) -> Array:
    """(functions, D, D): F of functions (n, functions)."""
    scale = representation.dimension / (2 if representation.kind == "quaternionic" else 1)
    matrices = representation.matrices
    sums = np.einsum("xu,xij->uij", values, matrices, optimize=True)
    return sums * (scale / representation.group.order)


def functions(representation: Representation, matrices: Array) -> Array:
    """(n, functions) of coefficients F."""
    return np.einsum("uij,xij->xu", matrices, representation.matrices, optimize=True)


def _onto(spaces: Array) -> Array:
    """Projections (vectors, D, D) onto spaces (vectors, D, multiplicity) of orthonormal columns."""
    return spaces @ spaces.transpose(0, 2, 1)


def similarity(first: Array, second: Array) -> Array:
    """(vectors, others): mean squared cosine between the spaces of projections (..., D, D)."""
    multiplicity = float(np.trace(first[0]))
    return first.reshape(len(first), -1) @ second.reshape(len(second), -1).T / multiplicity


def distinct_vectors(projections: Array, weights: Array) -> Array:
    """The set B: vectors that are no nearer to each other than `SAME_VECTOR`, the heaviest first,
    each with those near it at least `LEAST_VECTOR` of all weight.
    """
    left = np.ones(len(projections), dtype=bool)
    kept = []
    while left.any():
        heaviest = int(np.where(left, weights, -1).argmax())
        near = left & (similarity(projections[heaviest][None], projections)[0] >= SAME_VECTOR)
        near[heaviest] = True
        if weights[near].sum() >= LEAST_VECTOR * weights.sum():
            kept.append(heaviest)
        left &= ~near
    return projections[kept]


def closure(representation: Representation, vectors: Array) -> float:
    """Over all elements and vectors of B: the mean squared cosine of the image with its nearest
    member.
    """
    nearest = []
    for matrix in representation.matrices:
        images = matrix @ vectors @ matrix.T
        nearest.append(similarity(images, vectors).max(axis=1).mean())
    return float(np.mean(nearest))


def _of_this_form(
    of_first: Array, of_second: Array, vectors: Array, multiplicity: int
) -> tuple[Array, Array]:
    """Coefficients b a^T and b' a^T nearest to these, with the same a and with b, b' from B."""
    stacked = np.concatenate([of_first, of_second], axis=1)  # (u, 2 D, D)
    right = np.linalg.svd(stacked)[2][:, :multiplicity]
    onto_a = right.transpose(0, 2, 1) @ right
    forms = []
    for matrices in (of_first @ onto_a, of_second @ onto_a):
        squares = np.einsum("uij,bik,ukj->ub", matrices, vectors, matrices, optimize=True)
        nearest = squares.argmax(axis=1)
        forms.append(vectors[nearest] @ matrices)
    return forms[0], forms[1]


def _rank_one_by_chance(representation: Representation) -> float:
    """Of random functions that belong to the representation."""
    generator = np.random.default_rng(0)
    values = representation.basis.T @ generator.standard_normal((representation.functions, SAMPLES))
    sizes = np.square(np.linalg.svd(coefficients(representation, values), compute_uv=False))
    top = sizes[:, : MULTIPLICITY[representation.kind]].sum(axis=1)
    return float((top / sizes.sum(axis=1)).mean())


def _free_dimension(representation: Representation) -> float:
    """Over its field."""
    return representation.real_dimension / MULTIPLICITY[representation.kind]


def _mean(reads: UnitReads, sets: list[RhoSet], name: str) -> float:
    """Of a number per unit, by weight."""
    values = np.concatenate([getattr(one, name) for one in sets])
    weights = np.concatenate([reads.weights[one.units] for one in sets])
    return float(np.average(values, weights=weights))


def _set_mean(sets: list[RhoSet], name: str) -> float:
    """Of a number per representation, by weight."""
    return float(
        np.average([getattr(one, name) for one in sets], weights=[one.weight for one in sets])
    )


def _note(one: RhoSet) -> str:
    count = len(one.vectors)
    return (
        f"{one.representation.name} (weight {one.weight:.0%}): {count} vectors up to sign, "
        f"|B|^2 = {count**2}, {len(one.units)} units, closed {one.closed:.2f}"
    )


def _details(one: RhoSet) -> dict[str, object]:
    return {
        "representation": one.representation.name,
        "dimension": one.representation.dimension,
        "weight": one.weight,
        "units": len(one.units),
        "vectors": len(one.vectors),
        "units_of_a_full_circuit": len(one.vectors) ** 2,
        "rank_one": float(one.rank_one.mean()),
        "same_vector": float(one.same_vector.mean()),
        "closed": one.closed,
        "closed_by_chance": one.closed_by_chance,
    }
