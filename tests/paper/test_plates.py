"""Plates: what a picture of isolated circles shows, kept in a file and read back."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from made_items import make_one, plant, write_networks
from safetensors.torch import save as to_bytes

from algophase.core.errors import InputError
from algophase.core.fourier import circle
from algophase.core.settings import RunSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_pizza
from algophase.paper.plates import isolated_figure, load_plates, save_plates, take
from algophase.paper.sources import Exhibit, Sources
from algophase.reports.network_panels import order_frequency


def test_plates_stand_for_a_network_too_large_to_ship(tmp_path: Path) -> None:
    wide = plant(
        initialize(RunSettings(network=TransformerSettings(width=64))),
        torch.cat([circle(59, 3), circle(59, 5)], dim=1),
    )
    sources = write_networks(tmp_path / "network", {"wide-pizza": wide})
    one = sources.network("wide-pizza")
    path = save_plates(take(one, one.evidence), tmp_path / "wide" / "some.plates")
    (tmp_path / "exhibits.toml").write_text(
        '[wide-pizza]\nplates = "wide/some.plates"\nwhat = "a wide one"\n'
    )
    from_network = make_one("widepizza", sources, tmp_path / "out")
    from_plates = make_one("widepizza", Sources(tmp_path), tmp_path / "out")
    assert from_plates.claims == from_network.claims
    assert from_plates.source == "plates of our network some (a wide one)"
    taken, back = take(one, one.evidence), load_plates(path)
    assert replace(back, plates=()) == replace(taken, plates=())
    for plate, other in zip(back.plates, taken.plates, strict=True):
        assert (plate.title, plate.frequency, plate.order, plate.axes) == (
            other.title,
            other.frequency,
            other.order,
            other.axes,
        )
        torch.testing.assert_close(plate.logits, other.logits, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(plate.points, other.points, rtol=1e-6, atol=1e-6)


def test_a_file_without_plates_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere is not there"):
        load_plates(tmp_path / "nowhere")
    for content in (
        b"",
        b"not a safetensors file",
        to_bytes({"logits": torch.zeros(1, 3, 3)}, {"plates": "{}"}),
    ):
        (tmp_path / "broken").write_bytes(content)
        with pytest.raises(InputError, match="broken holds no plates of isolated circles"):
            load_plates(tmp_path / "broken")


def test_an_accompanying_circle_is_shown_in_the_order_of_its_pizza() -> None:
    one = Exhibit(handmade_pizza(13, (3,), accompanied=True), "model-a", "made", published=False)
    pizza, companion = one.evidence
    assert (pizza.role, companion.role) == ("Pizza", "accompanying")
    assert (order_frequency(pizza), order_frequency(companion)) == (3, 3)
    taken = take(one, one.evidence, ["a further line"])
    assert [plate.title.splitlines() for plate in taken.plates] == [
        ["circle 1, k = 3", f"accuracy alone {pizza.accuracy_alone:.1%}", "a further line"],
        ["circle 2 (with 1), k = 6", f"accuracy alone {companion.accuracy_alone:.1%}"],
    ]
    figure = isolated_figure(one, one.evidence[:1])
    assert figure.panels[0].y.name == "(a − b)/9 mod 13"
    assert "(1 of 2)" in figure.title
