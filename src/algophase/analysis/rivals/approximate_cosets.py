"""Approximate cosets (McCracken et al. 2025): units read one frequency, so that they are active on
an arc of it, an approximate coset; a network needs O(log n) frequencies.

Their model of a unit is cos(w a + s) + cos(w b + t). It holds for Clocks' and Pizzas' units alike,
and is meant to: it speaks of the units, not of what is read from them. It is stated for modular
addition; we apply it to every group that commutes, where representations are frequencies.

The number of frequencies of one network cannot test a law of growth. It is shown beside log2 n.
"""

import numpy as np

from algophase.analysis.program.instances import TINY
from algophase.analysis.program.read import LEAST_KEY_SHARE
from algophase.analysis.rivals.account import MOST_UNITS, Account, Measure
from algophase.analysis.rivals.evidence import EXPLAINED, NO_UNITS, Evidence
from algophase.analysis.rivals.reads import UnitReads, random_functions
from algophase.core.fourier import Array
from algophase.core.representations import representations

SOURCE = "McCracken et al. 2025"
NAME = "approximate cosets"
PREDICTS = "units read one frequency of each operand, and are active on an arc of it"


def approximate_cosets(evidence: Evidence) -> Account:
    reads, group = evidence.reads, evidence.group
    if not group.commutes:
        nothing = f"it is stated for modular addition; {evidence.group_name} does not commute"
        return Account(NAME, SOURCE, PREDICTS, undefined=nothing)
    if reads is None:
        return Account(NAME, SOURCE, PREDICTS, undefined=NO_UNITS)
    random = random_functions(reads)
    weight_by_main = np.bincount(reads.main, weights=reads.weights)
    frequencies = int((weight_by_main >= LEAST_KEY_SHARE).sum())
    measures = (
        Measure(
            "what units read that is of one frequency",
            reads.weighed(reads.main_share),
            evidence.thresholds.program,
            by_chance=random.weighed(random.main_share),
            why=EXPLAINED,
        ),
        Measure(
            "what units read that has the sign of its arc",
            reads.weighed(_on_arc(reads)),
            MOST_UNITS,
            by_chance=random.weighed(_on_arc(random)),
            why="ours: nine tenths",
        ),
        *evidence.instead("read one frequency", reads, random, main_waves),
        Measure("frequencies", float(frequencies), unit="number"),
        Measure("log2 n", float(np.log2(group.order)), unit="number"),
    )
    notes = [*evidence.unit_notes, "it describes units of Clocks and of Pizzas alike"]
    return Account(NAME, SOURCE, PREDICTS, measures, tuple(notes))


def main_waves(reads: UnitReads) -> tuple[Array, Array]:
    """What units read of each operand, (n, m), in their main representations alone."""
    waves = np.zeros_like(reads.both)
    nontrivial = representations(reads.group)[1:]
    for row in np.unique(reads.main):
        units = np.flatnonzero(reads.main == row)
        columns = np.concatenate([units, units + len(reads.main)])
        waves[:, columns] = nontrivial[row].projection() @ reads.both[:, columns]
    first, second = np.split(waves, 2, axis=1)
    return first, second


def _on_arc(reads: UnitReads) -> Array:
    """(m,): of |A| and |B|, the part that is where the wave has the same sign."""
    values = np.concatenate([reads.first, reads.second])
    waves = np.concatenate(main_waves(reads))
    sizes = np.abs(values)
    same = np.where(values * waves > 0, sizes, 0).sum(axis=0)
    return np.asarray(same / np.maximum(sizes.sum(axis=0), TINY))
