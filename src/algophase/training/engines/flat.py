"""Named tensors of many networks in one contiguous buffer, one row a network.

An optimizer step is then a handful of operations on a single (n, size) tensor, whatever the
architecture, and a checkpoint is one array.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

ALIGNMENT = 32  # elements: every tensor starts on a 128-byte boundary of its row


class Flat(Mapping[str, Tensor]):
    """`flat` is (n, size); each name is a view (n, *shape) into it."""

    def __init__(
        self,
        count: int,
        shapes: Mapping[str, tuple[int, ...]],
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        size = sum(math.ceil(math.prod(shape) / ALIGNMENT) * ALIGNMENT for shape in shapes.values())
        self._fill(torch.zeros(count, size, device=device, dtype=dtype), shapes)

    def _fill(self, flat: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes, self.flat = dict(shapes), flat
        self._views, offset = {}, 0
        for name, shape in shapes.items():
            length = math.prod(shape)
            self._views[name] = self.flat[:, offset : offset + length].unflatten(1, shape)
            offset += math.ceil(length / ALIGNMENT) * ALIGNMENT

    def like(self) -> "Flat":
        """Another of the same shape, zero."""
        return Flat(len(self.flat), self.shapes, self.flat.device, self.flat.dtype)

    def part(self, rows: slice) -> "Flat":
        """Some rows, as views."""
        part = Flat.__new__(Flat)
        part._fill(self.flat[rows], self.shapes)
        return part

    def __getitem__(self, name: str) -> Tensor:
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)
