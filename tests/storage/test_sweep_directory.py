import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from algophase.errors import InputError
from algophase.networks import initialise
from algophase.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.storage import load
from algophase.storage.runs_table import read_table, shard_paths
from algophase.storage.sweep_directory import SweepDirectory, same_sweep

SPACE: dict[str, Any] = {"name": "s", "title": "t", "runs": 5, "network": {"kind": "transformer", "width": {"grid": [8, 9]}}}


def rows(*indices: int, **more: Any) -> list[dict[str, Any]]:
    return [{"index": index, "run_id": f"id{index}", "paper_label": "Pizza", **more} for index in indices]


def test_a_directory_says_what_it_holds(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path / "deep" / "sweep")
    assert not directory.exists
    assert directory.finished() == {}
    assert directory.kept() == set()
    with pytest.raises(InputError, match=r"holds no sweep: there is no sweep.json in it"):
        directory.description()
    with directory.hold("a test"):
        directory.describe(SPACE, 3)
        shard = directory.add(rows(0), {})
        directory.describe({**SPACE, "title": "another", "runs": 9}, 3)
    assert directory.exists
    assert directory.description()["space"] == SPACE
    assert directory.description()["seed"] == 3
    assert sorted(path.name for path in directory.path.iterdir()) == [shard.name, "sweep.json"]


@pytest.mark.parametrize(
    ("space", "seed", "message"),
    [
        (SPACE, 4, "holds a sweep of space s with seed 3; it cannot take runs of space s with seed 4"),
        ({**SPACE, "name": "other"}, 3, "holds a sweep of space s with seed 3; it cannot take runs of space other"),
        ({**SPACE, "network": {"kind": "linear"}}, 3, "holds a sweep of another space of that name"),
    ],
)
def test_another_sweep_is_refused(tmp_path: Path, space: dict[str, Any], seed: int, message: str) -> None:
    directory = SweepDirectory(tmp_path)
    directory.describe(SPACE, 3)
    directory.add(rows(0), {})
    with pytest.raises(InputError, match=message):
        directory.describe(space, seed)


def test_the_order_of_grids_is_part_of_a_sweep_and_no_other_order() -> None:
    def described(**network: Any) -> dict[str, Any]:
        return {"seed": 0, "space": {"name": "s", "network": network}}

    one = described(width={"grid": [8, 9]}, layers={"grid": [1, 2]}, heads=4)
    assert same_sweep(one, described(heads=4, width={"grid": [8, 9]}, layers={"grid": [1, 2]}))
    assert not same_sweep(one, described(layers={"grid": [1, 2]}, width={"grid": [8, 9]}, heads=4))


def test_shards_are_the_record_of_what_is_finished(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    path = directory.add(rows(4, 2), {"device": "one"})
    assert path.name.startswith("runs-000002-2-")
    directory.add([{"index": 3, "run_id": "id3", "paper_label": None}], {"device": "two"})
    directory.add([{"index": 7, "run_id": "id7"}], {})  # a version without verdicts
    assert directory.finished() == {2: ("id2", "Pizza"), 4: ("id4", "Pizza"), 3: ("id3", None), 7: ("id7", None)}
    assert [record.get("device") for record in directory.sittings()] == ["one", "two", None]
    assert list(directory.runs()["index"]) == [2, 3, 4, 7]
    assert directory.add(rows(4, 2), {"device": "one"}) == path  # the same ensemble again is the same file
    assert len(shard_paths(tmp_path)) == 3


def test_what_is_no_shard_of_a_sweep_is_named(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"other.parquet has no column 'index': it is no shard of a sweep"):
        directory.finished()
    with pytest.raises(InputError, match=r"holds Parquet files but no sweep.json"):
        directory.describe(SPACE, 0)
    with pytest.raises(InputError, match=r"other.parquet is a file; give a directory"):
        SweepDirectory(tmp_path / "other.parquet")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "poem"}, "format is 'poem' 1; this program reads 'algophase-sweep' 1"),
        ({"version": 2}, "format is 'algophase-sweep' 2"),
        ({"space": 3}, "names no space and seed"),
        ({"seed": "x"}, "names no space and seed"),
    ],
    ids=str,
)
def test_a_description_that_cannot_be_used_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    directory = SweepDirectory(tmp_path)
    directory.describe(SPACE, 0)
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(InputError, match=message):
        directory.description()
    file.write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        directory.description()


def test_holding_sweeps_out_what_a_killed_writer_left(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    (tmp_path / "networks").mkdir()
    for name in (".runs-0.parquet.abc.partial", "networks/.x.safetensors.abc.partial"):
        (tmp_path / name).write_text("half")
    (tmp_path / "kept.txt").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".runs-1.parquet.abc.partial").write_text("a sweep's of its own, which is being written")
    with directory.hold("a test"):
        found = sorted(path.name for path in tmp_path.rglob("*"))
        assert found == [".lock", ".runs-1.parquet.abc.partial", "kept.txt", "networks", "other"]
        with pytest.raises(InputError, match="is in use by process"), SweepDirectory(tmp_path).hold("another"):
            pass


def test_holding_removes_networks_whose_runs_are_in_no_shard_and_nothing_else(tmp_path: Path) -> None:
    """A sweep killed between keeping a network and adding its row leaves such; the run is made again, and may not be kept."""
    directory = SweepDirectory(tmp_path)
    (tmp_path / "networks").mkdir()
    finished, orphan, trained = "0123456789ab", "cdef01234567", "89abcdef0123"
    ours = [f"{name}{kind}" for name in (finished, orphan) for kind in (".safetensors", ".json", ".epoch30.safetensors")]
    others = [f"{trained}.safetensors", f"{trained}.json", f"{trained}.history.json"]  # what `train` writes
    others += ["mine.safetensors", "mine.json", f"{orphan}.history.txt", f"{orphan}.epoch.json", f"{orphan}0.json", "notes.txt"]
    for name in (*ours, *others):
        (tmp_path / "networks" / name).write_text("")
    with directory.hold("a test"):
        assert len(list((tmp_path / "networks").iterdir())) == len(ours) + len(others)  # no sweep's directory
        directory.describe(SPACE, 0)
        directory.add([{"index": 0, "run_id": finished}], {})
    with directory.hold("a test"):
        left = {path.name for path in (tmp_path / "networks").iterdir()}
    assert left == {*others, *(name for name in ours if name.startswith(finished))}


def test_a_sweep_killed_before_its_first_shard_keeps_no_network_of_it(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    directory.describe(SPACE, 0)
    directory.keep(initialise(RunSettings(TaskSettings(modulus=5), TransformerSettings(width=8))))
    with directory.hold("a test"):
        assert directory.kept() == set()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"cannot make .*: Not a directory"),
        SweepDirectory(tmp_path / "file" / "x").hold("a test"),
    ):
        pass


def test_networks_are_kept_and_a_torn_pair_is_none(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    network = initialise(RunSettings(TaskSettings(modulus=5), TransformerSettings(width=8)))
    directory.keep(network)
    directory.keep(network)
    assert directory.kept() == {network.id}
    assert load(directory.networks / f"{network.id}.safetensors").id == network.id
    (directory.networks / "torn.safetensors").write_bytes(b"")
    assert directory.kept() == {network.id}


def test_replacing_the_shards_leaves_one_with_all_runs(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    directory.add(rows(0, 1), {"device": "one"})
    directory.add(rows(2), {"device": "two"})
    path = directory.replace(read_table(tmp_path), {"shards": directory.sittings()})
    assert shard_paths(tmp_path) == [path]
    assert sorted(directory.finished()) == [0, 1, 2]
    assert [record["device"] for record in directory.sittings()] == ["one", "two"]
    assert directory.replace(read_table(tmp_path), {"device": "again"}) == path  # the same runs: the same file, written over
    assert [record["device"] for record in directory.sittings()] == ["again"]


def test_a_checkpoint_that_cannot_be_read_stays_and_an_empty_folder_goes(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    (tmp_path / ".checkpoints").mkdir()
    (tmp_path / ".checkpoints" / "x.safetensors").write_bytes(b"")
    directory.complete()
    assert (tmp_path / ".checkpoints" / "x.safetensors").exists()
    (tmp_path / ".checkpoints" / "x.safetensors").unlink()
    directory.complete()
    assert list(tmp_path.iterdir()) == []
