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
    from scipy.stats import binomtest  # here, as it takes a second to import

    interval = binomtest(count, total).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


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
    without_gaps = numpy.nan_to_num(rates, nan=0.0)
    tenth = numpy.floor(without_gaps * TENTHS).astype(numpy.int64)
    tenth = numpy.clip(tenth, 0, TENTHS - 1)
    return numpy.where(numpy.isnan(rates), NO_RATE, tenth)


def equal_shares(strata: Sequence[tuple[int, int, int, int]]) -> float:
    """Exact p-value for equal shares in every stratum (successes, total, other's successes, other's
    total).

    Given a stratum's totals, our successes are hypergeometric under the null; their sum over strata
    is the statistic. p is the probability of all sums no likelier than the one seen, so that one
    stratum gives Fisher's test.
    """
    from scipy.stats import hypergeom

    distribution = numpy.ones(1)  # of the sum of our successes, from `lowest` on
    observed = lowest = 0
    for count, total, other_count, other_total in strata:
        if not total or not other_total:
            continue  # says nothing about a difference
        successes = count + other_count
        runs = total + other_total
        least = max(0, successes - other_total)
        most = min(successes, total)
        support = numpy.arange(least, most + 1)
        distribution = numpy.convolve(distribution, hypergeom.pmf(support, runs, successes, total))
        observed += count
        lowest += least
    likelihood = distribution[observed - lowest]
    no_likelier = distribution <= likelihood * (1 + 1e-9)
    return float(min(1.0, distribution[no_likelier].sum()))


def same_distribution(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Two-sample Kolmogorov-Smirnov distance and p-value. Ties make an exact p-value larger,
    never smaller.
    """
    from scipy.stats import ks_2samp

    exact = max(len(ours), len(theirs)) <= MOST_EXACT
    with warnings.catch_warnings():
        # An exact p-value of 1 can round to more, and is then taken from the limit: 1 as well.
        warnings.filterwarnings("ignore", message="ks_2samp: Exact calculation unsuccessful")
        result = ks_2samp(ours, theirs, method="exact" if exact else "asymp")
    return float(result.statistic), float(min(1.0, max(0.0, result.pvalue)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's step-down method: below a level, the family-wise error is at
    most that level.
    """
    count = len(p_values)
    corrected = [0.0] * count
    largest = 0.0
    for rank, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        bound = (count - rank) * p_values[index]
        largest = max(largest, min(1.0, bound))
        corrected[index] = largest
    return corrected


def detectable_distance(ours: int, theirs: int, level: float) -> float | None:
    """The Kolmogorov-Smirnov distance from which any difference is found with probability POWER at
    this level.

    Where the distributions lie furthest apart, at shares q and q - d, the seen distance falls short
    of d by at most a normal quantile of standard deviations, for the worst q; the test asks for
    sqrt(-ln(level/2)/2 (1/n + 1/m)). None if not even d = 1 is sure to be found.
    """
    from scipy.special import ndtri

    distances = numpy.linspace(0, 1, 1001)
    worst = numpy.clip(0.5 + distances * ours / (ours + theirs), distances, 1)
    variance = worst * (1 - worst) / ours + (worst - distances) * (1 - worst + distances) / theirs
    short_fall = ndtri(POWER) * numpy.sqrt(variance)
    critical = math.sqrt(-math.log(level / 2) / 2 * (1 / ours + 1 / theirs))
    detected = distances[distances - short_fall >= critical]
    return float(detected[0]) if len(detected) else None
