"""Networks of the authors' layout whose config is lost."""

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
