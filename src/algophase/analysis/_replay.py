"""What a GPU computes of networks of one kind, recorded once and then played again with other
weights.

Python takes longer to queue the hundreds of operations of an analysis than the GPU takes to compute
them. Those that depend on a network's weights and attention rate alone are the same for every
network of a kind: the same other settings, the same shapes. They are recorded as a CUDA graph,
which is queued as one. Its operations are those that would be queued one by one.

A recording is not trusted at once: what it gives of its first networks is compared with what is
computed one by one.
"""

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from algophase.analysis._pending import Packed
from algophase.analysis.device import in_float64, is_copyable, own_values
from algophase.analysis.subject import Subject
from algophase.networks import Network
from algophase.networks.transformer import attentions

log = logging.getLogger(__name__)

# Networks of a kind before it is recorded: what libraries set up on first use is in place then
ONE_BY_ONE = 3
MOST_KINDS = 4  # each recording holds its own memory
# Networks for which a recording is compared: that it was recorded with, and one of other weights
CHECKED = 2
SAME = 1e-9  # relative or absolute; both are in float64
# What tells networks of a kind apart. Settings without the attention rate, which a recording reads,
# are compared by `shapes`.
NAMES = ("id", "run", "notes", "training", "attention_rate", "settings")


class Recording(Protocol):
    """Work that can be played again. numbers: its results, which the next play overwrites."""

    numbers: Packed

    def play(self) -> None: ...


class Graph:
    """A recording on a GPU."""

    def __init__(self, work: Callable[[], Packed]) -> None:
        self._graph = torch.cuda.CUDAGraph()
        now = torch.cuda.current_stream()
        stream = torch.cuda.Stream(priority=now.priority)  # what is recorded keeps it
        stream.wait_stream(now)
        with torch.cuda.stream(stream):
            work()  # for what libraries set up with each stream
        capture = torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local")
        # A capture that fails would leave us on its stream: the outer one brings us back.
        with torch.cuda.stream(now), capture, Borrowed() as borrowed:
            self.numbers = work()
        self._borrowed = borrowed.tensors

    def play(self) -> None:
        self._graph.replay()


class Borrowed(TorchDispatchMode):
    """Holds on to what operations read and did not make themselves: a graph knows addresses in
    memory, not tensors.
    """

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[int, Tensor] = {}
        self._made: set[int] = set()

    @property
    def tensors(self) -> list[Tensor]:
        return list(self._held.values())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for tensor in _tensors((args, kwargs)):
            address = _address(tensor)
            if address not in self._made:
                self._held.setdefault(address, tensor)
        results = func(*args, **(kwargs or {}))
        for tensor in _tensors(results):
            address = _address(tensor)
            if address not in self._held:
                self._made.add(address)
        return results


class Replays:
    """`work` of one subject after the other. From the fourth of a kind on, it is played from a
    recording.

    work: queues everything on the subject's device, waits for nothing, and looks at no number.
    """

    def __init__(
        self,
        work: Callable[[Subject], Packed],
        record: Callable[[Callable[[], Packed]], Recording] = Graph,
    ) -> None:
        self._work, self._record = work, record
        self._seen: Counter[Hashable] = Counter()
        self._recorded: dict[Hashable, _Recorded | None] = {}

    def __call__(self, subject: Subject) -> Packed:
        """The results. Read or copy them, on the same stream, before the next call: it may
        overwrite them.
        """
        kind = kind_of(subject)
        if kind is None:
            return self._work(subject)
        self._seen[kind] += 1
        if (
            self._seen[kind] > ONE_BY_ONE
            and kind not in self._recorded
            and len(self._recorded) < MOST_KINDS
        ):
            self._recorded[kind] = self._recording(subject)
        recorded = self._recorded.get(kind)
        if recorded is None:
            return self._work(subject)
        torch._foreach_copy_(recorded.weights, _weights(subject.network))
        for tensor, rate in zip(recorded.rates, _rates(subject.network), strict=True):
            tensor.fill_(rate)
        recorded.recording.play()
        if recorded.checked == CHECKED:
            return recorded.recording.numbers
        expected = self._work(subject)
        recorded.checked += 1
        if not _same(recorded.recording.numbers, expected):
            log.warning(
                "%s and networks like it: a recorded analysis gives other numbers, and is not used",
                subject.given.id,
            )
            self._recorded[kind] = None
        return expected

    def _recording(self, subject: Subject) -> "_Recorded | None":
        """None where it cannot be recorded, for want of memory, say: such a kind goes on one by
        one.
        """
        network = in_float64(subject.network, subject.device)
        rates = [
            torch.tensor(rate, dtype=torch.float64, device=subject.device)
            for rate in _rates(network)
        ]
        for attention, rate in zip(attentions(network), rates, strict=True):
            attention.attention_rate = rate
        try:
            return _Recorded(
                _weights(network), rates, self._record(lambda: self._work(subject.beside(network)))
            )
        except RuntimeError as error:
            log.debug("the analysis of %s is not recorded: %s", subject.given.settings, error)
            return None


@dataclass
class _Recorded:
    """weights, rates: those it reads; checked: for how many networks it was compared."""

    weights: list[Tensor]
    rates: list[Tensor]
    recording: Recording
    checked: int = 0


def _same(played: Packed, expected: Packed) -> bool:
    if played.shapes != expected.shapes:
        return False
    return torch.allclose(played.flat, expected.flat, SAME, SAME, equal_nan=True)


def kind_of(subject: Subject) -> Hashable | None:
    """What decides which operations are queued; None for a network that may do anything in its
    forward pass.
    """
    network = subject.network
    if not network.is_recordable or not is_copyable(network):
        return None
    traits = tuple(
        (name, value)
        for module in network.modules()
        for name, value in own_values(module)
        if name not in NAMES
    )
    kind = type(network), network.settings.shapes(), traits
    shapes = tuple(weight.shape for weight in _weights(network))
    return kind, shapes, subject.resolution, subject.device


def _tensors(nested: object) -> Iterable[Tensor]:
    return (leaf for leaf in tree_leaves(nested) if isinstance(leaf, Tensor))


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _weights(network: Network) -> list[Tensor]:
    return [tensor.detach() for tensor in [*network.parameters(), *network.buffers()]]


def _rates(network: Network) -> list[float]:
    return [float(attention.attention_rate) for attention in attentions(network)]
