import numpy as np

from algophase.core.palette import VERDICTS
from algophase.pictures.by_rate import MetricByRate, RatePicture, draw_by_rate


def test_each_metric_has_a_panel_with_its_line_and_each_verdict_its_color() -> None:
    rates = np.array([0.0, 0.5, 1.0])
    verdicts = np.array(["Pizza", "Clock", "Clock"])
    metric = MetricByRate("a metric", np.array([0.9, 0.2, 0.1]), 0.6)
    picture = RatePicture(rates, verdicts, ["Clock", "Pizza"], [metric, metric])
    figure = draw_by_rate(picture)
    assert [axes.get_ylabel() for axes in figure.axes] == ["a metric"] * 2
    clocks, pizzas = figure.axes[0].collections
    np.testing.assert_array_equal(clocks.get_offsets(), [[0.5, 0.2], [1.0, 0.1]])
    np.testing.assert_array_equal(pizzas.get_offsets(), [[0.0, 0.9]])
    assert clocks.get_zorder() < pizzas.get_zorder()  # the more frequent one hides no other
    assert np.asarray(figure.axes[0].lines[0].get_ydata()).tolist() == [0.6, 0.6]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["Clock (2)", "Pizza (1)"]
    assert set(picture.kinds) <= set(VERDICTS)
