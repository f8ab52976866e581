"""Records for people: which attribute each entry is, in both directions."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from algophase.record.codec import UNRECORDED, decode_value
from algophase.record.layout import Layout, to_record


@dataclass(frozen=True)
class Circle:
    frequency: int
    radius: float


@dataclass(frozen=True)
class Evidence:
    circle: Circle
    role: str

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "frequency": "circle.frequency",
            "role": "role",
            "radius": "circle.radius",
            "wide": lambda evidence: evidence.circle.radius > 1,
        }
    )


@dataclass(frozen=True)
class Found:
    evidence: tuple[Evidence, ...]
    profile: NDArray[np.float64]
    cache: str = field(default="", metadata=UNRECORDED)


EVIDENCE = Evidence(Circle(5, 2.0), "Pizza")


def test_a_layout_leads_there_and_back() -> None:
    record = Evidence.LAYOUT.record(EVIDENCE)
    assert list(record.items()) == [
        ("frequency", 5),
        ("role", "Pizza"),
        ("radius", 2.0),
        ("wide", True),
    ]
    assert decode_value(Evidence, Evidence.LAYOUT.tree(record)) == EVIDENCE
    assert Evidence.LAYOUT.tree({"frequency": 5, "other": 1}) == {"circle": {"frequency": 5}}


def test_a_record_uses_the_layouts_of_what_is_inside() -> None:
    found = Found((EVIDENCE,), np.array([[1.0, math.nan]]), cache="kept")
    assert to_record(found) == {
        "evidence": [{"frequency": 5, "role": "Pizza", "radius": 2.0, "wide": True}],
        "profile": [[1.0, None]],
    }
    assert Layout.of_names("profile").records([found]) == [{"profile": [[1.0, None]]}]
