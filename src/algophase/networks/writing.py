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


def _as_tuple(given: Any) -> Arguments:
    found = (
        given if isinstance(given, tuple) else tuple(given) if isinstance(given, list) else (given,)
    )
    if not found or not all(isinstance(each, Tensor) for each in found):
        raise InputError(f"tokens gives {shown(given)}; it must give a tensor, or a tuple of them")
    return found


class _OneHot:
    def __init__(self, p: int, added: bool) -> None:
        self.p, self.added = p, added

    def __call__(self, a: Tensor, b: Tensor) -> Arguments:
        first, second = (F.one_hot(each, self.p).float() for each in (a, b))
        return (first + second if self.added else torch.cat([first, second], dim=-1),)


class _Template:
    """Words a, b, a+N, b+N, numbers, and others that are tokens p, p + 1, ... in their order;
    commas part arguments.
    """

    def __init__(self, text: str, p: int) -> None:
        others: dict[str, int] = {}
        self.parts = [
            [self._word(word, p, others) for word in part.split()] for part in text.split(",")
        ]
        named = [operand for part in self.parts for operand, _ in part]
        if "a" not in named or "b" not in named or not all(self.parts):
            raise InputError(f"tokens is {text!r}; it must name a and b, as 'a b =' does")

    @staticmethod
    def _word(word: str, p: int, others: dict[str, int]) -> tuple[str, int]:
        operand, _, offset = word.partition("+")
        if operand in ("a", "b") and (offset.isdigit() or word == operand):
            return operand, int(offset or 0)
        return "", int(word) if word.isdigit() else others.setdefault(word, p + len(others))

    def __call__(self, a: Tensor, b: Tensor) -> Arguments:
        operands = {"a": a, "b": b, "": torch.zeros_like(a)}
        columns = [[operands[name] + offset for name, offset in part] for part in self.parts]
        several = len(columns) > 1
        return tuple(
            part[0] if several and len(part) == 1 else torch.stack(part, dim=1) for part in columns
        )


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

    def __call__(self, given: Any) -> Tensor:
        found = self.answer(given) if callable(self.answer) else _named(given, self.answer)
        if not isinstance(found, Tensor):
            raise InputError(
                f"the answer is {shape_of(found)}; `answer` must say where the logits are"
            )
        if found.dim() == 3:
            found = found[:, self.answer if isinstance(self.answer, int) else -1]
        return found[..., : self.outputs].roll(-self.least, dims=-1)


def _named(given: Any, name: Any) -> Any:
    if isinstance(name, str):
        if isinstance(given, Mapping):
            if name not in given:
                raise InputError(
                    f"answer is {name!r}; the module gives {', '.join(map(str, given))}"
                )
            return given[name]
        if not hasattr(given, name):
            raise InputError(
                f"answer is {name!r}, but the module gives {shape_of(given)} without it"
            )
        return getattr(given, name)
    if isinstance(given, Mapping) and "logits" in given:
        return given["logits"]
    if isinstance(given, Tensor):
        return given
    return getattr(
        given, "logits", given[0] if isinstance(given, tuple | list) and given else given
    )


def shape_of(given: Any) -> str:
    return (
        f"a tensor {tuple(given.shape)}"
        if isinstance(given, Tensor)
        else f"a {type(given).__name__}"
    )
