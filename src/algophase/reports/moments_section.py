"""The section of a page on runs that were followed along training: verdicts and metrics by
epoch.
"""

from typing import TYPE_CHECKING

import numpy

from algophase.analysis.catalogue import label, metrics
from algophase.analysis.verdict.decide import in_order
from algophase.core.palette import COLORS
from algophase.core.wording import counted
from algophase.reports.page import Page, paragraph
from algophase.reports.plotly_style import Panel, graph_objects, inert_text, look, new_figure
from algophase.runs.overview import verdict_column

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure


def followed_metrics() -> list[str]:
    """The validation accuracy, then one metric per family, as the paper defines it."""
    families: dict[str, str] = {}
    for quantity in metrics():
        if quantity.shown and quantity.name != "accuracy":
            families.setdefault(quantity.family, quantity.name)
    return ["validation_accuracy", *families.values()]


def add_moments(page: Page, moments: "pandas.DataFrame") -> None:
    """moments: one row per run and epoch, as `SweepDirectory.moments` has them."""
    import pandas

    moments = moments.assign(epoch=pandas.to_numeric(moments.get("epoch"), errors="coerce"))
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
    panels = (
        [Panel(verdicts_by_epoch(moments, column), title, f"The {title}, {runs:,} runs.")]
        if column in moments
        else []
    )
    for metric in followed_metrics():
        if metric not in moments:
            continue
        values = pandas.to_numeric(moments[metric], errors="coerce")
        with_value = moments.assign(_value=values)[values.notna()]
        if with_value["epoch"].nunique() > 1:
            caption = f"{label(metric)} by epoch: median, and the middle half of the runs"
            panels.append(
                Panel(quartiles_by_epoch(with_value, label(metric)), caption, f"{caption}.")
            )
    page.pictures(panels, "wide")


def _epoch_axis(figure: "Figure") -> None:
    figure.update_xaxes(type="log", dtick="D2", tickformat=",")


def verdicts_by_epoch(moments: "pandas.DataFrame", column: str = "verdict") -> "Figure":
    shares = (
        moments[column]
        .fillna("not analyzed")
        .groupby(moments["epoch"])
        .value_counts(normalize=True)
        .unstack(fill_value=0)
    )
    figure = new_figure(x="epoch", y="share of runs", height=380)
    for verdict in in_order(shares.columns):
        color, _ = look(verdict)
        figure.add_trace(
            graph_objects().Scatter(
                x=shares.index.to_numpy(),
                y=shares[verdict].to_numpy(),
                name=inert_text(verdict),
                mode="lines",
                stackgroup="all",
                line={"width": 0.5, "color": color},
                fillcolor=color,
                hovertemplate=f"{inert_text(verdict)}: %{{y:.1%}} at epoch %{{x:,}}<extra></extra>",
            )
        )
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    _epoch_axis(figure)
    return figure


def quartiles(moments: "pandas.DataFrame", column: str) -> "pandas.DataFrame":
    """Columns low, middle, high and count, by epoch."""
    import pandas

    groups = moments.groupby("epoch")[column]
    parts = {
        name: groups.quantile(level)
        for name, level in (("low", 0.25), ("middle", 0.5), ("high", 0.75))
    }
    return pandas.DataFrame({**parts, "count": groups.count()})


def quartiles_by_epoch(known: "pandas.DataFrame", name: str) -> "Figure":
    """known: with the numbers in a column `_value`."""
    by_epoch = quartiles(known, "_value")
    low, middle, high, count = (
        by_epoch[name].to_numpy() for name in ("low", "middle", "high", "count")
    )
    epochs = by_epoch.index.to_numpy()
    figure = new_figure(x="epoch", y=name, height=380)
    go = graph_objects()
    band = {
        "x": numpy.concatenate([epochs, epochs[::-1]]),
        "y": numpy.concatenate([high, low[::-1]]),
    }
    figure.add_trace(
        go.Scatter(
            **band,
            fill="toself",
            fillcolor=COLORS[0],
            opacity=0.25,
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    figure.add_trace(
        go.Scatter(
            x=epochs,
            y=middle,
            mode="lines+markers",
            line={"color": COLORS[0], "width": 2},
            showlegend=False,
            customdata=numpy.stack([low, high, count], axis=1),
            hovertemplate="epoch %{x:,}, %{customdata[2]} runs<br>median %{y:.4f}<br>"
            "middle half %{customdata[0]:.4f} to %{customdata[1]:.4f}<extra></extra>",
        )
    )
    _epoch_axis(figure)
    return figure
