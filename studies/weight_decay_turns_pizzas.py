"""Does weight decay turn Pizzas into Clocks? Train networks up to a Pizza, then go on with
different weight decays.

    python studies/weight_decay_turns_pizzas.py          # draws gallery/branches.csv:
                                                         # docs/images/branches.png
    python studies/weight_decay_turns_pizzas.py train    # measures it again, 12 networks in three
                                                         # arms: 15 minutes on two CPU cores

The networks are the first runs of the space `clock-training` (attention rate 1), trained as
published up to the branch. Every arm goes on from the same weights with a new optimizer; the one
with the published weight decay is the control.
"""

import argparse
import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pandas
import torch

from algophase import Network, RunSettings, analyze
from algophase.core.palette import GRAY, VERDICTS
from algophase.networks.stacking import take_out
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.sweeps.shipped_spaces import find_space
from algophase.training.run.optimizer import AdamW
from algophase.training.run.plan import PlannedEnsemble, plan
from algophase.training.run.turns import threads_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "gallery" / "branches.csv"
PICTURE = ROOT / "docs" / "images" / "branches.png"
BRANCH, AFTER = 400, 1600  # epochs before and after
ARMS = (2.0, 0.0, 0.5)  # weight decay
SHOWN = ("Pizza", "hybrid", "Clock", "not learned")
COLUMNS = (
    "run_id",
    "weight_decay",
    "epoch",
    "verdict",
    "sentence",
    "accuracy",
    "pizza_logit_share",
    "product_share",
    "norm",
)


def trained(
    runs: Sequence[RunSettings], start: Sequence[Network] | None, epochs: int
) -> list[Network]:
    """These runs after so many epochs, from their seeds or from the weights of other networks."""
    networks: dict[int, Network] = {}
    for group in plan(runs, "auto", "cpu", "float32"):
        beginnings = None if start is None else [start[index] for index in group.indices]
        ends = _together(group, beginnings, epochs)
        networks |= dict(zip(group.indices, ends, strict=True))
    return [networks[index] for index in range(len(runs))]


def _together(
    group: PlannedEnsemble, start: Sequence[Network] | None, epochs: int
) -> list[Network]:
    runs = group.runs
    with threads_for(group):
        engine = group.engine_class(list(runs), group.device, group.precision)
        if start is not None:
            engine.put([dict(network.named_parameters()) for network in start])
        optimizer = AdamW(engine.parameters, list(runs))
        diverged = torch.full((len(runs),), -1)
        for _ in range(epochs):
            optimizer.epoch(engine.gradients, engine.loss_and_gradient(), diverged)
        stacked = {name: value.cpu() for name, value in engine.export().items()}
        return [take_out(stacked, index, run) for index, run in enumerate(runs)]


def row(run: RunSettings, network: Network, decay: float, epoch: int) -> list[object]:
    analysis = analyze(network)
    norm = sum(value.detach().square().sum().item() for value in network.parameters()) ** 0.5
    numbers = (analysis.accuracy, analysis.verdict.pizza_share, analysis.product_share, norm)
    return [
        run.run_id,
        decay,
        epoch,
        analysis.verdict.label,
        analysis.verdict.sentence,
        *("" if number is None else f"{number:.6g}" for number in numbers),
    ]


def draw(table: pandas.DataFrame) -> "Figure":
    """Every network at the branch and at the end of each arm: the Pizza's share of its logits,
    products and norm.
    """
    figure = new_figure(9.6, 3.0)
    random = numpy.random.default_rng(0)
    ends = [("before", table[table.epoch == table.epoch.min()])]
    later = table[table.epoch == table.epoch.max()]
    ends += [
        (f"{decay:g}", later[later.weight_decay == decay]) for decay in sorted(ARMS, reverse=True)
    ]
    panels = {
        "pizza_logit_share": "Pizza's share of the logits",
        "product_share": "products' share",
        "norm": "norm of the weights",
    }
    for axes, (column, label) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for position, (_, networks) in enumerate(ends):
            shift = random.uniform(-0.15, 0.15, len(networks))
            for verdict in SHOWN:
                chosen = (networks.verdict == verdict).to_numpy()
                color, marker = VERDICTS[verdict]
                axes.scatter(
                    position + shift[chosen],
                    networks[column][chosen],
                    18,
                    color=color,
                    marker=marker,
                    linewidth=0,
                )
        axes.set_xticks(range(len(ends)), [name for name, _ in ends])
        axes.axvline(0.5, color=GRAY, linewidth=0.8, linestyle=":")
        axes.set(
            xlabel="weight decay from epoch 400 to 2,000", title=label, xlim=(-0.5, len(ends) - 0.5)
        )
        axes.set_ylim(bottom=0)
    for verdict in SHOWN:
        color, marker = VERDICTS[verdict]
        figure.axes[1].scatter([], [], 18, color=color, marker=marker, linewidth=0, label=verdict)
    figure.axes[1].legend(frameon=False, loc="upper right")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", nargs="?", choices=("draw", "train"), default="draw")
    parser.add_argument("table", nargs="?", type=Path, default=TABLE)
    parser.add_argument("--networks", type=int, default=12)
    parser.add_argument("--branch", type=int, default=BRANCH)
    parser.add_argument("--after", type=int, default=AFTER)
    arguments = parser.parse_args()
    if arguments.do == "draw":
        with house_style():
            save_figure(draw(pandas.read_csv(arguments.table)), PICTURE)
        return
    runs = [find_space("clock-training").run(index) for index in range(arguments.networks)]
    before = trained(runs, None, arguments.branch)
    with arguments.table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(
            row(run, network, 2.0, arguments.branch)
            for run, network in zip(runs, before, strict=True)
        )
        for decay in ARMS:
            arm = [replace(run, training=replace(run.training, weight_decay=decay)) for run in runs]
            after = trained(arm, before, arguments.after)
            for run, network in zip(runs, after, strict=True):
                writer.writerow(row(run, network, decay, arguments.branch + arguments.after))
            file.flush()
            print(f"weight decay {decay:g}: done", flush=True)


if __name__ == "__main__":
    main()
