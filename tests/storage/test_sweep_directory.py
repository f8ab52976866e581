import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from runs_made import keep
from shard_files import read_table, write_shard

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.explore.visible_runs import open_sweep
from algophase.networks import Network, initialize
from algophase.storage import load, save
from algophase.storage.files import write_inside
from algophase.storage.identity import same_sweep
from algophase.storage.runs_table import shard_paths
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.merge import merge
from algophase.training.run.loop import Ensemble, Watch
from algophase.training.run.plan import plan

SPACE: dict[str, Any] = {
    "name": "s",
    "title": "t",
    "runs": 5,
    "network": {"kind": "transformer", "width": {"grid": [8, 9]}},
}


def rows(*indices: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"index": index, "run_id": f"id{index}", "paper_label": "Pizza", **more}
        for index in indices
    ]


def test_a_directory_says_what_it_holds(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path / "deep" / "sweep")
    assert not directory.exists
    assert directory.finished() == {}
    assert directory.kept() == set()
    with pytest.raises(InputError, match=r"holds no sweep"):
        directory.description()
    with directory.hold("a test"):
        directory.describe(SPACE, 3)
        shard = directory.add(rows(0), {})
        directory.describe({**SPACE, "title": "another", "runs": 9}, 3)
    assert directory.exists
    assert directory.description()["space"] == SPACE
    assert directory.description()["seed"] == 3
    assert files(directory.path) == {shard.name, "sweep.json"}


@pytest.mark.parametrize(
    ("space", "seed", "message"),
    [
        (
            SPACE,
            4,
            "holds a sweep of space s with seed 3; it cannot take runs of space s with seed 4",
        ),
        (
            {**SPACE, "name": "other"},
            3,
            "holds a sweep of space s with seed 3; it cannot take runs of space other",
        ),
        (
            {**SPACE, "network": {"kind": "linear"}},
            3,
            "holds a sweep of another space of that name",
        ),
    ],
)
def test_another_sweep_is_refused(
    tmp_path: Path, space: dict[str, Any], seed: int, message: str
) -> None:
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
    assert directory.finished() == {
        2: ("id2", "Pizza"),
        4: ("id4", "Pizza"),
        3: ("id3", None),
        7: ("id7", None),
    }
    assert [record.get("device") for record in directory.calls()] == ["one", "two"]
    assert list(directory.runs()["index"]) == [2, 3, 4, 7]
    again = directory.add(rows(4, 2), {"device": "one"})  # the same ensemble in another shard
    assert again != path
    assert len(shard_paths(tmp_path)) == 4
    assert list(directory.runs()["index"]) == [2, 3, 4, 7]


def test_what_is_no_shard_of_a_sweep_is_named(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"other.parquet has no column 'index'"):
        directory.finished()
    with pytest.raises(InputError, match=r"no sweep.json"):
        directory.describe(SPACE, 0)
    with pytest.raises(InputError, match=r"other.parquet is a file"):
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
def test_a_description_that_cannot_be_used_is_named(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    directory = SweepDirectory(tmp_path)
    directory.describe(SPACE, 0)
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(InputError, match=message):
        directory.description()
    file.write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        directory.description()


def test_holding_sweeps_out_what_a_killed_writer_left(tmp_path: Path, said: list[str]) -> None:
    directory = SweepDirectory(tmp_path)
    (tmp_path / "networks").mkdir()
    for name in (".sweep.json.abcd_123.partial", "networks/.x.safetensors.abcd_123.partial"):
        (tmp_path / name).write_text("half")
    unfinished = tmp_path / ".runs-000000-2-0123abcd.abcd_123.partial"
    (unfinished / "networks").mkdir(parents=True)
    (unfinished / "networks" / "x.safetensors").write_text("half")
    others = [
        "kept.txt",
        ".mine.partial",
        "other/.runs-000000-2-0123abcd.abcd_123.partial",
        ".runs-mine.abcd_123.partial/kept.txt",
    ]
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("not of this sweep")
    with directory.hold("a test"):
        left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        assert left == {".lock", *others}
        with (
            pytest.raises(InputError, match="is in use by process"),
            SweepDirectory(tmp_path).hold("another"),
        ):
            pass
    (line,) = said
    assert line == f"removed unfinished shards of an interrupted command: [{unfinished.name!r}]"


class Killed(BaseException):
    pass


def network(seed: int = 0) -> Network:
    return initialize(RunSettings(TaskSettings(modulus=5), TransformerSettings(width=8), seed=seed))


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("moment", ["write_inside", "os.rename"])
def test_a_shard_is_there_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    directory, kept = SweepDirectory(tmp_path), network(1)
    save(network(2), directory.networks / network(2).id)
    row = {"index": 0, "run_id": kept.id}
    room = (
        "algophase.storage.files" if moment == "os.rename" else "algophase.storage.sweep_directory"
    )
    with directory.hold("a test"):
        directory.describe(SPACE, 0)
        with monkeypatch.context() as patch:
            patch.setattr(f"{room}.{moment}", die)
            with pytest.raises(Killed):
                directory.add([row], {}, [{**row, "epoch": 3}], [kept])
        assert files(tmp_path) == {"sweep.json", "networks", ".lock"}
        shard = directory.add([row], {}, [{**row, "epoch": 3}], [kept])
    assert files(shard) == {"runs.parquet", "moments.parquet", "networks"}
    assert files(shard / "networks") == {f"{kept.id}.safetensors", f"{kept.id}.json"}
    assert directory.kept() == {kept.id, network(2).id}
    assert load(directory.kept_files()[kept.id]).id == kept.id
    moments = directory.moments()
    assert moments is not None
    assert moments["epoch"].to_pylist() == [3]
    assert read_table(tmp_path / "moments").equals(moments)
    assert read_table(shard).to_pylist() == [row]


def die(*_: object, **__: object) -> None:
    raise Killed


def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    shared, directory = tmp_path / "shared", SweepDirectory(tmp_path / "sweep")
    shared.mkdir()
    (shared / ".a.safetensors.abcd_123.partial").write_text("another sweep writes it")
    (shared / "kept.txt").write_text("mine")
    with directory.hold("a test"):
        directory.describe(SPACE, 0)
        directory.add(rows(0), {})
    elsewhere = shared / "runs-000001-1-00000000"
    directory.add(rows(1), {}).rename(elsewhere)
    directory.networks.symlink_to(shared)
    (directory.path / ".runs-000000-1-0123abcd.abcd_123.partial").symlink_to(shared)
    (directory.path / elsewhere.name).symlink_to(elsewhere)
    before = files(shared)
    with directory.hold("a test"):
        directory.replace(read_table(directory.path), {})
    assert files(shared) == before
    assert files(elsewhere) == {"runs.parquet"}
    assert not (directory.path / elsewhere.name).exists()
    assert sorted(directory.finished()) == [0, 1]


@pytest.mark.parametrize("how", ["renamed", "removed", "replaced"])
def test_a_directory_that_is_gone_is_noticed_and_not_made_again(tmp_path: Path, how: str) -> None:
    directory, moved = SweepDirectory(tmp_path / "sweep"), tmp_path / "moved"
    with directory.hold("a test"):
        directory.describe(SPACE, 0)
        directory.add(rows(0, 1), {})
        directory.path.rename(moved)
        if how == "removed":
            shutil.rmtree(moved)
        if how == "replaced":
            (tmp_path / "sweep").mkdir()
        for write in (
            lambda: directory.add(rows(2), {}),
            lambda: directory.describe(SPACE, 0),
            lambda: directory.checkpoints().check(),
        ):
            with pytest.raises(
                InputError,
                match=r"was removed.*: 2 runs",
            ):
                write()
    assert directory.path.exists() == (how == "replaced")
    if how == "replaced":
        assert files(directory.path) == set()
    if how == "renamed":
        with SweepDirectory(moved).hold("a test"):
            pass
        assert ".lock" not in files(moved)  # which was left behind when it was moved
        assert sorted(SweepDirectory(moved).finished()) == [0, 1]


def test_it_is_noticed_when_it_goes_while_a_shard_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = SweepDirectory(tmp_path / "sweep")

    def rename_first(*arguments: Any) -> None:
        directory.path.rename(tmp_path / "moved")
        write_inside(*arguments)

    with directory.hold("a test"):
        directory.describe(SPACE, 0)
        monkeypatch.setattr("algophase.storage.sweep_directory.write_inside", rename_first)
        with pytest.raises(InputError, match="was removed"):
            directory.add(rows(2), {})
    assert not directory.path.exists()


def test_it_is_noticed_when_it_goes_while_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = SweepDirectory(tmp_path / "sweep")

    def rename(*_: object) -> None:
        directory.path.rename(tmp_path / "moved")

    monkeypatch.setattr("algophase.storage._lock._name_holder", rename)
    with directory.hold("a test"), pytest.raises(InputError, match="was removed"):
        directory.describe(SPACE, 0)
    assert not directory.path.exists()


def test_a_checkpoint_does_not_make_it_again_either(tmp_path: Path) -> None:
    """Found by the campaign: it went after the look whether it is there, and before the file was
    written.
    """
    directory = SweepDirectory(tmp_path / "sweep")
    ensemble = Ensemble(
        plan([RunSettings(TaskSettings(5), TransformerSettings(8))], device="cpu")[0], Watch()
    )
    with directory.hold("a test"):
        directory.describe(SPACE, 0)
        kept = directory.checkpoints()
        check = kept.check

        def look() -> None:
            if directory.path.exists():
                directory.path.rename(tmp_path / "moved")
            else:
                check()

        kept.check = look
        with pytest.raises(InputError, match="was removed"):
            kept.write(ensemble.checkpoint())
    assert not directory.path.exists()


def strange_shard(path: Path, **changes: Any) -> None:
    """A shard of another sweep, with the same indices."""
    other = SweepDirectory(path / "elsewhere")
    other.describe({**SPACE, "task": {"modulus": 11}, **changes}, 0)
    other.add([{"index": 0, "run_id": "other", "space": "s", "modulus": 11}], {})
    shard_paths(other.path)[0].rename(path / "sweep" / "a.parquet")


@pytest.mark.parametrize("name", ["runs-000000-1-00000000/runs.parquet", "z.parquet"])
@pytest.mark.parametrize("unnamed", [False, True])
def test_a_shard_of_another_sweep_is_refused_by_name_in_any_order(
    tmp_path: Path, name: str, *, unnamed: bool
) -> None:
    directory = SweepDirectory(tmp_path / "sweep")
    directory.describe({**SPACE, "task": {"modulus": 7}}, 0)
    directory.add(rows(0, 1, modulus=7), {})
    strange_shard(tmp_path)
    stranger = tmp_path / "sweep" / "a.parquet"
    if unnamed:  # it does not say of which sweep
        write_shard(stranger, [{"index": 0, "run_id": "other", "modulus": 11}], {})
    (directory.path / name).parent.mkdir(exist_ok=True)
    stranger.rename(directory.path / name)
    why = "it does not say of which it is" if unnamed else "it is of another space or seed"
    for read in (
        directory.finished,
        directory.runs,
        lambda: merge([directory.path], tmp_path / "out"),
    ):
        with pytest.raises(
            InputError,
            match=rf"{name} .*: {why}",
        ):
            read()
    table = open_sweep(directory.path)
    assert len(table.runs) == 2
    assert any(name in line for line in table.problems)


def test_an_index_that_is_two_runs_is_refused_with_both_files(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    directory.describe(SPACE, 0)
    first, second = (directory.add([{"index": 3, "run_id": run_id}], {}) for run_id in "ab")
    first.rename(tmp_path / "runs-1")
    second.rename(tmp_path / "runs-2")
    with pytest.raises(InputError, match=r"run 3 is 'a' in .*/runs-1/.* and 'b' in .*/runs-2/"):
        directory.finished()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"cannot make .*: Not a directory"),
        SweepDirectory(tmp_path / "file" / "x").hold("a test"),
    ):
        pass


def test_networks_are_kept_and_a_torn_pair_is_none(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    network = initialize(RunSettings(TaskSettings(modulus=5), TransformerSettings(width=8)))
    keep(directory, network)
    keep(directory, network)
    assert directory.kept() == {network.id}
    assert load(directory.kept_files()[network.id]).id == network.id
    (directory.networks / "torn.safetensors").write_bytes(b"")
    assert directory.kept() == {network.id}


def test_replacing_the_shards_leaves_one_with_all_runs(tmp_path: Path) -> None:
    directory, kept = SweepDirectory(tmp_path), network()
    directory.add([*rows(0), {"index": 1, "run_id": kept.id}], {"device": "one"}, networks=[kept])
    directory.add(rows(2), {"device": "two"})
    path = directory.replace(read_table(tmp_path), {"shards": directory.calls()})
    assert files(tmp_path) == {path.name}
    assert sorted(directory.finished()) == [0, 1, 2]
    assert [record["device"] for record in directory.calls()] == ["one", "two"]
    again = directory.replace(read_table(tmp_path), {"device": "again"})  # the same runs
    assert files(tmp_path) == {again.name}
    assert [record["device"] for record in directory.calls()] == ["again"]
    assert load(directory.kept_files()[kept.id]).id == kept.id


def test_a_checkpoint_that_cannot_be_read_stays_and_an_empty_folder_goes(tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    (tmp_path / ".checkpoints").mkdir()
    (tmp_path / ".checkpoints" / "x.safetensors").write_bytes(b"")
    directory.complete()
    assert (tmp_path / ".checkpoints" / "x.safetensors").exists()
    (tmp_path / ".checkpoints" / "x.safetensors").unlink()
    directory.complete()
    assert list(tmp_path.iterdir()) == []
