"""Coset circuits (Stander et al. 2024): what a unit reads of an operand is constant on the cosets
of a subgroup.

The measure is theirs. For a function f on the group and a subgroup H of index k,

    C_H(f) = (sum over cosets of var f on the coset) / var f = k (1 - R^2)

with R^2 the share of the variance that the means over cosets have; the smallest over all subgroups
but the trivial one and the whole group. A unit is one of the circuit if C_H < 1 for both operands.
Published: 99.2% of the units of 128 networks on S5.

A circuit for the product x y reads x by right cosets H x, and y by left cosets y K. We count those
alone.

*By chance*: the same of units that read random matrix coefficients b^T rho(x) a of their own
representations. Where a group has so many subgroups that those come near to constant, the measure
says nothing. In dihedral groups every vector of the plane is near an axis of reflection; in the
standard representation of S5, about 85% of random units have C_H < 1, most for a subgroup of order
2.

The causal half is ours: put the means over cosets in the place of what units read.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algophase.analysis.program.instances import TINY
from algophase.analysis.rivals.account import MOST_UNITS, Account, Measure
from algophase.analysis.rivals.evidence import NO_UNITS, Evidence
from algophase.analysis.rivals.reads import UnitReads, random_coefficients
from algophase.core.errors import InputError
from algophase.core.fourier import Array
from algophase.core.group import Group, Numbers
from algophase.core.subgroups import subgroup_classes

SOURCE = "Stander et al. 2024"
NAME = "coset circuits"
PREDICTS = "what units read of each operand is constant on cosets of a subgroup"
CONSTANT = 1.0  # C_H of a unit of the circuit is below, as published
LEAST_VARIANCE = 0.01  # of what a unit reads; an operand with less is not read at all


@dataclass(frozen=True, eq=False)
class Concentration:
    """The smallest C_H of each of several functions.

    value: (functions,). subgroup: (functions,), its row among `proper_subgroups`.
    """

    value: Array
    subgroup: Numbers


def proper_subgroups(group: Group) -> list[Numbers]:
    """The elements of every subgroup but the trivial one and the whole group, the largest first."""
    subgroups = []
    for conjugates in reversed(subgroup_classes(group)):
        if 1 < conjugates.order < group.order:
            subgroups += [np.flatnonzero(members) for members in conjugates.members]
    return subgroups


def cosets(group: Group, subgroup: Numbers, *, right: bool) -> Numbers:
    """(k, |H|): the elements of all right cosets H + x, or left cosets x + H."""
    table = group.table[subgroup] if right else group.table[:, subgroup].T
    first_elements = np.unique(table.min(axis=0))
    return table[:, first_elements].T


def concentration(group: Group, functions: Array, *, right: bool) -> Concentration:
    """The smallest C_H of functions (n, functions) over all subgroups, by right or left cosets."""
    variance = np.maximum(functions.var(axis=0), TINY)
    smallest = np.full(functions.shape[1], np.inf)
    best = np.zeros(functions.shape[1], dtype=np.int64)
    for row, subgroup in enumerate(proper_subgroups(group)):
        by_coset = functions[cosets(group, subgroup, right=right)]  # (k, |H|, functions)
        value = by_coset.var(axis=1).sum(axis=0) / variance
        # Ties go to the largest: what is constant on its cosets is so on those of its subgroups.
        better = value < smallest - 1e-9
        smallest = np.where(better, value, smallest)
        best = np.where(better, row, best)
    return Concentration(smallest, best)


def coset_means(group: Group, functions: Array, subgroup: Numbers, *, right: bool) -> Array:
    """Functions (n, functions), each by its own subgroup, replaced by their means over cosets."""
    members = proper_subgroups(group)
    means = np.empty_like(functions)
    for row in np.unique(subgroup):
        columns = np.flatnonzero(subgroup == row)
        elements = cosets(group, members[row], right=right)
        by_coset = functions[:, columns][elements].mean(axis=1, keepdims=True)
        means[elements[:, :, None], columns] = by_coset
    return means


@dataclass(frozen=True, eq=False)
class CosetUnits:
    """The units of a network by their cosets.

    first, second: of what they read of each operand. constant: (m,), live units with C_H < 1 for
        every operand that they read.
    """

    first: Concentration
    second: Concentration
    constant: NDArray[np.bool_]

    @property
    def value(self) -> Array:
        """(m,): the larger C_H of the two operands."""
        return np.maximum(self.first.value, self.second.value)


def coset_units(reads: UnitReads) -> CosetUnits:
    group = reads.group
    first = concentration(group, reads.first, right=True)
    second = concentration(group, reads.second, right=False)
    of_first = reads.first.var(axis=0)
    of_second = reads.second.var(axis=0)
    least = LEAST_VARIANCE * (of_first + of_second)
    # An operand that is not read is constant on everything.
    value_first = np.where(of_first < least, 0.0, first.value)
    value_second = np.where(of_second < least, 0.0, second.value)
    constant = (value_first < CONSTANT) & (value_second < CONSTANT) & reads.live
    return CosetUnits(
        Concentration(value_first, first.subgroup),
        Concentration(value_second, second.subgroup),
        constant,
    )


def by_cosets(reads: UnitReads) -> tuple[Array, Array]:
    """A and B replaced by their means over cosets of their best subgroups."""
    units = coset_units(reads)
    return (
        coset_means(reads.group, reads.first, units.first.subgroup, right=True),
        coset_means(reads.group, reads.second, units.second.subgroup, right=False),
    )


def coset_circuits(evidence: Evidence) -> Account:
    reads = evidence.reads
    if reads is None:
        return Account(NAME, SOURCE, PREDICTS, undefined=NO_UNITS)
    try:
        subgroups = proper_subgroups(evidence.group)
    except InputError as error:
        return Account(NAME, SOURCE, PREDICTS, undefined=str(error))
    if not subgroups:
        nothing = f"{evidence.group_name} has no subgroup but itself and the identity"
        return Account(NAME, SOURCE, PREDICTS, undefined=nothing)
    units = coset_units(reads)
    random = random_coefficients(reads)
    by_chance = coset_units(random)
    measures = (
        Measure(
            "units with C_H < 1 for both operands",
            _share(reads, units),
            MOST_UNITS,
            by_chance=_share(random, by_chance),
            why="ours: nine units in ten; published for S5: 99.2%",
        ),
        Measure(
            "median C_H",
            float(np.median(units.value[reads.live])),
            by_chance=float(np.median(by_chance.value[reads.live])),
            unit="number",
        ),
        *evidence.instead("read means over their cosets", reads, random, by_cosets),
    )
    details = tuple(_details(evidence.group, units))
    by_order = [f"{detail['units']} of order {detail['order']}" for detail in details[:4]]
    notes = evidence.unit_notes
    if details:
        notes.append(f"units by the subgroup of their first operand: {', '.join(by_order)}")
    return Account(NAME, SOURCE, PREDICTS, measures, tuple(notes), details)


def _share(reads: UnitReads, units: CosetUnits) -> float:
    """Of the units that count, those of a circuit."""
    return float(units.constant.sum() / max(1, reads.live.sum()))


def _details(group: Group, units: CosetUnits) -> Iterator[dict[str, int]]:
    """Orders of the subgroups of units of the circuit, the most frequent first."""
    members = proper_subgroups(group)
    rows = units.first.subgroup[units.constant]
    orders = Counter(len(members[row]) for row in rows)
    for order, count in sorted(orders.items(), key=lambda item: (-item[1], item[0])):
        yield {"order": order, "index": group.order // order, "units": count}
