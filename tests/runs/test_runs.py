from pathlib import Path

import pytest
from report_pages import ATTACK, made_runs, made_sweep

from algophase.analysis.catalogue import CIRCULARITY, SYMMETRICITY
from algophase.core.errors import InputError
from algophase.runs.runs import Runs


def test_where_circularity_is_null_all_accurate_runs_count() -> None:
    population = Runs.of(made_runs(50, circularity=None), "made")
    assert population.core_name == "accurate runs"
    assert len(population.core) == 50
    without = Runs.of(made_runs(50).drop(columns="circularity"), "made")
    assert without.core_name == "accurate runs"


def test_settings_of_few_values_make_groups() -> None:
    population = Runs.of(made_runs(90, layers=[1, 2, 2] * 30), "made")
    assert [(group.label, len(group)) for group in population.groups()] == [
        ("layers 2", 60),
        ("layers 1", 30),
    ]


def test_tables_that_cannot_be_used_say_why() -> None:
    with pytest.raises(
        InputError,
        match="column validation_accuracy or accuracy; it has index, run_id",
    ):
        Runs.of(made_runs(3).drop(columns=["validation_accuracy", "accuracy"]), "made")
    with pytest.raises(InputError, match="column circularity of made"):
        Runs.of(made_runs(3).assign(circularity="round"), "made")
    endless = Runs.of(made_runs(3, attention_rate=[0.5, float("inf"), -1.0]), "made")
    assert endless.frame["_rate"].isna().sum() == 1
    strange = Runs.of(made_runs(3).assign(verdict=[None, ATTACK, ""]), "made")
    assert strange.frame["_verdict"].tolist() == ["not analyzed", ATTACK, "not analyzed"]


def test_runs_that_count_are_told_from_those_left_out() -> None:
    table = made_runs(
        6, validation_accuracy=[1.0, 1.0, 0.5, None, None, 1.0], diverged_at=[None] * 4 + [7, None]
    )
    table.loc[5, "run_id"] = table.loc[0, "run_id"]
    runs = Runs.of(table, "made")
    assert runs.to_dict() == {
        "name": "made",
        "rows": 6,
        "used": 4,
        "left_out": [
            {"runs": 1, "reason": "a run id that is there already"},
            {"runs": 1, "reason": "unfinished: no validation accuracy"},
        ],
    }
    assert (runs.accuracy_share.count, runs.accuracy_share.total) == (2, 4)
    assert len(runs.accurate) == 2
    with pytest.raises(InputError, match="made has no finished run"):
        Runs.of(made_runs(2, validation_accuracy=None, accuracy=None), "made")


def test_runs_without_validation_pairs_count_by_all_pairs() -> None:
    table = made_runs(3, validation_accuracy=None)
    table["accuracy"] = [1.0, 0.5, 1.0]
    runs = Runs.of(table, "made")
    assert len(runs) == 3
    assert len(runs.accurate) == 2


def test_circular_runs_are_counted_among_all_and_among_accurate_ones() -> None:
    runs = Runs.of(
        made_runs(4, circularity=[0.999, 0.995, 0.9, 0.999], validation_accuracy=[1, 1, 1, 0.5]),
        "made",
    )
    assert runs.core_name == "circular accurate runs"
    assert len(runs.core) == len(runs.circular) == 2
    assert (runs.circular_share.count, runs.circular_share.total) == (3, 4)
    assert (runs.circular_share_of_accurate.count, runs.circular_share_of_accurate.total) == (2, 3)
    assert runs.values(CIRCULARITY).tolist() == [0.999, 0.995, 0.9, 0.999]


def test_a_phase_lies_on_the_pizzas_side_of_its_line() -> None:
    runs = Runs.of(made_runs(3, gradient_symmetricity=[0.97, 0.98, 0.99]), "made")
    assert runs.inside_phase(SYMMETRICITY).tolist() == [
        False,
        False,
        True,
    ]  # a value on the line is not inside
    assert runs.share(runs.inside_phase(SYMMETRICITY)).count == 1
    assert Runs.of(made_runs(300), "made").boundary(SYMMETRICITY, resamples=20).within


def test_a_sweep_is_read_and_asked_for_its_columns(tmp_path: Path) -> None:
    runs = Runs.read(made_sweep(tmp_path / "made", made_runs(5)))
    assert (runs.name, len(runs), "width" in runs) == ("made", 5, True)
    assert runs.require(["width"]) is runs
    with pytest.raises(InputError, match="made has no column depth"):
        runs.require(["depth"])
