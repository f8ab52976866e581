"""The notebooks in examples/ are kept with their outputs, which come from their code, and run
from top to bottom.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import PATIENCE
from fenced import ROOT
from notebook import DIGEST, code_cells, digest, pictures, read

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
LARGEST = 1_500_000  # bytes of all notebooks


def test_there_are_three() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["analyze_your_own_network", "map_a_phase_space", "quickstart"]
    assert sum(path.stat().st_size for path in NOTEBOOKS) < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_code(path: Path) -> None:
    content = read(path)
    run_again = f"run it again: python tests/helpers/notebook.py {path.relative_to(ROOT)}"
    assert content["metadata"].get(DIGEST) == digest(content), run_again
    cells = code_cells(content)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        kinds = [output["output_type"] for output in cell["outputs"]]
        assert "error" not in kinds
        source = "".join(cell["source"])
        assert ("print(" in source) == ("stream" in kinds)
        assert ("plt.show()" in source) == ("display_data" in kinds)
        if (
            isinstance(ast.parse(source).body[-1], ast.Expr)
            and "plt.show()" not in source
            and "print(" not in source
        ):
            assert "execute_result" in kinds
    assert len(pictures(content)) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    run_notebook(path, tmp_path, path.parent, {})
    assert len(list(tmp_path.glob("*.png"))) == len(pictures(read(path)))


@pytest.mark.slow
def test_the_quickstart_runs_with_the_installed_package(tmp_path: Path) -> None:
    """Outside of the clone, with the files that the wheel has."""
    package = tmp_path / "site" / "algophase"
    shutil.copytree(
        ROOT / "src" / "algophase", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for pattern in wheel_patterns():
        for file in (ROOT / "gallery").rglob(pattern):
            target = package / "gallery" / file.relative_to(ROOT / "gallery")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    notebook = shutil.copy(ROOT / "examples" / "quickstart.ipynb", elsewhere)
    drawn = tmp_path / "pictures"
    drawn.mkdir()
    run_notebook(Path(notebook), drawn, elsewhere, {"PYTHONPATH": str(package.parent)})
    assert len(list(drawn.glob("*.png"))) == len(pictures(read(Path(notebook))))


def wheel_patterns() -> list[str]:
    """`PATTERNS` of hatch_build.py, which cannot be imported without hatchling."""
    tree = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PATTERNS":
            return list(ast.literal_eval(node.value))
    raise AssertionError("hatch_build.py has no PATTERNS")


def run_notebook(path: Path, drawn: Path, directory: Path, environment: dict[str, str]) -> None:
    command = [
        sys.executable,
        "-W",
        "error",
        str(ROOT / "tests" / "helpers" / "notebook.py"),
        str(path),
        str(drawn),
    ]
    settings = {**os.environ, "MPLBACKEND": "agg", **environment}
    done = subprocess.run(
        command,
        cwd=directory,
        env=settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
