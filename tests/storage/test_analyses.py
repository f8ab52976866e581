"""Networks analyzed one after the other: what cannot be used is named, and does not stop the
others.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import call

from algophase.analysis.analyze import analyze
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import analyses, save
from algophase.storage.analyses import (
    Analyzed,
    Unusable,
    analyze_files,
    distinct,
    names,
    network_files,
)
from algophase.storage.formats import find
from algophase.storage.formats.contents import Contents, Format


def test_every_file_gets_its_analysis_or_its_problem(tmp_path: Path) -> None:
    for network in (handmade_clock(7, (1,)), handmade_pizza(7, (1,))):
        save(network, tmp_path / network.id)
    (tmp_path / "broken.safetensors").write_bytes(b"not tensors")
    files, problems = network_files(
        [tmp_path, tmp_path / "absent", tmp_path / "clock-p7-k1.safetensors"]
    )
    assert problems == []
    assert [file.name for file in files] == [
        "broken.safetensors",
        "clock-p7-k1.safetensors",
        "pizza-p7-k1.safetensors",
        "absent",
    ]
    reports = list[Progress]()
    broken, clock, pizza, absent = analyze_files(files, progress=reports.append)
    assert [report.doing for report in reports] == [file.name for file in files]
    assert [report.state for report in reports] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    for found, file in ((broken, files[0]), (absent, files[3])):
        assert isinstance(found, Unusable)
        assert isinstance(found.problem, InputError)
        assert found.source == file
    assert isinstance(clock, Analyzed)
    assert isinstance(pizza, Analyzed)
    assert clock.analysis.verdict.label == "Clock"
    assert pizza.network.id == pizza.analysis.id == "pizza-p7-k1"


def fail(*_: object) -> Any:
    raise AttributeError("'list' object has no attribute 'item'\nand a second line")


def fits_theirs(contents: Contents) -> bool:
    return contents.path.stem.startswith("theirs")


FAILING = {
    "fits": Format("failing", "a format", "anything", fail, fail),
    "read": Format("failing", "a format", "anything", fits_theirs, fail),
    "id": Format("failing", "a format", "anything", fits_theirs, fail, fail),
    "nothing": Format("failing", "a format", "anything", fits_theirs, lambda *_: None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", FAILING)
def test_any_exception_of_a_reader_is_that_file_s_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    save(handmade_clock(7, (1,)), tmp_path / "ours")
    torch.save({"x": torch.zeros(3)}, tmp_path / "theirs.pt")
    known = {**find.formats(), "failing": FAILING[kind]}
    monkeypatch.setattr(find, "formats", lambda: known)
    ours, theirs = analyze_files([tmp_path / "ours.safetensors", tmp_path / "theirs.pt"])
    assert isinstance(ours, Analyzed)
    assert isinstance(theirs, Unusable)
    message = str(theirs.problem)
    assert "theirs.pt" in message
    assert "\n" not in message
    assert (
        "is not a network" in message
        if kind == "nothing"
        else "AttributeError: 'list' object" in message
    )
    result = call("analyze", tmp_path, "--json")
    assert [network["id"] for network in json.loads(result.stdout)] == ["clock-p7-k1"]
    assert result.returncode == 1
    assert len(result.stderr.split("\n\n")[0].splitlines()) == 1


def test_an_analysis_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for network in (handmade_clock(7, (1,)), handmade_pizza(7, (1,))):
        save(network, tmp_path / network.id)

    def analyze_clocks(network: Network, thresholds: object) -> Any:
        if network.id.startswith("pizza"):
            raise ZeroDivisionError("division by zero")
        return analyze(network)

    monkeypatch.setattr(analyses, "analyze", analyze_clocks)
    clock, pizza = analyze_files(network_files([tmp_path])[0])
    assert isinstance(clock, Analyzed)
    assert isinstance(pizza, Unusable)
    assert "pizza-p7-k1.safetensors cannot be analyzed: ZeroDivisionError: division by zero" in str(
        pizza.problem
    )


def test_a_name_that_is_too_long_is_a_problem(tmp_path: Path) -> None:
    files, problems = network_files([tmp_path / ("x" * 300)])
    assert files == []
    assert "cannot read" in str(problems[0])


def test_a_directory_without_networks_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files, problems = network_files([tmp_path / "empty"])
    assert files == []
    assert "holds no network" in str(problems[0])


def test_networks_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert distinct([tmp_path / "file", tmp_path / "link", tmp_path / "x" / ".." / "file"]) == [
        tmp_path / "file"
    ]
    assert names(["a", "b", "a"], [Path("1"), Path("2"), Path("3")]) == ["a (1)", "b", "a (3)"]
