"""Finite groups: n elements, numbered 0 to n - 1, and the number of the sum of each two.

Addition modulo p is the cyclic group of order p (`cyclic_group`). A task may name the elements
otherwise (`Elements`): subtraction, multiplication modulo a prime and relabeled addition are the
same group under other names. Sums are taken here and nowhere else in the package, but for training
kernels.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from algophase.core.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

Numbers = NDArray[np.int64]
Element = TypeVar("Element", int, Numbers, "Tensor")  # one element, or many of them


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


class Group:
    """A group of any kind, by its table.

    table: (n, n), the number of x + y in row x, column y. We write the operation as a sum, also
        where it does not commute.
    identity: the number of the element that changes nothing.
    spelled: the name or the generators that it was made from (`named_group`), "" for a table.

    Arrays of a group are kept: do not write into them.
    """

    def __init__(self, table: Numbers, identity: int, spelled: str = "") -> None:
        self.order = len(table)
        self.identity = identity
        self.spelled = spelled
        self._table = table

    def __repr__(self) -> str:
        return f"<Group {self.spelled or 'of a table'}, order {self.order}>"

    @property
    def table(self) -> Numbers:
        """(n, n)"""
        return self._table

    def sum(self, x: Element, y: Element | int) -> Element:
        """x + y, of numbers, arrays or tensors of elements that broadcast."""
        entries: Element = _entries(self.table, x, y)
        return entries

    def inverse(self, x: Element) -> Element:
        """-x"""
        entries: Element = _entries(self.inverses, x)
        return entries

    def difference(self, x: Element, y: Element | int) -> Element:
        """x - y"""
        entries: Element = _entries(self.table, x, _entries(self.inverses, y))
        return entries

    @cached_property
    def elements(self) -> Numbers:
        """(n,), all of them."""
        return np.arange(self.order)

    @cached_property
    def generators(self) -> list[int]:
        """Elements whose sums are all elements: at most log2(n) of them."""
        return list(generators_among(self.table, range(self.order)))

    @cached_property
    def commutes(self) -> bool:
        return bool(np.array_equal(self.table, self.table.T))

    @cached_property
    def inverses(self) -> Numbers:
        """(n,)"""
        return (self.table == self.identity).argmax(axis=1)

    @cached_property
    def element_orders(self) -> Numbers:
        """(n,), the smallest m with m x = 0."""
        orders = np.ones_like(self.elements)
        multiples = self.elements.copy()
        while (unfinished := multiples != self.identity).any():
            orders[unfinished] += 1
            multiples[unfinished] = self.table[multiples[unfinished], self.elements[unfinished]]
        return orders

    @cached_property
    def class_of(self) -> Numbers:
        """(n,), the number of the conjugacy class of each element.

        Elements x and g + x - g are conjugate. Classes are numbered by the order of their elements,
        then by their size, then by their first element, so class 0 is that of the identity.
        """
        conjugates = self.table[self.table, self.inverses[:, None]]  # [g, x]
        first = conjugates.min(axis=0)
        members, class_of_element, sizes = np.unique(first, return_inverse=True, return_counts=True)
        order = np.lexsort((members, sizes, self.element_orders[members]))
        return order.argsort()[class_of_element]

    @cached_property
    def class_sizes(self) -> Numbers:
        """(n,), how many conjugates each element has."""
        return np.bincount(self.class_of)[self.class_of]

    @cached_property
    def class_members(self) -> Numbers:
        """(classes,), the first element of each conjugacy class."""
        return np.unique(self.class_of, return_index=True)[1]

    @property
    def is_cyclic(self) -> bool:
        return int(self.element_orders.max()) == self.order

    def logarithms(self) -> Numbers:
        """Of a cyclic group: (n,), which multiple of one generator each element is. The generator
        has the lowest number.
        """
        generator = int((self.element_orders == self.order).argmax())
        exponents = np.zeros(self.order, dtype=np.int64)
        power = self.identity
        for exponent in range(self.order):
            exponents[power] = exponent
            power = int(self.table[power, generator])
        return exponents

    def answers(self, named: "Elements") -> Numbers:
        """(n, n): the name of the sum of the elements that go by the names a and b."""
        sums = self.sum(named.first[:, None], named.second)
        return named.answer.argsort()[sums]


def _entries(table: Numbers, *index: Any) -> Any:
    """Entries of a table, by numbers, by arrays, or by tensors of any device."""
    for part in index:
        if not isinstance(part, int | np.integer | np.ndarray):
            return part.new_tensor(table)[index]
    entries = table[index]
    return entries if entries.ndim else int(entries)


class CyclicGroup(Group):
    """The numbers 0 to p - 1 under addition modulo p, without its table wherever possible.

    >>> cyclic_group(12).sum(8, 6)
    2
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self.identity = 0
        self.spelled = f"Z{order}"

    @cached_property
    def table(self) -> Numbers:
        return self.sum(self.elements[:, None], self.elements)

    def sum(self, x: Element, y: Element | int) -> Element:
        return (x + y) % self.order

    def inverse(self, x: Element) -> Element:
        return -x % self.order

    def difference(self, x: Element, y: Element | int) -> Element:
        return (x - y) % self.order

    @cached_property
    def inverses(self) -> Numbers:
        return self.inverse(self.elements)

    @property
    def is_cyclic(self) -> bool:
        return True


@functools.lru_cache(maxsize=64)
def cyclic_group(order: int) -> CyclicGroup:
    """The cyclic group of this order, one object for all who ask."""
    return CyclicGroup(order)


class Elements(NamedTuple):
    """Which element of a group the numbers 0 to n - 1 of a task stand for: a permutation (n,) each.

    first, second: as an operand. answer: as an answer.
    """

    first: Numbers
    second: Numbers
    answer: Numbers

    @property
    def names(self) -> "Elements":
        """The other way round: which number stands for each element."""
        return Elements(self.first.argsort(), self.second.argsort(), self.answer.argsort())


def primitive_root(prime: int) -> int:
    """The smallest number whose powers are all non-zero numbers modulo a prime."""
    order = prime - 1
    divisors = [divisor for divisor in range(2, order + 1) if order % divisor == 0]
    for root in range(1, prime):
        if all(pow(root, order // divisor, prime) != 1 for divisor in divisors):
            return root
    raise ValueError(f"{prime} is not a prime")


def discrete_logarithms(prime: int) -> Numbers:
    """(prime - 1,), at number - 1: which power of the smallest primitive root a number from 1 on
    is. So numbers multiply modulo the prime as these add modulo prime - 1.
    """
    exponents = np.empty(prime - 1, dtype=np.int64)
    number, root = 1, primitive_root(prime)
    for exponent in range(prime - 1):
        exponents[number - 1] = exponent
        number = number * root % prime
    return exponents


def group_of(table: Numbers) -> Group | None:
    """The group that a table is, or None: it needs an identity, inverses, and
    (x + y) + z = x + (y + z).
    """
    identity = _identity_of(table)
    if identity is None or not _is_latin(table) or not _is_associative(table):
        return None
    return Group(table, identity)


def group_from_table(table: object) -> Group:
    """The group of a Cayley table: row x, column y has the number of the element x + y.

    An error names the first entry, element or triple that no group can have.

    >>> group_from_table([[0, 1], [1, 0]]).order
    2
    """
    try:
        entries = np.asarray(table)
    except ValueError:  # rows of different lengths
        raise InputError("a group's table has n rows and n columns; these rows differ") from None
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1] or not entries.size:
        raise InputError(f"a group's table has n rows and n columns; this has {entries.shape}")
    if not np.issubdtype(entries.dtype, np.integer):
        is_float = np.issubdtype(entries.dtype, np.floating)
        if not is_float or not (np.isfinite(entries) & (entries == np.round(entries))).all():
            raise InputError(f"a group's table holds numbers of elements, not {entries.dtype}")
    entries = entries.astype(np.int64)
    order = len(entries)
    outside = np.argwhere((entries < 0) | (entries >= order))
    if len(outside):
        x, y = outside[0].tolist()
        raise InputError(
            f"the table is not closed: {x} + {y} is {entries[x, y]}, and elements are 0 to "
            f"{order - 1}"
        )
    identity = _identity_of(entries)
    if identity is None:
        raise InputError("the table has no identity: no element e with e + x = x + e = x")
    is_identity = entries == identity
    without_inverse = np.flatnonzero(~(is_identity & is_identity.T).any(axis=1))
    if len(without_inverse):
        raise InputError(
            f"element {without_inverse[0]} has no inverse: no y with x + y = y + x = {identity}"
        )
    triple = _unassociated_triple(entries)
    if triple is not None:
        x, y, z = triple
        left = entries[entries[x, y], z]
        right = entries[x, entries[y, z]]
        raise InputError(
            f"the table is not associative: ({x} + {y}) + {z} is {left}, and {x} + ({y} + {z}) "
            f"is {right}"
        )
    return Group(entries, identity)


def _identity_of(table: Numbers) -> int | None:
    numbers = np.arange(len(table))
    both_sides = (table == numbers).all(axis=1) & (table == numbers[:, None]).all(axis=0)
    return int(both_sides.argmax()) if both_sides.any() else None


def _unassociated_triple(table: Numbers) -> tuple[int, int, int] | None:
    """The first (x, y, z), in lexicographic order, with (x + y) + z unlike x + (y + z)."""
    if _is_associative(table):
        return None
    for x in range(len(table)):
        differs = table[table[x]] != table[x][table]  # [y, z]
        if differs.any():
            y, z = np.argwhere(differs)[0].tolist()
            return x, y, z
    return None


def _is_latin(table: Numbers) -> bool:
    """Whether each row and each column holds every number once, as x + y = z can be solved for x
    and for y.
    """
    numbers = np.arange(len(table))
    rows = np.sort(table, axis=1)
    columns = np.sort(table, axis=0)
    return bool((rows == numbers).all() and (columns == numbers[:, None]).all())


def _is_associative(table: Numbers) -> bool:
    """Light's test: (x + g) + y = x + (g + y) for all x and y is enough for a few g that generate
    all elements.
    """
    generators = generators_among(table, range(len(table)))
    return all(np.array_equal(table[table[:, g]], table[:, table[g]]) for g in generators)


def generators_among(table: Numbers, elements: Iterable[int]) -> Iterator[int]:
    """Some of these elements whose sums are all that theirs are: each is no sum of those before it.

    In a group, a subgroup of n elements has at most log2(n) of them beside the identity.
    """
    reached = np.zeros(len(table), dtype=bool)
    chosen: list[int] = []
    for element in elements:
        if not reached[element]:
            chosen.append(element)
            yield element
            reached = generated(table, chosen)


def generated(table: Numbers, generators: Sequence[int]) -> NDArray[np.bool_]:
    """Which elements, (n,), are sums of these generators: in a group, the subgroup of these."""
    reached = np.zeros(len(table), dtype=bool)
    latest = np.unique(generators)
    while len(latest):
        reached[latest] = True
        sums = np.unique(table[latest][:, generators])
        latest = sums[~reached[sums]]
    return reached
