"""The paper's statements about populations of runs, judged by rules that stand beside them.

Words are given one meaning throughout: "most", "typical" and "dominates" mean that the 95% interval of a share lies above one
half, "almost always" that it lies above nine tenths. A transition is clear if its phase dominates on one side of the boundary
and its opposite on the other. A difference is one if its 95% interval leaves out zero.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

from algophase.analysis.verdict import Thresholds
from algophase.errors import InputError
from algophase.paper import rules
from algophase.paper.product import Claim, Table, Verdict
from algophase.paper.published import number
from algophase.paper.sources import FoundRuns
from algophase.runs.boundary import FEWEST_OF_EACH, Boundary, Estimate, fit
from algophase.runs.comparison import IRRELEVANCE, NAMES, SYMMETRICITY, inside_phase, metric_boundary, phase_line
from algophase.runs.matching import accurate, circular, finished
from algophase.runs.statistics import CONFIDENCE, Floats, Share, newcombe

if TYPE_CHECKING:
    import pandas

MOST, NEARLY_ALL = 0.5, 0.9
PRECISE = 0.1  # a share is told apart from the published one at this distance
RARE = 0.05  # what is not found at all is called absent only if its share must be below this
MEASURES = (SYMMETRICITY, IRRELEVANCE)
PIZZA_IRRELEVANCE = Thresholds().pizza_distance_irrelevance
PHASES = {
    measure: f"{NAMES[measure]} {'> 98%' if measure == SYMMETRICITY else f'< {phase_line(measure):g}'}" for measure in MEASURES
}
# Runs behind each printed share of circular networks: the released table's counts give the printed digits with these totals.
SHARES = {
    "fixed-width": ("share-circular-1-layer", 2381),
    "layers-2": ("share-circular-2-layers", 844),
    "layers-3": ("share-circular-3-layers", 805),
    "layers-4": ("share-circular-4-layers", 822),
}
DRAWS = 2000


@dataclass(frozen=True)
class Population:
    """The finished runs of one sweep, with `_accurate`, `_rate` and `_tenth` (runs/matching.py)."""

    space: str
    source: str
    runs: "pandas.DataFrame" = field(repr=False, compare=False)

    @property
    def accurate(self) -> "pandas.DataFrame":
        return accurate(self.runs)

    @property
    def circular(self) -> "pandas.DataFrame":
        return circular(self.runs)

    @property
    def accuracy_share(self) -> Share:
        return Share(len(self.accurate), len(self.runs))

    @property
    def circular_share(self) -> Share:
        """Among all trained networks, of any accuracy: the share that the paper prints."""
        known = self.runs["circularity"].dropna()
        return Share(int((known >= Thresholds().circularity).sum()), len(known))

    @property
    def circular_share_of_accurate(self) -> Share:
        return Share(len(self.circular), int(self.accurate["circularity"].notna().sum()))


def population(found: FoundRuns, space: str, columns: tuple[str, ...] = ()) -> Population:
    """A sweep's runs with an outcome. columns: needed beyond the metrics."""
    needed = ("validation_accuracy", *MEASURES, "circularity", *columns)
    missing = [name for name in needed if name not in found.runs]
    if missing:
        raise InputError(f"the sweep of {space} has no column {', '.join(missing)}: make it again with this version")
    return Population(space, found.source, finished(found.runs, f"the sweep of {space}").runs)


def share_of(runs: "pandas.DataFrame", chosen: "pandas.Series[bool]") -> Share:
    return Share(int(chosen.sum()), len(runs))


def apart(first: Share, second: Share) -> Estimate | None:
    """The first share less the second, with Newcombe's interval; None if either saw nothing."""
    if not first.total or not second.total:
        return None
    return Estimate(first.value - second.value, newcombe(first, second))


def points(estimate: Estimate | None) -> str:
    """A difference of shares in percentage points."""
    if estimate is None or estimate.interval is None:
        return "no runs"
    low, high = estimate.interval
    return f"{100 * estimate.value:+.2f} points [{100 * low:+.2f}, {100 * high:+.2f}]"


def decided(estimate: Estimate | None, low: float = -math.inf, high: float = math.inf) -> rules.Holds:
    """Whether a number lies within limits: its whole interval does, or none of it, or that is undecided."""
    if estimate is None or estimate.interval is None:
        return None
    least, most = estimate.interval
    if low < least and most < high:
        return True
    return False if most <= low or least >= high else "undecided"


def estimated(share: Share) -> Estimate | None:
    return Estimate(share.value, share.interval) if share.total else None


def statement(text: str, holds: rules.Holds, ours: str, sample: int, note: str, published: str = "-") -> Claim:
    """`rules.statement` about a population, which always has a size."""
    return rules.statement(text, ours, holds, note, published=published, sample=sample)


def share_claim(text: str, share: Share, line: float, what: str, published: str = "-") -> Claim:
    """Supported if the share's interval lies above the line, not supported if below; otherwise the runs cannot tell."""
    rule = f"rule: the 95% interval lies above {line:.0%} (not supported: below it; undecided: it holds {line:.0%})"
    holds = decided(estimated(share), low=line)
    return statement(text, holds, str(share), share.total, f"{what}; {rule}", published)


def some_claim(text: str, share: Share, what: str) -> Claim:
    """Supported if there is at least one; that there is none among few says little."""
    holds: rules.Holds = None
    if share.total:
        holds = True if share.count else decided(estimated(share), low=RARE)
    note = f"{what}; rule: there is at least one"
    if not share.count:
        note += f" (not supported: none, and the 95% interval lies below {RARE:.0%}; undecided: it holds {RARE:.0%})"
    return statement(text, holds, str(share), share.total, note)


def published_share(space: str) -> Share:
    """A printed share as the counts behind it."""
    name, total = SHARES[space]
    return Share(round(number(name).value * total), total)


def printed_share(share: Share, space: str, also: str = "") -> Claim:
    """Our share beside a printed one, which is of finitely many runs too: reproduced if no difference is seen, and a
    difference of more than `PRECISE` would have been."""
    published, theirs = number(SHARES[space][0]), published_share(space)
    difference = apart(share, theirs)
    if difference is None or difference.interval is None:
        note = f"there is no run of {space} with a circularity"
        return Claim(published.text, published.printed, str(share), "not tested", 0, note)
    where = "inside" if share.interval[0] <= published.value <= share.interval[1] else "outside"
    note = (
        f"rule: the 95% interval of the difference from the published share, itself of {theirs.total:,} runs, holds 0, and "
        f"nothing beyond {100 * PRECISE:g} points (undecided: it holds both): "
        f"{points(difference)} (taken as exact, it lies {where} our interval); of all trained networks, accurate or not{also}"
    )
    verdict: Verdict = "differs"
    if difference.holds(0.0):
        verdict = "reproduced" if max(map(abs, difference.interval)) <= PRECISE else "undecided"
    return Claim(published.text, published.printed, str(share), verdict, share.total, note)


@dataclass(frozen=True)
class Transition:
    """A boundary and what lies on its sides. below, above: shares inside the phase; right: runs on their side of it."""

    measure: str
    boundary: Boundary
    below: Share
    above: Share
    right: Share

    @property
    def rate(self) -> float | None:
        """None where there is no boundary within the range of rates."""
        return self.boundary.rate.value if self.boundary.rate is not None and self.boundary.within else None

    def observed(self, *, clear: bool = False) -> rules.Holds:
        """Whether the phase ends within the range of rates: by the fit, most runs at rate 0 are inside and most at rate 1 are
        not; clear: the same of the runs below the boundary and above it."""
        if not self.boundary.runs:
            return None
        curve = self.boundary.curve
        if curve is None:  # all runs inside, or none, or too few to tell
            sure = decided(estimated(Share(self.boundary.inside, self.boundary.runs)), low=MOST)
            return False if self.boundary.rate is None and sure != "undecided" else "undecided"
        ends = [Estimate(curve.probability[at], (curve.low[at], curve.high[at])) for at in (0, -1)]
        parts = [decided(ends[0], low=MOST), decided(ends[1], high=MOST)]
        if clear and self.boundary.within:
            parts.append(decided(estimated(self.below), low=MOST))
            parts.append(decided(estimated(self.above), high=MOST))
        if False in parts:
            return False
        return True if all(part is True for part in parts) else "undecided"

    def __str__(self) -> str:
        if self.boundary.rate is None:
            return self.boundary.reason or "no boundary"
        if not self.boundary.within:
            return str(self.boundary)
        return f"rate {self.boundary.rate}; inside: {self.below.value:.1%} below, {self.above.value:.1%} above"


def transition(runs: "pandas.DataFrame", measure: str) -> Transition:
    boundary = metric_boundary(runs, measure)
    some = runs[runs["_rate"].notna() & runs[measure].notna()]
    inside = inside_phase(some, measure)
    if boundary.rate is None or not boundary.within:
        return Transition(measure, boundary, Share(0, 0), Share(0, 0), Share(0, 0))
    low = some["_rate"] < boundary.rate.value
    right = share_of(some, inside == low)
    return Transition(measure, boundary, share_of(some[low], inside[low]), share_of(some[~low], inside[~low]), right)


def transitions(runs: "pandas.DataFrame") -> dict[str, Transition]:
    return {measure: transition(runs, measure) for measure in MEASURES}


def transition_claim(text: str, found: Transition, *, clear: bool) -> Claim:
    """clear: also ask that the phase dominates below the boundary and its opposite above."""
    rule = f"the fitted share inside the phase lies above {MOST:.0%} at rate 0 and below it at rate 1, with its 95% band"
    if clear:
        rule += f", and so do the shares below and above the boundary; on their side of it: {found.right}"
    note = f"phase: {PHASES[found.measure]}; rule: {rule}"
    holds = found.observed(clear=clear)
    return statement(f"{text}, by {NAMES[found.measure]}", holds, str(found), found.boundary.runs, note)


def transition_table(rows: Mapping[str, Mapping[str, Transition]]) -> Table:
    """One row a population and metric."""
    lines = []
    for name, found in rows.items():
        for measure, one in found.items():
            sides = (str(side) if one.boundary.within else "-" for side in (one.below, one.above, one.right))
            lines.append((name, PHASES[measure], str(one.boundary), *sides))
    heads = ("runs", "phase", "boundary (attention rate)", "inside, below it", "inside, above it", "on their side")
    return Table(heads, tuple(lines))


def bootstrap_difference(first: Floats, second: Floats, seed: int = 0) -> Estimate | None:
    """Median of the first less that of the second, with a bootstrap interval over runs; None if either is empty."""
    if not len(first) or not len(second):
        return None
    generator = numpy.random.default_rng(seed)
    drawn = [numpy.median(side[generator.integers(0, len(side), (DRAWS, len(side)))], axis=1) for side in (first, second)]
    low, high = numpy.quantile(drawn[0] - drawn[1], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(numpy.median(first) - numpy.median(second)), (float(low), float(high)))


def above_zero(estimate: Estimate | None) -> rules.Holds:
    return decided(estimate, low=0.0)


@dataclass(frozen=True)
class Bend:
    """How far a phase's boundary over width bends: the largest distance, in attention rate, of a curve from the line.

    p: of the likelihood-ratio test that the curve's quadratic term is needed.
    """

    runs: int
    largest: Estimate
    p: float


def bend(
    runs: "pandas.DataFrame", measure: str, scale: Callable[[Floats], Floats] = numpy.log2, draws: int = 400, seed: int = 0
) -> Bend | None:
    """Fit the boundary over some scale of the width with and without a quadratic term; None where there is no boundary."""
    from scipy.stats import chi2

    some = runs[runs["_rate"].notna() & runs[measure].notna()]
    inside: Floats = inside_phase(some, measure).to_numpy(float)
    widths = scale(some["width"].to_numpy(float))
    if not len(some) or inside.min() == inside.max() or widths.min() == widths.max():
        return None
    x = (widths - (widths.min() + widths.max()) / 2) / ((widths.max() - widths.min()) / 2)  # -1 to 1
    design = numpy.stack([numpy.ones(len(x)), some["_rate"].to_numpy(float) - 0.5, x, x * x], axis=1)
    drawn = numpy.random.default_rng(seed).multinomial(len(x), numpy.full(len(x), 1 / len(x)), size=draws).T
    weights = numpy.concatenate([numpy.ones((len(x), 1)), drawn.astype(numpy.float64)], axis=1)
    straight, curved = fit(design[:, :3], inside, weights)[0], fit(design, inside, weights)[0]
    at = numpy.linspace(-1, 1, 101)[:, None]
    line = 0.5 - (straight[0] + straight[2] * at) / straight[1]
    curve = 0.5 - (curved[0] + curved[2] * at + curved[3] * at * at) / curved[1]
    distance = numpy.where((line >= 0) & (line <= 1), numpy.abs(curve - line), 0.0).max(axis=0)
    if not numpy.isfinite(distance[0]):
        return None
    usable = distance[1:][numpy.isfinite(distance[1:])]
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = numpy.quantile(usable, tails) if len(usable) else (0.0, 0.0)
    enough = len(usable) > 0 and min(inside.sum(), (1 - inside).sum()) >= FEWEST_OF_EACH
    largest = Estimate(float(distance[0]), (float(low), float(high)) if enough else None)
    gained = _log_likelihood(design, inside, curved[:, 0]) - _log_likelihood(design[:, :3], inside, straight[:, 0])
    return Bend(len(x), largest, float(chi2.sf(max(0.0, 2 * gained), 1)))


def _log_likelihood(design: Floats, inside: Floats, beta: Floats) -> float:
    signed = numpy.where(inside == 1, 1.0, -1.0) * (design @ beta)
    return -float(numpy.logaddexp(0.0, -signed).sum())
