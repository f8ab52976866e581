from typing import Any

import pandas
import pytest
from runs_made import TINY, about

from algophase.runs.overview import (
    SETTING_NAMES,
    describe_origin,
    describe_outcomes,
    describe_space,
    is_finished,
    outcomes,
    varying,
)


@pytest.mark.parametrize(
    ("indices", "finished"),
    [
        ([], True),
        ([0], True),
        ([0, 1, 2, 3], True),
        ([3, 1, 2, 0], True),
        ([1, 3, 5], False),
        ([0, 2, 4], False),  # every second one, as ensembles of a grid of two are finished
        ([0, 1, 3], False),
        ([1, 2, 3], False),
        ([4, 6, 8], False),
        ([0, 2, 4, 5], False),
        ([5], False),
    ],
    ids=str,
)
def test_finished_is_the_first_runs_of_a_space_or_of_a_part(
    indices: list[int], finished: bool
) -> None:
    assert is_finished(indices) is finished


@pytest.mark.parametrize(
    ("indices", "parts", "finished"),
    [
        ([1, 3, 5], [[2, 2]], True),
        ([2], [[3, 3]], True),
        ([0, 4], [[1, 2]], False),
        ([0, 1, 2, 4], [[1, 2], [2, 2]], True),  # both parts from their beginnings
        ([0, 1, 2, 3, 4, 6], [None, [1, 2]], True),  # the whole, then more of a part
        ([0, 2], [None], False),
        ([0, 2], ["1/2"], False),
        ([0, 1], [[1, 0], [1]], True),
    ],
    ids=str,
)
def test_a_part_is_finished_if_the_shards_say_it_is_one(
    indices: list[int], parts: list[Any], finished: bool
) -> None:
    assert (
        is_finished(indices, [{} if part is None else {"part": part} for part in parts]) is finished
    )


def test_an_unfinished_sweep_whose_width_varies_is_no_fair_sample() -> None:
    described: dict[str, Any] = {"space": TINY.to_dict(), "seed": 3}
    assert describe_space(described, [0, 1]) == ["space tiny (made up), seed 3: 2 of the 12 runs"]
    first, gap, fair = describe_space(described, [0, 1, 7])
    assert first.endswith("3 of the 12 runs")
    assert gap == "unfinished: runs between index 0 and 7 are missing"
    assert "one shape after the other" in fair
    assert "as width varies, these runs are not a fair sample" in fair
    described["space"]["network"]["width"] = 8
    assert (
        len(describe_space(described, [0, 1, 7])) == 2
    )  # only the rate varies: any runs are as good as others


def test_what_varies() -> None:
    assert varying(TINY.to_dict()) == ["width", "attention_rate"]
    assert {"modulus", "kind", "model", "epochs", "attention_rate"} <= set(SETTING_NAMES)
    assert "seed" not in SETTING_NAMES


def test_verdicts_and_shares() -> None:
    columns: dict[str, list[Any]] = {
        "verdict": ["Pizza", "Clock", "Pizza", None, None, "new verdict"],
        "diverged_at": [None, None, None, 7, None, None],
        "validation_accuracy": [1.0, 1.0, 0.5, None, 1.0, 1.0],
        "circularity": [0.999, 0.2, 0.999, None, None, 0.995],
    }
    table = pandas.DataFrame(columns)
    assert outcomes(table).value_counts().to_dict() == {
        "Pizza": 2,
        "Clock": 1,
        "diverged": 1,
        "not analyzed": 1,
        "new verdict": 1,
    }
    assert describe_outcomes(table) == [
        "Clock 1 (16.7%), Pizza 2 (33.3%), diverged 1 (16.7%), not analyzed 1 (16.7%), new "
        "verdict 1 (16.7%)",
        "full validation accuracy 4 (66.7%), of which circular 2 (66.7%)",
    ]


def test_the_papers_rules_count_addition_alone() -> None:
    frame = pandas.DataFrame(
        {
            "verdict": ["adding", "Pizza", "Clock"],
            "paper_label": ["non-circular", "Pizza", "Clock"],
            "group": ["S5", None, float("nan")],
        }
    )
    first, second = describe_outcomes(frame)
    assert "adding 1 (33.3%)" in first
    assert second == "by the paper's rules: Clock 1 (50.0%), Pizza 1 (50.0%)"
    assert len(describe_outcomes(frame.iloc[:1])) == 1


def test_outcomes_without_some_columns() -> None:
    assert describe_outcomes(pandas.DataFrame({"width": [1]})) == []
    assert describe_outcomes(pandas.DataFrame({"verdict": ["Pizza"]})) == ["Pizza 1 (100.0%)"]
    assert describe_outcomes(pandas.DataFrame({"validation_accuracy": [1.0, 0.0]})) == [
        "full validation accuracy 1 (50.0%), circularity undefined"
    ]
    undefined: dict[str, list[Any]] = {"validation_accuracy": [1.0], "circularity": [None]}
    assert describe_outcomes(pandas.DataFrame(undefined)) == [
        "full validation accuracy 1 (100.0%), circularity undefined"
    ]


def test_origin_is_a_line_for_each_device_and_version() -> None:
    calls = [
        about("H200", "2026-01-02", 5),
        about("H200", "2026-01-04T05", 6),
        about("CPU", "2026-01-03", 7),
        {},
    ]
    assert describe_origin(calls) == [
        "made 2026-01-02 to 2026-01-04 on H200 by version 0.1.0, commit abc: 11 runs",
        "made 2026-01-03 on CPU by version 0.1.0, commit abc: 7 runs",
        "made at an unknown date on unknown by version unknown, commit unknown: 0 runs",
    ]
