import numpy as np
import pytest
import torch

from algophase.analysis.program.mean_logits import mean_logits
from algophase.analysis.specimen import Specimen
from algophase.core.named_groups import named_group
from algophase.core.representations import representations
from algophase.networks.handmade_groups import adding_network, multiplying_network


@pytest.mark.parametrize("name", ["S3", "D5"])
def test_a_network_that_multiplies_writes_its_character(name: str) -> None:
    group = named_group(name)
    (member,) = [one for one in representations(group) if one.name in ("standard", "2.1")]
    means = mean_logits(multiplying_network(group, [member.name]), group)
    assert means.accuracy == 1
    np.testing.assert_allclose(means.bi_equivariant, member.character.real, atol=1e-12)
    assert means.shares.characters == pytest.approx(1)
    for side in ("left", "right", "readout"):
        matrix, order = means.in_order(side)
        np.testing.assert_allclose(np.diag(matrix), member.dimension, atol=1e-12)
        assert sorted(order) == list(range(group.order))


def test_a_map_has_its_rows_and_columns_in_the_order_of_cosets() -> None:
    group = named_group("S4")
    means = mean_logits(adding_network(group), group)
    elements = np.arange(24)
    by_element = means.bi_equivariant[
        group.table[elements, group.inverses[:, None]]
    ]  # row y, column v: F(v - y)
    np.testing.assert_allclose(means.sums.from_left, by_element, atol=1e-9)
    matrix, order = means.in_order("left")
    np.testing.assert_allclose(matrix, by_element[np.ix_(order, order)], atol=1e-9)


def test_one_representation_alone_is_that_of_the_whole_where_there_is_one() -> None:
    network = adding_network(named_group("S3"))
    specimen = Specimen(network)
    assert specimen.group.order == 6
    assert not specimen.group.commutes
    whole, alone = specimen.mean_logits(), specimen.mean_logits(("standard",))
    np.testing.assert_allclose(whole.bi_equivariant, alone.bi_equivariant, atol=1e-9)
    assert specimen.mean_logits() is whole
    nothing = specimen.mean_logits(("sign",))
    assert np.abs(nothing.bi_equivariant).max() < 1e-9


def test_a_specimen_takes_the_subject_of_its_analysis() -> None:
    network = adding_network(named_group("S3"))
    analysis = Specimen(network).analysis
    specimen = Specimen(network, analysis)
    assert analysis.subject is not None
    assert specimen.network is analysis.subject.network
    other = adding_network(named_group("S3"))
    with torch.no_grad():
        other.W_U.mul_(2)
    assert Specimen(other, analysis).network is not analysis.subject.network
