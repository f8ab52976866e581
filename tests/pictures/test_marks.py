from algophase.pictures.marks import Hover, Labels, Mark, Panel, Points, in_layers, in_rows


def test_a_hover_text_has_the_points_own_numbers_and_fixed_words() -> None:
    hover = Hover("{verdict} at {x:.2f}", "{details[1]} runs", verdict="100% {x}")
    assert hover.text(x=0.5, details=(1, 2)) == "100% {x} at 0.50\n2 runs"
    parts = [tuple(part) for part in hover.parts()]
    assert parts == [
        ("100% {x}", None, ""),
        (" at ", "x", ".2f"),
        ("\n", "details[1]", ""),
        (" runs", None, ""),
    ]


def test_a_higher_layer_is_drawn_later_and_one_layer_in_its_order() -> None:
    marks: list[Mark]
    marks = [Points(x=[], y=[], layer=2), Labels(x=[], y=[], texts=[]), Points(x=[], y=[])]
    assert in_layers(marks) == [marks[1], marks[2], marks[0]]


def test_the_last_row_is_filled_up() -> None:
    panels = [Panel(marks=[]) for _ in range(3)]
    assert in_rows(panels, 2) == [[panels[0], panels[1]], [panels[2], None]]
