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
FEWEST_RESAMPLES = (
    100  # for the 95% percentiles of a comparison: two or three resamples beyond each
)
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
        return f"{self.value:.3f} [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"

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
        gap = (
            "" if self.gap is None else f" (separated: gap {self.gap[0]:.3f} to {self.gap[1]:.3f})"
        )
        return f"{self.rate}{gap}"

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
    (k, fits) and whether each
    converged: a fit that separates its runs perfectly runs off to infinity, in the direction of its
        boundary, and does not.
    """
    runs, k = design.shape
    beta = (
        numpy.zeros((k, weights.shape[1]))
        if start is None
        else numpy.repeat(start[:, None], weights.shape[1], axis=1)
    )
    done = numpy.zeros(weights.shape[1], dtype=bool)
    products = (design[:, :, None] * design[:, None, :]).reshape(runs, k * k)
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
        step = numpy.linalg.solve(curvature, gradient.T[:, :, None])[:, :, 0].T
        length = numpy.abs(step).max(axis=0)
        shortening = numpy.minimum(1.0, 4.0 / numpy.maximum(length, 1e-300))
        beta[:, open_fits] += step * shortening
        largest = numpy.abs(beta[:, open_fits]).max(axis=0)
        converged = length < TOLERANCE * (1 + largest)
        done[open_fits[converged]] = True
    return beta, done & (numpy.abs(beta).max(axis=0) < 1e3)


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
    if count in (0, runs):
        reason = (
            "no runs" if not runs else f"{'none' if count == 0 else 'all'} of {runs} runs inside"
        )
        return Boundary(runs, count, reason=f"{reason}: there is no boundary")
    if rates.min() == rates.max():
        return Boundary(
            runs, count, reason=f"all {runs} runs have rate {rates[0]:g}: there is no boundary"
        )
    logs = None if widths is None else numpy.log2(widths)
    middle = 0.0
    columns = [numpy.ones(runs), rates - 0.5]
    if logs is not None:
        middle = float(numpy.log2(width) if width else (logs.min() + logs.max()) / 2)
        columns.append(logs - middle)
    design = numpy.stack(columns, axis=1)
    generator = numpy.random.default_rng(seed)
    whole, fine = fit(design, inside, numpy.ones((runs, 1)))
    if not numpy.isfinite(whole).all():
        return Boundary(
            runs, count, reason="the logistic fit is not finite: no boundary can be given"
        )
    if whole[1, 0] == 0:
        return Boundary(
            runs, count, reason="the phase does not depend on the rate: there is no boundary"
        )
    gap = _gap(rates, inside) if logs is None else None
    fits = []
    single = 0
    start = whole[:, 0] if fine[0] else None
    per_block = max(1, BLOCK // runs)
    for begin in range(0, resamples, per_block):
        draws = min(per_block, resamples - begin)
        counts = generator.multinomial(runs, numpy.full(runs, 1 / runs), size=draws)
        weights = counts.T.astype(numpy.float64)
        positives = inside @ weights
        mixed = (positives > 0) & (positives < runs)
        single += int((~mixed).sum())
        fits.append(_boundaries(design, rates, inside, weights[:, mixed], start))
    sampled = numpy.concatenate(fits, axis=1)  # (rate, slope, then coefficients; resamples)
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
    if (
        start is not None and not fine.all()
    ):  # a step too far from the shared start: try again from nothing
        beta[:, ~fine] = fit(design, in_phase, weights[:, ~fine])[0]
    slope = -beta[2] / beta[1] if len(beta) > 2 else numpy.zeros(beta.shape[1])
    result = numpy.concatenate([[0.5 - beta[0] / beta[1], slope], beta])
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
                rate = (gap[0] + gap[1]) / 2
                steep = rising * 1e3
                result[:, column] = (rate, 0.0, (0.5 - rate) * steep, steep)
    return result


def bootstrap_interval(
    values: Floats, gap: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Between which 95% of the resampled values lie; at least as wide as the gap."""
    low, high = numpy.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return (
        (float(low), float(high))
        if gap is None
        else (min(float(low), gap[0]), max(float(high), gap[1]))
    )


def _curve(coefficients: Floats, sampled: Floats) -> Curve:
    rates = numpy.linspace(0, 1, CURVE_POINTS)

    def probability(beta: Floats) -> Floats:
        exponent = beta[0] + beta[1] * (rates[:, None] - 0.5)
        return 1 / (1 + numpy.exp(-numpy.clip(exponent, -500, 500)))

    low, high = numpy.quantile(
        probability(sampled), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1
    )
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
