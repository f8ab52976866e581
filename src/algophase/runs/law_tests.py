"""The tests of `runs.laws`. A power is simulated from the sizes of sets and the values of
settings alone.
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
CORRELATION, LIKELIER, MORE_PAIRS, AREA = (
    0.2,
    1.25,
    1.25,
    0.53,
)  # effects that powers are stated for


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
    """Key frequencies of networks of one prime modulus: member[i, k - 1] says whether k is a key
    of network i.
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
        found: Integers = (member & member[..., self.times(numpy.array([ratio]))[0]]).sum(axis=-1)
        return found


def key_sets(modulus: int, keys: "Sequence[Sequence[int]] | pandas.Series[Any]") -> KeySets:
    member = numpy.zeros((len(keys), (modulus - 1) // 2), dtype=bool)
    for row, each in zip(member, keys, strict=True):
        if not all(1 <= k <= len(row) for k in each):
            raise InputError(
                f"a key frequency modulo {modulus} is one of {list(each)}; it must be from 1 to "
                f"{len(row)}"
            )
        row[[k - 1 for k in each]] = True
    return KeySets(modulus, member)


def number_law(values: Floats, counts: Integers, setting: str, level: float, seed: int = 0) -> Law:
    """Whether networks with more of a setting have more keys, or fewer."""
    from scipy.stats import rankdata, spearmanr, t

    words, random = setting.replace("_", " "), generator(seed, "laws", "number", setting)
    total, x, y = len(values), rankdata(values), rankdata(counts)
    # Normal pairs of this rank correlation, given the values and counts that there are.
    pearson = 2 * math.sin(math.pi * CORRELATION / 6)
    first, noise = random.standard_normal((2, SIMULATIONS, total))
    second = pearson * first + math.sqrt(1 - pearson**2) * noise
    made = [
        numpy.sort(ranks)[each.argsort(axis=1).argsort(axis=1)]
        for ranks, each in ((x, first), (y, second))
    ]
    a, b = (each - each.mean(axis=1, keepdims=True) for each in made)
    simulated = (a * b).sum(axis=1) / numpy.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)).clip(
        min=1e-300
    )
    edge = float(t.ppf(1 - level / 2, total - 2))
    found = spearmanr(values, counts) if len(set(counts)) > 1 else None
    rho, p_value = (0.0, 1.0) if found is None else (float(found.statistic), float(found.pvalue))
    return Law(
        name=f"number and {words}",
        null="settings and numbers of keys in a random order",
        effect=f"rank correlation {CORRELATION:g} or {-CORRELATION:g}",
        power=float((numpy.abs(simulated) > edge / math.sqrt(total - 2 + edge**2)).mean()),
        runs=total,
        measured="rank correlation",
        value=rho,
        interval=_bootstrap(numpy.column_stack([x, y]), _correlation, random),
        chance=0.0,
        p_value=p_value,
        details=tuple(f"{words} {part}" for part in _by_level(values, counts, random)),
    )


def _correlation(pairs: Floats) -> float:
    x, y = (pairs - pairs.mean(axis=0)).T
    return float((x * y).sum() / max(math.sqrt((x**2).sum() * (y**2).sum()), 1e-300))


def _by_level(values: Floats, counts: Integers, random: numpy.random.Generator) -> list[str]:
    """The mean number at each value, or where there are many in each fifth of them."""
    levels = numpy.unique(values)
    if len(levels) > 13:
        edges = numpy.quantile(values, numpy.linspace(0, 1, 6))
        parts = [
            (values >= low) & ((values < high) | (high == edges[-1]))
            for low, high in pairwise(edges)
        ]
    else:
        parts = [values == each for each in levels]
    told = []
    for part in parts:
        low, high = _bootstrap(counts[part].astype(float), lambda some: float(some.mean()), random)
        ends = dict.fromkeys([f"{values[part].min():.3g}", f"{values[part].max():.3g}"])
        told.append(
            f"{' to '.join(ends)}: {counts[part].mean():.2f} [{low:.2f}, {high:.2f}] keys in "
            f"{part.sum():,} networks"
        )
    return told


def _bootstrap(
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

    def statistic(counts: Sequence[Floats]) -> Floats:
        """Chi-square over its degrees of freedom, from counts (..., m) of each modulus."""
        parts = [
            ((each - (mean := each.mean(axis=-1, keepdims=True))) ** 2 / mean).sum(axis=-1)
            for each in counts
        ]
        return numpy.asarray(sum(parts) / freedom)

    def simulated(likelier: float) -> Floats:
        """Uniform sets, or half of the frequencies so many times as likely as the others."""
        found = []
        for _ in range(SIMULATIONS):
            halves = [
                math.log(likelier) * (random.permutation(group.count) < group.count / 2)
                for group in groups
            ]
            sets = [
                group.drawn(group.sizes, random, half)
                for group, half in zip(groups, halves, strict=True)
            ]
            found.append(statistic([each.sum(axis=0).astype(float) for each in sets]))
        return numpy.array(found)

    # By chance it is as a chi-square, but smaller: no frequency is twice a key of one network.
    edge = simulated(1.0).mean() * chi2.ppf(1 - level, freedom) / freedom
    power = float((simulated(LIKELIER) > edge).mean())
    null = statistic([_turned_counts(group, random) for group in groups])
    seen = float(statistic([group.member.sum(axis=0).astype(float) for group in groups]))
    low, high = numpy.quantile(null, [0.025, 0.975])
    total = sum(len(group.member) for group in groups)
    return Law(
        name="equal",
        null="each network's keys times a random unit of its own, up to sign",
        effect=f"half of the frequencies {LIKELIER:g} times as likely as the others",
        power=power,
        runs=total,
        measured="chi-square per degree of freedom",
        value=seen,
        interval=None,
        chance=float(null.mean()),
        p_value=float((1 + (null >= seen).sum()) / (1 + len(null))),
        details=(f"by chance it is between {low:.3f} and {high:.3f} in 95 of 100 tables",),
    )


def _turned_counts(group: KeySets, random: numpy.random.Generator) -> Floats:
    """How often each frequency is a key, (DRAWS, m), where each network's keys are multiplied by
    a unit.
    """
    table = group.times(numpy.arange(1, group.count + 1))
    network, place = group.member.nonzero()
    counts = numpy.empty((DRAWS, group.count))
    for row in counts:
        units = random.integers(group.count, size=len(group.member))
        row[:] = numpy.bincount(table[units[network], place], minlength=group.count)
    return counts


def doubling_law(groups: Sequence[KeySets], level: float, seed: int = 0) -> Law:
    """Whether keys come in pairs k, 2k more or less often than sets of the same sizes would have
    them by chance.

    Some network must have two keys.
    """
    random = generator(seed, "laws", "doubling")
    shapes, seen, expected = list[tuple[Integers, Floats, int]](), list[Floats](), list[Floats]()
    for group in groups:
        for size in numpy.unique(group.sizes):
            mine = group.sizes == size
            pool = group.pairs(group.drawn(numpy.full(POOL, size), random))
            numbers, repeats = numpy.unique(pool, return_counts=True)
            shapes.append((numbers, repeats / POOL, int(mine.sum())))
            seen.append(group.pairs(group.member[mine]).astype(float))
            expected.append(numpy.full(mine.sum(), pool.mean()))
    chance = sum(float(each.sum()) for each in expected)

    def totals(preference: float, draws: int) -> Integers:
        """Pairs in all networks, where a set is so many times as likely for each pair that it
        has.
        """
        found = numpy.zeros(draws, dtype=numpy.int64)
        for numbers, shares, count in shapes:
            weights = shares * preference**numbers
            found += random.multinomial(count, weights / weights.sum(), size=draws) @ numbers
        return found

    def mean(preference: float) -> float:
        return sum(
            n * float(numpy.average(numbers, weights=shares * preference**numbers))
            for numbers, shares, n in shapes
        )

    null, total = totals(1.0, DRAWS), float(sum(each.sum() for each in seen))
    low, high = 1.0, 16.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < MORE_PAIRS * chance else (low, middle)
    edges = numpy.quantile(null, [level / 2, 1 - level / 2])
    made = totals(high, SIMULATIONS)
    power = float(((made < edges[0]) | (made > edges[1])).mean())
    pairs = numpy.column_stack([numpy.concatenate(seen), numpy.concatenate(expected)])
    tail = min((1 + (null >= total).sum()), (1 + (null <= total).sum())) / (1 + len(null))
    return Law(
        name="doubling",
        null="uniform sets of the same sizes",
        effect=f"{MORE_PAIRS:g} times as many pairs of k and 2k as by chance",
        power=power,
        runs=len(pairs),
        measured="pairs of k and 2k, relative to chance",
        value=total / chance,
        interval=_bootstrap(
            pairs, lambda some: float(some[:, 0].sum() / max(some[:, 1].sum(), 1e-300)), random
        ),
        chance=1.0,
        p_value=min(1.0, 2 * float(tail)),
        details=(f"{total:,.0f} pairs, {chance:,.0f} by chance", *_other_ratios(groups, chance)),
    )


def _other_ratios(groups: Sequence[KeySets], chance: float) -> list[str]:
    """Pairs of k and u k for every other u. Of one modulus: each ratio has the chance that
    doubling has.
    """
    if len(groups) > 1:
        return []
    (group,) = groups
    half = (
        group.modulus + 1
    ) // 2  # k / 2 is half k, and pairs of k and k / 2 are those of 2k and k
    others = [u for u in range(3, group.count + 1) if u not in (half, group.modulus - half)]
    found = [group.pairs(group.member, u).sum() / chance for u in others]
    return [
        f"pairs of k and uk for every other u, relative to chance: {min(found):.2f} to "
        f"{max(found):.2f}"
    ]


def start_laws(
    starts: Sequence[Starts], keys: Sequence[Sequence[int]], level: float, seed: int = 0
) -> list[Law]:
    """Whether the frequencies that are strong in a network's initial tables are the ones that
    become its keys.
    """
    from scipy.stats import norm

    random = generator(seed, "laws", "start")
    sizes = numpy.array([len(each) for each in keys])
    others = numpy.array([len(next(iter(each.values()))) for each in starts]) - sizes
    some = others > 0
    # Without a law, an area has mean 1/2 and this variance (Mann and Whitney).
    spread = (
        math.sqrt(float(((sizes + others + 1) / (12 * sizes * others.clip(min=1)))[some].sum()))
        / some.sum()
    )
    edge, shift = float(norm.ppf(1 - level / 2)), math.sqrt(2) * float(norm.ppf(AREA))
    shapes, repeats = numpy.unique(
        numpy.column_stack([sizes, others])[some], axis=0, return_counts=True
    )
    found = numpy.zeros(SIMULATIONS)
    for (n, m), count in zip(shapes, repeats, strict=True):
        for place in range(SIMULATIONS):
            made = _area(random.normal(shift, 1, (count, n)), random.normal(0, 1, (count, m)))
            found[place] += made.sum() / some.sum()
    power = float((numpy.abs(found - 0.5) > edge * spread).mean())
    laws = []
    for table in starts[0]:
        areas, best = list[float](), 0
        for start, each in zip(starts, keys, strict=True):
            chosen = numpy.zeros(len(start[table]), dtype=bool)
            chosen[[k - 1 for k in each]] = True
            best += bool(chosen[start[table].argmax()])
            if not chosen.all():
                areas.append(float(_area(start[table][chosen], start[table][~chosen])))
        value = float(numpy.mean(areas))
        top = float((sizes / (sizes + others)).mean())
        laws.append(
            Law(
                name=f"start of {table}",
                null="keys drawn uniformly, whatever the start",
                effect=f"area {AREA:g}: the chance that a key was stronger at the start than "
                "another frequency",
                power=power,
                runs=len(areas),
                measured="area",
                value=value,
                interval=_bootstrap(numpy.array(areas), lambda some: float(some.mean()), random),
                chance=0.5,
                p_value=2 * float(norm.sf(abs(value - 0.5) / spread)),
                details=(
                    f"the strongest frequency of the start is a key in {best / len(keys):.1%}; "
                    f"by chance {top:.1%}",
                ),
            )
        )
    return laws


def _area(keys: Floats, others: Floats) -> Floats:
    """The share of pairs in which the key (..., n) is stronger than another (..., m); half of a
    tie.
    """
    apart = keys[..., :, None] - others[..., None, :]
    return numpy.asarray((numpy.sign(apart).mean(axis=(-2, -1)) + 1) / 2)
