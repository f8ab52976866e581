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
    """`flat` is (n, size); each name is a view (n, *shape) into it.

    capacity: rows to allocate, if an engine wants more than the networks there are; the rows beyond stay out of `flat` and of
    every view but those of `part`.
    """

    def __init__(
        self,
        count: int,
        shapes: Mapping[str, tuple[int, ...]],
        device: torch.device,
        dtype: torch.dtype,
        capacity: int | None = None,
    ) -> None:
        size = sum(math.ceil(math.prod(shape) / ALIGNMENT) * ALIGNMENT for shape in shapes.values())
        self._fill(torch.zeros(capacity or count, size, device=device, dtype=dtype), shapes, count)

    def _fill(self, storage: Tensor, shapes: Mapping[str, tuple[int, ...]], count: int) -> None:
        self.shapes, self.storage, self.flat = dict(shapes), storage, storage[:count]
        self._views, offset = {}, 0
        for name, shape in shapes.items():
            length = math.prod(shape)
            self._views[name] = self.flat[:, offset : offset + length].unflatten(1, shape)
            offset += math.ceil(length / ALIGNMENT) * ALIGNMENT

    def like(self) -> "Flat":
        """Another of the same shape, zero."""
        return Flat(len(self.flat), self.shapes, self.flat.device, self.flat.dtype, len(self.storage))

    def part(self, rows: slice) -> "Flat":
        """Some rows, spare ones included, as views."""
        part = Flat.__new__(Flat)
        storage = self.storage[rows]
        part._fill(storage, self.shapes, len(storage))
        return part

    def __getitem__(self, name: str) -> Tensor:
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)
