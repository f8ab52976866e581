"""Where the operands of a module from elsewhere are cut off: their embeddings are read there, and
put back.

    Lookup       modules that turn token numbers into embeddings (nn.Embedding,
                 TransformerLens's Embed)
    Rows         bare parameters that the module indexes by token numbers
    FirstLayer   one-hot numbers times a first matrix: its columns are the tables, and their sum
                 is put back

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
from algophase.networks._writing import Arguments, Write, shape_of

MARK = 2**30  # token numbers from here on mark operands; they fit 32 bits


@contextmanager
def _patched(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """The module with another `forward`, which is given its own one first."""
    own = module.forward
    is_patched = "forward" in vars(module)
    module.forward = lambda *args, **kwargs: forward(own, *args, **kwargs)
    try:
        yield
    finally:
        if is_patched:
            module.forward = own
        else:
            del module.forward


# Where the two operands stand in each argument: masks (1, ...) of the entries that change with
# them.
Masks = list[tuple[Tensor, Tensor]]


def _operand_masks(write: Write, device: torch.device) -> Masks:
    zero = torch.zeros(1, dtype=torch.long, device=device)
    one = torch.ones_like(zero)
    masks = []
    for neither, first, second in zip(
        write(zero, zero), write(one, zero), write(zero, one), strict=True
    ):
        masks.append((first != neither, second != neither))
    if any(bool((at_first & at_second).any()) for at_first, at_second in masks):
        raise InputError(
            "tokens writes a and b into one number; each operand must have a token of its own"
        )
    for operand, name in enumerate("ab"):
        if not any(bool(of_argument[operand].any()) for of_argument in masks):
            raise InputError(f"tokens writes the same whatever {name} is")
    return masks


def _marked(arguments: Arguments, masks: Masks, first: Tensor, second: Tensor) -> Arguments:
    """The arguments with other numbers (n,) where the operands stand."""
    marked = []
    for argument, (at_first, at_second) in zip(arguments, masks, strict=True):
        shape = (-1, *(1,) * (argument.dim() - 1))
        argument = torch.where(at_first, first.view(shape).to(argument.dtype), argument)
        marked.append(torch.where(at_second, second.view(shape).to(argument.dtype), argument))
    return tuple(marked)


def _token_numbers(arguments: Arguments, masks: Masks) -> tuple[Tensor, Tensor]:
    """The numbers (n,) by which each operand is written."""
    numbers: dict[int, Tensor] = {}  # by operand, from the first argument that has it
    for argument, of_argument in zip(arguments, masks, strict=True):
        for operand, mask in enumerate(of_argument):
            if operand not in numbers and mask.any():
                written = argument[mask.expand_as(argument)].view(len(argument), -1)
                numbers[operand] = written[:, 0]
    return numbers[0], numbers[1]


# What a look-up gave for an operand: by which module, for which tokens (n,), their embeddings.
LookedUp = tuple[str, Tensor, Tensor]


class Lookup:
    """Modules that look token numbers up."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def __str__(self) -> str:
        return " and ".join(self.names)

    def tables(self, module: nn.Module, write: Write, numbers: Tensor) -> tuple[Tensor, Tensor]:
        by_operand: dict[int, LookedUp] = {}
        self._call(module, write, numbers, numbers, None, by_operand)
        if not by_operand:
            raise InputError(f"embedding {self} is given neither operand's token")
        for operand, which in enumerate(("first", "second")):
            if operand not in by_operand:
                raise InputError(f"embedding {self} is not given the {which} operand's tokens")
        first_name, first_tokens, first = by_operand[0]
        second_name, second_tokens, second = by_operand[1]
        if first_name == second_name and torch.equal(first_tokens, second_tokens):
            return first, first
        return first, second

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
        by_operand: dict[int, LookedUp],
    ) -> Any:
        arguments = write(a, b)
        masks = _operand_masks(write, a.device)
        real = torch.cat(_token_numbers(arguments, masks))
        index = torch.arange(len(a), device=a.device)
        marked = _marked(arguments, masks, MARK + index, MARK + len(a) + index)

        def forward(
            name: str, own: Callable[..., Any], ids: Tensor, *rest: Any, **named: Any
        ) -> Any:
            mark = ids >= MARK
            entry = torch.where(mark, ids - MARK, 0).long()
            real_ids = torch.where(mark, real[entry].to(ids.dtype), ids)
            out = own(real_ids, *rest, **named)
            if not isinstance(out, Tensor) or out.shape[:-1] != ids.shape:
                raise InputError(
                    f"embedding {name} must turn token numbers into one row each; it gives "
                    f"{shape_of(out)}"
                )
            if rows is not None:
                return torch.where(mark[..., None], rows[entry], out)
            for operand, tokens in enumerate(real.split(len(a))):
                of_this = mark & (entry // len(a) == operand)
                if of_this.any() and operand not in by_operand:
                    table = out.new_zeros(len(a), out.shape[-1])
                    table[entry[of_this] % len(a)] = out[of_this]
                    by_operand[operand] = (name, tokens, table)
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
        first = module.get_parameter(self.names[0])
        second = module.get_parameter(self.names[-1])
        return first, second

    def tables(self, module: nn.Module, write: Write, numbers: Tensor) -> tuple[Tensor, Tensor]:
        masks = _operand_masks(write, numbers.device)
        first_tokens, second_tokens = _token_numbers(write(numbers, numbers), masks)
        first_parameter, second_parameter = self._parameters(module)
        first = first_parameter.index_select(self.axis, first_tokens).movedim(self.axis, 0)
        if len(self.names) == 1 and torch.equal(first_tokens, second_tokens):
            return first, first
        second = second_parameter.index_select(self.axis, second_tokens).movedim(self.axis, 0)
        return first, second

    def run(self, module: nn.Module, write: Write, first: Tensor, second: Tensor) -> Any:
        n = len(first)
        numbers = torch.zeros(len(first), dtype=torch.long, device=first.device)
        tables = self._parameters(module)
        index = torch.arange(n, device=first.device)
        one = len(self.names) == 1
        added = [torch.cat([first, second])] if one else [first, second]
        longer: dict[str, Tensor] = {}
        for name, rows in zip(self.names, added, strict=True):
            parts = [module.get_parameter(name), rows.movedim(0, self.axis)]
            longer[name] = torch.cat(parts, dim=self.axis)
        starts = [table.shape[self.axis] for table in tables]
        arguments = write(numbers, numbers)
        masks = _operand_masks(write, numbers.device)
        second_start = starts[1] + (n if one else 0)
        marked = _marked(arguments, masks, starts[0] + index, second_start + index)
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
        both = self._input(module, write, numbers, numbers)
        first = self._input(module, write, numbers, zeros)
        second = self._input(module, write, zeros, numbers)
        neither = self._input(module, write, zeros[:1], zeros[:1])
        of_first = (first != neither).any(0)
        of_second = (second != neither).any(0)
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
            bias = own(torch.zeros_like(x[:1]))
            return total.view(*x.shape[:-1], -1) + bias

        with _patched(module.get_submodule(self.name), forward):
            return module(*write(numbers, numbers))

    def _bare(self, module: nn.Module) -> bool:
        return self.name in dict(module.named_parameters())

    def _input(self, module: nn.Module, write: Write, a: Tensor, b: Tensor) -> Tensor:
        """What the matrix is given for these operands, (n, columns)."""
        arguments = write(a, b)
        if self._bare(module):
            return arguments[0].to(module.get_parameter(self.name).dtype)
        inputs: list[Tensor] = []

        def forward(own: Callable[..., Any], x: Tensor) -> Tensor:
            inputs.append(x.detach())
            return own(x)

        with _patched(module.get_submodule(self.name), forward):
            module(*arguments)
        if len(inputs) != 1 or inputs[0].shape[0] != len(a) or inputs[0].dim() != 2:
            raise InputError(
                f"embedding {self.name} must read one row per pair, once; it reads "
                f"{[shape_of(x) for x in inputs]}"
            )
        return inputs[0]

    def _times(self, module: nn.Module, x: Tensor) -> Tensor:
        """x times the matrix, without its bias."""
        if self._bare(module):
            matrix = module.get_parameter(self.name)
            return x @ (matrix if matrix.shape[0] == x.shape[-1] else matrix.T)
        layer = module.get_submodule(self.name)
        return layer(x) - layer(torch.zeros_like(x[:1]))
