import numpy as np
import pytest
from every_mark import every_mark
from matplotlib.backends.backend_agg import FigureCanvasAgg

from algophase.pictures.marks import (
    Axis,
    Bars,
    Figure,
    HeatMap,
    Legend,
    Line,
    Panel,
    Points,
    Whiskers,
)
from algophase.pictures.to_matplotlib import draw, is_dark


def one(panel: Panel, **settings: object) -> Figure:
    return Figure(rows=[[panel]], width=3, height=2, **settings)  # type: ignore[arg-type]


def test_every_mark_is_drawn() -> None:
    figure = draw(one(every_mark(), legend=Legend(where="above")))
    FigureCanvasAgg(figure).draw()
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[1:] == ["no points", "line", "bars", "rule"]
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts][:2] == ["in", "out"]  # room for both
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert figure.axes[1].get_ylabel() == "shade"
    assert figure.axes[2].get_ylabel() == "logit"


def test_a_row_of_one_panel_is_as_wide_as_the_figure() -> None:
    panel = Panel(marks=[Line(x=[0, 1], y=[0, 1])], x=Axis(name="x"), y=Axis(name="y"))
    other = Panel(marks=[], x=Axis(name="z"))
    rows: list[list[Panel | None]] = [[panel, panel], [panel, None], [other]]
    figure = draw(Figure(rows=rows, width=4, height=4, names_outside=True))
    FigureCanvasAgg(figure).draw()
    widths = [axes.get_position().width for axes in figure.axes]
    assert widths[3] > 1.8 * widths[0]
    assert [axes.get_ylabel() for axes in figure.axes] == ["y", "", "y", ""]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "x", "x", "z"]


def test_one_legend_and_one_scale_serve_all_panels() -> None:
    image = HeatMap(values=np.eye(2), x=[0, 1], y=[0, 1])
    panel = Panel(marks=[image, Line(x=[0, 1], y=[0, 1], name="line")])
    picture = Figure(
        rows=[[panel, panel]], width=4, height=2, legend=Legend(), scale="w", share_y=True
    )
    figure = draw(picture)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["line"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["", "", "w"]


def test_a_higher_layer_hides_a_lower_one() -> None:
    panel = Panel(marks=[Points(x=[0], y=[0], layer=3), Points(x=[0], y=[0], layer=1)])
    above, below = draw(one(panel)).axes[0].collections
    assert above.get_zorder() > below.get_zorder()


def test_an_interval_ends_where_it_is_said_to_end() -> None:
    panel = Panel(marks=[Whiskers(x=[0.5], y=[0.5], low=[0.4], high=[0.7])])
    (bar,) = draw(one(panel)).axes[0].collections
    ends = np.array(bar.get_segments())  # type: ignore[attr-defined]
    assert ends[0, :, 1].tolist() == pytest.approx([0.4, 0.7])


def test_letters_in_a_bar_are_read_on_its_color() -> None:
    assert [is_dark(color) for color in ("#000000", "#0072B2", "#E69F00")] == [True, True, False]
    panel = Panel(marks=[Bars(positions=[0, 1], lengths=[1, 0.01], labels=["long", "short"])])
    assert [text.get_text() for text in draw(one(panel)).axes[0].texts] == ["long"]
