"""Known features: planes of circles and blocks of representations in a network's activations."""

import numpy as np
import pytest
import torch

from algophase import (
    InputError,
    RunSettings,
    TaskSettings,
    TransformerSettings,
    analyze,
    handmade_clock,
    handmade_pizza,
    initialize,
    known_features,
    wrap,
)
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.fourier import circle
from algophase.interop.ground_truth import has_known_algorithm
from algophase.networks import Network


def transformer(**task: object) -> Network:
    settings = TransformerSettings(width=8, heads=2, attention_rate=0.5)
    return initialize(RunSettings(TaskSettings(**task), settings))  # type: ignore[arg-type]


def test_a_pizza_has_a_plane_for_each_circle_and_operand() -> None:
    truth = known_features(handmade_pizza(23, (2, 5)), "reads")
    names = {(feature.role, feature.name) for feature in truth.features}
    assert names == {("first", "2"), ("first", "5"), ("second", "2"), ("second", "5")}
    assert truth.known_share == pytest.approx(1)
    for feature in truth.features:
        assert feature.directions.shape == (2, truth.width)
        assert feature.directions @ feature.directions.T == pytest.approx(np.eye(2))
        members = truth.network["instances"][feature.instance]["members"]
        assert members == [feature.name]
    assert truth.network["key_frequencies"] == [2, 5]
    assert truth.network["verdict"] == "Pizza"


def test_activations_are_those_of_the_network_without_their_mean() -> None:
    network = transformer(modulus=7)
    truth = known_features(network, "stream")
    _, cache = network.run_with_cache()
    stream = cache["blocks.0.hook_resid_mid"][:, -1]
    assert torch.allclose(truth.activations + truth.mean, stream, atol=1e-5)
    assert torch.allclose(truth.activations.mean(dim=0), torch.zeros(8), atol=1e-5)
    assert truth.inputs[9].tolist() == [1, 2]
    assert truth.answers[9] == 3


def test_the_plane_of_a_circle_is_where_the_activations_go_round() -> None:
    """Along directions orthogonal to the plane, the first operand's wave is gone."""
    network = handmade_clock(7, (2,))
    truth = known_features(network, "embedding")
    (feature,) = truth.features
    assert (feature.role, feature.name) == ("both", "2")
    waves = circle(7, 2).numpy().T @ truth.activations.double().numpy()  # (2, width)
    inside = waves @ feature.directions.T @ feature.directions
    assert inside == pytest.approx(waves, abs=1e-5)


@pytest.mark.parametrize("at", ["stream", "reads", "hidden", "embedding"])
def test_every_activation_has_features(at: str) -> None:
    truth = known_features(transformer(modulus=7), at)
    assert truth.at == at
    assert len(truth.activations) == (7 if at == "embedding" else 49)
    assert 0.5 < truth.known_share <= 1 + 1e-9
    shares = [feature.share for feature in truth.features]
    assert min(shares) >= 0.01
    assert len(truth.oracle) == sum(len(feature.directions) for feature in truth.features)


def test_each_operand_with_its_own_table_has_its_own_planes() -> None:
    truth = known_features(transformer(modulus=7, separate_vocabularies=True), "embedding")
    assert {feature.role for feature in truth.features} == {"first", "second"}
    assert truth.inputs[3].tolist() == [3, -1]
    assert truth.inputs[10].tolist() == [-1, 3]


def test_features_are_functions_of_what_they_say_on_other_operations() -> None:
    """A network that subtracts has its inputs by its own numbers; the answers tell them."""
    truth = known_features(transformer(modulus=7, operation="subtract"), "stream")
    first, second = truth.inputs.T
    assert torch.equal(truth.answers, (first - second) % 7)
    assert truth.known_share <= 1 + 1e-9


def test_on_a_group_features_are_representations() -> None:
    truth = known_features(transformer(modulus=6, group="S3"), "hidden")
    names = {feature.name for feature in truth.features}
    assert names == {"sign", "standard"}
    assert truth.network["group"] == "S3"
    assert truth.known_share <= 1 + 1e-9
    for feature in truth.features:
        most = 1 if feature.name == "sign" else 4
        assert len(feature.directions) <= most


def test_an_even_modulus_counts_nothing_twice() -> None:
    truth = known_features(transformer(modulus=8), "hidden")
    assert truth.known_share <= 1 + 1e-9


def test_what_a_network_does_not_have_is_said() -> None:
    with pytest.raises(InputError, match=r"no activation 'stream'.*choose one of reads, embedding"):
        known_features(handmade_clock(7), "stream")
    with pytest.raises(InputError, match="at is 'logits'; choose one of stream, reads"):
        known_features(handmade_clock(7), "logits")
    table = torch.eye(7)[(torch.arange(7)[:, None] + torch.arange(7)) % 7]
    function = wrap(lambda first, second: table[first, second], 7)
    with pytest.raises(InputError, match="it has no embedding"):
        known_features(function, "embedding")


def test_an_untrained_network_has_no_known_algorithm() -> None:
    assert has_known_algorithm(analyze(handmade_clock(7)))
    network = transformer(modulus=7)
    assert not has_known_algorithm(analyze(network))
    before = grid_logits(network)
    known_features(network)
    assert torch.equal(grid_logits(network), before)
