"""`coefficient.plot()`: the chains behind local learning coefficients, step by step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from algophase.analysis.hidden.learning_coefficient import LearningCoefficient
from algophase.report.style import COLOURS, GREY, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT, POINTS = 3.6, 2.8, 200


def draw_traces(found: Sequence[LearningCoefficient]) -> "Figure":
    """One panel per network: n beta (L(w) - L(w*)) of each chain, in means over a few steps;
    burn-in is grey.
    """
    with house_style():
        figure = new_figure(WIDTH * max(1, len(found)), HEIGHT)
        for axes, each in zip(
            figure.subplots(1, len(found), squeeze=False, sharey=True)[0], found, strict=True
        ):
            rise = each.samples * each.beta * (each.trace - each.loss)
            width = max(1, rise.shape[1] // POINTS)
            used = rise[:, : rise.shape[1] // width * width]
            means = used.reshape(len(rise), -1, width).mean(axis=2)
            for chain, colour in zip(means, COLOURS * len(means), strict=False):
                axes.plot(
                    width * (numpy.arange(len(chain)) + 0.5), chain, linewidth=0.9, color=colour
                )
            axes.axvspan(0, each.sampling.burn_in, color=GREY, alpha=0.15, linewidth=0)
            axes.axhline(each.value, color="0.3", linewidth=0.8, linestyle=":")
            low, high = each.interval
            axes.set(xlabel="step", title=f"{each.id}: {each.value:.1f} [{low:.1f}, {high:.1f}]")
        figure.axes[0].set_ylabel("n β (loss − loss at the start)")
    return figure
