import errno
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from safetensors import safe_open
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.storage._checkpoints import DirectoryCheckpoints
from algophase.storage._seal import BLANK, sealed
from algophase.training.run.loop import Ensemble, Watch
from algophase.training.run.plan import plan
from algophase.training.run.train import train
from algophase.training.run.trained import CURVES, TrainedRun

EPOCHS = 40


def runs_of(network: NetworkSettings, count: int = 2) -> list[RunSettings]:
    return [
        RunSettings(TaskSettings(modulus=7), network, TrainingSettings(epochs=EPOCHS), seed)
        for seed in range(count)
    ]


TRANSFORMERS = runs_of(TransformerSettings(width=12, attention_rate=0.4))


def interrupt_at(epoch: int) -> Callable[[Progress], None]:
    def press(progress: Progress) -> None:
        if progress.epoch >= epoch:
            raise KeyboardInterrupt

    return press


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DirectoryCheckpoints:
    monkeypatch.setattr(
        "algophase.training.run.loop.CHUNK_SECONDS", 0.0
    )  # an epoch a chunk: interruptions hit any epoch
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
        networks = [
            (one.network, other.network),
            *((one.snapshots[e], other.snapshots[e]) for e in one.snapshots),
        ]
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
def test_going_on_is_the_same_as_never_having_stopped(
    engine: str, runs: list[RunSettings], kept: DirectoryCheckpoints, said: list[str]
) -> None:
    straight = train(runs, engine, "cpu", history_stride=6, snapshot_epochs=(5, 20))
    with pytest.raises(Stopped, match="saved") as caught:
        train(
            runs,
            engine,
            "cpu",
            history_stride=6,
            snapshot_epochs=(5, 20),
            checkpoint=kept,
            progress=interrupt_at(17),
        )
    assert caught.value.saved
    assert [partial.epochs for partial in caught.value.partial] == [17] * len(runs)
    assert [held.epoch for held in kept.pending()] == [17]
    resumed = train(runs, engine, "cpu", history_stride=6, snapshot_epochs=(5, 20), checkpoint=kept)
    assert_same(straight, resumed)
    assert any("at epoch 17 of 40" in line for line in said)
    assert kept.pending() == []
    assert not kept.directory.exists()


def test_a_diverged_network_stays_frozen(kept: DirectoryCheckpoints) -> None:
    runs = [
        TRANSFORMERS[0],
        replace(TRANSFORMERS[1], training=replace(TRANSFORMERS[1].training, learning_rate=1e30)),
    ]
    straight = train(runs, device="cpu")
    with pytest.raises(Stopped):
        train(runs, device="cpu", checkpoint=kept, progress=interrupt_at(9))
    resumed = train(runs, device="cpu", checkpoint=kept)
    assert (
        [outcome.diverged_at for outcome in resumed]
        == [outcome.diverged_at for outcome in straight]
        == [None, 2]
    )
    assert_same(straight[:1], resumed[:1])


def test_finished_ensembles_stay_finished_and_the_interrupted_one_keeps_its_members(
    kept: DirectoryCheckpoints,
) -> None:
    runs = runs_of(TransformerSettings(width=12), 5)
    straight = train(runs, device="cpu", ensemble_size=2)

    def second_ensemble(progress: Progress) -> None:
        if progress.ensemble == 2 and progress.epoch >= 3:
            raise KeyboardInterrupt

    with pytest.raises(Stopped) as caught:
        train(runs, device="cpu", ensemble_size=2, checkpoint=kept, progress=second_ensemble)
    assert [outcome.run.seed for outcome in caught.value.finished] == [0, 1]
    assert [outcome.run.seed for outcome in caught.value.partial] == [2, 3]
    left = train(
        runs[2:], device="cpu", ensemble_size=3, checkpoint=kept
    )  # the size of new ensembles does not matter to it
    assert_same(straight[2:], left)


def test_interrupted_at_the_last_epoch_nothing_is_trained_twice(kept: DirectoryCheckpoints) -> None:
    with pytest.raises(Stopped):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=interrupt_at(EPOCHS))
    seen: list[Progress] = []
    resumed = train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=seen.append)
    assert seen == []
    assert_same(train(TRANSFORMERS, device="cpu"), resumed)


def test_running_ensembles_are_saved_from_time_to_time(kept: DirectoryCheckpoints) -> None:
    kept.every_seconds = 0.0
    epochs: list[list[int]] = []
    train(
        TRANSFORMERS,
        device="cpu",
        checkpoint=kept,
        progress=lambda _: epochs.append([d.epoch for d in kept.pending()]),
    )
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
def test_a_checkpoint_of_another_kind_is_refused(
    options: dict[str, object], reason: str, kept: DirectoryCheckpoints
) -> None:
    with pytest.raises(Stopped):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=interrupt_at(5))
    with pytest.raises(InputError, match=f"epoch 5 .*: {reason}"):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, **options)  # type: ignore[arg-type]


def test_other_runs_are_not_restored_into_an_ensemble() -> None:
    ours, theirs = (
        Ensemble(plan(runs, device="cpu")[0], Watch())
        for runs in (TRANSFORMERS, TRANSFORMERS[::-1])
    )
    with pytest.raises(InputError, match="it holds other runs"):
        ours.restore(theirs.checkpoint())


def test_checkpoints_of_other_runs_are_left_alone(
    kept: DirectoryCheckpoints, said: list[str]
) -> None:
    with pytest.raises(Stopped):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, progress=interrupt_at(5))
    train(runs_of(TransformerSettings(width=8)), device="cpu", checkpoint=kept)
    assert not any("checkpoint" in line for line in said)
    train(TRANSFORMERS[:1], device="cpu", checkpoint=kept)
    assert any("holds only some of these runs" in line for line in said)
    assert len(kept.pending()) == 1


def test_a_broken_checkpoint_is_one_clear_line(kept: DirectoryCheckpoints) -> None:
    with pytest.raises(Stopped):
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


Tensors = dict[str, Tensor]


def interrupted(kept: DirectoryCheckpoints) -> Path:
    """The checkpoint of an interrupted training, with a snapshot in it."""
    with pytest.raises(Stopped):
        train(
            TRANSFORMERS,
            device="cpu",
            checkpoint=kept,
            progress=interrupt_at(5),
            snapshot_epochs=(3,),
        )
    (file,) = kept.directory.iterdir()
    return file


def tamper(file: Path, edit: Callable[[dict[str, Any], Tensors], object]) -> None:
    with safe_open(file, framework="pt") as held:
        header, names = held.metadata(), held.keys()
        tensors = {name: held.get_tensor(name) for name in names}
    description = json.loads(header["ensemble"])
    edit(description, tensors)
    ensemble = json.dumps(description)
    digest = hashlib.sha256(ensemble.encode()).hexdigest()
    header |= {"ensemble": ensemble, "ensemble_sha256": digest, "checksum": BLANK}
    file.write_bytes(b"".join(sealed(safetensors.torch.save(tensors, header))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epoch": "5"}, "its epoch is '5'; it must be an integer from 0 to 40"),
        ({"epoch": 10**9}, "its epoch is 1000000000; it must be an integer from 0 to 40"),
        ({"epoch": -5}, "its epoch is -5"),
        ({"seconds": "x"}, "its seconds is 'x'; it must be a number of at least 0"),
        ({"seconds": -1.0}, "its seconds is -1.0"),
        ({"layout": [1]}, r"its layout is \[1\]; it must be a JSON object"),
        ({"watching": [1]}, r"its watching is \[1\]; it must be a JSON object"),
        ({"engine": 3}, "its engine is 3; it must be text"),
        ({"runs": ["ab"]}, "RunSettings is 'ab'; it must be a JSON object"),
        ({"runs": []}, r"its runs is \[\]; it must be a list of run settings"),
        ({"runs": 3}, "its runs is 3"),
        (
            {"history_epochs": ["a"]},
            r"its history_epochs is \['a'\]; it must be ascending integers from 0 to 5",
        ),
        ({"history_epochs": [0, 7]}, r"its history_epochs is \[0, 7\]"),
        ({"surprise": 1}, "it has no entry 'surprise'"),
    ],
)
def test_a_description_that_is_wrong_is_one_clear_line(
    change: dict[str, Any], message: str, kept: DirectoryCheckpoints
) -> None:
    file = interrupted(kept)
    tamper(file, lambda description, _: description.update(change))
    with pytest.raises(InputError, match=f"^checkpoint {file}: .*{message}"):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, snapshot_epochs=(3,))


def test_a_description_that_lacks_something_is_one_clear_line(kept: DirectoryCheckpoints) -> None:
    file = interrupted(kept)
    tamper(file, lambda description, _: description.pop("epoch"))
    with pytest.raises(InputError, match=f"^checkpoint {file}: its epoch is missing"):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, snapshot_epochs=(3,))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda held: held.pop("state/alive"), "tensor state/alive is missing"),
        (lambda held: held.pop("history/training_loss"), "tensor history/training_loss is missing"),
        (lambda held: held.pop("snapshot/3/embed.W_E"), r"tensor snapshot/3/embed\.W_E is missing"),
        (
            lambda held: held.update({"surprise": torch.zeros(1)}),
            "tensor surprise does not belong to it",
        ),
        (
            lambda held: held.update({"snapshot/x/embed.W_E": torch.zeros(1)}),
            "tensor snapshot/x/embed.W_E does not belong",
        ),
        (
            lambda held: held.update({"state/parameters": held["state/parameters"][:, 1:].clone()}),
            r"tensor state/parameters has shape \(2, \d+\); it must be \(2, \d+\)",
        ),
        (
            lambda held: held.update({"state/first_moment": torch.zeros(1)}),
            r"tensor state/first_moment has shape \(1,\)",
        ),
        (
            lambda held: held.update({"state/parameters": held["state/parameters"].int()}),
            r"tensor state/parameters is torch\.int32; it must be torch\.float32",
        ),
        (
            lambda held: held.update({"history/training_loss": torch.zeros(7, 2).double()}),
            r"tensor history/training_loss has shape \(7, 2\)",
        ),
        (
            lambda held: held["state/steps"].fill_(4),
            "its optimizer has made 4 steps, and its epoch is 5",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named_before_any_is_taken(
    edit: Callable[[Tensors], object], message: str, kept: DirectoryCheckpoints
) -> None:
    file = interrupted(kept)
    tamper(file, lambda _, tensors: edit(tensors))
    with pytest.raises(InputError, match=f"^{file} cannot be continued: {message}"):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, snapshot_epochs=(3,))
    fresh = Ensemble(plan(TRANSFORMERS, device="cpu")[0], Watch(snapshot_epochs=(3,)))
    before = fresh.checkpoint().tensors["state/parameters"].clone()
    with pytest.raises(InputError, match=f"^this checkpoint cannot be continued: {message}"):
        fresh.restore(kept.read(kept.pending()[0]))
    assert torch.equal(fresh.checkpoint().tensors["state/parameters"], before)


def test_a_renamed_checkpoint_is_continued_under_its_name_and_removed(
    kept: DirectoryCheckpoints,
) -> None:
    straight = train(TRANSFORMERS, device="cpu", snapshot_epochs=(3,))
    renamed = interrupted(kept).rename(kept.directory / "mine.safetensors")
    with pytest.raises(InputError, match=f"^{renamed} .*epoch 5"):
        train(TRANSFORMERS, device="cpu", checkpoint=kept)
    again = DirectoryCheckpoints(kept.directory)
    with pytest.raises(Stopped):
        train(
            TRANSFORMERS,
            device="cpu",
            checkpoint=again,
            progress=interrupt_at(9),
            snapshot_epochs=(3,),
        )
    assert list(kept.directory.iterdir()) == [renamed]
    assert_same(straight, train(TRANSFORMERS, device="cpu", checkpoint=again, snapshot_epochs=(3,)))
    assert not kept.directory.exists()


def test_two_checkpoints_of_the_same_runs_are_refused(kept: DirectoryCheckpoints) -> None:
    file = interrupted(kept)
    copied = kept.directory / "zz-copy.safetensors"
    copied.write_bytes(file.read_bytes())
    with pytest.raises(
        InputError,
        match=f"^checkpoints {file} and {copied} ",
    ):
        train(TRANSFORMERS, device="cpu", checkpoint=kept, snapshot_epochs=(3,))


def test_a_file_that_cannot_be_read_for_the_moment_is_not_called_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    (tmp_path / "one.safetensors").write_bytes(b"")
    monkeypatch.setattr("algophase.storage._checkpoints.safe_open", busy)
    with pytest.raises(
        InputError, match=r"^cannot read checkpoint .*one\.safetensors: Input/output error$"
    ):
        list(DirectoryCheckpoints(tmp_path).pending())
