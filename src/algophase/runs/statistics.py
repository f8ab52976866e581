"""Intervals and tests for two populations of runs: exact wherever that is affordable, corrected
together by Holm's method.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy
from numpy.typing import NDArray

from algophase.record.layout import Layout

Floats = NDArray[numpy.float64]
CONFIDENCE = 0.95
TENTHS = 10
NO_RATE = -1  # the stratum of runs that have no attention rate
POWER = 0.9
# Runs a side: beyond, the exact null distribution of the Kolmogorov-Smirnov distance is left for
# its limit
MOST_EXACT = 10_000


def wilson(count: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a share; (0, 1) if nothing was seen."""
    if total == 0:
        return 0.0, 1.0
    z = _normal_quantile((1 + confidence) / 2)
    share, weight = count / total, z * z / total
    middle = (share + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * math.sqrt(share * (1 - share) / total + weight / (4 * total))
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return (0.0 if count == 0 else low), (1.0 if count == total else high)


def _normal_quantile(probability: float) -> float:
    from scipy.special import ndtri  # scipy.stats, which has it as well, takes a second to import

    return float(ndtri(probability))


@dataclass(frozen=True)
class Share:
    """A count out of a total, with its 95% Wilson interval."""

    count: int
    total: int

    @property
    def value(self) -> float:
        return self.count / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.count, self.total)

    def __str__(self) -> str:
        if not self.total:
            return "no runs"
        low, high = self.interval
        return f"{self.value:.1%} [{low:.1%}, {high:.1%}] of {self.total:,}"

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "count": "count",
            "total": "total",
            "share": "value",
            "low": lambda share: share.interval[0],
            "high": lambda share: share.interval[1],
        }
    )

    def to_dict(self) -> dict[str, Any]:
        return self.LAYOUT.record(self)


def newcombe(first: Share, second: Share) -> tuple[float, float]:
    """Newcombe's 95% interval of the first share less the second, from their Wilson intervals."""
    (low, high), (other_low, other_high) = first.interval, second.interval
    apart = first.value - second.value
    below = math.hypot(first.value - low, other_high - second.value)
    above = math.hypot(high - first.value, second.value - other_low)
    return apart - below, apart + above


def tenths(rates: Floats) -> NDArray[numpy.int64]:
    """The tenth of [0, 1] each rate lies in, 0 to 9 (a rate of 1 is in the last); NO_RATE where
    there is none.
    """
    known = numpy.nan_to_num(rates, nan=0.0)
    places = numpy.clip(numpy.floor(known * TENTHS), 0, TENTHS - 1).astype(numpy.int64)
    return numpy.where(numpy.isnan(rates), NO_RATE, places)


def equal_shares(strata: Sequence[tuple[int, int, int, int]]) -> float:
    """Exact p-value for equal shares in every stratum (successes, total, other's successes, other's
    total).

    Given a stratum's totals, our successes are hypergeometric under the null; their sum over strata
    is the statistic. p is the probability of all sums no likelier than the one seen, so that one
    stratum gives Fisher's test.
    """
    from scipy.stats import hypergeom

    distribution, seen, lowest = numpy.ones(1), 0, 0
    for count, total, other_count, other_total in strata:
        if not total or not other_total:
            continue  # says nothing about a difference
        successes, runs = count + other_count, total + other_total
        least, most = max(0, successes - other_total), min(successes, total)
        support = numpy.arange(least, most + 1)
        distribution = numpy.convolve(distribution, hypergeom.pmf(support, runs, successes, total))
        seen, lowest = seen + count, lowest + least
    likelihood = distribution[seen - lowest]
    return float(min(1.0, distribution[distribution <= likelihood * (1 + 1e-9)].sum()))


def same_distribution(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Two-sample Kolmogorov-Smirnov distance and p-value. Ties make an exact p-value larger,
    never smaller.
    """
    from scipy.stats import ks_2samp

    exact = max(len(ours), len(theirs)) <= MOST_EXACT
    with (
        warnings.catch_warnings()
    ):  # an exact p-value of 1 can round to more, and is then taken from the limit: 1 as well
        warnings.filterwarnings("ignore", message="ks_2samp: Exact calculation unsuccessful")
        result = ks_2samp(ours, theirs, method="exact" if exact else "asymp")
    return float(result.statistic), float(min(1.0, max(0.0, result.pvalue)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's step-down method: below a level, the family-wise error is at
    most that level.
    """
    count, running = len(p_values), 0.0
    corrected = [0.0] * count
    for rank, index in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (count - rank) * p_values[index]))
        corrected[index] = running
    return corrected


def detectable_distance(ours: int, theirs: int, level: float) -> float | None:
    """The Kolmogorov-Smirnov distance from which any difference is found with probability POWER at
    this level.

    Where the distributions lie furthest apart, at shares q and q - d, the seen distance falls short
    of d by at most a normal quantile of standard deviations, for the worst q; the test asks for
    sqrt(-ln(level/2)/2 (1/n + 1/m)). None if not even d = 1 is sure to be found.
    """
    distances = numpy.linspace(0, 1, 1001)
    worst = numpy.clip(0.5 + distances * ours / (ours + theirs), distances, 1)
    variance = worst * (1 - worst) / ours + (worst - distances) * (1 - worst + distances) / theirs
    critical = math.sqrt(-math.log(level / 2) / 2 * (1 / ours + 1 / theirs))
    found = distances[distances - _normal_quantile(POWER) * numpy.sqrt(variance) >= critical]
    return float(found[0]) if len(found) else None
