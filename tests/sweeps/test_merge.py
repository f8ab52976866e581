import errno
from pathlib import Path
from typing import Any

import pytest
import torch
from runs_made import TINY, keep, row, sweep_of
from shard_files import read_table, write_shard

from algophase.core.errors import InputError
from algophase.networks import initialize
from algophase.storage import load
from algophase.storage.identity import identity
from algophase.storage.runs_table import read_runs, shard_paths
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps import merge as merging
from algophase.sweeps.merge import Merged, merge
from algophase.sweeps.spaces import Space


def table(path: Path) -> list[dict[str, Any]]:
    return read_table(path).to_pylist()


def contents(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def test_parts_become_one_sweep_with_one_shard(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0), row(4)], [row(2)], device="one")
    sweep_of(tmp_path / "b", [row(1)], [row(5), row(3)], device="two")
    before = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out", "algophase merge") == Merged(
        6, 6, 0, 0, 0, 0
    )
    assert (contents(tmp_path / "a"), contents(tmp_path / "b")) == before  # inputs are only read
    assert table(tmp_path / "out") == [row(index) for index in range(6)]
    out = SweepDirectory(tmp_path / "out")
    assert len(shard_paths(out.path)) == 1
    assert sorted(file.name for file in out.path.iterdir()) == [
        shard_paths(out.path)[0].parent.name,
        "sweep.json",
    ]
    assert out.description() == SweepDirectory(tmp_path / "a").description()
    assert [(call["device"], call["runs"]) for call in out.calls()] == [
        ("one", 2),
        ("one", 1),
        ("two", 1),
        ("two", 2),
    ]
    assert sorted(out.finished()) == list(range(6))


def test_merging_again_and_adding_more_keeps_one_shard_and_every_origin(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0)], device="one")
    sweep_of(tmp_path / "b", [row(1)], device="two")
    sweep_of(tmp_path / "c", [row(2)], device="three")
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert merge([tmp_path / "c"], tmp_path / "out") == Merged(3, 1, 0, 0, 0, 0)
    assert merge([tmp_path / "out"], tmp_path / "out") == Merged(3, 0, 0, 0, 0, 0)
    assert merge([tmp_path / "a"], tmp_path / "out") == Merged(3, 0, 1, 0, 0, 0)
    assert len(shard_paths(tmp_path / "out")) == 1
    assert [call["device"] for call in SweepDirectory(tmp_path / "out").calls()] == [
        "one",
        "two",
        "three",
    ]
    assert table(tmp_path / "out") == [row(index) for index in range(3)]


def test_runs_of_several_states_of_the_code_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sweep_of(tmp_path / "a", [row(0)], commit="one")
    sweep_of(tmp_path / "b", [row(1)], commit="one")
    sweep_of(tmp_path / "c", [row(2)], commit="two")
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert not caplog.text
    merge([tmp_path / "c"], tmp_path / "out")
    assert "version 0.1.0, commit one; version 0.1.0, commit two" in caplog.text


def test_an_input_may_be_the_output_and_its_runs_stay(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0, circularity=0.1), row(1)])
    sweep_of(tmp_path / "b", [row(0, circularity=0.2)], [row(2)])
    assert merge([tmp_path / "a", tmp_path / "b"], tmp_path / "b") == Merged(3, 1, 1, 1, 0, 0)
    assert [run["circularity"] for run in table(tmp_path / "b")] == [0.2, 0.999, 0.999]
    assert len(shard_paths(tmp_path / "b")) == 1


def test_of_copies_the_first_stays_and_those_that_differ_are_counted(tmp_path: Path) -> None:
    elsewhere: dict[str, Any] = {"device": "cuda", "engine": "fused", "precision": "tf32"}
    sweep_of(tmp_path / "a", [row(0), row(1)])
    sweep_of(tmp_path / "b", [row(0), row(1, circularity=0.998)], [row(2)])
    sweep_of(tmp_path / "c", [row(2, **elsewhere), row(1, verdict="Pizza")])
    merged = merge([tmp_path / "a", tmp_path / "b", tmp_path / "c"], tmp_path / "out")
    assert merged == Merged(runs=3, new=3, repeated=4, differing=2, networks=0, unmatched=0)
    assert table(tmp_path / "out") == [row(0), row(1), row(2)]


def test_old_and_new_columns_are_joined(tmp_path: Path) -> None:
    old = {
        name: value for name, value in row(0, retired=3).items() if name != "gradient_symmetricity"
    }
    sweep_of(tmp_path / "a", [old])
    sweep_of(
        tmp_path / "b", [row(1, added=["x"], retired=0.5)], [row(0, added=["y"])]
    )  # a copy of 0 without what is retired
    assert merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out") == Merged(2, 2, 1, 0, 0, 0)
    first, second = table(tmp_path / "out")
    assert (first["retired"], first["added"], first["gradient_symmetricity"]) == (3.0, None, None)
    assert (second["retired"], second["added"], second["gradient_symmetricity"]) == (
        0.5,
        ["x"],
        0.1,
    )
    assert read_runs(tmp_path / "out")["index"].tolist() == [0, 1]


def test_a_copy_of_another_version_is_compared_where_both_have_a_column(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0)])
    sweep_of(tmp_path / "b", [row(0, added=1)])
    sweep_of(tmp_path / "c", [row(0, circularity=0.5, added=1)])
    assert merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out").differing == 0
    assert merge([tmp_path / "c"], tmp_path / "out").differing == 1


def test_a_copy_is_compared_over_the_columns_of_its_own_shard_not_of_its_sweep(
    tmp_path: Path,
) -> None:
    old = [
        {name: value for name, value in row(index).items() if name != "circularity"}
        for index in (0, 1)
    ]
    a = sweep_of(tmp_path / "a", old, [row(2), row(3)])
    b = sweep_of(tmp_path / "b", [row(index) for index in range(4)])
    for index in range(4):
        keep(b, initialize(TINY.run(index)))
    assert merge([a.path, b.path], tmp_path / "out") == Merged(4, 4, 4, 0, 4, 0)
    assert merge([b.path, a.path], tmp_path / "other") == Merged(4, 4, 4, 0, 4, 0)
    # The merged shard has all columns, so that a null in it may be one that the run's own shard
    # lacked.
    assert merge([a.path], tmp_path / "late") == Merged(4, 4, 0, 0, 0, 0)
    assert merge([b.path], tmp_path / "late") == Merged(4, 0, 4, 0, 4, 0)


def test_a_null_beside_a_number_in_shards_that_both_have_the_column_differs(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0, circularity=None), row(1)])
    sweep_of(tmp_path / "b", [row(0), row(1)])
    assert merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out").differing == 1


def test_a_run_that_diverged_in_one_of_two_merged_sweeps_differs(tmp_path: Path) -> None:
    lost = row(
        0,
        verdict=None,
        paper_label=None,
        diverged_at=3,
        circularity=None,
        gradient_symmetricity=None,
        frequencies=None,
    )
    sweep_of(tmp_path / "a", [lost])
    sweep_of(tmp_path / "b", [row(0)])
    for name in "ab":
        merge([tmp_path / name], tmp_path / f"merged-{name}")
    assert merge([tmp_path / "merged-a", tmp_path / "merged-b"], tmp_path / "out").differing == 1
    assert merge([tmp_path / "merged-b", tmp_path / "merged-a"], tmp_path / "other").differing == 1


def test_what_is_not_the_same_sweep_is_refused_with_both_names(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0)])
    sweep_of(tmp_path / "seed", [row(0, seed=1)], seed=1)
    other = Space.from_dict({**TINY.to_dict(), "name": "other"})
    sweep_of(tmp_path / "other", [row(0, other)], space=other)
    wider = Space.from_dict({**TINY.to_dict(), "training": {"epochs": 60}})
    sweep_of(tmp_path / "wider", [row(0, wider)], space=wider)
    for name, message in (
        (
            "seed",
            "/a holds space tiny with seed 0, .*/seed holds space tiny with seed 1: only parts "
            "of the same sweep",
        ),
        ("other", "/a holds space tiny with seed 0, .*/other holds space other with seed 0: only"),
        ("wider", "/wider holds space tiny with seed 0, by another definition: only"),
    ):
        with pytest.raises(InputError, match=message):
            merge([tmp_path / "a", tmp_path / name], tmp_path / "out")
        with pytest.raises(InputError, match="same sweep"):
            merge([tmp_path / "a"], tmp_path / name)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_merged_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0)])
    sweep_of(tmp_path / "tampered", [row(0, run_id="000000000000")])
    nameless = sweep_of(tmp_path / "nameless")
    about = {"sweep": identity(nameless.description())}
    write_shard(nameless.path / "runs.parquet", [{"index": 3, "run_id": None}, row(1)], about)
    sweep_of(tmp_path / "text", [row(1, circularity="round")])
    sweep_of(tmp_path / "broken", [row(1)])
    shard_paths(tmp_path / "broken")[0].write_bytes(b"PAR1")
    sweep_of(tmp_path / "empty")
    (tmp_path / "nothing").mkdir()
    for name, message in (
        (
            "tampered",
            r"run 0 is \w+ in .*/a and 000000000000 in .*/tampered: one of the two is not a run "
            r"of this space",
        ),
        ("nameless", "/nameless has runs without run_id: it is not a sweep's table"),
        ("text", "column circularity holds string; it must hold numbers"),
        ("broken", "does not match its checksum"),
        ("nothing", r"/nothing holds no sweep: there is no sweep.json in it"),
        ("gone", r"/gone holds no sweep"),
    ):
        with pytest.raises(InputError, match=message):
            merge([tmp_path / "a", tmp_path / name], tmp_path / "out")
        assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match=r"no finished run in .*/empty"):
        merge([tmp_path / "empty"], tmp_path / "out")
    with pytest.raises(InputError, match="there is nothing to merge"):
        merge([], tmp_path / "out")
    assert merge([tmp_path / "empty", tmp_path / "a"], tmp_path / "out").runs == 1


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0)])
    sweep_of(tmp_path / "out", [row(1)])
    with (
        SweepDirectory(tmp_path / "out").hold("a sweep"),
        pytest.raises(InputError, match="is in use by process"),
    ):
        merge([tmp_path / "a"], tmp_path / "out")
    assert table(tmp_path / "out") == [row(1)]


@pytest.mark.parametrize("moment", ["write", "remove"])
def test_a_merge_killed_in_between_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before the new shard is in its place the old ones are all there is; until the last old one
    is gone, runs are in two.
    """

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    sweep_of(tmp_path / "a", [row(0, circularity=0.5)], [row(3)], device="elsewhere")
    sweep_of(tmp_path / "out", [row(0)], [row(1)], [row(2)])
    with monkeypatch.context() as patch:
        if moment == "remove":
            patch.setattr("algophase.storage.sweep_directory.remove_directory", die)
        else:
            patch.setattr("algophase.storage.sweep_directory.write_inside", die)
        with pytest.raises(Killed):
            merge([tmp_path / "a"], tmp_path / "out")
    (tmp_path / "out" / ".lock").unlink(missing_ok=True)
    runs = read_runs(tmp_path / "out")
    assert runs["index"].tolist() == ([0, 1, 2, 3] if moment == "remove" else [0, 1, 2])
    assert runs["circularity"].tolist() == [0.999] * len(
        runs
    )  # what was in the output is what is read
    assert merge([tmp_path / "a"], tmp_path / "out").runs == 4
    assert len(shard_paths(tmp_path / "out")) == 1
    calls = SweepDirectory(tmp_path / "out").calls()
    assert [
        (call["device"], call["indices"]) for call in calls if call["device"] == "elsewhere"
    ] == [("elsewhere", [3])]
    assert sorted(index for call in calls for index in call["indices"]) == [0, 1, 2, 3]


def test_networks_come_along_where_the_row_is_theirs(tmp_path: Path) -> None:
    a = sweep_of(tmp_path / "a", [row(0), row(1), row(2)])
    b = sweep_of(tmp_path / "b", [row(1), row(2, circularity=0.5), row(3)])
    networks = [initialize(TINY.run(index)) for index in range(5)]
    keep(a, networks[0])
    for network in networks[
        1:
    ]:  # 1: the same run as in a; 2: a run whose numbers are a's; 4: of a run that never finished
        keep(b, network)
    (b.networks / "torn.safetensors").write_bytes(b"")
    merged = merge([a.path, b.path], tmp_path / "out")
    assert (merged.networks, merged.unmatched) == (3, 2)
    out = SweepDirectory(tmp_path / "out")
    assert out.kept() == {networks[index].id for index in (0, 1, 3)}
    for name in out.kept():
        assert load(out.kept_files()[name]).id == name
    assert merge([a.path, b.path], out.path).networks == 0  # they are there


def test_what_a_killed_sweep_left_in_the_output_is_not_taken_for_the_network_of_a_row(
    tmp_path: Path,
) -> None:
    a, out = sweep_of(tmp_path / "a", [row(0)]), sweep_of(tmp_path / "out", [row(1)])
    network = initialize(TINY.run(0))
    keep(a, network)
    with torch.no_grad():
        next(network.parameters()).add_(1)
    keep(out, network)  # of a run that never came into the table
    assert merge([a.path], out.path).networks == 1
    merged, own = out.kept_files()[network.id], a.kept_files()[network.id]
    assert merged.read_bytes() == own.read_bytes()


def test_a_broken_network_does_not_come_in_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = sweep_of(tmp_path / "a", [row(0)])
    keep(a, initialize(TINY.run(0)))

    def die(path: Path, content: bytes) -> None:
        if path.suffix == ".json":
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr("algophase.storage.sweep_directory.write_inside", die)
        with pytest.raises(InputError, match=r"cannot write .*runs-000000-1-.*: No space left"):
            merge([a.path], tmp_path / "out")
    assert SweepDirectory(tmp_path / "out").finished() == {}
    assert merge([a.path], tmp_path / "out") == Merged(1, 1, 0, 0, 1, 0)
    assert SweepDirectory(tmp_path / "out").kept() == a.kept()


def test_a_source_may_grow_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = sweep_of(tmp_path / "a", [row(0)], [row(1)])

    def grown(path: Path) -> list[Path]:
        found = shard_paths(path)
        if path == a.path:
            keep(a, initialize(TINY.run(2)))
            a.add([row(2)], {"runs": 1}, [row(2, epoch=3)])
        return found

    monkeypatch.setattr(merging, "shard_paths", grown)
    assert merge([a.path], tmp_path / "out") == Merged(2, 2, 0, 0, 0, 1)
    out = SweepDirectory(tmp_path / "out")
    assert sorted(out.finished()) == [0, 1]
    assert out.moments() is None
    assert out.kept() == set()


def test_a_merge_that_fails_in_any_way_leaves_no_empty_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_of(tmp_path / "a", [row(0)])

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(merging, "join", fail)
    with pytest.raises(KeyboardInterrupt):
        merge([tmp_path / "a"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
