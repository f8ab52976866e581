"""Short integer relations between frequencies: i + j = l, 2i = j, i + j = l + m, ..., modulo p.

Frequencies k and p - k are the same circle, so every term may have either sign: a relation is
a tuple of coefficients c, and frequencies k (distinct, from 1 to floor(p / 2)) are related by
it if some choice of signs makes the sum of c k a multiple of p.
"""

from collections.abc import Sequence
from itertools import combinations, permutations, product

import numpy

from algophase.core.group import Numbers

# By name: the coefficients, one per frequency. Signs are free: 2i = j + l is also 2i = j - l.
RELATIONS: dict[str, tuple[int, ...]] = {
    "i + j = l": (1, 1, 1),
    "2i = j": (2, 1),
    "i + j = l + m": (1, 1, 1, 1),
    "2i = j + l": (2, 1, 1),
    "3i = j": (3, 1),
    "4i = j": (4, 1),
    "3i = j + l": (3, 1, 1),
    "2i + 2j = l": (2, 2, 1),
}


def relation_counts(sets: Numbers, modulus: int, coefficients: Sequence[int]) -> Numbers:
    """How often the frequencies of each set, (n, k), are related: (n,).

    Each way to give the coefficients to distinct frequencies of the set counts once, whatever the
    signs.

    >>> relation_counts(numpy.array([[5, 8, 13], [5, 8, 46], [5, 8, 14]]), 59, (1, 1, 1)).tolist()
    [1, 1, 0]
    """
    counts = numpy.zeros(len(sets), dtype=numpy.int64)
    terms = len(coefficients)
    if sets.shape[1] < terms:
        return counts
    members = numpy.array(list(combinations(range(sets.shape[1]), terms)))
    chosen = sets[:, members]  # (n, combination, term)
    for ordered in sorted(set(permutations(coefficients))):
        related = numpy.zeros(chosen.shape[:2], dtype=bool)
        # One sign is free: all of them turned round give the same relation.
        for signs in product((1, -1), repeat=terms - 1):
            weights = numpy.array(ordered) * numpy.array((1, *signs))
            related |= chosen @ weights % modulus == 0
        counts += related.sum(axis=1)
    return counts


def related_by(frequencies: Sequence[int], modulus: int) -> list[str]:
    """The names of the relations between some of these frequencies.

    >>> related_by([5, 8, 13], 59), related_by([1, 2, 3], 59)
    (['i + j = l'], ['i + j = l', '2i = j', '2i = j + l', '3i = j'])
    """
    sets = numpy.array([frequencies])
    names = []
    for name, coefficients in RELATIONS.items():
        if relation_counts(sets, modulus, coefficients)[0]:
            names.append(name)
    return names
