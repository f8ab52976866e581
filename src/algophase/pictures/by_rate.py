"""The phase diagram of a population: metrics against the attention rate, colored by verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from algophase.core.palette import GRAY, VERDICTS
from algophase.pictures.style import house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 8.0, 3.2  # inches


@dataclass(frozen=True)
class MetricByRate:
    """One panel. label: the metric's; values: of each run, (runs,); line: the paper's phase
    boundary.
    """

    label: str
    values: NDArray[np.float64]
    line: float


@dataclass(frozen=True)
class RatePicture:
    """rates, verdicts: of each run, (runs,). kinds: the verdicts that occur, in the order of the
    legend.
    """

    rates: NDArray[np.float64]
    verdicts: NDArray[np.str_]
    kinds: Sequence[str]
    metrics: Sequence[MetricByRate]


def draw_by_rate(picture: RatePicture) -> "Figure":
    """One panel per metric, one point per run."""
    with house_style():
        figure = new_figure(WIDTH, HEIGHT)
        panels = figure.subplots(1, len(picture.metrics), squeeze=False)[0]
        for axes, metric in zip(panels, picture.metrics, strict=True):
            for kind in picture.kinds:
                of_kind = picture.verdicts == kind
                count = int(of_kind.sum())
                color, marker = VERDICTS.get(kind, (GRAY, "."))
                axes.scatter(
                    picture.rates[of_kind],
                    metric.values[of_kind],
                    s=8,
                    alpha=0.7,
                    linewidths=0,
                    color=color,
                    marker=marker,
                    # The most frequent verdict is drawn first and hides no other.
                    zorder=2 - count / len(picture.rates),
                    label=f"{kind} ({count:,})",
                )
            axes.axhline(metric.line, color="0.4", linewidth=0.8, linestyle=":")
            axes.set(xlabel="attention rate", ylabel=metric.label)
        handles, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure
