"""Named tensors of many networks in one contiguous buffer, one row a network.

An optimiser step is then a handful of operations on a single (n, size) tensor, whatever the architecture, and a
checkpoint is one array.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

ALIGNMENT = 32  # elements: every tensor starts on a 128-byte boundary of its row


class Flat(Mapping[str, Tensor]):
    """`flat` is (n, size); each name is a view (n, *shape) into it."""

    def __init__(self, count: int, shapes: Mapping[str, tuple[int, ...]], device: torch.device, dtype: torch.dtype) -> None:
        self.shapes = dict(shapes)
        offsets, size = {}, 0
        for name, shape in shapes.items():
            offsets[name] = size
            size += math.ceil(math.prod(shape) / ALIGNMENT) * ALIGNMENT
        self.flat = torch.zeros(count, size, device=device, dtype=dtype)
        self._views = {
            name: self.flat[:, offsets[name] : offsets[name] + math.prod(shape)].unflatten(1, shape)
            for name, shape in shapes.items()
        }

    def like(self) -> "Flat":
        """Another of the same shape, zero."""
        return Flat(len(self.flat), self.shapes, self.flat.device, self.flat.dtype)

    def __getitem__(self, name: str) -> Tensor:
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)
