"""Shares of the verdicts for each value of a setting: what a grid of moduli, weight decays or heads was made to show."""

from typing import TYPE_CHECKING

from algophase.analysis.catalogue import label
from algophase.analysis.verdict import in_order
from algophase.report.plotly_style import Panel, graph_objects, look, new_figure, plain
from algophase.runs.laws import SETTINGS
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_VALUES = 20  # more are drawn from an interval, not from a grid


def panels_by_setting(population: Runs) -> list[Panel]:
    """A picture for each setting that takes a few values."""
    panels = []
    for name in SETTINGS:
        if name in population and population[name].dtype.kind in "iuf" and 1 < population[name].nunique() <= MOST_VALUES:
            caption = f"{population.verdict_name}s by {label(name)}; above each bar: its number of runs"
            values = ", ".join(f"{value:g}" for value in sorted(population[name].dropna().unique()))
            alt = f"Shares of the verdicts for each {label(name)}: {values}."
            panels.append(Panel(shares_by_setting(population, name), caption, alt))
    return panels


def shares_by_setting(population: Runs, setting: str) -> "Figure":
    """Stacked bars, one for each value of a setting. Values are in order and evenly spaced: moduli 59 and 60 are neighbours."""
    go, verdicts, values = graph_objects(), population["_verdict"], population[setting]
    there = sorted(values.dropna().unique())
    names, totals = [f"{value:g}" for value in there], [int((values == value).sum()) for value in there]
    figure = new_figure(x=label(setting), y="share of runs", height=320, barmode="stack", bargap=0.15)
    for verdict in in_order(verdicts):
        counts = [int(((values == value) & (verdicts == verdict)).sum()) for value in there]
        shares = [Share(count, total) for count, total in zip(counts, totals, strict=True)]
        figure.add_trace(
            go.Bar(
                x=list(range(len(there))),
                customdata=names,
                y=[share.value for share in shares],
                name=plain(verdict),
                marker={"color": look(verdict)[0], "line": {"width": 0}},
                text=[str(share) for share in shares],
                textposition="none",
                hovertemplate=f"{label(setting)} %{{customdata}}: {plain(verdict)} %{{text}}<extra></extra>",
            )
        )
    for place, total in enumerate(totals):
        figure.add_annotation(x=place, y=1, text=f"{total:,}", showarrow=False, yanchor="bottom", font={"size": 11})
    figure.update_layout(legend={"traceorder": "normal"})
    # places with names, not categories: plotly reads a category "60" as the sixtieth
    figure.update_xaxes(tickvals=list(range(len(there))), ticktext=names, tickangle=0, showgrid=False)
    figure.update_yaxes(range=[0, 1.08], tickformat=".0%", tickvals=[0, 0.25, 0.5, 0.75, 1])
    return figure
