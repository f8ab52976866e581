"""Networks on any finite group with weights set by hand, one for each rival account of how trained
networks answer: known answers for `rivals`.

*Coset circuit* (Stander et al. 2024). phi is a random function on the right cosets H + x of a
subgroup. Units read, for each right coset H + c,

    phi(H + x) - phi(H + c - y)

which is zero if x + y lies in H + c. A unit and its negative write -1 on that coset. The first
operand is read by right cosets of H, the second by left cosets of -c + H + c. The sum over all
conjugates of H is zero at z = x + y, and negative elsewhere if these have only the identity in
common.

*Rho-set* (Wu et al. 2025). B is a finite set of vectors that rho(G) permutes, a any vector. There
is one unit for each pair of B,

    reads b^T rho(x) a - a^T rho(y) b'        writes -b^T rho(z) b'

*Lookup*. Random numbers for every operand, one random unit or more per pair, and a read-out that
solves the linear equations of all pairs: the table of answers, by heart.

The other accounts have theirs in `handmade` (Clock, Pizza) and `handmade_groups` (characters).
"""

import numpy as np

from algophase.core.errors import InputError
from algophase.core.fourier import Array
from algophase.core.group import Group
from algophase.core.settings import MLPSettings
from algophase.core.subgroups import Subgroups, subgroup_classes
from algophase.networks.handmade_groups import chosen_representations, filled, smallest_orbit
from algophase.networks.mlp import MLP

DRAWS = 1000  # random vectors, of which the widest orbit is taken
MORE_UNITS = 1.25  # than there are pairs, of a lookup table: its equations then have a solution


def coset_network(group: Group, order: int, seed: int = 0) -> MLP:
    """A coset circuit of all subgroups in the first conjugacy class of this order.

    >>> from algophase.core.named_groups import named_group
    >>> coset_network(named_group("S3"), 2).settings.width
    18
    """
    subgroups = _class_of_order(group, order)
    generator = np.random.default_rng(seed)
    first, second, written = [], [], []
    for members in subgroups.members:
        elements = np.flatnonzero(members)
        representatives, coset_of = np.unique(
            group.table[elements].min(axis=0), return_inverse=True
        )
        values = generator.standard_normal(len(representatives))
        reads_x = values[coset_of]
        for coset, c in enumerate(representatives):
            reads_y = -values[coset_of[group.table[c, group.inverses]]]
            first += [reads_x, -reads_x]
            second += [reads_y, -reads_y]
            written += 2 * [-(coset_of == coset).astype(np.float64)]
    return _filled(group, first, second, written)


def _class_of_order(group: Group, order: int) -> Subgroups:
    classes = subgroup_classes(group)
    for subgroups in classes:
        if subgroups.order == order:
            return subgroups
    orders = sorted({subgroups.order for subgroups in classes})
    raise InputError(f"order is {order}; subgroups have {', '.join(map(str, orders))} elements")


def rho_set_network(
    group: Group, name: str | None = None, *, generic: bool = False, seed: int = 0
) -> MLP:
    """A rho-set circuit on one representation, of |B|^2 units.

    name: of the representation; by default the first that tells all elements apart.
    generic: B has a vector for each element of the group, as far from each other as those of random
        vectors come; else it is the smallest orbit.

    >>> from algophase.core.named_groups import named_group
    >>> rho_set_network(named_group("S4"), "standard").settings.width
    16
    """
    names = None if name is None else [name]
    (representation,) = chosen_representations(group, names)
    matrices = representation.matrices
    generator = np.random.default_rng(seed)
    orbit = smallest_orbit(matrices)
    if generic:
        orbit = _widest_orbit(matrices, generator)
    direction = generator.standard_normal(matrices.shape[1])
    reads_x = np.einsum("bi,xij,j->bx", orbit, matrices, direction)
    reads_y = -np.einsum("i,yij,bj->by", direction, matrices, orbit)
    first, second, written = [], [], []
    for b, left in enumerate(orbit):
        for y, right in enumerate(orbit):
            first.append(reads_x[b])
            second.append(reads_y[y])
            written.append(-np.einsum("i,zij,j->z", left, matrices, right))
    return _filled(group, first, second, written)


def _widest_orbit(matrices: Array, generator: np.random.Generator) -> Array:
    """(n, D): of random vectors, the orbit of that which every element takes farthest away."""
    drawn = generator.standard_normal((DRAWS, matrices.shape[1]))
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    images = np.einsum("xij,vj->vxi", matrices, vectors)
    distances = np.linalg.norm(images - vectors[:, None], axis=-1)
    nearest = np.sort(distances, axis=1)[:, 1]  # the identity moves nothing
    return np.asarray(images[nearest.argmax()])


def lookup_network(group: Group, seed: int = 0) -> MLP:
    """A table of all answers on random features: no structure of the group in it.

    >>> from algophase.core.named_groups import named_group
    >>> lookup_network(named_group("S3")).settings.width
    45
    """
    n = group.order
    generator = np.random.default_rng(seed)
    width = int(MORE_UNITS * n**2)
    first, second = generator.standard_normal((2, n, width))
    hidden = np.maximum(first[:, None] + second, 0).reshape(n * n, width)
    answers = np.eye(n)[group.table.ravel()]  # (pairs, z)
    written = np.linalg.lstsq(hidden, answers, rcond=None)[0]
    return filled(group, _settings(width), first, second, written)


def _filled(group: Group, first: list[Array], second: list[Array], written: list[Array]) -> MLP:
    """Of one function of x, one of y and one of z per unit."""
    return filled(
        group, _settings(len(first)), np.stack(first, 1), np.stack(second, 1), np.stack(written)
    )


def _settings(width: int) -> MLPSettings:
    return MLPSettings(width, join="add", activation="relu", own_tables=True)
