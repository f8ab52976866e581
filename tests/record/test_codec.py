"""Any dataclass as JSON values and back, and what is refused on the way."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from same_values import assert_same_value
from torch import Tensor

from algophase.record.codec import (
    UNRECORDED,
    decode_value,
    encode_value,
    read_fields,
    undefined_numbers,
)


@dataclass(frozen=True)
class Point:
    x: float
    label: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Everything:
    name: str
    count: int
    share: float
    flag: bool
    pair: tuple[int, str]
    points: tuple[Point, ...]
    missing: Point | None
    by_name: Mapping[str, float]
    real: NDArray[np.float64]
    wave: NDArray[np.complex128]
    tensor: Tensor
    later: int = 7
    network: Any = field(default=None, metadata=UNRECORDED, compare=False)


VALUE = Everything(
    name="one",
    count=3,
    share=math.nan,
    flag=True,
    pair=(1, "x"),
    points=(Point(0.1 + 0.2), Point(math.nan, "b")),
    missing=None,
    by_name={"b": 1e-300, "a": math.nan},
    real=np.array([[1.0, math.nan, 2.0]]),
    wave=np.zeros((0, 3), dtype=np.complex128),
    tensor=torch.tensor([[1.5], [2.5]], dtype=torch.float64),
)


def test_a_value_comes_back_from_json_as_it_was() -> None:
    text = json.dumps(encode_value(VALUE), allow_nan=False)
    assert_same_value(decode_value(Everything, json.loads(text)), VALUE)


def test_what_is_not_recorded_is_left_out() -> None:
    encoded = encode_value(replace(VALUE, network=torch.nn.Linear(2, 2)))
    assert "network" not in encoded
    assert decode_value(Everything, encoded).network is None


def test_a_field_that_is_lacking_has_its_default_or_is_named() -> None:
    encoded = encode_value(VALUE)
    del encoded["later"]
    assert decode_value(Everything, encoded).later == 7
    del encoded["share"]
    with pytest.raises(KeyError, match="share"):
        decode_value(Everything, encoded)
    assert read_fields(Everything, {"count": 4.0, "unknown": 1}) == {"count": 4}
    assert undefined_numbers(Everything) == {"share": None}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("name", 3),
        ("count", 3.5),
        ("count", True),
        ("count", None),
        ("share", "0.5"),
        ("share", True),
        ("share", 10**400),
        ("flag", "yes"),
        ("flag", None),
        ("pair", [1]),
        ("pair", "1x"),
        ("points", [{"x": 1.0, "label": "c"}]),
        ("points", [3.0]),
        ("by_name", {"a": "b"}),
        ("real", [["1.0"]]),
        ("real", {"shape": [4], "numbers": [[1.0]]}),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        decode_value(Everything, {**encode_value(VALUE), name: wrong})


def test_a_table_may_write_integers_as_floats_and_arrays_as_lists() -> None:
    encoded = {**encode_value(VALUE), "count": 3.0, "flag": 1.0, "real": [[1.0, None, 2]]}
    assert_same_value(decode_value(Everything, encoded), VALUE)
