"""Training given runs into a directory; tests/cli/test_cli_train.py has the command's."""

from dataclasses import replace
from pathlib import Path

import kill_sweep
import pytest

from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.runs.runs import Runs
from algophase.storage import find_networks, load
from algophase.storage.identity import holds_given_runs
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.given_runs import read_trained, train_into
from algophase.sweeps.options import Options
from algophase.sweeps.retrain import retrain
from algophase.training.run.loop import EarlyStop
from algophase.training.run.train import train

RUNS = [
    RunSettings(
        TaskSettings(7),
        TransformerSettings(8),
        TrainingSettings(epochs=12, learning_rate=rate),
        seed,
    )
    for seed, rate in enumerate((1e-3, 1e-3, 1e30))
]
OPTIONS = Options(device="cpu", history_stride=4, snapshot_epochs=(5,), histories=True)


def test_it_holds_the_networks_histories_and_snapshots_that_train_gives(tmp_path: Path) -> None:
    outcome = train_into(tmp_path, RUNS[:2], OPTIONS)
    assert (outcome.ended, outcome.new) == ("complete", 2)
    assert holds_given_runs(tmp_path)
    expected = train(RUNS[:2], device="cpu", history_stride=4, snapshot_epochs=(5,))
    for saved, trained in zip(read_trained(tmp_path, RUNS[:2]), expected, strict=True):
        assert trained.network is not None
        assert saved.file is not None
        assert saved.run == trained.run
        assert saved.row["weights_digest"] == trained.network.weights_digest()
        assert load(saved.file).weights_digest() == trained.network.weights_digest()
        history = trained.history.to_dict()
        assert {name: saved.row[f"history.{name}"] for name in history} == history
        snapshot = load(saved.file.with_name(f"{saved.run.run_id}.epoch5.safetensors"))
        assert snapshot.weights_digest() == trained.snapshots[5].weights_digest()
        assert list(saved.along()) == [5, 12]
        assert saved.analysis is not None
    assert len(find_networks(tmp_path)) == 4
    restored = retrain(tmp_path, 1, force=True)
    assert restored.made is not None
    assert restored.made.difference.same


def test_what_is_there_is_not_trained_again(tmp_path: Path, said: list[str]) -> None:
    train_into(tmp_path, RUNS[:1], OPTIONS)
    reports = list[Progress]()
    train_into(tmp_path, [RUNS[1], RUNS[0]], OPTIONS, reports.append)
    assert {report.networks for report in reports} == {0, 1}
    assert f"1 of 2 runs are in {tmp_path} already" in said
    table = Runs.read(tmp_path)  # in the order in which they were asked for
    assert table["run_id"].tolist() == [RUNS[0].run_id, RUNS[1].run_id]
    assert table["index"].tolist() == [0, 1]
    said.clear()
    assert train_into(tmp_path, RUNS[:2], OPTIONS).new == 0
    assert said == [f"2 of 2 runs are in {tmp_path} already"]
    with pytest.raises(InputError, match="engine is 'warp'"):  # though nothing is left to train
        train_into(tmp_path, RUNS[:2], replace(OPTIONS, engine="warp"))


def test_a_run_that_lacks_what_is_asked_for_is_named(tmp_path: Path) -> None:
    train_into(tmp_path, RUNS, OPTIONS)
    run_id = RUNS[0].run_id
    with pytest.raises(InputError, match=f"run {run_id} was trained without a snapshot at epoch 7"):
        train_into(tmp_path, RUNS[:1], replace(OPTIONS, snapshot_epochs=(5, 7)))
    more = [*RUNS, replace(RUNS[0], seed=9)]
    without = replace(OPTIONS, snapshot_epochs=())  # others may be followed in another way
    assert train_into(tmp_path, more, without).new == 1
    at_the_end = replace(OPTIONS, snapshot_epochs=(5, 12))  # the end is the network itself
    assert train_into(tmp_path, RUNS, at_the_end).new == 0


def test_a_run_that_stopped_early_is_there_for_who_stops_as_early(
    tmp_path: Path, said: list[str]
) -> None:
    rule = EarlyStop(10.0, 1)
    early = Options(device="cpu", history_stride=4, early_stop=rule, histories=True)
    run = replace(RUNS[0], task=TaskSettings(7, training_fraction=1.0))
    train_into(tmp_path, [run], early)
    (saved,) = read_trained(tmp_path, [run])
    assert saved.epochs < 12
    assert train_into(tmp_path, [run], replace(early, early_stop=EarlyStop(11.0, 1))).new == 0
    restored = retrain(tmp_path, 0, force=True)
    assert not restored.as_before
    assert any(f"stopped early, after {saved.epochs} epochs" in line for line in said)
    for stricter in (EarlyStop(9.0, 1), EarlyStop(10.0, 2), None):
        with pytest.raises(InputError, match="stopped early at epoch"):
            train_into(tmp_path, [run], replace(early, early_stop=stricter))


def test_a_deadline_leaves_a_checkpoint_that_the_same_call_continues(
    tmp_path: Path, said: list[str]
) -> None:
    def late(progress: Progress) -> None:
        if progress.epoch:
            raise Stopped("out of time")

    stopped = train_into(tmp_path / "late", RUNS[:2], OPTIONS, late)
    assert (stopped.ended, stopped.new) == ("out of time", 0)
    assert stopped.epoch > 0
    train_into(tmp_path / "late", RUNS[:2], OPTIONS)
    assert any(line.startswith("continuing 2 networks at epoch ") for line in said)
    assert not (tmp_path / "late" / ".checkpoints").exists()
    train_into(tmp_path / "straight", RUNS[:2], OPTIONS)
    assert kill_sweep.difference(tmp_path / "straight", tmp_path / "late") is None


def test_without_an_analysis_there_are_networks_and_histories(tmp_path: Path) -> None:
    train_into(tmp_path, RUNS[:1], replace(OPTIONS, analysis=False))
    (saved,) = read_trained(tmp_path, RUNS[:1])
    assert saved.analysis is None
    assert saved.along() == {}
    assert saved.row["history.epochs"] == [0, 4, 5, 8, 12]
    assert len(find_networks(tmp_path)) == 2


def test_a_run_that_diverged_is_there(tmp_path: Path) -> None:
    train_into(tmp_path, RUNS[2:], OPTIONS)
    (saved,) = read_trained(tmp_path, RUNS[2:])
    assert saved.diverged_at == 2
    assert saved.analysis is None
    assert train_into(tmp_path, RUNS[2:], OPTIONS).new == 0


def test_a_sweep_of_a_space_takes_no_given_runs(tmp_path: Path) -> None:
    space = {"name": "tiny", "network": {"kind": "transformer"}}
    directory = SweepDirectory(tmp_path)
    with directory.hold("a test"):
        directory.describe(space, 0)
        (tmp_path / ".checkpoints").mkdir()
    with pytest.raises(InputError, match="holds a sweep of space tiny with seed 0"):
        train_into(tmp_path, RUNS, OPTIONS)
    assert not holds_given_runs(tmp_path)
    assert read_trained(tmp_path / "absent", RUNS) == []
