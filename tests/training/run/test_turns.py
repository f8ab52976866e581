"""Ensembles side by side. A GPU is needed only to gain by it: here the same code drives
ensembles on a CPU.
"""

import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from same_runs import assert_same

from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.settings import (
    LinearSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.storage._checkpoints import DirectoryCheckpoints
from algophase.training.engines import sizing
from algophase.training.engines.grid import GridTransformer
from algophase.training.run import turns
from algophase.training.run.loop import Ensemble, Watch
from algophase.training.run.plan import ENGINES, PlannedEnsemble, plan
from algophase.training.run.train import train, train_groups
from algophase.training.run.trained import TrainedRun
from algophase.training.run.turns import FULL, in_turns, together

TASK, LONG, SHORT = (
    TaskSettings(modulus=7),
    TrainingSettings(epochs=30),
    TrainingSettings(epochs=12),
)
RUNS = [
    RunSettings(TASK, TransformerSettings(width=12), LONG, 0),
    RunSettings(
        TASK, TransformerSettings(width=8, attention_rate=0.5), SHORT, 1
    ),  # done before the first
    RunSettings(TASK, LinearSettings("alpha", 6, 6), LONG, 2),
    RunSettings(TASK, TransformerSettings(width=8, layers=2), LONG, 3),
]
GPU = torch.device("cuda", 0)


@pytest.fixture
def straight() -> list[TrainedRun]:
    """One ensemble after the other."""
    return train(RUNS, device="cpu", history_stride=6)


@pytest.fixture
def three_at_once(straight: list[TrainedRun], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a CPU, and an epoch a turn."""
    monkeypatch.setattr("algophase.training.run.train.together", lambda groups: min(3, len(groups)))
    monkeypatch.setattr("algophase.training.run.loop.CHUNK_SECONDS", 0.0)


def on_gpu(
    count: int,
    width: int = 128,
    engine: str = "fused",
    precision: str = "half",
    device: torch.device = GPU,
) -> PlannedEnsemble:
    runs = tuple(
        RunSettings(network=TransformerSettings(width), seed=seed) for seed in range(count)
    )
    return PlannedEnsemble(tuple(range(count)), runs, engine, device, precision)


def test_small_ensembles_on_one_gpu_train_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "_free_memory", lambda device: 139 * 2**30)
    few = [
        on_gpu(4),
        on_gpu(3, 64),
        on_gpu(2, 512),
        on_gpu(3, 256),
    ]  # `sweep varying-width --runs 12`
    assert together(few) == 4
    assert together([on_gpu(512), *few]) == 1
    assert together([*few, on_gpu(512), on_gpu(1)]) == 4
    assert together([on_gpu(1)] * 30) == turns.MOST_AT_ONCE
    assert together([on_gpu(1), on_gpu(1, device=torch.device("cuda", 1))]) == 1
    assert together([on_gpu(1, engine="plain", precision="float32")] * 3) == 1
    assert together(plan(RUNS, device="cpu")) == 1
    full = int(FULL / sizing.operations(RunSettings()))
    assert together([on_gpu(full - 1), on_gpu(1)]) == 2
    assert together([on_gpu(full), on_gpu(1)]) == 1
    monkeypatch.setattr(sizing, "_free_memory", lambda device: 10**8)
    assert together(few) == 1


@pytest.mark.usefixtures("three_at_once")
def test_side_by_side_no_bit_changes_and_the_order_is_the_plans(straight: list[TrainedRun]) -> None:
    seen: list[Progress] = []
    groups = plan(RUNS, device="cpu")
    found = list(train_groups(groups, Watch(6), progress=seen.append))
    assert [group for group, _ in found] == groups
    assert_same(straight, [trained for _, outcomes in found for trained in outcomes])
    assert all(trained.seconds > 0 for _, outcomes in found for trained in outcomes)
    # by turns, until the second is done; the fourth begins when the first is
    assert [report.ensemble for report in seen[:36]] == [1, 2, 3] * 12
    assert [report.ensemble for report in seen[36:72]] == [1, 3] * 18
    assert {report.ensemble for report in seen[72:]} == {4}


@pytest.mark.usefixtures("three_at_once")
def test_progress_adds_up_over_ensembles() -> None:
    seen: list[Progress] = []
    train(RUNS, device="cpu", progress=seen.append)
    assert [report.share for report in seen] == sorted(report.share for report in seen)
    assert 0 < seen[0].share < seen[-1].share == 1
    assert seen[-1].seconds_left == 0
    assert all(report.rate > 0 and report.seconds_left > 0 for report in seen[:-1])
    assert {report.ensembles for report in seen} == {4}


@pytest.mark.usefixtures("three_at_once")
@pytest.mark.parametrize("why", [KeyboardInterrupt(), Stopped("out of time")])
def test_what_is_interrupted_is_saved_all_of_it(
    why: BaseException, straight: list[TrainedRun], tmp_path: Path, said: list[str]
) -> None:
    def stop(progress: Progress) -> None:
        if progress.epoch == 17:
            raise why

    kept, options = DirectoryCheckpoints(tmp_path / "kept"), {"device": "cpu", "history_stride": 6}
    with pytest.raises(
        Stopped, match="at epoch 17 of 2 ensembles of 2, which are saved and can be"
    ) as caught:
        train(RUNS, checkpoint=kept, progress=stop, **options)  # type: ignore[arg-type]
    assert caught.value.out_of_time == isinstance(why, Stopped)
    assert_same(
        straight[1:2], caught.value.finished
    )  # done, and not yet given, as the first was not
    assert [(partial.run.seed, partial.epochs) for partial in caught.value.partial] == [
        (0, 17),
        (2, 17),
    ]
    assert sorted(held.epoch for held in kept.pending()) == [12, 17, 17]
    assert_same(straight, train(RUNS, checkpoint=kept, **options))  # type: ignore[arg-type]
    assert sum(line.startswith("continuing") for line in said) == 3
    assert not kept.directory.exists()


@pytest.mark.usefixtures("three_at_once")
def test_a_caller_who_asks_for_no_more_loses_nothing(
    straight: list[TrainedRun], tmp_path: Path
) -> None:
    kept = DirectoryCheckpoints(tmp_path / "kept")
    ensembles = train_groups(plan(RUNS, device="cpu"), Watch(6), kept)
    _, first = next(ensembles)
    ensembles.close()
    assert sorted((held.runs[0].seed, held.epoch) for held in kept.pending()) == [(1, 12), (2, 30)]
    assert_same(straight[1:], train(RUNS[1:], device="cpu", history_stride=6, checkpoint=kept))
    assert_same(straight[:1], first)


@pytest.mark.usefixtures("three_at_once")
def test_ctrl_c_while_another_is_built_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = DirectoryCheckpoints(tmp_path / "kept")
    longer = [RUNS[1], replace(RUNS[0], training=replace(LONG, epochs=40)), *RUNS[2:]]

    def press(*_: object) -> type[GridTransformer]:
        raise KeyboardInterrupt

    ensembles = train_groups(plan(longer, device="cpu"), Watch(6), kept)
    next(ensembles)
    monkeypatch.setitem(ENGINES, "stacked", press)
    with pytest.raises(KeyboardInterrupt):
        next(ensembles)
    assert sorted((held.runs[0].seed, held.epoch) for held in kept.pending()) == [(0, 12), (2, 12)]


class Crowded(GridTransformer):
    """An engine on a machine with room for one ensemble at a time."""

    there: ClassVar[weakref.WeakSet["Crowded"]] = weakref.WeakSet()

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        if self.there:
            raise torch.OutOfMemoryError("out of memory")
        super().__init__(runs, device, precision)
        self.there.add(self)


@pytest.mark.usefixtures("three_at_once")
def test_what_does_not_fit_beside_others_waits_for_them(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setitem(ENGINES, "grid", lambda run: Crowded)
    runs, seen = (
        [RunSettings(TASK, TransformerSettings(width), SHORT) for width in (8, 12, 16)],
        list[int](),
    )
    found = train(runs, "grid", "cpu", progress=lambda progress: seen.append(progress.ensemble))
    assert [trained.run for trained in found] == runs
    assert seen == [1] * 12 + [2] * 12 + [3] * 12
    assert not any("fit" in line for line in said)  # none was halved


def test_a_turn_queues_few_epochs_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOST_QUEUED", 4)
    monkeypatch.setattr("algophase.training.run.loop.CHUNK_SECONDS", 1e6)
    several = [Ensemble(group, Watch(100)) for group in plan([RUNS[0], RUNS[2]], device="cpu")]
    epochs: list[int] = []
    in_turns(several, progress=lambda ensemble: epochs.append(ensemble.epoch))
    assert epochs[:6] == [1, 1, 3, 3, 7, 7]  # the first chunks grow from one epoch on
    assert epochs[6:8] == [11, 11]
    alone, epochs = Ensemble(plan(RUNS[:1], device="cpu")[0], Watch(100)), []
    in_turns([alone], progress=lambda ensemble: epochs.append(ensemble.epoch))
    assert epochs == [1, 3, 7, 15, 30]
