"""Representations of a finite group, numerically from its table alone.

Every function on a group of order n is a sum of matrix coefficients of its irreducible
representations. That is Fourier analysis: for the cyclic group, the coefficients are waves.

*Characters.* A random class function w with w(-g) = conj w(g) acts on class functions by

    (w * f)(x) = sum over g of w(g) f(-g + x)

In the orthonormal basis of the classes (1 / sqrt |K| on class K) this is a Hermitian matrix, and
its eigenvectors are the characters, up to a factor (Burnside). They are orthonormal, so
chi(0) / |chi| = dimension / sqrt n gives the dimension.

*Real representations.* The indicator of Frobenius and Schur, the mean of chi(2 g), is 1, 0 or -1:

| kind | indicator | dimension of the real one | functions on the group that it spans |
|---|---|---|---|
| real | 1 | d | d^2 |
| complex | 0 | 2 d, of chi and conj chi together | 2 d^2 |
| quaternionic | -1 | 2 d | d^2 |

d is the dimension of chi. A complex pair of dimension one is a circle: a frequency k and -k.
"""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algophase.core.group import Group, Numbers
from algophase.core.known_groups import isomorphism, name_of
from algophase.core.named_groups import named_group, permutations_of

Array = NDArray[np.float64]
Characters = NDArray[np.complex128]

# Two eigenvalues nearer than this leave the eigenvectors of both uncertain: draw again. They lie
# in an interval of length one or so, and are at most 1,000.
LEAST_GAP = 1e-7
DRAWS = 50
INDICATED = {1: "real", 0: "complex", -1: "quaternionic"}


class CharacterTable(NamedTuple):
    """values: (characters, classes), the trivial one first, then by dimension and kind.
    dimensions: (characters,). indicators: (characters,), 1, 0 or -1.
    """

    values: Characters
    dimensions: Numbers
    indicators: Numbers


@functools.lru_cache(maxsize=32)
def character_table(group: Group) -> CharacterTable:
    """All irreducible characters of a group.

    >>> from algophase.core.named_groups import named_group
    >>> character_table(named_group("S3")).values.real.round(6) + 0.0
    array([[ 1.,  1.,  1.],
           [ 1., -1.,  1.],
           [ 2.,  0., -1.]])
    """
    sizes = np.bincount(group.class_of)
    for seed in range(DRAWS):
        eigenvalues, vectors = np.linalg.eigh(_class_matrix(group, sizes, seed))
        if len(eigenvalues) == 1 or np.diff(eigenvalues).min() > LEAST_GAP:
            break
    else:
        raise ArithmeticError(f"the characters of a group of order {group.order} did not separate")
    values = (vectors / np.sqrt(sizes)[:, None]).T * group.order**0.5  # rows, |chi|^2 = n
    at_identity = values[:, group.class_of[group.identity]]
    values = values * (np.abs(at_identity) / at_identity)[:, None]
    dimensions = np.abs(at_identity).round().astype(np.int64)
    if int((dimensions**2).sum()) != group.order:
        raise ArithmeticError(f"dimensions {dimensions} do not belong to order {group.order}")
    doubles = group.table[group.elements, group.elements]
    indicators = values[:, group.class_of[doubles]].mean(axis=1).real.round().astype(np.int64)
    order = _tidy_order(values, dimensions, indicators)
    return CharacterTable(values[order], dimensions[order], indicators[order])


def _class_matrix(group: Group, sizes: Numbers, seed: int) -> NDArray[np.complex128]:
    """(classes, classes): how a random class function acts, Hermitian."""
    generator = np.random.default_rng(seed)
    classes = len(sizes)
    inverse_class = group.class_of[group.inverses[group.class_members]]
    drawn = generator.standard_normal(classes) + 1j * generator.standard_normal(classes)
    weights = (drawn + drawn[inverse_class].conj()) / (2 * group.order**0.5)
    # [class of x, class of y]: the sum of w(g) over the g with -g + x = y, for one x of the class
    matrix = np.zeros((classes, classes), dtype=np.complex128)
    for row, x in enumerate(group.class_members):
        differences = group.table[group.inverses, x]  # -g + x
        np.add.at(matrix[row], group.class_of[differences], weights[group.class_of])
    scale = np.sqrt(sizes)
    symmetric = matrix * scale[:, None] / scale
    return (symmetric + symmetric.conj().T) / 2


def _tidy_order(values: Characters, dimensions: Numbers, indicators: Numbers) -> Numbers:
    """By dimension, then the trivial one, then real before complex before quaternionic, then by
    values; conjugate ones side by side.
    """
    keys = []
    for row, (dimension, indicator) in enumerate(zip(dimensions, indicators, strict=True)):
        real = tuple((-values[row].real).round(6) + 0.0)
        imaginary = tuple((-values[row].imag).round(6) + 0.0)
        kind = {1: 0, 0: 1, -1: 2}[int(indicator)]
        keys.append((int(dimension), kind, real, imaginary, row))
    return np.array([key[-1] for key in sorted(keys)])


@dataclass(frozen=True, eq=False)
class Representation:
    """A real irreducible representation.

    name: "trivial", "sign", "standard", else the dimension of chi and a number: "5.1"
    kind: "real", "complex" or "quaternionic"
    dimension: d, of chi
    character: (n,), chi of every element; of a complex pair, one of the two
    """

    group: Group
    name: str
    kind: str
    dimension: int
    character: Characters

    def __repr__(self) -> str:
        return f"<Representation {self.name} of dimension {self.dimension}, {self.kind}>"

    @property
    def real_dimension(self) -> int:
        """Of the real representation: 2 d unless chi is of real kind."""
        return self.dimension if self.kind == "real" else 2 * self.dimension

    @property
    def functions(self) -> int:
        """How many independent functions on the group belong to it."""
        return self.dimension**2 * (2 if self.kind == "complex" else 1)

    @property
    def is_trivial(self) -> bool:
        return self.name == "trivial"

    @property
    def is_circle(self) -> bool:
        """Whether it is a pair of complex characters of dimension one, k and -k."""
        return self.kind == "complex" and self.dimension == 1

    @functools.cached_property
    def real_character(self) -> Array:
        """(n,), sum over g of real_character(g) R(g) is n / d times the projection onto it."""
        both = 2 if self.kind == "complex" else 1
        return both * self.character.real

    def projection(self) -> Array:
        """(n, n), symmetric: onto the functions on the group that belong to it.

        P = (d / n) sum over g of conj chi(g) R(g); for a complex one, of chi and conj chi together.
        """
        differences = self.group.table[:, self.group.inverses]  # x - y
        return self.real_character[differences] * (self.dimension / self.group.order)

    @functools.cached_property
    def basis(self) -> Array:
        """(functions, n), orthonormal rows: matrix coefficients."""
        eigenvalues, vectors = np.linalg.eigh(self.projection())
        return vectors[:, eigenvalues > 0.5].T

    @functools.cached_property
    def matrices(self) -> Array:
        """(n, D, D) with D the real dimension: orthogonal matrices, M(x + y) = M(x) M(y).

        Translations from the left leave the eigenspaces of a translation from the right alone. Each
        eigenspace of a random symmetric mean of such translations, among the functions that belong
        to this representation, is one copy of it.
        """
        group, basis = self.group, self.basis
        generator = np.random.default_rng(0)
        weights = generator.standard_normal(group.order)
        weights = weights + weights[group.inverses]
        # (sum over g of w(g) f)(x + g): entry [x, y] is w(-x + y)
        from_right = weights[group.table[group.inverses]]
        _, vectors = np.linalg.eigh(basis @ from_right @ basis.T)
        # Copies belong to equal eigenvalues, D in a row; the first ones are as good as any.
        copy = basis.T @ vectors[:, : self.real_dimension]  # (n, D)
        matrices = np.empty((group.order, self.real_dimension, self.real_dimension))
        for element in range(group.order):
            shifted = copy[group.table[group.inverses[element]]]  # f(-g + x)
            matrices[element] = copy.T @ shifted
        return matrices


@functools.lru_cache(maxsize=32)
def representations(group: Group) -> tuple[Representation, ...]:
    """All real irreducible representations, the trivial one first.

    >>> from algophase.core.named_groups import named_group
    >>> [each.name for each in representations(named_group("S5"))]
    ['trivial', 'sign', 'standard', 'standard x sign', '5.1', '5.2', '6.1']
    """
    table = character_table(group)
    rows = _one_of_each_pair(table)
    characters = [table.values[row][group.class_of] for row in rows]
    kinds = [INDICATED[int(table.indicators[row])] for row in rows]
    dimensions = [int(table.dimensions[row]) for row in rows]
    names = _names(group, characters, dimensions, kinds)
    return tuple(
        Representation(group, name, kind, dimension, character)
        for name, kind, dimension, character in zip(
            names, kinds, dimensions, characters, strict=True
        )
    )


def _one_of_each_pair(table: CharacterTable) -> list[int]:
    """Rows of the character table, without the second of two conjugate ones."""
    rows: list[int] = []
    for row, values in enumerate(table.values):
        conjugates = [np.abs(table.values[chosen] - values.conj()).max() for chosen in rows]
        if not conjugates or min(conjugates) > 1e-6:
            rows.append(row)
    return rows


def _names(
    group: Group, characters: Sequence[Characters], dimensions: Sequence[int], kinds: Sequence[str]
) -> list[str]:
    one_dimensional_real = [
        row for row in range(1, len(characters)) if dimensions[row] == 1 and kinds[row] == "real"
    ]
    special = {0: "trivial"}
    standard = _standard_character(group)
    if len(one_dimensional_real) == 1:
        sign = one_dimensional_real[0]
        special[sign] = "sign"
        if standard is not None:
            special[_row_of(standard * characters[sign], characters)] = "standard x sign"
    if standard is not None:
        special[_row_of(standard, characters)] = "standard"
    names = []
    counts = Counter[int]()
    for row, dimension in enumerate(dimensions):
        if row not in special:
            counts[dimension] += 1
        names.append(special.get(row, f"{dimension}.{counts[dimension]}"))
    return names


def _standard_character(group: Group) -> Characters | None:
    """Of S_n and A_n, (n,): how many points a permutation leaves alone, less one. None for other
    groups.
    """
    name = re.fullmatch(r"([SA])(\d)", name_of(group))
    if not name or int(name[2]) < (3 if name[1] == "S" else 4):
        return None
    permutations = np.array(permutations_of(int(name[2]), even_only=name[1] == "A"))
    fixed = (permutations == np.arange(permutations.shape[1])).sum(axis=1)
    elements = isomorphism(named_group(name[0]), group)
    standard = np.empty(group.order, dtype=np.complex128)
    standard[elements] = fixed - 1
    return standard


def _row_of(character: Characters, characters: Sequence[Characters]) -> int:
    distances = [np.abs(candidate - character).max() for candidate in characters]
    return int(np.argmin(distances))
