from pathlib import Path

import pytest
from commands import invoke, python

from algophase.networks.handmade import handmade_pizza
from algophase.storage import save


@pytest.fixture(scope="module")
def pizza(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(handmade_pizza(13, (1, 3), accompanied=True), tmp_path_factory.mktemp("networks") / "pizza")


def test_a_program_is_written_that_checks_itself(pizza: Path, tmp_path: Path) -> None:
    result = invoke("distil", pizza, "-o", tmp_path / "program.py")
    assert result.exit_code == 0
    assert "two Pizzas" in result.stderr
    assert "169 of 169 pairs answered as the network does" in result.stderr
    assert result.stdout == ""
    done = python(tmp_path / "program.py")
    assert done.returncode == 0, done.stderr
    assert "169 of 169" in done.stdout


def test_without_a_file_the_program_is_printed(pizza: Path) -> None:
    printed = invoke("distil", pizza, "--smallest").stdout
    names: dict[str, object] = {"__name__": "distilled"}
    exec(printed, names)
    assert names["MODULUS"] == 13
    assert int(names["answer"](5, 11)) == 3  # type: ignore[operator]


def test_an_option_of_the_smallest_program_needs_it(pizza: Path) -> None:
    assert "--least-share goes with --smallest" in str(invoke("distil", pizza, "--least-share", 0.9).exception)
