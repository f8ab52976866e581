import pytest
from report_pages import parsed

from algophase.analysis.specimen import Specimen
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.pictures.marks import Line
from algophase.pictures.to_data import marks_of
from algophase.reports.anatomy_section import add_anatomy, readout_panel
from algophase.reports.page import Page


def test_the_inside_of_a_linear_pizza_is_opened() -> None:
    anatomy = Specimen(handmade_pizza(12, (1, 5), accompanied=True)).analysis.anatomy
    assert anatomy is not None
    page = Page("page")
    add_anatomy(page, anatomy)
    found = parsed(page)
    assert "100.0%, 100.0%" in found.texts["td"]  # the readout is cos 2t, on both axes
    # The unembedding has the frequencies of the accompanying circles too, but these are no Pizzas.
    assert any(
        "Circles with another role, or not in the unembedding: 2" in line
        for line in found.texts["p"]
    )
    assert (
        sum(
            "first axis: 100.0% of it is A cos(2t + φ)" in caption
            for caption in found.texts["figcaption"]
        )
        == 2
    )
    drawn, fitted = marks_of(readout_panel(anatomy.pizzas[0]), Line)
    assert drawn.y == pytest.approx(fitted.y, abs=0.02)
    assert Specimen(handmade_clock(7, (1,))).analysis.anatomy is None
