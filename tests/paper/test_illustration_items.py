"""The illustrated items need no data: their claims hold by the formulas, and table 1 by
measurement.
"""

import math
from pathlib import Path

import pytest
from made_items import assert_same_files, make_one, write_networks

from algophase.networks.handmade import handmade_clock
from algophase.paper.sources import Sources


@pytest.mark.parametrize(("label", "claims"), [("clock-pizza", 5), ("accompill", 5)])
def test_what_the_formulas_prove_is_supported(
    label: str, claims: int, empty: Path, tmp_path: Path
) -> None:
    made = make_one(label, Sources(gallery=empty), tmp_path / "out")
    assert [claim.verdict for claim in made.claims] == ["supported"] * claims
    assert [file.name for file in made.files] == [f"{label}.png", f"{label}.svg"]


def test_the_pizza_fails_on_antipodal_pairs_alone(empty: Path, tmp_path: Path) -> None:
    ours = [
        claim.ours
        for claim in make_one("clock-pizza", Sources(gallery=empty), tmp_path / "out").claims
    ]
    assert ours[:2] == ["144 of 144 do", "132 of 132 midpoints in their label's slice"]
    assert ours[2] == "6 pairs with 6 labels"
    assert ours[3] == "wrong or tied: Clock 0, Pizza 12 of 144 pairs"


def test_the_approximation_has_its_known_error(empty: Path, tmp_path: Path) -> None:
    good, flipped = make_one("approx", Sources(gallery=empty), tmp_path / "out").claims
    # (s - 1) sqrt(2 - s^2) with s = |cos t| + |sin t| is largest where 2 s^2 - s - 2 = 0; the
    # Fourier coefficient is 8 / 3 pi.
    s = (1 + math.sqrt(17)) / 4
    assert f"largest deviation {(s - 1) * math.sqrt(2 - s * s):.4f}" in good.ours
    assert f"{8 / (3 * math.pi):.4f} cos 2t" in good.note
    assert (good.verdict, flipped.verdict) == ("supported", "paper contradicts itself")


def test_table_1_from_hand_made_networks_alone(empty: Path, tmp_path: Path) -> None:
    made = make_one("algorithms", Sources(gallery=empty), tmp_path / "out")
    assert [claim.verdict for claim in made.claims] == [*["supported"] * 6, "not tested"]
    assert made.claims[2].ours == "Multiplication, degree 2.00"
    assert made.claims[5].ours == "Absolute value, degree 1.00"
    assert made.source == "networks made by hand"
    assert made.claims[6].note.startswith("the gallery has no line-like yet")


def test_table_1_with_the_released_networks(released: Path, empty: Path, tmp_path: Path) -> None:
    made = make_one("algorithms", Sources(gallery=empty, released=released), tmp_path / "out")
    assert [claim.verdict for claim in made.claims] == [*["supported"] * 6, "not tested"]
    assert made.claims[1].ours == "No (0.0837), No (0.3336)"
    assert made.claims[4].ours == "Yes (1.0000), Yes (0.9937)"
    table = made.files[0].read_text(encoding="utf-8")
    assert (
        "| Clock | the authors' released network l8k1hzciux | Circle (0.9989) | No (0.3336) | - |"
        in table
    )


def test_a_circular_network_does_not_pass_for_a_non_circular_one(
    empty: Path, tmp_path: Path
) -> None:
    made = make_one(
        "algorithms",
        write_networks(empty, {"three-dimensional": handmade_clock()}),
        tmp_path / "out",
    )
    assert made.claims[6].verdict == "not supported"


@pytest.mark.parametrize("label", ["clock-pizza", "approx", "accompill"])
def test_the_same_command_makes_the_same_files(label: str, empty: Path, tmp_path: Path) -> None:
    first, second = (
        make_one(label, Sources(gallery=empty), tmp_path / name) for name in ("first", "second")
    )
    assert_same_files(first, second)
