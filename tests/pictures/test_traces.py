import numpy as np

from algophase.pictures.marks import Line, Rule, Span
from algophase.pictures.to_data import marks_of
from algophase.pictures.traces import POINTS, TracePicture, trace_figure


def test_every_chain_is_drawn_in_means_over_a_few_steps() -> None:
    steps = 5 * POINTS + 3
    rise = np.arange(2.0 * steps).reshape(2, steps)
    picture = TracePicture("a network", rise, burn_in=10, value=3.0, interval=(2.0, 4.0))
    first_panel, _ = trace_figure([picture, picture]).panels
    first, second = marks_of(first_panel, Line)
    np.testing.assert_allclose(first.x[:2], [2.5, 7.5])
    np.testing.assert_allclose(first.y, np.arange(POINTS) * 5 + 2)
    assert second.y.shape == (POINTS,)
    assert [rule.y for rule in marks_of(first_panel, Rule)] == [3.0]
    assert [span.x for span in marks_of(first_panel, Span)] == [(0, 10)]
    assert first_panel.title == "a network: 3.0 [2.0, 4.0]"
