"""`studies/hidden_layers.py` answers from a sweep's table: here a made-up one, with the columns that
it asks for.
"""

import runpy
from pathlib import Path

import numpy as np
import pandas
import pytest
from fenced import ROOT

from algophase.runs.phase_shift import HIDDEN
from algophase.runs.runs import Runs


def test_a_table_is_drawn_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw, count = np.random.default_rng(0), 60
    rate = draw.uniform(0, 1, count)
    outside = rate > 0.6
    columns = {name: 0.9 - 0.3 * outside + 0.01 * draw.standard_normal(count) for name in HIDDEN}
    told = {
        "verdict": np.where(outside, "Clock", "Pizza"),
        "paper_label": np.where(outside, "Clock", "Pizza"),
    }
    numbers = {
        "attention_rate": rate,
        "accuracy": 1.0,
        "gradient_symmetricity": np.where(outside, 0.5, 0.99),
    }
    runs = Runs.of(pandas.DataFrame({**numbers, **told, **columns}), "made")
    script = runpy.run_path(str(ROOT / "studies" / "hidden_layers.py"))
    script["draw_sweep"](runs, tmp_path / "by-rate.png", resamples=20)
    printed = capsys.readouterr().out
    assert printed.startswith("gradients are symmetric below rate 0.")
    assert printed.count("turns at rate 0.") == len(HIDDEN)
    assert printed.count("area 0.000 [0.000, 0.000]") == len(HIDDEN)
    assert (tmp_path / "by-rate.png").stat().st_size > 10_000
