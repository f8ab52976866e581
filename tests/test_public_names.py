"""The package's names come when they are asked for, from the list that a type checker reads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import algophase

SOURCE = Path(algophase.__file__)


def imports(file: Path) -> dict[str, str]:
    """The module that each name of the package is imported from in a file."""
    modules = {}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("algophase"):
            for alias in node.names:
                assert alias.asname == alias.name  # the form that exports a name from a stub
                modules[alias.name] = node.module or ""
    return modules


def test_public_names_are_listed_once() -> None:
    listed = imports(SOURCE.with_suffix(".pyi"))
    assert set(algophase.__all__) == {*listed, "__version__"}
    assert imports(SOURCE) == {}
    assert algophase.InputError.__module__ == listed["InputError"]


def test_every_name_is_there() -> None:
    for name in algophase.__all__:
        assert getattr(algophase, name) is not None
        assert name in dir(algophase)


def test_no_public_name_is_a_folder() -> None:
    """Importing a folder would put it in place of a function of its name."""
    folders = {path.stem for path in SOURCE.parent.iterdir()}
    assert not folders & set(algophase.__all__)


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
