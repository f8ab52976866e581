"""Does a quantity of the hidden units move with the phase, and where? From a sweep's table.

The phase is that of symmetric gradients, inside the paper's line. For each quantity, over accurate
runs:

    turn    the rate that splits the runs into two groups of the most different means, and what the
            split explains (R^2)
    area    probability that a run outside the phase has the larger value than one inside it (ROC
            area, ties half): 1/2 if the two do not differ. Within tenths of the rate only runs of
            about equal rate are compared.

Intervals are 95% percentiles of a bootstrap over runs. A table needs the columns `attention_rate`,
`validation_accuracy` or `accuracy`, `gradient_symmetricity`, and the quantities, by default those
of `HIDDEN`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from algophase.analysis.catalogue import SYMMETRICITY, label, line
from algophase.core.errors import InputError
from algophase.runs.boundary import Boundary, Estimate, bootstrap_interval, phase_boundary
from algophase.runs.runs import Runs
from algophase.runs.statistics import Floats

HIDDEN = ("disc_cka", "torus_cka", "product_share", "single_frequency_fit", "phase_resultant")
RESAMPLES = 500
LEAST_RUNS = 20


@dataclass(frozen=True)
class PhaseShift:
    """One quantity over the attention rate. below, above: its means on both sides of the turn;
    explained: R^2 of the split.

    area, area_at_rate: over all rates, and within tenths of it; the latter is None where no tenth
        has runs of both sides.
    """

    column: str
    runs: int
    turn: Estimate
    below: float
    above: float
    explained: float
    area: Estimate
    area_at_rate: Estimate | None

    @property
    def moves(self) -> bool:
        """Whether it tells the phase at all: the interval of the area does not hold 1/2."""
        return self.area.holds(0.5) is False

    @property
    def moves_beyond_rate(self) -> bool | None:
        """Whether it tells the phase among runs of about the same rate."""
        return None if self.area_at_rate is None else self.area_at_rate.holds(0.5) is False

    def __str__(self) -> str:
        at_rate = "no tenth has both" if self.area_at_rate is None else str(self.area_at_rate)
        turn = (
            f"turns at rate {self.turn}, from {self.below:.4f} to {self.above:.4f} (R² "
            f"{self.explained:.2f})"
        )
        return (
            f"{label(self.column)}, {self.runs} runs: {turn}; area {self.area}, at equal "
            f"rates {at_rate}"
        )


def phase_shifts(
    runs: Runs, columns: Sequence[str] = HIDDEN, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Boundary, list[PhaseShift]]:
    """The phase boundary of the accurate runs, and how each quantity moves over the rate."""
    frame = runs.accurate.frame
    missing = [
        name for name in (SYMMETRICITY, *columns) if name not in frame or frame[name].isna().all()
    ]
    if SYMMETRICITY in missing or not set(missing) <= set(frame):
        raise InputError(
            f"{runs.name} needs the column{'s' if len(missing) > 1 else ''} "
            f"{', '.join(missing)}; sweep it again"
        )
    if missing:  # the columns are there, and these networks have no such quantity
        undefined = ", ".join(label(name) for name in missing)
        choices = ", ".join(name for name in columns if name not in missing) or "another column"
        raise InputError(
            f"no accurate run of {runs.name} has {undefined}: not every network has one; ask "
            f"for {choices}"
        )
    frame = frame[frame["_rate"].notna() & frame[SYMMETRICITY].notna()]
    in_phase = line(SYMMETRICITY).inside(frame[SYMMETRICITY]).to_numpy()
    boundary = phase_boundary(
        frame["_rate"].to_numpy(), in_phase.astype(float), resamples=resamples
    )
    shifts = []
    for name in columns:
        has_value = frame[name].notna().to_numpy()
        if has_value.sum() < LEAST_RUNS:
            raise InputError(
                f"{runs.name} has {has_value.sum()} accurate runs with {label(name)}; at least "
                f"{LEAST_RUNS} are needed"
            )
        rows = frame[has_value]
        rates, values, tenths = (rows[column].to_numpy() for column in ("_rate", name, "_tenth"))
        shift = _shift(name, rates, values, in_phase[has_value], tenths, resamples, seed)
        shifts.append(shift)
    return boundary, shifts


def _shift(
    name: str,
    rates: Floats,
    values: Floats,
    in_phase: Floats,
    tenths: Floats,
    resamples: int,
    seed: int,
) -> PhaseShift:
    generator = numpy.random.default_rng(seed)
    samples = numpy.empty((resamples, 3))  # the turn and both areas of each resample
    for sample in samples:
        chosen = generator.integers(0, len(rates), len(rates))
        turn, *_ = _turn(rates[chosen], values[chosen])
        sample[:] = turn, *_areas(values[chosen], in_phase[chosen], tenths[chosen])
    turns, areas, areas_at_rate = samples.T
    turn, below, above, explained = _turn(rates, values)
    area, at_rate = _areas(values, in_phase, tenths)
    return PhaseShift(
        name,
        len(rates),
        _estimate(turn, turns),
        below,
        above,
        explained,
        _estimate(area, areas),
        None if numpy.isnan(at_rate) else _estimate(at_rate, areas_at_rate),
    )


def _estimate(value: float, samples: Floats) -> Estimate:
    defined = samples[~numpy.isnan(samples)]
    if not len(defined):
        return Estimate(value, None)
    return Estimate(value, bootstrap_interval(defined))


def _turn(rates: Floats, values: Floats) -> tuple[float, float, float, float]:
    """The rate of the best split in two means, the means, and the share of the variance that
    they explain.
    """
    order = numpy.argsort(rates, kind="stable")
    rate = rates[order]
    value = values[order]
    # Every split: so many runs below it and above it, and their means.
    runs_below = numpy.arange(1, len(rate))
    runs_above = len(rate) - runs_below
    sum_below = numpy.cumsum(value)[:-1]
    below = sum_below / runs_below
    above = (value.sum() - sum_below) / runs_above
    gain = runs_below * runs_above / len(rate) * (below - above) ** 2
    gain[rate[1:] == rate[:-1]] = -1.0  # runs of one rate are not split
    best = int(gain.argmax())
    whole = float(((value - value.mean()) ** 2).sum())
    share = float(gain[best]) / whole if whole > 0 else numpy.nan
    turn = float((rate[best] + rate[best + 1]) / 2)
    return turn, float(below[best]), float(above[best]), share


def _areas(values: Floats, in_phase: Floats, tenths: Floats) -> tuple[float, float]:
    """ROC area of being outside, over all runs and within tenths; NaN where there are no two
    sides.
    """
    wins, pairs = _wins(values, in_phase)
    tenth_wins = 0.0
    tenth_pairs = 0
    for tenth in numpy.unique(tenths):
        rows = tenths == tenth
        more_wins, more_pairs = _wins(values[rows], in_phase[rows])
        tenth_wins += more_wins
        tenth_pairs += more_pairs
    area = wins / pairs if pairs else numpy.nan
    area_at_rate = tenth_wins / tenth_pairs if tenth_pairs else numpy.nan
    return area, area_at_rate


def _wins(values: Floats, in_phase: Floats) -> tuple[float, int]:
    """How many pairs of a run outside and one inside the outer one wins, ties half; and of how
    many.
    """
    from scipy.stats import rankdata

    outer = ~in_phase.astype(bool)
    count = int(outer.sum())
    ranks = rankdata(values)[outer].sum()
    return float(ranks - count * (count + 1) / 2), count * (len(values) - count)
