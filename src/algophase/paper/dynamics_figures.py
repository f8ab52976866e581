"""Pictures of training: isolated components of one network epoch by epoch, and a population's curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from algophase.analysis.analyze import analyze
from algophase.analysis.circles import Circle, circle_alone, isolate_circles
from algophase.analysis.device import in_float64
from algophase.analysis.evidence import CircleEvidence
from algophase.analysis.grid import by_difference_and_sum, correct_logits, grid_logits
from algophase.analysis.moments import PairEvidence, moment_details
from algophase.analysis.principal import PrincipalComponents, network_components
from algophase.networks import Network
from algophase.report.figures import circle_order, draw_circle, logit_map
from algophase.report.moments_section import quartiles
from algophase.report.style import COLOURS, new_figure

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROLES = ("Pizza", "mixed", "Clock", "accompanying", "unclear")
ROLE_COLOURS = dict(zip(ROLES, (COLOURS[1], COLOURS[2], COLOURS[0], COLOURS[3], "0.85"), strict=True))
MOST_CIRCLES = 6
FEW_LABELS = 12  # tokens named in a small circle


@dataclass(frozen=True)
class Stage:
    """A network after `epoch` updates, with its first pairs of components."""

    epoch: int
    network: Network  # in float64
    components: PrincipalComponents
    accuracy: float
    pairs: tuple[PairEvidence, ...]


def stages(networks: Mapping[int, Network]) -> list[Stage]:
    found = []
    for epoch, network in networks.items():
        exact, analysis = in_float64(network), analyze(network)
        pairs = moment_details(network, analysis).pairs
        found.append(Stage(epoch, exact, network_components(exact), analysis.accuracy, pairs))
    return found


def _isolated_logits(axes: "Axes", network: Network, components: PrincipalComponents, circle: Circle, k: int) -> None:
    """Correct logits with one circle or pair kept, in the order of frequency k."""
    p = network.task.modulus
    order = circle_order(p, k)
    matrix = by_difference_and_sum(correct_logits(grid_logits(network, circle_alone(components, circle))))
    logit_map(axes, matrix[order][:, order])
    axes.set(xticks=[], yticks=[])


def draw_stages(shown: Sequence[Stage]) -> "Figure":
    """Correct logits by a - b (rows) and a + b (columns): a column an epoch, a row a pair of components."""
    rows = max(len(stage.pairs) for stage in shown)
    figure = new_figure(1.55 * len(shown) + 0.4, 1.8 * rows + 0.7)
    grid = figure.subplots(rows, len(shown), squeeze=False)
    for column, stage in enumerate(shown):
        for row in range(rows):
            axes = grid[row, column]
            if row >= len(stage.pairs):
                axes.set_axis_off()
                continue
            pair = stage.pairs[row]
            circle = pair.evidence.circle
            _isolated_logits(axes, stage.network, stage.components, circle, circle.frequency)
            head = f"epoch {stage.epoch:,}\naccuracy {stage.accuracy:.1%}\n" if row == 0 else ""
            # Noise takes the share a little beyond its ends, which a reader of the picture need not see.
            what = "no form" if pair.evidence.role == "unclear" else f"Pizza {min(1.0, max(0.0, pair.pizza_share)):.0%}"
            axes.set_title(f"{head}k = {circle.frequency}, {what}", fontsize=8)
            if column == 0:
                axes.set_ylabel(f"components {2 * row + 1}, {2 * row + 2}\na − b, along k")
            if row == rows - 1:
                axes.set_xlabel("a + b, along k")
    return figure


def draw_state(network: Network, evidence: Sequence[CircleEvidence]) -> "Figure":
    """Every circle of a network: its tokens above, the correct logits with it alone below."""
    exact = in_float64(network)
    components, shown = network_components(exact), evidence[:MOST_CIRCLES]
    figure = new_figure(max(3.4, 1.75 * len(shown) + 0.3), 4.4)
    grid = figure.subplots(2, len(shown), squeeze=False)
    for column, item in enumerate(shown):
        above, below = grid[:, column]
        draw_circle(above, components, item.circle, FEW_LABELS)
        above.tick_params(labelsize=6.5)
        above.set_title(f"k = {item.circle.frequency}\n{item.part}", fontsize=8)
        # An accompanying circle answers on the circle of its Pizza, and shows its pattern in that one's order.
        k = item.accompanies or item.circle.frequency
        _isolated_logits(below, exact, components, item.circle, k)
        without = isolate_circles(exact, [item.circle], drop=True, principal=components).accuracy
        below.set_title(f"alone {item.accuracy_alone:.1%}\nwithout it {without:.1%}", fontsize=8)
        below.set_xlabel(f"a + b, along {k}")
        below.set_ylabel(f"a − b, along {k}")
    return figure


def _curve(axes: "Axes", table: "pandas.DataFrame", column: str, colour: str, **style: Any) -> None:
    """Median and quartiles over the runs, with the runs themselves behind."""
    for _, run in table.groupby("run_id"):
        axes.plot(run["epoch"], run[column], color=colour, alpha=0.12, linewidth=0.5, zorder=1)
    found = quartiles(table, column)
    axes.fill_between(found.index, found["low"], found["high"], color=colour, alpha=0.25, linewidth=0, zorder=2)
    axes.plot(found.index, found["middle"], color=colour, marker="o", markersize=3, zorder=3, **style)


def _epoch_axis(axes: "Axes", epochs: Sequence[int]) -> None:
    axes.set_xscale("log" if min(epochs) > 0 else "symlog")
    last = max(epochs)
    ticks = [epoch for epoch in epochs if epoch in (100, 200, 600, 2000, 5000) and 1.5 * epoch < last]
    ticks = [*(ticks or [min(epochs)]), last]
    axes.set_xticks(ticks, [f"{epoch:,}" for epoch in ticks], rotation=40, ha="right")
    axes.minorticks_off()
    axes.set_xlim(min(epochs) / 1.05, last * 1.05)
    axes.set_xlabel("epoch")


def draw_population(table: "pandas.DataFrame") -> "Figure":
    """What the strongest pair does in how many runs, and three numbers along training: median, quartiles, every run."""
    epochs = sorted(table["epoch"].unique().tolist())
    figure = new_figure(7.0, 5.8)
    (what, share), (symmetricity, irrelevance) = figure.subplots(2, 2)
    shares = {role: [(table["role"][table["epoch"] == epoch] == role).mean() for epoch in epochs] for role in ROLES}
    present = {role: values for role, values in shares.items() if any(values)}
    what.stackplot(epochs, *present.values(), labels=present.keys(), colors=[ROLE_COLOURS[role] for role in present])
    accuracy = quartiles(table, "validation_accuracy")["middle"]
    what.plot(accuracy.index, accuracy, color="black", linestyle="--", linewidth=1.2, label="validation accuracy")
    what.set(ylim=(0, 1), ylabel="share of runs; median accuracy", title="what it does alone")
    figure.legend(*what.get_legend_handles_labels(), loc="outside upper center", ncols=6, title="strongest pair of components")
    known = table[table["role"].isin(("Pizza", "mixed", "Clock"))]
    _curve(share, known, "pizza_share_of_pair", COLOURS[1])
    share.axhspan(1 / 3, 2 / 3, color="0.93", zorder=0)
    share.set(ylim=(-0.3, 1.3), ylabel="Pizza's share of the amplitude", title="where it has a form")
    _curve(symmetricity, table, "gradient_symmetricity", COLOURS[0])
    symmetricity.set(ylim=(0, 1), ylabel="gradient symmetricity", title="whole network")
    _curve(irrelevance, table, "distance_irrelevance", COLOURS[2])
    irrelevance.set(ylim=(0, 1), ylabel="distance irrelevance", title="whole network")
    for axes in (what, share, symmetricity, irrelevance):
        _epoch_axis(axes, epochs)
    return figure


def draw_companions(table: "pandas.DataFrame") -> "Figure":
    """How often a companion is there, and what its removal costs where it is."""
    epochs = sorted(table["epoch"].unique().tolist())
    figure = new_figure(7.0, 2.9)
    there, accuracy, cost = figure.subplots(1, 3)
    shares = [(table["accompanying"][table["epoch"] == epoch] > 0).mean() for epoch in epochs]
    there.plot(epochs, shares, color=COLOURS[3], marker="o", markersize=3)
    there.set(ylim=(0, 1.02), ylabel="share of runs", title="an accompanying circle exists")
    having = table[table["accompanying"] > 0]
    if len(having):
        _curve(accuracy, having, "accuracy", COLOURS[6], label="whole network")
        _curve(accuracy, having, "accuracy_without_accompanying", COLOURS[3], label="without them")
        accuracy.legend(loc="lower right", fontsize=7)
        _curve(cost, having, "cost", COLOURS[3])
        cost.set_yscale("symlog", linthresh=1)  # a few lose ten times what the others do
        ticks = [tick for tick in (0, 0.5, 1, 2, 5, 10, 20, 50, 100) if tick <= max(1, having["cost"].max())]
        cost.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    accuracy.set(ylabel="accuracy over all pairs", title="runs that have one")
    cost.set(ylabel="percentage points", title="accuracy lost without them")
    for axes in (there, accuracy, cost):
        _epoch_axis(axes, epochs)
    return figure
