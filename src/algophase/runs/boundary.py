"""Where a phase ends: logistic regression on the attention rate, as the paper's transition lines
(figure 7).

P(phase) = 1 / (1 + exp(-(b0 + b1 rate))), or with log2 width as a second regressor. The boundary is
where P = 1/2. The fit is unpenalized Newton; data that the rate separates perfectly have no finite
fit, and their boundary is the middle of the gap. Intervals are percentiles of a bootstrap over
runs.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy
from numpy.typing import NDArray

from algophase.record.layout import Layout, to_record
from algophase.runs.statistics import CONFIDENCE, Floats

RESAMPLES = 2000
# For the 95% percentiles of a comparison: two or three resamples beyond each
FEWEST_RESAMPLES = 100
ENDS = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]  # of an interval, as quantiles
MOST_STEPS = 40
TOLERANCE = 1e-8
# Runs inside and outside for an interval: with two or three, resamples vary too little
# (docs/method.md)
FEWEST_OF_EACH = 5
BLOCK = 2_000_000  # runs x resamples at a time: memory
CURVE_POINTS = 101


@dataclass(frozen=True)
class Estimate:
    """A number and its 95% bootstrap interval, None from too few runs."""

    value: float
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.value:.3f} [no interval]"
        low, high = self.interval
        return f"{self.value:.3f} [{low:.3f}, {high:.3f}]"

    def holds(self, value: float) -> bool | None:
        return None if self.interval is None else self.interval[0] <= value <= self.interval[1]

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = to_record(self)
        return record


@dataclass(frozen=True)
class Curve:
    """Probability of the phase by rate (at the middle width), with pointwise 95% intervals."""

    rates: Floats
    probability: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Boundary:
    """rate: where P = 1/2 (at width `width` if widths vary). slope: its change per doubling of the
    width.

    gap: the last rate of one class and the first of the other, if the rate separates them
        perfectly; the interval then holds
    it. reason: why there is no rate. no_boundary: resamples of a single class, which have none and
    are left out. samples: the boundary of each of the others.
    """

    runs: int
    inside: int
    rate: Estimate | None = None
    slope: Estimate | None = None
    width: float | None = None
    gap: tuple[float, float] | None = None
    reason: str | None = None
    no_boundary: int = 0
    curve: Curve | None = field(default=None, repr=False, compare=False)
    samples: Floats = field(default_factory=lambda: numpy.empty(0), repr=False, compare=False)

    @property
    def within(self) -> bool:
        """Whether the boundary is a rate: the fit to a phase that hardly depends on the rate may
        cross 1/2 far off.
        """
        return self.rate is not None and 0 <= self.rate.value <= 1

    def __str__(self) -> str:
        if self.rate is None:
            return self.reason or "none"
        if not self.within:
            return f"none within 0 to 1 (fit: {self.rate.value:.2f})"
        if self.gap is None:
            return str(self.rate)
        low, high = self.gap
        return f"{self.rate} (separated: gap {low:.3f} to {high:.3f})"

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "runs": "runs",
            "inside": "inside",
            "rate": "rate",
            "slope_per_doubling": "slope",
            "width": "width",
            "gap": "gap",
            "reason": "reason",
            "resamples_without_boundary": "no_boundary",
        }
    )

    def to_dict(self) -> dict[str, Any]:
        return self.LAYOUT.record(self)


def fit(
    design: Floats, inside: Floats, weights: Floats, start: Floats | None = None
) -> tuple[Floats, NDArray[numpy.bool_]]:
    """Maximum likelihood of many weightings of the same runs at once, by Newton's method.

    design (runs, k), inside (runs) of 0 and 1, weights (runs, fits) counts. Returns coefficients
    (k, fits) and whether each converged: a fit that separates its runs perfectly runs off to
    infinity, in the direction of its boundary, and does not.
    """
    runs, k = design.shape
    fits = weights.shape[1]
    beta = numpy.zeros((k, fits))
    if start is not None:
        beta += start[:, None]
    done = numpy.zeros(fits, dtype=bool)
    outer_products = design[:, :, None] * design[:, None, :]
    products = outer_products.reshape(runs, k * k)
    for _ in range(MOST_STEPS):
        open_fits = numpy.flatnonzero(~done)
        if not len(open_fits):
            break
        open_weights = weights[:, open_fits]
        logits = numpy.clip(design @ beta[:, open_fits], -30, 30)
        probability = 1 / (1 + numpy.exp(-logits))
        residuals = inside[:, None] - probability
        gradient = design.T @ (open_weights * residuals)
        variances = open_weights * probability * (1 - probability)
        curvature = (products.T @ variances).T.reshape(-1, k, k)
        curvature += 1e-9 * numpy.eye(k)
        solved = numpy.linalg.solve(curvature, gradient.T[:, :, None])
        step = solved[:, :, 0].T
        length = numpy.abs(step).max(axis=0)
        shortening = numpy.minimum(1.0, 4.0 / numpy.maximum(length, 1e-300))
        beta[:, open_fits] += step * shortening
        largest = numpy.abs(beta[:, open_fits]).max(axis=0)
        converged = length < TOLERANCE * (1 + largest)
        done[open_fits[converged]] = True
    is_bounded = numpy.abs(beta).max(axis=0) < 1e3
    return beta, done & is_bounded


def phase_boundary(
    rates: Floats,
    inside: Floats,
    widths: Floats | None = None,
    *,
    width: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Boundary:
    """The boundary of runs at `rates` of which some are `inside` the phase (1) and others not (0).

    widths: of the runs, where they vary; the boundary's rate is then given at `width`, the middle
        of log2 widths by default.
    """
    runs = len(rates)
    count = int(inside.sum())
    reason = _why_none(rates, count)
    if reason is not None:
        return Boundary(runs, count, reason=reason)
    logs = None if widths is None else numpy.log2(widths)
    middle = 0.0
    columns = [numpy.ones(runs), rates - 0.5]
    if logs is not None:
        middle = float(numpy.log2(width) if width else (logs.min() + logs.max()) / 2)
        columns.append(logs - middle)
    design = numpy.stack(columns, axis=1)
    whole, fine = fit(design, inside, numpy.ones((runs, 1)))
    if not numpy.isfinite(whole).all():
        reason = "the logistic fit is not finite: no boundary can be given"
        return Boundary(runs, count, reason=reason)
    if whole[1, 0] == 0:
        reason = "the phase does not depend on the rate: there is no boundary"
        return Boundary(runs, count, reason=reason)
    gap = _gap(rates, inside) if logs is None else None
    start = whole[:, 0] if fine[0] else None
    sampled, single = _resampled(design, rates, inside, start, resamples, seed)
    estimate = _boundaries(design, rates, inside, numpy.ones((runs, 1)), None)[:, 0]
    usable = min(count, runs - count) >= FEWEST_OF_EACH and resamples > 0
    rate_interval = bootstrap_interval(sampled[0], gap) if usable else None
    slope = None
    if logs is not None:
        slope_interval = bootstrap_interval(sampled[1]) if usable else None
        slope = Estimate(float(estimate[1]), slope_interval)
    return Boundary(
        runs,
        count,
        rate=Estimate(float(estimate[0]), rate_interval),
        slope=slope,
        width=None if logs is None else float(2**middle),
        gap=gap,
        no_boundary=single,
        curve=_curve(estimate[2:], sampled[2:]) if usable else None,
        samples=sampled[0] if usable else numpy.empty(0),
    )


def _why_none(rates: Floats, count: int) -> str | None:
    """Why runs at these rates, `count` of them inside, cannot have a boundary."""
    runs = len(rates)
    if not runs:
        return "no runs: there is no boundary"
    if count in (0, runs):
        how_many = "none" if count == 0 else "all"
        return f"{how_many} of {runs} runs inside: there is no boundary"
    if rates.min() == rates.max():
        return f"all {runs} runs have rate {rates[0]:g}: there is no boundary"
    return None


def _resampled(
    design: Floats,
    rates: Floats,
    inside: Floats,
    start: Floats | None,
    resamples: int,
    seed: int,
) -> tuple[Floats, int]:
    """`_boundaries` of bootstrap resamples, and how many more have all runs on one side."""
    runs = len(rates)
    generator = numpy.random.default_rng(seed)
    fits = []
    single = 0
    per_block = max(1, BLOCK // runs)
    for begin in range(0, resamples, per_block):
        draws = min(per_block, resamples - begin)
        counts = generator.multinomial(runs, numpy.full(runs, 1 / runs), size=draws)
        weights = counts.T.astype(numpy.float64)
        positives = inside @ weights
        mixed = (positives > 0) & (positives < runs)
        single += int((~mixed).sum())
        fits.append(_boundaries(design, rates, inside, weights[:, mixed], start))
    return numpy.concatenate(fits, axis=1), single


def _gap(rates: Floats, in_phase: Floats) -> tuple[float, float] | None:
    yes = rates[in_phase == 1]
    no = rates[in_phase == 0]
    if yes.max() <= no.min():
        return float(yes.max()), float(no.min())
    if no.max() <= yes.min():
        return float(no.max()), float(yes.min())
    return None


def _boundaries(
    design: Floats, rates: Floats, in_phase: Floats, weights: Floats, start: Floats | None
) -> Floats:
    """Rate, slope per doubling and coefficients of each weighting: (2 + k, fits). If separated,
    of the gap's middle.
    """
    beta, fine = fit(design, in_phase, weights, start)
    # a step too far from the shared start: try again from nothing
    if start is not None and not fine.all():
        beta[:, ~fine] = fit(design, in_phase, weights[:, ~fine])[0]
    slope = -beta[2] / beta[1] if len(beta) > 2 else numpy.zeros(beta.shape[1])
    rate = 0.5 - beta[0] / beta[1]
    result = numpy.concatenate([[rate, slope], beta])
    if len(beta) == 2:
        for column in numpy.flatnonzero(~fine):
            used = weights[:, column] > 0
            gap = _gap(rates[used], in_phase[used])
            if gap is not None:
                # by the means: where both classes end at one rate, the gap's ends are equal and
                # tell no direction
                mean_within = rates[used & (in_phase == 1)].mean()
                mean_outside = rates[used & (in_phase == 0)].mean()
                rising = 1.0 if mean_within > mean_outside else -1.0
                middle = (gap[0] + gap[1]) / 2
                steep = rising * 1e3
                result[:, column] = (middle, 0.0, (0.5 - middle) * steep, steep)
    return result


def bootstrap_interval(
    values: Floats, gap: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Between which 95% of the resampled values lie; at least as wide as the gap."""
    low, high = map(float, numpy.quantile(values, ENDS))
    if gap is None:
        return low, high
    return min(low, gap[0]), max(high, gap[1])


def _curve(coefficients: Floats, sampled: Floats) -> Curve:
    rates = numpy.linspace(0, 1, CURVE_POINTS)

    def probability(beta: Floats) -> Floats:
        exponent = beta[0] + beta[1] * (rates[:, None] - 0.5)
        return 1 / (1 + numpy.exp(-numpy.clip(exponent, -500, 500)))

    low, high = numpy.quantile(probability(sampled), ENDS, axis=1)
    return Curve(rates, probability(coefficients[:, None])[:, 0], low, high)


def difference(ours: Boundary, theirs: Boundary) -> Estimate | None:
    """Our boundary's rate minus theirs, with the interval of independent resamples; None where
    one has no boundary.
    """
    if ours.rate is None or theirs.rate is None:
        return None
    count = min(len(ours.samples), len(theirs.samples))
    interval = bootstrap_interval(ours.samples[:count] - theirs.samples[:count]) if count else None
    return Estimate(ours.rate.value - theirs.rate.value, interval)
