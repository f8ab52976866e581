"""The logits of a network on a group as pictures show them: their means over one of the three
actions of `actions`, of the whole network or with some representations alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from algophase.analysis.program.actions import ActionSums, ClassShares, action_sums, class_shares
from algophase.analysis.program.by_representation import keep_alone
from algophase.core.coset_order import CosetOrder, coset_order
from algophase.core.fourier import Array
from algophase.core.group import Group, Numbers
from algophase.core.representations import representations
from algophase.networks import Network
from algophase.networks.pair_logits import Prepared

Side = Literal["left", "right", "readout"]


class Ordered(NamedTuple):
    """matrix: (n, n), mean logits, its rows and columns in the order of the elements `order`."""

    matrix: Array
    order: Numbers


@dataclass(frozen=True, eq=False)
class MeanLogits:
    """Logits centered over z, of all pairs.

    accuracy: over all pairs. sums: their sums, of this one embedding.
    """

    group: Group
    accuracy: float
    sums: ActionSums

    @cached_property
    def shares(self) -> ClassShares:
        """In which classes they are, as shares of their own squared norm."""
        return class_shares(self.group, self.sums)

    @cached_property
    def bi_equivariant(self) -> Array:
        """(n,), F(u): the mean over all x, y and z with -x + z - y = u. The right answer is at the
        identity.
        """
        elements = self.group.elements
        by_element: Array = self.sums.from_left[elements[:, None], self.group.table.T].mean(axis=0)
        return by_element

    @cached_property
    def order(self) -> CosetOrder:
        """Elements by the cosets of the subgroup that F follows best."""
        return coset_order(self.group, self.bi_equivariant)

    @property
    def side(self) -> Side:
        """Which of the one-sided classes holds more of them."""
        return "left" if self.shares.left >= self.shares.right else "right"

    def in_order(self, side: Side) -> Ordered:
        """left: means over (y, -x + z), by right cosets; right: over (x, z - y), by left cosets;
        readout: over (x + y, z), by right cosets. The right answers are on the diagonal.
        """
        matrix, order = {
            "left": (self.sums.from_left, self.order.right),
            "right": (self.sums.from_right, self.order.left),
            "readout": (self.sums.readout, self.order.right),
        }[side]
        return Ordered(matrix[np.ix_(order, order)], order)


def mean_logits(
    network: Network,
    group: Group,
    names: Sequence[str] | None = None,
    prepared: Prepared | None = None,
) -> MeanLogits:
    """Of a network whose numbers are the group's. names: of the representations to keep alone; all
    by default.
    """
    first, second = (table.detach()[None] for table in network.operand_tables())
    if names is not None:
        members = [member for member in representations(group) if member.name in names]
        first, second = keep_alone(network, group, members)
    sums = action_sums(network, group, first, second, prepared).get()
    return MeanLogits(group, float(sums.right[0]), sums)
