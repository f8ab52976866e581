"""What the paper says of whole populations: on which side of a line runs lie, where a phase ends,
how a share compares.

A transition is clear if its phase dominates on one side of the boundary and its opposite on the
other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy

from algophase.analysis.catalogue import CIRCULARITY, IRRELEVANCE, SYMMETRICITY, label, line
from algophase.core.lines import exceeds, falls_short, reaches, stays_within
from algophase.paper.measure import SUBSETS, Measurement, find_population, measured, quantity
from algophase.paper.product import Table
from algophase.paper.rules import MOST, THRESHOLDS, Holds, all_of, decided, estimated
from algophase.paper.sources import Sources, optional
from algophase.runs.boundary import FEWEST_OF_EACH, Boundary, Estimate, fit
from algophase.runs.runs import Runs
from algophase.runs.statistics import CONFIDENCE, Floats, Share

if TYPE_CHECKING:
    import pandas

MEASURES = (SYMMETRICITY, IRRELEVANCE)
NEEDED = ("validation_accuracy", *MEASURES, CIRCULARITY)
BY_DEFINITION = "distance irrelevance is the paper's definition, on the correct logit"
DRAWS = 2000
TAILS = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]


def population(sources: Sources, space: str, *columns: str) -> Runs:
    """A sweep's runs with both metrics and circularity. columns: needed beyond those."""
    return sources.runs(space, *NEEDED, *columns)


def populations(sources: Sources, *spaces: str) -> dict[str, Runs]:
    """Those of these sweeps that are there, with their attention rates."""
    by_space = {}
    for space in spaces:
        runs = optional(population, sources, space, "attention_rate")
        if runs is not None:
            by_space[space] = runs
    return by_space


def circles_of(runs: Runs, *names: str) -> list[list[tuple[Any, ...]]]:
    """These numbers of the circles of each run."""
    columns = (runs[f"circles.{name}"] for name in names)
    return [list(zip(*numbers, strict=True)) for numbers in zip(*columns, strict=True)]


def joined(parts: Sequence[Runs]) -> Runs:
    """Several populations as one."""
    import pandas

    return replace(parts[0], frame=pandas.concat([part.frame for part in parts], ignore_index=True))


_COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    ">": exceeds,
    "<=": stays_within,
    "<": falls_short,
    ">=": reaches,
}


@dataclass(frozen=True)
class Side:
    """One side of a line along a metric: which runs lie there, and how the paper writes it."""

    measure: str
    sign: Literal[">", "<=", "<", ">="]
    limit: float

    def of(self, runs: Runs) -> "pandas.Series[bool]":
        chosen: pandas.Series[bool] = _COMPARISONS[self.sign](runs[self.measure], self.limit)
        return chosen

    @property
    def condition(self) -> str:
        """The paper writes symmetricity as a share and irrelevance as a number."""
        if self.measure == SYMMETRICITY:
            return f"{self.sign} {self.limit:.0%}"
        return f"{self.sign} {self.limit:g}"

    def __str__(self) -> str:
        return f"{label(self.measure).split()[1]} {self.condition}"


SYMMETRIC = Side(SYMMETRICITY, ">", line(SYMMETRICITY).value)
ASYMMETRIC = Side(SYMMETRICITY, "<=", line(SYMMETRICITY).value)
LOW = Side(IRRELEVANCE, "<", THRESHOLDS.pizza_distance_irrelevance)  # section 4.1.2
INSIDE = Side(IRRELEVANCE, "<", line(IRRELEVANCE).value)  # figure 7
HIGH = Side(IRRELEVANCE, ">=", line(IRRELEVANCE).value)
PHASES = {side.measure: f"{label(side.measure)} {side.condition}" for side in (SYMMETRIC, INSIDE)}


def pizzas(runs: Runs) -> Share:
    """Runs with the metrics of a Pizza, as section 4.1.2 has them."""
    return runs.share(SYMMETRIC.of(runs) & LOW.of(runs))


def is_circular(runs: Runs) -> "pandas.Series[bool]":
    circular: pandas.Series[bool] = reaches(runs[CIRCULARITY], THRESHOLDS.circularity)
    return circular


def by_circularity(runs: Runs) -> dict[str, Runs]:
    circular = is_circular(runs)
    return {"not circular": runs.where(~circular), "circular": runs.where(circular)}


# --- the phase along the attention rate
# -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transition:
    """A boundary and what lies on its sides. below, above: shares inside the phase; right: runs
    on their side of it.
    """

    measure: str
    boundary: Boundary
    below: Share = Share(0, 0)
    above: Share = Share(0, 0)
    right: Share = Share(0, 0)

    @property
    def rate(self) -> float | None:
        """None where there is no boundary within the range of rates."""
        return (
            self.boundary.rate.value
            if self.boundary.rate is not None and self.boundary.within
            else None
        )

    def observed(self, *, clear: bool = False) -> Holds:
        """Whether the phase ends within the range of rates: by the fit, most runs at rate 0 are
        inside and most at rate 1 are not; clear: the same of the runs below the boundary and above
        it."""
        if not self.boundary.runs:
            return None
        curve = self.boundary.curve
        if curve is None:  # all runs inside, or none, or too few to tell
            inside = Share(self.boundary.inside, self.boundary.runs)
            sure = decided(estimated(inside), low=MOST)
            return False if self.boundary.rate is None and sure != "undecided" else "undecided"
        at_zero, at_one = [
            Estimate(curve.probability[end], (curve.low[end], curve.high[end])) for end in (0, -1)
        ]
        parts = [decided(at_zero, low=MOST), decided(at_one, high=MOST)]
        if clear and self.boundary.within:
            parts += [
                decided(estimated(self.below), low=MOST),
                decided(estimated(self.above), high=MOST),
            ]
        return all_of(parts)

    def __str__(self) -> str:
        if self.boundary.rate is None:
            return self.boundary.reason or "no boundary"
        if not self.boundary.within:
            return str(self.boundary)
        return (
            f"rate {self.boundary.rate}; inside: {self.below.value:.1%} below, "
            f"{self.above.value:.1%} above"
        )


def transitions(runs: Runs) -> dict[str, Transition]:
    return {measure: _transition(runs, measure) for measure in MEASURES}


def _transition(runs: Runs, measure: str) -> Transition:
    ends = Transition(measure, runs.boundary(measure))
    if ends.rate is None:
        return ends
    measurable = runs.where(runs["_rate"].notna() & runs[measure].notna())
    in_phase = measurable.inside_phase(measure)
    low = measurable["_rate"] < ends.rate
    return replace(
        ends,
        below=measurable.where(low).share(in_phase[low]),
        above=measurable.where(~low).share(in_phase[~low]),
        right=measurable.share(in_phase == low),
    )


@dataclass(frozen=True)
class Phases:
    """A population and where its phases end, by metric."""

    runs: Runs
    transitions: dict[str, Transition]

    @property
    def rates(self) -> list[float]:
        """Where they end, of those that end within the range of rates."""
        ends = (transition.rate for transition in self.transitions.values())
        return [rate for rate in ends if rate is not None]


def phases(sources: Sources, population_name: str) -> Phases:
    """The phases of a part of a sweep: "fixed-width circular"."""
    result: Phases = find_population(sources, f"{population_name} phases")
    return result


def _phases_of(subset: str) -> Callable[[Sources, str], Phases]:
    def make(sources: Sources, space: str) -> Phases:
        runs = find_population(sources, f"{space} {subset}")
        return Phases(runs, transitions(runs))

    return make


SUBSETS["accurate phases"] = _phases_of("accurate")
SUBSETS["circular phases"] = _phases_of("circular")


@quantity
def transition(population: Phases, metric: str) -> Measurement:
    """Where the phase by a metric ends along the attention rate."""
    ends = population.transitions[metric]
    return measured(ends, sample=ends.boundary.runs, phase=PHASES[metric], on_their_side=ends.right)


def transition_table(rows: Mapping[str, Mapping[str, Transition]]) -> Table:
    """One row per population and metric."""
    lines = []
    for name, transitions_of_runs in rows.items():
        for measure, ends in transitions_of_runs.items():
            shares = [str(share) for share in (ends.below, ends.above, ends.right)]
            if not ends.boundary.within:
                shares = ["-", "-", "-"]
            lines.append((name, PHASES[measure], str(ends.boundary), *shares))
    heads = (
        "runs",
        "phase",
        "boundary (attention rate)",
        "inside, below it",
        "inside, above it",
        "on their side",
    )
    return Table(heads, tuple(lines))


def bootstrap_difference(first: Floats, second: Floats, *, seed: int = 0) -> Estimate | None:
    """Median of the first less that of the second, with a bootstrap interval over runs; None if
    either is empty.
    """
    if not len(first) or not len(second):
        return None
    generator = numpy.random.default_rng(seed)
    drawn = []
    for side in (first, second):
        chosen = generator.integers(0, len(side), (DRAWS, len(side)))
        drawn.append(numpy.median(side[chosen], axis=1))
    low, high = numpy.quantile(drawn[0] - drawn[1], TAILS)
    difference = float(numpy.median(first) - numpy.median(second))
    return Estimate(difference, (float(low), float(high)))


# --- the phase over rate and width
# ------------------------------------------------------------------------------------


def lines_by_width(runs: Runs) -> dict[str, Boundary]:
    return {measure: runs.boundary(measure, by_width=True) for measure in MEASURES}


@dataclass(frozen=True)
class Bend:
    """How far a phase's boundary over width bends: the largest distance, in attention rate, of a
    curve from the line.

    p: of the likelihood-ratio test that the curve's quadratic term is needed.
    """

    runs: int
    largest: Estimate
    p: float


def bend(
    runs: Runs,
    measure: str,
    scale: Callable[[Floats], Floats] = numpy.log2,
    draws: int = 400,
    seed: int = 0,
) -> Bend | None:
    """Fit the boundary over some scale of the width with and without a quadratic term; None
    where there is no boundary.
    """
    from scipy.stats import chi2

    measurable = runs.where(runs["_rate"].notna() & runs[measure].notna())
    in_phase: Floats = measurable.inside_phase(measure).to_numpy(float)
    widths = scale(measurable["width"].to_numpy(float))
    if not len(measurable) or in_phase.min() == in_phase.max() or widths.min() == widths.max():
        return None
    middle = (widths.min() + widths.max()) / 2
    half_range = (widths.max() - widths.min()) / 2
    x = (widths - middle) / half_range  # -1 to 1
    runs_used = len(x)
    rates = measurable["_rate"].to_numpy(float) - 0.5
    design = numpy.stack([numpy.ones(runs_used), rates, x, x * x], axis=1)
    equal_chances = numpy.full(runs_used, 1 / runs_used)
    drawn = numpy.random.default_rng(seed).multinomial(runs_used, equal_chances, size=draws).T
    each_once = numpy.ones((runs_used, 1))
    weights = numpy.concatenate([each_once, drawn.astype(numpy.float64)], axis=1)
    straight, _ = fit(design[:, :3], in_phase, weights)
    curved, _ = fit(design, in_phase, weights)
    at = numpy.linspace(-1, 1, 101)[:, None]
    line = 0.5 - (straight[0] + straight[2] * at) / straight[1]
    curve = 0.5 - (curved[0] + curved[2] * at + curved[3] * at * at) / curved[1]
    is_rate = (line >= 0) & (line <= 1)
    distance = numpy.where(is_rate, numpy.abs(curve - line), 0.0).max(axis=0)
    if not numpy.isfinite(distance[0]):
        return None
    usable = distance[1:][numpy.isfinite(distance[1:])]
    low, high = numpy.quantile(usable, TAILS) if len(usable) else (0.0, 0.0)
    fewer = min(in_phase.sum(), (1 - in_phase).sum())
    interval = None
    if len(usable) > 0 and fewer >= FEWEST_OF_EACH:
        interval = (float(low), float(high))
    largest = Estimate(float(distance[0]), interval)
    of_curve = _log_likelihood(design, in_phase, curved[:, 0])
    of_line = _log_likelihood(design[:, :3], in_phase, straight[:, 0])
    gained = of_curve - of_line
    return Bend(runs_used, largest, float(chi2.sf(max(0.0, 2 * gained), 1)))


def _log_likelihood(design: Floats, in_phase: Floats, beta: Floats) -> float:
    signed = numpy.where(in_phase == 1, 1.0, -1.0) * (design @ beta)
    return -float(numpy.logaddexp(0.0, -signed).sum())


@quantity
def share_labeled(runs: Runs, label: str) -> Measurement:
    """Runs that have this label by the paper's rules."""
    runs.require(("paper_label",))
    return measured(runs.share(runs["paper_label"] == label), source=runs.source)
