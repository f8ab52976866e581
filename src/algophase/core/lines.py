"""On which side of a line a measured value lies: the one tie rule of the package.

Processors round differently, so the same network measures 0.5 on one machine and
0.49999999999999994 on another. A value within `TIE` of a line therefore counts as lying exactly on
it, everywhere:

    reaches(value, line)     value >= line    a value on the line reaches it
    exceeds(value, line)     value >  line    a value on the line does not exceed it
    falls_short(value, line) value <  line    the opposite of reaches
    stays_within(value, line) value <= line   the opposite of exceeds

An undefined value (NaN) is on no side of any line: all four are false. Values may be numbers,
arrays, tensors or columns of a table. `TIE` is a thousand times the rounding of our metrics in
float64 and a thousandth of the smallest difference we print.
"""

from typing import Any

TIE = 1e-9


def reaches(value: Any, line: Any) -> Any:
    """value >= line, a tie counted as reaching it."""
    return value >= line - TIE


def exceeds(value: Any, line: float) -> Any:
    """value > line, a tie counted as not exceeding it."""
    return value > line + TIE


def falls_short(value: Any, line: float) -> Any:
    """value < line, a tie counted as reaching it."""
    return value < line - TIE


def stays_within(value: Any, line: float) -> Any:
    """value <= line, a tie counted as not exceeding it."""
    return value <= line + TIE
