"""When a retrained network is the table's, and how it is said."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from algophase.analysis.analyze import analyze
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.runs.rows import make_row
from algophase.sweeps.difference import compare, relative_difference
from algophase.training.run.train import train

RUN = RunSettings(
    TaskSettings(7), TransformerSettings(8, attention_rate=0.5), TrainingSettings(epochs=20), seed=4
)


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    (trained,) = train([RUN], device="cpu")
    assert trained.network is not None
    return dict(make_row("s", 0, trained, analyze(trained.network)))


def test_the_digest_of_a_row_says_whether_the_weights_are_the_same(made: dict[str, Any]) -> None:
    other = compare({**made, "weights_digest": "0" * 16}, made, RUN)
    assert other.same_weights is False
    assert other.outcome == "rounding"
    before_digests = {name: value for name, value in made.items() if name != "weights_digest"}
    assert compare(before_digests, made, RUN).same_weights is None


def test_what_differs_is_told(made: dict[str, Any]) -> None:
    row = {**made, "weights_digest": "0" * 16}
    other = compare({**row, "circularity": 0.5, "frequencies": [9]}, made, RUN)
    assert other.differing == {
        "circularity": (made["circularity"], 0.5),
        "frequencies": (made["frequencies"], [9]),
    }
    assert str(other) == (
        "another network than in the table, with the same verdict (not learned): 2 of "
        f"{other.compared} numbers differ"
    )
    assert other.outcome == "another"
    assert not other.same
    reworded = {
        "sentence": "none",
        "reasons": ["accuracy is low"],
        "paper_reasons": [],
        "cautions": ["mind the gap"],
    }
    # an older version's words for the same numbers
    assert compare({**made, **reworded}, made, RUN).outcome == "identical"
    verdict = compare({**row, "verdict": "Pizza"}, made, RUN)
    assert str(verdict) == "another network: it is not learned here, Pizza in the table"
    nothing = {**row, "verdict": None, "paper_label": None}
    assert str(compare(nothing, made, RUN)).endswith(
        "it is not learned here, no verdict in the table"
    )


@pytest.mark.parametrize("apart", [1e-16, 3e-10, 5e-6])
def test_rounding_is_not_another_network(made: dict[str, Any], apart: float) -> None:
    near = compare({**made, "circularity": made["circularity"] * (1 + apart)}, made, RUN)
    without_digest = replace(near, same_weights=None)
    if near.differing:  # 1e-16 may be no difference at all
        assert near.outcome == "same weights"
        assert without_digest.outcome == "rounding"
        assert near.largest[0] == "circularity"
        assert near.largest[1] == pytest.approx(apart, rel=1e-2, abs=3e-16)
        words = f"the same network to the bit; of its analysis 1 of {near.compared} numbers differ"
        assert str(near).startswith(words)
        assert str(without_digest).startswith("the same network up to rounding: 1 of")
        assert str(near).endswith(" of their size (circularity)")
    assert near.same
    assert near.to_the_bit
    assert without_digest.same


def test_the_same_weights_are_the_same_network_however_it_was_analyzed(
    made: dict[str, Any],
) -> None:
    by_another_version = compare({**made, "circularity": 0.5, "frequencies": [9]}, made, RUN)
    assert by_another_version.to_the_bit
    assert by_another_version.same
    assert str(by_another_version) == (
        "the same network to the bit; of its analysis 2 of "
        f"{by_another_version.compared} numbers differ, such as frequencies"
    )


def test_weights_are_compared_to_the_bit(made: dict[str, Any]) -> None:
    equal = compare(made, made, RUN)
    count = equal.compared
    identical = replace(equal, same_weights=True)
    assert identical.outcome == "identical"
    assert (
        str(identical)
        == f"identical: all {count} numbers in the table and its weights are equal to the bit"
    )
    others = replace(equal, same_weights=False)
    assert others.outcome == "rounding"
    assert str(others).endswith(f"weights differ; all {count} numbers are equal to the bit")
    near = compare({**made, "circularity": made["circularity"] * (1 + 1e-9)}, made, RUN)
    assert str(replace(near, same_weights=False)).startswith(
        "the same network up to rounding: weights differ; 1 of"
    )


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (0.5, 0.5, 0.0),
        (1.0, 1.001, 0.001 / 1.001),
        (0.0, 1e-9, 1e-6),  # as a share of a thousandth: zero has no digits
        ([1.0, 1e-6], [1.0, 2e-6], 1e-6),  # as a share of the list's largest
        ([[1.0], [2.0, 4.0]], [[1.0], [2.0, 4.4]], 0.4 / 4.4),
        ([1.0], [1.0, 2.0], math.inf),
        ([1, 2.0], [1, 2.5], 0.2),
        ([1, 2.0], [2, 2.0], math.inf),
        (3, 4, math.inf),
        (True, False, math.inf),
        ("Pizza", "Clock", math.inf),
        (None, 0.5, math.inf),
        (math.inf, 1.0, math.inf),
    ],
)
def test_differences_are_shares_of_the_larger(here: Any, there: Any, expected: float) -> None:
    assert relative_difference(here, there) == pytest.approx(expected, rel=1e-9)
    assert relative_difference(there, here) == pytest.approx(expected, rel=1e-9)


def test_small_networks_of_the_grid_engine_depend_on_their_company_up_to_rounding() -> None:
    """What docs/engines.md says: the same ensemble twice is identical, another one may round
    differently.
    """
    runs = [replace(RUN, seed=seed) for seed in range(4)]
    together = train(runs, "grid", "cpu")
    again = train(runs, "grid", "cpu")
    alone = [train([run], "grid", "cpu")[0] for run in runs]
    for run, one, other, single in zip(runs, together, again, alone, strict=True):
        assert one.network is not None
        assert other.network is not None
        assert single.network is not None
        row = dict(make_row("s", 0, one, analyze(one.network)))
        assert (
            compare(row, dict(make_row("s", 0, other, analyze(other.network))), run).outcome
            == "identical"
        )
        for name, weight in one.network.state_dict().items():
            torch.testing.assert_close(
                single.network.state_dict()[name], weight, rtol=1e-3, atol=1e-4
            )


def test_columns_of_another_version_are_not_compared(made: dict[str, Any]) -> None:
    fewer = {
        name: value for name, value in made.items() if name not in ("circularity", "frequencies")
    }
    difference = compare(
        {**fewer, "of.another.kind": None, "engine": "fused", "space": "t", "index": 7}, made, RUN
    )
    assert difference.same
    assert compare({**made, "retired": 3}, made, RUN).same
    # Read as one table with newer shards, a row has null in the columns that its own shard lacks.
    older = compare({**made, "circularity": None, "frequencies": None}, made, RUN)
    assert older.same
    assert older.compared == compare(made, made, RUN).compared - 2
    lost = {**made, "verdict": None, "paper_label": None, "diverged_at": 3, "circularity": None}
    assert set(compare(lost, made, RUN).differing) == {
        "verdict",
        "paper_label",
        "diverged_at",
        "circularity",
    }
