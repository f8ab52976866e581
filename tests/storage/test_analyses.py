"""Networks analysed one after the other: what cannot be used is named, and does not stop the others."""

from pathlib import Path

from algophase.errors import InputError
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import save
from algophase.storage.analyses import Analysed, Unusable, analyze_files, distinct, names, network_files


def test_every_file_gets_its_analysis_or_its_problem(tmp_path: Path) -> None:
    for network in (handmade_clock(7, (1,)), handmade_pizza(7, (1,))):
        save(network, tmp_path / network.id)
    (tmp_path / "broken.safetensors").write_bytes(b"not tensors")
    files, problems = network_files([tmp_path, tmp_path / "absent", tmp_path / "clock-p7-k1.safetensors"])
    assert problems == []
    assert [file.name for file in files] == [
        "broken.safetensors",
        "clock-p7-k1.safetensors",
        "pizza-p7-k1.safetensors",
        "absent",
    ]
    seen = list[tuple[Path, int, int]]()
    broken, clock, pizza, absent = analyze_files(files, starting=lambda *each: seen.append(each))
    assert seen == [(file, number, 4) for number, file in enumerate(files, 1)]
    for found, file in ((broken, files[0]), (absent, files[3])):
        assert isinstance(found, Unusable)
        assert isinstance(found.problem, InputError)
        assert found.source == file
    assert isinstance(clock, Analysed)
    assert isinstance(pizza, Analysed)
    assert clock.analysis.verdict.label == "Clock"
    assert pizza.network.id == pizza.analysis.id == "pizza-p7-k1"


def test_a_directory_without_networks_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files, problems = network_files([tmp_path / "empty"])
    assert files == []
    assert "holds no network" in str(problems[0])


def test_networks_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert distinct([tmp_path / "file", tmp_path / "link", tmp_path / "x" / ".." / "file"]) == [tmp_path / "file"]
    assert names(["a", "b", "a"], [Path("1"), Path("2"), Path("3")]) == ["a (1)", "b", "a (3)"]
