"""Dataclasses as JSON values, and back, by the types that their fields declare.

A dataclass is an object with its fields, a tuple a list, an undefined number null. An array keeps
its shape: `{"shape": [2, 3], "numbers": [[...]]}`, with a second list where it is complex.

JSON values may come from any file. A value that does not fit the type of its field raises
TypeError, ValueError or KeyError.
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

# For `field(metadata=UNRECORDED)`: a field that is for computing and not part of the record.
UNRECORDED: Final[Mapping[str, bool]] = types.MappingProxyType({"recorded": False})


def recorded_fields(kind: Any) -> list["dataclasses.Field[Any]"]:
    """The fields of a dataclass, or of one's value, that a record has."""
    return [field for field in dataclasses.fields(kind) if field.metadata.get("recorded", True)]


def encode_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in recorded_fields(value)]
        return {name: encode_value(getattr(value, name)) for name in names}
    if isinstance(value, Tensor):
        return encode_value(value.detach().cpu().numpy())
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, Mapping):
        return {str(name): encode_value(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode_value(item) for item in value]
    return value


def _encode_array(array: NDArray[Any]) -> dict[str, Any]:
    parts = [array.real, array.imag] if np.iscomplexobj(array) else [array]
    numbers = [encode_value(part.ravel().tolist()) for part in parts]
    return {"shape": list(array.shape), "numbers": numbers}


def decode_value(kind: type[T], encoded: Any) -> T:
    """The value of this type that `encode_value` was given."""
    read = _reader(cast(Any, kind))
    return cast(T, read(encoded))


def read_fields(kind: Any, encoded: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass that are among these JSON values, each as its type."""
    readers = _field_readers(kind)
    return {name: read(encoded[name]) for name, read in readers.items() if name in encoded}


def undefined_numbers(kind: Any) -> dict[str, None]:
    """Null for every number of a dataclass: what an older record may lack."""
    return {name: None for name, read in _field_readers(kind).items() if read is _read_float}


@functools.cache
def _reader(kind: Any) -> Read:
    """The function that reads JSON values of a type. Kept: a table has thousands of rows."""
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
    raise TypeError(f"no JSON value is read as {kind}")


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


def _read_dataclass(kind: Any, encoded: Any) -> Any:
    """A field that JSON values of an earlier version lack has its default."""
    for name in _required_fields(kind):
        if name not in encoded:
            raise KeyError(name)
    return kind(**read_fields(kind, encoded))


def _read_instance(kind: type, encoded: Any) -> Any:
    if not isinstance(encoded, kind):
        raise TypeError(f"{encoded!r} is not of type {kind.__name__}")
    return encoded


def _read_float(encoded: Any) -> float:
    if encoded is None:
        return math.nan
    if isinstance(encoded, bool) or not isinstance(encoded, int | float):
        raise TypeError(f"{encoded!r} is not a number")
    try:
        return float(encoded)
    except OverflowError:
        raise ValueError("an integer of that many digits is not a number here") from None


def _read_int(encoded: Any) -> int:
    """A table with gaps makes 128.0 out of 128."""
    number = _read_float(encoded)
    if not number.is_integer():
        raise ValueError(f"{encoded!r} is not an integer")
    return int(encoded)


def _read_bool(encoded: Any) -> bool:
    if encoded not in (0, 1):
        raise ValueError(f"{encoded!r} is neither true nor false")
    return bool(encoded)


def _read_choice(choices: tuple[Any, ...], encoded: Any) -> Any:
    if encoded not in choices:
        raise ValueError(f"{encoded!r} is none of {choices}")
    return encoded


def _optional_reader(kinds: tuple[Any, ...]) -> Read:
    """Of `T | None`."""
    (inner,) = [kind for kind in kinds if kind is not type(None)]
    read = _reader(inner)
    return lambda encoded: None if encoded is None else read(encoded)


def _tuple_reader(kinds: tuple[Any, ...]) -> Read:
    readers = [_reader(kind) for kind in kinds if kind is not Ellipsis]

    def read_tuple(encoded: Any) -> tuple[Any, ...]:
        items = _read_instance(list, encoded)
        by_place = readers * len(items) if Ellipsis in kinds else readers
        return tuple(read(item) for read, item in zip(by_place, items, strict=True))

    return read_tuple


def _mapping_reader(kind: Any) -> Read:
    read = _reader(kind)
    return lambda encoded: {str(name): read(item) for name, item in encoded.items()}


def _read_array(encoded: Any) -> NDArray[Any]:
    """Nested lists of numbers too, as a table has them."""
    if isinstance(encoded, list):
        return np.array(_read_nested(encoded), dtype=float)
    parts = [np.array(_read_nested(part), dtype=float) for part in encoded["numbers"]]
    array = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    return array.reshape(encoded["shape"])


def _read_nested(encoded: Any) -> Any:
    return (
        [_read_nested(item) for item in encoded]
        if isinstance(encoded, list)
        else _read_float(encoded)
    )


def _read_tensor(encoded: Any) -> Tensor:
    return torch.from_numpy(_read_array(encoded))


_SIMPLE: Final[Mapping[Any, Read]] = {
    float: _read_float,
    int: _read_int,
    bool: _read_bool,
    Tensor: _read_tensor,
    Any: lambda encoded: encoded,
}
