import numpy
import pytest

from algophase.runs.boundary import Boundary, Estimate, difference, fit, phase_boundary
from algophase.runs.statistics import Floats


def drawn(runs: int, seed: int, rate: float = 0.55, steep: float = 14.0) -> tuple[Floats, Floats]:
    generator = numpy.random.default_rng(seed)
    rates = generator.uniform(0, 1, runs)
    chance = 1 / (1 + numpy.exp(steep * (rates - rate)))
    return rates, (generator.uniform(size=runs) < chance).astype(float)


def test_newton_finds_the_coefficients_that_made_the_data() -> None:
    rates, inside = drawn(40_000, 0)
    design = numpy.stack([numpy.ones_like(rates), rates], axis=1)
    beta, converged = fit(design, inside, numpy.ones((len(rates), 1)))
    assert converged.all()
    assert beta[:, 0] == pytest.approx([14 * 0.55, -14], rel=0.03)
    probability = 1 / (1 + numpy.exp(-design @ beta[:, 0]))
    assert numpy.abs(design.T @ (inside - probability)).max() < 1e-6  # the likelihood is flat


def test_weights_are_repetitions() -> None:
    rates, inside = drawn(60, 1, steep=6)
    design = numpy.stack([numpy.ones_like(rates), rates], axis=1)
    counts = numpy.random.default_rng(2).integers(0, 3, 60)
    weighted, _ = fit(design, inside, counts[:, None].astype(float))
    repeated, _ = fit(
        design.repeat(counts, axis=0), inside.repeat(counts), numpy.ones((counts.sum(), 1))
    )
    assert weighted == pytest.approx(repeated, rel=1e-6)


def test_the_boundary_and_its_interval() -> None:
    rates, inside = drawn(800, 3)
    boundary = phase_boundary(rates, inside)
    assert boundary.rate is not None
    assert boundary.rate.interval is not None
    assert boundary.rate.value == pytest.approx(0.55, abs=0.03)
    assert 0.01 < boundary.rate.interval[1] - boundary.rate.interval[0] < 0.08
    assert boundary.curve is not None
    assert (boundary.curve.low <= boundary.curve.high).all()
    assert phase_boundary(rates, inside) == boundary  # seeded
    assert phase_boundary(rates, inside, seed=1).rate != boundary.rate


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(100):
        rate = phase_boundary(*drawn(150, 100 + seed), resamples=300).rate
        assert rate is not None
        held += bool(rate.holds(0.55))
    assert 88 <= held <= 99


@pytest.mark.parametrize("falling", [True, False])
def test_classes_that_meet_at_one_rate_keep_the_direction_of_the_phase(falling: bool) -> None:
    rates = numpy.repeat([0.0, 0.5, 1.0], 20)
    inside = numpy.repeat([1.0, 1.0, 0.0, 0.0], [20, 10, 10, 20])
    boundary = phase_boundary(rates, inside if falling else 1 - inside, resamples=200)
    assert boundary.rate is not None
    assert (boundary.rate.value, boundary.gap) == (0.5, (0.5, 0.5))
    assert boundary.curve is not None
    assert (boundary.curve.probability[[0, -1]] > 0.5).tolist() == [falling, not falling]


def test_with_width_the_boundary_is_a_line() -> None:
    generator = numpy.random.default_rng(4)
    rates, widths = generator.uniform(0, 1, 3000), 2 ** generator.uniform(5, 9, 3000)
    chance = 1 / (1 + numpy.exp(14 * (rates - 0.5 - 0.08 * (numpy.log2(widths) - 7))))
    boundary = phase_boundary(
        rates,
        (generator.uniform(size=3000) < chance).astype(float),
        widths,
        width=128,
        resamples=500,
    )
    assert boundary.rate is not None
    assert boundary.slope is not None
    assert boundary.width == pytest.approx(128)
    assert boundary.rate.holds(0.5)
    assert boundary.slope.holds(0.08)


def test_perfect_separation_is_reported_with_its_gap() -> None:
    rates = numpy.array([0.0, 0.1, 0.15, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 1.0])
    for inside in ((rates < 0.4).astype(float), (rates > 0.4).astype(float)):
        boundary = phase_boundary(rates, inside)
        assert boundary.gap == (0.3, 0.5)
        assert boundary.rate is not None
        assert boundary.rate.interval is not None
        assert boundary.rate.value == pytest.approx(0.4)
        assert boundary.rate.interval[0] <= 0.3
        assert boundary.rate.interval[1] >= 0.5
        assert boundary.curve is not None
        assert boundary.curve.probability[[0, -1]] == pytest.approx(inside[[0, -1]])


@pytest.mark.parametrize(
    ("inside", "word"),
    [(numpy.ones(6), "all of 6"), (numpy.zeros(6), "none of 6"), (numpy.ones(0), "no runs")],
)
def test_one_class_has_no_boundary(inside: Floats, word: str) -> None:
    boundary = phase_boundary(numpy.linspace(0, 1, len(inside)), inside)
    assert boundary.rate is None
    assert word in (boundary.reason or "")
    assert boundary.to_dict()["rate"] is None
    assert difference(boundary, boundary) is None


def test_one_rate_has_no_boundary() -> None:
    boundary = phase_boundary(numpy.ones(6), numpy.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0]))
    assert boundary.rate is None
    assert boundary.reason == "all 6 runs have rate 1: there is no boundary"


def test_a_fit_that_is_not_finite_is_not_said_to_be_flat() -> None:
    rates, inside = drawn(60, 1)
    rates[3] = numpy.nan
    boundary = phase_boundary(rates, inside)
    assert boundary.rate is None
    assert boundary.reason == "the logistic fit is not finite: no boundary can be given"


@pytest.mark.parametrize("above", [0.99, 0.9])  # one run inside, three
def test_rare_classes_get_no_interval(above: float) -> None:
    rates = numpy.linspace(0, 1, 30)
    boundary = phase_boundary(rates, (rates > above).astype(float))
    assert boundary.no_boundary > 0.03 * 2000  # (9/10)^30 of the resamples miss all three
    assert boundary.rate is not None
    assert boundary.rate.interval is None
    assert boundary.rate.holds(0.99) is None
    assert boundary.curve is None
    assert str(boundary.rate).endswith("[no interval]")


def test_the_difference_of_boundaries() -> None:
    near, far = phase_boundary(*drawn(800, 5)), phase_boundary(*drawn(800, 6, rate=0.4), seed=1)
    apart = difference(near, far)
    assert isinstance(apart, Estimate)
    assert apart.holds(0.15)
    assert not apart.holds(0.0)
    assert isinstance(near, Boundary)
