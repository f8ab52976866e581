"""The arms of the intervention begin with the same weights, and the gallery's are drawn."""

import runpy
from pathlib import Path

import pandas
import pytest
from fenced import ROOT


@pytest.mark.slow
def test_branches_go_on_from_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "studies" / "weight_decay_turns_pizzas.py"))
    table = tmp_path / "branches.csv"
    command = [
        "weight_decay_turns_pizzas.py",
        "train",
        str(table),
        "--networks",
        "2",
        "--branch",
        "3",
        "--after",
        "0",
    ]
    monkeypatch.setattr("sys.argv", command)
    script["main"]()
    found = pandas.read_csv(table).drop(columns="weight_decay")
    assert len(found) == 2 * (1 + len(script["ARMS"]))
    for _, some in found.groupby("run_id"):
        assert (
            len(some.drop_duplicates()) == 1
        )  # no epoch more, and every arm is the network at the branch
    shares, products, norms = script["draw"](
        pandas.read_csv(ROOT / "gallery" / "branches.csv")
    ).axes
    assert [text.get_text() for text in products.get_legend().get_texts()] == [
        "Pizza",
        "hybrid",
        "Clock",
        "not learned",
    ]
    assert [label.get_text() for label in norms.get_xticklabels()] == ["before", "2", "0.5", "0"]
    assert shares.get_ylim()[0] == 0
