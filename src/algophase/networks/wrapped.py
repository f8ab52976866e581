"""`wrap`: any PyTorch module, or a plain function of (a, b), as a network to analyse."""

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from algophase.core.answers import learned
from algophase.errors import InputError
from algophase.networks.cuts import FirstLayer, Lookup, Rows
from algophase.networks.in_double import InDouble
from algophase.networks.network import Cache, Network
from algophase.networks.recorded import Recorded, of_logits
from algophase.networks.writing import Read, Write, reader, shape_of, writer
from algophase.neutral import difference, evaluating, neutral, unsteady, untouched
from algophase.settings import OPERATIONS, Cut, TaskSettings, WrappedSettings, shown
from algophase.task import all_pairs, following

PROBED = 256  # pairs on which the cut network is compared with the module
AGREEMENT = 1e-4  # of their logits, relative to the largest; in float32
OPERATIONS_ASKED = (*OPERATIONS, "auto")
_ONE_AT_A_TIME = threading.RLock()  # a module is changed while it runs


class Wrapped(Network):
    """A module with a way to write operands, to cut them off, and to read its answer; `wrap` makes it."""

    settings: WrappedSettings
    concurrent = False

    def __init__(
        self, task: TaskSettings, module: nn.Module, write: Write, read: Read, cut: Lookup | Rows | FirstLayer
    ) -> None:
        kind: Cut = "first layer" if isinstance(cut, FirstLayer) else "embedding"
        super().__init__(task, WrappedSettings(type(module).__name__, kind))
        self.module, self.write, self.read, self.where = module, write, read, cut
        self.id = type(module).__name__
        self.cut = kind

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        numbers = torch.arange(self.task.modulus, device=self.device)
        with self._running():
            return self.where.tables(self.module, self.write, numbers)

    def logits_from_embeddings(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Tensor:
        with self._running():
            return self.read(self.where.run(self.module, self.write, first, second))

    def logits_of(self, a: Tensor, b: Tensor) -> Tensor:
        """What the module itself answers."""
        with self._running():
            return self.read(self.module(*self.write(a, b)))

    @contextmanager
    def _running(self) -> Iterator[None]:
        exact = next(self.module.parameters()).dtype == torch.float64
        with _ONE_AT_A_TIME, evaluating(self.module), sdpa_kernel(SDPBackend.MATH), ExitStack() as stack:
            if torch.get_default_device() != self.device:  # for what the module makes on its way
                stack.enter_context(torch.device(self.device))
            if exact:
                stack.enter_context(InDouble())
            yield


@neutral()
def wrap(
    module: Callable[..., Any],
    modulus: int,
    embedding: str | Sequence[str] | None = None,
    tokens: str | Callable[[Tensor, Tensor], Any] | None = None,
    answer: str | int | Callable[[Any], Tensor] | None = None,
    outputs: int | None = None,
    operation: str = "add",
) -> Network:
    """Any PyTorch module that adds modulo `modulus` as a network to analyse. Its own weights and mode are left alone.

    embedding: the name of what turns the operands into vectors: a module (`"embed"`), a bare parameter (`"W_E"`), one of them
        for each operand, or for one-hot input the first layer. Found by itself where there is just one choice.
    tokens: how a pair is written. A template: `"a b ="`, `"a b+59"`, `"a, b"` for two arguments; any other word is a token of
        its own from `modulus` on, a number is that token. `"one-hot"` and `"one-hot sum"` give both numbers beside each other
        or added. Or a function of two tensors (n,) that gives the module's arguments.
    answer: where the logits are: a position (the last), a named output, or a function of what the module gives.
    outputs: keep so many columns of the logits; others count as wrong answers.
    operation: "add", "subtract", or "multiply", of the numbers from 1 on modulo a prime. "auto" takes what its answers follow,
        which may also be addition of numbers under other names.

    A plain function of (a, b) that gives logits works too, without what needs an embedding.

    >>> import torch
    >>> from algophase import analyze, wrap
    >>> class Adder(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.embed, self.out = torch.nn.Embedding(7, 16), torch.nn.Linear(16, 7)
    ...     def forward(self, tokens):
    ...         return self.out(self.embed(tokens).sum(1).relu())
    >>> network = wrap(Adder(), modulus=7)
    >>> [tuple(table.shape) for table in network.operand_tables()], network.notes[0]
    ([(7, 16), (7, 16)], 'cut at embed, tokens a b')
    """
    if operation == "auto":
        return _as_it_answers(module, modulus, embedding, tokens, answer, outputs)
    least = 1 if operation == "multiply" else 0
    task = TaskSettings(modulus=modulus - least, training_fraction=None, operation=operation)
    if isinstance(module, Network):
        raise InputError(f"network {module.id} is a network already; analyze takes it as it is")
    if not callable(module):
        raise InputError(f"{shown(module)} is neither a PyTorch module nor a function of (a, b)")
    read = reader(answer, modulus, outputs, least)
    if not isinstance(module, nn.Module):
        return _of_function(task, module, read, least)
    if next(module.parameters(), None) is None:
        raise InputError(f"module {type(module).__name__} has no parameters; give its forward function instead")
    with torch.no_grad(), untouched(module):
        return _first_that_works(task, module, embedding, tokens, read, modulus)


def _as_it_answers(
    module: Callable[..., Any],
    modulus: int,
    embedding: str | Sequence[str] | None,
    tokens: str | Callable[[Tensor, Tensor], Any] | None,
    answer: str | int | Callable[[Any], Tensor] | None,
    outputs: int | None,
) -> Network:
    """`wrap` with the operation that the module's answers to all pairs follow; addition where they follow none."""
    network = wrap(module, modulus, embedding, tokens, answer, outputs)
    result = learned(answers_of(network).cpu().numpy())
    if result is None or not result.asked_as:
        return network
    if result.operation == "multiply":
        network = wrap(module, modulus, embedding, tokens, answer, outputs, "multiply")
    else:
        network.task = following(network.task, result)
    network.notes = (*network.notes, f"operation auto: {result.sentence}")
    return network


@torch.no_grad()
def answers_of(network: Network) -> Tensor:
    """The number of the largest logit for each pair, (p, p)."""
    if isinstance(network, Recorded):
        return network.logits.argmax(dim=-1)
    assert isinstance(network, Wrapped)
    numbers = torch.arange(network.task.modulus, device=network.device)
    with untouched(network.module):
        rows = [network.logits_of(a.expand_as(numbers), numbers).argmax(dim=-1) for a in numbers]
    return torch.stack(rows)


def _first_that_works(
    task: TaskSettings, module: nn.Module, embedding: str | Sequence[str] | None, tokens: Any, read: Read, p: int
) -> Wrapped:
    names = _found(module, p) if embedding is None else [embedding] if isinstance(embedding, str) else list(embedding)
    problems = []
    for written in [tokens] if tokens is not None else _templates(module, names, p):
        for cut in _cuts(module, names, p):
            network = Wrapped(task, module, writer(written, p, p - task.modulus), read, cut)
            try:
                _check_cut(network)
            except _Unsteady:
                raise
            except InputError as error:
                problems.append(f"{_told(written)}: {error}")
            except Exception as error:  # whatever the module raises on input that is not its own
                problems.append(f"{_told(written)}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            else:
                network.notes = tuple(_notes(network, written))
                return network
    raise InputError(
        f"module {type(module).__name__}, cut at {' and '.join(names)}, does not run: {'; '.join(dict.fromkeys(problems))}"
    )


def _notes(network: Wrapped, written: Any) -> Iterator[str]:
    yield f"cut at {network.where}, {_told(written)}"
    if network.cut == "first layer":
        yield (
            f"it has no embedding: the first matrix, {network.where}, is taken for the table, and circularity is undefined; "
            "gradient symmetricity depends on this cut"
        )


def _told(written: Any) -> str:
    return f"tokens {written}" if isinstance(written, str) else "tokens as given"


class _Unsteady(InputError):
    """No other way of writing pairs would help."""


def _check_cut(network: Wrapped) -> None:
    """That the network with its own embeddings put back answers as the module does."""
    p = network.task.modulus
    pairs = all_pairs(p)[:: max(1, p * p // PROBED)].to(network.device)
    first, second = network.operand_tables()
    expected, again = (network.logits_of(pairs[:, 0], pairs[:, 1]) for _ in range(2))
    change = difference(expected, again)
    if change:
        raise _Unsteady(f"module {type(network.module).__name__}: {unsteady(change)}")
    found = network.logits_from_embeddings(first[pairs[:, 0]], second[pairs[:, 1]])
    if found.dim() != 2 or found.shape[1] < p:
        raise InputError(f"it gives logits of shape {shape_of(found)}; it must give {p} or more per pair (see `answer`)")
    apart, largest = (found - expected).abs().max().item(), expected.abs().max().item()
    if not apart <= AGREEMENT * max(largest, 1e-30):
        raise InputError(
            f"with its own embeddings put back at {network.where}, logits differ by {apart:.2g}: operands also enter elsewhere"
        )


def _found(module: nn.Module, modulus: int) -> list[str]:
    """The embedding, where there is just one choice."""
    lookups = [
        name
        for name, each in module.named_modules()
        if (isinstance(each, nn.Embedding) and each.num_embeddings >= modulus)
        or "W_E" in dict(each.named_parameters(recurse=False))
    ]
    if lookups and len(lookups) <= 2:
        return lookups if lookups != [""] else ["W_E"]
    layers = [
        name
        for name, each in module.named_modules()
        if isinstance(each, nn.Linear) and each.in_features in (modulus, 2 * modulus)
    ]
    if layers and not lookups:
        return layers[:1]
    tables = [name for name, each in module.named_parameters() if each.dim() == 2 and max(each.shape) >= modulus]
    raise InputError(
        f"module {type(module).__name__} has {'several embeddings' if lookups else 'no nn.Embedding'}; "
        f"name the embedding, one of {', '.join(lookups or tables) or 'its modules'}"
    )


def _cuts(module: nn.Module, names: Sequence[str], modulus: int) -> list[Lookup | Rows | FirstLayer]:
    modules, parameters = dict(module.named_modules()), dict(module.named_parameters())
    for name in names:
        if name not in modules and name not in parameters:
            choices = [each for each in (*modules, *parameters) if each]
            raise InputError(f"embedding is {name!r}; module {type(module).__name__} has {', '.join(choices[:40])}")
    if not 1 <= len(names) <= 2:
        raise InputError(f"embedding names {len(names)} modules; give one, or one for each operand")
    if all(name in modules for name in names):
        if len(names) == 1 and not isinstance(modules[names[0]], nn.Embedding) and _is_matrix(modules[names[0]]):
            return [FirstLayer(names[0])]
        return [Lookup(names), *([FirstLayer(names[0])] if len(names) == 1 else [])]
    axes = [axis for axis in (0, 1) if all(parameters[name].shape[axis] >= modulus for name in names if name in parameters)]
    cuts: list[Lookup | Rows | FirstLayer] = [Rows(names, axis) for axis in axes]
    return cuts + ([FirstLayer(names[0])] if len(names) == 1 else [])


def _is_matrix(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear)


def _templates(module: nn.Module, names: Sequence[str], p: int) -> list[str]:
    """How pairs may be written for a module with these tables, the likeliest first."""
    first = dict(module.named_modules()).get(names[0])
    rows = first.num_embeddings if isinstance(first, nn.Embedding) else None
    if rows is None and first is not None and not isinstance(first, nn.Linear):
        rows = getattr(getattr(first, "W_E", None), "shape", (None,))[0]
    if isinstance(first, nn.Linear):
        return ["one-hot" if first.in_features == 2 * p else "one-hot sum", "a b", "a, b"]
    plain = ["a, b", "a b"] if len(_positional(module)) > 1 else ["a b", "a, b"]
    if len(names) == 2 or rows is None or rows == p:
        return [*plain, *(["a b ="] if rows != p else [])]
    return {
        p + 1: ["a b =", *plain],
        p + 2: ["a + b =", *plain],
        2 * p: [f"a b+{p}", *plain],
        2 * p + 1: [f"a b+{p} {2 * p}"],
    }.get(rows, [*plain, "a b ="])


def _positional(module: nn.Module) -> list[str]:
    """Arguments that the module must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(module.forward).parameters.values()
    return [each.name for each in parameters if each.kind in kinds and each.default is inspect.Parameter.empty]


def _of_function(task: TaskSettings, function: Callable[..., Any], read: Read, least: int) -> Recorded:
    p, pairs = task.modulus, all_pairs(task.modulus) + least
    name = getattr(function, "__name__", type(function).__name__)
    with torch.no_grad():
        try:
            logits = read(_tensor(function(pairs[:, 0], pairs[:, 1])))
            together = logits.dim() == 2 and len(logits) == p * p
        except Exception:  # it may take two numbers at a time
            together = False
        if not together:
            logits = torch.stack([_tensor(function(a, b)).flatten() for a, b in pairs.tolist()])
            logits = read(logits)
    if logits.shape[1] < p:
        raise InputError(f"function {name} gives {logits.shape[1]} logits per pair; it must give {p} or more")
    kept = logits.dtype if logits.dtype == torch.float32 else torch.float64
    return of_logits(task, name if name.isidentifier() else "function", logits.to(kept).view(p, p, -1))


def _tensor(given: Any) -> Tensor:
    return given.detach() if isinstance(given, Tensor) else torch.as_tensor(given)
