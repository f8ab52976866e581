import sys

import numpy as np
import pytest
from every_mark import ATTACK, MARKS, every_mark

from algophase.core.errors import InputError
from algophase.core.palette import MARKERS, VERDICTS
from algophase.pictures.marks import Axis, Panel, Points
from algophase.pictures.to_plotly import (
    COLOR_STEPS,
    LONGEST,
    MOST_DRAWN_AS_SHAPES,
    SYMBOLS,
    draw,
    graph_objects,
    inert_text,
    on_axis,
)


def trace(name: str) -> object:
    return draw(Panel(marks=[MARKS[name]])).data[-1]


def test_no_text_of_a_picture_is_markup() -> None:
    figure = draw(every_mark())
    text = figure.to_json().replace("\\u003c", "<")
    assert "<script" not in text
    assert "%{x}" not in text
    assert figure.layout.showlegend


@pytest.mark.parametrize(
    ("name", "hover"),
    [
        ("points", "%{text} %{x:.2f}"),
        ("shaded", "%{hovertext}"),
        ("clicked", "%{customdata}"),
        ("band", "%{customdata:.1%}"),
        ("heat map", "%{z:.4g} %{customdata[0]}"),
    ],
)
def test_a_hover_text_finds_its_numbers(name: str, hover: str) -> None:
    assert trace(name).hovertemplate == f"{hover}<extra></extra>"  # type: ignore[attr-defined]


def test_a_click_gives_the_id_of_a_point() -> None:
    assert trace("clicked").customdata.tolist() == ["run-1"]  # type: ignore[attr-defined]


def test_many_points_are_drawn_by_the_graphics_card() -> None:
    many = np.arange(MOST_DRAWN_AS_SHAPES + 1.0)
    few = Panel(marks=[Points(x=many[1:], y=many[1:])])
    assert draw(few).data[0].type == "scatter"
    assert draw(Panel(marks=[Points(x=many, y=many)])).data[0].type == "scattergl"
    assert draw(few, webgl=True).data[0].type == "scattergl"


def test_colors_by_value_come_in_steps_and_hover_texts_do_not() -> None:
    from algophase.pictures.marks import Hover, Shades

    values = np.linspace(0, 1, 1001)
    points = Points(
        x=values, y=values, shades=Shades(values=values, label="v"), hover=Hover("{value:.4g}")
    )
    drawn = draw(Panel(marks=[points])).data[0]
    assert len(set(drawn.marker.color.tolist())) == COLOR_STEPS + 1
    assert drawn.hovertext[1] == "0.001"


def test_a_logarithmic_axis_has_its_limits_as_logarithms() -> None:
    panel = Panel(marks=[], x=Axis(scale="log", limits=(1, 100)), y=Axis(scale="log2"))
    layout = draw(panel).layout
    assert layout.xaxis.range == (0, 2)
    assert layout.yaxis.type == "log"
    assert on_axis(0.5, "linear") == on_axis(0.5, "") == 0.5
    assert np.isnan(on_axis(0, "log"))


def test_every_marker_of_the_house_has_a_symbol_of_its_own() -> None:
    assert {marker for _, marker in VERDICTS.values()} | set(MARKERS) <= set(SYMBOLS)
    assert len(set(SYMBOLS.values())) == len(SYMBOLS)


def test_text_from_files_is_inert() -> None:
    assert inert_text(ATTACK) == "&lt;script&gt;alert(1)&lt;/script&gt;%&#123;x}"
    assert inert_text("%{x} $a$\x00\u2028") == "%&#123;x} &#36;a&#36;  "
    assert len(inert_text("a" * 10_000)) == LONGEST


def test_without_plotly_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(InputError, match=r'pip install "algophase\[explore\]"'):
        graph_objects()
