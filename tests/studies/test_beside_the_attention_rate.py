"""The study draws from the gallery's tables what the findings say of heads, weight decay, modulus,
data and depth.
"""

import runpy

import numpy
import pytest
from fenced import ROOT


@pytest.mark.slow
def test_the_pictures_show_what_the_tables_hold() -> None:
    script = runpy.run_path(str(ROOT / "studies" / "beside_the_attention_rate.py"))
    heads, decay, modulus, data = script["draw_field"]().axes
    numbers = [text.get_text() for text in heads.texts]
    assert "25" in numbers  # Pizzas with one head
    assert "17" in numbers  # Clocks with eight
    lines = [axes.get_lines()[0].get_xydata() for axes in (decay, data)]
    assert all(
        line[0, 1] > line[-1, 1] for line in lines
    )  # symmetric gradients end earlier with more of either
    assert len(modulus.get_legend().get_texts()) == 3
    first, second, right = script["draw_heads"]().axes
    for axes in (first, second):
        one, other = (line.get_ydata() for line in axes.get_lines())
        assert numpy.corrcoef(one, other)[0, 1] < -0.9  # opposite waves; 19 has others beside them
    assert len(right.collections) == 4
    verdicts, wrong, readout = script["draw_depth"]().axes
    assert {"143", "42"} <= {
        text.get_text() for text in verdicts.texts
    }  # of four layers, that err and that have no name
    accuracy, follows = wrong.collections[-1].get_offsets().T
    assert len(accuracy) == 143
    assert (follows == 1).sum() == 139
    medians = [
        numpy.median(numpy.asarray(drawn.get_offsets())[:, 1]) for drawn in readout.collections
    ]
    assert min(medians[3:]) > 3 * max(
        medians[:3]
    )  # "other" and "not learned" against Clock, hybrid and Pizza
