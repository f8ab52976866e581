"""Inner products of the gradients of a network that reads the sum of its two embeddings.

Both gradients are then one vector, and all that is asked of it is whether it vanishes. It does
where its products with a few random directions do, which are derivatives of the logits along these:
as cheap as the logits, where the gradients of all labels are as many times as dear as there are
labels.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from algophase.networks._active_units import ROUNDING
from algophase.networks.gradient_products import GradientProducts, Products, pairs_of

DIRECTIONS = 3


class Moved(NamedTuple):
    """Of n pairs: logits (n, outputs), what the first hidden layer reads, (n, m), and how the
    logits move along each direction, (n, outputs, directions).
    """

    logits: Tensor
    pre_activations: Tensor
    derivatives: Tensor


def random_directions(table: Tensor) -> Tensor:
    """Directions in which to move an embedding of this table (p, width), (width, directions)."""
    random = torch.Generator().manual_seed(0)
    return torch.randn(table.shape[1], DIRECTIONS, generator=random, dtype=table.dtype)


class SummedGradients:
    """first, second: the operand tables, (p, width). move: what a network gives of operand
    embeddings, each (n, width), by its own arithmetic. largest: the most that logits could move
    along each direction, (outputs, directions). labels: how many outputs are labels.
    """

    def __init__(
        self,
        first: Tensor,
        second: Tensor,
        move: Callable[[Tensor, Tensor], Moved],
        largest: Tensor,
        labels: int,
    ) -> None:
        self.first, self.second, self.move, self.labels = first, second, move, labels
        self.least = ROUNDING * largest[:labels]  # what is left of sums that cancel is rounding

    def products(self, units: int) -> GradientProducts:
        """units: of the widest hidden layer."""
        numbers = 3 * (1 + DIRECTIONS) * (units + self.labels)
        return GradientProducts(self.of_block, numbers)

    @torch.no_grad()  # also in a thread of its own
    def of_block(self, rows: slice, columns: slice) -> Products:
        """Of some rows a and columns b. Products are 1, or 0 where the gradient vanishes."""
        first = self.first[rows]
        second = self.second[columns]
        logits, pre, derivatives = self.move(*pairs_of(first, second))
        exists = (derivatives[:, : self.labels].abs() > self.least).any(dim=-1)
        product = exists.to(pre.dtype)
        of_pairs = (logits, product, product, product, pre)
        shape = (len(first), len(second))
        return Products(*(tensor.unflatten(0, shape) for tensor in of_pairs))
