"""The chains behind local learning coefficients, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from algophase.core.palette import COLORS
from algophase.pictures.marks import Axis, Figure, Line, Mark, Panel, Rule, Span

WIDTH, HEIGHT = 3.6, 2.8  # inches of one panel
POINTS = 200  # drawn per chain


@dataclass(frozen=True)
class TracePicture:
    """The chains of one network.

    rise: n beta (L(w) - L(w*)) along each chain, (chains, steps). burn_in: steps that do not count.
    value, interval: the estimate and its 95% interval.
    """

    id: str
    rise: NDArray[np.float64]
    burn_in: int
    value: float
    interval: tuple[float, float]


def trace_figure(pictures: Sequence[TracePicture]) -> Figure:
    """One panel per network: every chain in means over a few steps, with the burn-in in gray."""
    panels = [_panel(picture) for picture in pictures]
    width = WIDTH * max(1, len(panels))
    rows = [panels]
    return Figure(rows=rows, width=width, height=HEIGHT, share_y=True, names_outside=True)


def _panel(picture: TracePicture) -> Panel:
    steps, means = _means(picture.rise)
    marks: list[Mark] = [
        Line(x=steps, y=chain, color=color, width=0.9)
        for chain, color in zip(means, cycle(COLORS), strict=False)
    ]
    marks.append(Span(x=(0, picture.burn_in), opacity=0.15, layer=-1))
    marks.append(Rule(y=picture.value))
    low, high = picture.interval
    return Panel(
        marks=marks,
        x=Axis(name="step"),
        y=Axis(name="n β (loss − loss at the start)"),
        title=f"{picture.id}: {picture.value:.1f} [{low:.1f}, {high:.1f}]",
    )


def _means(rise: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chains (chains, steps) in about `POINTS` means over neighboring steps, and the middle step
    of each mean.
    """
    chains, steps = rise.shape
    width = max(1, steps // POINTS)
    groups = steps // width
    means = rise[:, : groups * width].reshape(chains, groups, width).mean(axis=2)
    return width * (np.arange(groups) + 0.5), means
