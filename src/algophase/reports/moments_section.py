"""The section of a page on runs that were followed along training: verdicts and metrics by
epoch.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

from algophase.analysis.catalogue import label, metrics
from algophase.core.palette import in_order, look
from algophase.core.wording import counted
from algophase.pictures.marks import Axis, Band, Hover, Line, Mark, Panel
from algophase.reports.page import Page, paragraph
from algophase.runs.overview import verdict_column
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    import pandas

EPOCHS = Axis(name="epoch", scale="log", format=",")


def followed_metrics() -> list[str]:
    """The validation accuracy, then one metric per family, as the paper defines it."""
    families: dict[str, str] = {}
    for quantity in metrics():
        if quantity.shown and quantity.name != "accuracy":
            families.setdefault(quantity.family, quantity.name)
    return ["validation_accuracy", *families.values()]


def add_moments(page: Page, followed: Runs) -> None:
    """followed: one row per run and epoch, as `SweepDirectory.moments` has them."""
    import pandas

    epochs_of_rows = pandas.to_numeric(followed.frame.get("epoch"), errors="coerce")
    moments = followed.frame.assign(epoch=epochs_of_rows)
    moments = moments[moments["epoch"] > 0]
    if moments["epoch"].nunique() < 2:
        return
    page.heading(3, "Along training")
    runs = moments["run_id"].nunique()
    epochs = moments["epoch"].nunique()
    page.add(paragraph(f"{counted(runs, 'run')} at {epochs} epochs each."))
    column = verdict_column(moments)
    title = (
        "share of each "
        f"{'verdict' if column == 'verdict' else 'label by the rules of the paper'} by epoch"
    )
    panels = list[Panel]()
    if column in moments:
        verdicts = verdicts_by_epoch(moments, column)
        panels.append(replace(verdicts, caption=title, alt=f"The {title}, {runs:,} runs."))
    for metric in followed_metrics():
        if metric not in moments:
            continue
        values = pandas.to_numeric(moments[metric], errors="coerce")
        with_value = moments.assign(_value=values)[values.notna()]
        if with_value["epoch"].nunique() > 1:
            caption = f"{label(metric)} by epoch: median, and the middle half of the runs"
            curve = quartiles_by_epoch(with_value, label(metric))
            panels.append(replace(curve, caption=caption, alt=f"{caption}."))
    page.pictures(panels, "wide")


def verdicts_by_epoch(
    moments: "pandas.DataFrame", column: str = "verdict", order: Sequence[str] = ()
) -> Panel:
    """Shares of the verdicts as stacked areas. order: from the lowest up."""
    shares = (
        moments[column]
        .fillna("not analyzed")
        .groupby(moments["epoch"])
        .value_counts(normalize=True)
        .unstack(fill_value=0)
    )
    epochs = shares.index.to_numpy()
    below = numpy.zeros(len(epochs))
    marks = list[Mark]()
    for verdict in order or in_order(shares.columns):
        above = below + shares[verdict].to_numpy()
        area = Band(
            x=epochs,
            low=below,
            high=above,
            color=look(verdict)[0],
            opacity=1,
            name=verdict,
            hover=Hover("{verdict}: {value:.1%} at epoch {x:,}", verdict=verdict),
        )
        marks.append(area)
        below = above
    share_axis = Axis(name="share of runs", limits=(0, 1), format=".0%")
    return Panel(marks=marks, x=EPOCHS, y=share_axis, height=380)


def quartiles(moments: "pandas.DataFrame", column: str) -> "pandas.DataFrame":
    """Columns low, middle, high and count, by epoch."""
    import pandas

    groups = moments.groupby("epoch")[column]
    parts = {
        name: groups.quantile(level)
        for name, level in (("low", 0.25), ("middle", 0.5), ("high", 0.75))
    }
    return pandas.DataFrame({**parts, "count": groups.count()})


def quartiles_by_epoch(moments: "pandas.DataFrame", name: str) -> Panel:
    """moments: with the numbers in a column `_value`."""
    by_epoch = quartiles(moments, "_value")
    epochs = by_epoch.index.to_numpy()
    low, middle, high = (by_epoch[part].to_numpy() for part in ("low", "middle", "high"))
    band = Band(x=epochs, low=low, high=high, opacity=0.25)
    median = Line(
        x=epochs,
        y=middle,
        marker="o",
        hover=Hover(
            "epoch {x:,}, {details[2]} runs",
            "median {y:.4f}",
            "middle half {details[0]:.4f} to {details[1]:.4f}",
        ),
        details=numpy.stack([low, high, by_epoch["count"].to_numpy()], axis=1),
    )
    return Panel(marks=[band, median], x=EPOCHS, y=Axis(name=name), height=380)
