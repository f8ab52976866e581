"""Finite groups by their multiplication tables: whether a table is one, and which known group it is
like.

A table (n, n) holds the number of x y in row x, column y. Groups are told apart by how many
elements have which order and how many conjugates. That is not a proof that two groups are the same,
so names are "like".
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Fingerprint = Counter[tuple[int, int]]  # how many elements have this order and this many conjugates

LARGEST_PERMUTED = 12  # S12 has 479,001,600 elements: more than any table


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


@dataclass(frozen=True)
class Group:
    """table: (n, n); identity: the number of the element that changes nothing."""

    table: Numbers
    identity: int

    @property
    def order(self) -> int:
        """How many elements it has."""
        return len(self.table)

    @cached_property
    def commutes(self) -> bool:
        return bool(np.array_equal(self.table, self.table.T))

    @cached_property
    def inverses(self) -> Numbers:
        """(n,)"""
        return (self.table == self.identity).argmax(axis=1)

    @cached_property
    def element_orders(self) -> Numbers:
        """(n,), the smallest m with x^m = 1."""
        numbers = np.arange(self.order)
        orders, powers = np.ones_like(numbers), numbers.copy()
        while (unfinished := powers != self.identity).any():
            orders[unfinished] += 1
            powers[unfinished] = self.table[powers[unfinished], numbers[unfinished]]
        return orders

    @cached_property
    def class_sizes(self) -> Numbers:
        """(n,), how many conjugates g x g^-1 each element x has."""
        conjugates = self.table[self.table, self.inverses[:, None]]  # [g, x]
        conjugates.sort(axis=0)
        return 1 + (np.diff(conjugates, axis=0) != 0).sum(axis=0)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        return Counter(zip(self.element_orders.tolist(), self.class_sizes.tolist(), strict=True))

    @cached_property
    def likeness(self) -> str:
        """A known group with the same fingerprint: "S5", "D59", "Z2 x Z30"; "" where none is
        known.
        """
        return next(
            (name for name, known in _known_groups(self.order) if known == self.fingerprint), ""
        )

    @property
    def is_cyclic(self) -> bool:
        return int(self.element_orders.max()) == self.order

    @property
    def described(self) -> str:
        """A group of order 120 that does not commute (like S5)."""
        kind = "commutes" if self.commutes else "does not commute"
        like = f" (like {self.likeness})" if self.likeness else ""
        return f"a group of order {self.order} that {kind}{like}"

    def logarithms(self) -> Numbers:
        """Of a cyclic group: (n,), which power of one generator each element is. The generator
        has the lowest number.
        """
        generator = int((self.element_orders == self.order).argmax())
        exponents, power = np.zeros(self.order, dtype=np.int64), self.identity
        for exponent in range(self.order):
            exponents[power] = exponent
            power = int(self.table[power, generator])
        return exponents


def group_of(table: Numbers) -> Group | None:
    """The group that a table is, or None: it needs an identity, inverses, and (x y) z = x (y z)."""
    numbers = np.arange(len(table))
    both_sides = (table == numbers).all(axis=1) & (table == numbers[:, None]).all(axis=0)
    if not both_sides.any() or not _is_latin(table) or not _is_associative(table):
        return None
    return Group(table, int(both_sides.argmax()))


def _is_latin(table: Numbers) -> bool:
    """Whether each row and each column holds every number once, as x y = z can be solved for x
    and for y.
    """
    numbers = np.arange(len(table))
    rows, columns = np.sort(table, axis=1), np.sort(table, axis=0)
    return bool((rows == numbers).all() and (columns == numbers[:, None]).all())


def _is_associative(table: Numbers) -> bool:
    """Light's test: (x g) y = x (g y) for all x and y is enough for a few g that generate all
    elements.
    """
    return all(np.array_equal(table[table[:, g]], table[:, table[g]]) for g in _generators(table))


def _generators(table: Numbers) -> Iterator[int]:
    """Elements whose products are all elements: at most log2(n) of them in a group."""
    reached = np.zeros(len(table), dtype=bool)
    chosen: list[int] = []
    for element in range(len(table)):
        if reached[element]:
            continue
        chosen.append(element)
        yield element
        reached[element] = True
        while True:
            products = np.unique(table[reached][:, chosen])
            if reached[products].all():
                break
            reached[products] = True


def _known_groups(order: int) -> Iterator[tuple[str, Fingerprint]]:
    """Commuting groups, symmetric, alternating, dihedral and dicyclic ones, then these times a
    commuting one.
    """
    yield from _commuting_groups(order)
    divisors = [divisor for divisor in range(6, order + 1) if order % divisor == 0]
    for divisor in reversed(divisors):
        for name, fingerprint in _basic_groups(divisor):
            for other, factor in _commuting_groups(order // divisor):
                yield (f"{name} x {other}" if other else name), _times(fingerprint, factor)


def _times(one: Fingerprint, other: Fingerprint) -> Fingerprint:
    """Of the direct product."""
    product: Fingerprint = Counter()
    for (order, size), count in one.items():
        for (other_order, other_size), other_count in other.items():
            product[math.lcm(order, other_order), size * other_size] += count * other_count
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
    found: Fingerprint = Counter()
    for k in range(corners):
        is_central = 2 * k % corners == 0
        found[corners // math.gcd(k, corners), 1 if is_central else 2] += 1
    found[2, corners if corners % 2 else corners // 2] += corners
    return found


def _dicyclic(half: int) -> Fingerprint:
    """Of order 4 `half`: powers of an element of order 2 `half`, and as many elements of order
    four.
    """
    found: Fingerprint = Counter()
    for k in range(2 * half):
        found[2 * half // math.gcd(k, 2 * half), 1 if k % half == 0 else 2] += 1
    found[4, half] += 2 * half
    return found


def _permutations(letters: int, *, even_only: bool) -> Fingerprint:
    """All or all even ones of so many letters, by their cycles."""
    found: Fingerprint = Counter()
    for cycles in _partitions(letters, letters):
        if even_only and (letters - len(cycles)) % 2:
            continue
        repeats = math.prod(math.factorial(count) for count in Counter(cycles).values())
        size = math.factorial(letters) // (math.prod(cycles) * repeats)
        # Among even ones, a class of odd cycles that are all different falls into two.
        splits = (
            even_only and all(cycle % 2 for cycle in cycles) and len(set(cycles)) == len(cycles)
        )
        found[math.lcm(*cycles), size // 2 if splits else size] += size
    return found


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield first, *rest
