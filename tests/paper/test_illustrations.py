"""Pictures drawn from the formulas alone."""

import math

import pytest
import torch

from algophase.core.fourier import circle
from algophase.paper.illustrations import (
    draw_accompanying,
    draw_algorithms,
    draw_approximation,
    on_face,
)


def test_a_clock_face_starts_at_the_top_and_runs_clockwise() -> None:
    twelve, three = on_face(circle(12, 1))[[0, 3]]
    torch.testing.assert_close(twelve, torch.tensor([0.0, 1.0], dtype=twelve.dtype))
    torch.testing.assert_close(three, torch.tensor([1.0, 0.0], dtype=three.dtype))


def test_both_algorithms_score_the_sum_highest() -> None:
    figure = draw_algorithms(12, 8, 6)
    scores = [axes for axes in figure.axes if axes.get_xlabel() == "c"]
    assert len(scores) == 2
    for axes in scores:
        heights = [bar.get_height() for bar in axes.patches]  # type: ignore[attr-defined]
        assert heights.index(max(heights)) == 2


def test_a_pair_is_drawn_on_both_circles_with_its_factors() -> None:
    figure = draw_accompanying(13, 1, 7)
    assert [line.get_label() for line in figure.axes[2].get_lines()[:2]] == [
        "Pizza: $|\\cos w(a-b)/2|$",
        "accompanying: $-\\cos w(a-b)$",
    ]


def test_the_approximation_and_its_error_are_drawn() -> None:
    top, bottom = draw_approximation().axes
    difference, wave = (torch.as_tensor(line.get_ydata()) for line in top.get_lines())
    torch.testing.assert_close(
        torch.as_tensor(bottom.get_lines()[0].get_ydata()), difference - wave
    )
    s = (1 + math.sqrt(17)) / 4  # |cos t| + |sin t| where the error is largest
    assert (difference - wave).abs().max().item() == pytest.approx(
        (s - 1) * math.sqrt(2 - s * s), abs=1e-4
    )
