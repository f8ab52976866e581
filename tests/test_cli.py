import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from algophase.cli import app, main
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import load, save


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    save(handmade_clock(11, (1, 3)), tmp_path / "in" / "clock")
    save(handmade_pizza(11, (1, 3)), tmp_path / "in" / "pizza")
    return tmp_path / "in"


def test_help_shows_every_command_with_an_example() -> None:
    overview = run("--help")
    assert overview.exit_code == 0
    for command in ("analyze", "handmade"):
        assert command in overview.output
        assert "Example:" in run(command, "--help").output


def test_summary_is_readable(networks: Path) -> None:
    result = run("analyze", networks)
    assert result.exit_code == 0
    assert "clock-p11-k1-3: Clock\n" in result.stdout
    assert "pizza-p11-k1-3: Pizza\n" in result.stdout
    assert "FVE Pizza" in result.stdout


def test_json_is_a_list_in_the_order_given(networks: Path) -> None:
    result = run("analyze", networks / "pizza.safetensors", networks / "clock.safetensors", "--json")
    assert result.exit_code == 0
    records = json.loads(result.stdout)
    assert [record["verdict"] for record in records] == ["Pizza", "Clock"]
    assert records[0]["gradient_symmetricity_exact"] == pytest.approx(1)


def test_figures_go_to_a_folder_a_network(networks: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    result = run("analyze", networks, networks / "clock.safetensors", "--figures", out, "--figure-format", "svg")
    assert result.exit_code == 0
    assert sorted(entry.name for entry in out.iterdir()) == ["clock-p11-k1-3", "clock-p11-k1-3-2", "pizza-p11-k1-3"]
    assert (out / "pizza-p11-k1-3" / "isolated_logits.svg").exists()


def test_one_bad_file_does_not_lose_the_others(networks: Path) -> None:
    (networks / "broken.safetensors").write_bytes(b"not tensors")
    result = run("analyze", networks, networks / "absent.pt", "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)) == 2
    complaints = result.stderr.strip().splitlines()
    assert len(complaints) == 2
    assert all(line.startswith("algophase: error: ") for line in complaints)
    assert "broken.json is missing" in complaints[0]
    assert "absent.pt does not exist" in complaints[1]


def test_min_accuracy(tmp_path: Path) -> None:
    path = save(handmade_pizza(12, (1, 5)), tmp_path / "even")
    assert ": not learned" in run("analyze", path).stdout
    assert ": Pizza" in run("analyze", path, "--min-accuracy", "0.9").stdout


def test_handmade_writes_networks_that_load(tmp_path: Path) -> None:
    result = run("handmade", "clock", "-p", 12, "--out", tmp_path)
    assert result.exit_code == 0
    assert load(tmp_path / "clock-p12-k1-5.safetensors").id == "clock-p12-k1-5"
    result = run("handmade", "pizza", "-p", 14, "-k", 1, "-k", 3, "--accompanied", "--out", tmp_path)
    assert result.exit_code == 0
    path = tmp_path / "accompanied-pizza-p14-k1-3.safetensors"
    assert str(path) in result.stdout.replace("\n", "")
    assert load(path).task.modulus == 14


def command(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", "from algophase.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_errors_are_one_line_and_a_non_zero_exit(tmp_path: Path) -> None:
    crafted = tmp_path / "model_x.pt"
    torch.save({"a": main}, crafted)  # a reference to code
    (tmp_path / "config_x.json").write_text('{"C": 5, "model_type": "A", "d_model": 4, "d_hidden": 4}')
    for arguments, message in [
        (("analyze", crafted), "refused, nothing in it was run"),
        (("handmade", "clock", "-p", 7, "-k", 9, "--out", tmp_path), "at modulus 7 choose integers from 1 to 6"),
        (("handmade", "clock", "-p", 0, "-k", 1, "--out", tmp_path), "modulus is 0; it must be an integer of at least 2"),
        (("handmade", "pizza", "-p", 10**6, "--out", tmp_path), "does not fit into memory; choose a smaller network"),
    ]:
        result = command(*arguments)
        assert result.returncode == 1
        assert result.stdout == ""
        (line,) = result.stderr.strip().splitlines()
        assert line.startswith("algophase: error: ")
        assert message in line
