"""`algophase analyze --hidden`: what it adds to the text and to the JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from algophase.cli import app
from algophase.networks import initialise
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.storage.network_files import save


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("networks")
    task = TaskSettings(7)
    save(handmade_pizza(7, (1, 2)), directory / "pizza")
    save(handmade_clock(7, (1, 2)), directory / "clock")
    save(initialise(RunSettings(task, TransformerSettings(8, attention_rate=1.0))), directory / "transformer")
    save(initialise(RunSettings(task, TransformerSettings(8, layers=2))), directory / "deep")
    save(initialise(RunSettings(task, LinearSettings("beta", 8, 8))), directory / "beta")
    return directory


def test_text(networks: Path) -> None:
    done = CliRunner().invoke(app, ["analyze", "--hidden", str(networks)])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("inside the first hidden layer:") == 5
    assert done.stdout.count("no hidden units to look at") == 1  # the Clock made by hand
    assert done.stdout.count("without interactions: accuracy") == 1  # the one-layer transformer
    assert "disc 1.0000, torus 0.7071, products 0.00% of the variance; R² 1.0000, phase resultant 1.0000" in done.stdout
    assert done.stdout.count("phase resultant undefined") == 2  # of two layers, and of model beta
    assert "nan" not in done.stdout
    assert (
        "inside the first hidden layer" not in CliRunner().invoke(app, ["analyze", str(networks / "pizza.safetensors")]).stdout
    )


def test_json(networks: Path) -> None:
    done = CliRunner().invoke(app, ["analyze", "--hidden", "--json", str(networks)])
    found = {Path(each["path"]).stem: each["hidden_layer"] for each in json.loads(done.stdout)}
    pizza, clock, transformer, deep = (found[name] for name in ("pizza", "clock", "transformer", "deep"))
    assert pizza["geometry"]["disc"] == pytest.approx(1)
    assert sum(pizza["geometry"]["distances"]) == len(pizza["neurons"]["frequency"]) == 8 * 7
    assert pizza["without_interactions"] is clock["geometry"] is clock["neurons"] is None
    assert clock["progress_measures"]["frequencies"] == [1, 2]
    assert set(transformer["without_interactions"]) >= {"accuracy", "gradient_symmetricity", "verdict", "instances"}
    assert deep["neurons"]["resultant"] is deep["neurons"]["phase_out"][0] is deep["without_interactions"] is None
