"""`algophase analyze --hidden`: what it adds to the text and to the JSON. `--betti` adds Betti
numbers.
"""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from algophase.cli import app
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage.network_files import save


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("networks")
    task = TaskSettings(7)
    save(handmade_pizza(7, (1, 2)), directory / "pizza")
    save(handmade_clock(7, (1, 2)), directory / "clock")
    save(
        initialize(RunSettings(task, TransformerSettings(8, attention_rate=1.0))),
        directory / "transformer",
    )
    save(initialize(RunSettings(task, TransformerSettings(8, layers=2))), directory / "deep")
    save(initialize(RunSettings(task, LinearSettings("beta", 8, 8))), directory / "beta")
    return directory


def test_text(networks: Path) -> None:
    done = CliRunner().invoke(app, ["analyze", "--hidden", str(networks)])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("inside the first hidden layer:") == 5
    assert done.stdout.count("no hidden units: only") == 1  # the Clock made by hand
    assert done.stdout.count("without interactions: accuracy") == 1  # the one-layer transformer
    assert (
        "disc 1.0000, torus 0.7071, products 0.00% of the variance; R² 1.0000, phase resultant "
        "1.0000" in done.stdout
    )
    assert done.stdout.count("phase resultant undefined") == 2  # of two layers, and of model beta
    assert "nan" not in done.stdout
    assert (
        "inside the first hidden layer"
        not in CliRunner().invoke(app, ["analyze", str(networks / "pizza.safetensors")]).stdout
    )


def test_json(networks: Path) -> None:
    done = CliRunner().invoke(app, ["analyze", "--hidden", "--json", str(networks)])
    found = {Path(each["path"]).stem: each["hidden_layer"] for each in json.loads(done.stdout)}
    pizza, clock, transformer, deep = (
        found[name] for name in ("pizza", "clock", "transformer", "deep")
    )
    assert pizza["geometry"]["disc"] == pytest.approx(1)
    assert sum(pizza["geometry"]["distances"]) == len(pizza["neurons"]["frequency"]) == 8 * 7
    assert pizza["without_interactions"] is clock["geometry"] is clock["neurons"] is None
    assert clock["progress_measures"]["frequencies"] == [1, 2]
    assert set(transformer["without_interactions"]) >= {
        "accuracy",
        "gradient_symmetricity",
        "verdict",
        "instances",
    }
    assert (
        deep["neurons"]["resultant"]
        is deep["neurons"]["phase_out"][0]
        is deep["without_interactions"]
        is None
    )
    assert pizza["betti_numbers"] is None  # nobody asked


def test_betti_numbers(tmp_path: Path) -> None:
    pytest.importorskip(
        "ripser", reason='ripser is not installed: pip install "algophase[topology]"'
    )
    save(handmade_pizza(13, (1,)), tmp_path / "pizza")
    save(handmade_pizza(5, (1,)), tmp_path / "small")
    save(handmade_clock(13, (1,)), tmp_path / "clock")
    done = CliRunner().invoke(app, ["analyze", "--hidden", "--betti", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("a hole counts if its persistence is above 1.41") == 2
    rows = [line.split() for line in done.stdout.splitlines() if "1, 0, 0 (disc)" in line]
    assert [row[:7] for row in rows] == [
        ["1", "hidden", "units", "1,", "0,", "0", "(disc)"],
        ["1", "logits", "1,", "0,", "0", "(disc)", rows[1][6]],
    ]
    assert rows[0][7:] == ["2.73", "1.00", "0.40"]  # an ideal disc's
    assert "undecided" in done.stdout
    assert (
        "too coarse or too noisy: balls of radius 0.49 are needed to cover it, above 0.35"
        in done.stdout
    )
    found = CliRunner().invoke(app, ["analyze", "--hidden", "--betti", "--json", str(tmp_path)])
    pizza, small, clock = (
        next(
            each["hidden_layer"]["betti_numbers"]
            for each in json.loads(found.stdout)
            if Path(each["path"]).stem == name
        )
        for name in ("pizza", "small", "clock")
    )
    assert pizza[0]["hidden"]["numbers"] == [1, 0, 0]
    assert small[0]["hidden"]["numbers"] is clock is None
    assert small[0]["hidden"]["reason"].startswith("too coarse")


def test_betti_numbers_that_cannot_be_had(networks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pizza = str(networks / "pizza.safetensors")
    done = CliRunner().invoke(app, ["analyze", "--betti", pizza])
    assert isinstance(done.exception, InputError)
    assert "--betti needs --hidden" in str(done.exception)
    monkeypatch.setitem(sys.modules, "ripser", None)
    done = CliRunner().invoke(app, ["analyze", "--hidden", "--betti", pizza])
    assert isinstance(done.exception, InputError)
    assert 'pip install "algophase[topology]"' in str(done.exception)
    assert not done.stdout
