"""Shares of the verdicts along the attention rate, and for each value of a setting: what a grid
was made to show.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from algophase.analysis.catalogue import label
from algophase.analysis.verdict.decide import in_order
from algophase.reports.plotly_style import Panel, graph_objects, inert_text, look, new_figure
from algophase.runs.laws import SETTINGS
from algophase.runs.runs import Runs
from algophase.runs.statistics import NO_RATE, TENTHS, Share

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

MOST_VALUES = 20  # more are drawn from an interval, not from a grid


def panels_by_setting(population: Runs) -> list[Panel]:
    """A picture for each setting that takes a few values."""
    panels = []
    for name in SETTINGS:
        if name not in population or population[name].dtype.kind not in "iuf":
            continue
        values = sorted(population[name].dropna().unique())
        if 1 < len(values) <= MOST_VALUES:
            verdicts = f"{population.verdict_name}s by {label(name)}"
            listed = ", ".join(f"{value:g}" for value in values)
            panel = Panel(
                shares_by_setting(population, name),
                f"{verdicts}; above each bar: its number of runs",
                f"Shares of the verdicts for each {label(name)}: {listed}.",
            )
            panels.append(panel)
    return panels


def panel_by_rate(population: Runs, height: int = 320) -> Panel:
    """Verdicts along the attention rate: what a population over rates is made to show."""
    figure = shares_by_rate(population)
    figure.update_layout(height=height)
    caption = (
        f"{population.verdict_name}s by attention rate, in tenths; above each bar: its "
        "number of runs"
    )
    return Panel(figure, caption, "Shares of the verdicts for each tenth of the attention rate.")


def shares_by_rate(population: Runs) -> "Figure":
    """Stacked bars, one for each tenth of the attention rate that has runs."""
    tenths = population["_tenth"]
    present = sorted(int(tenth) for tenth in tenths.unique() if tenth != NO_RATE)
    names = [f"{tenth / TENTHS:g} to {(tenth + 1) / TENTHS:g}" for tenth in present]
    figure = _stacked(population, tenths, present, names, "attention rate")
    if present == list(range(TENTHS)):  # the ends of the tenths under the edges of the bars
        edges = range(TENTHS + 1)
        positions = [edge - 0.5 for edge in edges]
        rates = [f"{edge / TENTHS:g}" for edge in edges]
        figure.update_xaxes(tickvals=positions, ticktext=rates)
    return figure


def shares_by_setting(population: Runs, setting: str) -> "Figure":
    """Stacked bars, one for each value of a setting. Values are in order and evenly spaced:
    moduli 59 and 60 are neighbors.
    """
    values = population[setting]
    present = sorted(values.dropna().unique())
    names = [f"{value:g}" for value in present]
    return _stacked(population, values, present, names, label(setting))


def _stacked(
    population: Runs,
    values: "pandas.Series[Any]",
    present: Sequence[Any],
    names: Sequence[str],
    axis: str,
) -> "Figure":
    """Shares of the verdicts among the runs of each value. names: of the values; axis: what they
    are values of.
    """
    verdicts = population["_verdict"]
    totals = [int((values == value).sum()) for value in present]
    # Positions with names, not categories: plotly reads a category "60" as the sixtieth.
    positions = list(range(len(present)))
    figure = new_figure(x=axis, y="share of runs", height=320, barmode="stack", bargap=0.15)
    for verdict in in_order(verdicts):
        of_verdict = values[verdicts == verdict]
        counts = [int((of_verdict == value).sum()) for value in present]
        shares = [Share(count, total) for count, total in zip(counts, totals, strict=True)]
        color, _ = look(verdict)
        bars = graph_objects().Bar(
            x=positions,
            customdata=list(names),
            y=[share.value for share in shares],
            name=inert_text(verdict),
            marker={"color": color, "line": {"width": 0}},
            text=[str(share) for share in shares],
            textposition="none",
            hovertemplate=f"{axis} %{{customdata}}: {inert_text(verdict)} %{{text}}<extra></extra>",
        )
        figure.add_trace(bars)
    above_bar = {"y": 1, "yanchor": "bottom", "showarrow": False, "font": {"size": 11}}
    for position, total in zip(positions, totals, strict=True):
        figure.add_annotation(x=position, text=f"{total:,}", **above_bar)
    figure.update_layout(legend={"traceorder": "normal"})
    figure.update_xaxes(tickvals=positions, ticktext=list(names), tickangle=0, showgrid=False)
    # The first tick does not touch the other axis.
    figure.update_xaxes(range=[-0.75, len(present) - 0.25])
    figure.update_yaxes(range=[0, 1.08], tickformat=".0%", tickvals=[0, 0.25, 0.5, 0.75, 1])
    return figure
