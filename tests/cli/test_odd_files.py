"""One odd file among good ones: it gets one line, and the good ones are analysed, reported on and explored."""

import json
from pathlib import Path

import pytest
import torch
from commands import call
from torch import Tensor

from algophase import handmade_clock, save
from algophase.explore.own import OwnNetworks
from algophase.storage.kept_analyses import KeptAnalyses

LOSSES = {
    "vector": torch.tensor([0.5, 0.25, 0.125]),
    "empty": torch.zeros(0),
    "complex": torch.tensor(0.5 + 1j),
    "nan": float("nan"),
    "long": 10**400,
    "list": [0.5, [0.25]],
    "text": "0.5",
    "mapping": {"final": 0.5},
    "bool": torch.tensor(True),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good network, and one for each odd loss: an MLP that answers nothing."""
    save(handmade_clock(7, (1,)), tmp_path / "good")
    draw = torch.Generator().manual_seed(0)
    model: dict[str, Tensor] = {
        "mlp.W_in": torch.randn(12, 7, generator=draw),
        "mlp.W_out": torch.randn(7, 12, generator=draw),
    }
    for name, loss in LOSSES.items():
        torch.save({"model": model, "train_loss": loss, "config": loss}, tmp_path / f"{name}.pt")
    return tmp_path


def test_analyze_says_one_line_for_each_odd_file(folder: Path) -> None:
    result = call("analyze", folder, "--json")
    names = [Path(record["path"]).stem for record in json.loads(result.stdout)]
    lines = [line for line in result.stderr.splitlines() if line]
    assert "good" in names
    assert all(line.startswith("algophase: error: ") for line in lines)
    for name in LOSSES:
        assert name in names or len([line for line in lines if f"{name}.pt" in line]) == 1
    assert len(names) + len(lines) == 1 + len(LOSSES)
    assert result.returncode == (1 if lines else 0)


def test_report_shows_the_good_network(folder: Path, tmp_path: Path) -> None:
    result = call("report", folder / "good.safetensors", folder / "complex.pt", folder / "vector.pt", "-o", tmp_path / "r.html")
    assert "clock-p7-k1" in (tmp_path / "r.html").read_text()
    assert all(line.startswith("algophase: error: ") for line in result.stderr.splitlines() if line)


def test_explore_shows_the_good_network(folder: Path, tmp_path: Path) -> None:
    networks = OwnNetworks(folder, KeptAnalyses(tmp_path))
    networks.begin()
    assert networks.wait(120)
    table = networks.table
    assert table.count + len(table.problems) == 1 + len(LOSSES)
