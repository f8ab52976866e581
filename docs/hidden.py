"""Draw the findings on hidden layers: their shapes, networks without interactions, and progress along training.

Run it from the root of the repository: `python docs/hidden.py`. It trains one network for 300 epochs: minutes on two cores.
With a sweep, `python docs/hidden.py SWEEP`, it prints instead whether the shapes move with the phase, and draws them by rate.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from algophase import Analysis, Runs, analyze, load, train, without_interactions
from algophase.analysis.catalogue import label
from algophase.report.style import VERDICTS, house_style, new_figure, save_figure
from algophase.runs.phase_shift import RESAMPLES, phase_shifts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "gallery"
NETWORKS = [path for some in ("fixed-width/networks", "exhibits") for path in sorted((GALLERY / some).glob("*.safetensors"))]
TRAINED = GALLERY / "clock-training" / "networks"
IMAGES = ROOT / "docs" / "images"
EARLY = (0, 25, 50, 75, 100, 125, 150, 200, 250, 300)
LATER = {400: ".epoch400", 600: ".epoch600", 1000: ".epoch1000", 20_000: ""}
LEAST = 10  # runs behind a median
BLUE, ORANGE, GREEN, BLACK = "#0072B2", "#E69F00", "#009E73", "#222222"


def draw_shapes() -> None:
    networks = [load(path) for path in NETWORKS]
    before, after = [analyze(each) for each in networks], [without_interactions(each) for each in networks]
    rates = [each.settings.attention_rate for each in networks]
    with house_style():
        figure = new_figure(8.4, 3.0)
        shapes, symmetric, form = figure.subplots(1, 3)
        for name, marker, colour, ideal in (("disc_cka", "o", BLUE, 1.0), ("torus_cka", "^", ORANGE, 0.5**0.5)):
            shapes.scatter(rates, [each.metrics[name] for each in before], marker=marker, color=colour, label=label(name))
            shapes.axhline(ideal, color=colour, linewidth=0.8, linestyle=":")
        shapes.set(title="hidden units are discs", ylabel="linear CKA", ylim=(0, 1.05))
        shapes.legend(loc="lower left")
        numbers = [[each.gradient_symmetricity for each in some] for some in (before, after)]
        draw_moves(symmetric, rates, numbers[0], numbers[1], "gradient symmetricity")
        numbers = [[leading_part(each) for each in some] for some in (before, after)]
        draw_moves(form, rates, numbers[0], numbers[1], "Pizza part of the largest instance")
        symmetric.legend(loc="lower left")
        for axes in (shapes, symmetric, form):
            axes.set(xlabel="attention rate", xlim=(0, 1))
        save_figure(figure, IMAGES / "hidden-shapes.png")
    for network, one, other in zip(networks, before, after, strict=True):
        print(f"{network.id}: accuracy {other.accuracy:.4f}, {leading_part(one):.2f} -> {leading_part(other):.2f}")


def leading_part(analysis: Analysis) -> float:
    return analysis.instances.instances[0].pizza_part


def draw_moves(axes: "Axes", rates: list[float], before: list[float], after: list[float], name: str) -> None:
    for rate, one, other in zip(rates, before, after, strict=True):
        axes.plot([rate, rate], [one, other], color="0.7", linewidth=1.2, zorder=1)
    axes.scatter(rates, before, color=BLACK, marker="o", label="network", zorder=2)
    axes.scatter(rates, after, color=GREEN, marker="s", label="without interactions", zorder=3)
    axes.set(title=name, ylim=(0, 1.15))


def follow_training() -> dict[int, Analysis]:
    """A network of the gallery along training, by epoch: its first 300 epochs again, later ones from what is kept."""
    network = load(TRAINED / "2824c7604f8b.safetensors")
    assert network.run is not None
    run = replace(network.run, training=replace(network.run.training, epochs=max(EARLY)))
    (trained,) = train([run], device="cpu", snapshot_epochs=EARLY)
    seen = {epoch: analyze(each) for epoch, each in trained.snapshots.items()}
    return seen | {epoch: analyze(load(TRAINED / f"2824c7604f8b{name}.safetensors")) for epoch, name in LATER.items()}


def draw_progress(seen: dict[int, Analysis]) -> None:
    epochs = sorted(seen)
    with house_style():
        figure = new_figure(8.4, 3.6)
        right, losses, products = figure.subplots(1, 3)
        early = [epoch for epoch in epochs if epoch <= max(EARLY)]
        right.plot(
            early, [seen[epoch].program.answer_accuracy for epoch in early], "s-", color=GREEN, label="answer-following part"
        )
        right.plot(early, [seen[epoch].accuracy for epoch in early], "o-", color=BLACK, label="network")
        right.set(title="pairs answered right", xlabel="epoch", ylim=(0, 1.05))
        for name, style, colour in (
            ("excluded_loss", "^-", ORANGE),
            ("cross_entropy", "o-", BLACK),
            ("restricted_loss", "s-", BLUE),
        ):
            losses.plot(epochs, [seen[epoch].metrics[name] for epoch in epochs], style, color=colour, label=label(name))
        losses.set(title="loss, all pairs", xlabel="epoch", yscale="log")
        products.plot(
            epochs, [seen[epoch].embedding_gini for epoch in epochs], "o-", color=BLACK, label=label("embedding_gini")
        )
        products.plot(epochs, [seen[epoch].disc_cka for epoch in epochs], "s-", color=BLUE, label=label("disc_cka"))
        products.plot(
            epochs,
            [10 * seen[epoch].product_share for epoch in epochs],
            "^-",
            color=ORANGE,
            label="ten times the product share",
        )
        products.set(title="embedding and hidden units", xlabel="epoch", ylim=(0, 1.05))
        for axes in (losses, products):
            axes.set(xscale="log", xlim=(20, 25_000))
            axes.set_xticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
        for axes in (right, losses, products):
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)
        save_figure(figure, IMAGES / "hidden-progress.png")
    for epoch in epochs:
        each = seen[epoch]
        answers = f"{each.accuracy:.1%} right, its answer-following part {each.program.answer_accuracy:.1%}"
        print(f"epoch {epoch}: {answers}; restricted loss {each.restricted_loss:.3g}, products {each.product_share:.2%}")


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
                some, (colour, marker) = frame[frame["_verdict"] == name], VERDICTS[name]
                axes.scatter(some["_rate"], some[shift.column], s=3, color=colour, marker=marker, alpha=0.3, linewidths=0)
                tenths = some.groupby("_tenth")[shift.column].agg(["median", "size"])
                known = tenths[tenths["size"] >= LEAST]
                style = {"color": colour, "marker": marker, "markersize": 5, "markeredgecolor": "white", "linewidth": 1.6}
                axes.plot(known.index / 10 + 0.05, known["median"], label=name, zorder=3, **style)
            axes.axvline(shift.turn.value, color="0.4", linewidth=0.8)
            axes.set(title=label(shift.column), xlabel="attention rate", xlim=(0, 1))
        corner.axis("off")
        handles, names = panels[0].get_legend_handles_labels()
        corner.legend(handles, names, loc="center", frameon=False, title="median by tenth of the rate")
        save_figure(figure, picture)


if __name__ == "__main__":
    if sys.argv[1:]:
        draw_sweep(Runs.read(sys.argv[1]), IMAGES / "hidden-by-rate.png")
    else:
        draw_shapes()
        draw_progress(follow_training())
