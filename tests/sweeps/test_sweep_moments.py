"""A sweep that follows its runs along training: the table of moments, its snapshots, killing,
merging, changing one's mind.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from algophase.analysis.analyze import analyze
from algophase.analysis.moments import moment_details
from algophase.core.errors import InputError
from algophase.storage import load
from algophase.storage.runs_table import shard_paths
from algophase.storage.sweep_directory import SweepDirectory, snapshots_of
from algophase.sweeps._ray_task import _joined
from algophase.sweeps.merge import merge
from algophase.sweeps.options import Options
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Outcome, Request, sweep_here
from algophase.sweeps.work import finish

TINY = Space.from_dict(
    {
        "name": "tiny",
        "task": {"modulus": 7},
        "network": {"width": {"choice": [8, 12]}, "attention_rate": {"uniform": [0, 1]}},
        "training": {"epochs": 40},
    }
)
FOLLOWED = Options(device="cpu", snapshot_epochs=(15, 5))


def run(
    path: Path, runs: int = 4, options: Options = FOLLOWED, space: Space = TINY, **more: Any
) -> Outcome:
    return sweep_here(Request(space, runs, options=options, **more), SweepDirectory(path))


def moments(path: Path) -> list[dict[str, Any]]:
    table = SweepDirectory(path).moments()
    assert table is not None
    return table.to_pylist()


def test_every_run_has_a_row_at_every_snapshot_and_at_the_end(tmp_path: Path) -> None:
    run(tmp_path, keep_weights="all")
    rows, found = SweepDirectory(tmp_path).runs().to_dict("records"), moments(tmp_path)
    assert [(row["index"], row["epoch"]) for row in found] == [
        (index, epoch) for index in range(4) for epoch in (5, 15, 40)
    ]
    for row in found:
        end, epoch = rows[row["index"]], row["epoch"]
        name = f"{row['run_id']}.epoch{epoch}" if epoch < 40 else row["run_id"]
        (file,) = tmp_path.glob(f"runs-*/networks/{name}.safetensors")
        network = load(file)
        analysis = analyze(network)
        for column in (
            "accuracy",
            "gradient_symmetricity",
            "distance_irrelevance",
            "circularity",
            "verdict",
        ):
            assert row[column] == analysis.to_dict()[column]
        details = moment_details(network, analysis)
        assert row["pairs.frequency"] == [pair.evidence.circle.frequency for pair in details.pairs]
        assert row["pairs.pizza_share"] == [pair.to_dict()["pizza_share"] for pair in details.pairs]
        assert {"pairs.fve_clock", "pairs.fve_pizza"} <= row.keys()
        assert row["accompanying"] == details.accompanying
        assert row["accuracy_without_accompanying"] == details.accuracy_without_accompanying
        assert (
            0 < row["training_loss"] < 4
        )  # known at every snapshot, between the points of the history too
        assert row["validation_accuracy"] is not None
        for column in ("run_id", "seed", "attention_rate", "width", "epochs_trained"):
            assert row[column] == end[column]
    last = [row for row in found if row["epoch"] == 40]
    assert [row["training_loss"] for row in last] == [row["training_loss"] for row in rows]
    assert SweepDirectory(tmp_path).kept() == {row["run_id"] for row in rows}


def test_the_runs_are_those_of_a_sweep_that_was_not_followed(tmp_path: Path) -> None:
    run(tmp_path / "followed")
    run(tmp_path / "plain", options=Options(device="cpu"))
    followed, plain = (SweepDirectory(tmp_path / name) for name in ("followed", "plain"))
    assert followed.runs().equals(plain.runs())
    assert plain.moments() is None
    assert "snapshots" not in plain.description()
    assert followed.description()["snapshots"] == [5, 15]


def test_only_snapshots_of_kept_networks_are_kept(tmp_path: Path) -> None:
    run(tmp_path, keep_weights=1)
    directory = SweepDirectory(tmp_path)
    assert 1 <= len(directory.kept()) < 4
    for name, network in directory.kept_files().items():
        stems = [snapshot.stem for snapshot in snapshots_of(network)]
        assert stems == [f"{name}.epoch15", f"{name}.epoch5"]
    assert len(list(tmp_path.rglob("*.safetensors"))) == 3 * len(directory.kept())


def test_moments_without_their_runs_are_not_there(tmp_path: Path) -> None:
    """Someone removed a table: its runs are made again, perhaps in another company."""
    run(tmp_path, options=replace(FOLLOWED, ensemble_size=2))
    before = moments(tmp_path)
    shard_paths(tmp_path)[0].unlink()
    listed = {row["run_id"] for row in moments(tmp_path)}
    assert listed == set(SweepDirectory(tmp_path).runs()["run_id"])
    run(tmp_path, options=replace(FOLLOWED, ensemble_size=2))
    assert moments(tmp_path) == before


def test_moments_in_two_shards_are_read_once(tmp_path: Path) -> None:
    run(tmp_path)
    before, shard = moments(tmp_path), shard_paths(tmp_path)[0]
    shutil.copytree(shard.parent, tmp_path / "runs-000000-4-copy")
    assert moments(tmp_path) == before


def test_other_snapshots_on_the_same_directory_are_refused(tmp_path: Path) -> None:
    run(tmp_path, 2)
    with pytest.raises(
        InputError,
        match=r"at epochs 5, 15, .* at epochs 5",
    ):
        run(tmp_path, options=replace(FOLLOWED, snapshot_epochs=(5,)))
    with pytest.raises(InputError, match="at no epochs"):
        run(tmp_path, options=Options(device="cpu"))
    run(tmp_path / "plain", 2, Options(device="cpu"))
    with pytest.raises(InputError, match=r"at no epochs, .* at epochs 5, 15"):
        run(tmp_path / "plain")
    assert run(tmp_path, 4).new == 2
    assert len(moments(tmp_path)) == 12


@pytest.mark.parametrize(
    ("epochs", "message"),
    [
        ((5, 41), "a snapshot is asked for at epoch 41; choose epochs from 0 to 40"),
        ((-1,), "a snapshot epoch is -1"),
    ],
)
def test_wrong_epochs_are_named_before_anything_runs(
    tmp_path: Path, epochs: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(tmp_path, options=Options(device="cpu", snapshot_epochs=epochs))
    assert not list(tmp_path.glob("sweep.json"))


def test_a_short_run_has_the_snapshots_it_reaches(tmp_path: Path) -> None:
    space = Space.from_dict({**TINY.to_dict(), "training": {"epochs": {"grid": [10, 20]}}})
    run(tmp_path, 2, space=space)
    assert [(row["index"], row["epoch"]) for row in moments(tmp_path)] == [
        (0, 5),
        (0, 10),
        (1, 5),
        (1, 15),
        (1, 20),
    ]


def test_a_diverged_run_has_the_moments_before(tmp_path: Path) -> None:
    space = Space.from_dict(
        {
            "name": "wild",
            "task": {"modulus": 7},
            "network": {"width": 8},
            "training": {"epochs": 30, "warmup_steps": 0, "learning_rate": {"grid": [1e-3, 1e38]}},
        }
    )
    run(tmp_path, 2, options=Options(device="cpu", snapshot_epochs=(0, 20)), space=space)
    assert [(row["index"], row["epoch"]) for row in moments(tmp_path)] == [
        (0, 0),
        (0, 20),
        (0, 30),
        (1, 0),
    ]


def test_a_space_file_may_name_its_snapshots(tmp_path: Path) -> None:
    space = Space.from_dict({**TINY.to_dict(), "snapshots": [5, 15]})
    assert space.snapshots == (5, 15)
    assert Space.from_dict(space.to_dict()) == space
    run(tmp_path, 2)
    assert run(tmp_path, 3, space=space).new == 1  # no part of what the runs are


def test_merged_sweeps_keep_their_moments(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    for number in (1, 2):
        run(tmp_path / str(number), part=(number, 2), keep_weights="all")
    merge([tmp_path / "1", tmp_path / "2"], tmp_path / "out")
    out = SweepDirectory(tmp_path / "out")
    assert [(row["index"], row["epoch"]) for row in moments(out.path)] == [
        (row["index"], row["epoch"]) for row in moments(tmp_path / "whole")
    ]
    assert len(out.kept()) == 4
    assert all(len(snapshots_of(network)) == 2 for network in out.kept_files().values())
    assert merge([tmp_path / "1"], out.path).new == 0
    assert len(moments(out.path)) == 12
    assert len(shard_paths(out.path / "moments")) == 1
    run(tmp_path / "other", 1, options=replace(FOLLOWED, snapshot_epochs=(5,)))
    with pytest.raises(InputError, match="followed alike"):
        merge([tmp_path / "other"], out.path)


def test_what_a_task_sends_back_has_the_moments_of_all_and_the_snapshots_of_some() -> None:
    """On Ray, tasks send; the driver writes what this has."""
    runs = {TINY.run(index): index for index in range(3)}
    made = finish("tiny", FOLLOWED.plan(list(runs)), runs, FOLLOWED)
    joined = _joined(made, 1)
    assert len(joined.moments) == 9
    assert joined.snapshots.keys() == joined.networks.keys()
    assert _joined(made, "none").snapshots == {}
