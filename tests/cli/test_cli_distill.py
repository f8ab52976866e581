from pathlib import Path

import pytest
from commands import invoke, python

from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_pizza
from algophase.storage import save


@pytest.fixture(scope="module")
def pizza(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(
        handmade_pizza(13, (1, 3), accompanied=True), tmp_path_factory.mktemp("networks") / "pizza"
    )


def test_a_program_is_written_that_checks_itself(pizza: Path, tmp_path: Path) -> None:
    result = invoke("distill", pizza, "-o", tmp_path / "program.py")
    assert result.exit_code == 0
    assert "two Pizzas" in result.stderr
    assert "169 of 169 pairs answered as the network does" in result.stderr
    assert result.stdout == ""
    done = python(tmp_path / "program.py")
    assert done.returncode == 0, done.stderr
    assert "169 of 169" in done.stdout


def test_without_a_file_the_program_is_printed(pizza: Path) -> None:
    printed = invoke("distill", pizza, "--smallest").stdout
    names: dict[str, object] = {"__name__": "distilled"}
    exec(printed, names)
    assert names["MODULUS"] == 13
    assert int(names["answer"](5, 11)) == 3  # type: ignore[operator]


def test_a_program_that_is_not_the_network_says_so(tmp_path: Path) -> None:
    network = initialize(RunSettings(TaskSettings(7), TransformerSettings(width=8), seed=1))
    untrained, out = save(network, tmp_path / "untrained"), tmp_path / "program.py"
    result = invoke("distill", untrained, "-o", out)
    assert result.exit_code == 0
    assert "algophase: warning: the program differs from the network on " in result.stderr
    out.unlink()
    result = invoke("distill", untrained, "--smallest", "-o", out)
    assert result.exit_code == 1
    assert "answers every pair as the network does" in str(result.exception)
    assert not out.exists()


def test_no_network_is_overwritten(pizza: Path, tmp_path: Path) -> None:
    """Whatever name leads to its files; a program is written again."""
    copied = save(handmade_pizza(13, (1, 3)), tmp_path / "networks" / "copied")
    description, other = copied.with_suffix(".json"), tmp_path / "other.safetensors"
    other.write_bytes(pizza.read_bytes())
    symbolic, hard = tmp_path / "symbolic.py", tmp_path / "hard.py"
    symbolic.symlink_to(copied)
    hard.hardlink_to(description)
    linked = tmp_path / "linked" / "networks"
    linked.parent.mkdir()
    linked.symlink_to(copied.parent)
    before = copied.read_bytes(), description.read_bytes(), other.read_bytes()
    for out in (
        copied,
        description,
        other,
        symbolic,
        hard,
        linked / copied.name,
        linked / description.name,
        tmp_path,
    ):
        result = invoke("distill", copied, "-o", out)
        assert result.exit_code == 1, out
        assert f"{out} " in str(result.exception)
    assert (copied.read_bytes(), description.read_bytes(), other.read_bytes()) == before
    for _ in range(2):
        assert invoke("distill", copied, "-o", tmp_path / "program.py").exit_code == 0


def test_an_option_of_the_smallest_program_needs_it(pizza: Path) -> None:
    assert "--least-share needs --smallest" in str(
        invoke("distill", pizza, "--least-share", 0.9).exception
    )
