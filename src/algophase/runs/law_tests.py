"""The tests of `runs.laws`, but for those of relations (`relation_laws.py`).

A power is simulated from the sizes of sets and the values of settings alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from algophase.core.errors import InputError
from algophase.core.fourier import folded
from algophase.core.seeding import generator
from algophase.runs.boundary import bootstrap_interval
from algophase.runs.starts import Starts
from algophase.runs.statistics import Floats

if TYPE_CHECKING:
    import pandas

Bools = NDArray[numpy.bool_]
Integers = NDArray[numpy.int64]

DRAWS, SIMULATIONS, POOL, RESAMPLES = 10_000, 400, 20_000, 1000
MOST_LEVELS = 13  # values of a setting: more are put together
# Effects that powers are stated for
CORRELATION, LIKELIER, AREA = 0.2, 1.25, 0.53


@dataclass(frozen=True)
class Law:
    """One test. effect, power: stated before looking; chance: what `value` is without any law;
    interval: 95%, None for none.

    p_value: of its own; corrected: together with the other laws of the table, by Holm's method.
    """

    name: str
    null: str
    effect: str
    power: float
    runs: int
    measured: str
    value: float
    interval: tuple[float, float] | None
    chance: float
    p_value: float
    corrected: float = math.nan
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeySets:
    """Key frequencies of networks of one modulus: member[i, k - 1] says whether k is a key of
    network i.
    """

    modulus: int
    member: Bools

    @property
    def sizes(self) -> Integers:
        return self.member.sum(axis=1)

    @property
    def count(self) -> int:
        return self.member.shape[1]

    def times(self, units: Integers) -> Integers:
        """u k up to sign for units (u,), as places (u, k)."""
        turned = numpy.outer(units, numpy.arange(1, self.count + 1))
        return folded(turned, self.modulus) - 1

    def drawn(
        self,
        sizes: Integers,
        random: numpy.random.Generator,
        weights: NDArray[numpy.floating[Any]] | float = 0.0,
    ) -> Bools:
        """Sets of these sizes, uniform or with logarithmic weights (m,) of the frequencies."""
        scores = random.gumbel(size=(len(sizes), self.count)) + weights
        ordered = numpy.sort(scores, axis=1)
        least = numpy.take_along_axis(ordered, self.count - sizes[:, None].clip(min=1), axis=1)
        return (scores >= least) & (sizes > 0)[:, None]

    def pairs(self, member: Bools, ratio: int = 2) -> Integers:
        """Pairs {k, ratio k} in each set (..., m); frequencies count up to sign."""
        partner = self.times(numpy.array([ratio]))[0]
        in_both = member & member[..., partner]
        counts: Integers = in_both.sum(axis=-1)
        return counts


def key_sets(modulus: int, keys: "Sequence[Sequence[int]] | pandas.Series[Any]") -> KeySets:
    """keys: the key frequencies of each network, from 1 to floor(modulus / 2)."""
    member = numpy.zeros((len(keys), modulus // 2), dtype=bool)
    for row, frequencies in zip(member, keys, strict=True):
        for frequency in frequencies:
            if not 1 <= frequency <= len(row):
                raise InputError(
                    f"a key frequency modulo {modulus} is one of {list(frequencies)}; it must be "
                    f"from 1 to {len(row)}"
                )
            row[frequency - 1] = True
    return KeySets(modulus, member)


def number_law(values: Floats, counts: Integers, setting: str, level: float, seed: int = 0) -> Law:
    """Whether networks with more of a setting have more keys, or fewer."""
    from scipy.stats import rankdata, spearmanr

    words = setting.replace("_", " ")
    random = generator(seed, "laws", "number", setting)
    value_ranks = rankdata(values)
    count_ranks = rankdata(counts)
    power = _number_power(value_ranks, count_ranks, level, random)
    rho = 0.0
    p_value = 1.0
    if len(set(counts)) > 1:
        spearman = spearmanr(values, counts)
        rho = float(spearman.statistic)
        p_value = float(spearman.pvalue)
    ranks = numpy.column_stack([value_ranks, count_ranks])
    return Law(
        name=f"number and {words}",
        null="settings and numbers of keys in a random order",
        effect=f"rank correlation {CORRELATION:g} or {-CORRELATION:g}",
        power=power,
        runs=len(values),
        measured="rank correlation",
        value=rho,
        interval=bootstrapped(ranks, _correlation, random),
        chance=0.0,
        p_value=p_value,
        details=tuple(f"{words} {line}" for line in _by_level(values, counts, random)),
    )


def _number_power(
    value_ranks: Floats, count_ranks: Floats, level: float, random: numpy.random.Generator
) -> float:
    """How often normal pairs of rank correlation CORRELATION, put at the ranks that there are, give
    a Spearman correlation that the test rejects.
    """
    from scipy.stats import t

    total = len(value_ranks)
    pearson = 2 * math.sin(math.pi * CORRELATION / 6)  # of normal pairs of this rank correlation
    first, noise = random.standard_normal((2, SIMULATIONS, total))
    second = pearson * first + math.sqrt(1 - pearson**2) * noise
    x = _centered(_in_order_of(first, value_ranks))
    y = _centered(_in_order_of(second, count_ranks))
    spread = numpy.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    correlations = (x * y).sum(axis=1) / spread.clip(min=1e-300)
    edge = float(t.ppf(1 - level / 2, total - 2))
    rejected = numpy.abs(correlations) > edge / math.sqrt(total - 2 + edge**2)
    return float(rejected.mean())


def _in_order_of(simulated: Floats, ranks: Floats) -> Floats:
    """The given ranks, (n,), in the order of each row of simulated, (simulations, n)."""
    positions = simulated.argsort(axis=1).argsort(axis=1)
    ordered: Floats = numpy.sort(ranks)[positions]
    return ordered


def _centered(rows: Floats) -> Floats:
    centered: Floats = rows - rows.mean(axis=1, keepdims=True)
    return centered


def _correlation(pairs: Floats) -> float:
    x, y = (pairs - pairs.mean(axis=0)).T
    spread = math.sqrt((x**2).sum() * (y**2).sum())
    return float((x * y).sum() / max(spread, 1e-300))


def _mean(values: Floats) -> float:
    return float(values.mean())


def _by_level(values: Floats, counts: Integers, random: numpy.random.Generator) -> list[str]:
    """The mean number at each value, or where there are many in each fifth of them."""
    levels = numpy.unique(values)
    parts = [values == level for level in levels]
    if len(levels) > MOST_LEVELS:
        # Where many networks have one value, several edges are the same.
        edges = numpy.unique(numpy.quantile(values, numpy.linspace(0, 1, 6)))
        parts = []
        for low, high in pairwise(edges):
            below = (values < high) | (high == edges[-1])
            parts.append((values >= low) & below)
    lines = []
    for part in parts:
        low, high = bootstrapped(counts[part].astype(float), _mean, random)
        # One value where both ends are the same.
        ends = dict.fromkeys([f"{values[part].min():.3g}", f"{values[part].max():.3g}"])
        span = " to ".join(ends)
        mean = f"{counts[part].mean():.2f} [{low:.2f}, {high:.2f}]"
        lines.append(f"{span}: {mean} keys in {part.sum():,} networks")
    return lines


def bootstrapped(
    values: Floats, of: Callable[[Floats], float], random: numpy.random.Generator
) -> tuple[float, float]:
    """The middle 95% of a number over resampled networks (the first axis)."""
    count = len(values)
    resampled = []
    for _ in range(RESAMPLES):
        chosen = random.integers(count, size=count)
        resampled.append(of(values[chosen]))
    return bootstrap_interval(numpy.array(resampled))


def equal_law(groups: Sequence[KeySets], level: float, seed: int = 0) -> Law:
    """Whether some frequencies are keys more often than others: there is no reason why they
    should be.
    """
    from scipy.stats import chi2

    random = generator(seed, "laws", "equal")
    freedom = sum(group.count - 1 for group in groups)
    # By chance it is as a chi-square, but smaller: no frequency is twice a key of one network.
    by_chance = _simulated_statistics(groups, 1.0, random)
    edge = by_chance.mean() * chi2.ppf(1 - level, freedom) / freedom
    power = float((_simulated_statistics(groups, LIKELIER, random) > edge).mean())
    null = _statistic([_turned_counts(group, random) for group in groups])
    value = float(_statistic([_key_counts(group.member) for group in groups]))
    low, high = numpy.quantile(null, [0.025, 0.975])
    as_large = int((null >= value).sum())
    return Law(
        name="equal",
        null="each network's keys times a random unit of its own, up to sign",
        effect=f"half of the frequencies {LIKELIER:g} times as likely as the others",
        power=power,
        runs=sum(len(group.member) for group in groups),
        measured="chi-square per degree of freedom",
        value=value,
        interval=None,
        chance=float(null.mean()),
        p_value=(1 + as_large) / (1 + len(null)),
        details=(f"by chance it is between {low:.3f} and {high:.3f} in 95 of 100 tables",),
    )


def _key_counts(member: Bools) -> Floats:
    """How often each frequency is a key, (m,), in sets (networks, m)."""
    return member.sum(axis=0).astype(float)


def _statistic(counts: Sequence[Floats]) -> Floats:
    """Chi-square over its degrees of freedom, from counts (..., m) of each modulus."""
    chi_square: Floats = numpy.zeros(())
    freedom = 0
    for of_modulus in counts:
        mean = of_modulus.mean(axis=-1, keepdims=True)
        chi_square = chi_square + ((of_modulus - mean) ** 2 / mean).sum(axis=-1)
        freedom += of_modulus.shape[-1] - 1
    return numpy.asarray(chi_square / freedom)


def _simulated_statistics(
    groups: Sequence[KeySets], likelier: float, random: numpy.random.Generator
) -> Floats:
    """The statistic of sets in which half of the frequencies are so many times as likely as the
    others; 1 for uniform sets.
    """
    statistics = []
    for _ in range(SIMULATIONS):
        halves = [random.permutation(group.count) < group.count / 2 for group in groups]
        counts = []
        for group, half in zip(groups, halves, strict=True):
            member = group.drawn(group.sizes, random, math.log(likelier) * half)
            counts.append(_key_counts(member))
        statistics.append(_statistic(counts))
    return numpy.array(statistics)


def _turned_counts(group: KeySets, random: numpy.random.Generator) -> Floats:
    """How often each frequency is a key, (DRAWS, m), where each network's keys are multiplied by
    a unit.
    """
    table = group.times(numpy.arange(1, group.count + 1))
    network, key = group.member.nonzero()
    counts = numpy.empty((DRAWS, group.count))
    for row in counts:
        units = random.integers(group.count, size=len(group.member))
        row[:] = numpy.bincount(table[units[network], key], minlength=group.count)
    return counts


def start_laws(
    starts: Sequence[Starts], keys: Sequence[Sequence[int]], level: float, seed: int = 0
) -> list[Law]:
    """Whether the frequencies that are strong in a network's initial tables are the ones that
    become its keys.
    """
    from scipy.stats import norm

    random = generator(seed, "laws", "start")
    key_counts = numpy.array([len(frequencies) for frequencies in keys])
    all_counts = numpy.array([len(next(iter(start.values()))) for start in starts])
    non_key_counts = all_counts - key_counts
    usable = non_key_counts > 0
    sizes = numpy.column_stack([key_counts, non_key_counts])[usable]
    # Without a law, an area has mean 1/2 and this variance (Mann and Whitney).
    variances = (sizes.sum(axis=1) + 1) / (12 * sizes.prod(axis=1))
    spread = math.sqrt(float(variances.sum())) / len(sizes)
    power = _start_power(sizes, spread, level, random)
    expected_best = float((key_counts / all_counts).mean())
    laws = []
    for table in starts[0]:
        areas = list[float]()
        best = 0
        for start, frequencies in zip(starts, keys, strict=True):
            powers = start[table]
            is_key = numpy.zeros(len(powers), dtype=bool)
            is_key[[frequency - 1 for frequency in frequencies]] = True
            best += bool(is_key[powers.argmax()])
            if not is_key.all():
                areas.append(float(_area(powers[is_key], powers[~is_key])))
        value = float(numpy.mean(areas))
        interval = bootstrapped(numpy.array(areas), _mean, random)
        deviation = abs(value - 0.5) / spread
        strongest = (
            f"the strongest frequency of the start is a key in {best / len(keys):.1%}; "
            f"by chance {expected_best:.1%}"
        )
        law = Law(
            name=f"start of {table}",
            null="keys drawn uniformly, whatever the start",
            effect=f"area {AREA:g}: the chance that a key was stronger at the start than "
            "another frequency",
            power=power,
            runs=len(areas),
            measured="area",
            value=value,
            interval=interval,
            chance=0.5,
            p_value=2 * float(norm.sf(deviation)),
            details=(strongest,),
        )
        laws.append(law)
    return laws


def _start_power(
    sizes: Integers, spread: float, level: float, random: numpy.random.Generator
) -> float:
    """How often the test sees an area of AREA. sizes: keys and others of each network,
    (networks, 2); spread: of the mean area by chance.
    """
    from scipy.stats import norm

    edge = float(norm.ppf(1 - level / 2))
    shift = math.sqrt(2) * float(norm.ppf(AREA))  # between two normal variables of this area
    mean_areas = numpy.zeros(SIMULATIONS)
    shapes, repeats = numpy.unique(sizes, axis=0, return_counts=True)
    for (key_count, non_key_count), networks in zip(shapes, repeats, strict=True):
        for simulation in range(SIMULATIONS):
            key_powers = random.normal(shift, 1, (networks, key_count))
            other_powers = random.normal(0, 1, (networks, non_key_count))
            mean_areas[simulation] += _area(key_powers, other_powers).sum() / len(sizes)
    return float((numpy.abs(mean_areas - 0.5) > edge * spread).mean())


def _area(keys: Floats, rest: Floats) -> Floats:
    """The share of pairs in which the key (..., n) is stronger than another (..., m); half of a
    tie.
    """
    apart = keys[..., :, None] - rest[..., None, :]
    return numpy.asarray((numpy.sign(apart).mean(axis=(-2, -1)) + 1) / 2)
