import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_files import read_table, write_shard

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.settings import (
    LinearSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.runs.rows import (
    analysis_of_row,
    decided,
    make_row,
    run_from_row,
    settings_columns,
    timing_columns,
)
from algophase.storage.runs_table import read_runs
from algophase.sweeps.shipped_spaces import PAPER_SPACES
from algophase.training.run.train import train
from algophase.training.run.trained import History, TrainedRun

RUNS = [
    RunSettings(
        TaskSettings(7, equals_sign=True, training_fraction=0.7),
        TransformerSettings(8, 2, activation="gelu", attention_rate=0.1 + 0.2),
        TrainingSettings(epochs=3),
        seed=2**48 - 1,
    ),
    RunSettings(
        TaskSettings(7),
        LinearSettings("delta", 8, 12),
        TrainingSettings(3, 1e-2, 0.5, 0.8, 0.9, 1e-7, 4),
        seed=1,
    ),
    RunSettings(TaskSettings(7), LinearSettings("alpha", 8, 8), TrainingSettings(0), seed=0),
]


@pytest.fixture(scope="module")
def outcomes() -> list[tuple[TrainedRun, Analysis]]:
    found = []
    for trained in train(RUNS, device="cpu"):
        assert trained.network is not None
        found.append((trained, analyze(trained.network)))
    return found


@pytest.fixture(scope="module")
def rows(outcomes: list[tuple[TrainedRun, Analysis]]) -> list[dict[str, Any]]:
    return [dict(make_row("mixed", index, *outcome)) for index, outcome in enumerate(outcomes)]


def test_a_row_has_every_setting_and_every_number(
    outcomes: list[tuple[TrainedRun, Analysis]], rows: list[dict[str, Any]]
) -> None:
    row, (trained, analysis) = rows[0], outcomes[0]
    assert (row["space"], row["index"], row["run_id"]) == ("mixed", 0, RUNS[0].run_id)
    assert row.items() >= settings_columns(RUNS[0]).items()
    assert (row["engine"], row["device"], row["precision"]) == (trained.engine, "cpu", "float32")
    assert (row["epochs_trained"], row["diverged_at"]) == (3, None)
    assert row["validation_loss"] == trained.history.validation_loss[-1]
    assert row["verdict"] == analysis.verdict.label
    assert row["circularity"] == analysis.circularity
    assert row["frequencies"] == [item.circle.frequency for item in analysis.circles]
    assert not any("second" in name and "time" in name for name in row)
    for value in row.values():
        assert not isinstance(value, dict | np.generic)
        assert not (isinstance(value, float) and math.isnan(value))


def test_a_row_gives_its_run_back(rows: list[dict[str, Any]]) -> None:
    assert [run_from_row(row) for row in rows] == RUNS


@pytest.mark.parametrize("together", [True, False], ids=["one shard", "a shard each"])
def test_through_a_table_of_mixed_kinds_where_integers_become_floats(
    tmp_path: Path, rows: list[dict[str, Any]], together: bool
) -> None:
    shards = [rows] if together else [[row] for row in rows]
    for number, shard in enumerate(shards):
        write_shard(tmp_path / f"runs-{number}.parquet", shard, {})
    frame = read_runs(tmp_path)
    assert frame["layers"].dtype.kind == "f"  # a linear model has none
    assert [run_from_row(record) for record in frame.to_dict("records")] == RUNS
    assert [run_from_row(dict(frame.loc[place])) for place in range(len(RUNS))] == RUNS
    assert [run_from_row(record) for record in read_table(tmp_path).to_pylist()] == RUNS
    assert [run_from_row(record).run_id for record in frame.to_dict("records")] == [
        run.run_id for run in RUNS
    ]


def test_a_table_gives_a_relabeling_back(tmp_path: Path) -> None:
    run = RunSettings(
        TaskSettings(5, relabeling=((0, 2, 1, 3, 4), (0, 1, 2, 3, 4))),
        TransformerSettings(width=8),
    )
    write_shard(tmp_path / "a.parquet", [{**settings_columns(run), "run_id": run.run_id}], {})
    records = [*read_runs(tmp_path).to_dict("records"), *read_table(tmp_path).to_pylist()]
    assert [run_from_row(record) for record in records] == [run, run]
    for wrong in ("other", [[0, 1], [1, 0]], [1.5, None], {"a": 1}):
        with pytest.raises(InputError, match="relabeling must be two or three permutations"):
            run_from_row({**records[0], "relabeling": wrong})


def test_even_a_table_of_floats_gives_the_run_back(rows: list[dict[str, Any]]) -> None:
    row = {
        name: float(value) if isinstance(value, int) else value for name, value in rows[0].items()
    }
    assert run_from_row(row) == RUNS[0]


@pytest.mark.parametrize("name", PAPER_SPACES)
def test_every_paper_run_comes_back_from_its_columns(name: str) -> None:
    run = PAPER_SPACES[name].run(11)
    assert run_from_row({**settings_columns(run), "run_id": run.run_id}) == run


def test_a_setting_without_a_column_has_its_default() -> None:
    run = RunSettings(network=TransformerSettings(attention_rate=0.5), seed=3)
    old = {
        "kind": "transformer",
        "attention_rate": 0.5,
        "seed": 3,
        "run_id": run.run_id,
        "beta2": None,
        "layers": math.nan,
    }
    assert run_from_row(old) == run
    linear = RunSettings(network=LinearSettings("gamma"))
    assert run_from_row({"kind": "linear", "model": "gamma", "run_id": linear.run_id}) == linear


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"seed": 5},
            "the settings of run .* give .*: its row was changed, or is another version's",
        ),
        ({"attention_rate": 0.25}, "its row was changed"),
        ({"attention_rate": 2.0}, r"attention_rate is 2.0; it must be a number in \[0, 1\]"),
        ({"run_id": "000000000000"}, "the settings of run 000000000000 give"),
        ({"width": 8.5}, "width of a run is 8.5; it must be of type int"),
        ({"width": "wide"}, "width of a run is 'wide'; it must be of type int"),
        ({"seed": "none"}, "seed of a run is 'none'"),
        ({"equals_sign": 3}, "equals_sign of a run is 3; it must be of type bool"),
        ({"kind": "clock"}, "kind of a run is 'clock'; choose one of transformer, linear"),
        ({"kind": None}, "kind of a run is None"),
        ({"activation": "tanh"}, "activation is 'tanh'"),
    ],
    ids=str,
)
def test_a_row_that_was_changed_is_refused(
    rows: list[dict[str, Any]], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_from_row({**rows[0], **change})


def test_a_diverged_run_has_no_metrics_and_says_when(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    run = replace(RUNS[0], training=TrainingSettings(epochs=4, learning_rate=1e30))
    (trained,) = train([run], device="cpu")
    assert trained.diverged_at is not None
    row = dict(make_row("mixed", 9, trained, None))
    assert row["verdict"] is None
    assert row["diverged_at"] == trained.diverged_at
    assert row["training_loss"] is None
    assert "circularity" not in row
    write_shard(tmp_path / "runs.parquet", [row, rows[0]], {})
    diverged = read_table(tmp_path).to_pylist()[0]
    assert diverged["circularity"] is None
    assert run_from_row(diverged) == run


def test_a_row_gives_its_verdict_instances_and_program_back(
    tmp_path: Path, outcomes: list[tuple[TrainedRun, Analysis]], rows: list[dict[str, Any]]
) -> None:
    """All that a person reads, and other lines without another analysis; what is left out are
    functions and anatomy.
    """
    trained, _ = outcomes[2]
    for place, network in enumerate(
        (handmade_pizza(7, (1, 3), accompanied=True), handmade_clock(7, (1,)))
    ):
        analysis = replace(analyze(network), id=trained.id, anatomy=None)
        write_shard(tmp_path / f"{place}.parquet", [make_row("made", 0, trained, analysis)], {})
        (row,) = read_table(tmp_path / f"{place}.parquet").to_pylist()
        again = analysis_of_row(row)
        assert again is not None
        assert str(again) == str(analysis)
        assert again.verdict.forms == analysis.verdict.forms
        lines = Thresholds(program=1.0, hybrid_share=0.0, circularity=1.0)
        assert again.decide(lines).verdict == analysis.decide(lines).verdict
        assert again.decide(lines).paper == analysis.decide(lines).paper
        assert again.program.profiles.size == 0
        np.testing.assert_allclose(
            again.program.drawn_profiles,
            analysis.program.profiles,
            atol=0.05 * analysis.program.norm,
        )
    changes: list[dict[str, Any]] = [
        {"instances.form": []},
        {"verdict": "magic"},
        {"program.harmonics": [["x"]]},
    ]
    for change in changes:
        assert analysis_of_row({**row, **change}) is None


def test_an_older_row_is_decided_again_from_its_numbers(
    outcomes: list[tuple[TrainedRun, Analysis]],
) -> None:
    """Before there were short cycles, a circle of three points was called a Clock."""
    trained, _ = outcomes[2]
    analysis = replace(analyze(handmade_clock(15, (2, 5))), id=trained.id, anatomy=None)
    row = {**make_row("made", 0, trained, analysis), "modulus": 15}
    assert row["instances.form"] == ["Clock", "short cycle"]
    again = analysis_of_row(row)
    assert again is not None
    assert str(again) == str(analysis)
    assert again.instances.instances[1].period == 3
    older = {
        **row,
        "sentence": "two Clocks",
        "instances.form": ["Clock", "Clock"],
        "pizza_logit_share": 0.5,
    }
    assert decided(older) == decided(row) == row
    reworded = analysis_of_row(
        {**row, "sentence": "a Clock and a short one", "reasons": ["for it is one"] * 9}
    )
    assert reworded is not None
    assert reworded.verdict == again.verdict  # in the words of this version
    by_other_lines = analysis_of_row(
        {**row, "sentence": "a Clock, just so", "nearest_distance": 0.01}
    )
    assert by_other_lines is not None
    assert by_other_lines.verdict.headline == "a Clock, just so (borderline)"
    unknown = {**row, "verdict": None}
    assert decided(unknown) is unknown


def test_a_row_without_a_verdict_has_the_papers_label(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    ours = (
        "verdict",
        "reasons",
        "sentence",
        "additivity",
        "outstanding",
        "named_share",
        "nearest_",
        "pizza_logit",
        "program.",
        "instances.",
    )
    without = {name: value for name, value in rows[0].items() if not name.startswith(ours)}
    write_shard(tmp_path / "runs-old.parquet", [without], {"device": "old"})
    (row,) = read_table(tmp_path).to_pylist()
    assert (row["paper_label"], row["paper_reasons"]) == (
        rows[0]["paper_label"],
        rows[0]["paper_reasons"],
    )
    assert "verdict" not in row
    again = analysis_of_row(row)
    assert again is not None
    assert (again.label, again.verdict.label, again.verdict.known) == (
        row["paper_label"],
        "not analyzed",
        False,
    )
    assert "by the paper's rules" in repr(again)
    assert read_table(tmp_path, ["paper_label", "index"]).column_names == ["paper_label", "index"]
    write_shard(tmp_path / "runs-new.parquet", [rows[1]], {})
    assert [row["verdict"] for row in read_table(tmp_path).to_pylist()] == [
        rows[1]["verdict"],
        None,
    ]


def test_when_a_network_learned_is_read_off_its_looks() -> None:
    validation = np.array([0.0, 0.5, 1.0, 0.9, 0.99, 1.0])
    loss = np.array([4.0, 0.1, 0.01, 0.11, 0.2, 0.05])
    training = np.array([0.0, 0.99, 1.0, 1.0, 1.0, 1.0])
    history = History((0, 5, 10, 15, 20, 22), loss, loss, training, validation, loss)
    columns = timing_columns(history, 5)
    assert columns == {
        "memorized_at": 5,
        "grokked_at": 10,
        "settled_at": 20,
        "loss_jumps": 1,
        "history_stride": 5,
    }
    never = History(history.epochs, loss, loss, training, np.full(6, math.nan), loss)
    assert timing_columns(never, 5)["grokked_at"] is None
