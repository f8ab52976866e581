"""What the findings say of training, width, weight decay, deep networks and lambda is what
`docs/turning.py`, `branches.py`, `spikes.py` and `llc_population.py` draw from the gallery."""

import csv
import runpy
from pathlib import Path

import numpy
import pandas
import pytest
from fenced import ROOT

from algophase import RunSettings, Sampling, TaskSettings, TransformerSettings, initialise, save


def test_pizzas_come_before_clocks_and_leave_with_the_width() -> None:
    verdicts, parts, widths = runpy.run_path(str(ROOT / "docs" / "turning.py"))["draw"]().axes
    assert [text.get_text() for text in verdicts.get_legend().get_texts()] == [
        "not learned",
        "Pizza",
        "hybrid",
        "Clock",
    ]
    share, right, products = (line.get_ydata() for line in parts.get_lines()[:3])
    assert share[0] == 1 > 0.2 > share[-1]  # a Pizza's share of the logits
    place = numpy.flatnonzero(right == 1)[0]  # the median network answers every held-out pair
    assert share[place] == 1
    assert products[place] < 0.05
    pizzas, clocks = (line.get_ydata() for line in widths.get_lines())
    assert all(pizzas < clocks)
    assert all(numpy.diff(pizzas) > 0)


def test_coefficients_are_measured_of_a_sweep_and_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "llc_population.py"))
    told = script["summary"](ROOT / "gallery" / "llc.csv")
    assert [line.split(" networks")[0] for line in told[-2:]] == [
        "published, rate 0, 64",
        "published, rate 1, 64",
    ]
    rows = []
    for seed, accuracy in enumerate((1.0, 0.9, 1.0, 1.0)):
        run = RunSettings(TaskSettings(7), TransformerSettings(8), seed=seed)
        save(initialise(run), tmp_path / "sweep" / "networks" / run.run_id)
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


@pytest.mark.slow
def test_branches_go_on_from_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "branches.py"))
    table = tmp_path / "branches.csv"
    command = [
        "branches.py",
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


@pytest.mark.slow
def test_deep_networks_are_followed_and_their_losses_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, table = runpy.run_path(str(ROOT / "docs" / "spikes.py")), tmp_path / "spikes.csv"
    monkeypatch.setitem(script["followed"].__globals__, "LOOKS", 5)
    monkeypatch.setattr(
        "sys.argv", ["spikes.py", "train", str(table), "--networks", "1", "--epochs", "10"]
    )
    script["main"]()
    found, kept = pandas.read_csv(table), pandas.read_csv(ROOT / "gallery" / "spikes.csv")
    assert found.epoch.tolist() == 2 * [0, 5, 10]
    assert found.readout_share.notna().tolist() == 2 * [False, True, True]
    assert all(some.training_loss.is_monotonic_decreasing for _, some in found.groupby("layers"))
    for (layers, some), axes in zip(kept.groupby("layers"), script["draw"](kept).axes, strict=True):
        assert axes.get_title() == f"{layers} layers"
        highest = some.groupby("run_id", sort=False).training_loss.max().tolist()
        assert [line.get_ydata().max() for line in axes.get_lines()] == highest
