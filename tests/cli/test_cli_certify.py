import json
from pathlib import Path

import pytest
from commands import invoke

from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import save


@pytest.fixture(scope="module")
def pizza(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(handmade_pizza(7, (1, 2)), tmp_path_factory.mktemp("networks") / "pizza")


def test_a_certificate_is_written(pizza: Path, tmp_path: Path) -> None:
    out = tmp_path / "certificate.json"
    for _ in range(2):  # a certificate may be overwritten
        result = invoke("certify", pizza, "-o", out)
        assert result.exit_code == 0
        assert "proved right on 49 of 49 pairs" in result.stderr
        assert result.stdout == ""
    entries = json.loads(out.read_text())
    assert (entries["pairs"], entries["proved_right"], entries["undecided"]) == (49, 49, 0)


def test_without_a_file_it_is_printed(pizza: Path) -> None:
    assert json.loads(invoke("certify", pizza).stdout)["format"] == "algophase-certificate"


def test_other_files_are_not_overwritten(pizza: Path) -> None:
    before = pizza.with_suffix(".json").read_bytes()
    result = invoke("certify", pizza, "-o", pizza.with_suffix(".json"))
    assert result.exit_code == 1
    assert "is not a certificate" in str(result.exception)
    assert pizza.with_suffix(".json").read_bytes() == before


def test_a_network_that_cannot_be_certified_is_named(tmp_path: Path) -> None:
    clock = save(handmade_clock(7), tmp_path / "clock")
    result = invoke("certify", clock)
    assert result.exit_code == 1
    assert "a certificate can be made for" in str(result.exception)
