import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.storage import find_networks, load
from algophase.storage.run_files import find_run, history_path, is_complete, network_path, save_run
from algophase.training.run.loop import EarlyStop
from algophase.training.run.train import train
from algophase.training.run.trained import TrainedRun

RUN = RunSettings(TaskSettings(modulus=5), TransformerSettings(width=8), TrainingSettings(epochs=6))


@pytest.fixture(scope="module")
def trained() -> TrainedRun:
    (outcome,) = train([RUN], device="cpu", history_stride=2, snapshot_epochs=(3,))
    return outcome


def test_a_run_is_complete_once_its_history_is_there(trained: TrainedRun, tmp_path: Path) -> None:
    assert not is_complete(RUN, tmp_path)
    save_run(trained, tmp_path)
    assert is_complete(RUN, tmp_path)
    assert is_complete(RUN, tmp_path, snapshot_epochs=(3,))
    assert not is_complete(RUN, tmp_path, snapshot_epochs=(3, 4))
    assert not is_complete(replace(RUN, seed=1), tmp_path)
    found = find_run(RUN, tmp_path)
    assert found is not None
    assert (found.epochs, found.diverged_at) == (6, None)
    assert found.validation_accuracy == trained.history.validation_accuracy[-1]
    assert [load(path).id for path in find_networks(tmp_path)] == [
        f"{RUN.run_id}.epoch3",
        RUN.run_id,
    ]
    history_path(RUN, tmp_path).unlink()
    assert not is_complete(RUN, tmp_path)


def test_a_run_that_stopped_early_is_complete_for_who_stops_as_early(
    trained: TrainedRun, tmp_path: Path
) -> None:
    save_run(replace(trained, epochs=4), tmp_path, EarlyStop(1e-3, 3))
    assert is_complete(RUN, tmp_path, (5,), EarlyStop(1e-3, 3))
    assert is_complete(
        RUN, tmp_path, (5,), EarlyStop(1e-2, 2)
    )  # this one would have stopped before
    assert not is_complete(RUN, tmp_path, (5,), EarlyStop(1e-4, 3))
    assert not is_complete(RUN, tmp_path, (5,), EarlyStop(1e-3, 4))
    assert not is_complete(RUN, tmp_path)


@pytest.mark.parametrize(
    ("loss", "accuracy", "complete"),
    [(1e-4, 1.0, True), (1e-4, np.nan, True), (1e-4, 0.9, False), (1e-2, 1.0, False)],
)
def test_a_history_without_a_rule_is_judged_by_its_last_point(
    trained: TrainedRun, tmp_path: Path, loss: float, accuracy: float, complete: bool
) -> None:
    points = len(trained.history.epochs)
    history = replace(
        trained.history,
        training_loss=np.full(points, loss),
        validation_accuracy=np.full(points, accuracy),
    )
    save_run(replace(trained, epochs=4, history=history), tmp_path)
    path = history_path(RUN, tmp_path)
    data = json.loads(path.read_text())
    assert data.pop("early_stop") is None
    path.write_text(json.dumps(data))  # as it was written before rules were
    assert is_complete(RUN, tmp_path, (), EarlyStop(1e-3)) is complete


def test_a_run_of_all_epochs_is_complete_whatever_the_rule(
    trained: TrainedRun, tmp_path: Path
) -> None:
    save_run(trained, tmp_path)
    assert is_complete(RUN, tmp_path, (), EarlyStop(1e-30))


def test_a_diverged_run_is_complete_with_or_without_a_network(
    trained: TrainedRun, tmp_path: Path
) -> None:
    save_run(replace(trained, network=None, snapshots={}, diverged_at=2), tmp_path)
    assert is_complete(RUN, tmp_path, snapshot_epochs=(3,))
    assert not network_path(RUN, tmp_path).exists()


def test_a_history_that_cannot_be_used_is_one_clear_line(
    trained: TrainedRun, tmp_path: Path
) -> None:
    save_run(trained, tmp_path)
    path = history_path(RUN, tmp_path)
    good = json.loads(path.read_text())
    changes: list[tuple[dict[str, object], str]] = [
        ({"format": "poem"}, "format is 'poem'"),
        ({"version": 2}, "'algophase-history' 2; this program reads"),
        ({"id": "another"}, "id is 'another'"),
        ({"history": {}}, "is not a readable history"),
        ({"early_stop": 3}, "is not a readable history"),
        ({"early_stop": {"training_loss": "x", "points": 3}}, "is not a readable history"),
        ({"early_stop": {"training_loss": -1.0, "points": 3}}, "is not a readable history"),
    ]
    for change, message in changes:
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(InputError, match=message):
            find_run(RUN, tmp_path)
    path.write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        find_run(RUN, tmp_path)
