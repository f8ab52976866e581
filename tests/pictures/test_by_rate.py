import numpy as np

from algophase.core.palette import VERDICTS
from algophase.pictures.by_rate import (
    PALE,
    Network,
    kinds_by_verdict,
    metric_by_rate,
    rate_figure,
    transition_marks,
)
from algophase.pictures.marks import Labels, Panel, Points, Rule, Span, in_layers
from algophase.pictures.to_data import hover_text, marks_of

RATES = np.array([0.0, 0.5, 1.0, 0.2])
VALUES = np.array([0.9, 0.2, 0.1, 0.3])
VERDICT = np.array(["Pizza", "Clock", "Clock", PALE])


def panel(**settings: object) -> Panel:
    runs = np.array(["a", "b", "c", "d"])
    kinds = kinds_by_verdict(RATES, VALUES, VERDICT, ["Clock", "Pizza", PALE], runs)
    return metric_by_rate(kinds, "a metric", 0.6, **settings)  # type: ignore[arg-type]


def test_each_verdict_has_its_look_and_hides_no_rarer_one() -> None:
    clocks, pizzas, pale = marks_of(panel(), Points)
    assert (clocks.color, clocks.marker) == VERDICTS["Clock"]
    np.testing.assert_array_equal(clocks.x, [0.5, 1.0])
    np.testing.assert_array_equal(pizzas.y, [0.9])
    assert [mark.name for mark in (clocks, pizzas, pale)] == [
        "Clock (2)",
        "Pizza (1)",
        "non-circular (1)",
    ]
    assert in_layers([clocks, pizzas, pale]) == [pale, clocks, pizzas]
    assert hover_text(pizzas, 0) == "run a: Pizza\nattention rate 0.0000\na metric 0.9000"


def test_the_papers_line_and_the_transition_are_drawn() -> None:
    (line,) = marks_of(panel(), Rule)
    assert line.y == 0.6
    drawn = panel(transition=transition_marks(0.5, (0.4, 0.6)))
    assert [rule.x for rule in marks_of(drawn, Rule)] == [None, 0.5]
    assert [span.x for span in marks_of(drawn, Span)] == [(0.4, 0.6)]
    assert len(transition_marks(0.5, (-0.2, 1.1))) == 1  # as wide as all rates
    assert len(transition_marks(0.5, None)) == 1


def test_a_network_stands_above_all_runs_with_its_number() -> None:
    network = Network(number=3, name="mine", verdict=PALE, x=0.7, y=0.5)
    drawn = panel(networks=[network])
    point, number = in_layers(drawn.marks)[-2:]
    assert isinstance(point, Points)
    assert isinstance(number, Labels)
    assert (point.marker, number.texts) == ("h", ["3"])  # a cross has no room for it
    assert hover_text(point, 0).startswith("3: mine, non-circular\n")
    assert drawn.x.limits[1] == 1.04


def test_metrics_are_side_by_side_in_print() -> None:
    picture = rate_figure([panel(), panel()])
    assert [drawn.y.name for drawn in picture.panels] == ["a metric"] * 2
