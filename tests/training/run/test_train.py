from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

import algophase
from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.settings import (
    LinearSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.training.engines.grid import GridTransformer
from algophase.training.run import train as training
from algophase.training.run.plan import ENGINES, plan
from algophase.training.run.train import train
from algophase.training.run.turns import threads_for

TASK, SHORT = TaskSettings(modulus=5), TrainingSettings(epochs=6)
RUNS = [
    RunSettings(TASK, TransformerSettings(width=48), SHORT, 0),
    RunSettings(TASK, LinearSettings("alpha", 6, 6), SHORT, 1),
    RunSettings(TASK, TransformerSettings(width=8, attention_rate=0.5), SHORT, 2),
    RunSettings(TASK, TransformerSettings(width=8, layers=2), SHORT, 3),
    RunSettings(TASK, TransformerSettings(width=12), replace(SHORT, epochs=4), 4),
    RunSettings(TASK, TransformerSettings(width=8, attention_rate=0.5), SHORT, 2),  # once more
]


def assert_same_weights(first: algophase.TrainedRun, second: algophase.TrainedRun) -> None:
    """To rounding: on a CPU sums are ordered by where in memory a network lies."""
    assert first.network is not None
    assert second.network is not None
    for name, value in first.network.state_dict().items():
        torch.testing.assert_close(value, second.network.state_dict()[name], rtol=1e-3, atol=1e-5)


def test_outcomes_come_in_the_order_given(said: list[str]) -> None:
    outcomes = algophase.train(RUNS, device="cpu")
    assert [outcome.run for outcome in outcomes] == RUNS
    assert [outcome.engine for outcome in outcomes] == [
        "grid",
        "grid",
        "grid",
        "stacked",
        "grid",
        "grid",
    ]
    assert [outcome.epochs for outcome in outcomes] == [6, 6, 6, 6, 4, 6]
    for outcome in outcomes:
        assert outcome.network is not None
        assert outcome.network.id == outcome.id == outcome.run.run_id
        assert outcome.network.run == outcome.run
        assert (outcome.device, outcome.precision) == ("cpu", "float32")
        assert outcome.seconds > 0
    assert_same_weights(outcomes[2], outcomes[5])
    assert said == [
        "training 5 networks with the grid engine on cpu in float32, in 4 ensembles of at most 2",
        "training 1 network with the stacked engine on cpu in float32",
    ]


def test_small_networks_train_on_one_thread(two_threads: None) -> None:
    seen: list[int] = []
    train(RUNS[:1], device="cpu", progress=lambda progress: seen.append(torch.get_num_threads()))
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2
    (large,) = plan([RunSettings()], device="cpu")
    with threads_for(large):
        assert torch.get_num_threads() == 2
    (small,) = plan(RUNS[:1], device="cpu")
    with pytest.raises(ValueError, match="on the way"), threads_for(small):
        raise ValueError("on the way")
    assert torch.get_num_threads() == 2


def test_nothing_to_train() -> None:
    assert train([]) == []


def test_bad_settings_stop_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object) -> None:
        raise AssertionError("work began")

    monkeypatch.setattr(training, "Ensemble", work)
    for options, message in [
        ({"engine": "warp"}, "engine is 'warp'"),
        ({"device": "moon"}, "device is 'moon'"),
        ({"device": "cpu", "precision": "tf32"}, "precision is 'tf32'"),
        ({"history_stride": -1}, "history_stride is -1"),
        (
            {"snapshot_epochs": (2, 7)},
            "snapshot is asked for at epoch 7; choose epochs from 0 to 6",
        ),
        ({"ensemble_size": -2}, "ensemble_size is -2"),
        ({"engine": "grid"}, "it trains one layer, not 2"),
    ]:
        with pytest.raises(InputError, match=message):
            train(RUNS, **options)  # type: ignore[arg-type]


def test_progress_tells_where_training_stands() -> None:
    seen: list[Progress] = []
    train(RUNS, device="cpu", progress=seen.append, history_stride=2)
    assert [report.ensemble for report in seen] == sorted(report.ensemble for report in seen)
    assert {report.ensembles for report in seen} == {5}
    last = seen[-1]
    assert (last.ensemble, last.epoch, last.seconds_left) == (5, last.epochs, 0)
    for report in seen:
        assert 0 < report.epoch <= report.epochs
        assert report.rate > 0
        assert report.training_loss > 0
        assert 0 <= report.validation_accuracy <= 1


def test_ctrl_c_carries_what_is_finished() -> None:
    def press(progress: Progress) -> None:
        if progress.ensemble == 3:
            raise KeyboardInterrupt

    with pytest.raises(Stopped, match="not saved") as caught:
        train(RUNS, device="cpu", progress=press)
    finished, partial = caught.value.finished, caught.value.partial
    assert [outcome.run.seed for outcome in finished] == [0, 1]
    assert not caught.value.saved
    assert not caught.value.out_of_time
    assert len(partial) == 2
    assert partial[0].run not in [outcome.run for outcome in finished]


def test_a_deadline_stops_training_and_says_so() -> None:
    def late(progress: Progress) -> None:
        raise Stopped("out of time")

    with pytest.raises(Stopped, match=r"training ran out of time at epoch .* not saved") as caught:
        train(RUNS[:1], device="cpu", progress=late)
    assert caught.value.out_of_time
    assert caught.value.epochs == caught.value.partial[0].epochs > 0


class Cramped(GridTransformer):
    """An engine on a machine with room for two networks."""

    room: ClassVar[int] = 2
    error: ClassVar[Exception] = RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        if len(runs) > self.room:
            raise self.error
        super().__init__(runs, device, precision)


@pytest.mark.parametrize(
    "error",
    [RuntimeError("CUDA out of memory."), torch.OutOfMemoryError("out of memory"), MemoryError()],
    ids=repr,
)
def test_an_ensemble_that_does_not_fit_is_halved(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: list[str]
) -> None:
    monkeypatch.setitem(ENGINES, "grid", lambda run: Cramped)
    monkeypatch.setattr(Cramped, "error", error)
    runs = [RunSettings(TASK, TransformerSettings(width=8), SHORT, seed) for seed in range(7)]
    cramped = train(runs, "grid", "cpu")
    assert [outcome.run for outcome in cramped] == runs
    assert [line for line in said if "fit" in line] == [
        "7 networks do not fit into memory: training them 4 at a time",
        "4 networks do not fit into memory: training them 2 at a time",
        "3 networks do not fit into memory: training them 2 at a time",
    ]


def test_one_network_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "grid", lambda run: Cramped)
    monkeypatch.setattr(Cramped, "room", 0)
    with pytest.raises(InputError, match="does not fit into the memory of cpu"):
        train(RUNS[:1], "grid", "cpu")


def test_other_errors_are_not_taken_for_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "grid", lambda run: Cramped)
    monkeypatch.setattr(Cramped, "room", 0)
    monkeypatch.setattr(Cramped, "error", RuntimeError("an illegal instruction"))
    with pytest.raises(RuntimeError, match="illegal"):
        train(RUNS[:1], "grid", "cpu")
