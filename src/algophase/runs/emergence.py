"""What comes first along training: the program, or the accuracy? From a sweep's table of moments.

A quantity *arrives* at the first look from which on, at every later look, it is at least `LINE`. A
run's *lead* is how many epochs earlier one quantity arrives than another; both are known as finely
as the run was looked at. A quantity that has not arrived at the last look arrives after it.

Held-out answers against validation accuracy compare like with like: both are of pairs that were
never trained on. The answer-following part of all pairs is no such evidence
(`analysis.progress_measures`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from algophase.core.errors import InputError
from algophase.core.lines import reaches
from algophase.runs.boundary import Estimate, bootstrap_interval
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    import pandas

LINE = 0.99
FIRST, THEN = "held_out_answers", "validation_accuracy"
RESAMPLES = 2000


@dataclass(frozen=True)
class Emergence:
    """How much earlier `first` arrives than `then`, over runs in which both do.

    earlier, later: the share of these runs in which it arrives at an earlier look, or at a later
        one.
    lead: the median in epochs, with a 95% bootstrap interval over runs. arrived: the median epoch
        of either.
    open: how many runs there are in which one of them does not arrive.
    """

    first: str
    then: str
    earlier: Share
    later: Share
    lead: Estimate
    arrived: tuple[float, float]
    open: int

    def __str__(self) -> str:
        when = f"median epoch {self.arrived[0]:g} and {self.arrived[1]:g}"
        low, high = self.lead.interval or (numpy.nan, numpy.nan)
        lead = f"{self.lead.value:g} epochs earlier [{low:g}, {high:g}]"
        return f"{when}, {lead}; earlier in {self.earlier}, later in {self.later}, {self.open} open"


def arrivals(
    moments: "pandas.DataFrame", column: str, line: float = LINE
) -> "pandas.Series[float]":
    """The epoch at which a quantity arrives in each run; infinite where it has not at the last
    look.
    """
    import pandas

    if column not in moments or moments[column].isna().all():
        raise InputError(
            f"the table of moments has no column {column}; sweep it again with this version"
        )
    by_run = moments.pivot_table(index="run_id", columns="epoch", values=column, dropna=False)
    by_epoch = by_run.sort_index(axis=1)
    reached_from_last = reaches(by_epoch, line).to_numpy()[:, ::-1]
    is_staying = numpy.logical_and.accumulate(reached_from_last, axis=1)
    staying = is_staying.sum(axis=1)  # looks at the end at which it is there
    epochs = numpy.append(by_epoch.columns.to_numpy(float), numpy.inf)
    return pandas.Series(epochs[len(epochs) - 1 - staying], index=by_epoch.index)


def emergence(
    moments: "pandas.DataFrame",
    first: str = FIRST,
    then: str = THEN,
    lines: tuple[float, float] = (LINE, LINE),
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Emergence:
    """How much earlier one quantity arrives than another, over the runs of a table of moments.
    lines: of either.
    """
    first_line, then_line = lines
    first_arrivals = arrivals(moments, first, first_line)
    then_arrivals = arrivals(moments, then, then_line)
    both = numpy.isfinite(first_arrivals) & numpy.isfinite(then_arrivals)
    count = int(both.sum())
    if count == 0:
        raise InputError(f"there is no run in which both {first} and {then} arrive")
    leads = (then_arrivals - first_arrivals)[both].to_numpy()
    again = numpy.random.default_rng(seed).integers(count, size=(resamples, count))
    resampled = numpy.median(leads[again], axis=1)
    median_arrivals = (float(first_arrivals[both].median()), float(then_arrivals[both].median()))
    return Emergence(
        first,
        then,
        earlier=Share(int((leads > 0).sum()), count),
        later=Share(int((leads < 0).sum()), count),
        lead=Estimate(float(numpy.median(leads)), bootstrap_interval(resampled)),
        arrived=median_arrivals,
        open=len(both) - count,
    )
