"""Where the operands of a module from elsewhere are cut off: their embeddings are read there, and
put back.

    Lookup       modules that turn token numbers into embeddings (nn.Embedding, TransformerLens's Embed)
    Rows         bare parameters that the module indexes by token numbers
    FirstLayer   one-hot numbers times a first matrix: its columns are the tables, and their sum is put back

To put embeddings into a Lookup, operands are written as numbers beyond every vocabulary, which mark
where they arrive.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from algophase.core.errors import InputError
from algophase.networks.writing import Arguments, Write, shape_of

MARK = 2**30  # token numbers from here on mark operands; they fit 32 bits


@contextmanager
def _patched(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """The module with another `forward`, which is given its own one first."""
    own, held = module.forward, "forward" in vars(module)
    module.forward = lambda *args, **kwargs: forward(own, *args, **kwargs)
    try:
        yield
    finally:
        if held:
            module.forward = own
        else:
            del module.forward


def _places(write: Write, device: torch.device) -> list[tuple[Tensor, Tensor]]:
    """Where the two operands stand in each argument: masks (1, ...) of the entries that change
    with them.
    """
    zero, one = (
        torch.zeros(1, dtype=torch.long, device=device),
        torch.ones(1, dtype=torch.long, device=device),
    )
    found = [
        (first != neither, second != neither)
        for neither, first, second in zip(
            write(zero, zero), write(one, zero), write(zero, one), strict=True
        )
    ]
    if any(bool((first & second).any()) for first, second in found):
        raise InputError(
            "tokens writes a and b into one number; each operand must have a token of its own"
        )
    for name, operand in (("a", 0), ("b", 1)):
        if not any(bool(each[operand].any()) for each in found):
            raise InputError(f"tokens writes the same whatever {name} is")
    return found


def _marked(
    arguments: Arguments, places: list[tuple[Tensor, Tensor]], first: Tensor, second: Tensor
) -> Arguments:
    """The arguments with other numbers (n,) where the operands stand."""
    marked = []
    for argument, (at_first, at_second) in zip(arguments, places, strict=True):
        shape = (-1, *(1,) * (argument.dim() - 1))
        argument = torch.where(at_first, first.view(shape).to(argument.dtype), argument)
        marked.append(torch.where(at_second, second.view(shape).to(argument.dtype), argument))
    return tuple(marked)


def _token_numbers(
    arguments: Arguments, places: list[tuple[Tensor, Tensor]]
) -> tuple[Tensor, Tensor]:
    """The numbers (n,) by which each operand is written."""
    of_operand = [
        next(
            argument[at[operand].expand_as(argument)].view(len(argument), -1)[:, 0]
            for argument, at in paired
            if at[operand].any()
        )
        for operand in (0, 1)
        for paired in [list(zip(arguments, places, strict=True))]
    ]
    return of_operand[0], of_operand[1]


class Lookup:
    """Modules that look token numbers up."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def __str__(self) -> str:
        return " and ".join(self.names)

    def tables(self, module: nn.Module, write: Write, numbers: Tensor) -> tuple[Tensor, Tensor]:
        seen: dict[
            int, tuple[str, Tensor, Tensor]
        ] = {}  # by operand: which module, the tokens, their embeddings
        self._call(module, write, numbers, numbers, None, seen)
        missing = [operand for operand in (0, 1) if operand not in seen]
        if missing:
            what = (
                "the first operand's"
                if missing == [0]
                else "the second operand's"
                if missing == [1]
                else "neither operand's"
            )
            raise InputError(
                f"embedding {self} is given {what} token{'s' if len(missing) == 1 else ''}"
            )
        (name, tokens, first), (other, others, second) = seen[0], seen[1]
        return (first, first) if name == other and torch.equal(tokens, others) else (first, second)

    def run(self, module: nn.Module, write: Write, first: Tensor, second: Tensor) -> Any:
        numbers = torch.zeros(len(first), dtype=torch.long, device=first.device)
        return self._call(module, write, numbers, numbers, torch.cat([first, second]), {})

    def _call(
        self,
        module: nn.Module,
        write: Write,
        a: Tensor,
        b: Tensor,
        rows: Tensor | None,
        seen: dict[int, tuple[str, Tensor, Tensor]],
    ) -> Any:
        arguments, places = write(a, b), _places(write, a.device)
        real, index = (
            torch.cat(_token_numbers(arguments, places)),
            torch.arange(len(a), device=a.device),
        )
        marked = _marked(arguments, places, MARK + index, MARK + len(a) + index)

        def forward(
            name: str, own: Callable[..., Any], ids: Tensor, *rest: Any, **named: Any
        ) -> Any:
            mark = ids >= MARK
            place = torch.where(mark, ids - MARK, 0).long()
            out = own(torch.where(mark, real[place].to(ids.dtype), ids), *rest, **named)
            if not isinstance(out, Tensor) or out.shape[:-1] != ids.shape:
                raise InputError(
                    f"embedding {name} must turn token numbers into one row each; it gives "
                    f"{shape_of(out)}"
                )
            if rows is not None:
                return torch.where(mark[..., None], rows[place], out)
            for operand in (0, 1):
                these = mark & (place // len(a) == operand)
                if these.any() and operand not in seen:
                    found = out.new_zeros(len(a), out.shape[-1])
                    found[place[these] % len(a)] = out[these]
                    seen[operand] = (name, real[operand * len(a) : (operand + 1) * len(a)], found)
            return out

        with ExitStack() as stack:
            for name in self.names:
                looked_up = module.get_submodule(name)
                stack.enter_context(
                    _patched(
                        looked_up,
                        lambda own, *args, name=name, **named: forward(name, own, *args, **named),
                    )
                )
            return module(*marked)


class Rows:
    """Bare parameters that the module indexes by token numbers, along an axis: one table, or one
    for each operand.
    """

    def __init__(self, names: Sequence[str], axis: int = 0) -> None:
        self.names, self.axis = tuple(names), axis

    def __str__(self) -> str:
        return " and ".join(self.names)

    def _parameters(self, module: nn.Module) -> tuple[Tensor, Tensor]:
        first, second = (module.get_parameter(name) for name in (self.names[0], self.names[-1]))
        return first, second

    def tables(self, module: nn.Module, write: Write, numbers: Tensor) -> tuple[Tensor, Tensor]:
        tokens = _token_numbers(write(numbers, numbers), _places(write, numbers.device))
        found = [
            table.index_select(self.axis, token).movedim(self.axis, 0)
            for table, token in zip(self._parameters(module), tokens, strict=True)
        ]
        shared = len(self.names) == 1 and torch.equal(*tokens)
        return found[0], found[0 if shared else 1]

    def run(self, module: nn.Module, write: Write, first: Tensor, second: Tensor) -> Any:
        n, numbers = len(first), torch.zeros(len(first), dtype=torch.long, device=first.device)
        tables, index = self._parameters(module), torch.arange(n, device=first.device)
        one = len(self.names) == 1
        added = [torch.cat([first, second])] if one else [first, second]
        longer = {
            name: torch.cat([module.get_parameter(name), rows.movedim(0, self.axis)], dim=self.axis)
            for name, rows in zip(self.names, added, strict=True)
        }
        starts = [table.shape[self.axis] for table in tables]
        arguments, places = write(numbers, numbers), _places(write, numbers.device)
        marked = _marked(
            arguments, places, starts[0] + index, starts[1] + (n if one else 0) + index
        )
        return functional_call(module, longer, marked, tie_weights=False)


class FirstLayer:
    """A first matrix that reads one-hot numbers: a module that is given them, or a bare
    parameter.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def tables(self, module: nn.Module, write: Write, numbers: Tensor) -> tuple[Tensor, Tensor]:
        zeros = torch.zeros_like(numbers)
        both, first, second, neither = (
            self._input(module, write, a, b)
            for a, b in (
                (numbers, numbers),
                (numbers, zeros),
                (zeros, numbers),
                (zeros[:1], zeros[:1]),
            )
        )
        of_first, of_second = ((each != neither).any(0) for each in (first, second))
        if not bool((of_first & of_second).any()):
            return self._times(module, both * of_first), self._times(module, both * of_second)
        if torch.equal(first, second) and torch.equal(2 * first, both + neither):
            table = self._times(module, both / 2)
            return table, table
        raise InputError(
            f"embedding {self.name} reads numbers that are neither one-hot beside each other "
            "nor their sum"
        )

    def run(self, module: nn.Module, write: Write, first: Tensor, second: Tensor) -> Any:
        total = first + second
        numbers = torch.zeros(len(first), dtype=torch.long, device=first.device)
        if self._bare(module):
            eye = torch.eye(total.shape[-1], dtype=total.dtype, device=total.device)
            return functional_call(module, {self.name: eye}, (total,), tie_weights=False)

        def forward(own: Callable[..., Any], x: Tensor) -> Tensor:
            return total.view(*x.shape[:-1], -1) + own(torch.zeros_like(x[:1]))

        with _patched(module.get_submodule(self.name), forward):
            return module(*write(numbers, numbers))

    def _bare(self, module: nn.Module) -> bool:
        return self.name in dict(module.named_parameters())

    def _input(self, module: nn.Module, write: Write, a: Tensor, b: Tensor) -> Tensor:
        """What the matrix is given for these operands, (n, columns)."""
        arguments = write(a, b)
        if self._bare(module):
            return arguments[0].to(module.get_parameter(self.name).dtype)
        given: list[Tensor] = []

        def forward(own: Callable[..., Any], x: Tensor) -> Tensor:
            given.append(x.detach())
            return own(x)

        with _patched(module.get_submodule(self.name), forward):
            module(*arguments)
        if len(given) != 1 or given[0].shape[0] != len(a) or given[0].dim() != 2:
            raise InputError(
                f"embedding {self.name} must read one row per pair, once; it reads "
                f"{[shape_of(x) for x in given]}"
            )
        return given[0]

    def _times(self, module: nn.Module, x: Tensor) -> Tensor:
        """x times the matrix, without its bias."""
        if self._bare(module):
            matrix = module.get_parameter(self.name)
            return x @ (matrix if matrix.shape[0] == x.shape[-1] else matrix.T)
        layer = module.get_submodule(self.name)
        return layer(x) - layer(torch.zeros_like(x[:1]))
