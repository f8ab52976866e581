from pathlib import Path

import numpy as np
import pytest

from algophase.analysis.analyze import analyze
from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.pictures.marks import HeatMap, Labels, Points
from algophase.pictures.to_data import marks_of
from algophase.reports.figures import (
    attention_figure,
    circles_figure,
    correct_logits_figure,
    draw_all,
    gradients_figure,
)
from algophase.reports.network_panels import circle_order


def names(network: Network, directory: Path, image_format: str = "png") -> set[str]:
    paths = draw_all(network, analyze(network), directory, image_format)
    assert sorted(paths) == sorted(directory.iterdir())  # nothing else is left behind
    return {path.stem for path in paths}


def test_each_network_gets_the_pictures_that_apply(tmp_path: Path) -> None:
    everyone = {"correct_logits", "gradients", "program"}
    assert names(handmade_clock(11, (1, 2)), tmp_path / "clock") == {
        *everyone,
        "circles",
        "isolated_logits",
    }
    pizza = names(handmade_pizza(12, (1, 5), accompanied=True), tmp_path / "pizza")
    assert pizza >= {*everyone, "circles", "isolated_logits"}
    for task in (
        TaskSettings(modulus=11, equals_sign=True),
        TaskSettings(modulus=11, separate_vocabularies=True),
    ):
        untrained = initialize(
            RunSettings(task=task, network=TransformerSettings(width=64, layers=2))
        )
        assert names(untrained, tmp_path / untrained.id) >= {*everyone, "attention"}


def test_pictures_are_made_from_the_data() -> None:
    specimen = Specimen(handmade_clock(11, (2,)))
    (logits,) = marks_of(correct_logits_figure(specimen).panels[0], HeatMap)
    np.testing.assert_allclose(logits.values, specimen.whole.logits, atol=1e-9)
    (circle,) = circles_figure(specimen).panels
    points, labels = circle.marks
    assert isinstance(points, Points)
    assert isinstance(labels, Labels)
    assert points.texts is not None
    assert list(points.texts)[:3] == ["0", "6", "1"]  # in the order of the circle
    assert sorted(map(int, labels.texts)) == list(range(11))
    for panel in gradients_figure(specimen).panels:
        assert [mark.name for mark in marks_of(panel, Points)][:2] == ["component 1", "component 2"]


def test_attention_has_a_row_for_each_layer_and_operand() -> None:
    task = TaskSettings(modulus=7, equals_sign=True)
    network = TransformerSettings(width=8, layers=2, heads=2, attention_rate=0.5)
    figure = attention_figure(Specimen(initialize(RunSettings(task=task, network=network))))
    titles = [[panel.title for panel in row if panel] for row in figure.rows]
    assert titles[0] == ["layer 1, head 1, on a", "layer 1, head 2, on a"]
    assert titles[3] == ["layer 2, head 1, on b", "layer 2, head 2, on b"]
    assert figure.scale == "weight on a or b"


@pytest.mark.parametrize("image_format", ["png", "svg", "pdf"])
def test_the_same_network_gives_the_same_file(tmp_path: Path, image_format: str) -> None:
    network = handmade_pizza(7, (1,))
    analysis = analyze(network)
    for directory in ("a", "b"):
        draw_all(network, analysis, tmp_path / directory, image_format)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    network = handmade_clock(7, (1,))
    with pytest.raises(InputError, match=r"'bmp'.*png, svg, pdf"):
        draw_all(network, analyze(network), tmp_path, "bmp")


def test_circle_order_steps_by_the_spacing_of_the_circle() -> None:
    order = circle_order(59, 17).tolist()
    spacing = pow(17, -1, 59)
    assert order == [i * spacing % 59 for i in range(59)]
