"""The record of a value that people read: flatter than the value, and under the names of tables.

A `Layout` says once which attribute each entry of the record is, for both directions:

    CIRCLE = Layout({"frequency": "circle.frequency", "role": "role"})
    CIRCLE.record(evidence)                  # {"frequency": 5, "role": "Pizza"}
    CIRCLE.tree({"frequency": 5, ...})       # {"circle": {"frequency": 5}, "role": ...}

The second is what `decode_value` reads. A class with a layout of its own has it as `LAYOUT`; others
are recorded field by field. Arrays are nested lists.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from torch import Tensor

from algophase.record.codec import recorded_fields

Source = str | Callable[[Any], Any]


class Layout:
    """sources: for each entry, the path of its attribute, or a function of the value. What a
    function derives is written and never read back.
    """

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.names = tuple(sources)
        self._getters: dict[str, Callable[[Any], Any]] = {}
        self._paths: dict[str, list[str]] = {}
        for name, source in sources.items():
            if isinstance(source, str):
                self._getters[name] = attrgetter(source)
                self._paths[name] = source.split(".")
            else:
                self._getters[name] = source

    @classmethod
    def of_names(cls, *names: str) -> "Layout":
        """Attributes under their own names."""
        return cls({name: name for name in names})

    def record(self, value: Any) -> dict[str, Any]:
        """The entries of a value as JSON values, in the order of the layout."""
        return {name: to_record(get(value)) for name, get in self._getters.items()}

    def records(self, values: Iterable[Any]) -> list[dict[str, Any]]:
        return [self.record(value) for value in values]

    def tree(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """A record's entries at the paths of their attributes. An entry that it lacks is left
        out.
        """
        tree: dict[str, Any] = {}
        for name, (*parents, attribute) in self._paths.items():
            if name in record:
                branch = tree
                for parent in parents:
                    branch = branch.setdefault(parent, {})
                branch[attribute] = record[name]
        return tree


def to_record(value: Any) -> Any:
    """JSON values for people to read, null for what is undefined."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [to_record(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): to_record(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | Tensor):
        return to_record(value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        layout = getattr(value, "LAYOUT", None) or _layout_of_fields(value)
        return layout.record(value)
    return value


def _layout_of_fields(value: Any) -> Layout:
    return Layout.of_names(*(field.name for field in recorded_fields(value)))
