"""Numbers on their way from a device to the CPU, and many analyses that wait for theirs together.

A GPU works through a queue. The CPU that asks it for a number waits until the queue gets there,
about 1.5 ms, and an analysis asks three or four times. So whatever computes on a device returns a
`Pending` value. Code that needs the value is a coroutine and says `await`; `run_overlapped` goes on
with other networks there and comes back a few networks later, when the numbers have long arrived.

On a CPU the numbers are there at once, nothing overlaps, and `await` reads as an ordinary call.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.fourier import Array
from algophase.core.neutral import neutral
from algophase.core.threads import one_thread

Value = TypeVar("Value")
Other = TypeVar("Other")
Result = TypeVar("Result")

UNDER_WAY = 12  # networks on a GPU at once: each waits three times, for about four others


class Packed(NamedTuple):
    """Named tensors as one, so that one copy takes them to the CPU."""

    shapes: dict[str, torch.Size]
    flat: Tensor

    def unpacked(self, numbers: Array) -> dict[str, Array]:
        """The named arrays among the numbers of `flat`."""
        arrays = {}
        start = 0
        for name, shape in self.shapes.items():
            stop = start + shape.numel()
            arrays[name] = numbers[start:stop].reshape(shape)
            start = stop
        return arrays


def pack(tensors: Mapping[str, Tensor]) -> Packed:
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    if not tensors:
        return Packed(shapes, torch.zeros(0))
    return Packed(shapes, torch.cat([tensor.double().flatten() for tensor in tensors.values()]))


class Pending(Generic[Value]):
    """A value whose numbers may still be on a device.

    packed: these numbers. read: makes the value of them once they are on the CPU, as NumPy arrays.

    >>> squares = torch.arange(4.0) ** 2
    >>> Pending(pack({"squares": squares}), lambda numbers: numbers["squares"].sum()).get()
    np.float64(14.0)
    """

    def __init__(self, packed: Packed, read: Callable[[dict[str, Array]], Value]) -> None:
        self.packed = packed
        self._read = read
        self._on_cpu: Tensor | None = None
        self._copied: torch.cuda.Event | None = None

    def copy_back(self) -> None:
        """Queue the copy to the CPU, without waiting for it."""
        if self._on_cpu is not None:
            return
        flat = self.packed.flat
        self._on_cpu = flat.to("cpu", non_blocking=flat.is_cuda)  # into page-locked memory
        if flat.is_cuda:
            self._copied = torch.cuda.Event()
            self._copied.record(torch.cuda.current_stream(flat.device))

    def get(self) -> Value:
        """The value. It waits for its own numbers, not for what was queued after them."""
        self.copy_back()
        assert self._on_cpu is not None
        if self._copied is not None:
            self._copied.synchronize()
        return self._read(self.packed.unpacked(self._on_cpu.numpy()))

    def __await__(self) -> Generator[None, None, Value]:
        self.copy_back()
        yield  # here `run_overlapped` goes on with other networks
        return self.get()


async def both(first: Pending[Value], second: Pending[Other]) -> tuple[Value, Other]:
    """Two values with one wait."""
    second.copy_back()
    return await first, second.get()


def run_now(analysis: Coroutine[Any, None, Result]) -> Result:
    """What a coroutine returns, waiting where it waits."""
    while True:
        step = _advance(analysis)
        if step is not None:
            return step.result


def run_overlapped(
    analyses: Iterable[Coroutine[Any, None, Result]],
    device: torch.device,
    most: int = UNDER_WAY,
) -> Iterator[Result | InputError]:
    """What each coroutine returns, or the error it raised, in the order given.

    On a GPU, up to `most` are under way at once. What is left for the CPU is small then, and
    several threads would only wait for each other over it: it has one.
    """
    on_gpu = device.type != "cpu"
    if not on_gpu:
        most = 0
    waiting = deque[tuple[int, Coroutine[Any, None, Result]]]()
    finished: dict[int, Result | InputError] = {}
    given_back = 0

    def advance(number: int, analysis: Coroutine[Any, None, Result]) -> None:
        try:
            with one_thread(on_gpu):
                step = _advance(analysis)
        except InputError as error:
            finished[number] = error
            return
        if step is None:
            waiting.append((number, analysis))
        else:
            finished[number] = step.result

    def next_in_order() -> Iterator[Result | InputError]:
        nonlocal given_back
        while given_back in finished:
            yield finished.pop(given_back)
            given_back += 1

    for number, analysis in enumerate(analyses):
        advance(number, analysis)
        while len(waiting) > most:
            advance(*waiting.popleft())
        yield from next_in_order()
    while waiting:
        advance(*waiting.popleft())
        yield from next_in_order()


class _Finished(NamedTuple):
    result: Any


@neutral()
@torch.no_grad()
def _advance(analysis: Coroutine[Any, None, Any]) -> _Finished | None:
    """Run a coroutine to its next wait; what it returned, if that was its end."""
    try:
        analysis.send(None)
    except StopIteration as stopped:
        return _Finished(stopped.value)
    return None
