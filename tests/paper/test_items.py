import pytest

from algophase.core.errors import InputError
from algophase.paper.items import ITEMS, find_items
from algophase.paper.sources import ROLES
from algophase.sweeps.shipped_spaces import PAPER_SPACES


def test_items_stand_in_the_papers_order_and_need_what_there_can_be() -> None:
    labels = list(ITEMS)
    assert (labels[0], labels[-2:], len(labels)) == ("algorithms", ["settings", "text"], 32)
    for need in {need for item in ITEMS.values() for need in item.needs}:
        kind, _, name = need.partition(":")
        assert name in (ROLES if kind == "network" else PAPER_SPACES), need


def test_items_are_found_by_label() -> None:
    assert [item.label for item in find_items(["gelu", "approx", "gelu"])] == ["gelu", "approx"]
    assert find_items(["all"]) == list(ITEMS.values())
    with pytest.raises(
        InputError, match="the paper has no item nothing; choose from all, algorithms"
    ):
        find_items(["nothing"])
