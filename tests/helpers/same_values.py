"""Whether two values are the same all through: types, fields, shapes and numbers, NaN like NaN."""

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import torch

from algophase.record.codec import recorded_fields


def assert_same_value(
    value: Any, expected: Any, tolerance: float = 0.0, path: str = "value"
) -> None:
    """tolerance: relative and absolute, of numbers outside of arrays."""
    if isinstance(expected, Mapping):
        assert list(value) == list(expected), path
        for name in expected:
            assert_same_value(value[name], expected[name], tolerance, f"{path}[{name!r}]")
    elif is_dataclass(expected):
        assert type(value) is type(expected), path
        for field in recorded_fields(expected):
            parts = getattr(value, field.name), getattr(expected, field.name)
            assert_same_value(*parts, tolerance, f"{path}.{field.name}")
    elif isinstance(expected, tuple | list):
        assert (type(value), len(value)) == (type(expected), len(expected)), path
        for place, (item, expected_item) in enumerate(zip(value, expected, strict=True)):
            assert_same_value(item, expected_item, tolerance, f"{path}[{place}]")
    elif isinstance(expected, np.ndarray | torch.Tensor):
        assert (type(value), value.shape) == (type(expected), expected.shape), path
        assert value.dtype == expected.dtype, path
        np.testing.assert_array_equal(value, expected, err_msg=path)
    else:
        message = f"{path}: {value!r}, not {expected!r}"
        assert tolerance or type(value) is type(expected), message
        assert _same_leaf(value, expected, tolerance), message


def _same_leaf(value: Any, expected: Any, tolerance: float) -> bool:
    if value != value:
        return bool(expected != expected)
    if isinstance(value, float):
        return math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance)
    return bool(value == expected)
