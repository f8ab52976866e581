import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from textbook import ARCHITECTURES, textbook
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.settings import (
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.task import all_pairs, labels, split, tokens
from algophase.networks import initialize
from algophase.training.run.loop import EarlyStop, Ensemble, Watch
from algophase.training.run.plan import PlannedEnsemble, plan
from algophase.training.run.trained import CURVES, TrainedRun

TRANSFORMER = TransformerSettings(width=12, attention_rate=0.4)


def small(
    network: NetworkSettings = TRANSFORMER, epochs: int = 20, seed: int = 0, **training: float
) -> RunSettings:
    settings = replace(network.published_training(), epochs=epochs, **training)  # type: ignore[arg-type]
    return RunSettings(TaskSettings(modulus=7), network, settings, seed)


def ensemble(
    runs: Sequence[RunSettings],
    engine: str = "auto",
    precision: str = "float32",
    watch: Watch = Watch(5),
) -> Ensemble:
    """All of them in one ensemble, also where a plan would keep different sizes apart."""
    like = plan(runs[:1], engine, "cpu", precision)[0]
    return Ensemble(
        PlannedEnsemble(
            tuple(range(len(runs))), tuple(runs), like.engine, like.device, like.precision
        ),
        watch,
    )


def outcomes(
    runs: Sequence[RunSettings],
    engine: str = "auto",
    precision: str = "float32",
    watch: Watch = Watch(5),
) -> list[TrainedRun]:
    trained = ensemble(runs, engine, precision, watch)
    trained.train()
    return trained.results()


def weights(trained: TrainedRun) -> dict[str, Tensor]:
    assert trained.network is not None
    return dict(trained.network.state_dict())


def assert_same(first: TrainedRun, second: TrainedRun) -> None:
    """Bit for bit."""
    assert first.history.epochs == second.history.epochs
    for name in CURVES:
        np.testing.assert_array_equal(getattr(first.history, name), getattr(second.history, name))
    for name, value in weights(first).items():
        assert torch.equal(value, weights(second)[name]), name


@pytest.mark.parametrize(
    ("engine", "architecture"),
    [
        (e, name)
        for e in ("plain", "stacked", "grid")
        for name in ARCHITECTURES
        if (e, name) != ("grid", "two layers")
    ],
)
def test_the_first_ten_steps_are_the_published_recipe(engine: str, architecture: str) -> None:
    network = ARCHITECTURES[architecture]
    run = small(network, epochs=10)
    trained = ensemble([run], engine, "float64")
    trained.train()
    expected = textbook(run, 10)
    for name, value in trained.engine.export().items():
        torch.testing.assert_close(value[0], expected[name], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("engine", ["stacked", "grid"])
def test_a_network_does_not_depend_on_its_neighbors(engine: str) -> None:
    """Padding and batching change the order of sums on a CPU: equality is to rounding, over
    steps too few to amplify it.
    """
    runs = [
        small(TransformerSettings(width=8 + 4 * i, attention_rate=i / 2), epochs=10, seed=i)
        for i in range(3)
    ]
    together = outcomes(runs, engine, "float64")
    for run, shared in zip(runs, together, strict=True):
        (alone,) = outcomes([run], engine, "float64")
        for name, value in weights(alone).items():
            torch.testing.assert_close(weights(shared)[name], value, rtol=1e-5, atol=1e-7)


def test_history_has_the_start_every_stride_and_the_end() -> None:
    run = small(epochs=12)
    (trained,) = outcomes([run])
    assert trained.history.epochs == (0, 5, 10, 12)
    assert all(getattr(trained.history, name).shape == (4,) for name in CURVES)
    assert all(getattr(trained.history, name).dtype == np.float64 for name in CURVES)
    assert trained.epochs == 12


def test_history_is_measured_on_the_network_itself() -> None:
    run = small(epochs=7, seed=3)
    (trained,) = outcomes([run, small(TransformerSettings(width=16), epochs=7)])[:1]
    assert trained.network is not None
    for point, network in ((0, initialize(run)), (-1, trained.network)):
        logits = network.double()(tokens(run.task, all_pairs(7)))
        losses = torch.nn.functional.cross_entropy(logits, labels(7).flatten(), reduction="none")
        right = (logits.argmax(1) == labels(7).flatten()).double()
        parts, history = split(run.task, run.seed), trained.history
        assert history.training_loss[point] == pytest.approx(
            losses[parts.training].mean().item(), rel=1e-5
        )
        assert history.validation_loss[point] == pytest.approx(
            losses[parts.validation].mean().item(), rel=1e-5
        )
        assert history.training_accuracy[point] == pytest.approx(
            right[parts.training].mean().item()
        )
        assert history.validation_accuracy[point] == pytest.approx(
            right[parts.validation].mean().item()
        )
        norm = torch.cat([value.flatten() for value in network.parameters()]).norm().item()
        assert history.parameter_norm[point] == pytest.approx(norm, rel=1e-6)


def test_without_validation_pairs_validation_is_undefined() -> None:
    run = replace(small(epochs=2), task=TaskSettings(modulus=5, training_fraction=1.0))
    (trained,) = outcomes([run])
    assert np.isnan(trained.history.validation_accuracy).all()
    assert trained.history.to_dict()["validation_loss"] == [None, None]


def test_snapshots_are_the_networks_of_shorter_runs() -> None:
    runs = [small(epochs=9, seed=seed) for seed in (0, 1)]
    trained = outcomes(runs, watch=Watch(100, (4, 0, 9)))
    for outcome in trained:
        assert list(outcome.snapshots) == [0, 4, 9]
        assert outcome.snapshots[4].id == f"{outcome.id}.epoch4"
    shorter = outcomes([replace(run, training=replace(run.training, epochs=4)) for run in runs])
    for long, short in zip(trained, shorter, strict=True):
        for name, value in weights(short).items():
            assert torch.equal(long.snapshots[4].state_dict()[name], value)


def test_where_chunks_end_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    (normal,) = outcomes([small()])
    monkeypatch.setattr("algophase.training.run.loop.CHUNK_SECONDS", 0.0)  # an epoch a chunk
    (single,) = outcomes([small()])
    assert_same(normal, single)


def test_no_epochs_give_the_start() -> None:
    (trained,) = outcomes([small(epochs=0)])
    assert trained.history.epochs == (0,)
    for name, value in initialize(small(epochs=0)).state_dict().items():
        assert torch.equal(weights(trained)[name], value)


@pytest.mark.parametrize("engine", ["grid", "stacked"])
def test_a_network_that_diverges_is_frozen_and_the_others_go_on(
    engine: str, said: list[str]
) -> None:
    runs = [small(seed=0), small(seed=1, learning_rate=1e30), small(seed=2)]
    (group,) = plan(runs, engine, "cpu")
    mixed = Ensemble(group, Watch(5))
    mixed.train()
    first, lost, second = mixed.results()
    # The first update has rate zero, the second is far too long: the loss at epoch 2 is the first
    # that is not finite.
    assert lost.diverged_at == 2
    assert lost.epochs == 2
    assert (
        np.isnan(lost.history.training_loss[1:]).all()
        or not np.isfinite(lost.history.training_loss[1:]).any()
    )
    assert len(said) == 1
    assert f"run {runs[1].run_id} (seed 1) diverged at epoch 2" in said[0]
    calm = outcomes([small(seed=0), small(seed=1), small(seed=2)], engine)
    assert_same(first, calm[0])
    assert_same(second, calm[2])
    assert first.diverged_at is None


def test_divergence_at_the_very_last_update_is_noticed() -> None:
    (trained,) = outcomes([small(epochs=2, learning_rate=1e30)])
    assert trained.diverged_at == 2


def test_early_stop_is_off_unless_asked_for() -> None:
    runs = [
        small(TransformerSettings(width=32), epochs=600, seed=seed, weight_decay=0.0)
        for seed in (0, 1)
    ]
    never = EarlyStop(training_loss=1e-30)
    assert all(
        trained.epochs == 40
        for trained in outcomes(
            [replace_epochs(run, 40) for run in runs], watch=Watch(5, (), never)
        )
    )
    rule = EarlyStop(training_loss=1e-2, points=2)
    stopped = ensemble(runs, watch=Watch(10, (), rule))
    monkey = stopped.recorder.record

    def all_right(
        epoch: int, engine: object
    ) -> None:  # a small network need not generalize; pretend that it does
        monkey(epoch, engine)  # type: ignore[arg-type]
        stopped.recorder.curves["validation_accuracy"][-1][:] = 1

    stopped.recorder.record = all_right  # type: ignore[method-assign]
    stopped.train()
    first, second = stopped.results()
    assert first.epochs == second.epochs == first.history.epochs[-1] < 600
    for trained in (first, second):
        assert (trained.history.training_loss[-2:] < 1e-2).all()
    assert (
        max(first.history.training_loss[-3], second.history.training_loss[-3]) >= 1e-2
    )  # and no later than that


def test_without_validation_pairs_the_training_loss_alone_stops_early() -> None:
    run = replace(
        small(epochs=400, weight_decay=0.0), task=TaskSettings(modulus=5, training_fraction=1.0)
    )
    (trained,) = outcomes([run], watch=Watch(5, (), EarlyStop(training_loss=0.1, points=2)))
    assert trained.epochs < 400
    assert (trained.history.training_loss[-2:] < 0.1).all()
    assert trained.history.training_loss[-3] >= 0.1


def replace_epochs(run: RunSettings, epochs: int) -> RunSettings:
    return replace(run, training=replace(run.training, epochs=epochs))


def test_settings_of_the_loop_are_checked() -> None:
    for bad, message in [
        (lambda: Watch(0), "history_stride is 0"),
        (lambda: Watch(1, (-3,)), "a snapshot epoch is -3"),
        (lambda: EarlyStop(0.0), "training loss of an early stop is 0.0"),
        (lambda: EarlyStop(points=0), "points of an early stop are 0"),
    ]:
        with pytest.raises(InputError, match=message):
            bad()


@pytest.fixture
def python_handles_ctrl_c() -> Iterator[None]:
    """As at a terminal. A job in the background starts with the signal ignored, and then
    training leaves it so.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handles_ctrl_c")
def test_ctrl_c_ends_a_whole_epoch() -> None:
    run = small(epochs=2000)
    trained = ensemble([run])

    def press(_: Ensemble) -> None:
        if trained.epoch >= 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Stopped, match="an ensemble of 1, which is not saved") as caught:
        trained.train(progress=press)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not caught.value.saved
    (partial,) = caught.value.partial
    assert 3 <= partial.epochs < 2000
    (straight,) = outcomes([small(epochs=partial.epochs)])
    for name, value in weights(straight).items():
        assert torch.equal(weights(partial)[name], value)


def test_another_handler_of_ctrl_c_is_left_in_place() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        trained = ensemble([small(epochs=4)])
        trained.train(progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard
    assert trained.epoch == 4
