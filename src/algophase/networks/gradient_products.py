"""Inner products of the gradients dQ_abc/dE_a and dQ_abc/dE_b, for all pairs of two operand tables.

Gradient symmetricity needs these, not the gradients. A network that knows which pairs share an
operand can have them from far less arithmetic than each pair's gradients take
(`Network.gradient_products`). This is the CPU's way: it looks at numbers on its way, for which a
GPU would be waited for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Products(NamedTuple):
    """Of some pairs (a, b). logits: (a, b, outputs). first, second: squared norms of the gradients
    by the two operands, mixed: their inner products, each (a, b, c).

    pre_activations: of the first hidden layer, (a, b, m).
    """

    logits: Tensor
    first: Tensor
    second: Tensor
    mixed: Tensor
    pre_activations: Tensor


@dataclass(frozen=True)
class GradientProducts:
    """of_block: the products of some rows a with some columns b. elements: numbers that a pair of
    these takes.
    """

    of_block: Callable[[slice, slice], Products]
    elements: int


def pairs_of(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """All pairs of embeddings (a, width) and (b, width), each (a * b, width)."""
    every_first = first[:, None].expand(-1, len(second), -1).flatten(0, 1)
    every_second = second.expand(len(first), -1, -1).flatten(0, 1)
    return every_first, every_second


def inner_products(first: Tensor, second: Tensor) -> list[Tensor]:
    """first, second and mixed of `Products`, (..., c), of gradients (..., c, width)."""
    return [
        torch.linalg.vecdot(first, first),
        torch.linalg.vecdot(second, second),
        torch.linalg.vecdot(first, second),
    ]
