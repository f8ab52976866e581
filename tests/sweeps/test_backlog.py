"""Networks are analyzed while a GPU trains the next ones. Here a CPU pretends to be one."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import kill_sweep
import pytest
import torch
from pretend_gpu import busy_gpu

from algophase.analysis.analyze import analyze_each
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.networks import Network
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps import backlog
from algophase.sweeps.options import Options, in_parts
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Outcome, Request, sweep_here
from algophase.training.run.plan import PlannedEnsemble

TINY = Space.from_dict(
    {
        "name": "tiny",
        "task": {"modulus": 7},
        "network": {"width": {"choice": [8, 12]}, "attention_rate": {"uniform": [0, 1]}},
        "training": {"epochs": 40},
    }
)
FOLLOWED = Options(device="cpu", ensemble_size=2, snapshot_epochs=(5, 15), history_stride=5)


def run(path: Path, report: Callable[[Progress], None] | None = None, **more: object) -> Outcome:
    options = {"options": FOLLOWED, "keep_weights": "all", **more}
    request = Request(TINY, 6, **options)  # type: ignore[arg-type]
    if report is None:
        return sweep_here(request, SweepDirectory(path))
    return sweep_here(request, SweepDirectory(path), report)


@pytest.fixture
def busy() -> Iterator[list[int]]:
    with busy_gpu() as epochs:
        yield epochs


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """The table without anything beside training."""
    outcome = run(tmp_path / "whole")
    assert outcome.beside_seconds == 0
    return tmp_path / "whole"


def test_beside_training_the_table_is_the_same(
    whole: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("busy")
    outcome = run(tmp_path / "beside")
    assert (outcome.ended, outcome.new) == ("complete", 6)
    assert 0 < outcome.beside_seconds < outcome.analysis_seconds
    assert kill_sweep.difference(whole, tmp_path / "beside") is None
    assert not list(tmp_path.rglob(".checkpoints"))


@pytest.mark.usefixtures("busy")
def test_snapshots_are_analyzed_before_their_ensemble_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def noting(networks: Sequence[Network], **options: object) -> object:
        calls.append([network.id for network in networks])
        return analyze_each(networks, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(backlog, "analyze_each", noting)
    run(tmp_path)
    snapshots, rest = calls[0], calls[-1]
    assert [name.partition(".")[2] for name in snapshots] == ["epoch5", "epoch5"]
    assert all("epoch5" not in name for name in rest)
    every = [name for call in calls for name in call]
    assert len(every) == len(set(every)) == 18  # each once: six runs, two snapshots and the end


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (256, [256]), (600, [200, 200, 200])])
def test_large_ensembles_of_a_gpu_are_parted_where_that_changes_no_bit(
    count: int, sizes: list[int]
) -> None:
    members = [TINY.run(index) for index in range(count)]
    whole = PlannedEnsemble(
        tuple(range(count)), tuple(members), "fused", torch.device("cuda"), "half"
    )
    parts = in_parts(whole)
    assert [len(part.runs) for part in parts] == sizes
    assert [run for part in parts for run in part.runs] == members
    assert [index for part in parts for index in part.indices] == list(range(count))
    stacked = replace(whole, engine="stacked")
    assert in_parts(stacked) == [stacked]


@pytest.mark.usefixtures("busy")
def test_options_can_forbid_it(tmp_path: Path) -> None:
    alone = replace(FOLLOWED, analyze_beside=False)
    assert run(tmp_path, options=alone).beside_seconds == 0


def test_a_gpu_that_is_too_small_does_it_after_training(
    whole: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request.getfixturevalue("busy")
    calls = 0
    step = backlog._Findings.step

    def without_memory(findings: backlog._Findings) -> bool:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise RuntimeError("CUDA out of memory. Tried to allocate 3.58 GiB")
        return step(findings)

    monkeypatch.setattr(backlog._Findings, "step", without_memory)
    assert run(tmp_path / "small").ended == "complete"
    assert kill_sweep.difference(whole, tmp_path / "small") is None


def test_after_an_error_in_an_analysis_nothing_is_recorded_without_one(
    whole: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request.getfixturevalue("busy")

    def fail_at_the_last(networks: Sequence[Network], **options: object) -> object:
        for network in networks[:-1]:
            yield from analyze_each([network], **options)  # type: ignore[arg-type]
        raise RuntimeError("an error of ours")

    with monkeypatch.context() as patch:
        patch.setattr(backlog, "analyze_each", fail_at_the_last)
        with pytest.raises(RuntimeError, match="an error of ours"):
            run(tmp_path / "failed")
    assert not SweepDirectory(tmp_path / "failed").finished()
    assert run(tmp_path / "failed").new == 6
    assert kill_sweep.difference(whole, tmp_path / "failed") is None


def test_after_ctrl_c_what_is_trained_is_recorded_and_the_rest_continues(
    whole: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("busy")
    late = SweepDirectory(tmp_path / "late")

    middles = 0

    def press(progress: Progress) -> None:
        nonlocal middles
        middles += progress.epoch == 20
        if middles == 2:  # in the middle of the second of three ensembles
            os.kill(os.getpid(), signal.SIGINT)

    first = run(late.path, press)
    assert (first.ended, first.new) == ("interrupted", 2)
    second = run(late.path)
    assert (second.ended, second.new) == ("complete", 4)
    assert kill_sweep.difference(whole, late.path) is None


def test_what_could_not_be_saved_at_first_is_saved_whole(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full for a moment: the networks that are kept are the same."""
    run(tmp_path / "undisturbed", keep_weights=1)
    request.getfixturevalue("busy")
    add = SweepDirectory.add
    calls = 0

    def refuse_once(directory: SweepDirectory, *shard: Any) -> Path:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise InputError("no space left on the disk")
        return add(directory, *shard)

    monkeypatch.setattr(SweepDirectory, "add", refuse_once)
    with pytest.raises(InputError, match="no space left"):
        run(tmp_path / "disturbed", keep_weights=1)
    run(tmp_path / "disturbed", keep_weights=1)
    difference = kill_sweep.difference(tmp_path / "undisturbed", tmp_path / "disturbed")
    assert difference is None


def test_what_could_not_be_saved_keeps_its_checkpoint(
    whole: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request.getfixturevalue("busy")
    full = SweepDirectory(tmp_path / "full")
    often = replace(FOLLOWED, checkpoint_seconds=1e-6)

    def refuse(*_: object, **__: object) -> Path:
        raise InputError("no space left on the disk")

    with monkeypatch.context() as patch:
        patch.setattr(SweepDirectory, "add", refuse)
        with pytest.raises(InputError, match="no space left"):
            run(full.path, options=often)
    assert full.checkpoints().pending()
    assert run(full.path, options=often).new == 6
    assert kill_sweep.difference(whole, full.path) is None
