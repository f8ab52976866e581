"""A panel with one mark of each kind."""

import numpy as np

from algophase.pictures.marks import (
    Axis,
    Band,
    Bars,
    HeatMap,
    Hover,
    Labels,
    Line,
    Mark,
    Panel,
    Points,
    Rule,
    Shades,
    Span,
    Whiskers,
)

ATTACK = "<script>alert(1)</script>%{x}"
SHADES = Shades(values=np.array([0.0, 1.0]), label="shade", low=0, high=1)
MARKS: dict[str, Mark] = {
    "points": Points(
        x=[0.0, 1.0], y=[1.0, 2.0], name=ATTACK, texts=[ATTACK, "b"], hover=Hover("{text} {x:.2f}")
    ),
    "shaded": Points(x=[0.0, 1.0], y=[1.0, 2.0], shades=SHADES, hover=Hover("{value:.4g}")),
    "clicked": Points(x=[0.0], y=[1.0], ids=np.array(["run-1"], dtype=object), hover=Hover("{id}")),
    "open": Points(x=[0.0], y=[1.0], filled=False, edge="#000000"),
    "named alone": Points(x=[], y=[], name="no points"),
    "line": Line(x=[0.0, 1.0], y=[0.0, 1.0], dash="--", name="line", hover=Hover("{y:.1%}")),
    "band": Band(x=[0.0, 1.0], low=[0.0, 0.5], high=[1.0, 1.0], hover=Hover("{value:.1%}")),
    "bars": Bars(positions=[0, 1], lengths=[0.5, 0.2], labels=["in", "out"], name="bars"),
    "bars across": Bars(positions=[0], lengths=[0.5], horizontal=True, start=0.5, edge="#FFFFFF"),
    "whiskers": Whiskers(x=[0.5], y=[0.5], low=[0.4], high=[0.7], hover=Hover("{x:.1f}")),
    "whiskers across": Whiskers(x=[0.5], y=[0.5], low=[0.4], high=[0.7], horizontal=True),
    "heat map": HeatMap(
        values=np.arange(6.0).reshape(2, 3),
        x=[0, 1, 2],
        y=[0, 1],
        scale="logit",
        details=np.zeros((2, 3, 1), np.int8),
        hover=Hover("{value:.4g} {details[0]}"),
    ),
    "labels": Labels(x=[0.5], y=[0.5], texts=[ATTACK], side="above"),
    "rule": Rule(x=0.5, y=0.2, name="rule"),
    "span": Span(x=(0.1, 0.2), y=(0.3, 0.4)),
}


def every_mark() -> Panel:
    return Panel(
        marks=list(MARKS.values()),
        x=Axis(name=ATTACK, limits=(0, 2), ticks=[0, 1], tick_names=["none", ATTACK]),
        y=Axis(name="y", format=".0%", reverse=True),
        title="all",
    )
