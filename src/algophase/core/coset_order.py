"""The elements of a group in an order in which a function on it shows blocks.

A matrix with F(v - y) in row y, column v shows blocks where rows and columns are in the order of
the right cosets H + t of a subgroup H, if F(u) depends on whether u is in H. For F(-x + w) in row
x, column w it is the left cosets t + H. So we choose the H that F follows best:

    blocks   the correlation, over u other than the identity, of F(u) with [u in H]
    stripes  for a large cyclic H, of five elements and sqrt(n) or more, that of F(h + u) with
             F(u), over all u, for a generator h: along its multiples F changes slowly, as along a
             circle

The elements of H are put in order in the same way, by the subgroups of H.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algophase.core.errors import InputError
from algophase.core.group import Group, Numbers, generated
from algophase.core.subgroups import Members, subgroup_classes

Array = NDArray[np.float64]

LEAST_TURN = 5  # elements of a cycle that shows as stripes
DIGITS = 9  # of scores and values: rounding decides no order


@dataclass(frozen=True, eq=False)
class CosetOrder:
    """right: (n,), all elements by right cosets H + t, those of H first. left: by left cosets, the
    inverses of these.

    subgroup: (n,), which elements H has; the whole group where no subgroup tells anything.
    """

    right: Numbers
    left: Numbers
    subgroup: Members

    @property
    def cosets(self) -> int:
        return len(self.right) // int(self.subgroup.sum())


class _Choice(NamedTuple):
    """A subgroup H, and a generator where the order is that of its multiples."""

    score: float
    members: Members
    generator: int | None = None

    @property
    def rank(self) -> tuple[float, int, bool]:
        """Of equal scores the larger subgroup comes first, then blocks."""
        return round(self.score, DIGITS), int(self.members.sum()), self.generator is None


def coset_order(group: Group, values: Array) -> CosetOrder:
    """The order for a function (n,) on a group.

    >>> from algophase.core.named_groups import named_group
    >>> is_even = np.array([1.0, 0, 0, 1, 1, 0])
    >>> coset_order(named_group("S3"), is_even).right.tolist()
    [0, 3, 4, 1, 2, 5]
    """
    subgroup = np.ones(group.order, dtype=bool)
    subgroups = _all_subgroups(group)
    outermost: Members | None = None
    steps: list[Numbers] = []  # from the whole group to the identity
    while subgroup.sum() > 1:
        subgroups = [members for members in subgroups if not (members & ~subgroup).any()]
        choice = _best(group, values, subgroup, subgroups)
        if choice is None:
            steps.append(_by_value(group, values, subgroup))
            break
        steps.append(_representatives(group, values, subgroup, choice.members))
        outermost = choice.members if outermost is None else outermost
        if choice.generator is not None:
            steps.append(_multiples(group, choice.generator))
            break
        subgroup = choice.members
    right = np.array([group.identity])
    for representatives in reversed(steps):
        right = group.table[right, representatives[:, None]].ravel()  # H + t for every t
    everything = np.ones(group.order, dtype=bool)
    return CosetOrder(right, group.inverses[right], everything if outermost is None else outermost)


def _all_subgroups(group: Group) -> list[Members]:
    """All subgroups; cyclic ones alone where there are too many."""
    try:
        classes = subgroup_classes(group)
    except InputError:
        return [generated(group.table, [element]) for element in range(group.order)]
    return [members for one in classes for members in one.members]


def _best(
    group: Group, values: Array, whole: Members, subgroups: Sequence[Members]
) -> _Choice | None:
    """Among subgroups of the subgroup `whole`, the one that the values there follow best. None
    where they follow none.
    """
    not_identity = whole.copy()
    not_identity[group.identity] = False
    size = int(whole.sum())
    choices = []
    for members in subgroups:
        if 1 < members.sum() < size:
            score = _correlation(values[not_identity], members[not_identity].astype(np.float64))
            choices.append(_Choice(score, members))
    elements = np.flatnonzero(whole)
    least = max(LEAST_TURN, size**0.5)
    for turn in np.flatnonzero(not_identity & (group.element_orders >= least)).tolist():
        score = _correlation(values[elements], values[group.table[turn, elements]])
        choices.append(_Choice(score, generated(group.table, [turn]), turn))
    telling = [choice for choice in choices if round(choice.score, DIGITS) > 0]
    return max(telling, key=lambda choice: choice.rank, default=None)


def _correlation(x: Array, y: Array) -> float:
    x = x - x.mean()
    y = y - y.mean()
    product = float(np.sqrt(np.square(x).sum() * np.square(y).sum()))
    return float(x @ y) / product if product > 1e-12 else 0.0


def _by_value(group: Group, values: Array, subgroup: Members) -> Numbers:
    """The elements of a subgroup, the identity first, then those with the largest values."""
    elements = np.flatnonzero(subgroup)
    is_other = elements != group.identity
    rounded = np.round(values[elements], DIGITS)
    return elements[np.lexsort((elements, -rounded, is_other))]


def _representatives(group: Group, values: Array, whole: Members, subgroup: Members) -> Numbers:
    """An element t of each coset H + t, that with the largest value; the identity is that of H."""
    members = np.flatnonzero(subgroup)
    remaining = whole.copy()
    representatives = []
    for element in _by_value(group, values, whole).tolist():
        if remaining[element]:
            representatives.append(element)
            remaining[group.table[members, element]] = False
    return np.array(representatives)


def _multiples(group: Group, generator: int) -> Numbers:
    """0, g, 2 g, ..."""
    multiples = [group.identity]
    while (following := int(group.table[multiples[-1], generator])) != group.identity:
        multiples.append(following)
    return np.array(multiples)
