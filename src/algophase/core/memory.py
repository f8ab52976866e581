"""How much memory an analysis may take, and how its work is cut to stay within that.

On a CPU the budget is the environment variable `ALGOPHASE_MEMORY`: "500MB", "2 GB", "3GiB" or a
number of bytes; 1 GB if it is not set. On a GPU it is the whole card's memory. It counts the arrays
of one analysis. Python and PyTorch come on top, with about 250 MB, and freed memory that the
allocator holds on to: up to 200 MB at p = 401.

    kept     the logits of all pairs. They must fit into three quarters of the budget; an analysis
             that needs more is refused before they are allocated.
    at hand  what is kept only if it fits, and else summed up piece by piece: similarities of
             gradients (a quarter of the budget), pre-activations of hidden units with their
             transforms (a half).
    slabs    some rows of the first operand at a time, for steps that copy logits: a tenth.

Numbers do not depend on the budget but for the rounding of sums, which are added slab by slab.
"""

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.threads import side_by_side

Part = TypeVar("Part", bound=Any)  # an index: a slice, or one for each of several axes

VARIABLE = "ALGOPHASE_MEMORY"
DEFAULT = 10**9
UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
KEPT_SHARE = 0.75
SIMILARITIES_SHARE = 0.25
SLAB_SHARE = 0.1
UNITS_SHARE = 0.5
FLOAT64 = 8  # bytes
# Numbers held at once. On a CPU: enough to keep two cores busy, few enough to stay in tens of
# megabytes.
CHUNK_ELEMENTS = 8_000_000
# On a GPU: all triples of a network of the paper's size at once, which takes below 4 GB and half
# the launches of two chunks.
GPU_CHUNK_ELEMENTS = 480_000_000


def parse_size(text: str) -> int:
    """A number of bytes from "500MB", "1.5 GB", "2GiB" or "1000000000".

    >>> parse_size("500MB"), parse_size("1.5 GiB"), parse_size("2000000000")
    (500000000, 1610612736, 2000000000)
    """
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower(), flags=re.ASCII)
    size = float(parts[1]) * UNITS[parts[2]] if parts and parts[2] in UNITS else 0.0
    if not 1 <= size < 2**63:
        choices = "a size such as 500MB, 2GB or 3GiB, or a number of bytes"
        raise InputError(f"{VARIABLE} is {text!r}; it must be {choices}")
    return int(size)


def size_text(size: float) -> str:
    """A number of bytes as people read it: 516 MB, 2.1 GB."""
    if size < 10**9:
        return f"{max(1, round(size / 10**6))} MB"
    return f"{size / 10**9:.1f} GB"


def budget(device: torch.device) -> int:
    """Bytes that the arrays of one analysis may take on a device."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    limit = os.environ.get(VARIABLE, "").strip()
    return parse_size(limit) if limit else DEFAULT


def fits(size: float, device: torch.device, share: float) -> bool:
    """Whether `size` bytes are within a share of the budget."""
    return size <= share * budget(device)


def require(size: float, device: torch.device, what: str, share: float = KEPT_SHARE) -> None:
    """Refuse to take more bytes than a share of the budget. what: what takes them, for the
    message.
    """
    if fits(size, device, share):
        return
    # On a GPU the card is the limit, and no variable changes that.
    remedy = "choose a larger one or the CPU"
    limit = f"the GPU has {size_text(budget(device))}"
    if device.type != "cuda":
        megabytes = int(size / share / 10**6) + 1
        remedy = f"set {VARIABLE}={megabytes}MB or more, if this machine has it"
        limit = f"the memory budget is {size_text(budget(device))}"
    if share < 1:
        limit += f", {1 - share:.0%} of which is for work"
    raise InputError(f"{what} would take {size_text(size)}, and {limit}; {remedy}")


def chunk_elements(device: torch.device) -> int:
    """How many numbers a step works on at once."""
    return CHUNK_ELEMENTS if device.type == "cpu" else GPU_CHUNK_ELEMENTS


def slices(count: int, size: int) -> list[slice]:
    """All of `count` rows, `size` at a time."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def slabs(rows: int, row_bytes: int, device: torch.device) -> list[slice]:
    """All rows, as many at a time as fit a slab. row_bytes: what one takes, with temporary
    copies.
    """
    size = int(SLAB_SHARE * budget(device)) // max(1, row_bytes)
    return slices(rows, max(1, size))


def workers_that_fit(workers: int, bytes_each: float, kept: float, device: torch.device) -> int:
    """How many threads may work at once, at least one. kept: bytes that are in use already."""
    return max(1, min(workers, int((budget(device) - kept) / max(1, bytes_each))))


def joined(
    work: Callable[[slice], list[Tensor]], parts: Sequence[slice], what: str, workers: int = 1
) -> list[Tensor]:
    """What `work` gives of each part, one after the other along the first axis.

    what: what the result is, in case it is refused; workers: how many parts are at work at once.

    Each part is copied to where it stays. Kept in a list, small results lie among the temporaries
    that the work has freed, and the allocator cannot use these again: the analysis of a one-hot MLP
    of p = 97 with 1,024 units took 7.6 GB in place of 0.4.
    """
    return _joined(work, parts, (parts[-1].stop,), what, workers)


Block = tuple[slice, slice]  # some rows, and some columns


def joined_blocks(
    work: Callable[[Block], list[Tensor]], blocks: Sequence[Block], what: str, workers: int = 1
) -> list[Tensor]:
    """The same along the first two axes. The last block ends where all of them end."""
    last_rows, last_columns = blocks[-1]
    return _joined(work, blocks, (last_rows.stop, last_columns.stop), what, workers)


def _joined(
    work: Callable[[Part], list[Tensor]],
    parts: Sequence[Part],
    shape: tuple[int, ...],
    what: str,
    workers: int,
) -> list[Tensor]:
    """shape: of all parts together, without the axes that all of them share."""
    first = work(parts[0])
    if len(parts) == 1:
        return first
    shapes = [(*shape, *tensor.shape[len(shape) :]) for tensor in first]
    size = sum(
        math.prod(whole) * tensor.element_size()
        for whole, tensor in zip(shapes, first, strict=True)
    )
    require(size, first[0].device, what)
    results = [tensor.new_empty(whole) for whole, tensor in zip(shapes, first, strict=True)]

    def put(part: Part, tensors: list[Tensor]) -> None:
        for target, tensor in zip(results, tensors, strict=True):
            target[part] = tensor

    put(parts[0], first)
    del first
    for _ in side_by_side(lambda part: put(part, work(part)), parts[1:], workers):
        pass
    return results


def mean_over_rows(rows_of: Callable[[slice], Tensor], parts: Sequence[slice]) -> Tensor:
    """The mean along the first axis of what `rows_of` gives of each part.

    A single part is one mean of PyTorch's own, to the bit.
    """
    if len(parts) == 1:
        return rows_of(parts[0]).mean(dim=0)
    total = rows_of(parts[0]).sum(dim=0)
    for part in parts[1:]:
        total += rows_of(part).sum(dim=0)
    return total / parts[-1].stop
