"""Training into a directory from Python; tests/cli/test_cli_train.py has the command's."""

import json
from pathlib import Path

import pytest

from algophase.errors import InputError
from algophase.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.storage.trained_runs import CHECKPOINTS, load_run, run_dynamics, train_into
from algophase.training.loop import Watch
from algophase.training.trained import OutOfTime, Progress, TrainingInterrupted

RUNS = [
    RunSettings(TaskSettings(7), TransformerSettings(8), TrainingSettings(epochs=12, learning_rate=rate), seed)
    for seed, rate in enumerate((1e-3, 1e-3, 1e30))
]
WATCH = Watch(snapshot_epochs=(5,))


def test_what_is_there_is_not_trained_again(tmp_path: Path, said: list[str]) -> None:
    train_into(tmp_path, RUNS[:1], device="cpu", watch=WATCH)
    seen = list[Progress]()
    train_into(tmp_path, RUNS[:2], device="cpu", watch=WATCH, progress=seen.append)
    assert {progress.networks for progress in seen} == {1}
    assert f"1 of 2 networks are in {tmp_path} already" in said
    assert load_run(RUNS[1], tmp_path).run == RUNS[1]
    said.clear()
    train_into(tmp_path, RUNS[:2], device="cpu", watch=WATCH)
    assert said == [f"2 of 2 networks are in {tmp_path} already"]
    with pytest.raises(InputError, match="engine is 'warp'"):  # though nothing is left to train
        train_into(tmp_path, RUNS[:2], "warp", "cpu", watch=WATCH)


def test_a_deadline_leaves_a_checkpoint_that_the_same_call_continues(tmp_path: Path, said: list[str]) -> None:
    def late(progress: Progress) -> None:
        raise OutOfTime

    with pytest.raises(TrainingInterrupted) as caught:
        train_into(tmp_path, RUNS[:2], device="cpu", progress=late)
    assert caught.value.saved
    assert caught.value.out_of_time
    assert (tmp_path / CHECKPOINTS).is_dir()
    train_into(tmp_path, RUNS[:2], device="cpu")
    assert any(line.startswith("continuing 2 networks at epoch ") for line in said)
    assert not (tmp_path / CHECKPOINTS).exists()


def test_a_run_that_diverged_has_no_network_to_load(tmp_path: Path) -> None:
    train_into(tmp_path, RUNS[2:], device="cpu")
    with pytest.raises(InputError, match="diverged at epoch 2"):
        load_run(RUNS[2], tmp_path)


def test_snapshots_are_analysed_into_a_file(tmp_path: Path) -> None:
    train_into(tmp_path, RUNS[:1], device="cpu", watch=WATCH)
    (moment,) = run_dynamics(RUNS[0], tmp_path, (5, 9))
    assert moment.epoch == 5
    assert json.loads((tmp_path / f"{RUNS[0].run_id}.dynamics.json").read_text()) == [moment.to_dict()]
