import math

import pytest
import torch

from algophase.core.settings import LINEAR_MODELS, LinearSettings, RunSettings, TaskSettings
from algophase.core.task import all_pairs
from algophase.networks import Linear, initialize


def network_for(model: str, width: int = 12, hidden: int = 10, modulus: int = 7) -> Linear:
    run = RunSettings(
        task=TaskSettings(modulus=modulus),
        network=LinearSettings(model=model, width=width, hidden=hidden),
    )
    network = initialize(run).double()
    assert isinstance(network, Linear)
    return network


@pytest.mark.parametrize("model", LINEAR_MODELS)
def test_equals_the_formulas(model: str) -> None:
    network = network_for(model)
    w = dict(network.named_parameters())
    pairs = all_pairs(7)
    expected = []
    for a, b in pairs.tolist():
        if model == "alpha-prime":
            x1, x2 = w["embed1.weight"][a], w["embed2.weight"][b]
        else:
            x1, x2 = w["embed.weight"][a], w["embed.weight"][b]
        if model == "delta":
            hidden = w["l1.weight"] @ torch.cat([x1, x2]) + w["l1.bias"]
        elif model == "gamma":
            hidden = w["l1.weight"] @ x1 + w["l1.bias"] + w["l1.weight"] @ x2 + w["l1.bias"]
        else:
            hidden = w["l1.weight"] @ (x1 + x2) + w["l1.bias"]
        hidden = hidden.clamp_min(0)
        if model in ("beta", "gamma"):
            hidden = (w["l2.weight"] @ hidden + w["l2.bias"]).clamp_min(0)
        expected.append(w["unembed.weight"] @ hidden)
    torch.testing.assert_close(network(pairs), torch.stack(expected))


@pytest.mark.parametrize("model", LINEAR_MODELS)
def test_initial_spread_is_the_published_one(model: str) -> None:
    network = network_for(model, width=256, hidden=256, modulus=59)
    for name, value in network.state_dict().items():
        if name.startswith("embed"):
            assert value.std().item() == pytest.approx(1 / math.sqrt(128), rel=0.03)
            assert value.shape == (59, 128 if model == "delta" else 256)
        elif name.startswith("unembed"):
            assert value.std().item() == pytest.approx(1 / 16, rel=0.03)
        else:
            assert value.abs().max().item() <= 1 / 16
            assert value.abs().max().item() > 0.9 / 16
            assert value.std().item() == pytest.approx(1 / 16 / math.sqrt(3), rel=0.12)


def test_only_alpha_prime_has_two_tables() -> None:
    assert [len(network_for(model).distinct_tables()) for model in LINEAR_MODELS] == [1, 1, 1, 1, 2]
