"""Why do deep networks err at the end? Follow networks of two and of four layers closely through
the first epochs.

    python studies/deep_networks_spike.py          # draws gallery/spikes.csv into docs/images
    python studies/deep_networks_spike.py train    # measures it again: 30 minutes on two CPU cores

The networks are the first runs of the spaces `layers-2` and `layers-4`, trained as published in all
but the number of epochs. The loss and the share of pairs answered right are written every 5 epochs,
the program's read-out every 100.
"""

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas

from algophase import train
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.program.read import program_of_logits
from algophase.core.palette import COLORS
from algophase.core.settings import RunSettings, TransformerSettings
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.sweeps.shipped_spaces import find_space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "gallery" / "spikes.csv"
PICTURE = ROOT / "docs" / "images" / "spikes.png"
DEPTHS = (2, 4)
EPOCHS, STRIDE, LOOKS = 1200, 5, 100
COLUMNS = (
    "run_id",
    "layers",
    "attention_rate",
    "epoch",
    "training_loss",
    "accuracy",
    "readout_share",
)


def followed(run: RunSettings, epochs: int) -> "Iterator[list[object]]":
    """Rows of one network. Accuracy is over all pairs, those it trains on and those held out."""
    looks = range(LOOKS, epochs + 1, LOOKS)
    short = replace(run, training=replace(run.training, epochs=epochs))
    (trained,) = train([short], device="cpu", history_stride=STRIDE, snapshot_epochs=looks)
    history = trained.history
    readout_shares = {
        epoch: program_of_logits(grid_logits(network)).readout_share
        for epoch, network in trained.snapshots.items()
    }
    share = run.task.training_fraction
    assert share is not None
    accuracy = share * history.training_accuracy + (1 - share) * history.validation_accuracy
    settings = run.network
    assert isinstance(settings, TransformerSettings)
    for epoch, loss, right in zip(history.epochs, history.training_loss, accuracy, strict=True):
        readout = f"{readout_shares[epoch]:.4f}" if epoch in readout_shares else ""
        yield [
            run.run_id,
            settings.layers,
            f"{settings.attention_rate:.4f}",
            epoch,
            f"{loss:.4g}",
            f"{right:.6f}",
            readout,
        ]


def draw(table: pandas.DataFrame) -> "Figure":
    """The loss of every network, one panel for each depth."""
    figure = new_figure(9.6, 3.4)
    panels = figure.subplots(1, len(DEPTHS), sharey=True)
    for axes, (layers, networks) in zip(panels, table.groupby("layers"), strict=True):
        for color, style, (_, one) in zip(
            COLORS, ("-", "--", ":"), networks.groupby("run_id", sort=False), strict=False
        ):
            rate = one.attention_rate.iloc[0]
            axes.plot(
                one.epoch,
                one.training_loss,
                color=color,
                linestyle=style,
                linewidth=1.2,
                label=f"rate {rate:.2f}",
            )
        axes.set(yscale="log", xlabel="epoch", title=f"{layers} layers")
        axes.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    panels[0].set_ylabel("training loss")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", nargs="?", choices=("draw", "train"), default="draw")
    parser.add_argument("table", nargs="?", type=Path, default=TABLE)
    parser.add_argument("--networks", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    if arguments.do == "draw":
        with house_style():
            save_figure(draw(pandas.read_csv(arguments.table)), PICTURE)
        return
    with arguments.table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for layers in DEPTHS:
            for index in range(arguments.networks):
                run = find_space(f"layers-{layers}").run(index)
                writer.writerows(followed(run, arguments.epochs))
                file.flush()


if __name__ == "__main__":
    main()
