"""Appendix L: the released Model beta gives the printed numbers, and every claim has the verdict
that its rule gives.
"""

from pathlib import Path

import pytest
import torch
from made_items import assert_same_files, make_one, verdicts, write_networks

from algophase.core.settings import LinearSettings
from algophase.networks import build
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.paper.items import find_items
from algophase.paper.make import Made, make
from algophase.paper.sources import Missing, Sources

LABELS = ["pcaeu", "aligned", "approx2"]


def test_the_released_circles_match(published: dict[str, Made]) -> None:
    assert verdicts(published["pcaeu"]) == ["supported", "supported"]
    assert published["pcaeu"].claims[0].ours == "4 of 4 match; gaps 2, 27, 21, 7"
    assert (
        "4 more in the embedding (frequencies 11, 1, 28, 25), 4 of them"
        in published["pcaeu"].claims[0].note
    )


def test_the_second_relu_is_idle_and_units_serve_one_pizza(published: dict[str, Made]) -> None:
    assert verdicts(published["aligned"]) == [
        *["reproduced"] * 3,
        "supported",
        "not supported",
        "supported",
        "supported",
    ]
    ours = [claim.ours for claim in published["aligned"].claims]
    assert ours[:3] == ["100.00%", "6.198e-07", "5.887e-07"]
    # At the paper's own 0.1 most units read a second, weaker pair: their pizza's accompanying
    # circle.
    assert ours[4:6] == ["5 of 229 units", "156 of 229 units"]
    assert "143 read one pizza and its accompanying circle" in published["aligned"].claims[4].note
    assert ours[6].startswith("98.3% of the units")


@pytest.mark.slow
def test_files_are_made_twice_the_same(released: Path, tmp_path: Path) -> None:
    sources = Sources(released=released)
    once, twice = (make(find_items(LABELS), sources, tmp_path / name) for name in ("once", "twice"))
    for first, again in zip(once, twice, strict=True):
        assert {file.suffix for file in first.files} >= {".png", ".svg"}
        assert_same_files(first, again)


def test_without_a_network_the_items_say_what_is_missing(empty: Path) -> None:
    for item in find_items(LABELS):
        with pytest.raises(Missing, match="no model-beta yet"):
            item.make(Sources(gallery=empty))


def test_a_network_without_a_pizza_is_named(tmp_path: Path) -> None:
    made = make_one(
        "pcaeu",
        write_networks(tmp_path, {"model-beta": handmade_clock(13, (1, 5))}),
        tmp_path / "out",
    )
    assert made.problem is not None
    assert made.problem.endswith("has no Pizza among its circles that its unembedding matches")


def test_another_network_is_shown_and_not_judged(tmp_path: Path) -> None:
    """A model beta around a hand-made Pizza: W_2 the identity, so that its second ReLU changes
    nothing.
    """
    pizza = handmade_pizza(31, (3, 7, 10))
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
    results = make(
        find_items(LABELS),
        write_networks(tmp_path / "gallery", {"model-beta": network}),
        tmp_path / "out",
    )
    by_label = {one.item.label: one for one in results}
    assert [one.problem for one in results] == [None, None, None]
    # Its unembedding holds one direction a label, so every frequency: most have no partner among
    # three circles.
    assert by_label["pcaeu"].claims[0].ours.startswith("3 of 15 match")
    assert by_label["pcaeu"].claims[0].verdict == "not supported"
    numbers = [claim for one in results for claim in one.claims if claim.verdict == "not tested"]
    assert len(numbers) == 7
    assert "our network" in by_label["pcaeu"].source
