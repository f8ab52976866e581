import itertools
import re
from pathlib import Path

import numpy
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawn

import algophase
from algophase import InputError, Specimen, handmade_clock, handmade_pizza
from algophase.pictures.marks import Figure
from algophase.pictures.style import house_style
from algophase.pictures.to_matplotlib import draw
from algophase.reports.network_panels import plane_panel

PLOTS = [
    algophase.plot_circles,
    algophase.plot_correct_logits,
    algophase.plot_gradients,
    algophase.plot_program,
]


def small_transformer() -> algophase.Network:
    settings = algophase.TransformerSettings(width=8, attention_rate=0.5, heads=2)
    return algophase.initialize(algophase.RunSettings(algophase.TaskSettings(7), settings))


@pytest.mark.parametrize("plot", PLOTS)
def test_a_network_and_a_specimen_give_the_same_figure(plot: object, tmp_path: Path) -> None:
    assert callable(plot)
    network = handmade_pizza(11, (1, 3))
    first, second = plot(network), plot(Specimen(network))
    assert isinstance(first, Drawn)
    assert [axes.get_title() for axes in first.axes] == [axes.get_title() for axes in second.axes]
    assert first._repr_png_() == second._repr_png_()  # type: ignore[attr-defined]
    first.savefig(tmp_path / "figure.png")


def test_attention_has_a_panel_for_each_head() -> None:
    figure = algophase.plot_attention(small_transformer())
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:2] == ["layer 1, head 1", "layer 1, head 2"]


def test_an_analysis_is_enough_for_its_program() -> None:
    analysis = algophase.analyze(handmade_clock(11, (2,)))
    drawn = algophase.plot_program(analysis)
    assert [axes.get_title() for axes in drawn.axes] == [
        axes.get_title() for axes in analysis.plot().axes
    ]


def test_a_population_is_read_by_name_or_given() -> None:
    runs = algophase.Runs.read("gelu")
    given, named = algophase.plot_phase_diagram(runs), algophase.plot_phase_diagram("gelu")
    assert given.axes[0].get_xlabel() == named.axes[0].get_xlabel() == "attention rate"
    counts = [int(re.sub(r"\D", "", text.get_text())) for text in named.legends[0].get_texts()]
    assert sum(counts) == len(runs.accurate)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InputError, match=r"is a Linear\b.*Transformer"):
        algophase.plot_attention(handmade_pizza(11, (1,)))
    constant = algophase.wrap(lambda a, b: torch.nn.functional.one_hot((a + b) % 5, 5).double(), 5)
    with pytest.raises(InputError, match="no circles"):
        algophase.plot_circles(constant)
    with pytest.raises(InputError, match="network is 'clock'"):
        algophase.plot_circles("clock")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="runs is 3"):
        algophase.plot_phase_diagram(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("modulus", [31, 59, 113])
def test_labels_of_an_uneven_circle_do_not_overlap(modulus: int) -> None:
    angles = 2 * torch.pi * 7 * torch.arange(modulus) / modulus
    circle = torch.stack([angles.cos(), angles.sin()], dim=1).double()
    points = (
        circle + 0.1 * torch.randn(modulus, 2, generator=torch.Generator().manual_seed(0)).double()
    )
    panel = plane_panel(points[None], 7, ("", ""))
    figure = draw(Figure(rows=[[panel]], width=2.6, height=2.6))
    axes = figure.axes[0]
    with house_style():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        boxes = [text.get_window_extent(canvas.get_renderer()).get_points() for text in axes.texts]
    assert len(boxes) > modulus / 3
    for first, second in itertools.combinations(boxes, 2):
        shared = numpy.minimum(first[1], second[1]) - numpy.maximum(first[0], second[0])
        # a box is larger than the digits in it
        assert not (shared > 0.35 * (first[1] - first[0])).all()
