"""Figures as files."""

from pathlib import Path
from typing import TYPE_CHECKING

from algophase.pictures.style import figure_bytes
from algophase.storage.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure in the format its name ends in, whole or not at all."""
    write_atomically(path, figure_bytes(figure, path.suffix.removeprefix(".")))
    return path
