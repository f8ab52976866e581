"""Finite groups by name, or by generators: from a text such as "S5" to a table.

| name | group | its elements, in this order |
|---|---|---|
| Z59, C59 | cyclic, of order 59 | 0 to 58 |
| D59 | dihedral, of order 118 | the turns r^0 to r^58 of a polygon, then r^0 s to r^58 s |
| S5, A5 | all, or all even, permutations of 5 points | by their images, in lexicographic order |
| Dic15 | dicyclic, of order 60 | a^0 to a^29, then a^0 x to a^29 x |
| Q8, Q16 | quaternion groups: Dic2, Dic4 | |
| Z7:Z3 | semidirect: the generator of Z3 multiplies Z7 by a number of order 3 | (i, j) at i + 7 j |
| F20 | Frobenius, of order 20: Z5:Z4 | |
| Z2xZ30 | a direct product, of any of these | (a, b) at 30 a + b |

Generators are permutations in cycle notation, "(1 2 3)(4 5); (1 2)", or lists of images from 0 on.
Permutations are multiplied as functions: (x y)(i) = x(y(i)).
"""

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from algophase.core._checked_settings import shown
from algophase.core.errors import InputError
from algophase.core.group import Group, Numbers, cyclic_group, is_prime

LARGEST_ORDER = 1000  # the logits of a network of this order are 8 GB
LARGEST_PERMUTED = 12  # points: S12 has 479,001,600 elements

EXAMPLES = (
    "a name such as Z59, D59, S5, A5, Dic15, Q8, F20 or Z7:Z3, a product such as Z2xZ30, or "
    "generators such as '(1 2 3 4 5); (1 2)'"
)

Permutation = tuple[int, ...]


@functools.lru_cache(maxsize=64)
def named_group(name: str) -> Group:
    """The group of this name, or with these generators. One object for all who ask.

    >>> named_group("S5").order, named_group("Z2xZ30").order
    (120, 60)
    >>> named_group("(1 2 3 4 5); (1 2)").order
    120
    """
    if not isinstance(name, str):
        raise InputError(f"group is {shown(name)}; give {EXAMPLES}")
    if "(" in name:
        return group_from_generators(_permutations_in(name), name)
    factors = [
        _factor(text, name)
        for text in re.split("[x\N{MULTIPLICATION SIGN}]", name.replace(" ", ""))
    ]
    order = math.prod(len(table) for table in factors)
    if order > LARGEST_ORDER:
        raise InputError(_too_large(name, f"{order:,}"))
    if len(factors) == 1 and _is_cyclic_name(name):
        return cyclic_group(order)
    return Group(functools.reduce(_direct_product, factors), identity=0, spelled=name)


def group_from_generators(generators: Sequence[Sequence[int]], spelled: str | None = None) -> Group:
    """The group of all products of some permutations, each a list of images from 0 on.

    Its elements are in the lexicographic order of their images, so the first is the identity.

    >>> group_from_generators([[1, 2, 0], [1, 0, 2]]).order
    6
    """
    permutations = _checked_permutations(generators)
    if spelled is None:
        spelled = "; ".join(cycles_of(permutation) for permutation in permutations)
    identity = tuple(range(len(permutations[0])))
    elements, latest = {identity}, [identity]
    while latest:
        products = {_composed(x, y) for x in latest for y in permutations}
        latest = list(products - elements)
        elements.update(latest)
        if len(elements) > LARGEST_ORDER:
            raise InputError(_too_large(spelled, f"more than {LARGEST_ORDER:,}"))
    return Group(_permutation_table(sorted(elements)), identity=0, spelled=spelled)


def spelled_by_generators(group: Group) -> tuple[str, Numbers]:
    """Any group as permutations of its own elements, x taking y to x + y: generators that
    `named_group` takes, and the number that each element has there, (n,).
    """
    generators = [group.table[element].tolist() for element in group.generators]
    # Its elements are in the order of their images, the first of which is x + 0.
    numbers = group.table[:, 0].argsort().argsort()
    text = "; ".join(cycles_of(tuple(images)) for images in generators)
    return text, numbers


def _too_large(name: str, order: str) -> str:
    return f"group {name} has {order} elements; at most {LARGEST_ORDER:,} are possible"


def _is_cyclic_name(name: str) -> bool:
    return re.fullmatch(r"[ZC]\d+", name.replace(" ", "")) is not None


# Names


def _factor(text: str, name: str) -> Numbers:
    """The table (n, n) of one factor of a product."""
    semidirect = re.fullmatch(r"[ZC](\d+):[ZC](\d+)", text)
    if semidirect:
        return _semidirect(int(semidirect[1]), int(semidirect[2]), name)
    family = re.fullmatch(r"(Z|C|D|S|A|Dic|Q|F)(\d+)", text)
    if not family:
        raise InputError(f"group is {shown(name)}; give {EXAMPLES}")
    kind = family[1]
    number = int(family[2])
    least = {"S": 1, "A": 1, "Q": 8, "F": 6}.get(kind, 1)
    largest = LARGEST_PERMUTED if kind in "SA" else LARGEST_ORDER
    if not least <= number <= largest:
        raise InputError(f"group is {shown(name)}; the number after {kind} is {least} to {largest}")
    return _FAMILIES[kind](number, name)


def _cyclic(order: int, name: str) -> Numbers:
    return cyclic_group(order).table


def _dihedral(corners: int, name: str) -> Numbers:
    """r^i s^f at i + corners f, with s r = r^-1 s."""
    turns = np.arange(2 * corners) % corners
    flipped = np.arange(2 * corners) // corners
    signed = np.where(flipped[:, None] == 1, -turns, turns)
    product_turns = (turns[:, None] + signed) % corners
    product_flipped = (flipped[:, None] + flipped) % 2
    return product_turns + corners * product_flipped


def _dicyclic(half: int, name: str) -> Numbers:
    """a^i x^f at i + 2 half f, with a^(2 half) = 1, x^2 = a^half and x a = a^-1 x."""
    length = 2 * half
    powers = np.arange(2 * length) % length
    crossed = np.arange(2 * length) // length
    signed = np.where(crossed[:, None] == 1, -powers, powers)
    both = crossed[:, None] * crossed
    product_powers = (powers[:, None] + signed + half * both) % length
    product_crossed = (crossed[:, None] + crossed) % 2
    return product_powers + length * product_crossed


def _quaternion(order: int, name: str) -> Numbers:
    if order & (order - 1):
        raise InputError(f"group is {shown(name)}; the number after Q is 8, 16, 32, ...")
    return _dicyclic(order // 4, name)


def _frobenius(order: int, name: str) -> Numbers:
    """Z_p : Z_m with m a divisor of p - 1, so p is the largest prime factor of the order."""
    prime = max(d for d in range(2, order + 1) if order % d == 0 and is_prime(d))
    factor = order // prime
    if factor < 2 or (prime - 1) % factor:
        raise InputError(
            f"group is {shown(name)}; the number after F is a prime p times a divisor of p - 1 "
            "other than 1, such as 20 or 21"
        )
    return _semidirect(prime, factor, name)


def _semidirect(length: int, factor: int, name: str) -> Numbers:
    """(i, j)(k, l) = (i + r^j k, j + l), at i + length j, with the least r of order `factor`."""
    if length * factor > LARGEST_ORDER:
        raise InputError(_too_large(name, f"{length * factor:,}"))
    multiplier = multiplier_of_order(length, factor)
    if multiplier is None:
        raise InputError(
            f"group is {shown(name)}; no number has order {factor} modulo {length}, so Z{factor} "
            f"cannot act on Z{length} without a kernel"
        )
    elements = np.arange(length * factor)
    first = elements % length
    second = elements // length
    powers = np.array([pow(multiplier, exponent, length) for exponent in range(factor)])
    product_first = (first[:, None] + powers[second][:, None] * first) % length
    product_second = (second[:, None] + second) % factor
    return product_first + length * product_second


def multiplier_of_order(length: int, order: int) -> int | None:
    """The least number whose powers modulo `length` repeat after `order` steps and not before."""
    for number in range(1, max(length, 2)):
        if math.gcd(number, length) == 1 and _multiplicative_order(number, length) == order:
            return number
    return None


def _multiplicative_order(number: int, length: int) -> int:
    power, order = number % length, 1
    while power != 1 % length:
        power = power * number % length
        order += 1
    return order


def _symmetric(points: int, name: str) -> Numbers:
    if math.factorial(points) > LARGEST_ORDER:
        raise InputError(_too_large(name, f"{math.factorial(points):,}"))
    return _permutation_table(permutations_of(points))


def _alternating(points: int, name: str) -> Numbers:
    if math.factorial(points) > 2 * LARGEST_ORDER:
        raise InputError(_too_large(name, f"{math.factorial(points) // 2:,}"))
    return _permutation_table(permutations_of(points, even_only=True))


_FAMILIES: dict[str, Callable[[int, str], Numbers]] = {
    "Z": _cyclic,
    "C": _cyclic,
    "D": _dihedral,
    "S": _symmetric,
    "A": _alternating,
    "Dic": _dicyclic,
    "Q": _quaternion,
    "F": _frobenius,
}


def _direct_product(first: Numbers, second: Numbers) -> Numbers:
    """(a, b) at |second| a + b."""
    size = len(second)
    expanded = first[:, None, :, None] * size + second[None, :, None, :]
    return expanded.reshape(len(first) * size, -1)


# Permutations


def permutations_of(points: int, even_only: bool = False) -> list[Permutation]:
    """The elements of S_n or A_n by their images, in lexicographic order."""
    permutations = itertools.permutations(range(points))
    return [images for images in permutations if not even_only or _is_even(images)]


def _is_even(permutation: Permutation) -> bool:
    cycles = _cycle_lists(permutation)
    return (len(permutation) - len(cycles)) % 2 == 0


def _cycle_lists(permutation: Permutation) -> list[list[int]]:
    """All its cycles, fixed points included."""
    cycles, visited = [], set()
    for start in range(len(permutation)):
        cycle, point = [], start
        while point not in visited:
            visited.add(point)
            cycle.append(point)
            point = permutation[point]
        if cycle:
            cycles.append(cycle)
    return cycles


def cycles_of(permutation: Permutation) -> str:
    """In cycle notation, points from 1 on: "(1 2 3)(4 5)"."""
    moved = [cycle for cycle in _cycle_lists(permutation) if len(cycle) > 1]
    if not moved:
        return "()"
    return "".join(f"({' '.join(str(point + 1) for point in cycle)})" for cycle in moved)


def _composed(x: Permutation, y: Permutation) -> Permutation:
    return tuple(x[point] for point in y)


def _permutation_table(permutations: Sequence[Permutation]) -> Numbers:
    """(n, n), the number of x y, for permutations in lexicographic order."""
    images = np.array(permutations, dtype=np.int64)  # (n, points)
    points = images.shape[1]
    # A permutation as one number in base `points` would overflow from 16 points on, so products
    # are looked up by a hash that tells these n apart.
    generator = np.random.default_rng(0)
    weights = generator.integers(1, 2**40, size=points)
    keys = images @ weights
    order = keys.argsort()
    table = np.empty((len(images), len(images)), dtype=np.int64)
    for row, x in enumerate(images):
        table[row] = order[np.searchsorted(keys, x[images] @ weights, sorter=order)]
    return table


def _checked_permutations(generators: Sequence[Sequence[int]]) -> list[Permutation]:
    permutations = [tuple(int(image) for image in entry) for entry in generators]
    if not permutations:
        raise InputError("generators are missing: give at least one permutation")
    points = max(len(permutation) for permutation in permutations)
    for permutation in permutations:
        if sorted(permutation) != list(range(len(permutation))):
            raise InputError(
                f"generator {shown(list(permutation))} is not a permutation of 0 to "
                f"{len(permutation) - 1}"
            )
    return [(*entry, *range(len(entry), points)) for entry in permutations]


def _permutations_in(text: str) -> list[Permutation]:
    """Generators in cycle notation, separated by semicolons or by commas outside of brackets."""
    generators = []
    for part in re.split(r"[;,](?![^(]*\))", text):
        cycles = re.findall(r"\(([^()]*)\)", part)
        outside = re.sub(r"\([^()]*\)", "", part).strip()
        if outside or not cycles:
            raise InputError(
                f"group is {shown(text)}; {shown(part.strip())} is not a product of cycles such "
                "as (1 2 3)(4 5)"
            )
        generators.append(_product_of_cycles(cycles, text))
    points = max(max(images, default=-1) for images in generators) + 1
    return [
        tuple(images.get(point, point) for point in range(max(points, 1))) for images in generators
    ]


def _product_of_cycles(cycles: Sequence[str], text: str) -> dict[int, int]:
    """Where each point goes, points from 0 on. Cycles of one generator have no point in common."""
    images: dict[int, int] = {}
    for cycle in cycles:
        words = cycle.replace(",", " ").split()
        if not all(word.isdecimal() and int(word) >= 1 for word in words):
            raise InputError(f"group is {shown(text)}; points are numbers from 1 on, not ({cycle})")
        points = [int(word) - 1 for word in words]
        if max(points, default=0) >= LARGEST_ORDER:
            raise InputError(f"group is {shown(text)}; points go up to {LARGEST_ORDER:,}")
        if len(set(points)) < len(points) or images.keys() & set(points):
            raise InputError(
                f"group is {shown(text)}; a point occurs twice in the cycles of one generator"
            )
        images.update(zip(points, points[1:] + points[:1], strict=True))
    return images
