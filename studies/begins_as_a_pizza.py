"""Draw how networks with full attention turn from Pizzas into Clocks, and what networks of all
widths learn.

    python studies/begins_as_a_pizza.py    # docs/images/turning.png
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pandas

from algophase import Runs
from algophase.core.palette import COLORS, GRAY, VERDICTS
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.runs.boundary import phase_boundary
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "turning.png"
ALONG = ("not learned", "Pizza", "hybrid", "Clock")


def _below(axes: "Axes", columns: int) -> None:
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns)


def along_training(verdicts: "Axes", parts: "Axes") -> None:
    kept = SweepDirectory(ROOT / "gallery" / "clock-training").moments()
    assert kept is not None
    moments = kept.to_pandas()
    by_epoch = moments.groupby("epoch")
    epochs = numpy.array(list(by_epoch.groups))
    shares = [[(group.verdict == verdict).mean() for _, group in by_epoch] for verdict in ALONG]
    colors = [GRAY, *(VERDICTS[verdict][0] for verdict in ALONG[1:])]
    verdicts.stackplot(epochs, shares, colors=colors, labels=ALONG, linewidth=0)
    verdicts.set(
        xscale="log",
        xlabel="epoch",
        ylabel="share of networks",
        ylim=(0, 1),
        xlim=(epochs[0], epochs[-1]),
    )
    verdicts.set_title("attention rate 1: first Pizzas, then Clocks")
    _below(verdicts, 2)
    for name, label, color, marker in (
        ("pizza_logit_share", "Pizza's share of the logits", COLORS[1], "s"),
        ("validation_accuracy", "held-out pairs answered right", COLORS[0], "o"),
    ):
        low, middle, high = (by_epoch[name].quantile(part).to_numpy() for part in (0.05, 0.5, 0.95))
        parts.fill_between(epochs, low, high, color=color, alpha=0.2, linewidth=0)
        parts.plot(
            epochs, middle, f"{marker}-", color=color, markersize=4, linewidth=1, label=label
        )
    products = by_epoch["product_share"].median().to_numpy()
    label = f"products (1 is {products.max():.1%})"
    parts.plot(
        epochs,
        products / products.max(),
        "^--",
        color=COLORS[5],
        markersize=4,
        linewidth=1,
        label=label,
    )
    parts.set(
        xscale="log", xlabel="epoch", ylabel="median, and 90% of the networks", ylim=(0, 1.02)
    )
    parts.set_title("every answer is right before products come")
    _below(parts, 1)


def by_width(axes: "Axes") -> None:
    runs, widest = (
        Runs.read(ROOT / "gallery" / name).accurate.frame for name in ("varying-width", "wide")
    )
    for verdict in ("Pizza", "hybrid", "Clock"):
        networks = pandas.concat([table[table.verdict == verdict] for table in (runs, widest)])
        color, marker = VERDICTS[verdict]
        axes.scatter(
            networks.width,
            networks.attention_rate,
            8,
            marker=marker,
            color=color,
            linewidth=0,
            alpha=0.8,
            label=verdict,
        )
    rates, widths = runs.attention_rate.to_numpy(), runs.width.to_numpy()
    along = numpy.geomspace(32, 512, 50)
    for label, style, inside in (
        ("half are Pizzas", "-", runs.verdict == "Pizza"),
        ("half are Clocks", "--", runs.verdict != "Clock"),
    ):
        fitted = phase_boundary(rates, inside.to_numpy(float), widths, width=128.0)
        assert fitted.rate is not None
        assert fitted.slope is not None
        line = fitted.rate.value + fitted.slope.value * numpy.log2(along / 128)
        axes.plot(along, line, color="black", linestyle=style, linewidth=1.2, label=label)
    count = f"{(widest.verdict == 'Pizza').sum()}\nof {len(widest)}"
    axes.annotate(count, (1024, 1), (0, -5), textcoords="offset points", ha="center", va="top")
    axes.set(
        xscale="log",
        xlabel="width",
        ylabel="attention rate",
        ylim=(0, 1.02),
        title="wider networks are Pizzas",
    )
    ticks = [32, 64, 128, 256, 512, 1024]
    axes.set_xticks(ticks, [str(width) for width in ticks])
    axes.minorticks_off()
    _below(axes, 2)


def draw() -> "Figure":
    figure = new_figure(9.6, 3.9)
    verdicts, parts, widths = figure.subplots(1, 3)
    along_training(verdicts, parts)
    by_width(widths)
    return figure


def main() -> None:
    with house_style():
        save_figure(draw(), PICTURE)


if __name__ == "__main__":
    main()
