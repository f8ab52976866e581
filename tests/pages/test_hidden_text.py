import math
from typing import Any

from algophase.pages.hidden_text import BettiRow, hidden_lines

PROGRESS = {"loss": 0.5, "restricted_loss": 0.25, "excluded_loss": None, "gini": 0.7}
WITHOUT: dict[str, Any] = {"accuracy": 0.99999, "gradient_symmetricity": None, "instances": []}
NOTHING = {
    "geometry": None,
    "neurons": None,
    "progress_measures": PROGRESS,
    "without_interactions": None,
}


def test_a_network_without_hidden_units_has_its_progress_measures() -> None:
    title, units, progress = hidden_lines(NOTHING, None, [], 1.5)[1:]
    assert "no hidden units" in units
    assert "loss 0.5, restricted 0.25, excluded nan" in progress
    assert title == "  inside the first hidden layer:"


def test_undefined_numbers_are_dashes_and_undefined_means_are_said_so() -> None:
    cluster: dict[str, Any] = {"frequency": 3, "units": 9, "disc": 1.0, "torus": 0.7, "circle": 0.0}
    cluster |= {"logits_circle": None, "product_share": 0.0}
    geometry: dict[str, Any] = {
        "clusters": [cluster],
        "disc": 1.0,
        "torus": 0.7,
        "product_share": 0.0,
    }
    neurons: dict[str, Any] = {"quadrature": [], "mean_fit": 1.0, "resultant": None}
    record = {**NOTHING, "geometry": geometry, "neurons": neurons, "without_interactions": WITHOUT}
    betti = [BettiRow(3, "hidden units", "1, 0, 0 (disc)", 2.0, math.nan, 0.3, "")]
    lines = hidden_lines(record, ["0, 1 are constant"], betti, 1.5)
    assert lines[3].split() == ["3", "9", "1.0000", "0.7000", "0.0000", "-", "0.00%", "-"]
    assert lines[4].endswith("phase resultant undefined")
    assert lines[5] == "    attention heads: 0, 1 are constant"
    assert lines[7].split()[-3:] == ["2.00", "-", "0.30"]
    assert "above 1.50" in lines[8]
    assert "accuracy 99.99%, gradient symmetricity undefined; no instance" in lines[10]
