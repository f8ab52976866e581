from pathlib import Path

import pytest
from commands import invoke

from algophase import dictionary_score, read_features
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import save


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    """A Pizza, a Clock, and a network that learned nothing."""
    save(handmade_pizza(13, (1, 3)), tmp_path / "networks" / "pizza")
    save(handmade_clock(13, (2,)), tmp_path / "networks" / "clock")
    untrained = initialize(RunSettings(TaskSettings(7), TransformerSettings(width=8), seed=1))
    save(untrained, tmp_path / "networks" / "untrained")
    return tmp_path / "networks"


def test_activations_and_features_are_written(networks: Path, tmp_path: Path) -> None:
    out = tmp_path / "features"
    result = invoke("export", networks, "--for", "sae", "--at", "reads", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert "of 2 networks" in result.stdout
    assert "left out: not learned" in result.stderr
    assert "1 network without a known algorithm left out" in result.stderr
    clock, pizza = read_features(out)
    assert clock.network["verdict"] == "Clock"
    assert dictionary_score(pizza.oracle, pizza).score == 1


def test_a_network_without_the_activation_is_said(networks: Path, tmp_path: Path) -> None:
    out = tmp_path / "features"
    result = invoke("export", networks, "--for", "sae", "--at", "hidden", "-o", out)
    assert result.exit_code == 1
    assert "has no activation 'hidden'" in result.stderr
    assert [truth.id for truth in read_features(out)] == ["pizza-p13-k1-3"]


def test_a_directory_is_not_overwritten(networks: Path, tmp_path: Path) -> None:
    result = invoke("export", networks, "--for", "sae", "-o", tmp_path)
    assert result.exit_code == 1
    assert "exists already" in str(result.exception)
    result = invoke("export", networks)
    assert result.exit_code == 2
    assert "--for" in result.stderr


def test_a_network_with_a_few_wrong_answers_can_be_taken(networks: Path, tmp_path: Path) -> None:
    """--min-accuracy is that of analyze."""
    out = tmp_path / "features"
    arguments = ("--for", "sae", "--at", "embedding", "--min-accuracy", "0")
    result = invoke("export", networks / "untrained.safetensors", *arguments, "-o", out)
    assert "left out" in result.stderr  # it has no algorithm, whatever its accuracy
    assert "no network to write" in str(result.exception)
    assert not out.exists()
