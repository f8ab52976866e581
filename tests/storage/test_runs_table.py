import errno
import json
import os
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from shard_files import provenance, read_table, write_shard

from algophase.core.errors import InputError
from algophase.storage.runs_table import (
    METADATA_KEY,
    ROWS,
    OpenTable,
    each_once,
    encode_shard,
    read_row,
    read_runs,
    read_shard,
    shard_paths,
)


def shards(directory: Path, *rows: list[dict[str, Any]]) -> Path:
    for number, some in enumerate(rows):
        write_shard(directory / f"runs-{number}.parquet", some, {"number": number})
    return directory


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [
        {
            "index": 0,
            "run_id": "a",
            "x": 0.1 + 0.2,
            "flag": True,
            "names": ["p", "q"],
            "deep": [[1.5], None],
            "gone": None,
        },
        {
            "index": 1,
            "run_id": "b",
            "x": None,
            "flag": None,
            "names": [],
            "deep": None,
            "late": 2**48,
        },
    ]
    table = read_table(shards(tmp_path, rows))
    assert table.to_pylist() == [{**rows[0], "late": None}, {**rows[1], "gone": None}]


def test_the_same_rows_are_the_same_bytes() -> None:
    rows = [{"index": 0, "run_id": "a", "x": 0.5, "names": ["p"]}]
    assert encode_shard(rows, {"date": "today"}) == encode_shard(rows, {"date": "today"})


def test_a_column_missing_or_added_is_null_where_it_is_not(tmp_path: Path) -> None:
    old = [{"index": 0, "run_id": "a", "accuracy": 1.0, "retired": "x"}]
    new = [{"index": 1, "run_id": "b", "accuracy": 0.5, "added": 7, "list": [1]}]
    path = shards(tmp_path, old, new)
    assert read_table(path).to_pylist() == [
        {"index": 0, "run_id": "a", "accuracy": 1.0, "retired": "x", "added": None, "list": None},
        {"index": 1, "run_id": "b", "accuracy": 0.5, "retired": None, "added": 7, "list": [1]},
    ]
    assert OpenTable(path).column_names == [
        "index",
        "run_id",
        "accuracy",
        "retired",
        "added",
        "list",
    ]
    runs = read_runs(path)
    assert list(runs["accuracy"]) == [1.0, 0.5]
    assert runs["added"].isna().tolist() == [True, False]


def test_some_columns(tmp_path: Path) -> None:
    path = shards(
        tmp_path, [{"index": 0, "y": "a"}, {"index": 1, "y": "b"}], [{"index": 2, "x": 1}]
    )
    assert read_table(path, ["index", "x", "z"]).to_pydict() == {
        "index": [0, 1, 2],
        "x": [None, None, 1],
    }


@pytest.mark.parametrize(
    ("old", "new", "joined"),
    [
        (1, 0.5, [1.0, 0.5]),
        (None, "text", [None, "text"]),
        (None, True, [None, True]),
        ([], [3], [[], [3]]),
        (None, [[0.5]], [None, [[0.5]]]),
        ([1], [0.5], [[1.0], [0.5]]),
        ([None], ["x"], [[None], ["x"]]),
    ],
    ids=str,
)
def test_types_that_differ_are_joined_where_nothing_is_lost(
    tmp_path: Path, old: Any, new: Any, joined: list[Any]
) -> None:
    for number, order in enumerate(([old, new], [new, old])):
        path = shards(
            tmp_path / str(number),
            *([{"index": place, "x": value}] for place, value in enumerate(order)),
        )
        found = read_table(path)["x"].to_pylist()
        assert found == (joined if number == 0 else joined[::-1])


def test_types_that_cannot_be_joined_are_one_line(tmp_path: Path) -> None:
    path = shards(tmp_path, [{"index": 0, "x": "text"}], [{"index": 1, "x": 2}])
    with pytest.raises(InputError, match=r"the shards of .*: .*x") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_each_run_is_read_once_the_first_of_several_in_the_order_of_the_index(
    tmp_path: Path,
) -> None:
    first = [{"index": 5, "run_id": "f", "x": 1}, {"index": 1, "run_id": "b", "x": 2}]
    second = [{"index": 1, "run_id": "b", "x": 3}, {"index": 0, "run_id": "a", "x": 4}]
    runs = read_runs(shards(tmp_path, first, second))
    assert runs.to_dict("list") == {"index": [0, 1, 5], "run_id": ["a", "b", "f"], "x": [4, 2, 1]}
    assert list(runs.index) == [0, 1, 2]


def test_each_once_keeps_the_order_where_there_is_no_index() -> None:
    table = pyarrow.table({"run_id": ["b", "a", "b", None, None], "x": [1, 2, 3, 4, 5]})
    assert each_once(table)["x"].to_pylist() == [1, 2, 4, 5]
    assert each_once(pyarrow.table({"x": [2, 1]})).to_pydict() == {"x": [2, 1]}
    assert each_once(pyarrow.table({"index": pyarrow.array([], pyarrow.int64())})).num_rows == 0
    assert each_once(pyarrow.table({"index": [None, 2, None, 1]}))["index"].to_pylist() == [
        1,
        2,
        None,
        None,
    ]


def test_a_shard_says_where_it_comes_from(tmp_path: Path) -> None:
    shards(tmp_path, [{"index": 0}])
    (path,) = shard_paths(tmp_path)
    assert provenance(path) == {"number": 0}
    for content in (
        None,
        {METADATA_KEY: b"no JSON"},
        {METADATA_KEY: b"[1]"},
        {METADATA_KEY: b"\xff"},
    ):
        pyarrow.parquet.write_table(
            pyarrow.table({"x": [1]}).replace_schema_metadata(content), path
        )
        assert provenance(path) == {}


def test_a_bare_file_of_someone_else_is_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    read = {"width": [1, 2], "name": ["x", None]}
    pyarrow.parquet.write_table(pyarrow.table(read), path)
    assert read_table(path).to_pydict() == read
    assert len(read_runs(path)) == 2


def test_a_shard_that_cannot_be_read_just_now_is_not_called_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To remove it would lose finished runs."""
    (shard,) = shard_paths(shards(tmp_path / "sweep", [{"index": 1, "run_id": "b"}]))
    circle = tmp_path / "circle.parquet"
    circle.symlink_to(circle)
    for read in (read_shard, provenance):
        with pytest.raises(
            InputError, match=r"^cannot read \S*/circle.parquet: Too many levels of symbolic links$"
        ):
            read(circle)
    for number in (errno.EACCES, errno.EIO, errno.EMFILE, errno.ESTALE):

        def fail(*_: object, number: int = number, **__: object) -> None:
            raise OSError(
                number, f"Failed to open local file. Detail: [errno {number}] {os.strerror(number)}"
            )

        with monkeypatch.context() as patch:
            patch.setattr(pyarrow.parquet, "ParquetFile", fail)
            patch.setattr(pyarrow.parquet, "read_schema", fail)
            for read in (read_shard, provenance):
                with pytest.raises(InputError) as caught:
                    read(shard)
                assert str(caught.value) == f"cannot read {shard}: {os.strerror(number)}"


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"poem " * 100, None], ids=["empty", "short", "text", "cut"]
)
def test_a_broken_shard_is_named(tmp_path: Path, content: bytes | None) -> None:
    good = encode_shard([{"index": 0, "run_id": "a"}], {})
    shards(tmp_path, [{"index": 1, "run_id": "b"}])
    broken = tmp_path / "runs-broken.parquet"
    broken.write_bytes(good[: len(good) // 2] if content is None else content)
    for read in (read_shard, provenance):
        with pytest.raises(
            InputError,
            match=r"runs-broken.parquet is not a readable Parquet file",
        ):
            read(broken)
    for read_all in (read_runs, OpenTable):
        with pytest.raises(
            InputError, match=r"runs-broken.parquet is not a readable Parquet file"
        ) as caught:
            read_all(tmp_path)
        assert "\n" not in str(caught.value)


def test_no_runs_are_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no table")
    (tmp_path / ".runs-0.parquet.x.partial").write_text("half")
    (tmp_path / ".hidden.parquet").write_text("hidden")
    assert shard_paths(tmp_path) == []
    for read in (read_runs, read_table, OpenTable):
        with pytest.raises(InputError, match="holds no runs"):
            read(tmp_path)
    with pytest.raises(InputError, match="gone does not exist"):
        read_runs(tmp_path / "gone")


def test_the_metadata_of_shards_is_no_part_of_the_table(tmp_path: Path) -> None:
    table = read_table(shards(tmp_path, [{"index": 0}], [{"index": 1}]))
    assert not table.schema.metadata
    assert json.loads(
        pyarrow.parquet.read_schema(tmp_path / "runs-1.parquet").metadata[METADATA_KEY]
    ) == {"number": 1}


def test_a_file_that_is_no_table_is_not_called_a_broken_shard(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("a,b\n1,2\n")
    with pytest.raises(
        InputError,
        match=r"not a readable Parquet file",
    ):
        read_runs(tmp_path / "runs.csv")


def test_along_training_each_run_is_read_once_at_each_epoch(tmp_path: Path) -> None:
    first = [
        {"index": 1, "run_id": "b", "epoch": 5, "x": 1},
        {"index": 1, "run_id": "b", "epoch": 2, "x": 2},
    ]
    second = [
        {"index": 1, "run_id": "b", "epoch": 5, "x": 3},
        {"index": 0, "run_id": "a", "epoch": 5, "x": 4},
    ]
    runs = read_runs(shards(tmp_path, first, second))
    assert list(zip(runs["index"], runs["epoch"], runs["x"], strict=True)) == [
        (0, 5, 4),
        (1, 2, 2),
        (1, 5, 1),
    ]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0, None], "missing"),
        ([0.5, 1.0], "0.5"),
        ([None, None], "missing"),
        (["0", "1"], "'0'"),
        ([True, False], "True"),
    ],
    ids=str,
)
def test_an_index_that_is_no_integer_is_named_with_its_file(
    tmp_path: Path, values: list[Any], told: str
) -> None:
    bad = [{"index": value, "run_id": name} for value, name in zip(values, "ab", strict=True)]
    shards(tmp_path, [{"index": 2, "run_id": "c"}], bad)
    message = (
        rf"/runs-1.parquet is not a sweep shard: the index of a run is {told}; it must be "
        r"an integer"
    )
    for read in (read_runs, read_table):
        with pytest.raises(InputError, match=message):
            read(tmp_path)
    assert read_shard(tmp_path / "runs-1.parquet", ["run_id"])["run_id"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("key", ["index", "run_id"])
def test_a_file_that_does_not_say_which_run_a_row_is_is_no_shard_among_others(
    tmp_path: Path, key: str
) -> None:
    rows = [{"index": place, "run_id": name, "x": 1} for place, name in enumerate("ab")]
    shards(tmp_path, rows[:1], [{name: value for name, value in rows[1].items() if name != key}])
    with pytest.raises(InputError, match=rf"/runs-1.parquet has no column '{key}'"):
        read_runs(tmp_path)
    assert read_table(tmp_path, ["x"]).num_rows == 2


def test_a_large_shard_is_read_whole_and_row_by_row(tmp_path: Path) -> None:
    """Rows are kept in groups, and so much text in lists is counted before it is read."""
    rows = [
        {"index": place, "run_id": f"{place:012x}", "notes": [f"note {place % 7} " * 5, "more"]}
        for place in range(3 * ROWS + 5)
    ]
    shard = tmp_path / "runs.parquet"
    write_shard(shard, rows, {})
    assert pyarrow.parquet.ParquetFile(shard).num_row_groups == 4
    assert read_shard(shard).to_pylist() == rows
    for place in (0, ROWS - 1, ROWS, 3 * ROWS + 4):
        assert read_row(shard, place) == rows[place]
    with pytest.raises(InputError, match=r"runs\.parquet"):
        read_row(shard, len(rows))
