"""Runs as points: a metric by attention rate, two metrics against each other, any two columns.

The phase diagrams of the report, of the explorer, of `Runs.plot`, of a comparison and of the
paper's figures are all drawn from here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algophase.core.palette import GRAY, look
from algophase.pictures.marks import (
    Axis,
    Dash,
    Figure,
    Hover,
    Labels,
    Legend,
    Mark,
    Panel,
    Points,
    Rule,
    Span,
    point_size,
)

RATE = "attention rate"
LIMIT = "limit of the phase"
TRANSITION, INTERVAL = "transition (logistic)", "its 95% interval"
PALE = "non-circular"  # drawn below all others: the paper's metrics are made for circular runs


@dataclass(frozen=True, eq=False, kw_only=True)
class Kind:
    """Runs that are drawn alike. x, y: (runs,). runs: what a page calls each of them; ids: what a
    click on it gives.
    """

    name: str
    color: str
    marker: str
    x: NDArray[Any]
    y: NDArray[Any]
    runs: Any = None
    ids: Any = None
    opacity: float = 0.75


@dataclass(frozen=True, kw_only=True)
class Network:
    """A single network among runs, as a large marker with its number."""

    number: int
    name: str
    verdict: str
    x: float
    y: float


def kinds_by_verdict(
    x: NDArray[Any],
    y: NDArray[Any],
    verdicts: NDArray[Any],
    in_order: Sequence[str],
    runs: Any = None,
) -> list[Kind]:
    """in_order: the verdicts that occur, in the order of the legend."""
    kinds = []
    for verdict in in_order:
        members = verdicts == verdict
        color, marker = look(verdict)
        kind = Kind(
            name=verdict,
            color=color,
            marker=marker,
            x=x[members],
            y=y[members],
            runs=None if runs is None else runs[members],
            opacity=0.35 if verdict == PALE else 0.75,
        )
        kinds.append(kind)
    return kinds


def run_points(
    kinds: Sequence[Kind], hover: Sequence[str], words: Mapping[str, object], counted: bool = True
) -> list[Points]:
    """One mark per kind. hover: the lines of the hover text, in which {kind} is the kind's name;
    words: of its other fields.

    counted: whether the legend says how many runs there are of each kind.
    """
    total = sum(len(kind.x) for kind in kinds)
    points = []
    for kind in kinds:
        count = len(kind.x)
        mark = Points(
            x=kind.x,
            y=kind.y,
            color=kind.color,
            marker=kind.marker,
            size=point_size(total),
            opacity=kind.opacity,
            name=f"{kind.name} ({count:,})" if counted else kind.name,
            hover=Hover(*hover, kind=kind.name, **words),
            texts=kind.runs,
            ids=kind.ids,
        )
        points.append(mark)
    return most_frequent_below(points, kinds)


def most_frequent_below(points: Sequence[Points], kinds: Sequence[Kind]) -> list[Points]:
    """The most frequent kind is drawn first, so that it hides no other."""
    order = sorted(range(len(kinds)), key=lambda i: (kinds[i].name != PALE, -len(kinds[i].x)))
    layered = list(points)
    for layer, index in enumerate(order, start=1):
        layered[index] = replace(points[index], layer=layer)
    return layered


def transition_marks(
    rate: float,
    interval: tuple[float, float] | None,
    color: str = GRAY,
    dash: Dash = "-",
    named: bool = False,
) -> list[Mark]:
    """The rate at which a phase ends and its 95% interval. An interval as wide as all rates says
    that there is no boundary, and is not drawn.
    """
    rule = Rule(x=rate, color=color, dash=dash, width=1.0, name=TRANSITION if named else "")
    if interval is None or interval[1] - interval[0] >= 1:
        return [rule]
    ends = max(0.0, interval[0]), min(1.0, interval[1])
    span = Span(x=ends, color=color, opacity=0.18, name=INTERVAL if named else "", layer=-1)
    return [rule, span]


def metric_by_rate(
    kinds: Sequence[Kind],
    metric: str,
    line: float | None,
    transition: Sequence[Mark] = (),
    networks: Sequence[Network] = (),
    counted: bool = True,
    named: bool = False,
    **panel: Any,
) -> Panel:
    """A metric of runs against the attention rate, with the paper's line and the transition.

    metric: its label; line: where the paper has the end of its phase; named: the legend says what
    the line is. panel: title, caption and other fields of the panel.
    """
    return run_panel(
        kinds,
        x=Axis(name=RATE, limits=(-0.04, 1.04) if networks else (-0.02, 1.02)),
        y=Axis(name=metric),
        lines=[] if line is None else [Rule(y=line, name=LIMIT if named else "")],
        more=[*transition, *network_marks(networks, metric)],
        counted=counted,
        **{"height": 420, **panel},
    )


def run_panel(
    kinds: Sequence[Kind],
    x: Axis,
    y: Axis,
    lines: Sequence[Rule] = (),
    more: Sequence[Mark] = (),
    counted: bool = True,
    **panel: Any,
) -> Panel:
    """Runs as points along two columns. lines: of the paper, dotted."""
    hover = ["{kind}", "{x_name} {x:.4f}", "{y_name} {y:.4f}"]
    if kinds and kinds[0].runs is not None:
        hover[0] = "run {text}: {kind}"
    points = run_points(kinds, hover, {"x_name": x.name, "y_name": y.name}, counted)
    return Panel(marks=[*points, *lines, *more], x=x, y=y, **panel)


def network_marks(networks: Sequence[Network], metric: str) -> list[Mark]:
    """Networks above all runs, each with its number."""
    marks = list[Mark]()
    for network in networks:
        color, marker = look(network.verdict)
        point = Points(
            x=[network.x],
            y=[network.y],
            color=color,
            marker="h" if marker == "x" else marker,  # room for the number
            size=12,
            edge="#000000",
            hover=Hover(
                "{number}: {name}, {verdict}",
                "{rate} {x:.4f}",
                "{metric} {y:.4f}",
                number=network.number,
                name=network.name,
                verdict=network.verdict,
                rate=RATE,
                metric=metric,
            ),
            layer=1000,
        )
        text_color = "#FFFFFF" if network.verdict == "Clock" else "#000000"
        number = Labels(
            x=[network.x], y=[network.y], texts=[str(network.number)], color=text_color, layer=1001
        )
        marks += [point, number]
    return marks


def rate_figure(panels: Sequence[Panel]) -> Figure:
    """Metrics by rate side by side, for print."""
    return Figure(rows=[panels], width=8.0, height=3.2, legend=Legend(where="above", columns=8))


def as_array(values: Any) -> NDArray[np.float32]:
    """A column as numbers for a picture."""
    return np.asarray(values, np.float32)
