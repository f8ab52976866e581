"""A module of float64 weights whose code asks for float32 on its way gets float64, in this thread
alone.

`torch.set_default_dtype` would do most of it, but every other thread of the process would see it,
too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

# Their numbers depend on the type that is asked for, and asking twice draws twice.
RANDOM = ("rand", "normal", "bernoulli", "poisson", "multinomial")


class InDouble(TorchFunctionMode):
    """`one_hot(x).float()`, `torch.zeros(3)`, `torch.tensor(0.1)` and `positions / 2` give
    float64.
    """

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is Tensor.float:
            func = Tensor.double
        args = tuple(_asked(value) for value in args)
        named = {name: _asked(value) for name, value in (kwargs or {}).items()}
        result = func(*args, **named)
        if not _is_short(result) or any(map(_is_short, tree_leaves((args, named)))):
            return result
        return _computed_in_double(func, args, named, result)


def _asked(value: Any) -> Any:
    return torch.float64 if value is torch.float32 else value


def _is_short(value: Any) -> bool:
    """Whether it has the type that PyTorch takes by itself, and that is not float64."""
    if not isinstance(value, Tensor) or value.dtype == torch.float64:
        return False
    return value.dtype in (torch.float32, torch.get_default_dtype())


def _computed_in_double(
    func: Any, args: tuple[Any, ...], named: dict[str, Any], result: Tensor
) -> Tensor:
    """What a function gives that made floats from integers or Python numbers, not rounded to
    float32.
    """
    name = getattr(func, "__name__", "")
    if name.startswith(RANDOM):
        return result.double()
    given_tensors = any(isinstance(value, Tensor) for value in tree_leaves((args, named)))
    try:
        if given_tensors:
            again = func(*tree_map(_as_double, args), **tree_map(_as_double, named))
        else:
            again = func(*args, **{**named, "dtype": torch.float64})
    except (TypeError, RuntimeError, IndexError):  # it takes no dtype, or whole numbers only
        return result.double()
    same_kind = (
        isinstance(again, Tensor) and again.dtype == torch.float64 and again.shape == result.shape
    )
    return again if same_kind else result.double()


def _as_double(value: Any) -> Any:
    whole = isinstance(value, Tensor) and not value.is_floating_point() and not value.is_complex()
    return value.double() if whole and value.dtype != torch.bool else value
