"""Losses of deep networks are followed closely, and the gallery's are drawn."""

import runpy
from pathlib import Path

import pandas
import pytest
from fenced import ROOT


@pytest.mark.slow
def test_deep_networks_are_followed_and_their_losses_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, table = (
        runpy.run_path(str(ROOT / "studies" / "deep_networks_spike.py")),
        tmp_path / "spikes.csv",
    )
    monkeypatch.setitem(script["followed"].__globals__, "LOOKS", 5)
    monkeypatch.setattr(
        "sys.argv",
        ["deep_networks_spike.py", "train", str(table), "--networks", "1", "--epochs", "10"],
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
