"""The grid engine on a CPU: strips, and the same bits for any number of threads."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from algophase.core.interrupts import Stopped
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.training.check.gradient_check import compare
from algophase.training.engines import _grid_core as grid_core
from algophase.training.engines import grid
from algophase.training.engines.crew import SECONDS_BETWEEN, Crew, Pace
from algophase.training.engines.grid import GridTransformer
from algophase.training.run.loop import Ensemble, Watch
from algophase.training.run.plan import plan

CPU = torch.device("cpu")
EPOCHS = 12
CASES = {
    "relu": (TaskSettings(11), "relu", "float32"),
    "gelu": (TaskSettings(11), "gelu", "float32"),
    "equals sign": (TaskSettings(11, equals_sign=True), "relu", "float32"),
    "separate vocabularies": (TaskSettings(11, separate_vocabularies=True), "gelu", "float32"),
    "float64": (TaskSettings(11), "relu", "float64"),
}


@pytest.fixture(autouse=True)
def many_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a large network has: strips of two or three values of b, a part per network, two of
    these at once.
    """
    monkeypatch.setattr(grid_core, "STRIP_BYTES", 2 * 11 * 112 * 4)
    monkeypatch.setattr(grid, "SMALL", 1.0)
    monkeypatch.setattr(grid, "AT_ONCE", 2)


def runs(case: str, count: int) -> list[RunSettings]:
    task, activation, _ = CASES[case]
    training = TrainingSettings(epochs=EPOCHS)
    return [
        RunSettings(task, TransformerSettings(24, 1, 4, activation, (i + 1) / 3), training, seed=i)
        for i in range(count)
    ]


def ensemble(case: str, count: int, threads: int) -> Ensemble:
    (group,) = plan(runs(case, count), "grid", "cpu", CASES[case][2], ensemble_size=count)
    made = Ensemble(group, Watch(5))
    assert isinstance(made.engine, GridTransformer)
    made.engine.crew = Crew(threads)
    assert len(made.engine.grid.strips) >= 4
    return made


def state(trained: Ensemble) -> list[Tensor]:
    return [value.clone() for value in trained.checkpoint().tensors.values()]


@pytest.mark.parametrize("case", CASES)
def test_strips_give_the_right_gradient(case: str) -> None:
    where, error, _ = compare(GridTransformer, runs(case, 3), CPU, "float64")
    assert error < 1e-11, where


@pytest.mark.parametrize("equals_sign", [False, True])
def test_strips_without_a_training_pair(equals_sign: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_core, "STRIP_BYTES", 1)
    run = RunSettings(
        TaskSettings(11, training_fraction=0.05, equals_sign=equals_sign), TransformerSettings(24)
    )
    engine = GridTransformer([run], CPU, "float64")
    ((_, _, strips),) = engine.networks
    assert 0 in [len(pairs.numbers) for pairs in strips]
    where, error, _ = compare(GridTransformer, [run], CPU, "float64")
    assert error < 1e-11, where


@pytest.mark.parametrize("case", CASES)
def test_the_bits_do_not_depend_on_the_number_of_threads(case: str) -> None:
    for count in (1, 3):
        alone = ensemble(case, count, 1)
        alone.train()
        for threads in (2, 3):
            shared = ensemble(case, count, threads)
            shared.train()
            assert all(map(torch.equal, state(alone), state(shared)))


def test_the_bits_do_not_depend_on_when_the_number_of_threads_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = ensemble("relu", 1, 1)
    alone.train()
    changing = ensemble("relu", 1, 3)
    numbers = iter([3, 1, 2, 1, 3, 2] * EPOCHS)

    def note(pace: Pace, seconds: float, epochs: int) -> None:
        pace.crew.count = next(numbers)

    monkeypatch.setattr(Pace, "note", note)
    changing.train()
    assert all(map(torch.equal, state(alone), state(changing)))


def test_an_interrupted_training_goes_on_to_the_bit_with_other_threads() -> None:
    whole = ensemble("relu", 2, 1)
    whole.train()
    first = ensemble("relu", 2, 3)

    def press(trained: Ensemble) -> None:
        if trained.epoch >= 5:
            raise KeyboardInterrupt

    with pytest.raises(Stopped):
        first.train(progress=press)
    second = ensemble("relu", 2, 2)
    second.restore(first.checkpoint())
    assert 0 < second.epoch < EPOCHS
    second.train()
    assert all(map(torch.equal, state(whole), state(second)))


def test_it_leaves_pytorch_its_threads(two_threads: None) -> None:
    ensemble("relu", 2, 2).train()
    assert torch.get_num_threads() == 2


def test_ensembles_in_inference_mode() -> None:
    with torch.inference_mode():
        inside = ensemble("relu", 1, 2)
        inside.train()
    outside = ensemble("relu", 1, 2)
    outside.train()
    assert all(map(torch.equal, state(inside), state(outside)))


def test_what_it_returns_may_be_changed_outside_inference_mode() -> None:
    engine = GridTransformer(runs("relu", 2), CPU, "float32")
    for found in (engine.loss_and_gradient(), *engine.all_pairs()):
        found.zero_()


def note(pace: Pace, per_epoch: dict[int, float], seconds: float) -> Iterator[int]:
    """The numbers of threads that work while so many seconds of training pass."""
    while seconds > 0:
        epochs = pace.epochs(50)
        took = epochs * per_epoch[pace.crew.count]
        yield pace.crew.count
        pace.note(took, epochs)
        seconds -= took


def settled(pace: Pace, per_epoch: dict[int, float]) -> int:
    used = list(note(pace, per_epoch, 6 * SECONDS_BETWEEN))
    return max(set(used), key=used.count)


def test_fewer_threads_work_while_more_would_be_slower() -> None:
    quiet, busy = {1: 0.020, 2: 0.012, 3: 0.009, 4: 0.008}, {1: 0.020, 2: 0.022, 3: 0.030, 4: 0.060}
    for limit in (2, 4):
        pace = Pace(Crew(limit))
        assert settled(pace, quiet) == limit
        assert settled(pace, busy) == 1
        assert settled(pace, quiet) == limit


def test_one_thread_is_never_changed() -> None:
    pace = Pace(Crew(1))
    assert set(note(pace, {1: 0.01}, 100)) == {1}
