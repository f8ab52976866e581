import shutil
import subprocess
from pathlib import Path

import pytest

from algophase.sweeps import provenance


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a package of which this module is a part."""
    if shutil.which("git") is None:
        pytest.skip("no git here")
    package = tmp_path / "src" / "algophase"
    for file in ("sweeps/provenance.py", "training/run/loop.py"):
        (package / file).parent.mkdir(parents=True)
        (package / file).write_text("")
    (tmp_path / "README.md").write_text("")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.delenv("ALGOPHASE_COMMIT", raising=False)
    monkeypatch.setattr(provenance, "__file__", str(package / "sweeps" / "provenance.py"))
    return package


def stamp() -> str | None:
    return provenance.commit.__wrapped__()


def test_a_change_anywhere_in_the_package_is_marked(package: Path) -> None:
    clean = stamp()
    assert clean is not None
    assert len(clean) == 12
    (package / "training" / "run" / "loop.py").write_text("changed = True\n")
    assert stamp() == f"{clean}+"


def test_a_change_outside_of_the_package_is_not_marked(package: Path) -> None:
    clean = stamp()
    (package.parents[1] / "README.md").write_text("changed\n")
    (package / "new.py").write_text("")
    assert stamp() == clean


def test_a_package_that_no_repository_tracks_has_no_commit(package: Path) -> None:
    subprocess.run(["git", "rm", "-q", "--cached", "sweeps/provenance.py"], cwd=package, check=True)
    assert stamp() is None


def test_a_copy_without_its_repository_is_told(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALGOPHASE_COMMIT", "abc")
    assert stamp() == "abc"
