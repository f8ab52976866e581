"""Cosine and sine of exact fractions of a turn.

Every closed form of the paper is built from cos(2 pi n / D) with integers n and D. Reducing n before the floating-point
cosine keeps the symmetries exact: quarter turns give 0, not 6e-17, and opposite points of a circle cancel, so that the
Pizza's blind spot (antipodal pairs at even p) is a true tie and not decided by rounding.
"""

import torch
from torch import Tensor


def cos_turn(numerator: Tensor, denominator: int) -> Tensor:
    """cos(2 pi numerator / denominator) in float64, for an integer tensor of any shape."""
    # cos is even and has period D, so half a turn (0 <= 2n <= D) is enough ...
    doubled = 2 * torch.remainder(numerator, denominator)  # angle = pi * doubled / D
    doubled = torch.where(doubled > denominator, 2 * denominator - doubled, doubled)
    # ... and cos(pi - x) = -cos(x) brings that to a quarter.
    beyond_quarter = 2 * doubled > denominator
    doubled = torch.where(beyond_quarter, denominator - doubled, doubled)
    value = torch.cos(torch.pi / denominator * doubled.double())
    value = torch.where(2 * doubled == denominator, torch.zeros_like(value), value)
    return torch.where(beyond_quarter, -value, value)


def sin_turn(numerator: Tensor, denominator: int) -> Tensor:
    """sin(2 pi numerator / denominator) in float64: a cosine a quarter of a turn back."""
    return cos_turn(4 * numerator - denominator, 4 * denominator)
