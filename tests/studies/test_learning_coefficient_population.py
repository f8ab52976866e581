"""Local learning coefficients of a population are measured, and summed up as in the findings."""

import csv
import runpy
from pathlib import Path

import pandas
import pytest
from fenced import ROOT

from algophase import RunSettings, Sampling, TaskSettings, TransformerSettings, initialize, save


def test_coefficients_are_measured_of_a_sweep_and_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "studies" / "learning_coefficient_population.py"))
    told = script["summary"](ROOT / "gallery" / "llc.csv")
    assert [line.split(" networks")[0] for line in told[-2:]] == [
        "published, rate 0, 64",
        "published, rate 1, 64",
    ]
    rows = []
    for seed, accuracy in enumerate((1.0, 0.9, 1.0, 1.0)):
        run = RunSettings(TaskSettings(7), TransformerSettings(8), seed=seed)
        save(initialize(run), tmp_path / "sweep" / "networks" / run.run_id)
        rows.append(
            {
                "index": seed,
                "run_id": run.run_id,
                "verdict": "Pizza",
                "attention_rate": 0.0,
                "accuracy": accuracy,
            }
        )
    measure = script["measure"]
    monkeypatch.setitem(measure.__globals__, "read_runs", lambda _: pandas.DataFrame(rows))
    monkeypatch.setitem(measure.__globals__, "SETTINGS", {"short": Sampling(2, 0, 4)})
    measure(tmp_path / "llc.csv", [tmp_path / "sweep"], 2, "cpu")
    with (tmp_path / "llc.csv").open() as file:
        found = list(csv.DictReader(file))
    assert [row["run_id"] for row in found] == [
        rows[0]["run_id"],
        rows[2]["run_id"],
    ]  # the first two that are right
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in found)
