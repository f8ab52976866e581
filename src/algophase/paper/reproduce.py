"""`reproduce`: the paper's tables, figures and numbers, from Python."""

from collections.abc import Callable, Sequence
from pathlib import Path

from algophase.paper.items import find_items
from algophase.paper.make import Made, make
from algophase.paper.sources import Sources


def reproduce(
    *labels: str,
    out: str | Path = "paper",
    own: Sequence[str | Path] = (),
    released: str | Path | None = None,
    gallery: str | Path | None = None,
    progress: Callable[[Made], None] | None = None,
) -> list[Made]:
    """Make the paper's tables and figures, and compare its numbers with ours.

    Arguments:
        labels: items by the paper's own labels (`algophase paper` lists them), or "all".
        out: directory for pictures, tables and claims.csv.
        own: your sweeps, which are used before the gallery's.
        released: directory of the authors' released files, to take networks and runs from.
        gallery: our own sweeps and networks; by default the shipped ones.
        progress: called with each item after it is made.

    Returns:
        One entry per item: `verdict` says whether its claims hold, `claims` has the published
        values next to ours, `files` the pictures and tables, and `problem` says why an item could
        not be made.

    Raises:
        InputError: a label is unknown, or a directory cannot be read.

    Example:
        >>> from algophase import reproduce
        >>> (picture,) = reproduce("clock-pizza", out=directory)
        >>> picture.verdict, [file.name for file in picture.files]
        ('5 supported', ['clock-pizza.png', 'clock-pizza.svg'])
    """
    sources = Sources(
        None if gallery is None else Path(gallery),
        tuple(Path(path) for path in own),
        None if released is None else Path(released),
    )
    return make(find_items(list(labels)), sources, Path(out), progress)
