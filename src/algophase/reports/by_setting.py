"""Shares of the verdicts along the attention rate, and for each value of a setting: what a grid
was made to show.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from algophase.analysis.catalogue import label
from algophase.core.palette import in_order, look
from algophase.pictures.by_rate import RATE
from algophase.pictures.marks import Axis, Bars, Hover, Labels, Mark, Panel
from algophase.runs.laws import SETTINGS
from algophase.runs.runs import Runs
from algophase.runs.statistics import NO_RATE, TENTHS, Share

if TYPE_CHECKING:
    import pandas

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
            panel = replace(
                shares_by_setting(population, name),
                caption=f"{verdicts}; above each bar: its number of runs",
                alt=f"Shares of the verdicts for each {label(name)}: {listed}.",
            )
            panels.append(panel)
    return panels


def panel_by_rate(population: Runs, height: int = 320) -> Panel:
    """Verdicts along the attention rate: what a population over rates is made to show."""
    verdicts = f"{population.verdict_name}s by attention rate, in tenths"
    return replace(
        shares_by_rate(population),
        height=height,
        caption=f"{verdicts}; above each bar: its number of runs",
        alt="Shares of the verdicts for each tenth of the attention rate.",
    )


def shares_by_rate(population: Runs, verdicts: "pandas.Series[str] | None" = None) -> Panel:
    """Stacked bars, one for each tenth of the attention rate that has runs.

    verdicts: in place of the population's own.
    """
    tenths = population["_tenth"]
    present = sorted(int(tenth) for tenth in tenths.unique() if tenth != NO_RATE)
    names = [f"{tenth / TENTHS:g} to {(tenth + 1) / TENTHS:g}" for tenth in present]
    if verdicts is None:
        verdicts = population["_verdict"]
    panel = _stacked(verdicts, tenths, present, names, RATE)
    if present != list(range(TENTHS)):
        return panel
    # The ends of the tenths stand under the edges of the bars.
    edges = range(TENTHS + 1)
    positions = [edge - 0.5 for edge in edges]
    rates = [f"{edge / TENTHS:g}" for edge in edges]
    return replace(panel, x=replace(panel.x, ticks=positions, tick_names=rates))


def shares_by_setting(population: Runs, setting: str) -> Panel:
    """Stacked bars, one for each value of a setting. Values are in order and evenly spaced:
    moduli 59 and 60 are neighbors.
    """
    values = population[setting]
    present = sorted(values.dropna().unique())
    names = [f"{value:g}" for value in present]
    return _stacked(population["_verdict"], values, present, names, label(setting))


def _stacked(
    verdicts: "pandas.Series[str]",
    values: "pandas.Series[Any]",
    present: Sequence[Any],
    names: Sequence[str],
    axis: str,
) -> Panel:
    """Shares of the verdicts among the runs of each value. names: of the values; axis: what they
    are values of.
    """
    totals = [int((values == value).sum()) for value in present]
    # Positions with names, not categories: plotly reads a category "60" as the sixtieth.
    positions = list(range(len(present)))
    marks = list[Mark]()
    below = [0.0] * len(present)
    for verdict in in_order(verdicts):
        of_verdict = values[verdicts == verdict]
        counts = [int((of_verdict == value).sum()) for value in present]
        shares = [Share(count, total) for count, total in zip(counts, totals, strict=True)]
        heights = [share.value for share in shares]
        bars = Bars(
            positions=positions,
            lengths=heights,
            start=below,
            thickness=0.85,
            color=look(verdict)[0],
            name=verdict,
            hover=Hover("{axis} {text}", axis=axis),
            texts=[f"{name}: {verdict} {share}" for name, share in zip(names, shares, strict=True)],
        )
        marks.append(bars)
        below = [start + height for start, height in zip(below, heights, strict=True)]
    counts_above = [f"{total:,}" for total in totals]
    tops = [1.01] * len(present)
    marks.append(Labels(x=positions, y=tops, texts=counts_above, size=6, side="above"))
    # The first tick does not touch the other axis.
    limits = (-0.75, len(present) - 0.25)
    quarters = (0, 0.25, 0.5, 0.75, 1)
    return Panel(
        marks=marks,
        x=Axis(name=axis, ticks=positions, tick_names=list(names), limits=limits),
        y=Axis(name="share of runs", limits=(0, 1.08), format=".0%", ticks=quarters),
    )
