import subprocess
import sys
from pathlib import Path

import numpy
import pyarrow
import pytest
from explored_tables import made_up
from matplotlib.path import Path as Outline
from shard_files import read_table, write_shard

from algophase.core.errors import InputError
from algophase.explore.view import View
from algophase.explore.visible_runs import (
    KEPT,
    VisibleRuns,
    axes,
    colors,
    inside,
    medians,
    open_sweep,
    usual_scale,
    verdict_shares,
)
from algophase.runs.selection import read_condition
from algophase.storage.identity import identity
from algophase.storage.runs_table import Row, each_once, encode_table, read_runs

RUNS = made_up().runs


def places(*conditions: str, **view: object) -> list[int]:
    shown = VisibleRuns(RUNS, View(tuple(map(read_condition, conditions)), **view))  # type: ignore[arg-type]
    assert not shown.view.problems
    return shown.brushed.tolist()


def test_every_run_has_a_verdict() -> None:
    assert RUNS["verdict"].tolist() == ["Pizza", "diverged", "Clock", "not analyzed"]
    counts = verdict_shares(RUNS, numpy.arange(4))
    assert [name for name, _ in counts] == ["Clock", "Pizza", "diverged", "not analyzed"]
    assert all(share.count == 1 and share.total == 4 for _, share in counts)


def test_runs_are_colored_by_either_verdict() -> None:
    both = made_up(paper_label=["Pizza", None, "non-circular", None]).runs
    assert colors(both)[:2] == ["verdict", "paper_label"]
    assert both["paper_label"].tolist() == [
        "Pizza",
        "diverged",
        "non-circular",
        "not analyzed",
    ]
    assert both.verdict_name == "verdict"
    labels = ["Pizza", None, "non-circular", None]
    older = made_up(verdict=[None] * 4, paper_label=labels).runs  # type: ignore[arg-type]
    assert older["verdict"].tolist() == [
        "Pizza",
        "diverged",
        "non-circular",
        "not analyzed",
    ]
    assert older.verdict_name == "paper's label"


def test_runs_are_filtered_by_settings_metrics_and_verdicts() -> None:
    assert places("attention_rate<0.5", y="width") == [0, 1]
    assert places("attention_rate<0.5", "width>16", y="width") == [1]
    assert places("verdict=diverged", y="width") == [1]
    assert places("equals_sign=true", y="width") == [0, 2]
    assert places("activation=null", y="width") == [3]
    assert places("circularity!=null", y="width") == [0, 2, 3]


def test_a_run_without_a_coordinate_is_not_drawn() -> None:
    assert places(y="circularity") == [0, 2, 3]


def test_a_region_is_a_box_or_a_lasso() -> None:
    assert places(y="width", region=((0.3, 0.0), (0.7, 600.0))) == [1, 2]
    assert places(y="width", region=((0.0, 0.0), (0.5, 0.0), (0.5, 600.0), (0.0, 600.0))) == [0, 1]


def test_a_bounded_quantity_is_linear_and_a_wide_range_without_an_end_is_logarithmic() -> None:
    small = [0.001, 0.01, 0.5, 1.0]
    bounded = ("attention_rate", "training_fraction", "beta2", "circularity", "program.explained")
    endless = ("width", "learning_rate", "weight_decay", "validation_loss")
    runs = made_up(**dict.fromkeys([*bounded, *endless], small)).runs  # type: ignore[arg-type]
    assert {usual_scale(runs, column) for column in bounded} == {"linear"}
    assert {usual_scale(runs, column) for column in endless} == {"log"}


def test_zero_has_no_place_on_a_log_axis() -> None:
    runs = made_up(width=[0, 32, 512, 1024]).runs
    assert usual_scale(runs, "width") == "linear"
    assert VisibleRuns(runs, View(y="width")).drawn.tolist() == [0, 1, 2, 3]
    assert VisibleRuns(runs, View(y="width", y_scale="log")).drawn.tolist() == [1, 2, 3]


def test_a_lasso_is_straight_on_the_axes_it_was_drawn_on() -> None:
    corners = (
        (0.0, 10.0),
        (1.0, 10.0),
        (1.0, 1000.0),
    )  # by logarithms, 16 and 512 lie above its long side
    assert places(y="width", region=corners) == [1]
    assert places(y="width", y_scale="linear", region=corners) == [0, 1, 2]


def test_points_in_a_lasso_are_those_matplotlib_finds() -> None:
    random = numpy.random.default_rng(0)
    corners, points = random.random((9, 2)), random.random((500, 2))
    found = inside([tuple(corner) for corner in corners.tolist()], points[:, 0], points[:, 1])
    assert (
        found == Outline([*corners, corners[0]], closed=True).contains_points(points)
    ).mean() > 0.9  # self-crossing
    round_ = (
        numpy.stack(
            [
                numpy.cos(numpy.arange(12) * numpy.pi / 6),
                numpy.sin(numpy.arange(12) * numpy.pi / 6),
            ],
            1,
        )
        / 2
        + 0.5
    )
    found = inside([tuple(corner) for corner in round_.tolist()], points[:, 0], points[:, 1])
    assert (found == Outline([*round_, round_[0]], closed=True).contains_points(points)).all()


@pytest.mark.parametrize(
    ("view", "problem"),
    [
        (
            View((read_condition("attention_rat<0.5"),)),
            "there is no column 'attention_rat'; did you mean attention_rate",
        ),
        (View((read_condition("attention_rate<fast"),)), "column attention_rate holds numbers"),
        (View((read_condition("verdict<Pizza"),)), "use = or !="),
        (View((read_condition("circles.frequency=1"),)), "there is no column 'circles.frequency'"),
        (View(x="<script>"), "x is '<script>', which this table cannot be drawn by"),
        (View(color="run_id"), "color is 'run_id'"),
    ],
)
def test_what_a_table_does_not_have_is_told_and_left_out(view: View, problem: str) -> None:
    shown = VisibleRuns(RUNS, view)
    resolved = shown.view
    assert problem in resolved.problems[0]
    assert len(shown.matching) == 4
    assert (resolved.x, resolved.y, resolved.color) == ("attention_rate", "circularity", "verdict")


def test_medians_leave_out_what_is_missing() -> None:
    rows = {name: rest for name, *rest in medians(RUNS, numpy.arange(4))}
    assert rows["circularity"][0] == 0.5
    assert rows["circularity"][3] == 3
    assert "verdict" not in rows


def test_a_sweep_says_which_weights_it_has(gallery: Path) -> None:
    table = open_sweep(gallery)
    assert len(table.runs) == len(read_runs(gallery))
    assert table.runs[KEPT].sum() == len(list((gallery / "networks").glob("*.safetensors"))) > 0
    assert any("fixed-width" in line for line in table.about)
    assert KEPT in axes(table.runs)
    assert not table.problems


def test_a_broken_shard_costs_a_line_and_the_rest_is_shown(tmp_path: Path) -> None:
    write_shard(tmp_path / "runs-0.parquet", [{"index": 0, "run_id": "0" * 12, "width": 8}], {})
    (tmp_path / "runs-1.parquet").write_bytes(b"PAR1 no")
    table = open_sweep(tmp_path)
    assert len(table.runs) == 1
    assert "runs-1.parquet is not a readable Parquet file" in table.problems[0]
    (tmp_path / "runs-0.parquet").unlink()
    assert len(open_sweep(tmp_path).runs) == 0


def test_a_directory_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no runs"):
        open_sweep(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        open_sweep(tmp_path / "none")


def test_a_table_of_anything_is_read(tmp_path: Path) -> None:
    about = {"sweep": identity({"space": {"title": 3}, "seed": 0})}
    usable = [
        {"run_id": 3, "index": 8, "verdict": 5, "y": 1.0},
        {"run_id": 4, "index": 7, "y": 2.0},
    ]
    write_shard(tmp_path / "a.parquet", usable, about)
    unusable: list[Row] = [{"run_id": 5, "index": "x", "y": 1.0}, {"run_id": 6, "y": 2.0}]
    write_shard(tmp_path / "b.parquet", unusable, about)
    (tmp_path / "sweep.json").write_text(
        '{"format": "algophase-sweep", "version": 1, "space": {"title": 3}, "seed": 0}'
    )
    table = open_sweep(tmp_path)
    assert len(table.runs) == 2
    assert axes(table.runs) == ["index", "y"]
    assert any("no column of run ids" in line for line in table.problems)
    assert any(
        "b.parquet is not a sweep shard: the index of a run is 'x'" in line
        for line in table.problems
    )


def test_a_runs_lists_are_read_from_its_shard(gallery: Path) -> None:
    table = open_sweep(gallery)
    assert "reasons" not in table.runs  # most of a table's memory is in lists
    shards = read_runs(gallery)
    for place in (0, 2000, 3999):
        row, expected = table.row(place), shards.iloc[place]
        assert row["run_id"] == table.runs.columns.texts("run_id", [place])[0] == expected.run_id
        assert row["reasons"] == list(expected.reasons)
        assert row["circles.variance_share"] == list(expected["circles.variance_share"])
        of_its_shard = expected.dropna().index  # newer shards have columns that older ones lack
        assert set(of_its_shard) <= row.keys() <= set(shards.columns)
        assert ("weights_digest" in row) == (place >= 3728)
        assert {name: row[name] for name in ("width", "seed", "verdict")} == {
            name: table.runs.columns.row(place)[name] for name in ("width", "seed", "verdict")
        }


def test_runs_of_several_shards_keep_their_own_rows(tmp_path: Path) -> None:
    runs = [
        {"index": index, "run_id": f"{index:012x}", "width": index, "circles": [index]}
        for index in range(6)
    ]
    write_shard(tmp_path / "runs-a.parquet", [runs[4], runs[1]], {})
    write_shard(tmp_path / "runs-b.parquet", [runs[0], runs[1], runs[5]], {})
    table = open_sweep(tmp_path)
    assert table.runs["index"].tolist() == [0, 1, 4, 5]
    assert [table.row(place)["circles"] for place in range(4)] == [[0], [1], [4], [5]]


def test_a_shard_that_changed_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    shard = tmp_path / "runs-0.parquet"
    write_shard(shard, [{"index": 0, "run_id": "0" * 12, "width": 8}], {})
    table = open_sweep(tmp_path)
    write_shard(shard, [{"index": 0, "run_id": "1" * 12, "width": 9}], {})
    with pytest.raises(InputError, match="was changed since this page was opened"):
        table.row(0)
    shard.unlink()
    with pytest.raises(InputError, match="cannot read"):
        table.row(0)
    assert table.runs.columns.row(0)["width"] == 8


OPEN = """
import re, sys
from pathlib import Path

import pandas, plotly.graph_objects, pyarrow.parquet
import algophase.explore.callbacks, algophase.explore.layout, algophase.explore.own
from algophase.explore.app import make_app

def megabytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1000

before = megabytes("VmRSS")
make_app(Path(sys.argv[1]))
print(megabytes("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_twenty_thousand_runs_need_little_memory(tmp_path: Path, gallery: Path) -> None:
    """Lists of Python objects took 760 MB here, and 6 GB for ten times as many runs."""
    pytest.importorskip("dash")
    one = each_once(read_table(gallery))
    for start in range(0, 20_000, one.num_rows):
        indices = list(range(start, start + one.num_rows))
        part = one.set_column(one.column_names.index("index"), "index", pyarrow.array(indices))
        ids = [f"{index:012x}" for index in indices]
        part = part.set_column(part.column_names.index("run_id"), "run_id", pyarrow.array(ids))
        (tmp_path / f"runs-{start:06d}.parquet").write_bytes(encode_table(part, {}))
    command = [sys.executable, "-c", OPEN, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(answer.stdout) < 250
