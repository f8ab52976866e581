from every_mark import MARKS, every_mark

from algophase.pictures.marks import Figure, Points
from algophase.pictures.to_data import figure_data, hover_text, marks_of, panel_data


def test_a_panel_is_plain_values() -> None:
    panel = every_mark()
    data = panel_data(panel)
    assert [mark["mark"] for mark in data["marks"]][5:8] == ["Line", "Band", "Bars"]
    assert data["marks"][1]["shades"]["values"] == [0.0, 1.0]
    assert data["y"]["format"] == ".0%"
    assert figure_data(Figure(rows=[[panel], [None]], width=1, height=1)) == [data]
    assert len(marks_of(panel, Points)) == 5


def test_a_hover_text_is_that_of_one_point() -> None:
    assert hover_text(MARKS["points"], 1) == "b 1.00"
    assert hover_text(MARKS["span"], 0) == ""
