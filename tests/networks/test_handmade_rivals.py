"""Every hand-made network of a rival account answers every pair right, in the way it says."""

import numpy as np
import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.group import Group
from algophase.core.named_groups import named_group
from algophase.networks import Network
from algophase.networks.handmade_rivals import coset_network, lookup_network, rho_set_network


@torch.no_grad()
def accuracy(network: Network, group: Group) -> float:
    first, second = network.operand_tables()
    n = group.order
    pairs = first.repeat_interleave(n, 0), second.repeat(n, 1)
    answers = network.logits_from_embeddings(*pairs).argmax(dim=1).numpy()
    return float((answers == group.table.ravel()).mean())


@pytest.mark.parametrize(("name", "order"), [("S3", 2), ("S4", 2), ("S4", 6), ("S5", 24)])
def test_a_coset_circuit_is_right_everywhere(name: str, order: int) -> None:
    group = named_group(name)
    assert accuracy(coset_network(group, order), group) == 1


def test_a_coset_circuit_of_a_normal_subgroup_knows_only_the_coset() -> None:
    group = named_group("S3")
    assert accuracy(coset_network(group, 3), group) <= 1 / 3


def test_the_orders_of_subgroups_are_named() -> None:
    with pytest.raises(InputError, match="order is 5; subgroups have 1, 2, 3, 6 elements"):
        coset_network(named_group("S3"), 5)


@pytest.mark.parametrize("name", ["S3", "S4", "S5"])
def test_a_rho_set_of_the_smallest_orbit_has_a_unit_for_each_pair_of_vectors(name: str) -> None:
    group = named_group(name)
    network = rho_set_network(group, "standard")
    points = int(name[1])
    assert network.settings.width == points**2
    assert accuracy(network, group) == 1


def test_a_generic_rho_set_has_a_vector_for_each_element() -> None:
    group = named_group("S4")
    network = rho_set_network(group, "standard", generic=True)
    assert network.settings.width == group.order**2
    assert accuracy(network, group) == 1


def test_a_lookup_knows_every_answer_by_heart() -> None:
    group = named_group("S4")
    network = lookup_network(group)
    assert accuracy(network, group) == 1
    assert np.ptp(network.first.detach().numpy()) > 1
