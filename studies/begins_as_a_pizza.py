"""Draw how networks with full attention turn from Pizzas into Clocks, and what networks of all
widths learn.

    python studies/begins_as_a_pizza.py    # docs/images/turning.png
"""

from pathlib import Path

import numpy
import pandas

from algophase import Runs
from algophase.core.palette import COLORS, VERDICTS
from algophase.pictures.by_rate import Kind, run_panel
from algophase.pictures.marks import Axis, Band, Dash, Figure, Labels, Legend, Line, Mark, Panel
from algophase.reports.moments_section import verdicts_by_epoch
from algophase.reports.save_figure import save_figure
from algophase.runs.boundary import phase_boundary
from algophase.storage.sweep_directory import SweepDirectory

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "turning.png"
EPOCHS = Axis(name="epoch", scale="log")
WIDTHS = (32, 64, 128, 256, 512, 1024)
ALONG = ("not learned", "Pizza", "other", "hybrid", "Clock")
BLACK = "#000000"


def read_moments() -> pandas.DataFrame:
    kept = SweepDirectory(ROOT / "gallery" / "clock-training").moments()
    assert kept is not None
    return kept.to_pandas()


def verdicts_panel(moments: pandas.DataFrame) -> Panel:
    stacked = verdicts_by_epoch(moments, order=ALONG)
    epochs = moments["epoch"]
    return Panel(
        marks=stacked.marks,
        x=Axis(name="epoch", scale="log", limits=(epochs.min(), epochs.max())),
        y=Axis(name="share of networks", limits=(0, 1)),
        title="attention rate 1: first Pizzas, then Clocks",
        legend=Legend(where="below", columns=2),
    )


def parts_panel(moments: pandas.DataFrame) -> Panel:
    by_epoch = moments.groupby("epoch")
    epochs = numpy.array(list(by_epoch.groups))
    marks = list[Mark]()
    for column, name, color, marker in (
        ("pizza_logit_share", "Pizza's share of the logits", COLORS[1], "s"),
        ("validation_accuracy", "held-out pairs answered right", COLORS[0], "o"),
    ):
        low, middle, high = (
            by_epoch[column].quantile(part).to_numpy() for part in (0.05, 0.5, 0.95)
        )
        marks.append(Band(x=epochs, low=low, high=high, color=color))
        marks.append(Line(x=epochs, y=middle, color=color, width=1, marker=marker, name=name))
    products = by_epoch["product_share"].median().to_numpy()
    name = f"products (1 is {products.max():.1%})"
    relative = products / products.max()
    marks.append(
        Line(x=epochs, y=relative, color=COLORS[5], dash="--", width=1, marker="^", name=name)
    )
    return Panel(
        marks=marks,
        x=EPOCHS,
        y=Axis(name="median, and 90% of the networks", limits=(0, 1.02)),
        title="every answer is right before products come",
        legend=Legend(where="below", columns=1),
    )


def boundary_lines(runs: pandas.DataFrame) -> list[Mark]:
    """Where half of the runs are Pizzas, and where half are Clocks, by width."""
    rates = runs.attention_rate.to_numpy()
    widths = runs.width.to_numpy()
    along = numpy.geomspace(32, 512, 50)
    solid = phase_boundary(rates, (runs.verdict == "Pizza").to_numpy(float), widths, width=128.0)
    dashed = phase_boundary(rates, (runs.verdict != "Clock").to_numpy(float), widths, width=128.0)
    lines = list[Mark]()
    for boundary, name in ((solid, "half are Pizzas"), (dashed, "half are Clocks")):
        assert boundary.rate is not None
        assert boundary.slope is not None
        y = boundary.rate.value + boundary.slope.value * numpy.log2(along / 128)
        dash: Dash = "-" if boundary is solid else "--"
        lines.append(Line(x=along, y=y, color=BLACK, dash=dash, name=name, layer=10))
    return lines


def widths_panel() -> Panel:
    runs, widest = (
        Runs.read(ROOT / "gallery" / name).accurate.frame for name in ("varying-width", "wide")
    )
    both = pandas.concat([runs, widest])
    kinds = []
    for verdict in ("Pizza", "hybrid", "Clock"):
        networks = both[both.verdict == verdict]
        color, marker = VERDICTS[verdict]
        x = networks.width.to_numpy()
        y = networks.attention_rate.to_numpy()
        kinds.append(Kind(name=verdict, color=color, marker=marker, x=x, y=y))
    count = f"{(widest.verdict == 'Pizza').sum()}\nof {len(widest)}"
    pizzas = Labels(x=[1024], y=[0.98], texts=[count], size=9, side="below")
    return run_panel(
        kinds,
        x=Axis(
            name="width", scale="log", ticks=WIDTHS, tick_names=[str(width) for width in WIDTHS]
        ),
        y=Axis(name="attention rate", limits=(0, 1.02)),
        more=[*boundary_lines(runs), pizzas],
        counted=False,
        title="wider networks are Pizzas",
        legend=Legend(where="below", columns=2),
    )


def picture() -> Figure:
    moments = read_moments()
    panels = [verdicts_panel(moments), parts_panel(moments), widths_panel()]
    return Figure(rows=[panels], width=9.6, height=3.9)


def main() -> None:
    save_figure(picture(), PICTURE)


if __name__ == "__main__":
    main()
