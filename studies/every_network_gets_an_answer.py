"""Draw the phase diagram of the findings: what networks learn by attention rate, by the paper's
rules and by our verdict.

    python studies/every_network_gets_an_answer.py    # docs/images/verdicts.png

Both panels count every run of `gallery/fixed-width`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from algophase import Runs
from algophase.core.palette import VERDICTS, in_order
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import Series

ROOT = Path(__file__).parents[1]
SWEEP = ROOT / "gallery" / "fixed-width"
PICTURE = ROOT / "docs" / "images" / "verdicts.png"
TENTHS = numpy.arange(10)


def draw_shares(axes: "Axes", labels: "Series[str]", tenths: "Series[int]") -> None:
    """Shares of each label by tenth of the attention rate, stacked."""
    below = numpy.zeros(len(TENTHS))
    count = numpy.array([max(1, (tenths == tenth).sum()) for tenth in TENTHS])
    for name in dict.fromkeys(["Pizza", "hybrid", "Clock", *in_order(labels)]):
        share = (
            numpy.array([((tenths == tenth) & (labels == name)).sum() for tenth in TENTHS]) / count
        )
        color, hatch = VERDICTS[name][0], {"non-circular": "///", "not learned": "xx"}.get(name)
        axes.bar(
            TENTHS / 10 + 0.05,
            share,
            0.094,
            below,
            color=color,
            label=name,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.6,
        )
        below += share
    axes.set(xlabel="attention rate", xlim=(0, 1), ylim=(0, 1))


def main() -> None:
    runs = Runs.read(SWEEP)
    with house_style():
        figure = new_figure(7.0, 3.1)
        left, right = figure.subplots(1, 2, sharey=True)
        draw_shares(left, runs["paper_label"].fillna("diverged"), runs["_tenth"])
        draw_shares(right, runs["_verdict"], runs["_tenth"])
        left.set(title="by the paper's rules", ylabel=f"share of {len(runs):,} networks")
        right.set(title="by the verdict of its instances")
        named = (zip(*axes.get_legend_handles_labels(), strict=True) for axes in (left, right))
        handles = {label: handle for pairs in named for handle, label in pairs}
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=len(handles),
            frameon=False,
        )
        save_figure(figure, PICTURE)


if __name__ == "__main__":
    main()
