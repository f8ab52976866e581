"""Dataclasses as plain values that JSON holds, and back, by the types that their fields declare.

A dataclass is an object with its fields, a tuple a list, an undefined number null. An array keeps
its shape: `{"shape": [2, 3], "numbers": [[...]]}`, with a second list where it is complex.

Plain values may come from a file of anyone's: whatever has another type than the field that it is
read into raises TypeError, ValueError or KeyError.
"""

import dataclasses
import functools
import math
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

T = TypeVar("T")
Read = Callable[[Any], Any]

# For `field(metadata=UNRECORDED)`: what a dataclass keeps for those who compute with it.
UNRECORDED: Final[Mapping[str, bool]] = types.MappingProxyType({"recorded": False})


def recorded_fields(kind: Any) -> list["dataclasses.Field[Any]"]:
    """The fields of a dataclass, or of one's value, that a record has."""
    return [field for field in dataclasses.fields(kind) if field.metadata.get("recorded", True)]


def to_plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in recorded_fields(value)]
        return {name: to_plain(getattr(value, name)) for name in names}
    if isinstance(value, Tensor):
        return to_plain(value.detach().cpu().numpy())
    if isinstance(value, np.ndarray):
        return _array_to_plain(value)
    if isinstance(value, Mapping):
        return {str(name): to_plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def _array_to_plain(array: NDArray[Any]) -> dict[str, Any]:
    parts = [array.real, array.imag] if np.iscomplexobj(array) else [array]
    numbers = [to_plain(part.ravel().tolist()) for part in parts]
    return {"shape": list(array.shape), "numbers": numbers}


def from_plain(kind: type[T], plain: Any) -> T:
    """The value of this type that `to_plain` was given."""
    read = _reader(cast(Any, kind))
    return cast(T, read(plain))


def read_fields(kind: Any, plain: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass that are among these plain values, each as its type."""
    readers = _field_readers(kind)
    return {name: read(plain[name]) for name, read in readers.items() if name in plain}


def undefined_numbers(kind: Any) -> dict[str, None]:
    """Null for every number of a dataclass: what an older record may lack."""
    return {name: None for name, read in _field_readers(kind).items() if read is _read_float}


@functools.cache
def _reader(kind: Any) -> Read:
    """The function that reads plain values of a type. Kept: a table has thousands of rows."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return functools.partial(_read_dataclass, kind)
    origin = get_origin(kind)
    if origin is None:
        return _SIMPLE.get(kind, functools.partial(_read_instance, kind))
    arguments = get_args(kind)
    if origin in (Union, types.UnionType):
        return _optional_reader(arguments)
    if origin is Literal:
        return functools.partial(_read_choice, arguments)
    if origin is tuple:
        return _tuple_reader(arguments)
    if origin is np.ndarray:
        return _read_array
    if issubclass(origin, Mapping):
        return _mapping_reader(arguments[1])
    raise TypeError(f"no plain value is read as {kind}")


@functools.cache
def _field_readers(kind: Any) -> dict[str, Read]:
    hints = get_type_hints(kind)
    return {field.name: _reader(hints[field.name]) for field in recorded_fields(kind)}


@functools.cache
def _required_fields(kind: Any) -> list[str]:
    names = []
    for field in recorded_fields(kind):
        no_default = field.default is dataclasses.MISSING
        no_factory = field.default_factory is dataclasses.MISSING
        if no_default and no_factory:
            names.append(field.name)
    return names


def _read_dataclass(kind: Any, plain: Any) -> Any:
    """A field that plain values of an earlier version lack has its default."""
    for name in _required_fields(kind):
        if name not in plain:
            raise KeyError(name)
    return kind(**read_fields(kind, plain))


def _read_instance(kind: type, plain: Any) -> Any:
    if not isinstance(plain, kind):
        raise TypeError(f"{plain!r} is not of type {kind.__name__}")
    return plain


def _read_float(plain: Any) -> float:
    if plain is None:
        return math.nan
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise TypeError(f"{plain!r} is not a number")
    try:
        return float(plain)
    except OverflowError:
        raise ValueError("an integer of that many digits is not a number here") from None


def _read_int(plain: Any) -> int:
    """A table with gaps makes 128.0 out of 128."""
    number = _read_float(plain)
    if not number.is_integer():
        raise ValueError(f"{plain!r} is not an integer")
    return int(plain)


def _read_bool(plain: Any) -> bool:
    if plain not in (0, 1):
        raise ValueError(f"{plain!r} is neither true nor false")
    return bool(plain)


def _read_choice(choices: tuple[Any, ...], plain: Any) -> Any:
    if plain not in choices:
        raise ValueError(f"{plain!r} is none of {choices}")
    return plain


def _optional_reader(kinds: tuple[Any, ...]) -> Read:
    """Of `T | None`."""
    (inner,) = [kind for kind in kinds if kind is not type(None)]
    read = _reader(inner)
    return lambda plain: None if plain is None else read(plain)


def _tuple_reader(kinds: tuple[Any, ...]) -> Read:
    readers = [_reader(kind) for kind in kinds if kind is not Ellipsis]

    def read_tuple(plain: Any) -> tuple[Any, ...]:
        items = _read_instance(list, plain)
        by_place = readers * len(items) if Ellipsis in kinds else readers
        return tuple(read(item) for read, item in zip(by_place, items, strict=True))

    return read_tuple


def _mapping_reader(kind: Any) -> Read:
    read = _reader(kind)
    return lambda plain: {str(name): read(item) for name, item in plain.items()}


def _read_array(plain: Any) -> NDArray[Any]:
    """Nested lists of numbers too, as a table has them."""
    if isinstance(plain, list):
        return np.array(_read_nested(plain), dtype=float)
    parts = [np.array(_read_nested(part), dtype=float) for part in plain["numbers"]]
    array = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    return array.reshape(plain["shape"])


def _read_nested(plain: Any) -> Any:
    return [_read_nested(item) for item in plain] if isinstance(plain, list) else _read_float(plain)


def _read_tensor(plain: Any) -> Tensor:
    return torch.from_numpy(_read_array(plain))


_SIMPLE: Final[Mapping[Any, Read]] = {
    float: _read_float,
    int: _read_int,
    bool: _read_bool,
    Tensor: _read_tensor,
    Any: lambda plain: plain,
}
