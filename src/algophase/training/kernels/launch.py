"""How a kernel is cut up: measured choices, kept apart from what it computes."""

from typing import NamedTuple


class Launch(NamedTuple):
    tile: int  # hidden units at a time
    rows: int  # pairs a program takes (forward only)
    warps: int
    stages: int
