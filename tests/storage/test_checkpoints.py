from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from algophase.errors import InputError
from algophase.settings import LinearSettings, NetworkSettings, RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.storage.checkpoints import DirectoryCheckpoints
from algophase.training.loop import Ensemble, Watch
from algophase.training.plan import plan
from algophase.training.train import train
from algophase.training.trained import CURVES, Progress, TrainedRun, TrainingInterrupted

EPOCHS = 40


def runs_of(network: NetworkSettings, count: int = 2) -> list[RunSettings]:
    return [RunSettings(TaskSettings(modulus=7), network, TrainingSettings(epochs=EPOCHS), seed) for seed in range(count)]


TRANSFORMERS = runs_of(TransformerSettings(width=12, attention_rate=0.4))


def interrupt_at(epoch: int) -> Callable[[Progress], None]:
    def press(progress: Progress) -> None:
        if progress.epoch >= epoch:
            raise KeyboardInterrupt

    return press


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DirectoryCheckpoints:
    monkeypatch.setattr("algophase.training.loop.CHUNK_SECONDS", 0.0)  # an epoch a chunk: interruptions hit any epoch
    return DirectoryCheckpoints(tmp_path / "checkpoints")


def assert_same(first: Sequence[TrainedRun], second: Sequence[TrainedRun]) -> None:
    for one, other in zip(first, second, strict=True):
        assert one.run == other.run
        assert one.history.epochs == other.history.epochs
        for name in CURVES:
            np.testing.assert_array_equal(getattr(one.history, name), getattr(other.history, name))
        assert one.network is not None
        assert other.network is not None
        assert list(one.snapshots) == list(other.snapshots)
        networks = [(one.network, other.network), *((one.snapshots[e], other.snapshots[e]) for e in one.snapshots)]
        for mine, theirs in networks:
            for name, value in mine.state_dict().items():
                assert torch.equal(value, theirs.state_dict()[name]), name


@pytest.mark.parametrize(
    ("engine", "runs"),
    [
        ("grid", TRANSFORMERS),
        ("stacked", TRANSFORMERS),
        ("plain", TRANSFORMERS[:1]),
        ("grid", runs_of(LinearSettings("beta", 8, 8))),
        ("stacked", runs_of(TransformerSettings(width=8, layers=2))),
    ],
    ids=["grid", "stacked", "plain", "grid-linear", "stacked-two-layers"],
)
def test_going_on_is_the_same_as_never_having_stopped(engine: str, runs: list[RunSettings], kept: DirectoryCheckpoints) -> None:
    straight = train(runs, engine, "cpu", history_stride=6, snapshot_epochs=(5, 20))
    with pytest.raises(TrainingInterrupted, match="which is saved and can be continued") as caught:
        train(runs, engine, "cpu", history_stride=6, snapshot_epochs=(5, 20), checkpoint=kept, progress=interrupt_at(17))
    assert caught.value.saved
    assert [partial.epochs for partial in caught.value.partial] == [17] * len(runs)
    assert [held.epoch for held in kept.pending()] == [17]
    said: list[str] = []
    resumed = train(runs, engine, "cpu", history_stride=6, snapshot_epochs=(5, 20), checkpoint=kept, notice=said.append)
    assert_same(straight, resumed)
    assert any("at epoch 17 of 40" in line for line in said)
    assert kept.pending() == []
    assert not kept.directory.exists()


def test_a_diverged_network_stays_frozen(kept: DirectoryCheckpoints) -> None:
    runs = [TRANSFORMERS[0], replace(TRANSFORMERS[1], training=replace(TRANSFORMERS[1].training, learning_rate=1e30))]
    straight = train(runs, device="cpu")
    with pytest.raises(TrainingInterrupted):
        train(runs, device="cpu", checkpoint=kept, progress=interrupt_at(9))
    resumed = train(runs, device="cpu", checkpoint=kept)
    assert [outcome.diverged_at for outcome in resumed] == [outcome.diverged_at for outcome in straight] == [None, 2]
    assert_same(straight[:1], resumed[:1])


def test_finished_ensembles_stay_finished_and_the_interrupted_one_keeps_its_members(kept: DirectoryCheckpoints) -> None:
    runs = runs_of(TransformerSettings(width=12), 5)
    straight = train(runs, device="cpu", ensemble_size=2)

    def second_ensemble(progress: Progress) -> None:
        if progress.ensemble == 2 and progress.epoch >= 3:
            raise KeyboardInterrupt

    with pytest.raises(TrainingInterrupted) as caught:
        train(runs, device="cpu", ensemble_size=2, checkpoint=kept, progress=second_ensemble)
    assert [outcome.run.seed for outcome in caught.value.finished] == [0, 1]
    assert [outcome.run.seed for outcome in caught.value.partial] == [2, 3]
    left = train(runs[2:], device="cpu", ensemble_size=3, checkpoint=kept)  # the size of new ensembles does not matter to it
    assert_same(straight[2:], left)


def test_interrupted_at_the_last_epoch_nothing_is_trained_twice(kept: DirectoryCheckpoints) -> None:
    with pytest.raises(TrainingInterrupted):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=interrupt_at(EPOCHS))
    seen: list[Progress] = []
    resumed = train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=seen.append)
    assert seen == []
    assert_same(train(TRANSFORMERS, device="cpu"), resumed)


def test_running_ensembles_are_saved_from_time_to_time(kept: DirectoryCheckpoints) -> None:
    kept.every_seconds = 0.0
    epochs: list[list[int]] = []
    train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=lambda _: epochs.append([d.epoch for d in kept.pending()]))
    assert epochs[-1] == [EPOCHS - 1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"engine": "stacked"}, "its engine is 'grid', not 'stacked'"),
        ({"precision": "float64"}, "its precision is 'float32', not 'float64'"),
        ({"history_stride": 7}, "its history stride is 100, not 7"),
        ({"snapshot_epochs": (3,)}, r"its snapshot epochs is \[\], not \[3\]"),
    ],
)
def test_a_checkpoint_of_another_kind_is_refused(options: dict[str, object], reason: str, kept: DirectoryCheckpoints) -> None:
    with pytest.raises(TrainingInterrupted):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=interrupt_at(5))
    with pytest.raises(InputError, match=f"holds these runs at epoch 5 and cannot be continued: {reason}"):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, **options)  # type: ignore[arg-type]


def test_other_runs_are_not_restored_into_an_ensemble() -> None:
    ours, theirs = (Ensemble(plan(runs, device="cpu")[0], Watch()) for runs in (TRANSFORMERS, TRANSFORMERS[::-1]))
    with pytest.raises(InputError, match="it holds other runs"):
        ours.restore(theirs.checkpoint())


def test_checkpoints_of_other_runs_are_left_alone(kept: DirectoryCheckpoints) -> None:
    with pytest.raises(TrainingInterrupted):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=interrupt_at(5))
    said: list[str] = []
    train(runs_of(TransformerSettings(width=8)), device="cpu", checkpoint=kept, notice=said.append)
    assert not any("checkpoint" in line for line in said)
    train(TRANSFORMERS[:1], device="cpu", checkpoint=kept, notice=said.append)
    assert any("holds only some of these runs" in line for line in said)
    assert len(kept.pending()) == 1


def test_a_broken_checkpoint_is_one_clear_line(kept: DirectoryCheckpoints) -> None:
    with pytest.raises(TrainingInterrupted):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=interrupt_at(5))
    (file,) = kept.directory.iterdir()
    content = file.read_bytes()
    for broken in (content[: len(content) // 2], b"", b"no tensors at all"):
        file.write_bytes(broken)
        with pytest.raises(InputError, match=f"checkpoint {file} is not readable"):
            train(TRANSFORMERS, device="cpu", checkpoint=kept)
    file.write_bytes(content.replace(b"algophase-ensemble", b"algophase-elephant"))
    with pytest.raises(InputError, match="algophase-elephant"):
        train(TRANSFORMERS, device="cpu", checkpoint=kept)
