"""Runs are drawn from every table, trained again, and counted."""

import re
import runpy
from pathlib import Path

import pytest
from fenced import ROOT

from algophase import Space, sweep
from algophase.sweeps.difference import Difference
from algophase.sweeps.retrain import Sample

STUDY = runpy.run_path(str(ROOT / "studies" / "trained_again.py"))


@pytest.mark.parametrize(
    ("sizes", "runs", "drawn"),
    [
        ([100, 100], 2, [1, 1]),
        ([300, 100], 10, [7, 3]),
        ([1, 1000], 12, [1, 11]),
        ([5, 5, 5], 1, [1, 1, 1]),
    ],
)
def test_every_table_gives_one_run_and_large_ones_more(
    sizes: list[int], runs: int, drawn: list[int]
) -> None:
    assert STUDY["shares"](sizes, runs) == drawn


def test_every_run_is_the_tables_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tiny networks depend on their ensemble up to rounding."""
    for name, runs in (("first", 3), ("second", 2)):
        settings = {"task": {"modulus": 7}, "network": {"width": 8}, "training": {"epochs": 20}}
        sweep(Space.from_dict({"name": name, **settings}), tmp_path / name, runs=runs, device="cpu")
    STUDY["train_again"](["first", "second"], tmp_path, 4, 0, None)
    said = capsys.readouterr().out
    assert "first: of 2 runs" in said
    counts = re.fullmatch(
        r"all: of 4 runs (\d) to the bit, (\d) up to rounding", said.split("\n")[-2]
    )
    assert counts is not None
    assert int(counts[1]) + int(counts[2]) == 4
    STUDY["train_again"](["second"], tmp_path, 1, 0, 0.0)
    assert "second: no time left" in capsys.readouterr().out
    STUDY["train_again"](["second"], tmp_path, 1, 0, None, repeat=3)
    assert capsys.readouterr().out.count("second: of 1 run ") == 3


def test_tables_of_a_cpu_are_left_out() -> None:
    tables = ROOT / "gallery"
    assert STUDY["is_made_on_a_gpu"](tables / "gelu")
    assert not STUDY["is_made_on_a_gpu"](tables / "emergence")


def test_another_network_is_listed_with_the_columns_that_differ() -> None:
    differing = dict.fromkeys("abcdef", (1.0, 2.0))
    differences = {
        7: Difference("Clock", "Pizza", 10, differing),
        8: Difference("Clock", "Clock", 10, {}),
    }
    (line, note) = STUDY["lines_of"](Sample(2, differences, ("trained on a CPU",)))
    assert line.startswith("  run 7: another network: it is Clock here, Pizza in the table: a, b")
    assert line.endswith(" and 2 more")
    assert note == "  trained on a CPU"
