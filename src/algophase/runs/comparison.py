"""Are two sets of training runs the same population? The tests, their family and the boundaries
are those of docs/method.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy

from algophase.analysis.catalogue import BARE, IRRELEVANCE, SYMMETRICITY, WRONG_LOGIT
from algophase.core.errors import InputError
from algophase.runs._comparison_text import as_data, no_test, not_tested, tell
from algophase.runs.boundary import FEWEST_RESAMPLES, RESAMPLES, Boundary, difference
from algophase.runs.findings import (
    ACCURATE,
    ALL,
    ALL_RATES,
    CIRCULAR,
    FEWEST,
    NOT_CIRCULAR,
    SHARES,
    WHOLE_METRICS,
    BoundaryRow,
    Finding,
    ShareRow,
    Skipped,
    tested,
)
from algophase.runs.matching import MatchedRuns, match
from algophase.runs.released_table import read_released_table
from algophase.runs.runs import Runs
from algophase.runs.statistics import (
    NO_RATE,
    TENTHS,
    Share,
    detectable_distance,
    equal_shares,
    holm,
    same_distribution,
)
from algophase.storage.runs_table import read_ends

if TYPE_CHECKING:
    import pandas

Population: TypeAlias = "str | Path | Runs | pandas.DataFrame"
LEVEL = 0.01
WIDTH_SLICES = 4


@dataclass(frozen=True)
class Comparison:
    """Two populations compared. `str()` gives it as text, `to_dict()` as data.

    Attributes:
        sides: the two populations.
        level: chance of calling two identical populations different, over all tests.
        findings: every test.
        skipped: tests that could not be made, and why.
        shares: shares of runs on both sides.
        boundaries: phase boundaries on both sides.
        notes: what a reader should know about the comparison.
        groups: the runs that were compared, by settings.
    """

    sides: tuple[Runs, Runs]
    level: float
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    shares: tuple[ShareRow, ...]
    boundaries: tuple[BoundaryRow, ...]
    notes: tuple[str, ...]
    groups: tuple[MatchedRuns, ...] = field(repr=False, compare=False)

    @property
    def rejected(self) -> tuple[Finding, ...]:
        return tuple(
            sorted(
                (test for test in self.findings if test.holm < self.level), key=lambda test: test.p
            )
        )

    @property
    def indistinguishable(self) -> bool:
        return not self.rejected

    @property
    def boundaries_agree(self) -> bool | None:
        """Whether each boundary lies within the other side's 95% interval, for all that both
        sides have; None if none.
        """
        agreed = [row.agree for row in self.boundaries if row.agree is not None]
        return all(agreed) if agreed else None

    def __str__(self) -> str:
        return tell(self)

    def to_dict(self) -> dict[str, Any]:
        return as_data(self)


def compare(
    ours: Population,
    theirs: "Population | None" = None,
    names: tuple[str, str] | None = None,
    *,
    released: str | Path | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    same_settings: bool = False,
    seed: int = 0,
) -> Comparison:
    """Test whether two sets of training runs are the same population.

    It tests the shares of runs at full accuracy and with circles, the metrics in each tenth of the
    attention rate, by depth and width, and the phase boundaries (docs/method.md). A column that one
    side lacks is not tested.

    Arguments:
        ours, theirs: sweeps' directories, Parquet files of runs, names of shipped sweeps, `Runs`,
            or tables in our column names.
        names: what to call the two; by default their files' names.
        released: in place of `theirs`, the authors' released table (a CSV file). Settings must then
            have values in common.
        level: chance of calling two identical populations different, over all tests.
        resamples: bootstrap resamples for the interval of each boundary; at least 100.
        same_settings: refuse if a setting has no value in common, rather than note it.
        seed: of the bootstrap.

    Returns:
        A `Comparison`: `indistinguishable`, `rejected` (the tests that distinguish them),
        `boundaries`. `print` shows all of it.

    Raises:
        InputError: a table cannot be read, or no test is possible.

    Example:
        >>> from algophase import Runs, compare
        >>> comparison = compare("fixed-width", "gelu", resamples=100)
        >>> comparison.indistinguishable, comparison.rejected[0].measure
        (False, 'gradient_symmetricity')
    """
    if (theirs is None) == (released is None):
        raise InputError("give either theirs or released to compare with")
    if theirs is None:
        theirs = read_released_table(released or "")
        names = names or (_name(ours, "ours"), "released")
        same_settings = True
    names = names or _distinct_names(ours, theirs)
    if not 0 < level < 1:
        raise InputError(f"level is {level}; choose a number between 0 and 1, such as 0.01")
    if resamples < FEWEST_RESAMPLES:
        raise InputError(
            f"bootstrap is {resamples}; choose at least {FEWEST_RESAMPLES} resamples, such as "
            f"{RESAMPLES}"
        )
    tables = (_table(ours), _table(theirs))
    matched = match(tables, names, same_settings=same_settings)
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    shares: list[ShareRow] = []
    boundaries: list[BoundaryRow] = []
    for group in matched.groups:
        whole = [(ALL_RATES, group.runs)]
        slices = list(_width_slices(group.runs)) if matched.continuous_width else []
        for where, runs in whole + slices:
            for row in _share_rows(group, where, runs):
                shares.append(row)
                outcome = _test_share(row, runs)
                if isinstance(outcome, Finding):
                    findings.append(outcome)
                else:
                    skipped.append(outcome)
        for where, runs in [*_tenths(group.runs), *slices]:
            for outcome in _test_metrics(group, where, runs):
                if isinstance(outcome, Finding):
                    findings.append(outcome)
                else:
                    skipped.append(outcome)
        boundaries += _boundary_rows(group, matched.continuous_width, resamples, seed)
    if not findings:
        raise InputError(no_test(matched, skipped))
    corrected = holm([test.p for test in findings])
    findings = [
        _completed(test, value, level / len(findings))
        for test, value in zip(findings, corrected, strict=True)
    ]
    return Comparison(
        matched.sides,
        level,
        tuple(findings),
        tuple(skipped),
        tuple(shares),
        tuple(boundaries),
        (*matched.notes, *not_tested(matched.sides, matched.groups)),
        matched.groups,
    )


def _table(population: Population) -> "pandas.DataFrame":
    if isinstance(population, Runs):
        return population.frame
    if isinstance(population, str | Path):
        return read_ends(population)
    return population


def _name(population: Population, otherwise: str) -> str:
    if isinstance(population, Runs):
        return population.name
    if isinstance(population, str | Path):
        return Path(population).resolve().name
    return otherwise


def _distinct_names(ours: Population, theirs: Population) -> tuple[str, str]:
    """Short names that tell the two apart."""
    names = (_name(ours, "ours"), _name(theirs, "theirs"))
    if names[0] != names[1]:
        return names
    if isinstance(ours, str | Path) and isinstance(theirs, str | Path):
        names = (str(ours), str(theirs))
    return names if names[0] != names[1] else (names[0], f"{names[1]} again")


def _completed(test: Finding, corrected: float, single_level: float) -> Finding:
    distance = None if test.measure in SHARES else detectable_distance(*test.sizes, single_level)
    return replace(test, holm=corrected, detectable=distance)


Pair = tuple[Runs, Runs]


def _strata(runs: Pair) -> list[int]:
    """Tenths with runs on any side, NO_RATE first where there are runs without a rate."""
    present = {*runs[0]["_tenth"], *runs[1]["_tenth"]}
    return [tenth for tenth in range(NO_RATE, TENTHS) if tenth in present]


def _in_tenth(runs: Pair, tenth: int) -> Pair:
    ours, theirs = runs
    return ours.where(ours["_tenth"] == tenth), theirs.where(theirs["_tenth"] == tenth)


def _tenths(runs: Pair) -> Iterator[tuple[str, Pair]]:
    if _strata(runs) == [NO_RATE]:
        yield "no rate", runs
        return
    if NO_RATE in _strata(runs):
        yield "no rate", _in_tenth(runs, NO_RATE)
    for tenth in range(TENTHS):
        where = f"rate {tenth / TENTHS:.1f} to {(tenth + 1) / TENTHS:.1f}"
        yield where, _in_tenth(runs, tenth)


def _width_slices(runs: Pair) -> Iterator[tuple[str, Pair]]:
    """Quarters of the range of log2 width of both sides together."""
    logs = [numpy.log2(side["width"].to_numpy(float)) for side in runs]
    narrowest = min(part.min() for part in logs)
    widest = max(part.max() for part in logs)
    edges = numpy.linspace(narrowest, widest, WIDTH_SLICES + 1)
    slice_numbers = []
    for part in logs:
        numbers = numpy.searchsorted(edges, part, side="right") - 1
        slice_numbers.append(numpy.clip(numbers, 0, WIDTH_SLICES - 1))
    for slice_ in range(WIDTH_SLICES):
        low, high = 2 ** edges[slice_], 2 ** edges[slice_ + 1]
        ours = runs[0].where(slice_numbers[0] == slice_)
        theirs = runs[1].where(slice_numbers[1] == slice_)
        yield f"width {low:.0f} to {high:.0f}", (ours, theirs)


def _share_rows(group: MatchedRuns, where: str, runs: Pair) -> list[ShareRow]:
    rows = [ShareRow(group.label, "full_accuracy", ALL, where, _counted("full_accuracy", runs))]
    if group.circular:
        rows.append(ShareRow(group.label, "circular", ACCURATE, where, _counted("circular", runs)))
    return rows


def _counted(measure: str, runs: Pair) -> tuple[Share, Share]:
    ours, theirs = runs
    if measure == "full_accuracy":
        return ours.accuracy_share, theirs.accuracy_share
    return ours.circular_share_of_accurate, theirs.circular_share_of_accurate


def _test_share(row: ShareRow, runs: Pair) -> Finding | Skipped:
    cells = []
    for tenth in _strata(runs):
        a, b = _counted(row.measure, _in_tenth(runs, tenth))
        if a.total and b.total:  # a tenth of one side alone says nothing about a difference
            cells.append((a.count, a.total, b.count, b.total))
    sizes = (sum(cell[1] for cell in cells), sum(cell[3] for cell in cells))
    if min(sizes) < FEWEST:
        return Skipped(
            row.group,
            row.measure,
            row.among,
            row.where,
            sizes,
            f"fewer than {FEWEST} runs on a side",
        )
    apart = row.shares[0].value - row.shares[1].value
    return Finding(row.group, row.measure, row.among, row.where, sizes, apart, equal_shares(cells))


def _test_metrics(group: MatchedRuns, where: str, runs: Pair) -> Iterator[Finding | Skipped]:
    ours, theirs = runs
    accurate = ours.accurate, theirs.accurate
    metrics = tested(group)
    parts: list[tuple[str, Pair, tuple[str, ...]]] = []
    if group.circular:
        parts.append((CIRCULAR, (ours.circular, theirs.circular), metrics))
        parts.append((NOT_CIRCULAR, (ours.not_circular, theirs.not_circular), metrics))
    else:
        parts.append((ACCURATE, accurate, metrics))
    whole = WHOLE_METRICS if group.circular else WHOLE_METRICS[:1]
    parts.append((ACCURATE, accurate, whole))
    for among, part, measures in parts:
        for measure in measures:
            if not all(measure in side for side in part):
                continue  # a column one side lacks is said once, not for every tenth
            a = part[0].values(measure)
            b = part[1].values(measure)
            sizes = (len(a), len(b))
            if min(sizes) < FEWEST:
                yield Skipped(
                    group.label, measure, among, where, sizes, f"fewer than {FEWEST} runs on a side"
                )
            else:
                yield Finding(group.label, measure, among, where, sizes, *same_distribution(a, b))


def _boundary_rows(
    group: MatchedRuns, continuous_width: bool, resamples: int, seed: int
) -> list[BoundaryRow]:
    if _strata(group.runs) == [NO_RATE]:
        return []
    width = None
    if continuous_width:
        widths = [side["width"].to_numpy(float) for side in group.runs]
        logs = numpy.log2(numpy.concatenate(widths))
        width = float(2 ** ((logs.min() + logs.max()) / 2))
    rows = []
    for measure in (SYMMETRICITY, BARE, WRONG_LOGIT, IRRELEVANCE):
        if measure not in tested(group):
            continue
        sides: list[Boundary | None] = []
        for position, runs in enumerate(group.runs):
            if measure not in runs:
                sides.append(None)
                continue
            fitted_runs = runs.circular if group.circular else runs.accurate
            boundary = fitted_runs.boundary(
                measure,
                by_width=continuous_width,
                width=width,
                resamples=resamples,
                seed=2 * seed + position,
            )
            sides.append(boundary)
        ours, theirs = sides
        if ours is None and theirs is None:
            continue
        apart = None
        if ours is not None and theirs is not None:
            apart = difference(ours, theirs)
        rows.append(BoundaryRow(group.label, measure, (ours, theirs), apart))
    return rows
