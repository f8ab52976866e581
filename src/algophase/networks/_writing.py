"""How a pair of operands is written for a module that comes from elsewhere, and where its answer
is read.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import shown

Arguments = tuple[Tensor, ...]
Write = Callable[[Tensor, Tensor], Arguments]  # operands (n,) and (n,) as what a module takes
Read = Callable[[Any], Tensor]  # what it gives as logits (n, outputs)

ONE_HOT = {"one-hot": False, "one-hot sum": True}  # both numbers beside each other, or added


def writer(tokens: Any, p: int, least: int = 0) -> Write:
    """least: the number that the first token stands for, 1 where zero is left out."""
    write = _writer(tokens, p)
    return (lambda a, b: write(a + least, b + least)) if least else write


def _writer(tokens: Any, p: int) -> Write:
    if callable(tokens):
        return lambda a, b: _as_tuple(tokens(a, b))
    if not isinstance(tokens, str):
        raise InputError(
            f"tokens is {shown(tokens)}; give a template such as 'a b =' or a function of a and b"
        )
    if tokens in ONE_HOT:
        return _OneHot(p, ONE_HOT[tokens])
    return _Template(tokens, p)


def _as_tuple(value: Any) -> Arguments:
    arguments = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not arguments or not all(isinstance(argument, Tensor) for argument in arguments):
        raise InputError(f"tokens gives {shown(value)}; it must give a tensor, or a tuple of them")
    return arguments


class _OneHot:
    def __init__(self, p: int, added: bool) -> None:
        self.p, self.added = p, added

    def __call__(self, a: Tensor, b: Tensor) -> Arguments:
        first = F.one_hot(a, self.p).float()
        second = F.one_hot(b, self.p).float()
        if self.added:
            return (first + second,)
        return (torch.cat([first, second], dim=-1),)


class _Template:
    """Words a, b, a+N, b+N, numbers, and others that are tokens p, p + 1, ... in their order;
    commas part arguments.
    """

    def __init__(self, text: str, p: int) -> None:
        own_tokens: dict[str, int] = {}
        self.parts: list[list[tuple[str, int]]] = []
        for part in text.split(","):
            self.parts.append([self._word(word, p, own_tokens) for word in part.split()])
        named = [operand for part in self.parts for operand, _ in part]
        if "a" not in named or "b" not in named or not all(self.parts):
            raise InputError(f"tokens is {text!r}; it must name a and b, as 'a b =' does")

    @staticmethod
    def _word(word: str, p: int, own_tokens: dict[str, int]) -> tuple[str, int]:
        operand, _, offset = word.partition("+")
        if operand in ("a", "b") and (offset.isdigit() or word == operand):
            return operand, int(offset or 0)
        if word.isdigit():
            return "", int(word)
        return "", own_tokens.setdefault(word, p + len(own_tokens))

    def __call__(self, a: Tensor, b: Tensor) -> Arguments:
        operands = {"a": a, "b": b, "": torch.zeros_like(a)}
        columns = [[operands[name] + offset for name, offset in part] for part in self.parts]
        several = len(columns) > 1
        arguments = []
        for part in columns:
            is_bare = several and len(part) == 1
            arguments.append(part[0] if is_bare else torch.stack(part, dim=1))
        return tuple(arguments)


def reader(answer: Any, p: int, outputs: int | None, least: int = 0) -> Read:
    """least: as of `writer`; logits of lesser numbers come after all others."""
    if outputs is not None and not (isinstance(outputs, int) and outputs >= p):
        raise InputError(f"outputs is {shown(outputs)}; keep at least {p}, one for each answer")
    if answer is not None and not callable(answer) and not isinstance(answer, int | str):
        raise InputError(
            f"answer is {shown(answer)}; give a position, the name of an output or a function"
        )
    return _Reader(answer, outputs, least)


class _Reader:
    def __init__(self, answer: Any, outputs: int | None, least: int) -> None:
        self.answer, self.outputs, self.least = answer, outputs, least

    def __call__(self, output: Any) -> Tensor:
        if callable(self.answer):
            logits = self.answer(output)
        elif isinstance(self.answer, str):
            logits = _named(output, self.answer)
        else:
            logits = _likely_logits(output)
        if not isinstance(logits, Tensor):
            raise InputError(
                f"the answer is {shape_of(logits)}; `answer` must say where the logits are"
            )
        if logits.dim() == 3:
            logits = logits[:, self.answer if isinstance(self.answer, int) else -1]
        return logits[..., : self.outputs].roll(-self.least, dims=-1)


def _named(output: Any, name: str) -> Any:
    """The part of a module's output that has this name."""
    if isinstance(output, Mapping):
        if name not in output:
            raise InputError(f"answer is {name!r}; the module gives {', '.join(map(str, output))}")
        return output[name]
    if not hasattr(output, name):
        raise InputError(f"answer is {name!r}, but the module gives {shape_of(output)} without it")
    return getattr(output, name)


def _likely_logits(output: Any) -> Any:
    """The logits by default: the output of that name, or the first of several outputs."""
    if isinstance(output, Mapping) and "logits" in output:
        return output["logits"]
    if isinstance(output, Tensor):
        return output
    if hasattr(output, "logits"):
        return output.logits
    return output[0] if isinstance(output, tuple | list) and output else output


def shape_of(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    return f"a {type(value).__name__}"
