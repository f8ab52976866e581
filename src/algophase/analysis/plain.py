"""Dataclasses as plain values that JSON holds, and back: every field, by the types that they
declare. NaN is null.
"""

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor


def to_plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.metadata.get("recorded", True)
        }
    if isinstance(value, Tensor):
        return to_plain(value.detach().cpu().numpy())
    if isinstance(value, np.ndarray):
        parts = [value.real, value.imag] if np.iscomplexobj(value) else [value]
        return {
            "shape": list(value.shape),
            "numbers": [[to_plain(each) for each in part.ravel().tolist()] for part in parts],
        }
    if isinstance(value, Mapping):
        return {str(name): to_plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def from_plain(kind: Any, value: Any) -> Any:
    """What `to_plain` made of a value of this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return (
            None
            if value is None
            else from_plain(next(each for each in inner if each is not type(None)), value)
        )
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints, values = get_type_hints(kind), {}
        for field in dataclasses.fields(kind):
            if (
                field.name in value or field.default is dataclasses.MISSING
            ):  # a newer field has its default
                values[field.name] = from_plain(hints[field.name], value[field.name])
        return kind(**values)
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{value!r} is none of {inner}")
        return value
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        return tuple(from_plain(each, one) for each, one in zip(kinds, value, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        return {str(name): from_plain(inner[1], each) for name, each in value.items()}
    if kind is Tensor:
        return torch.from_numpy(from_plain(np.ndarray[Any, Any], value))
    if origin is np.ndarray:
        parts = [
            np.array([math.nan if each is None else each for each in part], dtype=float)
            for part in value["numbers"]
        ]
        whole = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
        return whole.reshape(value["shape"])
    if kind is float:
        return math.nan if value is None else float(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
