import math
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from report_pages import made_runs, made_sweep
from runs_made import row, sweep_of
from shard_files import write_shard

from algophase.core.errors import InputError
from algophase.runs.columns import records
from algophase.runs.read_runs import is_sweep, read_frame
from algophase.storage.runs_table import OpenTable


def test_a_table_of_runs_is_told_from_networks(tmp_path: Path) -> None:
    assert is_sweep(made_sweep(tmp_path / "sweep", made_runs(3)))
    assert is_sweep(tmp_path / "runs.parquet")
    (tmp_path / "networks").mkdir()
    assert not is_sweep(tmp_path / "networks")
    assert not is_sweep(tmp_path / "a.safetensors")


def test_columns_are_read_once_a_run_without_nan(tmp_path: Path) -> None:
    sweep_of(tmp_path, [row(3), row(1)], [row(1, added=5), row(0)])
    table = read_frame(OpenTable(tmp_path), ["verdict", "added"])
    assert list(table) == ["index", "run_id", "verdict", "added"]
    assert [list(record.values()) for record in records(table)] == [
        [0, row(0)["run_id"], "Pizza", None],
        [1, row(1)["run_id"], "Clock", 5],  # of copies, the first file's by name
        [3, row(3)["run_id"], "Clock", None],
    ]
    with pytest.raises(InputError, match="no column 'verdicts'; did you mean verdict"):
        read_frame(OpenTable(tmp_path), ["verdicts"])
    pyarrow.parquet.write_table(pyarrow.table({"x": [math.nan, 1.0]}), tmp_path / "bare.parquet")
    assert records(read_frame(OpenTable(tmp_path / "bare.parquet"))) == [{"x": None}, {"x": 1.0}]


def test_moments_are_told_apart_by_their_epoch_wanted_or_not(tmp_path: Path) -> None:
    write_shard(tmp_path / "runs-a.parquet", [row(1, epoch=9), row(1, epoch=3)], {})
    write_shard(tmp_path / "runs-b.parquet", [row(1, epoch=3), row(0, epoch=3)], {})
    found = read_frame(OpenTable(tmp_path), ["verdict"])
    assert list(found) == ["index", "run_id", "epoch", "verdict"]
    assert list(zip(found["index"], found["epoch"], strict=True)) == [(0, 3), (1, 3), (1, 9)]
