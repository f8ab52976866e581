import json
from pathlib import Path

import pytest
from commands import invoke

from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import save


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("networks")
    save(handmade_pizza(13, (1, 3)), folder / "pizza")
    save(handmade_clock(13, (1, 3)), folder / "clock")
    return folder


def test_accounts_and_interventions_are_printed(networks: Path) -> None:
    result = invoke("rivals", networks / "pizza.safetensors")
    assert result.exit_code == 0
    title = "pizza-p13-k1-3 on Z13: passes Pizza, characters (GCR), rho-sets (by chance), "
    assert f"{title}approximate cosets" in result.stdout
    assert "units of one coset removed" in result.stdout


def test_several_networks_end_with_a_table_and_are_kept_as_json(
    networks: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rivals.json"
    result = invoke("rivals", networks, "-o", out)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-3].startswith("network")
    records = json.loads(out.read_text())
    assert [record["group"] for record in records] == ["Z13", "Z13"]
    printed = invoke("rivals", networks, "--json").stdout
    assert json.loads(printed) == records


def test_no_other_file_is_overwritten(networks: Path) -> None:
    result = invoke("rivals", networks, "-o", networks / "pizza.safetensors")
    assert "is not a JSON file" in str(result.exception)


def test_an_unusable_file_does_not_stop_the_others(networks: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no network")
    result = invoke("rivals", broken, networks / "clock.safetensors")
    assert result.exit_code == 1
    assert "passes Clock" in result.stdout
