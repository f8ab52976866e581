"""What a notebook shows of our objects: one line of text, a card with a picture, figures."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
import torch

from algophase import (
    Runs,
    RunSettings,
    Specimen,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
    analyze,
    distill,
    handmade_clock,
    handmade_pizza,
    initialize,
    network_components,
    train,
    wrap,
)
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.named_groups import named_group
from algophase.networks.handmade_groups import adding_network


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze(handmade_pizza(23, (1, 5)))


def test_each_object_is_one_line(analysis: Analysis) -> None:
    run = RunSettings(TaskSettings(7), TransformerSettings(8), TrainingSettings(epochs=5))
    (trained,) = train([run], device="cpu")
    network = handmade_pizza(23, (1, 5))
    every: list[object] = [
        network,
        analysis,
        analysis.program,
        analysis.instances,
        analysis.instances.instances[0],
    ]
    every += [
        distill(network),
        Specimen(network),
        network_components(network),
        Runs.read("wide"),
        trained,
        trained.history,
    ]
    for each in every:
        assert "\n" not in repr(each)
        assert len(repr(each)) < 250, type(each)
    assert repr(network).startswith("<Linear pizza-p23-k1-5: addition modulo 23; model alpha")
    assert repr(trained).startswith(f"<TrainedRun {run.run_id}: 5 epochs, validation accuracy ")


def test_the_card_has_the_verdict_and_a_picture(analysis: Analysis) -> None:
    shown = analysis._repr_html_()
    ElementTree.fromstring(shown)  # well formed
    assert "pizza-p23-k1-5: two Pizzas" in shown
    assert shown.count("<circle") == 2 * 23
    # Labels are text of the page, which wraps: in a picture they would run into the next one.
    assert re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", shown) == ["1: Pizza", "5: Pizza"]
    assert "<text" not in shown
    assert "By the paper's rules: Pizza." in shown or "By the paper&#x27;s rules: Pizza." in shown
    wrapped = wrap(lambda a, b: torch.nn.functional.one_hot((a + b) % 5, 5).double(), 5)
    wrapped.id = "<script>"
    assert "<script>" not in analyze(wrapped)._repr_html_()
    assert (
        "not learned"
        in analyze(initialize(RunSettings(TaskSettings(5), TransformerSettings(4))))._repr_html_()
    )


def test_figures_are_returned_and_shown(analysis: Analysis) -> None:
    figure: Any = analysis.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert len(figure.axes) >= 3
    runs = Runs.read("fixed-width")
    drawn = runs.plot()
    counts = [int(re.sub(r"\D", "", text.get_text())) for text in drawn.legends[0].get_texts()]
    assert sum(counts) == len(runs.accurate)
    with pytest.raises(InputError, match="wide has no metrics along an attention rate"):
        Runs.read("wide").plot()


def test_a_clock_is_drawn_flat() -> None:
    shown = analyze(handmade_clock(11, (2,)))._repr_html_()
    assert len(set(re.findall(r'cy="([\d.]+)"', shown))) == 1


def test_the_card_of_a_network_on_a_group_has_its_representations() -> None:
    shown = analyze(adding_network(named_group("S3")))._repr_html_()
    assert "S3 by adding" in shown
    assert "<rect" in shown
    assert "By the paper's rules" not in shown
    assert "functions of x^-1 z y^-1" in shown
