"""What the findings say of training and width is what the study draws from the gallery."""

import runpy

import numpy
from fenced import ROOT

from algophase.pictures.marks import Band, Line
from algophase.pictures.to_data import marks_of


def test_pizzas_come_before_clocks_and_leave_with_the_width() -> None:
    study = runpy.run_path(str(ROOT / "studies" / "begins_as_a_pizza.py"))
    verdicts, parts, widths = study["picture"]().panels
    areas = marks_of(verdicts, Band)
    assert [area.name for area in areas] == ["not learned", "Pizza", "other", "hybrid", "Clock"]
    assert all(areas[-1].high > 1 - 1e-9)  # every network has one of these verdicts
    share, right, products = (line.y for line in marks_of(parts, Line))
    assert share[0] == 1 > 0.2 > share[-1]  # a Pizza's share of the logits
    place = numpy.flatnonzero(right == 1)[0]  # the median network answers every held-out pair
    assert share[place] == 1
    assert products[place] < 0.05
    pizzas, clocks = (line.y for line in marks_of(widths, Line))
    assert all(pizzas < clocks)
    assert all(numpy.diff(pizzas) > 0)
