"""Draw the findings on hidden layers: their shapes, networks without interactions, and progress
along training.

    python studies/hidden_layers.py          # hidden-shapes.png and emergence.png of docs/images
    python studies/hidden_layers.py SWEEP    # prints whether the shapes move with the phase,
                                             # and draws hidden-by-rate.png

The first reads `gallery/emergence` and a few networks. The sweep of the findings is
`gallery/fixed-width`.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.ticker import PercentFormatter

from algophase import (
    Analysis,
    Network,
    Runs,
    TransformerSettings,
    analyze,
    load,
    without_interactions,
)
from algophase.analysis.catalogue import label
from algophase.core.palette import VERDICTS
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.runs.phase_shift import RESAMPLES, phase_shifts
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "gallery"
NETWORKS = [
    path
    for folder in ("fixed-width/networks", "exhibits")
    for path in sorted((GALLERY / folder).glob("*.safetensors"))
]
IMAGES = ROOT / "docs" / "images"
LEAST = 10  # runs behind a median
BLUE, ORANGE, GREEN, BLACK = "#0072B2", "#E69F00", "#009E73", "#222222"


def attention_rate(network: Network) -> float:
    assert isinstance(network.settings, TransformerSettings)
    return network.settings.attention_rate


def draw_shapes() -> None:
    networks = [load(path) for path in NETWORKS]
    before = [analyze(network) for network in networks]
    after = [without_interactions(network) for network in networks]
    rates = [attention_rate(network) for network in networks]
    with house_style():
        figure = new_figure(8.4, 3.0)
        shapes, symmetric, form = figure.subplots(1, 3)
        for name, marker, color, ideal in (
            ("disc_cka", "o", BLUE, 1.0),
            ("torus_cka", "^", ORANGE, 0.5**0.5),
        ):
            shapes.scatter(
                rates,
                [analysis.metrics[name] for analysis in before],
                marker=marker,
                color=color,
                label=label(name),
            )
            shapes.axhline(ideal, color=color, linewidth=0.8, linestyle=":")
        shapes.set(title="hidden units are discs", ylabel="linear CKA", ylim=(0, 1.05))
        shapes.legend(loc="lower left")
        numbers = [
            [analysis.gradient_symmetricity for analysis in side] for side in (before, after)
        ]
        draw_moves(symmetric, rates, numbers[0], numbers[1], "gradient symmetricity")
        numbers = [[leading_part(analysis) for analysis in side] for side in (before, after)]
        draw_moves(form, rates, numbers[0], numbers[1], "Pizza part of the largest instance")
        symmetric.legend(loc="lower left")
        for axes in (shapes, symmetric, form):
            axes.set(xlabel="attention rate", xlim=(0, 1))
        save_figure(figure, IMAGES / "hidden-shapes.png")
    for network, one, other in zip(networks, before, after, strict=True):
        print(
            f"{network.id}: accuracy {other.accuracy:.4f}, {leading_part(one):.2f} -> "
            f"{leading_part(other):.2f}"
        )


def leading_part(analysis: Analysis) -> float:
    return analysis.instances.instances[0].pizza_part


def draw_moves(
    axes: "Axes", rates: list[float], before: list[float], after: list[float], name: str
) -> None:
    for rate, one, other in zip(rates, before, after, strict=True):
        axes.plot([rate, rate], [one, other], color="0.7", linewidth=1.2, zorder=1)
    axes.scatter(rates, before, color=BLACK, marker="o", label="network", zorder=2)
    axes.scatter(rates, after, color=GREEN, marker="s", label="without interactions", zorder=3)
    axes.set(title=name, ylim=(0, 1.15))


def draw_emergence(moments: "DataFrame", picture: Path) -> None:
    """How answers, losses, embedding and products develop: medians over the runs of each rate,
    and the middle 80% of them.
    """
    rates = sorted(moments.attention_rate.unique())
    shades = dict(zip(rates, ((ORANGE, "s-"), (GREEN, "^-"), (BLUE, "o-")), strict=True))
    with house_style():
        figure = new_figure(8.4, 5.4)
        top, bottom = figure.subplots(2, 3)
        for axes, rate in zip(top, rates, strict=True):
            at_rate = moments[moments.attention_rate == rate]
            draw_band(axes, at_rate, "program.answer_accuracy", ":", "0.55", "all pairs together")
            draw_band(axes, at_rate, "held_out_answers", "s-", GREEN, "held-out pairs together")
            draw_band(
                axes, at_rate, "validation_accuracy", "o-", BLACK, "held-out pairs, each by itself"
            )
            axes.set(title=f"answered right, rate {rate:g}", ylim=(0, 1.05))
        losses, gini, products = bottom
        at_rate = moments[moments.attention_rate == rates[-1]]
        draw_band(losses, at_rate, "excluded_loss", "^-", ORANGE, label("excluded_loss"))
        draw_band(losses, at_rate, "cross_entropy", "o-", BLACK, "loss")
        draw_band(losses, at_rate, "restricted_loss", "s-", BLUE, label("restricted_loss"))
        losses.set(title=f"loss over all pairs, rate {rates[-1]:g}", yscale="log")
        for rate, (color, style) in shades.items():
            at_rate = moments[moments.attention_rate == rate]
            draw_band(gini, at_rate, "embedding_gini", style, color, f"rate {rate:g}")
            draw_band(products, at_rate, "product_share", style, color, f"rate {rate:g}")
        gini.set(title=label("embedding_gini"))
        products.set(title=label("product_share"))
        products.yaxis.set_major_formatter(PercentFormatter(1, decimals=1))
        for axes in (*top, *bottom):
            axes.set(xlabel="epoch", xscale="log")
            axes.set_xticks([10, 30, 100, 300], ["10", "30", "100", "300"])
            axes.minorticks_off()
        figure.legend(
            *top[0].get_legend_handles_labels(), loc="outside upper center", ncol=3, frameon=False
        )
        for axes in (losses, gini):
            axes.legend(loc="best", frameon=False)
        save_figure(figure, picture)


def draw_band(
    axes: "Axes", moments: "DataFrame", column: str, style: str, color: str, name: str
) -> None:
    by_epoch = moments.groupby("epoch")[column]
    low, median, high = (by_epoch.quantile(share) for share in (0.1, 0.5, 0.9))
    axes.fill_between(median.index, low, high, color=color, alpha=0.15, linewidth=0)
    axes.plot(median.index, median, style, color=color, markersize=3, linewidth=1.2, label=name)


def draw_sweep(runs: Runs, picture: Path, resamples: int = RESAMPLES) -> None:
    boundary, shifts = phase_shifts(runs, resamples=resamples)
    print(f"gradients are symmetric below rate {boundary}")
    for shift in shifts:
        print(shift)
    frame = runs.accurate.frame
    with house_style():
        figure = new_figure(8.4, 5.2)
        *panels, corner = figure.subplots(2, 3).flat
        for axes, shift in zip(panels, shifts, strict=True):
            for name in ("Pizza", "Clock", "hybrid"):
                networks, (color, marker) = frame[frame["_verdict"] == name], VERDICTS[name]
                axes.scatter(
                    networks["_rate"],
                    networks[shift.column],
                    s=3,
                    color=color,
                    marker=marker,
                    alpha=0.3,
                    linewidths=0,
                )
                tenths = networks.groupby("_tenth")[shift.column].agg(["median", "size"])
                large_enough = tenths[tenths["size"] >= LEAST]
                style = {
                    "color": color,
                    "marker": marker,
                    "markersize": 5,
                    "markeredgecolor": "white",
                    "linewidth": 1.6,
                }
                axes.plot(
                    large_enough.index / 10 + 0.05,
                    large_enough["median"],
                    label=name,
                    zorder=3,
                    **style,
                )
            axes.axvline(shift.turn.value, color="0.4", linewidth=0.8)
            axes.set(title=label(shift.column), xlabel="attention rate", xlim=(0, 1))
        corner.axis("off")
        handles, names = panels[0].get_legend_handles_labels()
        corner.legend(
            handles, names, loc="center", frameon=False, title="median by tenth of the rate"
        )
        save_figure(figure, picture)


if __name__ == "__main__":
    if sys.argv[1:]:
        draw_sweep(Runs.read(sys.argv[1]), IMAGES / "hidden-by-rate.png")
    else:
        draw_shapes()
        followed = SweepDirectory(GALLERY / "emergence").moments()
        assert followed is not None
        draw_emergence(followed.to_pandas(), IMAGES / "emergence.png")
