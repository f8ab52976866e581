"""A population's rival accounts: networks that pass are counted by attention rate."""

import runpy
from pathlib import Path

import pandas
import pytest
from fenced import ROOT

STUDY = runpy.run_path(str(ROOT / "studies" / "rival_accounts_by_rate.py"))


def test_outcomes_are_counted_by_rate() -> None:
    table = pandas.DataFrame(
        {
            "run_id": list("abcd"),
            "attention_rate": [0.0, 0.1, 0.6, 1.0],
            "verdict": ["Pizza", "Pizza", "Clock", "Clock"],
            "Pizza": ["passes", "passes", "fails", "fails"],
            "rho-sets": ["by chance", "passes", "fails", "fails"],
            "coset circuits": ["says nothing"] * 4,
        }
    )
    counted = STUDY["by_rate"](table)
    assert counted.columns[1:-1] == [
        "rate 0 to 0.25 (2)",
        "rate 0.25 to 0.5 (0)",
        "rate 0.5 to 0.75 (1)",
        "rate 0.75 to 1 (1)",
    ]
    cells = {row[0]: row[1:-1] for row in counted.rows}
    passes = {row[0]: row[-1] for row in counted.rows}
    assert cells["Pizza"] == ["2", "0", "0", "0"]
    assert cells["rho-sets"] == ["1 and 1 by chance", "0", "0", "0"]
    assert cells["coset circuits"] == ["-", "0", "-", "-"]
    assert (passes["Pizza"].count, passes["Pizza"].total) == (2, 4)
    assert passes["coset circuits"] == "-"


def test_both_accounts_must_agree_with_the_verdict() -> None:
    outcomes = {
        "verdict": ["multiplying", "Clock", "Pizza", "Pizza", "hybrid", "hybrid"],
        "Clock": ["passes", "fails", "fails", "passes", "fails", "passes"],
        "Pizza": ["fails", "fails", "passes", "passes", "fails", "fails"],
    }
    agreement = STUDY["agreement"](pandas.DataFrame(outcomes))
    assert (agreement.count, agreement.total) == (3, 6)


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "rivals.md").read_text(encoding="utf-8")
    table = STUDY["by_rate"](pandas.read_csv(STUDY["TABLE"]))
    assert table.markdown("---") in page
    agreement = str(STUDY["agreement"](pandas.read_csv(STUDY["TABLE"])))
    assert f"**{agreement} networks**" in " ".join(page.split())


@pytest.mark.slow
def test_the_networks_of_a_sweep_are_measured(tmp_path: Path) -> None:
    """The gallery keeps one network of its groups."""
    out = tmp_path / "rivals.csv"
    STUDY["measure"]([ROOT / "gallery" / "groups"], out)
    table = pandas.read_csv(out)
    assert table.run_id.tolist() == ["480509c0af46"]
    assert table["lookup"].tolist() == ["fails"]
    assert table["approximate cosets"].tolist() == ["says nothing"]
