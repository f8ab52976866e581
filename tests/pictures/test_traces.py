import numpy as np

from algophase.pictures.traces import POINTS, TracePicture, draw_traces


def test_every_chain_is_drawn_in_means_over_a_few_steps() -> None:
    steps = 5 * POINTS + 3
    rise = np.arange(2.0 * steps).reshape(2, steps)
    picture = TracePicture("a network", rise, burn_in=10, value=3.0, interval=(2.0, 4.0))
    figure = draw_traces([picture, picture])
    assert len(figure.axes) == 2
    first, second, value = figure.axes[0].lines
    middle_steps, means = np.asarray(first.get_data())
    np.testing.assert_allclose(middle_steps[:2], [2.5, 7.5])
    np.testing.assert_allclose(means, np.arange(POINTS) * 5 + 2)
    assert np.shape(second.get_ydata()) == (POINTS,)
    assert np.asarray(value.get_ydata()).tolist() == [3.0, 3.0]
    assert figure.axes[0].get_title() == "a network: 3.0 [2.0, 4.0]"
