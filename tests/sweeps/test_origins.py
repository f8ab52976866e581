"""Which runs of a merged table each call made."""

from pathlib import Path
from typing import Any

from runs_made import row, sweep_of

from algophase.runs.overview import describe_origin
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps._origins import Shard, origins
from algophase.sweeps.merge import merge


def counts(path: Path) -> list[tuple[str, int, list[int]]]:
    return [
        (call["device"], call["runs"], call["indices"]) for call in SweepDirectory(path).calls()
    ]


def shard(name: str, about: dict[str, Any], *indices: int) -> Shard:
    return Shard(name, frozenset(), about, indices)


def test_runs_that_are_in_two_sources_are_counted_once(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(index) for index in range(6)], device="one")
    sweep_of(
        tmp_path / "b",
        [row(index) for index in range(4)],
        [row(index) for index in range(4, 8)],
        device="two",
    )
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert counts(tmp_path / "out") == [("one", 6, [0, 1, 2, 3, 4, 5]), ("two", 2, [6, 7])]
    lines = describe_origin(SweepDirectory(tmp_path / "out").calls())
    assert [line.rpartition(": ")[2] for line in lines] == ["6 runs", "2 runs"]


def test_a_merged_table_merged_again_is_recounted(tmp_path: Path) -> None:
    sweep_of(tmp_path / "a", [row(0), row(1), row(2)], device="one")
    sweep_of(tmp_path / "b", [row(3), row(4)], device="two")
    sweep_of(tmp_path / "c", [row(1), row(3), row(5)], device="three")
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "ab")
    merge([tmp_path / "c", tmp_path / "ab"], tmp_path / "out")
    assert counts(tmp_path / "out") == [
        ("three", 3, [1, 3, 5]),
        ("one", 2, [0, 2]),
        ("two", 1, [4]),
    ]
    before = counts(tmp_path / "out")
    merge([tmp_path / "a", tmp_path / "ab"], tmp_path / "out")
    assert counts(tmp_path / "out") == before


def test_a_part_of_a_shard_has_its_part_of_the_time() -> None:
    one = shard(
        "a",
        {"runs": 4, "training_seconds": 10.0, "analysis_seconds": 1.0, "device": "one"},
        0,
        1,
        2,
        3,
    )
    (record,) = origins([(1, one)])
    assert record == {
        "shard": "a",
        "device": "one",
        "runs": 1,
        "indices": [1],
        "training_seconds": 2.5,
        "analysis_seconds": 0.25,
    }


def test_the_same_call_in_an_old_shard_and_in_a_merged_one_is_one() -> None:
    """As a killed merge leaves it."""
    old = shard("a", {"runs": 3, "training_seconds": 3.0}, 0, 1, 2)
    merged = shard(
        "m",
        {
            "shards": [
                {"shard": "a", "runs": 3, "training_seconds": 3.0, "indices": [0, 1, 2]},
                {"shard": "b"},
            ]
        },
        0,
    )
    assert origins([(0, merged), (1, old), (2, old)])[0] == {
        "shard": "a",
        "runs": 3,
        "indices": [0, 1, 2],
        "training_seconds": 3.0,
    }


def test_what_a_merged_table_does_not_say_is_left_out() -> None:
    known = [{"shard": "a", "runs": 5, "device": "one"}, {"shard": "b", "runs": 1}, "no record"]
    merged = shard("m", {"shards": known}, 0, 1, 2, 3, 4, 5)
    assert origins((index, merged) for index in range(6)) == []
    alone = shard("m", {"shards": known[:1]}, 0, 1, 2, 3, 4)
    assert [(record["runs"], record["indices"]) for record in origins([(2, alone)])] == [(1, [2])]
