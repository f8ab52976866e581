"""Arms are compared by seed, with McNemar's exact test."""

import runpy

import pandas
import pytest
from fenced import ROOT

STUDY = runpy.run_path(str(ROOT / "studies" / "engineered_trio.py"))


def ends_of(accurate: list[bool]) -> pandas.DataFrame:
    """Two seeds in both arms."""
    return pandas.DataFrame(
        {
            "arm": ["sum", "sum", "unrelated", "unrelated"],
            "seed": [1, 2, 1, 2],
            "accurate": accurate,
            "trio": [True, False, True, True],
        }
    )


def test_pairs_are_of_seeds_with_two_accurate_networks() -> None:
    pairs = STUDY["paired"](ends_of([True, True, False, True]), "trio")
    assert pairs.to_dict("index") == {2: {"sum": False, "unrelated": True}}


@pytest.mark.parametrize("accurate", [[True, True, False, False], [True, False, False, True]])
def test_without_a_pair_nothing_is_compared(accurate: list[bool]) -> None:
    pairs = STUDY["paired"](ends_of(accurate), "trio")
    assert STUDY["compare"](pairs) == "no seed has two accurate networks"


def test_the_test_counts_the_pairs_that_differ() -> None:
    alike, only_sum, only_unrelated = [(True, True)] * 5, [(True, False)] * 3, [(False, True)] * 10
    rows = [*alike, *only_sum, *only_unrelated]
    pairs = pandas.DataFrame(rows, columns=["sum", "unrelated"])
    assert STUDY["mcnemar"](pairs) == pytest.approx(0.09228515625)  # twice P(X <= 3) of 13 tosses
