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
from algophase.paper.product import Claim, Table
from algophase.paper.rules import MOST, THRESHOLDS, Holds, all_of, decided, estimated, statement
from algophase.paper.sources import Sources, optional
from algophase.runs.boundary import FEWEST_OF_EACH, Boundary, Estimate, fit
from algophase.runs.runs import Runs, inside_phase, metric_boundary
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
    found = {space: optional(population, sources, space, "attention_rate") for space in spaces}
    return {space: runs for space, runs in found.items() if runs is not None}


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
        return (
            f"{self.sign} {self.limit:.0%}"
            if self.measure == SYMMETRICITY
            else f"{self.sign} {self.limit:g}"
        )

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
            sure = decided(estimated(Share(self.boundary.inside, self.boundary.runs)), low=MOST)
            return False if self.boundary.rate is None and sure != "undecided" else "undecided"
        ends = [Estimate(curve.probability[at], (curve.low[at], curve.high[at])) for at in (0, -1)]
        parts = [decided(ends[0], low=MOST), decided(ends[1], high=MOST)]
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
    found = Transition(measure, runs.boundary(measure))
    if found.rate is None:
        return found
    some = runs.where(runs["_rate"].notna() & runs[measure].notna())
    inside, low = inside_phase(some.frame, measure), some["_rate"] < found.rate
    below, above = (some.where(side).share(inside[side]) for side in (low, ~low))
    return replace(found, below=below, above=above, right=some.share(inside == low))


def transition_claim(text: str, found: Transition, *, clear: bool) -> Claim:
    """clear: also ask that the phase dominates below the boundary and its opposite above."""
    rule = (
        f"the fitted share inside the phase lies above {MOST:.0%} at rate 0 and below it at "
        "rate 1, with its 95% band"
    )
    if clear:
        rule += (
            ", and so do the shares below and above the boundary; on their side of it: "
            f"{found.right}"
        )
    note = f"phase: {PHASES[found.measure]}; rule: {rule}"
    text = f"{text}, by {label(found.measure)}"
    return statement(
        text, found.observed(clear=clear), str(found), note, sample=found.boundary.runs
    )


def transition_table(rows: Mapping[str, Mapping[str, Transition]]) -> Table:
    """One row per population and metric."""
    lines = []
    for name, found in rows.items():
        for measure, one in found.items():
            sides = (
                str(side) if one.boundary.within else "-"
                for side in (one.below, one.above, one.right)
            )
            lines.append((name, PHASES[measure], str(one.boundary), *sides))
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
    drawn = [
        numpy.median(side[generator.integers(0, len(side), (DRAWS, len(side)))], axis=1)
        for side in (first, second)
    ]
    low, high = numpy.quantile(drawn[0] - drawn[1], TAILS)
    return Estimate(float(numpy.median(first) - numpy.median(second)), (float(low), float(high)))


# --- the phase over rate and width
# ------------------------------------------------------------------------------------


def lines_by_width(runs: Runs) -> dict[str, Boundary]:
    return {measure: metric_boundary(runs.frame, measure, by_width=True) for measure in MEASURES}


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

    some = runs.where(runs["_rate"].notna() & runs[measure].notna())
    inside: Floats = inside_phase(some.frame, measure).to_numpy(float)
    widths = scale(some["width"].to_numpy(float))
    if not len(some) or inside.min() == inside.max() or widths.min() == widths.max():
        return None
    x = (widths - (widths.min() + widths.max()) / 2) / (
        (widths.max() - widths.min()) / 2
    )  # -1 to 1
    design = numpy.stack(
        [numpy.ones(len(x)), some["_rate"].to_numpy(float) - 0.5, x, x * x], axis=1
    )
    drawn = (
        numpy.random.default_rng(seed)
        .multinomial(len(x), numpy.full(len(x), 1 / len(x)), size=draws)
        .T
    )
    weights = numpy.concatenate([numpy.ones((len(x), 1)), drawn.astype(numpy.float64)], axis=1)
    straight, curved = fit(design[:, :3], inside, weights)[0], fit(design, inside, weights)[0]
    at = numpy.linspace(-1, 1, 101)[:, None]
    line = 0.5 - (straight[0] + straight[2] * at) / straight[1]
    curve = 0.5 - (curved[0] + curved[2] * at + curved[3] * at * at) / curved[1]
    distance = numpy.where((line >= 0) & (line <= 1), numpy.abs(curve - line), 0.0).max(axis=0)
    if not numpy.isfinite(distance[0]):
        return None
    usable = distance[1:][numpy.isfinite(distance[1:])]
    low, high = numpy.quantile(usable, TAILS) if len(usable) else (0.0, 0.0)
    enough = len(usable) > 0 and min(inside.sum(), (1 - inside).sum()) >= FEWEST_OF_EACH
    largest = Estimate(float(distance[0]), (float(low), float(high)) if enough else None)
    gained = _log_likelihood(design, inside, curved[:, 0]) - _log_likelihood(
        design[:, :3], inside, straight[:, 0]
    )
    return Bend(len(x), largest, float(chi2.sf(max(0.0, 2 * gained), 1)))


def _log_likelihood(design: Floats, inside: Floats, beta: Floats) -> float:
    signed = numpy.where(inside == 1, 1.0, -1.0) * (design @ beta)
    return -float(numpy.logaddexp(0.0, -signed).sum())
