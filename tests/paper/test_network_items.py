"""Embeddings that are no circles: planted networks, and the gallery's."""

import math
from pathlib import Path

import pytest
import torch
from made_items import find, make_one, plant, write_networks

from algophase.core.fourier import circle
from algophase.core.settings import LinearSettings, RunSettings
from algophase.networks import Network, initialize
from algophase.paper.network_items import straightness
from algophase.paper.sources import Sources
from algophase.runs.runs import Runs


def planted(table: torch.Tensor) -> Network:
    return plant(
        initialize(RunSettings(network=LinearSettings(model="alpha", width=8, hidden=32))).double(),
        table,
    )


def test_non_circular_embeddings_are_drawn(tmp_path: Path) -> None:
    line = torch.stack(
        [2 * circle(59, 7)[:, 0], circle(59, 4)[:, 0], 0.5 * circle(59, 9)[:, 1]], dim=1
    )
    curve = torch.stack(
        [
            2 * circle(59, 7)[:, 0],
            circle(59, 14)[:, 1] + 1.2 * circle(59, 7)[:, 1],
            circle(59, 21)[:, 0],
        ],
        dim=1,
    )
    sources = write_networks(
        tmp_path, {"line-like": planted(line), "three-dimensional": planted(curve)}
    )
    made = make_one("noncirc", sources, tmp_path / "out")
    assert [file.suffix for file in made.files] == [".png", ".svg"]
    # These have learned nothing, and waves of one axis each count as circular: the rules say so.
    assert [claim.verdict for claim in made.claims] == [
        "not supported",
        "not tested",
        "not supported",
        "supported",
    ]
    assert (
        find(made.claims, "do not form a circle").ours
        == "Line-like: no circle; Three-dimensional: k = 7, purity 0.8447, roundness 0.60"
    )
    assert "wave of frequency 7" in find(made.claims, "line-like").ours
    assert not [
        claim for claim in made.claims if "are found" in claim.text
    ]  # there are no runs to count


def test_shapes_are_counted_where_there_are_runs(gallery: Path, tmp_path: Path) -> None:
    made = make_one("noncirc", Sources(gallery.parent), tmp_path)
    runs = Runs.read(gallery)
    not_circular = len(runs.accurate) - len(runs.circular)
    for text in ("3D Lissajous-like curves are found", "1D lines are found"):
        assert find(made.claims, text).sample == not_circular
    assert {claim.verdict for claim in made.claims if "do not form a circle" in claim.text} == {
        "not supported"
    }


def test_a_straight_line_is_found_in_any_order_of_the_tokens() -> None:
    tokens = torch.arange(59)
    line = (7 * tokens + 20) % 59
    assert straightness(3 - 2.0 * line.double()) == pytest.approx(1)
    assert straightness(circle(59, 7)[:, 0]) == pytest.approx(math.sqrt(6) / math.pi, abs=1e-3)
    assert straightness(line.double() * (tokens % 2)) < 0.95
