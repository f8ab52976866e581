"""Hand-made networks on groups compute the formulas of their docstrings."""

import numpy as np
import pytest

from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.errors import InputError
from algophase.core.named_groups import named_group
from algophase.networks.handmade_groups import (
    adding_network,
    chosen_representations,
    multiplying_network,
)

GROUPS = ["S3", "D5", "A5", "Q8", "F20", "Z7"]


@pytest.mark.parametrize("name", GROUPS)
def test_the_multiplying_one_gives_characters(name: str) -> None:
    group = named_group(name)
    network = multiplying_network(group)
    (used,) = chosen_representations(group, None)
    traces = np.trace(used.matrices, axis1=1, axis2=2)
    x, y, z = np.ix_(*3 * [group.elements])
    expected = traces[group.difference(group.sum(x, y), z)]
    np.testing.assert_allclose(grid_logits(network).numpy(), expected, atol=1e-10)


@pytest.mark.parametrize("name", GROUPS)
def test_the_adding_one_is_zero_at_the_answer_and_negative_elsewhere(name: str) -> None:
    group = named_group(name)
    logits = grid_logits(adding_network(group)).numpy()
    right = np.take_along_axis(logits, group.table[..., None], axis=-1)
    np.testing.assert_allclose(right, 0, atol=1e-9)
    others = np.sort(logits, axis=-1)[..., :-1]
    assert others.max() < -1e-3


def test_several_representations_and_unknown_ones() -> None:
    group = named_group("S4")
    network = multiplying_network(group, ["sign", "standard"])
    assert network.settings.width == 1 + 27
    with pytest.raises(InputError, match="representation is 'spin'; choose one of trivial, sign"):
        adding_network(group, ["spin"])


def test_a_group_without_a_faithful_representation_uses_all() -> None:
    network = adding_network(named_group("Z2xZ2"))
    answers = grid_logits(network).argmax(dim=-1).numpy()
    assert (answers == named_group("Z2xZ2").table).all()
