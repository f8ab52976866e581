"""One odd file among good ones: it gets one line, and the good ones are analyzed, reported on
and explored.
"""

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import call, python
from network_bombs import PICKLED, SAFETENSORS, lens_shapes
from torch import Tensor

from algophase import handmade_clock, handmade_pizza, save
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
    result = call(
        "report",
        folder / "good.safetensors",
        folder / "complex.pt",
        folder / "vector.pt",
        "-o",
        tmp_path / "r.html",
    )
    assert "clock-p7-k1" in (tmp_path / "r.html").read_text()
    assert all(line.startswith("algophase: error: ") for line in result.stderr.splitlines() if line)


def test_explore_shows_the_good_network(folder: Path, tmp_path: Path) -> None:
    networks = OwnNetworks(folder, KeptAnalyses(tmp_path))
    networks.begin()
    assert networks.wait(120)
    table = networks.data
    assert len(table.runs) + len(table.problems) == 1 + len(LOSSES)


MEASURED = """
import atexit, sys
from network_bombs import peak_megabytes
from algophase.cli import main
atexit.register(lambda: print(f"peak {peak_megabytes():.0f}", file=sys.stderr))
main()
"""
GOOD = [
    *(handmade_clock(p, (1, 2)) for p in (7, 9, 11, 13, 15)),
    *(handmade_pizza(p, (1, 2)) for p in (7, 9, 11, 13, 15)),
]


def lens(layers: int = 1, **changes: tuple[int, ...]) -> dict[str, Tensor]:
    """A TransformerLens state dict of random numbers, with tensors added or changed; __ in a
    name stands for a dot.
    """
    shapes = {
        **lens_shapes(7, 8, layers),
        **{name.replace("__", "."): shape for name, shape in changes.items()},
    }
    draw = torch.Generator().manual_seed(0)
    return {name: torch.randn(*shape, generator=draw) for name, shape in shapes.items()}


def write_odd_files(folder: Path) -> list[str]:
    """The odd files of the issue that made this test, and the like. None of them can be
    analyzed.
    """
    for makers, suffix in ((PICKLED, ".pt"), (SAFETENSORS, ".safetensors")):
        for make in makers:
            make(folder / f"{make.__name__}{suffix}", random.Random(0))
    draw = torch.Generator().manual_seed(0)
    mlp = {
        "mlp.W_in": torch.randn(12, 7, generator=draw),
        "mlp.W_out": torch.randn(7, 12, generator=draw),
    }
    saved: dict[str, Any] = {
        "no-activation": mlp,  # all four answer badly, and no loss is recorded
        "vector-loss": {"model": mlp, "train_loss": torch.tensor([0.5, 0.25])},
        "empty-loss": {"model": mlp, "train_loss": torch.zeros(0)},
        "complex-loss": {"model": mlp, "train_loss": torch.tensor(0.5 + 1j)},
        "bias": {**mlp, "mlp.b_in": torch.ones(12)},
        "extra-layer": {**mlp, "mlp2.W_in": torch.ones(12, 12)},
        "gated": lens(blocks__0__mlp__W_gate=(8, 32)),
        "contradicting-config": {"model": mlp, "config": {"p": 11, "act_type": "ReLU"}},
        "nan": {name: value * float("nan") for name, value in mlp.items()},
        "integers": {name: value.long() for name, value in mlp.items()},
        "sparse": {**mlp, "mlp.W_in": mlp["mlp.W_in"].to_sparse()},
        "list": [1, 2, 3],
        "other": {"weight": torch.ones(3, 3)},
    }
    for name, content in saved.items():
        torch.save(content, folder / f"{name}.pt")
    (folder / "text.pt").write_text("not a network")
    (folder / "nothing.safetensors").write_bytes(b"")
    (folder / "directory.pt").mkdir()
    damaged = save(handmade_clock(7, (3,)), folder / "damaged")
    damaged.write_bytes(damaged.read_bytes()[:-4])
    return sorted(file.name for file in folder.iterdir() if file.suffix in (".pt", ".safetensors"))


@pytest.mark.slow
def test_ten_good_networks_among_all_odd_files(tmp_path: Path) -> None:
    odd = write_odd_files(tmp_path)
    for network in GOOD:
        save(network, tmp_path / f"good-{network.id}")
    path = os.pathsep.join(sys.path)
    done = python("-c", MEASURED, "analyze", tmp_path, "--json", PYTHONPATH=path)
    records = json.loads(done.stdout)
    assert sorted(record["id"] for record in records) == sorted(network.id for network in GOOD)
    *lines, peak = [line for line in done.stderr.splitlines() if line]
    assert all(line.startswith("algophase: error: ") for line in lines)
    for name in odd:
        about = [
            line
            for line in lines
            if f"/{name}" in line or f"/{Path(name).with_suffix('.json')}" in line
        ]
        assert len(about) == 1, (name, about)
    assert len(lines) == len(odd)
    assert done.returncode == 1
    assert float(peak.removeprefix("peak ")) < 1500
