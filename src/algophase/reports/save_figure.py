"""Figures as files."""

from pathlib import Path
from typing import TYPE_CHECKING

from algophase.pictures import marks
from algophase.pictures.style import figure_bytes
from algophase.pictures.to_matplotlib import draw
from algophase.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: "Figure | marks.Figure", path: Path) -> Path:
    """Write a figure in the format its name ends in, whole or not at all."""
    drawn = draw(figure) if isinstance(figure, marks.Figure) else figure
    write_atomically(path, figure_bytes(drawn, path.suffix.removeprefix(".")))
    return path
