"""What a group is called: the name of a known group that it is isomorphic to.

Candidates are found by how many elements have which order and how many conjugates, and a candidate
is taken only if an isomorphism is found. For commuting groups the orders alone are a proof.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from algophase.core.group import CyclicGroup, Group, Numbers, generated, is_prime
from algophase.core.named_groups import LARGEST_PERMUTED, multiplier_of_order, named_group

Fingerprint = Counter[tuple[int, int]]  # how many elements have this order and this many conjugates


def name_of(group: Group) -> str:
    """The name of a known group that this one is isomorphic to: "S5", "D59", "Z2xZ30"; "" where
    none is known.

    >>> name_of(named_group("(1 2 3 4 5); (1 2)"))
    'S5'
    """
    if isinstance(group, CyclicGroup):
        return group.spelled
    return _name_of_table(group.table.tobytes(), group.order, group.identity)


@functools.lru_cache(maxsize=64)
def _name_of_table(table: bytes, order: int, identity: int) -> str:
    group = Group(np.frombuffer(table, dtype=np.int64).reshape(order, order), identity)
    fingerprint = fingerprint_of(group)
    for name, candidate in _known_groups(order):
        if candidate != fingerprint:
            continue
        if group.commutes or isomorphism(named_group(name), group) is not None:
            return name
    return ""


def described(group: Group) -> str:
    """The group S5 of order 120; a group of order 60 with 12 classes.

    >>> described(named_group("(1 2 3 4); (1 3)"))
    'the group D4 of order 8'
    """
    name = name_of(group)
    if name:
        return f"the group {name} of order {group.order}"
    return f"a group of order {group.order} with {len(group.class_members)} classes"


def fingerprint_of(group: Group) -> Fingerprint:
    return Counter(zip(group.element_orders.tolist(), group.class_sizes.tolist(), strict=True))


def isomorphism(first: Group, second: Group) -> Numbers | None:
    """(n,), which element of the second group each element of the first is; None where the two
    differ.

    Generators of the first are sent to all elements of the second with the same order and as many
    conjugates, the first generator to one of each conjugacy class only.
    """
    if first.order != second.order or fingerprint_of(first) != fingerprint_of(second):
        return None
    generators = few_generators(first)
    kinds = np.stack([second.element_orders, second.class_sizes], axis=1)
    choices = []
    for generator in generators:
        kind = (first.element_orders[generator], first.class_sizes[generator])
        choices.append(np.flatnonzero((kinds == kind).all(axis=1)))
    choices[0] = np.intersect1d(choices[0], second.class_members)
    words = _words(first, generators)
    pairs = list(itertools.combinations(range(len(generators)), 2))
    orders_of_sums = {
        (i, j): first.element_orders[first.sum(generators[i], generators[j])] for i, j in pairs
    }
    for images in itertools.product(*[choice.tolist() for choice in choices]):
        agrees = all(
            second.element_orders[second.table[images[i], images[j]]] == orders_of_sums[i, j]
            for i, j in pairs
        )
        if agrees:
            mapping = _extended(first, second, generators, images, words)
            if mapping is not None:
                return mapping
    return None


def few_generators(group: Group) -> list[int]:
    """Two elements that generate the group, or three, and so on; rare kinds of elements first."""
    by_rarity = np.lexsort((-group.element_orders, group.class_sizes))
    candidates = [element for element in by_rarity.tolist() if element != group.identity]
    one_per_class = [element for element in candidates if element in group.class_members]
    for count in range(1, 10):
        for leading in one_per_class:
            for further in itertools.islice(itertools.combinations(candidates, count - 1), 5000):
                chosen = [leading, *further]
                if generated(group.table, chosen).all():
                    return chosen
    return candidates


def _words(group: Group, generators: list[int]) -> list[tuple[Numbers, Numbers, int]]:
    """How each element is made: steps (elements, their parents, generator), so that element =
    parent + generator, and parents come first.
    """
    reached = np.zeros(group.order, dtype=bool)
    latest = np.array([group.identity])
    reached[latest] = True
    steps = []
    while len(latest):
        added = []
        for index, generator in enumerate(generators):
            sums = group.table[latest, generator]
            is_new = ~reached[sums]
            elements, first = np.unique(sums[is_new], return_index=True)
            if len(elements):
                steps.append((elements, latest[is_new][first], index))
                reached[elements] = True
                added.append(elements)
        latest = np.concatenate(added) if added else np.array([], dtype=np.int64)
    return steps


def _extended(
    first: Group,
    second: Group,
    generators: list[int],
    images: tuple[int, ...],
    words: list[tuple[Numbers, Numbers, int]],
) -> Numbers | None:
    """The isomorphism that sends the generators to these images, if there is one."""
    mapping = np.empty(first.order, dtype=np.int64)
    mapping[first.identity] = second.identity
    for elements, parents, index in words:
        mapping[elements] = second.table[mapping[parents], images[index]]
    if len(np.unique(mapping)) < first.order:
        return None
    for generator, image in zip(generators, images, strict=True):
        if not np.array_equal(mapping[first.table[:, generator]], second.table[mapping, image]):
            return None
    return mapping


def _known_groups(order: int) -> Iterator[tuple[str, Fingerprint]]:
    """Commuting groups; symmetric, alternating, dihedral, dicyclic and semidirect ones; products of
    one of these with a commuting group, and of two of these.
    """
    yield from _commuting_groups(order)
    divisors = [divisor for divisor in range(6, order + 1) if order % divisor == 0]
    for divisor in reversed(divisors):
        for name, fingerprint in _basic_groups(divisor):
            for factor_name, factor in _commuting_groups(order // divisor):
                product_name = f"{name}x{factor_name}" if factor_name else name
                yield product_name, _times(fingerprint, factor)
    for divisor in reversed(divisors):
        if divisor**2 < order:
            return
        for name, fingerprint in _basic_groups(divisor):
            for factor_name, factor in _basic_groups(order // divisor):
                yield f"{name}x{factor_name}", _times(fingerprint, factor)


def _times(first: Fingerprint, second: Fingerprint) -> Fingerprint:
    """Of the direct product."""
    product: Fingerprint = Counter()
    for (first_order, first_size), first_count in first.items():
        for (second_order, second_size), second_count in second.items():
            order = math.lcm(first_order, second_order)
            product[order, first_size * second_size] += first_count * second_count
    return product


def _cyclic(order: int) -> Fingerprint:
    return Counter((order // math.gcd(k, order), 1) for k in range(order))


def _commuting_groups(order: int, divides: int = 0) -> Iterator[tuple[str, Fingerprint]]:
    """Z_n1 x Z_n2 x ..., each order a divisor of the next: every commuting group once. divides:
    the next one's order.
    """
    if order == 1:
        yield "", _cyclic(1)
        return
    for last in range(order, 1, -1):
        if order % last or (divides and divides % last):
            continue
        for name, fingerprint in _commuting_groups(order // last, last):
            yield (f"{name}xZ{last}" if name else f"Z{last}"), _times(fingerprint, _cyclic(last))


def _basic_groups(order: int) -> Iterator[tuple[str, Fingerprint]]:
    for letters in range(3, LARGEST_PERMUTED):
        if math.factorial(letters) == order:
            yield f"S{letters}", _permutations(letters, even_only=False)
        if math.factorial(letters) == 2 * order and letters > 3:
            yield f"A{letters}", _permutations(letters, even_only=True)
    if order % 2 == 0:
        yield f"D{order // 2}", _dihedral(order // 2)
    if order % 4 == 0:
        yield ("Q8" if order == 8 else f"Dic{order // 4}"), _dicyclic(order // 4)
    for factor in range(2, order):
        if order % factor == 0 and multiplier_of_order(order // factor, factor) is not None:
            length = order // factor
            is_frobenius = is_prime(length) and factor < length
            name = f"F{order}" if is_frobenius else f"Z{length}:Z{factor}"
            yield name, fingerprint_of(named_group(f"Z{length}:Z{factor}"))


def _dihedral(corners: int) -> Fingerprint:
    """Rotations and reflections of a polygon."""
    fingerprint: Fingerprint = Counter()
    for k in range(corners):
        is_central = 2 * k % corners == 0
        fingerprint[corners // math.gcd(k, corners), 1 if is_central else 2] += 1
    fingerprint[2, corners if corners % 2 else corners // 2] += corners
    return fingerprint


def _dicyclic(half: int) -> Fingerprint:
    """Of order 4 `half`: powers of an element of order 2 `half`, and as many elements of order
    four.
    """
    fingerprint: Fingerprint = Counter()
    for k in range(2 * half):
        fingerprint[2 * half // math.gcd(k, 2 * half), 1 if k % half == 0 else 2] += 1
    fingerprint[4, half] += 2 * half
    return fingerprint


def _permutations(letters: int, *, even_only: bool) -> Fingerprint:
    """All or all even ones of so many letters, by their cycles."""
    fingerprint: Fingerprint = Counter()
    for cycles in _partitions(letters, letters):
        if even_only and (letters - len(cycles)) % 2:
            continue
        repeats = math.prod(math.factorial(count) for count in Counter(cycles).values())
        size = math.factorial(letters) // (math.prod(cycles) * repeats)
        # Among even ones, a class of odd cycles that are all different falls into two.
        splits = (
            even_only and all(cycle % 2 for cycle in cycles) and len(set(cycles)) == len(cycles)
        )
        fingerprint[math.lcm(*cycles), size // 2 if splits else size] += size
    return fingerprint


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield first, *rest
