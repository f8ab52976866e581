"""Numbers and tables as text."""

import math
from collections.abc import Collection, Sequence

from algophase.core.wording import floored


def percent(share: float | None) -> str:
    """A share in percent with two decimals; "-" where it is undefined."""
    if share is None or math.isnan(share):
        return "-"
    return f"{round(100 * share, 2) + 0.0:.2f}%"  # + 0.0: no minus zero


def accuracy_text(accuracy: float | None) -> str:
    """An accuracy in percent, never rounded up; "-" where it is undefined."""
    return "-" if accuracy is None else floored(accuracy)


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """A table as lines of text. left: the columns of words; numbers line up on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cells.append(cell.ljust(width) if column in left else cell.rjust(width))
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
