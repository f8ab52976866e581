"""Pictures of training: isolated components of one network epoch by epoch, and a population's
curves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY, label
from algophase.analysis.circles.find import circle_alone
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.moments import PairEvidence, moment_details
from algophase.analysis.specimen import Specimen, answer_of
from algophase.core.palette import COLORS
from algophase.networks import Network
from algophase.paper.plates import logits_in_order
from algophase.pictures.style import new_figure
from algophase.reports.figures import draw_circle, order_frequency
from algophase.reports.moments_section import quartiles

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROLES = ("Pizza", "mixed", "Clock", "accompanying", "unclear")
ROLE_COLORS = dict(zip(ROLES, (COLORS[1], COLORS[2], COLORS[0], COLORS[3], "0.85"), strict=True))
MOST_CIRCLES = 6
FEW_LABELS = 12  # tokens named in a small circle


@dataclass(frozen=True)
class Stage:
    """A network after `epoch` updates, with its first pairs of components."""

    epoch: int
    specimen: Specimen
    pairs: tuple[PairEvidence, ...]


def stages(networks: Mapping[int, Network]) -> list[Stage]:
    along_training = []
    for epoch, network in networks.items():
        specimen = Specimen(network)
        along_training.append(
            Stage(epoch, specimen, moment_details(network, specimen.analysis).pairs)
        )
    return along_training


def draw_stages(stages: Sequence[Stage]) -> "Figure":
    """Correct logits by a - b (rows) and a + b (columns): one column per epoch, one row per pair
    of components.
    """
    rows = max(len(stage.pairs) for stage in stages)
    figure = new_figure(1.55 * len(stages) + 0.4, 1.8 * rows + 0.7)
    grid = figure.subplots(rows, len(stages), squeeze=False)
    for column, stage in enumerate(stages):
        specimen = stage.specimen
        for row in range(rows):
            axes = grid[row, column]
            if row >= len(stage.pairs):
                axes.set_axis_off()
                continue
            pair = stage.pairs[row]
            circle = pair.evidence.circle
            alone = grid_logits(specimen.network, circle_alone(specimen.components, circle))
            logits_in_order(axes, answer_of(alone).logits, circle.frequency)
            head = (
                f"epoch {stage.epoch:,}\naccuracy {specimen.analysis.accuracy:.1%}\n"
                if row == 0
                else ""
            )
            # Noise takes the share a little beyond its ends, which a reader of the picture need not
            # see.
            what = (
                "no form"
                if pair.evidence.role == "unclear"
                else f"Pizza {min(1.0, max(0.0, pair.pizza_share)):.0%}"
            )
            axes.set_title(f"{head}k = {circle.frequency}, {what}", fontsize=8)
            if column == 0:
                axes.set_ylabel(f"components {2 * row + 1}, {2 * row + 2}\na − b, along k")
            if row == rows - 1:
                axes.set_xlabel("a + b, along k")
    return figure


def draw_state(specimen: Specimen) -> "Figure":
    """Every circle of a network: its tokens above, the correct logits with it alone below."""
    circles = specimen.analysis.circles[:MOST_CIRCLES]
    figure = new_figure(max(3.4, 1.75 * len(circles) + 0.3), 4.4)
    grid = figure.subplots(2, len(circles), squeeze=False)
    for column, item in enumerate(circles):
        above, below = grid[:, column]
        draw_circle(above, specimen.components, item.circle, FEW_LABELS)
        above.tick_params(labelsize=6.5)
        above.set_title(f"k = {item.circle.frequency}\n{item.part}", fontsize=8)
        k = order_frequency(item)
        without = specimen.without([item]).accuracy
        logits_in_order(below, specimen.only([item]).logits, k)
        below.set_title(f"alone {item.accuracy_alone:.1%}\nwithout it {without:.1%}", fontsize=8)
        below.set_xlabel(f"a + b, along {k}")
        below.set_ylabel(f"a − b, along {k}")
    return figure


def _curve(axes: "Axes", table: "pandas.DataFrame", column: str, color: str, **style: Any) -> None:
    """Median and quartiles over the runs, with the runs themselves behind."""
    for _, run in table.groupby("run_id"):
        axes.plot(run["epoch"], run[column], color=color, alpha=0.12, linewidth=0.5, zorder=1)
    by_epoch = quartiles(table, column)
    axes.fill_between(
        by_epoch.index,
        by_epoch["low"],
        by_epoch["high"],
        color=color,
        alpha=0.25,
        linewidth=0,
        zorder=2,
    )
    axes.plot(
        by_epoch.index,
        by_epoch["middle"],
        color=color,
        marker="o",
        markersize=3,
        zorder=3,
        **style,
    )


def _epoch_axis(axes: "Axes", epochs: Sequence[int]) -> None:
    axes.set_xscale("log" if min(epochs) > 0 else "symlog")
    last = max(epochs)
    ticks = [
        epoch for epoch in epochs if epoch in (100, 200, 600, 2000, 5000) and 1.5 * epoch < last
    ]
    ticks = [*(ticks or [min(epochs)]), last]
    axes.set_xticks(ticks, [f"{epoch:,}" for epoch in ticks], rotation=40, ha="right")
    axes.minorticks_off()
    axes.set_xlim(min(epochs) / 1.05, last * 1.05)
    axes.set_xlabel("epoch")


def draw_population(table: "pandas.DataFrame") -> "Figure":
    """What the strongest pair does in how many runs, and three numbers along training: median,
    quartiles, every run.
    """
    epochs = sorted(table["epoch"].unique().tolist())
    figure = new_figure(7.0, 5.8)
    (what, share), (symmetricity, irrelevance) = figure.subplots(2, 2)
    shares = {
        role: [(table["role"][table["epoch"] == epoch] == role).mean() for epoch in epochs]
        for role in ROLES
    }
    present = {role: values for role, values in shares.items() if any(values)}
    what.stackplot(
        epochs,
        *present.values(),
        labels=present.keys(),
        colors=[ROLE_COLORS[role] for role in present],
    )
    accuracy = quartiles(table, "validation_accuracy")["middle"]
    what.plot(
        accuracy.index,
        accuracy,
        color="black",
        linestyle="--",
        linewidth=1.2,
        label="validation accuracy",
    )
    what.set(ylim=(0, 1), ylabel="share of runs; median accuracy", title="what it does alone")
    figure.legend(
        *what.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=6,
        title="strongest pair of components",
    )
    with_form = table[table["role"].isin(("Pizza", "mixed", "Clock"))]
    _curve(share, with_form, "pizza_share_of_pair", COLORS[1])
    share.axhspan(1 / 3, 2 / 3, color="0.93", zorder=0)
    share.set(
        ylim=(-0.3, 1.3), ylabel="Pizza's share of the amplitude", title="where it has a form"
    )
    for axes, metric, color in (
        (symmetricity, SYMMETRICITY, COLORS[0]),
        (irrelevance, IRRELEVANCE, COLORS[2]),
    ):
        _curve(axes, table, metric, color)
        axes.set(ylim=(0, 1), ylabel=label(metric), title="whole network")
    for axes in (what, share, symmetricity, irrelevance):
        _epoch_axis(axes, epochs)
    return figure


def draw_companions(table: "pandas.DataFrame") -> "Figure":
    """How often a companion is there, and what its removal costs where it is."""
    epochs = sorted(table["epoch"].unique().tolist())
    figure = new_figure(7.0, 2.9)
    presence, accuracy, cost = figure.subplots(1, 3)
    shares = [(table["accompanying"][table["epoch"] == epoch] > 0).mean() for epoch in epochs]
    presence.plot(epochs, shares, color=COLORS[3], marker="o", markersize=3)
    presence.set(ylim=(0, 1.02), ylabel="share of runs", title="an accompanying circle exists")
    having = table[table["accompanying"] > 0]
    if len(having):
        _curve(accuracy, having, "accuracy", COLORS[6], label="whole network")
        _curve(accuracy, having, "accuracy_without_accompanying", COLORS[3], label="without them")
        accuracy.legend(loc="lower right", fontsize=7)
        _curve(cost, having, "cost", COLORS[3])
        cost.set_yscale("symlog", linthresh=1)  # a few lose ten times what the others do
        ticks = [
            tick
            for tick in (0, 0.5, 1, 2, 5, 10, 20, 50, 100)
            if tick <= max(1, having["cost"].max())
        ]
        cost.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    accuracy.set(ylabel="accuracy over all pairs", title="runs that have one")
    cost.set(ylabel="percentage points", title="accuracy lost without them")
    for axes in (presence, accuracy, cost):
        _epoch_axis(axes, epochs)
    return figure
