"""What the logits are functions of, for a network on any finite group.

Three actions of the group on triples (x, y, z) leave x + y = z true (the operation is written as a
sum, also where it does not commute):

    g: (g + x, y, g + z)        unchanged by it: functions of (y, -x + z), one-sided from the left
    h: (x - h, h + y, z)        functions of (x + y, z), the read-out
    k: (x, y + k, z + k)        functions of (x, z - y), one-sided from the right

They commute. So the mean over each is a projection, these three projections commute, and the logits
fall into eight orthogonal classes by which of the actions leave a part unchanged:

    g and k             bi-equivariant: functions F(-x + z - y)
    g and h, k and h    functions of -(x + y) + z, and of z - (x + y)
    all three           class functions of -x + z - y: characters ("GCR", Chughtai et al. 2023)
    none                the rest

In a group that commutes, any two imply the third: functions of x + y - z. Logits are centered over
z, and functions of z alone (offsets, which h leaves unchanged) are taken out first.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algophase.analysis._pending import Pending, pack
from algophase.analysis.logits.sums import (
    center,
    products_without_offsets,
    totals_by_action,
    totals_over_rows,
)
from algophase.analysis.program.instances import TINY
from algophase.core.fourier import Array
from algophase.core.group import Group
from algophase.core.memory import FLOAT64
from algophase.networks import Network
from algophase.networks.pair_logits import Prepared


@dataclass(frozen=True)
class ActionSums:
    """Sums over all n^3 logits of several embeddings, the first of which is the network's own.

    right: (embeddings,), share of the pairs answered right
    loss: cross-entropy over all pairs, of the first embedding
    products: (embeddings, embeddings), sums of Q_i Q_j over all triples
    offset: (embeddings, n), means over x and y
    writes: (those asked for, n, n), sum over x and y of Q(z) Q(z')
    from_left: (n, n) over (y, -x + z), of the first embedding; from_right: over (x, z - y);
        readout: over (x + y, z); all three empty if they were not asked for
    """

    right: Array
    loss: float
    products: Array
    offset: Array
    writes: Array
    from_left: Array
    from_right: Array
    readout: Array

    @functools.cached_property
    def without_offsets(self) -> Array:
        """`products` of what is left without the functions of z alone."""
        return products_without_offsets(self.products, self.offset)


@torch.no_grad()
def action_sums(
    network: Network,
    group: Group,
    first: Tensor,
    second: Tensor,
    prepared: Prepared | None = None,
    *,
    classes: bool = True,
    writers: slice = slice(0),
) -> Pending[ActionSums]:
    """The sums of operand tables (embeddings, n, width) of one network, whose numbers are the
    group's.

    classes: whether `class_shares` will want them. writers: of which embeddings to sum `writes`,
        which takes more work than the logits.
    """
    n = first.shape[1]
    table = torch.from_numpy(group.table).to(first.device)
    inverses = torch.from_numpy(group.inverses).to(first.device)

    def totals_of(logits: Tensor, rows: slice) -> dict[str, Tensor]:
        right_answers = table[rows]  # (x, y)
        centered = center(logits, right_answers[None, ..., None])
        by_pair = centered.logits[writers].flatten(1, 2)  # (writers, pairs, z)
        own = logits[0]
        right_logits = own.gather(-1, right_answers[..., None]).squeeze(-1)
        totals = {
            **centered.totals,
            "loss": (own.logsumexp(dim=-1) - right_logits).sum(),
            "writes": by_pair.transpose(1, 2) @ by_pair,
        }
        if classes:
            totals |= totals_by_action(centered.logits[0], rows, table, inverses)
        return totals

    sum_bytes = FLOAT64 * (len(first[writers]) + 3) * n * n
    totals = totals_over_rows(
        network, first, second, totals_of, sum_bytes, prepared, beside_logits=False
    )
    return Pending(pack(totals), functools.partial(_read_sums, n))


def _read_sums(n: int, totals: Mapping[str, Array]) -> ActionSums:
    nothing = np.zeros((0, 0))
    return ActionSums(
        right=totals["right"] / n**2,
        loss=float(totals["loss"]) / n**2,
        products=totals["products"],
        offset=totals["offset"] / n**2,
        writes=totals["writes"],
        from_left=totals["from_left"] / n if "from_left" in totals else nothing,
        from_right=totals["from_right"] / n if "from_right" in totals else nothing,
        readout=totals["readout"] / n if "readout" in totals else nothing,
    )


@dataclass(frozen=True)
class ClassShares:
    """Shares of the squared norm of the centered logits.

    offsets: functions of z alone.
    left, right: unchanged by g, and by k: one-sided. readout: unchanged by h, without the offsets.
    bi_equivariant: unchanged by g and k. left_readout, right_readout: by g and h, by k and h.
    characters: unchanged by all three.

    Each of these holds those with more conditions; `exclusive` are the eight orthogonal classes.
    """

    offsets: float
    left: float
    right: float
    readout: float
    bi_equivariant: float
    left_readout: float
    right_readout: float
    characters: float

    @property
    def exclusive(self) -> dict[str, float]:
        """The eight orthogonal classes and the offsets, which add up to 1."""
        g_and_k = self.bi_equivariant - self.characters
        g_and_h = self.left_readout - self.characters
        k_and_h = self.right_readout - self.characters
        shares = {
            "characters": self.characters,
            "bi-equivariant": g_and_k,
            "left read-out": g_and_h,
            "right read-out": k_and_h,
            "left": self.left - g_and_k - g_and_h - self.characters,
            "right": self.right - g_and_k - k_and_h - self.characters,
            "read-out": self.readout - g_and_h - k_and_h - self.characters,
            "offsets": self.offsets,
        }
        return {**shares, "rest": 1.0 - sum(shares.values())}


def class_shares(group: Group, sums: ActionSums) -> ClassShares:
    """In which classes the network's logits are."""
    n, table = group.order, group.table
    elements = group.elements
    whole = max(float(sums.products[0, 0]), TINY)
    # Offsets are unchanged by h alone: the other means of a function of z are zero.
    readout = sums.readout - sums.offset[0]
    # F(w) with w = -x + z - y: -x + z is w + y, and x + y = s gives -s + z and z - s
    bi_equivariant = sums.from_left[elements[:, None], table.T].mean(axis=0)
    left_readout = readout[elements[:, None], table].mean(axis=0)
    right_readout = readout[elements[:, None], table.T].mean(axis=0)
    class_sizes = np.bincount(group.class_of)
    class_means = np.bincount(group.class_of, weights=bi_equivariant) / class_sizes

    def share(values: Array, triples: int) -> float:
        """Of a function, each value of which is that of so many triples."""
        return float(np.square(values).sum()) * triples / whole

    return ClassShares(
        offsets=share(sums.offset[0], n * n),
        left=share(sums.from_left, n),
        right=share(sums.from_right, n),
        readout=share(readout, n),
        bi_equivariant=share(bi_equivariant, n * n),
        left_readout=share(left_readout, n * n),
        right_readout=share(right_readout, n * n),
        characters=share(class_means[group.class_of], n * n),
    )
