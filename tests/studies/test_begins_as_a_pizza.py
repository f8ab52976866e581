"""What the findings say of training and width is what the study draws from the gallery."""

import runpy

import numpy
from fenced import ROOT


def test_pizzas_come_before_clocks_and_leave_with_the_width() -> None:
    verdicts, parts, widths = runpy.run_path(str(ROOT / "studies" / "begins_as_a_pizza.py"))[
        "draw"
    ]().axes
    assert [text.get_text() for text in verdicts.get_legend().get_texts()] == [
        "not learned",
        "Pizza",
        "hybrid",
        "Clock",
    ]
    share, right, products = (line.get_ydata() for line in parts.get_lines()[:3])
    assert share[0] == 1 > 0.2 > share[-1]  # a Pizza's share of the logits
    place = numpy.flatnonzero(right == 1)[0]  # the median network answers every held-out pair
    assert share[place] == 1
    assert products[place] < 0.05
    pizzas, clocks = (line.get_ydata() for line in widths.get_lines())
    assert all(pizzas < clocks)
    assert all(numpy.diff(pizzas) > 0)
