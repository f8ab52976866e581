"""The notebooks in examples/ run from top to bottom, show pictures, and are kept without outputs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import PATIENCE
from fenced import ROOT
from notebook import code_cells

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def test_there_are_three() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["analyse_your_own_network", "map_a_phase_space", "quickstart"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path: Path) -> None:
    cells = code_cells(path)
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    runner = Path(__file__).with_name("notebook.py")
    command = [sys.executable, "-W", "error", str(runner), str(path), str(tmp_path)]
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert len(list(tmp_path.glob("*.png"))) >= 1
