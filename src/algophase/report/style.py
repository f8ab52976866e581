"""One look for every picture: column-width panels, colour-blind-safe colours, text that survives
printing.
"""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
NOTEBOOK_DPI = 110  # a notebook keeps its pictures: at 200, as for print, they are twice as large
HEATMAP = "viridis"
DIVERGING = "PuOr"
# Okabe and Ito's palette, distinguishable with every common kind of colour blindness.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#8A8F98"  # seen on white and on black
# One colour and one marker per verdict, in every picture. Shapes differ too, for readers who cannot
# tell the colours apart.
VERDICTS = {
    "Clock": (COLOURS[0], "o"),
    "Pizza": (COLOURS[1], "s"),
    "hybrid": (COLOURS[2], "D"),
    "non-circular": (GREY, "x"),
    "other": (COLOURS[4], "P"),
    "lookup": (COLOURS[6], "X"),
    "not learned": (COLOURS[3], "^"),
    "diverged": (COLOURS[5], "v"),
}
# The same for the forms of instances: an algorithm's is its verdict's. The short cycle's is far
# from these and from grey with every common kind of colour blindness (CIELAB distance 23 or more).
FORMS = {
    **{kind: VERDICTS[kind] for kind in ("Clock", "Pizza", "hybrid", "other")},
    "short cycle": ("#882255", "v"),
}

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
    """A figure outside pyplot's global state, so that drawing never opens a window or leaks
    memory.
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
    width = (
        figure.get_figwidth() * 72 / (0.52 * size)
    )  # letters, which are about half as wide as high
    figure.suptitle(textwrap.fill(text, max(20, int(width))), fontsize=size)


def check_format(name: str) -> None:
    if name not in FORMATS:
        raise InputError(f"figure format is {name!r}; choose one of {', '.join(FORMATS)}")


def save_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure in the format its name ends in, whole or not at all, without a time stamp."""
    buffer = BytesIO()
    kind = path.suffix.removeprefix(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    figure.savefig(buffer, format=kind, metadata=metadata)
    write_atomically(path, buffer.getvalue())
    return path
