"""Laws of choice: which short integer relations (`core/relations.py`) key frequencies avoid.

Chance is a random set of as many frequencies. At a composite p frequencies differ: those with the
same gcd(k, p) are the multiples of one another by units and as likely as one another, but others
are not. So a random set has as many frequencies of each gcd as the network has. At a prime p
there is one such class. At even p the frequency p / 2 is in a class of its own.

Expectations are exact; the null distribution of the total is simulated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from typing import NamedTuple

import numpy

from algophase.core.fourier import folded, frequencies
from algophase.core.relations import RELATIONS, relation_counts
from algophase.core.seeding import generator
from algophase.runs import law_tests
from algophase.runs.law_tests import Integers, KeySets, Law, bootstrapped
from algophase.runs.statistics import Floats

FEW = 10  # fewer relations than this have a Poisson interval: a bootstrap of zeros has no width
MORE = 1.25  # times as many as by chance: the effect that powers are stated for
LARGEST_BLOCK = 2_000_000  # combinations of frequencies in memory at once


def relation_law(
    groups: Sequence[KeySets],
    name: str,
    level: float,
    seed: int = 0,
    variants: Mapping[str, Sequence[KeySets]] | None = None,
) -> Law | None:
    """Whether keys are related more or less often than those of random sets; None where no set
    can be.

    Arguments:
        groups: the keys of the networks, one entry per modulus.
        name: the relation, one of `RELATIONS`.
        level: of this test.
        seed: of the simulations.
        variants: other keys to state the same number of, by their name.
    """
    coefficients = RELATIONS[name]
    random = generator(seed, "laws", name)
    shapes = _shapes(groups, coefficients)
    per_network = _observed_and_expected(shapes)
    totals = _compared(per_network, random)
    observed, chance = totals.observed, totals.chance
    if not chance:
        return None
    null_shapes = [shape.simulated(coefficients, random) for shape in shapes]
    null = _totals(null_shapes, 1.0, law_tests.DRAWS, random)
    preference = _preference_for(null_shapes, MORE * chance)
    with_effect = _totals(null_shapes, preference, law_tests.SIMULATIONS, random)
    low, high = numpy.quantile(null, [level / 2, 1 - level / 2])
    as_many = int((null >= observed).sum())
    as_few = int((null <= observed).sum())
    tail = (1 + min(as_many, as_few)) / (1 + len(null))
    details = [f"{observed:,} relations, {chance:,.1f} by chance"]
    if name == "2i = j":
        details += _other_ratios(groups, chance)
    for variant, variant_groups in (variants or {}).items():
        counts = _observed_and_expected(_shapes(variant_groups, coefficients))
        if counts[:, 1].sum():
            details.append(f"{variant}: {_compared(counts, random)}")
    return Law(
        name=name,
        null="random sets of the same sizes",
        effect=f"{MORE:g} times as many relations as by chance",
        power=float(((with_effect < low) | (with_effect > high)).mean()),
        runs=totals.networks,
        measured="relations, relative to chance",
        value=totals.value,
        interval=totals.interval,
        chance=1.0,
        p_value=min(1.0, 2 * tail),
        details=tuple(details),
    )


def _other_ratios(groups: Sequence[KeySets], chance: float) -> list[str]:
    """Pairs of k and u k for every other u. Of one prime modulus: each ratio has the chance that
    doubling has.
    """
    if len(groups) > 1 or len(_classes(groups[0].modulus)) > 1:
        return []
    (group,) = groups
    # k / 2 is half k, and pairs of k and k / 2 are those of 2k and k.
    half = (group.modulus + 1) // 2
    ratios = set(range(3, group.count + 1)) - {half, group.modulus - half}
    relative = [group.pairs(group.member, ratio).sum() / chance for ratio in ratios]
    return [
        f"pairs of k and uk for every other u, relative to chance: {min(relative):.2f} to "
        f"{max(relative):.2f}"
    ]


def _able(per_network: Floats) -> int:
    """How many networks could have a relation: they have keys enough, of such classes."""
    return int((per_network[:, 1] > 0).sum())


@dataclass(frozen=True)
class Compared:
    """Relations that networks have, and those of random sets.

    Attributes:
        observed: how many there are.
        chance: how many are expected.
        networks: that could have one.
        interval: 95%, of `value`.
    """

    observed: int
    chance: float
    networks: int
    interval: tuple[float, float]

    @property
    def value(self) -> float:
        """Observed over expected: 1 by chance."""
        return self.observed / self.chance

    def __str__(self) -> str:
        low, high = self.interval
        counts = f"{self.observed:,} for {self.chance:,.1f}"
        return f"{self.value:.3f} [{low:.3f}, {high:.3f}] ({counts})"


def compared_with_chance(groups: Sequence[KeySets], name: str, seed: int = 0) -> Compared:
    """How often keys have a relation of `RELATIONS`, without a test."""
    counts = _observed_and_expected(_shapes(groups, RELATIONS[name]))
    return _compared(counts, generator(seed, "laws", name))


def _compared(per_network: Floats, random: numpy.random.Generator) -> Compared:
    """per_network: relations of each network and those expected of a random set, (networks, 2)."""
    observed, chance = per_network.sum(axis=0)
    interval = _relative_interval(per_network, random)
    return Compared(int(observed), float(chance), _able(per_network), interval)


def _relative_interval(per_network: Floats, random: numpy.random.Generator) -> tuple[float, float]:
    """95% interval of observed over expected: a bootstrap over networks, or Poisson's where fewer
    than FEW were observed.
    """
    from scipy.stats import chi2

    observed, chance = per_network.sum(axis=0)
    if not chance:
        return math.nan, math.nan
    if observed >= FEW:
        return bootstrapped(per_network, _ratio_of_sums, random)
    low = chi2.ppf(0.025, 2 * observed) / 2 if observed else 0.0
    high = chi2.ppf(0.975, 2 * observed + 2) / 2
    return float(low / chance), float(high / chance)


def _ratio_of_sums(per_network: Floats) -> float:
    observed, expected = per_network.sum(axis=0)
    return float(observed / max(expected, 1e-300))


@dataclass(frozen=True)
class _Shape:
    """Networks of one modulus with as many keys of each class. observed: the relations of each;
    expected: those of a random set.
    """

    modulus: int
    class_sizes: tuple[int, ...]
    observed: Integers
    expected: float

    def simulated(
        self, coefficients: Sequence[int], random: numpy.random.Generator
    ) -> "_NullShape":
        """The distribution of the number of relations in random sets of this shape."""
        networks = len(self.observed)
        keys = sum(self.class_sizes)
        affordable = LARGEST_BLOCK // max(1, math.comb(keys, len(coefficients)))
        draws = min(law_tests.POOL, max(1000, 100 * networks), max(500, affordable))
        sets = _random_sets(self.modulus, self.class_sizes, draws, random)
        counts = relation_counts(sets, self.modulus, coefficients)
        numbers, repeats = numpy.unique(counts, return_counts=True)
        return _NullShape(numbers, repeats / draws, networks)


class _NullShape(NamedTuple):
    """numbers: of relations that a random set can have; shares: how often it has so many."""

    numbers: Integers
    shares: Floats
    networks: int

    def weights(self, preference: float) -> Floats:
        """The shares where a set is `preference` times as likely for each relation it has."""
        weights: Floats = self.shares * preference**self.numbers
        return weights / weights.sum()


@lru_cache(maxsize=64)
def _classes(modulus: int) -> tuple[Integers, ...]:
    """The frequencies with the same gcd(k, p), one array for each gcd."""
    every_frequency = numpy.array(frequencies(modulus))
    divisors = numpy.gcd(every_frequency, modulus)
    return tuple(every_frequency[divisors == divisor] for divisor in numpy.unique(divisors))


def _random_sets(
    modulus: int, class_sizes: Sequence[int], draws: int, random: numpy.random.Generator
) -> Integers:
    """(draws, k)"""
    parts = []
    for members, size in zip(_classes(modulus), class_sizes, strict=True):
        order = random.random((draws, len(members))).argsort(axis=1)
        parts.append(members[order[:, :size]])
    return numpy.concatenate(parts, axis=1)


def _shapes(groups: Sequence[KeySets], coefficients: Sequence[int]) -> list[_Shape]:
    shapes = []
    for group in groups:
        classes = _classes(group.modulus)
        counts = [group.member[:, members - 1].sum(axis=1) for members in classes]
        class_counts = numpy.column_stack(counts)
        for class_sizes in numpy.unique(class_counts, axis=0):
            of_shape = (class_counts == class_sizes).all(axis=1)
            keys = group.member[of_shape].nonzero()[1] + 1
            sets = keys.reshape(of_shape.sum(), -1)
            sizes = tuple(int(size) for size in class_sizes)
            shapes.append(
                _Shape(
                    group.modulus,
                    sizes,
                    relation_counts(sets, group.modulus, coefficients),
                    _expected(group.modulus, tuple(coefficients), sizes),
                )
            )
    return shapes


def _observed_and_expected(shapes: Sequence[_Shape]) -> Floats:
    """(networks, 2)"""
    rows = [numpy.zeros((0, 2))]
    for shape in shapes:
        expected = numpy.full(len(shape.observed), shape.expected)
        rows.append(numpy.column_stack([shape.observed, expected]))
    return numpy.concatenate(rows)


def _expected(modulus: int, coefficients: tuple[int, ...], class_sizes: tuple[int, ...]) -> float:
    """The mean number of relations in a random set: all there are, each times the chance that the
    set has its frequencies.
    """
    available = [len(members) for members in _classes(modulus)]
    total = 0.0
    for needed, relations in _relations_by_class(modulus, coefficients).items():
        chance = 1.0
        for need, size, members in zip(needed, class_sizes, available, strict=True):
            # Of `members` frequencies `size` are drawn: the chance that these `need` are among them
            chance *= math.perm(size, need) / math.perm(members, need)
        total += relations * chance
    return total


@lru_cache(maxsize=512)
def _relations_by_class(
    modulus: int, coefficients: tuple[int, ...]
) -> dict[tuple[int, ...], float]:
    """How many relations there are among all frequencies, by how many of each class they need.

    One coefficient is 1, and its frequency follows from the others.
    """
    classes = _classes(modulus)
    class_of = numpy.zeros(modulus // 2 + 1, dtype=numpy.int64)
    for index, members in enumerate(classes):
        class_of[members] = index
    head = list(coefficients)
    head.remove(1)
    combined = numpy.array(list(combinations(frequencies(modulus), len(head))))
    base = len(coefficients) + 1  # a digit per class: how many frequencies it has in a relation
    place_values = base ** numpy.arange(len(classes))
    codes: dict[int, float] = {}
    for ordered in sorted(set(permutations(head))):
        lasts = []
        for signs in product((1, -1), repeat=len(head) - 1):
            weights = numpy.array(ordered) * numpy.array((1, *signs))
            sums: Integers = combined @ weights
            lasts.append(folded(sums, modulus))
        # A frequency that several signs lead to is one relation.
        sorted_lasts = numpy.sort(numpy.column_stack(lasts), axis=1)
        valid = sorted_lasts > 0
        valid[:, 1:] &= sorted_lasts[:, 1:] != sorted_lasts[:, :-1]
        for position in range(len(head)):
            valid &= sorted_lasts != combined[:, [position]]
        head_code = place_values[class_of[combined]].sum(axis=1)
        code = head_code[:, None] + place_values[class_of[sorted_lasts]]
        values, repeats = numpy.unique(code[valid], return_counts=True)
        for value, repeat in zip(values.tolist(), repeats.tolist(), strict=True):
            codes[value] = codes.get(value, 0.0) + repeat
    # Each relation was met once for each of its coefficients that are 1.
    ones = coefficients.count(1)
    by_class = {}
    for code, repeat in codes.items():
        needed = tuple(code // int(value) % base for value in place_values)
        by_class[needed] = repeat / ones
    return by_class


def _totals(
    shapes: Sequence[_NullShape], preference: float, draws: int, random: numpy.random.Generator
) -> Integers:
    """Relations in all networks together, (draws,)."""
    totals = numpy.zeros(draws, dtype=numpy.int64)
    for shape in shapes:
        networks = random.multinomial(shape.networks, shape.weights(preference), size=draws)
        totals += networks @ shape.numbers
    return totals


def _preference_for(shapes: Sequence[_NullShape], relations: float) -> float:
    """The preference, from 1 to 16, at which so many relations are expected; by bisection."""
    low, high = 1.0, 16.0
    for _ in range(40):
        middle = (low + high) / 2
        expected = 0.0
        for shape in shapes:
            mean = float(numpy.average(shape.numbers, weights=shape.weights(middle)))
            expected += shape.networks * mean
        if expected < relations:
            low = middle
        else:
            high = middle
    return high
