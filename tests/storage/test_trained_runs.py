"""Training into a directory from Python; tests/cli/test_cli_train.py has the command's."""

import json
import re
from pathlib import Path

import pytest

from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.storage.checkpoints import DirectoryCheckpoints
from algophase.storage.files import write_atomically
from algophase.storage.trained_runs import CHECKPOINTS, load_run, run_dynamics, train_into
from algophase.training.run.loop import Watch

RUNS = [
    RunSettings(
        TaskSettings(7),
        TransformerSettings(8),
        TrainingSettings(epochs=12, learning_rate=rate),
        seed,
    )
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


def test_a_deadline_leaves_a_checkpoint_that_the_same_call_continues(
    tmp_path: Path, said: list[str]
) -> None:
    def late(progress: Progress) -> None:
        raise Stopped("out of time")

    with pytest.raises(Stopped) as caught:
        train_into(tmp_path, RUNS[:2], device="cpu", progress=late)
    assert caught.value.saved
    assert caught.value.out_of_time
    assert (tmp_path / CHECKPOINTS).is_dir()
    train_into(tmp_path, RUNS[:2], device="cpu")
    assert any(line.startswith("continuing 2 networks at epoch ") for line in said)
    assert not (tmp_path / CHECKPOINTS).exists()


class Killed(BaseException):
    pass


def contents(directory: Path) -> dict[str, bytes]:
    """Every file but for the seconds that a history names."""
    found = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }
    return {name: re.sub(rb'"seconds": [^,]*,', b"", content) for name, content in found.items()}


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize(
    "error", [Killed(), InputError("No space left on device")], ids=["killed", "full disk"]
)
def test_stopped_at_a_file_of_an_ensemble_it_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, *, interrupted: bool
) -> None:
    straight, count = tmp_path / "straight", 0
    train_into(straight, RUNS[:2], device="cpu", watch=WATCH)
    whole = contents(straight)

    def later(progress: Progress) -> None:
        raise Stopped("out of time")

    for stop in range(1, len(whole) + 1, 4):
        out, count = tmp_path / f"stop-{stop}", 0
        if interrupted:
            with pytest.raises(Stopped):
                train_into(out, RUNS[:2], device="cpu", watch=WATCH, progress=later)

        def write(path: Path, *content: bytes, stop: int = stop) -> None:
            nonlocal count
            count += 1
            if count == stop:
                path.with_name(f".{path.name}.abcd_123.partial").write_bytes(b"half")
                raise error
            write_atomically(path, *content)

        seen = list[Progress]()
        with monkeypatch.context() as patch:
            for module in ("network_files", "run_files"):
                patch.setattr(f"algophase.storage.{module}.write_atomically", write)
            with pytest.raises(type(error)):
                train_into(out, RUNS[:2], device="cpu", watch=WATCH)
        train_into(out, RUNS[:2], device="cpu", watch=WATCH, progress=seen.append)
        assert contents(out) == whole
        assert seen == []  # it was trained to its end, and that was saved


def test_a_checkpoint_of_runs_that_are_all_saved_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(DirectoryCheckpoints, "remove", lambda *_: None)  # killed before this
        train_into(tmp_path, RUNS[:2], device="cpu")
    assert (tmp_path / CHECKPOINTS).exists()
    train_into(tmp_path, RUNS[:1], device="cpu")  # others may want the rest of it
    assert (tmp_path / CHECKPOINTS).exists()
    train_into(tmp_path, RUNS[:2], device="cpu")
    assert not (tmp_path / CHECKPOINTS).exists()


def test_without_room_for_the_checkpoint_the_networks_are_still_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    def full(*_: object) -> None:
        raise InputError("cannot write it: No space left on device")

    monkeypatch.setattr(DirectoryCheckpoints, "write", full)
    train_into(tmp_path, RUNS[:1], device="cpu")
    assert load_run(RUNS[0], tmp_path).run == RUNS[0]
    assert any(
        "if saving the networks fails as well, they are trained again" in line for line in said
    )


def test_a_run_that_diverged_has_no_network_to_load(tmp_path: Path) -> None:
    train_into(tmp_path, RUNS[2:], device="cpu")
    with pytest.raises(InputError, match="diverged at epoch 2"):
        load_run(RUNS[2], tmp_path)


def test_snapshots_are_analyzed_into_a_file(tmp_path: Path) -> None:
    train_into(tmp_path, RUNS[:1], device="cpu", watch=WATCH)
    (moment,) = run_dynamics(RUNS[0], tmp_path, (5, 9))
    assert moment.epoch == 5
    assert json.loads((tmp_path / f"{RUNS[0].run_id}.dynamics.json").read_text()) == [
        moment.to_dict()
    ]
