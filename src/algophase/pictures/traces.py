"""The chains behind local learning coefficients, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from algophase.core.palette import COLORS, GRAY
from algophase.pictures.style import house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def draw_traces(pictures: Sequence[TracePicture]) -> "Figure":
    """One panel per network: every chain in means over a few steps, with the burn-in in gray."""
    with house_style():
        figure = new_figure(WIDTH * max(1, len(pictures)), HEIGHT)
        panels = figure.subplots(1, len(pictures), squeeze=False, sharey=True)[0]
        for axes, picture in zip(panels, pictures, strict=True):
            steps, means = _means(picture.rise)
            for chain, color in zip(means, cycle(COLORS), strict=False):
                axes.plot(steps, chain, linewidth=0.9, color=color)
            axes.axvspan(0, picture.burn_in, color=GRAY, alpha=0.15, linewidth=0)
            axes.axhline(picture.value, color="0.3", linewidth=0.8, linestyle=":")
            low, high = picture.interval
            title = f"{picture.id}: {picture.value:.1f} [{low:.1f}, {high:.1f}]"
            axes.set(xlabel="step", title=title)
        figure.axes[0].set_ylabel("n β (loss − loss at the start)")
    return figure


def _means(rise: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chains (chains, steps) in about `POINTS` means over neighboring steps, and the middle step
    of each mean.
    """
    chains, steps = rise.shape
    width = max(1, steps // POINTS)
    groups = steps // width
    means = rise[:, : groups * width].reshape(chains, groups, width).mean(axis=2)
    return width * (np.arange(groups) + 0.5), means
