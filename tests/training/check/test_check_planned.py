"""The check before training on a GPU: what it checks, where, and what it says. Its process is
the same for a CPU.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.training.check import check_planned as checking
from algophase.training.check import checkers, remembered
from algophase.training.check.check_planned import check_planned
from algophase.training.run.plan import PlannedEnsemble

GPU = torch.device("cuda", 0)


def on_gpu(*widths: int, engine: str = "stacked", precision: str = "tf32") -> PlannedEnsemble:
    runs = tuple(
        RunSettings(TaskSettings(7), TransformerSettings(width), seed=seed)
        for seed, width in enumerate(widths)
    )
    return PlannedEnsemble(tuple(range(len(runs))), runs, engine, GPU, precision)


def job(width: int, engine: str = "grid", precision: str = "float32") -> dict[str, Any]:
    run = RunSettings(TaskSettings(7), TransformerSettings(width))
    return {"run": run.to_dict(), "engine": engine, "device": "cpu", "precision": precision}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, list[int]]:
    """The widths that are checked: in this process, or at once in others."""
    found: dict[str, list[int]] = {"here": [], "at once": []}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(remembered, "about_device", lambda device: {"card": "NVIDIA H200"})

    def width(one: dict[str, Any]) -> int:
        return one["run"]["network"]["width"]

    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(checking, "_check", lambda one: found["here"].append(width(one)))
    monkeypatch.setattr(
        checking, "_check_at_once", lambda jobs, _: found["at once"].extend(map(width, jobs))
    )
    return found


def test_every_shape_is_checked_once_and_the_largest_first(asked: dict[str, list[int]]) -> None:
    check_planned(
        [on_gpu(12, 16), on_gpu(16, 16), on_gpu(60), on_gpu(400), on_gpu(200, precision="float32")]
    )
    assert asked == {"here": [], "at once": [400, 200, 60, 16]}


def test_few_shapes_are_checked_here_and_the_process_that_waits_is_ended(
    asked: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []
    monkeypatch.setattr(checkers, "dismiss", lambda: ended.append(True))
    check_planned([on_gpu(12), on_gpu(200), on_gpu(64, engine="plain")])
    assert asked == {"here": [200, 12], "at once": []}
    assert ended


def test_what_passed_is_remembered_until_something_changes(
    asked: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="algophase")
    check_planned([on_gpu(12)])
    assert caplog.text == ""
    check_planned([on_gpu(12)])
    assert asked["here"] == [12]
    assert "gradients of 1 shape were right in an earlier check" in caplog.text
    check_planned([on_gpu(12)], again=True)
    check_planned([on_gpu(12, precision="float32")])
    check_planned([on_gpu(200)])
    assert asked["here"] == [12, 12, 12, 200]
    for name, changed in (
        ("about_device", lambda device: {"card": "NVIDIA H100"}),
        ("source_digest", lambda *folders: "another"),
    ):
        monkeypatch.setattr(remembered, name, changed)
        check_planned([on_gpu(12)])
    assert asked["here"] == [12, 12, 12, 200, 12, 12]


def test_what_failed_is_not_remembered(
    asked: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(one: dict[str, Any]) -> None:
        raise InputError("wrong")

    with monkeypatch.context() as patched:
        patched.setattr(checking, "_check", fail)
        with pytest.raises(InputError, match="wrong"):
            check_planned([on_gpu(12)])
    check_planned([on_gpu(12)])
    assert asked["here"] == [12]


NO_HOME = RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("where", ["no home", "a name that no file can have"])
def test_what_cannot_be_read_or_written_is_checked_again(
    asked: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str
) -> None:
    def no_home() -> Path:
        raise NO_HOME

    if where == "no home":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", no_home)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("a" * 300)))
    check_planned([on_gpu(12)])
    check_planned([on_gpu(12)])
    assert asked["here"] == [12, 12]


def test_nothing_is_written_where_nothing_was_checked(
    asked: dict[str, list[int]], tmp_path: Path
) -> None:
    check_planned([on_gpu(12, engine="plain")])
    assert asked["here"] == []
    assert list(tmp_path.iterdir()) == []


def test_no_process_is_started_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def start() -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(checkers, "_start", start)
    monkeypatch.setattr(checkers, "GPUS", (str(tmp_path / "none"),))
    checkers.start_early()
    checkers.dismiss()


@pytest.fixture
def started_early(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checkers, "GPUS", (str(tmp_path),))
    monkeypatch.setattr(checking, "_warm_up", lambda _: None)
    checkers.start_early()
    checkers.start_early()
    assert len(checkers._ready) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("started_early")
def test_a_process_started_early_checks_and_says_what_is_wrong() -> None:
    (early,) = checkers._ready
    checking._check_at_once([job(8), job(12), job(8, "stacked")], torch.device("cpu"))
    assert early.poll() == 0
    with pytest.raises(InputError, match="precision is 'tf32'; this engine has half"):
        checking._check_at_once([job(8), job(12, "fused", "tf32")], torch.device("cpu"))
    with pytest.raises(InputError, match="KeyError: 'warp'"):
        checking._check_at_once([job(8, "warp")], torch.device("cpu"))


@pytest.mark.slow
@pytest.mark.usefixtures("started_early")
def test_a_process_nobody_needs_is_ended_or_ends_itself() -> None:
    (first,) = checkers._ready
    checkers.dismiss()
    assert first.poll() is not None
    second = checkers.take()
    found, errors = second.communicate()  # closes its input, as the end of its parent does
    assert (second.returncode, found, errors) == (0, "", "")
