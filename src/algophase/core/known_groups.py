"""Finite groups that have a name, told apart by how many elements have which order and how many
conjugates.

That is not a proof that two groups are the same, so names are "like".
"""

import math
from collections import Counter
from collections.abc import Iterator

Fingerprint = Counter[tuple[int, int]]  # how many elements have this order and this many conjugates

LARGEST_PERMUTED = 12  # S12 has 479,001,600 elements: more than any table


def likeness(order: int, fingerprint: Fingerprint) -> str:
    """A known group with this fingerprint: "S5", "D59", "Z2 x Z30"; "" where none is known."""
    for name, candidate in _known_groups(order):
        if candidate == fingerprint:
            return name
    return ""


def _known_groups(order: int) -> Iterator[tuple[str, Fingerprint]]:
    """Commuting groups, symmetric, alternating, dihedral and dicyclic ones, then these times a
    commuting one.
    """
    yield from _commuting_groups(order)
    divisors = [divisor for divisor in range(6, order + 1) if order % divisor == 0]
    for divisor in reversed(divisors):
        for name, fingerprint in _basic_groups(divisor):
            for factor_name, factor in _commuting_groups(order // divisor):
                product_name = f"{name} x {factor_name}" if factor_name else name
                yield product_name, _times(fingerprint, factor)


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
            yield (f"{name} x Z{last}" if name else f"Z{last}"), _times(fingerprint, _cyclic(last))


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
