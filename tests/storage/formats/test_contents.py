"""A file is opened once, its JSON is parsed once, and each format is asked once about it."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from algophase import (
    LinearSettings,
    RunSettings,
    TaskSettings,
    analyze,
    handmade_clock,
    initialize,
    load,
    save,
    wrap,
)
from algophase.networks import Network
from algophase.storage import id_of, load_file
from algophase.storage.analyses import Analyzed, analyze_files
from algophase.storage.formats import find
from algophase.storage.formats.contents import Contents, NetworkFile
from algophase.storage.hub import from_pretrained

P, WIDTH = 7, 6
_watched: list[Counter[str]] = []


def _count_opened(event: str, arguments: tuple[Any, ...]) -> None:
    # A number is a file that is open already.
    if event == "open" and _watched and not isinstance(arguments[0], int):
        _watched[-1][Path(str(arguments[0])).name] += 1


sys.addaudithook(_count_opened)  # hears of every file that Python opens, however it is opened


@contextmanager
def opened_files() -> Iterator[Counter[str]]:
    """How often each file was opened, by its name."""
    _watched.append(Counter())
    try:
        yield _watched[-1]
    finally:
        _watched.pop()


class Counts:
    """Calls of json.loads, and of each format's `fits` and `read`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = Counter[str]()
        monkeypatch.setattr(json, "loads", self._counted("json", json.loads))
        counted = {}
        for name, known in find.formats().items():
            fits = self._counted(f"{name}: fits", known.fits)
            read = self._counted(f"{name}: read", known.read)
            counted[name] = replace(known, fits=fits, read=read)
        monkeypatch.setattr(find, "formats", lambda: counted)

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return function(*arguments, **options)

        return call

    def fitting(self) -> list[str]:
        """Formats that were asked, in the order of their first question."""
        return [name.removesuffix(": fits") for name in self.calls if name.endswith(": fits")]


def numbers(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator)


def our_file(folder: Path) -> Path:
    return save(handmade_clock(P, (1,)), folder / "clock")


def function_file(folder: Path) -> Path:
    logits = torch.eye(P, dtype=torch.float64)
    return save(wrap(lambda a, b: logits[(a + b) % P], P), folder / "function")


def released_file(folder: Path) -> Path:
    run = RunSettings(TaskSettings(P), LinearSettings("beta", WIDTH, 5))
    config = {"model_type": "B", "C": P, "d_model": WIDTH, "d_hidden": 5, "frac": 0.8}
    (folder / "config_x.json").write_text(json.dumps({**config, "runid": "x"}))
    torch.save(initialize(run).state_dict(), folder / "model_x.pt")
    return folder / "model_x.pt"


def foreign_tensors() -> dict[str, torch.Tensor]:
    return {"W_x": numbers(P, WIDTH), "W_y": numbers(P, WIDTH), "W_U": numbers(WIDTH, P)}


def foreign_file(folder: Path) -> Path:
    torch.save(foreign_tensors(), folder / "product.pt")
    return folder / "product.pt"


def old_file(folder: Path) -> Path:
    path = folder / "old.pth"
    torch.save(foreign_tensors(), path, _use_new_zipfile_serialization=False)
    return path


def foreign_safetensors(folder: Path) -> Path:
    path = folder / "product.safetensors"
    safetensors.torch.save_file(foreign_tensors(), path)
    path.with_suffix(".json").write_text('{"note": "of another program"}')
    return path


# A file of each kind: its format, and how often JSON is parsed: the description, and the header of
# a safetensors file.
KINDS = {
    "ours": (our_file, "algophase", 2),
    "function": (function_file, "algophase", 2),
    "released": (released_file, "released", 1),
    "foreign": (foreign_file, "concatenated-mlp", 0),
    "old": (old_file, "concatenated-mlp", 0),
    "foreign safetensors": (foreign_safetensors, "concatenated-mlp", 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_opened_parsed_and_recognized_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, format_name, parses = KINDS[kind]
    path = write(tmp_path)
    load(path)  # what is imported on the way is opened now
    counts = Counts(monkeypatch)
    file = NetworkFile(path)
    with opened_files() as opened:
        network_id = id_of(file)  # first, as `analyze` asks for many files
        network = load_file(file)
    assert network.id == network_id
    names = sorted(entry.name for entry in tmp_path.iterdir())
    assert opened == Counter(names)
    assert counts.calls["json"] == parses
    asked = counts.fitting()
    assert asked[-1] == format_name  # and none after it
    assert [counts.calls[f"{name}: fits"] for name in asked] == [1] * len(asked)
    assert [name for name in counts.calls if name.endswith("read")] == [f"{format_name}: read"]
    assert counts.calls[f"{format_name}: read"] == 1


def test_many_files_are_each_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [our_file(tmp_path), released_file(tmp_path)]
    copy = save(handmade_clock(P, (1,)), tmp_path / "more" / "copy")
    counts = Counts(monkeypatch)
    with opened_files() as opened:
        outcomes = list(analyze_files([*files, copy]))
    assert all(isinstance(outcome, Analyzed) for outcome in outcomes)
    written = [entry.name for entry in tmp_path.rglob("*") if entry.is_file()]
    assert {name: opened[name] for name in written} == dict.fromkeys(written, 1)
    assert counts.calls["json"] == 2 + 1 + 2
    names = [outcome.name for outcome in outcomes if isinstance(outcome, Analyzed)]
    assert names == [f"clock-p7-k1 ({files[0]})", "x", f"clock-p7-k1 ({copy})"]


def test_a_directory_for_the_hub_is_opened_once(tmp_path: Path) -> None:
    network = handmade_clock(P, (1,))
    save(network, tmp_path / "model")
    (tmp_path / "model.json").rename(tmp_path / "config.json")
    with opened_files() as opened:
        loaded = from_pretrained(tmp_path)
    assert loaded.id == network.id
    assert opened == Counter(["model.safetensors", "config.json"])


def test_a_format_may_be_asked_about_a_path(tmp_path: Path) -> None:
    contents = Contents(foreign_file(tmp_path))
    assert contents.id == "product"
    assert contents.shape("W_U") == (WIDTH, P)
    assert contents.shape("W") == ()


def test_saving_runs_no_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network: Network = wrap(torch.nn.Sequential(torch.nn.Linear(2 * P, P)), P)
    analysis = analyze(network)

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("it was analyzed")

    for name in ("analyze", "analyze_subject", "analyze_many"):
        monkeypatch.setattr(f"algophase.analysis.analyze.{name}", fail, raising=False)
    path = save(network, tmp_path / "module", analysis=analysis)
    monkeypatch.undo()
    assert analyze(load(path)).to_dict() == analysis.to_dict()
