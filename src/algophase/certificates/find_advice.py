"""The search for advice: the cheapest of several tries that proves nearly all pairs right.

Nothing here has to be exact or proved: whatever comes out, `prove_compact` says what follows.
"""

import math
from dataclasses import replace

import numpy as np

from algophase.certificates._merging import READ_CUTS, Units, groups_of_units, units_of
from algophase.certificates._writing import WRITE_CUTS, tries_of_writing
from algophase.certificates.advice import Advice, Contested, Numbers
from algophase.certificates.balls import Array
from algophase.certificates.compact import least_margins, prove_compact
from algophase.certificates.forms import Form, Stream
from algophase.certificates.operations import count_operations
from algophase.certificates.sample import ReadUnits, as_they_are, margins, sample_of

ENOUGH = 0.956  # of the right pairs: of the tries that reach so many, the cheapest is taken
REACHED = 0.95  # of the right pairs, when a try that is enough for a sample is tried on all
MOST_TRIED_ON_ALL = 4
LITTLE = 0.5  # where all directions and all units prove less, no other try proves more
# Of the largest: a direction that units read. Tried in turns.
LEAST_DIRECTIONS = (0.04, 0.012, 0.004)
MERGES = (0.05, 0.07, 0.09, 0.11, 0.13, 0.16, 0.2, 0.25, 0.33, 0.5, 0.7, 1.0)  # per unit


class _Search:
    """Tries so far: the cheapest that proves enough, else the one that proves most."""

    def __init__(self, form: Form, right: Numbers) -> None:
        self.form, self.sample = form, sample_of(form, right)
        self.accuracy = float(self.sample.is_right.mean())
        self.best: Advice | None = None
        self.rank = (np.inf, np.inf)
        self.enough_so_far: list[Advice] = []  # the cheapest last

    def enough(self, advice: Advice, units: ReadUnits) -> bool:
        """Whether it proves enough; the best try is kept."""
        operations = count_operations(self.form, advice)
        cost = operations.share
        if self.rank[0] == 0 and cost >= self.rank[1]:
            return False
        least = margins(self.sample, units, advice)
        is_proved = least.min(axis=1) > 0
        share = float(is_proved.mean())
        if self.form.stream is None:
            exact_work = self._work_of_open_answers(least)
            if exact_work is not None:
                share, cost = 1.0, cost + exact_work / operations.brute_force
        missing = 0.0 if share >= ENOUGH * self.accuracy else 1 - share
        if (missing, cost) < self.rank:
            self.best, self.rank = advice, (missing, cost)
            if missing == 0.0:
                self.enough_so_far.append(advice)
        return missing == 0.0

    def _work_of_open_answers(self, least: Array) -> float | None:
        """What it takes to compare exactly the answers that are left open, for enough pairs; None
        where the network is right on too few.
        """
        open_answers = (least <= 0).sum(axis=1)
        left_open = open_answers[self.sample.is_right]
        needed = math.ceil(ENOUGH * len(left_open))
        if not len(left_open):
            return None
        cheapest = np.sort(left_open)[:needed]
        compared = np.where(cheapest > 0, cheapest + 1, 0)
        answers = compared.sum()
        pairs_per_sampled = self.form.order**2 / len(least)
        return float(answers) * self.form.units * pairs_per_sampled


def find_advice(
    form: Form, right: Numbers, start: Numbers | None, cosets: list[Numbers] | None = None
) -> Advice:
    """Advice for a network.

    start: for each hidden unit the number of its frequency, where that is known.
    cosets: ways to divide the outputs into cosets of a subgroup: the coset of each output.
    """
    search = _Search(form, right)
    if form.stream is None:
        units = as_they_are(search.sample)
        for advice in tries_of_writing(search.sample, cosets or []):
            search.enough(advice, units)
    else:
        _try_reading(search, form.stream, start)
    assert search.best is not None
    if form.stream is None:
        return replace(search.best, contested=_contested(form, right, search.best))
    if len(search.sample.rows) == form.order:
        return search.best
    return _tried_on_all(search, right)


def _tried_on_all(search: _Search, right: Numbers) -> Advice:
    """The cheapest advice that is enough for all pairs, where tries were made on some of them."""
    assert search.best is not None
    needed = REACHED * search.accuracy * right.size
    for advice in search.enough_so_far[: -MOST_TRIED_ON_ALL - 1 : -1]:
        if prove_compact(search.form, right, advice) >= needed:
            return advice
    return search.best


def _contested(form: Form, right: Numbers, advice: Advice) -> tuple[Contested, ...]:
    """Pairs with the answers that are left open: those with fewest, until enough are proved."""
    entries: list[Contested] = []
    proved = accurate = 0
    for rows, least in least_margins(form, right, advice):
        logits = form.logits(rows).mid
        first = range(form.order)[rows].start
        answers_given = logits.argmax(axis=-1)
        is_right = answers_given == right[rows]
        accurate += int(is_right.sum())
        for row, b in np.argwhere(is_right).tolist():
            answer = right[first + row, b]
            left_open = np.flatnonzero(least[row, b] <= 0)
            answers = left_open[left_open != answer].tolist()
            if answers:
                entries.append((first + row, b, answers))
            else:
                proved += 1
    needed = max(0, math.ceil(ENOUGH * accurate) - proved)
    entries.sort(key=lambda entry: len(entry[2]))
    return tuple(sorted(entries[:needed]))


def _try_reading(search: _Search, stream: Stream, start: Numbers | None) -> None:
    """For a transformer: with few directions of the stream, and where these do not suffice with
    more.
    """
    sample = search.sample
    groups = groups_of_units(sample, start)
    # Without merging, by all directions: where this proves little, nothing else proves more.
    finest = units_of(search.form, sample, stream, groups, LEAST_DIRECTIONS[-1])
    whole = finest.merged(1.0)
    read = finest.read(whole)
    search.enough(finest.advice(whole, read, WRITE_CUTS[0]), read)
    if search.rank[0] > 1 - LITTLE * search.accuracy:
        return
    for least in LEAST_DIRECTIONS:
        earlier = len(search.enough_so_far)
        units = units_of(search.form, sample, stream, groups, least)
        _try_merging(search, units)
        if len(search.enough_so_far) > earlier + 1:
            break


def _try_merging(search: _Search, units: Units) -> None:
    """From few merged units to all, first with all that they read and write, and where that is
    enough with less.
    """
    improved = 0
    for fraction in MERGES:
        whole = units.merged(fraction)
        read = units.read(whole)
        if not search.enough(units.advice(whole, read, WRITE_CUTS[0]), read):
            continue
        for read_cut in READ_CUTS:
            part = units.cut(whole, read_cut)
            read = units.read(part)
            tries = [units.advice(part, read, cut) for cut in WRITE_CUTS]
            results = [search.enough(advice, read) for advice in tries]
            if not any(results):
                break
        improved += 1
        if improved == 3:
            break
