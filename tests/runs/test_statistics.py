import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact, ks_2samp

from algophase.runs.statistics import (
    NO_RATE,
    Share,
    detectable_distance,
    equal_shares,
    holm,
    same_distribution,
    tenths,
    wilson,
)


# Newcombe (1998), table I, method 3.
@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_wilson_gives_the_published_intervals(
    count: int, total: int, low: float, high: float
) -> None:
    assert wilson(count, total) == pytest.approx((low, high), abs=5e-5)


def test_a_share_of_nothing_is_unknown() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert math.isnan(Share(0, 0).value)
    assert Share(0, 0).to_dict()["share"] is None
    assert str(Share(0, 0)) == "no runs"
    assert str(Share(1, 4)) == "25.0% [4.6%, 69.9%] of 4"


def test_tenths_of_the_rate() -> None:
    assert tenths(numpy.array([0.0, 0.0999, 0.1, 0.95, 1.0, math.nan])).tolist() == [
        0,
        0,
        1,
        9,
        9,
        NO_RATE,
    ]


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_one_stratum_is_fishers_test(a: int, b: int, c: int, d: int) -> None:
    assert equal_shares([(a, a + b, c, c + d)]) == pytest.approx(
        fisher_exact([[a, b], [c, d]])[1], abs=1e-9
    )


def test_strata_are_not_taken_for_a_difference() -> None:
    # Shares are equal in each stratum, but the sides weigh the strata differently: pooled, they
    # look different.
    strata = [(90, 100, 9, 10), (1, 10, 10, 100)]
    assert equal_shares(strata) > 0.9
    assert equal_shares([(91, 110, 19, 110)]) < 1e-9


def test_a_stratum_with_one_side_says_nothing() -> None:
    assert equal_shares([(3, 10, 9, 12), (0, 0, 5, 9), (0, 0, 0, 0)]) == pytest.approx(
        equal_shares([(3, 10, 9, 12)])
    )
    assert equal_shares([]) == 1


def test_small_differences_in_the_same_direction_add_up() -> None:
    one = (20, 50, 30, 50)
    assert equal_shares([one]) > 0.05
    assert equal_shares([one] * 10) < 1e-8


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, made monotone.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_kolmogorov_smirnov_is_exact_and_takes_ties() -> None:
    assert same_distribution(numpy.arange(5.0), numpy.arange(5.0) + 10) == pytest.approx(
        (1.0, 2 / math.comb(10, 5))
    )
    tied = numpy.array([1.0, 1, 1, 2, 2, 2])
    assert same_distribution(tied, tied) == (0.0, 1.0)
    ours, theirs = numpy.linspace(0, 1, 7), numpy.linspace(0.3, 1.4, 9)
    assert same_distribution(ours, theirs)[1] == pytest.approx(
        ks_2samp(ours, theirs, method="exact").pvalue
    )


def test_ties_never_make_a_p_value_too_small() -> None:
    generator = numpy.random.default_rng(0)
    rejected = sum(
        same_distribution(*generator.integers(0, 3, (2, 20)).astype(float))[1] < 0.05
        for _ in range(400)
    )
    assert rejected / 400 < 0.05


def test_a_detectable_difference_is_detected() -> None:
    level = 0.01 / 60
    distance = detectable_distance(60, 80, level)
    assert distance is not None
    generator = numpy.random.default_rng(0)
    found = sum(
        same_distribution(
            generator.uniform(0, 1, 60), generator.uniform(distance, 1 + distance, 80)
        )[1]
        < level
        for _ in range(300)
    )
    assert found / 300 > 0.87  # 0.9 within the noise of 300
    assert detectable_distance(3, 3, level) is None
    larger = detectable_distance(600, 800, level)
    assert larger is not None
    assert larger < distance / 2.5
