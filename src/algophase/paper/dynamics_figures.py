"""Pictures of training: isolated components of one network epoch by epoch, and a population's
curves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY, label
from algophase.analysis.circles.find import circle_alone, points_in_plane
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.moments import PairEvidence, moment_details
from algophase.analysis.specimen import Specimen, answer_of
from algophase.core.palette import COLORS
from algophase.networks import Network
from algophase.paper.plates import logits_in_order
from algophase.pictures.marks import Axis, Band, Figure, Legend, Line, Mark, Panel, Span
from algophase.reports.moments_section import quartiles
from algophase.reports.network_panels import axis_names, order_frequency, plane_panel

if TYPE_CHECKING:
    import pandas

ROLES = ("Pizza", "mixed", "Clock", "accompanying", "unclear")
PALE_GRAY = "#D9D9D9"
ROLE_COLORS = dict(zip(ROLES, (COLORS[1], COLORS[2], COLORS[0], COLORS[3], PALE_GRAY), strict=True))
MOST_CIRCLES = 6
FEW_LABELS = 12  # tokens named in a small circle
EPOCH_TICKS = (100, 200, 600, 2000, 5000)
FEW_EPOCH_TICKS = (200, 2000)  # where three panels stand side by side
COST_TICKS = (0, 0.5, 1, 2, 5, 10, 20, 50, 100)


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


def stages_figure(by_epoch: Sequence[Stage]) -> Figure:
    """Correct logits by a - b (rows) and a + b (columns): one column per epoch, one row per pair
    of components.
    """
    most_pairs = max(len(stage.pairs) for stage in by_epoch)
    rows = []
    for row in range(most_pairs):
        panels = [_stage_panel(stage, row) for stage in by_epoch]
        rows.append(panels)
    width = 1.55 * len(by_epoch) + 0.4
    height = 1.8 * most_pairs + 0.7
    return Figure(rows=rows, width=width, height=height, names_outside=True)


def _stage_panel(stage: Stage, row: int) -> Panel | None:
    """One pair of components alone; None where the network has fewer."""
    if row >= len(stage.pairs):
        return None
    specimen = stage.specimen
    pair = stage.pairs[row]
    circle = pair.evidence.circle
    alone = grid_logits(specimen.network, circle_alone(specimen.components, circle))
    panel = logits_in_order(answer_of(alone).logits, circle.frequency)
    # Noise takes the share a little beyond its ends, which a reader of the picture need not see.
    role = f"Pizza {min(1.0, max(0.0, pair.pizza_share)):.0%}"
    if pair.evidence.role == "unclear":
        role = "no form"
    title = f"k = {circle.frequency}, {role}"
    if row == 0:
        accuracy = f"accuracy {specimen.analysis.accuracy:.1%}"
        title = f"epoch {stage.epoch:,}\n{accuracy}\n{title}"
    components = f"components {2 * row + 1}, {2 * row + 2}"
    return replace(
        panel,
        title=title,
        x=replace(panel.x, name="a + b, along k"),
        y=replace(panel.y, name=f"{components}\na − b, along k"),
    )


def state_figure(specimen: Specimen) -> Figure:
    """Every circle of a network: its tokens above, the correct logits with it alone below."""
    above = list[Panel]()
    below = list[Panel]()
    circles = specimen.analysis.circles[:MOST_CIRCLES]
    for item in circles:
        circle = item.circle
        points = points_in_plane(specimen.components, circle)
        plane = plane_panel(points, circle.frequency, axis_names(circle), FEW_LABELS)
        above.append(replace(plane, title=f"k = {circle.frequency}\n{item.part}"))
        k = order_frequency(item)
        without = specimen.without([item]).accuracy
        panel = logits_in_order(specimen.only([item]).logits, k)
        panel = replace(
            panel,
            title=f"alone {item.accuracy_alone:.1%}\nwithout it {without:.1%}",
            x=replace(panel.x, name=f"a + b, along {k}"),
            y=replace(panel.y, name=f"a − b, along {k}"),
        )
        below.append(panel)
    return Figure(rows=[above, below], width=max(3.4, 1.95 * len(circles) + 0.3), height=4.4)


def _curve(table: "pandas.DataFrame", column: str, color: str, name: str = "") -> list[Mark]:
    """Median and quartiles over the runs, with the runs themselves behind."""
    marks = list[Mark]()
    for _, run in table.groupby("run_id"):
        x = run["epoch"].to_numpy()
        y = run[column].to_numpy()
        marks.append(Line(x=x, y=y, color=color, width=0.5, opacity=0.12, layer=-1))
    by_epoch = quartiles(table, column)
    epochs = by_epoch.index.to_numpy()
    low, middle, high = (by_epoch[part].to_numpy() for part in ("low", "middle", "high"))
    marks.append(Band(x=epochs, low=low, high=high, color=color, opacity=0.25))
    marks.append(Line(x=epochs, y=middle, color=color, width=1.5, marker="o", name=name))
    return marks


def _epoch_axis(epochs: Sequence[int], tick_epochs: Sequence[int] = EPOCH_TICKS) -> Axis:
    first = min(epochs)
    last = max(epochs)
    ticks = [epoch for epoch in epochs if epoch in tick_epochs and 1.5 * epoch < last]
    ticks = [*(ticks or [first]), last]
    return Axis(
        name="epoch",
        scale="log" if first > 0 else "symlog",
        ticks=ticks,
        tick_names=[f"{epoch:,}" for epoch in ticks],
        limits=(first / 1.05, last * 1.05),
    )


def population_figure(table: "pandas.DataFrame") -> Figure:
    """What the strongest pair does in how many runs, and three numbers along training: median,
    quartiles, every run.
    """
    epoch_axis = _epoch_axis(_epochs(table))
    with_form = table[table["role"].isin(("Pizza", "mixed", "Clock"))]
    share = Panel(
        marks=[
            Span(y=(1 / 3, 2 / 3), color=PALE_GRAY, opacity=0.4, layer=-2),
            *_curve(with_form, "pizza_share_of_pair", COLORS[1]),
        ],
        x=epoch_axis,
        y=Axis(name="Pizza's share of the amplitude", limits=(-0.3, 1.3)),
        title="where it has a form",
    )
    whole = []
    for metric, color in ((SYMMETRICITY, COLORS[0]), (IRRELEVANCE, COLORS[2])):
        upwards = Axis(name=label(metric), limits=(0, 1))
        marks = _curve(table, metric, color)
        whole.append(Panel(marks=marks, x=epoch_axis, y=upwards, title="whole network"))
    return Figure(
        rows=[[_roles_panel(table, epoch_axis), share], whole],
        width=7.0,
        height=5.8,
        legend=Legend(where="above", title="strongest pair of components"),
    )


def _epochs(table: "pandas.DataFrame") -> list[int]:
    return sorted(table["epoch"].unique().tolist())


def _roles_panel(table: "pandas.DataFrame", epoch_axis: Axis) -> Panel:
    """The roles of the strongest pair as stacked areas, and the median accuracy."""
    epochs = _epochs(table)
    below = numpy.zeros(len(epochs))
    marks = list[Mark]()
    for role in ROLES:
        shares = [(table["role"][table["epoch"] == epoch] == role).mean() for epoch in epochs]
        if not any(shares):
            continue
        above = below + numpy.array(shares)
        color = ROLE_COLORS[role]
        marks.append(Band(x=epochs, low=below, high=above, color=color, opacity=1, name=role))
        below = above
    accuracy = quartiles(table, "validation_accuracy")["middle"]
    median = Line(
        x=accuracy.index.to_numpy(),
        y=accuracy.to_numpy(),
        color="#000000",
        dash="--",
        name="validation accuracy",
        layer=1,
    )
    upwards = Axis(name="share of runs; median accuracy", limits=(0, 1))
    return Panel(marks=[*marks, median], x=epoch_axis, y=upwards, title="what it does alone")


def companions_figure(table: "pandas.DataFrame") -> Figure:
    """How often a companion is there, and what its removal costs where it is."""
    epochs = _epochs(table)
    epoch_axis = _epoch_axis(epochs, FEW_EPOCH_TICKS)
    shares = [(table["accompanying"][table["epoch"] == epoch] > 0).mean() for epoch in epochs]
    presence = Panel(
        marks=[Line(x=epochs, y=shares, color=COLORS[3], width=1.5, marker="o")],
        x=epoch_axis,
        y=Axis(name="share of runs", limits=(0, 1.02)),
        title="an accompanying circle exists",
    )
    having = table[table["accompanying"] > 0]
    accuracies = list[Mark]()
    costs = list[Mark]()
    if len(having):
        accuracies += _curve(having, "accuracy", COLORS[6], "whole network")
        accuracies += _curve(having, "accuracy_without_accompanying", COLORS[3], "without them")
        costs += _curve(having, "cost", COLORS[3])
    accuracy = Panel(
        marks=accuracies,
        x=epoch_axis,
        y=Axis(name="accuracy over all pairs"),
        title="runs that have one",
        legend=Legend(where="lower right", columns=1) if accuracies else None,
    )
    largest = max(1.0, having["cost"].max()) if len(having) else 1.0
    ticks = [tick for tick in COST_TICKS if tick <= largest]
    # Some networks are a little better without; Matplotlib would leave a third of the axis below 0.
    least = min(-0.05, having["cost"].min()) if len(having) else -0.05
    cost = Panel(
        marks=costs,
        x=epoch_axis,
        # A few lose ten times what the others do.
        y=Axis(
            name="percentage points",
            scale="symlog",
            limits=(least, None),
            ticks=ticks,
            tick_names=[f"{tick:g}" for tick in ticks],
        ),
        title="accuracy lost without them",
    )
    return Figure(rows=[[presence, accuracy, cost]], width=7.0, height=2.9)
