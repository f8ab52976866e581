"""Networks of the authors' layout whose config is lost."""

import json
from pathlib import Path

import pytest
import torch
from released_files import write_released

from algophase.core.errors import InputError
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.networks import initialize
from algophase.storage import load
from algophase.storage.formats.without_config import RateMissing


def lost(folder: Path, settings: NetworkSettings, modulus: int = 7) -> torch.Tensor:
    """model_x.pt without its config; the logits of its network."""
    network = initialize(RunSettings(task=TaskSettings(modulus), network=settings))
    write_released(folder, network, "x").unlink()
    logits: torch.Tensor = network.run_with_cache()[0]
    return logits


@pytest.mark.parametrize("layers", [1, 2])
def test_a_transformer_needs_its_attention_rate_alone(tmp_path: Path, layers: int) -> None:
    settings = TransformerSettings(width=16, layers=layers, attention_rate=0.25)
    logits = lost(tmp_path, settings)
    with pytest.raises(RateMissing, match=r"config_x\.json is missing.*--attention-rate"):
        load(tmp_path / "model_x.pt")
    network = load(tmp_path / "model_x.pt", attention_rate=0.25)
    assert (network.id, network.settings) == ("x", settings)
    assert network.task.training_fraction is None
    assert "config_x.json is missing: activation relu, sizes by the tensors" in network.notes
    torch.testing.assert_close(network.run_with_cache()[0], logits)


@pytest.mark.parametrize("model", ["alpha", "alpha-prime", "delta"])
def test_a_linear_network_needs_nothing(tmp_path: Path, model: str) -> None:
    settings = LinearSettings(model=model, width=8, hidden=6)
    logits = lost(tmp_path, settings)
    network = load(tmp_path / "model_x.pt")
    assert network.settings == settings
    torch.testing.assert_close(network.run_with_cache()[0], logits)


def test_two_readings_of_which_none_answers(tmp_path: Path) -> None:
    """beta and gamma have the same tensors; one that is not trained shows neither."""
    lost(tmp_path, LinearSettings(model="beta", width=8, hidden=6))
    with pytest.raises(InputError, match="fit 2 networks, of which 0 answer"):
        load(tmp_path / "model_x.pt")


def test_an_even_vocabulary_may_be_of_two_kinds(tmp_path: Path) -> None:
    settings = TransformerSettings(width=16, attention_rate=0.5)
    lost(tmp_path, settings, modulus=8)
    path = tmp_path / "model_x.pt"
    with pytest.raises(InputError, match="fit 2 networks"):
        load(path, attention_rate=0.5)
    assert load(path, attention_rate=0.5, modulus=8).task.modulus == 8


def test_a_config_may_have_the_name_of_its_network(tmp_path: Path) -> None:
    settings = TransformerSettings(width=16, attention_rate=0.5)
    network = initialize(RunSettings(task=TaskSettings(7), network=settings))
    write_released(tmp_path, network, "x").rename(tmp_path / "model_x.json")
    assert rate_of(tmp_path / "model_x.pt") == 0.5


def rate_of(path: Path) -> float:
    settings = load(path).settings
    assert isinstance(settings, TransformerSettings)
    return settings.attention_rate


def test_an_equals_sign_does_not_tell_the_rate(tmp_path: Path) -> None:
    """Nanda et al. have the same tensors, at rate 1. Their files hold more than a state dict."""
    settings = TransformerSettings(width=16, attention_rate=0.5)
    network = initialize(RunSettings(task=TaskSettings(7, equals_sign=True), network=settings))
    config = write_released(tmp_path, network, "x")
    config.unlink()
    with pytest.raises(RateMissing, match=r"config_x\.json is missing"):
        load(tmp_path / "model_x.pt")
    assert load(tmp_path / "model_x.pt", attention_rate=0.5).settings == settings
    tensors = torch.load(tmp_path / "model_x.pt", weights_only=True)
    torch.save({"model": tensors, "config": {"p": 7}}, tmp_path / "model_y.pt")
    assert rate_of(tmp_path / "model_y.pt") == 1
    torch.save(tensors, tmp_path / "1200.pt")
    assert rate_of(tmp_path / "1200.pt") == 1


def test_what_a_config_does_not_say_is_noted(tmp_path: Path) -> None:
    settings = TransformerSettings(width=16, activation="gelu", attention_rate=0.5)
    network = initialize(RunSettings(task=TaskSettings(7), network=settings))
    config = write_released(tmp_path, network, "x")
    content = json.loads(config.read_text())
    del content["act_fn"]
    config.write_text(json.dumps(content))
    loaded = load(tmp_path / "model_x.pt")
    assert "activation relu, which config_x.json does not say" in loaded.notes


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "model.", "net."])
def test_names_with_a_prefix(tmp_path: Path, prefix: str) -> None:
    settings = TransformerSettings(width=16, attention_rate=0.5)
    network = initialize(RunSettings(task=TaskSettings(7), network=settings))
    write_released(tmp_path, network, "x")
    path = tmp_path / "model_x.pt"
    tensors = torch.load(path, weights_only=True)
    torch.save({prefix + name: value for name, value in tensors.items()}, path)
    assert load(path).settings == settings


def test_a_list_of_state_dicts(tmp_path: Path) -> None:
    settings = TransformerSettings(width=16, attention_rate=0.5)
    network = initialize(RunSettings(task=TaskSettings(7), network=settings))
    write_released(tmp_path, network, "x")
    path = tmp_path / "model_x.pt"
    tensors = torch.load(path, weights_only=True)
    zeros = {name: torch.zeros_like(value) for name, value in tensors.items()}
    torch.save([zeros, tensors], path)
    logits = network.run_with_cache()[0]
    torch.testing.assert_close(load(path).run_with_cache()[0], logits)
    assert not load(path, state="states[0]").run_with_cache()[0].any()
