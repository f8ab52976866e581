"""The backend that draws nothing: a picture's numbers and words as Python values, for tests."""

from dataclasses import fields, is_dataclass
from typing import Any

from algophase.pictures.marks import Bars, Figure, Hover, Mark, Panel


def figure_data(figure: Figure) -> list[dict[str, Any]]:
    """Panel by panel, what `panel_data` gives."""
    return [panel_data(panel) for panel in figure.panels]


def panel_data(panel: Panel) -> dict[str, Any]:
    """The fields of a panel, its axes and its marks as dicts and lists. A mark's kind is under
    "mark".
    """
    record = _plain(panel)
    record["marks"] = [{"mark": type(mark).__name__, **_plain(mark)} for mark in panel.marks]
    return record


def marks_of(panel: Panel, kind: type) -> list[Any]:
    """The marks of one class."""
    return [mark for mark in panel.marks if isinstance(mark, kind)]


def hover_text(mark: Mark, point: int) -> str:
    """What a page says of one point of a mark."""
    hover: Hover | None = getattr(mark, "hover", None)
    if hover is None:
        return ""
    columns = {"x": "x", "y": "y", "text": "texts", "id": "ids", "details": "details"}
    if isinstance(mark, Bars):
        columns["y" if mark.horizontal else "x"] = "positions"
    values = dict[str, Any]()
    for name, field in columns.items():
        column = getattr(mark, field, None)
        if column is not None:
            values[name] = column[point]
    return hover.text(**values)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Hover):
        return value.template
    if hasattr(value, "tolist"):  # an array or a tensor
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
