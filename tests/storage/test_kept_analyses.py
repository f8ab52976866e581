"""Analyses are kept by what they are analyses of."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from algophase import Quantity, analyze, handmade_clock, handmade_pizza, load, register, save, wrap
from algophase.analysis.catalogue import unregister
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.caches import cache_directory
from algophase.storage import analyses
from algophase.storage.analyses import Analyzed, analyze_files
from algophase.storage.kept_analyses import CODE, KeptAnalyses, network_digest


@pytest.fixture
def networks(tmp_path: Path) -> list[Path]:
    clock, pizza = handmade_clock(11, (1, 3)), handmade_pizza(11, (1, 3))
    return [save(clock, tmp_path / "clock"), save(pizza, tmp_path / "pizza")]


def test_what_was_analyzed_is_not_analyzed_again(
    networks: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = list(analyze_files(networks, kept=KeptAnalyses(tmp_path / "kept")))
    monkeypatch.delattr(analyses, "analyze")
    again = list(analyze_files(networks, kept=KeptAnalyses(tmp_path / "kept")))
    for before, after in zip(first, again, strict=True):
        assert isinstance(before, Analyzed)
        assert isinstance(after, Analyzed)
        assert (before.was_kept, after.was_kept) == (False, True)
        assert after.analysis.to_dict() == before.analysis.to_dict()


def test_a_copy_is_recognized_and_has_its_own_name(networks: list[Path], tmp_path: Path) -> None:
    kept, network = KeptAnalyses(tmp_path / "kept"), load(networks[0])
    kept.put(network, analyze(network))
    network.id = "another name"
    found = kept.get(network)
    assert found is not None
    assert found.id == "another name"


def test_other_numbers_settings_thresholds_and_metrics_are_another_network(
    networks: list[Path],
) -> None:
    network = load(networks[0])
    digests = [
        network_digest(network),
        network_digest(network, Thresholds(accuracy=0.9)),
        network_digest(load(networks[1])),
    ]
    register(
        Quantity("logit_scale", "logit scale", measure=lambda subject: subject.logits.abs().max())
    )
    try:
        digests.append(network_digest(network))
    finally:
        unregister("logit_scale")
    with torch.no_grad():
        next(iter(network.state_dict().values())).view(-1)[0] += 1e-7
    digests.append(network_digest(network))
    assert len(set(digests)) == len(digests)


def test_a_damaged_file_is_analyzed_again(networks: list[Path], tmp_path: Path) -> None:
    kept, network = KeptAnalyses(tmp_path / "kept"), load(networks[0])
    kept.put(network, analyze(network))
    (file,) = (tmp_path / "kept").iterdir()
    whole = file.read_bytes()
    record = json.loads(gzip.decompress(whole))
    record["analysis"]["verdict"]["label"] = "Pizza"
    for content in (
        b"",
        b"nonsense",
        whole[:-20],
        gzip.compress(b"[]"),
        gzip.compress(json.dumps(record).encode()),
    ):
        file.write_bytes(content)
        assert kept.get(network) is None
    file.write_bytes(whole)
    assert kept.get(network) is not None


def test_a_linear_network_keeps_its_anatomy(tmp_path: Path) -> None:
    kept, network = KeptAnalyses(tmp_path), handmade_pizza(11, (1, 3))
    analysis = analyze(network)
    kept.put(network, analysis)
    again = kept.get(network)
    assert again is not None
    assert again.anatomy is not None
    assert analysis.anatomy is not None
    assert again.to_dict() == analysis.to_dict()
    before, after = analysis.anatomy.pizzas[0].readouts[0], again.anatomy.pizzas[0].readouts[0]
    assert torch.equal(after.values, before.values)


def test_a_network_that_its_numbers_do_not_describe_is_not_kept(tmp_path: Path) -> None:
    kept, network = KeptAnalyses(tmp_path), wrap(lambda a, b: torch.eye(11)[(a + b) % 11], 11)
    kept.put(network, analyze(network))
    assert kept.get(network) is None
    assert not list(tmp_path.iterdir())


def test_a_directory_that_cannot_be_written_costs_one_warning(
    networks: list[Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a directory")
    outcomes = list(analyze_files(networks, kept=KeptAnalyses(tmp_path / "file" / "kept")))
    assert all(isinstance(outcome, Analyzed) for outcome in outcomes)
    assert len([record for record in caplog.records if "not kept" in record.getMessage()]) == 1


def test_a_user_without_a_home_directory_keeps_no_analyses(
    networks: list[Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    kept, network = KeptAnalyses(), load(networks[0])
    assert kept.get(network) is None
    kept.put(network, analyze(network))
    assert "analyses are not kept" in caplog.text
    assert kept.get(network) is None


def test_a_place_that_cannot_be_read_is_an_empty_one(networks: list[Path], tmp_path: Path) -> None:
    kept = KeptAnalyses(tmp_path / ("a" * 300))  # no file has such a name
    assert kept.get(load(networks[0])) is None


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("networks") == tmp_path / "algophase" / "networks"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory("networks") == tmp_path / ".cache" / "algophase" / "networks"


def test_every_folder_that_an_analysis_depends_on_counts() -> None:
    """Otherwise an old analysis would be taken for one of new code, as after a folder is renamed."""
    names = "[name for name in sys.modules if name.startswith('algophase.')]"
    script = f"import sys, algophase.analysis.analyze; print(*{names})"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    folders = {module.split(".")[1] for module in answer.stdout.split()}
    shown_anew = {"pages", "pictures"}  # no number depends on how an analysis is worded or drawn
    assert folders - shown_anew == {*CODE}
