"""The loop on a GPU: what a captured epoch does must be what the specification does, and
stopping must leave no trace.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from same_runs import assert_same
from shard_files import read_table

from algophase.analysis.analyze import analyze
from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.settings import (
    LINEAR_MODELS,
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.networks import initialize
from algophase.storage import load
from algophase.storage._checkpoints import DirectoryCheckpoints
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.make import sweep
from algophase.sweeps.options import Options
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Request, sweep_here
from algophase.training.run import loop
from algophase.training.run.plan import plan
from algophase.training.run.train import train
from algophase.training.run.trained import TrainedRun
from algophase.training.run.turns import MOST_AT_ONCE, together

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")

PLAIN, EQUALS = TaskSettings(modulus=7), TaskSettings(modulus=7, equals_sign=True)
GROUP = TaskSettings(group="S3")
BOTH = TaskSettings(modulus=7, separate_vocabularies=True, equals_sign=True)

# by default each has the fused engine, in half; named is one that has float32
CASES: dict[str, tuple[str, TaskSettings, NetworkSettings]] = {
    "one layer": ("grid", PLAIN, TransformerSettings(width=32, attention_rate=0.37)),
    "equals sign": ("grid", EQUALS, TransformerSettings(width=32, attention_rate=0.37)),
    "separate, equals sign": (
        "grid",
        BOTH,
        TransformerSettings(width=20, activation="gelu", attention_rate=1.0),
    ),
    "group": ("grid", GROUP, TransformerSettings(width=32, attention_rate=0.37)),
    "group, two layers": ("stacked", GROUP, TransformerSettings(width=16, layers=2)),
    "group, linear": ("grid", GROUP, LinearSettings("delta", 16, 20)),
    "two layers": ("stacked", PLAIN, TransformerSettings(width=16, layers=2)),
    "two layers, equals sign": ("stacked", EQUALS, TransformerSettings(width=16, layers=2)),
    "three layers": ("stacked", BOTH, TransformerSettings(20, 3, 4, "gelu", 0.37)),
    **{
        f"linear {model}": ("grid", PLAIN, LinearSettings(model, 16, 20)) for model in LINEAR_MODELS
    },
}


def runs_of(case: str, epochs: int, count: int = 3) -> list[RunSettings]:
    _, task, network = CASES[case]
    return [
        RunSettings(task, network, TrainingSettings(epochs=epochs), seed) for seed in range(count)
    ]


@pytest.mark.parametrize("case", CASES)
def test_ten_captured_epochs_are_ten_epochs(case: str) -> None:
    """The warm-up before the capture leaves no trace, and nothing is skipped. In float32, also
    what is fused otherwise.
    """
    runs = runs_of(case, 10)
    captured = train(runs, CASES[case][0], device="cuda", precision="float32")
    for outcome, expected in zip(captured, train(runs, "plain", "cpu", "float64"), strict=True):
        assert outcome.network is not None
        assert expected.network is not None
        assert outcome.history.training_loss[0] == pytest.approx(
            expected.history.training_loss[0], rel=1e-4
        )
        for name, value in outcome.network.state_dict().items():
            torch.testing.assert_close(
                value, expected.network.state_dict()[name], rtol=1e-3, atol=2e-4
            )


@pytest.mark.parametrize("case", CASES)
def test_ten_epochs_in_half_precision_lead_where_ten_epochs_lead(case: str) -> None:
    """Held against how far the networks went: Adam's first steps have one length for every weight,
    so a gradient near zero that rounding turns around moves its weight by as much as any other."""
    runs = runs_of(case, 10)
    outcomes = train(runs, device="cuda")
    assert {(outcome.engine, outcome.precision) for outcome in outcomes} == {("fused", "half")}
    for run, outcome, expected in zip(
        runs, outcomes, train(runs, "plain", "cpu", "float64"), strict=True
    ):
        assert outcome.network is not None
        assert expected.network is not None
        np.testing.assert_allclose(
            outcome.history.training_loss, expected.history.training_loss, rtol=1e-3
        )
        ours, theirs, start = (
            torch.cat([value.double().flatten() for value in network.state_dict().values()])
            for network in (outcome.network, expected.network, initialize(run))
        )
        assert (ours - theirs).norm() < 0.1 * (theirs - start).norm()


@pytest.mark.parametrize("case", CASES)
def test_going_on_is_the_same_as_never_having_stopped(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, kept = runs_of(case, 40), DirectoryCheckpoints(tmp_path)
    straight = train(runs, device="cuda", history_stride=6)
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 0.0)
    with pytest.raises(Stopped):
        train(runs, device="cuda", history_stride=6, checkpoint=kept, progress=interrupt_at(17))
    assert [held.epoch for held in kept.pending()] == [17]
    assert_same(straight, train(runs, device="cuda", history_stride=6, checkpoint=kept))


@pytest.mark.parametrize("case", CASES)
def test_a_networks_bits_do_not_depend_on_its_company(case: str) -> None:
    runs = runs_of(case, 20, 5)
    assert_same(train(runs[3:4], device="cuda"), train(runs, device="cuda")[3:4])


@pytest.mark.parametrize(
    ("engine", "precision"), [("auto", None), ("stacked", "tf32"), ("stacked", "float64")]
)
def test_side_by_side_is_the_same_as_one_after_the_other(
    engine: str, precision: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of network at once; chunks of one epoch and up to a full queue; stopped, all of
    them, and gone on with.
    """
    runs, kept = (
        [run for case in CASES for run in runs_of(case, 500, 2)],
        DirectoryCheckpoints(tmp_path),
    )
    assert together(plan(runs, engine, "cuda", precision)) == MOST_AT_ONCE

    def outcomes(
        checkpoint: DirectoryCheckpoints | None = None, stop_at: int = 501
    ) -> list[TrainedRun]:
        options = {
            "checkpoint": checkpoint,
            "progress": interrupt_at(stop_at),
            "check_gradients": False,
        }
        return train(runs, engine, "cuda", precision, history_stride=300, **options)  # type: ignore[arg-type]

    beside = outcomes()
    with pytest.raises(Stopped):
        outcomes(kept, stop_at=170)
    assert len(kept.pending()) == MOST_AT_ONCE
    assert_same(beside, outcomes(kept))
    monkeypatch.setattr("algophase.training.run.train.together", lambda groups: 1)
    assert_same(beside, outcomes())


def interrupt_at(epoch: int) -> Callable[[Progress], None]:
    def press(progress: Progress) -> None:
        if progress.epoch >= epoch:
            raise KeyboardInterrupt

    return press


@pytest.mark.parametrize("case", CASES)
def test_a_network_that_diverges_is_frozen_and_the_others_go_on(case: str) -> None:
    calm = runs_of(case, 20)
    wild = [
        calm[0],
        RunSettings(
            calm[1].task, calm[1].network, TrainingSettings(epochs=20, learning_rate=1e30), 1
        ),
        calm[2],
    ]
    outcomes = train(wild, device="cuda")
    assert outcomes[1].diverged_at == 2
    expected = train(calm, device="cuda")
    assert_same([outcomes[0], outcomes[2]], [expected[0], expected[2]])


def test_the_yardstick_trains_on_a_gpu_too() -> None:
    (outcome,) = train(runs_of("one layer", 5, 1), "plain", "cuda", "float64")
    (expected,) = train(runs_of("one layer", 5, 1), "plain", "cpu", "float64")
    np.testing.assert_allclose(
        outcome.history.training_loss, expected.history.training_loss, rtol=1e-9
    )


def test_a_sweep_on_groups_is_analyzed_on_the_gpu_as_on_a_cpu(tmp_path: Path) -> None:
    """More of each group than are analyzed before a recording would be made (`analysis._replay`)."""
    space = Space.from_dict(
        {
            "name": "groups",
            "task": {"group": {"grid": ["D5", "A4", "Z2xZ4"]}},
            "network": {"width": 32, "attention_rate": {"uniform": [0, 1]}},
            "training": {"epochs": 200},
        }
    )
    sweep(space, tmp_path, runs=18, device="cuda", keep_weights="all")
    files = SweepDirectory(tmp_path).kept_files()
    for row in read_table(tmp_path).to_pylist():
        assert (row["engine"], row["precision"]) == ("fused", "half")
        expected = analyze(load(files[row["run_id"]])).to_dict()
        assert row["verdict"] == expected["verdict"]
        assert row["on_group.name"] == row["group"]
        for name in ("accuracy", "additivity"):
            assert row[f"on_group.{name}"] == pytest.approx(expected["on_group"][name], abs=1e-6)
        adding = [instance["adding"] for instance in expected["on_group"]["instances"]]
        assert row["on_group.instances.adding"] == pytest.approx(adding, abs=1e-6)


def test_analyses_beside_training_make_the_same_table(tmp_path: Path) -> None:
    """More networks than are analyzed one by one, and epochs that leave time for them."""
    space = Space.from_dict(
        {
            "name": "followed",
            "task": {"modulus": 31},
            "network": {"width": 64, "attention_rate": {"uniform": [0, 1]}},
            "training": {"epochs": 4000},
        }
    )
    tables = {}
    seconds = {}
    for beside in (True, False):
        options = Options(
            device="cuda", ensemble_size=32, snapshot_epochs=(1000,), analyze_beside=beside
        )
        directory = SweepDirectory(tmp_path / str(beside))
        outcome = sweep_here(Request(space, 96, options=options), directory)
        seconds[beside] = outcome.beside_seconds
        tables[beside] = read_table(directory.path).to_pylist()
        moments = directory.moments()
        assert moments is not None
        tables[beside] += moments.to_pylist()
    assert seconds[True] > 0
    assert seconds[False] == 0
    assert len(tables[True]) == len(tables[False]) == 3 * 96
    for one, other in zip(tables[True], tables[False], strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            apart = _difference(value, other[name])
            assert apart < 1e-9, (name, value, other[name])


def _difference(one: object, other: object) -> float:
    """The largest between two values of a row, which may be nested lists."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max((_difference(*pair) for pair in zip(one, other, strict=True)), default=0.0)
    if isinstance(one, float) and isinstance(other, float):
        return 0.0 if np.isnan(one) and np.isnan(other) else abs(one - other)
    return 0.0 if one == other else np.inf
