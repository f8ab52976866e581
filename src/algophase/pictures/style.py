"""One look for every Matplotlib picture: column-width panels and text that survives printing."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure  # for the types of rooms that do not draw

FORMATS = ("png", "svg", "pdf")
NOTEBOOK_DPI = 110  # a notebook keeps its pictures: at 200, as for print, they are twice as large
HEATMAP = "viridis"
DIVERGING = "PuOr"

_RC: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "algophase",  # the same data gives the same file
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def house_style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """A figure of this size in inches, outside pyplot's global state: drawing never opens a window
    or leaks memory.
    """
    return _notebook_figure()(figsize=(width, height), layout="constrained")


@cache
def _notebook_figure() -> "type[Figure]":
    """A figure that a notebook shows when it is the value of a cell, whether pyplot has been set
    up there or not.
    """
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            content = BytesIO()
            with house_style():
                self.savefig(content, format="png", dpi=NOTEBOOK_DPI)
            return content.getvalue()

    return NotebookFigure


def set_title(figure: "Figure", text: str, size: float = 10) -> None:
    """A title over the whole figure, wrapped to its width."""
    letter_width = 0.52 * size  # points: a letter is about half as wide as high
    letters = int(72 * figure.get_figwidth() / letter_width)
    lines = [textwrap.fill(line, max(20, letters)) for line in text.split("\n")]
    figure.suptitle("\n".join(lines), fontsize=size)


def check_format(name: str) -> None:
    if name not in FORMATS:
        raise InputError(f"figure format is {name!r}; choose one of {', '.join(FORMATS)}")


def figure_bytes(figure: "Figure", image_format: str) -> bytes:
    """A figure as a file's bytes, without a time stamp: the same data gives the same bytes."""
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(image_format, {})
    buffer = BytesIO()
    with house_style():
        figure.savefig(buffer, format=image_format, metadata=metadata)
    return buffer.getvalue()
