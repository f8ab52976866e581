"""`runs.plot()`: the phase diagram of a population as one picture, by attention rate."""

from typing import TYPE_CHECKING

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY, label, line
from algophase.analysis.verdict.decide import in_order
from algophase.core.errors import InputError
from algophase.report.style import GREY, VERDICTS, house_style, new_figure
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 8.0, 3.2


def draw_runs(runs: Runs) -> "Figure":
    """Gradient symmetricity and distance irrelevance of accurate runs against the attention
    rate, coloured by verdict.
    """
    shown = runs.accurate
    metrics = [name for name in (SYMMETRICITY, IRRELEVANCE) if name in shown]
    if not metrics or not shown.rates_vary:
        raise InputError(
            f"{runs.name} has no metrics along an attention rate to plot; it has {len(runs):,} runs"
        )
    with house_style():
        figure = new_figure(WIDTH, HEIGHT)
        for axes, metric in zip(
            figure.subplots(1, len(metrics), squeeze=False)[0], metrics, strict=True
        ):
            counts = shown["_verdict"].value_counts()
            for kind in in_order(counts.index):
                runs_of_kind = shown.frame[shown["_verdict"] == kind]
                color, marker = VERDICTS.get(kind, (GREY, "."))
                axes.scatter(
                    runs_of_kind["_rate"],
                    runs_of_kind[metric],
                    s=8,
                    alpha=0.7,
                    linewidths=0,
                    color=color,
                    marker=marker,
                    zorder=2
                    - counts[kind] / len(shown),  # the most frequent verdict hides no other
                    label=f"{kind} ({counts[kind]:,})",
                )
            axes.axhline(line(metric).value, color="0.4", linewidth=0.8, linestyle=":")
            axes.set(xlabel="attention rate", ylabel=label(metric))
        handles, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure
