"""What a comparison of two populations is made of: tests, shares and boundaries, one row each."""

from dataclasses import dataclass

from algophase.analysis.catalogue import BARE, CIRCULARITY, SYMMETRICITY, catalogue, label, quantity
from algophase.runs.boundary import Boundary, Estimate
from algophase.runs.matching import MatchedRuns
from algophase.runs.runs import METRICS
from algophase.runs.statistics import Share

FEWEST = 5  # runs on a side for a test
ALL_RATES = "all rates"
ALL, ACCURATE, CIRCULAR, NOT_CIRCULAR = (
    "all runs",
    "accurate runs",
    "circular accurate runs",
    "accurate runs, not circular",
)
WHOLE_METRICS = ("parameter_norm", CIRCULARITY)  # tested over all accurate runs
SHARES = {"full_accuracy": "share at full accuracy", "circular": "share circular"}


def measure_name(measure: str) -> str:
    """What a test is about: a share of runs, or a quantity."""
    return SHARES.get(measure) or label(measure)


def short_name(measure: str) -> str:
    """The same for a table's head."""
    return catalogue()[measure].head if measure in catalogue() else measure_name(measure)


@dataclass(frozen=True)
class Finding:
    """One test of the family. statistic: Kolmogorov-Smirnov distance, or our share less theirs.
    holm: p corrected for all.
    """

    group: str
    measure: str
    among: str
    where: str
    sizes: tuple[int, int]
    statistic: float
    p: float
    holm: float = 1.0
    detectable: float | None = None

    def __str__(self) -> str:
        what = f"{measure_name(self.measure)} of {self.among}, {self.where}"
        if self.group:
            what += f", {self.group}"
        return f"{what} (p = {self.p:.2g}, corrected {self.holm:.2g})"


@dataclass(frozen=True)
class Skipped:
    """A test of the family that could not be made."""

    group: str
    measure: str
    among: str
    where: str
    sizes: tuple[int, int]
    reason: str


@dataclass(frozen=True)
class ShareRow:
    group: str
    measure: str
    among: str
    where: str
    shares: tuple[Share, Share]


@dataclass(frozen=True)
class BoundaryRow:
    """One logistic boundary, None on a side without the column."""

    group: str
    measure: str
    sides: tuple[Boundary | None, Boundary | None]
    apart: Estimate | None = None

    @property
    def phase(self) -> str:
        """The phase it bounds: gradient symmetricity > 0.98."""
        return quantity(self.measure).phase

    @property
    def agree(self) -> bool | None:
        """Whether each estimate lies in the other's interval. Where one side alone has a boundary
        within the range of rates, False if the two are certainly apart; None where that cannot be
        said, or neither has one."""
        within = [side is not None and side.within for side in self.sides]
        if not all(within):
            return (
                False
                if any(within) and self.apart is not None and self.apart.holds(0.0) is False
                else None
            )
        rates = [side.rate if side is not None else None for side in self.sides]
        assert rates[0] is not None
        assert rates[1] is not None
        contained = (rates[1].holds(rates[0].value), rates[0].holds(rates[1].value))
        return None if None in contained else all(contained)


def tested(group: MatchedRuns) -> tuple[str, ...]:
    """The metrics of a group: symmetricity without the equals sign only stands in where a side
    has no other.
    """
    whole = all(SYMMETRICITY in runs for runs in group.runs)
    return tuple(measure for measure in METRICS if not (whole and measure == BARE))
