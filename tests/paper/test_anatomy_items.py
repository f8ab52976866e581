"""Appendix L: the released Model beta gives the printed numbers, and every claim has the verdict that its rule gives."""

from pathlib import Path

import pytest
import torch

from algophase.networks import build
from algophase.networks.handmade import handmade_pizza
from algophase.paper.anatomy_items import ITEMS
from algophase.paper.make import Made, make
from algophase.paper.published import number
from algophase.paper.readout import printed_coefficients
from algophase.paper.sources import Missing, Sources
from algophase.settings import LinearSettings
from algophase.storage import save

BY_LABEL = {item.label: item for item in ITEMS}


@pytest.fixture(scope="module")
def made(released: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    out = tmp_path_factory.mktemp("paper")
    return {one.item.label: one for one in make(ITEMS, Sources(released=released), out)}


def verdicts(one: Made) -> list[str]:
    assert one.problem is None
    return [claim.verdict for claim in one.claims]


def test_the_released_circles_match(made: dict[str, Made]) -> None:
    assert verdicts(made["pcaeu"]) == ["supported", "supported"]
    assert made["pcaeu"].claims[0].ours == "4 of 4 match; gaps 2, 27, 21, 7"
    assert "4 more in the embedding (frequencies 11, 1, 28, 25), 4 of them" in made["pcaeu"].claims[0].note


def test_the_second_relu_is_idle_and_units_serve_one_pizza(made: dict[str, Made]) -> None:
    assert verdicts(made["aligned"]) == [*["reproduced"] * 3, "supported", "not supported", "supported", "supported"]
    ours = [claim.ours for claim in made["aligned"].claims]
    assert ours[:3] == ["100.00%", "6.198e-07", "5.887e-07"]
    # At the paper's own 0.1 most units read a second, weaker pair: their pizza's accompanying circle.
    assert ours[4:6] == ["5 of 229 units", "156 of 229 units"]
    assert "143 read one pizza and its accompanying circle" in made["aligned"].claims[4].note
    assert ours[6].startswith("98.3% of the units")


def test_the_released_readout_is_the_printed_one(made: dict[str, Made]) -> None:
    claims = {claim.text: claim for claim in made["approx2"].claims}
    numbers = [claims[number(name).text] for name in ("beta-columns", "beta-readout-amplitude", "beta-readout-phase")]
    assert [claim.ours for claim in numbers] == ["44", "7.62", "2.04"]
    expected = [*["reproduced"] * 3, *["supported"] * 3, "not supported", "supported", "supported", "differs"]
    assert verdicts(made["approx2"]) == [*expected, "paper contradicts itself", "supported", "reproduced", "differs"]
    # One ReLU is half an absolute value; 8 is the readout on the unit circle, of pairs it is nearly twice that.
    assert claims["after the ReLU each entry is an absolute value ..."].verdict == "not supported"
    assert claims[number("beta-pair-amplitude").text].ours == "14.1"
    biases, coefficients = made["approx2"].claims[-2:]
    assert biases.ours == "44 equal"
    # The printed lists are centred by the mean of the embedding, which the text does not say.
    assert coefficients.ours == "0 equal, largest difference 0.0043"
    assert "129 are equal and the largest difference is 0.00054" in coefficients.note


def test_the_printed_lists_are_read_whole() -> None:
    printed = printed_coefficients()
    assert printed.shape == (44, 4)
    assert printed[0].tolist() == [0.530, -1.135, 0.253, 1.326]
    assert printed[-1].tolist() == [-0.956, -0.581, 0.223, -1.248]


def test_files_are_made_twice_the_same(made: dict[str, Made], released: Path, tmp_path: Path) -> None:
    for label, one in made.items():
        again = make([BY_LABEL[label]], Sources(released=released), tmp_path)[0]
        assert {file.suffix for file in one.files} >= {".png", ".svg"}
        for first, second in zip(one.files, again.files, strict=True):
            assert first.name == second.name
            if first.suffix != ".png":
                assert first.read_bytes() == second.read_bytes()
        assert one.claims == again.claims


def test_without_a_network_the_items_say_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "gallery").mkdir()
    for item in ITEMS:
        with pytest.raises(Missing, match="no model-beta yet"):
            item.make(Sources(gallery=tmp_path / "gallery"))


def test_another_network_is_shown_and_not_judged(tmp_path: Path) -> None:
    """A model beta around a hand-made Pizza: W_2 the identity, so that its second ReLU changes nothing."""
    pizza = handmade_pizza(59, (3, 7, 20))
    width, hidden = pizza.settings.width, pizza.settings.hidden
    network = build(pizza.task, LinearSettings(model="beta", width=width, hidden=hidden)).double()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            source = dict(pizza.named_parameters()).get(name)
            if source is not None:
                parameter.copy_(source)
            else:
                parameter.copy_(torch.eye(hidden) if parameter.ndim == 2 else torch.zeros(hidden))
    network.id = "made"
    save(network, tmp_path / "gallery" / "made")
    (tmp_path / "gallery" / "exhibits.toml").write_text('[model-beta]\npath = "made.safetensors"\nwhat = "by hand"\n')
    results = make(ITEMS, Sources(gallery=tmp_path / "gallery"), tmp_path / "out")
    by_label = {one.item.label: one for one in results}
    assert [one.problem for one in results] == [None, None, None]
    # Its unembedding holds one direction a label, so every frequency: most have no partner among three circles.
    assert by_label["pcaeu"].claims[0].ours.startswith("3 of 29 match")
    assert by_label["pcaeu"].claims[0].verdict == "not supported"
    numbers = [claim for one in results for claim in one.claims if claim.verdict == "not tested"]
    assert len(numbers) == 7
    assert "our network" in by_label["pcaeu"].source
