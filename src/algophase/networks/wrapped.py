"""`wrap`: any PyTorch module, or a function of (a, b), as a network to analyze."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from algophase.core.answers import learned
from algophase.core.errors import InputError
from algophase.core.neutral import difference, evaluating, neutral, unsteady, untouched
from algophase.core.settings import OPERATIONS, Cut, TaskSettings, WrappedSettings, shown
from algophase.core.task import all_pairs, answers, following
from algophase.core.wording import floored
from algophase.networks._cuts import FirstLayer, Lookup, Rows
from algophase.networks._finding import (
    cuts_at,
    described_tables,
    find_embedding,
    likely_moduli,
    templates,
)
from algophase.networks._in_double import InDouble
from algophase.networks._writing import Read, Write, reader, shape_of, writer
from algophase.networks.network import Cache, Network
from algophase.networks.recorded import Recorded, of_logits

PROBED = 256  # pairs on which the cut network is compared with the module
AGREEMENT = 1e-4  # of their logits, relative to the largest; in float32
OPERATIONS_ASKED = (*OPERATIONS, "auto")
_ONE_AT_A_TIME = threading.RLock()  # a module is changed while it runs


class Wrapped(Network):
    """A module with a way to write operands, to cut them off, and to read its answer; `wrap`
    makes it.
    """

    settings: WrappedSettings
    concurrent = False
    can_leave_out_zero = True

    def __init__(
        self,
        task: TaskSettings,
        module: nn.Module,
        write: Write,
        read: Read,
        cut: Lookup | Rows | FirstLayer,
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

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        with self._running():
            return self.read(self.where.run(self.module, self.write, first, second))

    def logits_of(self, a: Tensor, b: Tensor) -> Tensor:
        """What the module itself answers."""
        with self._running():
            return self.read(self.module(*self.write(a, b)))

    @property
    def architecture(self) -> str:
        return self.settings.architecture

    @torch.no_grad()
    def answers(self) -> Tensor:
        """The number of the largest logit for each pair, (p, p)."""
        numbers = torch.arange(self.task.modulus, device=self.device)
        rows = []
        with untouched(self.module):
            for a in numbers:
                logits = self.logits_of(a.expand_as(numbers), numbers)
                rows.append(logits.argmax(dim=-1))
        return torch.stack(rows)

    def measure_sizes(self) -> None:
        """Put the sizes of its tables and logits into its settings, where a description of it
        reads them.
        """
        first, second = self.operand_tables()
        outputs = self.logits_from_embeddings(first[:1], second[:1]).shape[-1]
        shared = len(self.distinct_tables()) == 1
        self.settings = replace(
            self.settings, width=first.shape[1], own_tables=not shared, outputs=outputs
        )

    @contextmanager
    def _running(self) -> Iterator[None]:
        exact = next(self.module.parameters()).dtype == torch.float64
        with (
            _ONE_AT_A_TIME,
            evaluating(self.module),
            sdpa_kernel(SDPBackend.MATH),
            ExitStack() as stack,
        ):
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
    """Wrap any PyTorch module that adds modulo p as a network to analyze. The module is not
    changed.

    A function of (a, b) that gives logits works too, without what needs an embedding.

    Arguments:
        module: the module or function.
        modulus: p.
        embedding: the name of what turns the operands into vectors: a module (`"embed"`), a bare
            parameter (`"W_E"`), one of them for each operand, or for one-hot input the first layer.
            By default the only one that fits.
        tokens: how a pair is written. A template: `"a b ="`, `"a b+59"`, `"a, b"` for two
            arguments; any other word is a token of its own from `modulus` on, a number is that
            token. `"one-hot"` and `"one-hot sum"` give both numbers side by side or added. Or a
            function of two tensors (n,) that gives the module's arguments.
        answer: where the logits are: a position (the last), a named output, or a function of what
            the module gives.
        outputs: keep this many columns of the logits; columns beyond p count as wrong answers.
        operation: "add", "subtract", or "multiply", of the numbers from 1 on modulo a prime. "auto"
            takes what the answers follow, which may also be addition of renamed numbers.

    Returns:
        The network; its `notes` say how the module was read.

    Raises:
        InputError: the module cannot be read; the message says which argument to give.

    Example:
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
    if isinstance(module, Network):
        raise InputError(f"network {module.id} is a network already; analyze takes it as it is")
    if not callable(module):
        raise InputError(f"{shown(module)} is neither a PyTorch module nor a function of (a, b)")
    if operation not in OPERATIONS_ASKED:
        raise InputError(
            f"operation is {shown(operation)}; choose one of {', '.join(OPERATIONS_ASKED)}"
        )
    asked = _Asked(
        module, embedding, tokens, answer, outputs, "add" if operation == "auto" else operation
    )
    TaskSettings(modulus=modulus)  # which says what a modulus can be
    try:
        network = asked.wrapped(modulus)
    except _Unsteady:
        raise
    except InputError as error:
        raise _with_question(error, asked, modulus) from None
    if outputs is None:
        _check_modulus(network, asked, modulus)
    return _as_it_answers(network, asked, modulus) if operation == "auto" else network


@dataclass(frozen=True)
class _Asked:
    """The arguments of `wrap`, without the modulus."""

    module: Callable[..., Any]
    embedding: str | Sequence[str] | None
    tokens: str | Callable[[Tensor, Tensor], Any] | None
    answer: str | int | Callable[[Any], Tensor] | None
    outputs: int | None
    operation: str

    @property
    def name(self) -> str:
        kind = "module" if isinstance(self.module, nn.Module) else "function"
        return f"{kind} {getattr(self.module, '__name__', type(self.module).__name__)}"

    def wrapped(self, modulus: int) -> Wrapped | Recorded:
        least = 1 if self.operation == "multiply" else 0
        task = TaskSettings(
            modulus=modulus - least, training_fraction=None, operation=self.operation
        )
        read = reader(self.answer, modulus, self.outputs, least)
        if not isinstance(self.module, nn.Module):
            return _of_function(task, self.module, read, least)
        if next(self.module.parameters(), None) is None:
            raise InputError(f"{self.name} has no parameters; give its forward function instead")
        with torch.no_grad(), untouched(self.module):
            return _first_that_works(task, self.module, self.embedding, self.tokens, read, modulus)

    def at_other_moduli(self, moduli: Sequence[int]) -> dict[int, Wrapped | Recorded]:
        """The same at those of these moduli at which it runs."""
        networks: dict[int, Wrapped | Recorded] = {}
        for modulus in moduli:
            try:
                networks[modulus] = self.wrapped(modulus)
            except Exception:  # whatever a module raises on input that is not its own
                continue
        return networks


def _accuracy(network: Wrapped | Recorded) -> float:
    """Share of all pairs whose largest logit is the right answer's."""
    right = network.answers().cpu() == answers(network.task)
    return right.double().mean().item()


def _described_sizes(asked: _Asked, outputs: int) -> str:
    """tok has 37 rows and 37 logits come out."""
    tables = described_tables(asked.module)
    return f"{tables} and {outputs} logits come out" if tables else f"{outputs} logits come out"


def _with_question(error: InputError, asked: _Asked, modulus: int) -> InputError:
    """The error of a modulus that does not work, or the question whether another was meant that
    does.
    """
    likely = likely_moduli(asked.module)
    if modulus in likely or asked.outputs is not None:
        return error
    running = asked.at_other_moduli(likely)
    if not running:
        return error
    fitting = {
        candidate: network
        for candidate, network in running.items()
        if candidate == network.settings.outputs
    }
    candidates = fitting or running
    likeliest = max(candidates, key=lambda candidate: _accuracy(candidates[candidate]))
    sizes = _described_sizes(asked, candidates[likeliest].settings.outputs)
    return InputError(
        f"{asked.name}: modulus is {modulus}, but {sizes}; did you mean modulus={likeliest}?"
    )


def _check_modulus(network: Wrapped | Recorded, asked: _Asked, modulus: int) -> None:
    """Ask about a modulus that runs where another answers far more pairs right; say so where
    sizes are unusual.
    """
    outputs = network.settings.outputs
    own = _accuracy(network) if outputs > network.task.modulus else 1.0
    if own == 1:
        return
    larger = [likely for likely in likely_moduli(asked.module, outputs) if likely > modulus]
    candidates = asked.at_other_moduli(larger)
    shares = {candidate: _accuracy(wrapped) for candidate, wrapped in candidates.items()}
    best = max(shares, key=lambda candidate: shares[candidate], default=modulus)
    sizes = _described_sizes(asked, outputs)
    if best != modulus and 1 - shares[best] < (1 - own) / 2:
        raise InputError(
            f"{asked.name}: modulus is {modulus}, but {sizes}; {floored(shares[best])} of all "
            f"pairs are right modulo {best}, "
            f"and {floored(own)} modulo {modulus}. Did you mean modulus={best}? "
            f"outputs={modulus} insists on {modulus}"
        )
    usual = (modulus, modulus + 1, modulus + 2, 2 * modulus, 2 * modulus + 1)
    if outputs not in usual:
        network.notes = (*network.notes, f"modulus is {modulus}, but {sizes}")


def _as_it_answers(network: Wrapped | Recorded, asked: _Asked, modulus: int) -> Wrapped | Recorded:
    """The network with the operation that its answers to all pairs follow; addition where they
    follow none.
    """
    result = learned(network.answers().cpu().numpy())
    if result is None or not result.asked_as:
        return network
    if result.operation == "multiply":
        network = replace(asked, operation="multiply").wrapped(modulus)
    else:
        network.task = following(network.task, result)
    network.notes = (*network.notes, f"operation auto: {result.sentence}")
    return network


def _first_that_works(
    task: TaskSettings,
    module: nn.Module,
    embedding: str | Sequence[str] | None,
    tokens: Any,
    read: Read,
    p: int,
) -> Wrapped:
    chosen = [embedding] if isinstance(embedding, str) else embedding
    names = find_embedding(module, p) if chosen is None else list(chosen)
    problems = []
    for written in [tokens] if tokens is not None else templates(module, names, p):
        for cut in cuts_at(module, names, p):
            network = Wrapped(task, module, writer(written, p, p - task.modulus), read, cut)
            try:
                _check_cut(network)
            except _Unsteady:
                raise
            except InputError as error:
                problems.append(f"{_described_tokens(written)}: {error}")
            except Exception as error:  # whatever the module raises on input that is not its own
                message = str(error).splitlines()[0] if str(error) else ""
                problems.append(f"{_described_tokens(written)}: {type(error).__name__}: {message}")
            else:
                network.notes = tuple(_notes(network, written))
                network.measure_sizes()
                return network
    raise InputError(
        f"module {type(module).__name__}, cut at {' and '.join(names)}, does not run: "
        f"{'; '.join(dict.fromkeys(problems))}"
    )


def _notes(network: Wrapped, written: Any) -> Iterator[str]:
    yield f"cut at {network.where}, {_described_tokens(written)}"
    if network.cut == "first layer":
        yield (
            f"it has no embedding: the first matrix, {network.where}, is taken for the table, "
            "and circularity is undefined; "
            "gradient symmetricity depends on this cut"
        )


def _described_tokens(written: Any) -> str:
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
    logits = network.logits_from_embeddings(first[pairs[:, 0]], second[pairs[:, 1]])
    if logits.dim() != 2 or logits.shape[1] < p:
        raise InputError(
            f"it gives logits of shape {shape_of(logits)}; it must give {p} or more per pair "
            "(see `answer`)"
        )
    apart = (logits - expected).abs().max().item()
    largest = expected.abs().max().item()
    if not apart <= AGREEMENT * max(largest, 1e-30):
        raise InputError(
            f"with its own embeddings put back at {network.where}, logits differ by "
            f"{apart:.2g}: operands also enter elsewhere"
        )


def _of_function(
    task: TaskSettings, function: Callable[..., Any], read: Read, least: int
) -> Recorded:
    p = task.modulus
    pairs = all_pairs(task.modulus) + least
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
        raise InputError(
            f"function {name} gives {logits.shape[1]} logits per pair; it must give {p} or more"
        )
    kept = logits.dtype if logits.dtype == torch.float32 else torch.float64
    return of_logits(
        task, name if name.isidentifier() else "function", logits.to(kept).view(p, p, -1)
    )


def _tensor(value: Any) -> Tensor:
    return value.detach() if isinstance(value, Tensor) else torch.as_tensor(value)
