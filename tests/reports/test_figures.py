from pathlib import Path

import pytest
from matplotlib.image import imread

from algophase.analysis.analyze import analyze
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.reports.figures import circle_order, draw_all


def names(network: Network, directory: Path, image_format: str = "png") -> set[str]:
    paths = draw_all(network, analyze(network), directory, image_format)
    assert all(path.stat().st_size > 1000 for path in paths)
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


def test_pictures_are_made_from_the_data(tmp_path: Path) -> None:
    draw_all(handmade_clock(11, (1,)), analyze(handmade_clock(11, (1,))), tmp_path / "a")
    draw_all(handmade_clock(11, (2,)), analyze(handmade_clock(11, (2,))), tmp_path / "b")
    first, second = imread(tmp_path / "a" / "circles.png"), imread(tmp_path / "b" / "circles.png")
    assert first.std() > 0.05
    assert first.shape != second.shape or (first != second).any()


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
