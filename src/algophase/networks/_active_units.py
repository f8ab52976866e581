"""Sums over the hidden units that are on, for many pairs, each from a pair that is nearly alike.

A ReLU unit u that is on adds written[u] read[u]^T, (c, d), to a pair's gradients; one that is off
adds nothing. Two pairs that share an operand differ in few units: about 65 of 512, where 260 to 310
are on, in networks as they start and in trained ones. So a pair's sum is that of another pair, with
what the units add that differ. Which pair follows which is a minimum spanning tree, its root the
pair without a unit on: the sum of that is exact, and so are zeros that it has.

Axes: n pairs, m hidden units, c labels, d columns.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree
from torch import Tensor

from algophase.core.memory import slices
from algophase.networks.gradient_products import (
    GradientProducts,
    Products,
    inner_products,
    pairs_of,
)

# Numbers of the sums that are worked on at once: with what is made of them they fit a core's cache.
CACHED_ELEMENTS = 60_000
ROUNDING = 1e-13  # of a gradient, relative to the largest it could be


class ActiveUnits:
    """written: what each unit writes on the labels, (m, c). read: what it passes on of its input,
    (m, d). base: what is added in any case, (c, d).
    """

    def __init__(self, written: Tensor, read: Tensor, base: Tensor) -> None:
        self.signed = torch.cat([written, -written])  # units that go on, and that go off
        self.read = read.contiguous()
        self.base = base

    def sums(self, active: Tensor, at_once: int) -> Iterator[tuple[Tensor, Tensor]]:
        """base + the sum over the units that are on of written read^T, (n, c, d), of a few pairs
        after the other: which pairs, and theirs, while these are in a core's cache.

        active: which are on, (n, m) booleans. at_once: how many pairs.
        """
        order, parents = spanning_tree(active)
        # The root, which has no unit on, is the last pattern and the first row.
        patterns = torch.cat([active, torch.zeros_like(active[:1])])
        row_of = torch.zeros(len(patterns), dtype=torch.long)
        row_of[order] = torch.arange(1, len(patterns))
        own_patterns = patterns[order]
        changes = own_patterns ^ patterns[parents]
        unit = changes.nonzero()[:, 1]
        goes_off = ~own_patterns[changes]
        signed_unit = unit + goes_off * active.shape[1]
        counts = changes.sum(dim=1).tolist()
        units = unit.split(counts)
        signed_units = signed_unit.split(counts)
        parent_rows = row_of[parents].tolist()

        sums = self.base.new_empty(len(patterns), *self.base.shape)
        sums[0] = self.base
        rows = sums.unbind()
        for steps in slices(len(active), at_once):
            for step in range(steps.start, steps.stop):
                written = self.signed.index_select(0, signed_units[step])
                read = self.read.index_select(0, units[step])
                parent = rows[parent_rows[step]]
                torch.addmm(parent, written.T, read, out=rows[step + 1])
            yield order[steps], sums[steps.start + 1 : steps.stop + 1]

    def products(
        self, active: Tensor, products_of: Callable[[Tensor, Tensor], Sequence[Tensor]]
    ) -> list[Tensor]:
        """first, second and mixed of `Products` of n pairs, each (n, 1, c).

        products_of: these of the k pairs given, each (k, c), from their sums (k, c, d).
        """
        labels = self.base.shape[0]
        results = [self.base.new_empty(len(active), 1, labels) for _ in range(3)]
        at_once = max(1, CACHED_ELEMENTS // self.base.numel())
        for pairs, sums in self.sums(active, at_once):
            for result, product in zip(results, products_of(pairs, sums), strict=True):
                result[pairs, 0] = product
        return results


def spanning_tree(active: Tensor) -> tuple[Tensor, Tensor]:
    """The order in which to compute n pairs, and the pair that each is computed from, each (n,).
    The number n is the root, without a unit on. A pair mostly comes next after its own.

    active: which units are on, (n, m) booleans.
    """
    n = len(active)
    on = active.to(torch.float32)  # whose sums of zeros and ones are exact
    counts = on.sum(dim=1)
    distances: NDArray[np.float32] = np.zeros((n + 1, n + 1), dtype=np.float32)
    distances[:n, :n] = (counts[:, None] + counts - 2 * on @ on.T).numpy()
    distances[n, :n] = distances[:n, n] = counts.numpy()
    # A distance of zero would be no edge.
    tree = minimum_spanning_tree(distances + 1)
    order, parents = depth_first_order(tree, n, directed=False)
    order = order[1:]
    return torch.from_numpy(order).long(), torch.from_numpy(parents[order]).long()


class ConcatenatedGradients:
    """Inner products of the gradients of W_U relu(W [x_1; x_2] + b), whose gradients by the two
    operands are the two halves of a sum over the units that are on.

    first, second: the operand tables, (p, width). run: logits (n, outputs) and what the units read,
    (n, m), of operand embeddings (n, width), by the network's own arithmetic. read: W,
    (m, 2 width). written: what the units write on the labels, (m, c).
    """

    def __init__(
        self,
        first: Tensor,
        second: Tensor,
        run: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
        read: Tensor,
        written: Tensor,
    ) -> None:
        self.first, self.second, self.run = first, second, run
        base = read.new_zeros(written.shape[1], read.shape[1])
        self.units = ActiveUnits(written, read, base)
        # What is left of sums that cancel is rounding, and there is no direction in it.
        norms = torch.linalg.vector_norm(read, dim=1)
        largest = (written.abs() * norms[:, None]).sum(dim=0)
        self.least_square = (ROUNDING * largest).square()

    def products(self) -> GradientProducts:
        elements = self.units.base.numel() + 4 * len(self.units.read)
        return GradientProducts(self.of_block, elements)

    @torch.no_grad()  # also in a thread of its own
    def of_block(self, rows: slice, columns: slice) -> Products:
        """Of some rows a and columns b."""
        first_tokens = self.first[rows]
        second_tokens = self.second[columns]
        shape = (len(first_tokens), len(second_tokens))
        pairs = pairs_of(first_tokens, second_tokens)
        logits, pre = (x.unflatten(0, shape) for x in self.run(*pairs))

        def products_of(pairs: Tensor, sums: Tensor) -> list[Tensor]:
            return inner_products(*sums.chunk(2, dim=-1))

        by_column = [self.units.products(column > 0, products_of) for column in pre.unbind(1)]
        first, second, mixed = (torch.cat(kind, dim=1) for kind in zip(*by_column, strict=True))
        for square in (first, second):
            square.masked_fill_(square < self.least_square, 0.0)
        mixed.masked_fill_((first == 0) | (second == 0), 0.0)
        return Products(logits, first, second, mixed, pre)
