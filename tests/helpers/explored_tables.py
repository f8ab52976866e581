"""A table of made-up runs, and the text of a page, for tests of the explorer."""

from typing import Any

import pyarrow

from algophase.explore.visible_runs import PageData, with_outcomes
from algophase.runs.columns import frame_of, single_columns
from algophase.runs.runs import Runs


def columns(**changes: list[object]) -> dict[str, list[object]]:
    return {
        "index": [0, 1, 2, 3],
        "run_id": [f"{place:012x}" for place in range(4)],
        "attention_rate": [0.1, 0.4, 0.6, 0.9],
        "width": [16, 32, 512, 1024],
        "circularity": [1.0, None, 0.5, 0.2],
        "activation": ["relu", "gelu", "relu", None],
        "equals_sign": [True, False, True, False],
        "verdict": ["Pizza", None, "Clock", None],
        "diverged_at": [None, 7, None, None],
        "circles.frequency": [[1], [2], [], []],
        **changes,
    }


def made_up(**changes: list[object]) -> PageData:
    """A small table as a page has it."""
    frame = single_columns(frame_of(pyarrow.table(columns(**changes))))
    return PageData(with_outcomes(Runs("made up", frame, len(frame))))


def text_of(component: Any) -> str:
    """All text in a tree of Dash components."""
    if isinstance(component, list | tuple):
        return " ".join(map(text_of, component))
    if hasattr(component, "to_plotly_json"):
        return text_of(getattr(component, "children", None) or [])
    return "" if component is None else str(component)
