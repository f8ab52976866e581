"""The package's names come when they are asked for, and are the ones a type checker sees."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import algophase

SOURCE = Path(algophase.__file__)


def test_run_time_and_type_checker_have_the_same_names_from_the_same_places() -> None:
    nodes = [
        node for node in ast.walk(ast.parse(SOURCE.read_text())) if isinstance(node, ast.ImportFrom)
    ]
    seen = {
        alias.asname: node.module
        for node in nodes
        for alias in node.names
        if (node.module or "").startswith("algophase")
    }
    assert seen == algophase._PLACES
    assert set(algophase.__all__) == {*seen, "__version__"}


def test_every_name_is_there() -> None:
    for name in algophase.__all__:
        assert getattr(algophase, name) is not None
        assert name in dir(algophase)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'analyse'"):
        _ = algophase.analyse  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="analyse"):
        exec("from algophase import analyse")


@pytest.mark.parametrize("arguments", ["--help", "--version", "sweep --help", "analyze"])
def test_help_does_not_wait_for_torch(arguments: str) -> None:
    code = (
        "import sys\nfrom algophase.cli import main\n"
        "try:\n    main()\nfinally:\n    assert not {'torch', 'numpy', 'pandas'} & "
        "set(sys.modules), 'slow'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "slow" not in done.stderr
    assert done.returncode == (2 if arguments == "analyze" else 0), done.stderr


def test_an_interrupt_while_torch_is_imported_is_not_lost(tmp_path: Path) -> None:
    fake = (
        "import os, time\ntry:\n    os.kill(os.getpid(), 2)\n    time.sleep(5)\nexcept "
        "BaseException:\n    pass\n"
    )
    (tmp_path / "torch.py").write_text(fake)
    code = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom algophase.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "analyze", "x"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "algophase: error: interrupted\n")
