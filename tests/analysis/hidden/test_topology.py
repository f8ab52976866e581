"""Betti numbers: known shapes with and without noise, hand-made, trained and published networks,
and what cannot be decided.
"""

import math
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from algophase.analysis.hidden._geometry import ideal_shapes
from algophase.analysis.hidden.topology import LANDMARKS, SHAPES, Betti, betti_numbers, betti_of
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import load

NUMBERS = {shape: numbers for numbers, shape in SHAPES.items()}
GALLERY = Path(__file__).resolve().parents[3] / "gallery"

pytest.importorskip("ripser", reason='ripser is not installed: pip install "algophase[topology]"')


def shape(name: str, p: int, k: int = 3) -> Tensor:
    return ideal_shapes(p, k)[name]


def random(rows: int, columns: int, seed: int = 0) -> Tensor:
    return torch.randn(
        rows, columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def noisy(points: Tensor, share: float, seed: int = 0) -> Tensor:
    """Gaussian noise of this share of the variance, in all dimensions and six more."""
    wide = torch.nn.functional.pad(points, (0, 6))
    size = math.sqrt(share * points.square().sum() / wide.numel())
    return wide + size * random(len(points), wide.shape[1], seed)


def clear(found: Betti) -> bool:
    """No hole comes near the line."""
    return found.not_counted < 1.2 and found.counted > 1.6


@pytest.mark.parametrize("p", [11, 13, 23, 31, 59, 113])
@pytest.mark.parametrize("name", ["disc", "circle", "torus"])
def test_ideal_shapes(name: str, p: int) -> None:
    found = betti_of(shape(name, p), p, 3)
    assert found.numbers == NUMBERS[name], found
    assert found.shape == name
    assert clear(found)
    assert found.hole < 0.71


@pytest.mark.parametrize("p", [23, 59])
@pytest.mark.parametrize("name", ["disc", "circle", "torus"])
def test_noise_of_one_percent_changes_nothing(name: str, p: int) -> None:
    found = betti_of(noisy(shape(name, p), 0.01), p, 3)
    assert found.numbers == NUMBERS[name], found
    assert clear(found)


@pytest.mark.parametrize("name", ["disc", "circle", "torus"])
@pytest.mark.parametrize("share", [0.03, 0.06, 0.1, 0.3])
@pytest.mark.parametrize("seed", [1, 2])
def test_with_more_noise_the_numbers_are_right_or_undecided(
    name: str, share: float, seed: int
) -> None:
    found = betti_of(noisy(shape(name, 31), share, seed), 31, 3)
    assert found.numbers in (NUMBERS[name], None), found
    if share == 0.3:
        assert found.reason.startswith("too coarse or too noisy")


@pytest.mark.parametrize("name", ["disc", "circle", "torus"])
@pytest.mark.parametrize(("p", "k"), [(2, 1), (3, 1), (4, 1), (5, 2), (7, 3), (12, 6), (12, 4)])
def test_few_points_decide_nothing(name: str, p: int, k: int) -> None:
    found = betti_of(shape(name, p, k), p, k)
    assert found.numbers is None
    assert found.shape is None
    assert (
        found.reason.startswith("too coarse or too noisy: balls of radius ")
        or found.reason == "the points do not vary"
    )
    assert str(found) == "undecided"


def test_points_without_a_shape_decide_nothing() -> None:
    assert betti_of(random(23 * 23, 8), 23, 3).reason.startswith("too coarse or too noisy")
    still = betti_of(torch.ones(23 * 23, 8), 23, 3)
    assert (still.numbers, still.reason) == (None, "the points do not vary")
    assert math.isnan(still.counted)


def test_a_frequency_that_shares_a_divisor_with_p_has_fewer_points() -> None:
    found = betti_of(shape("torus", 26, 4), 26, 4)
    assert (found.shape, found.landmarks) == ("torus", 13 * 13)
    assert found.hole == pytest.approx(betti_of(shape("torus", 13, 2), 13, 2).hole)


def test_points_without_anything_in_between_are_pieces() -> None:
    """Waves of frequency 5 do not change by a step of frequency 6 modulo 15, which is 3."""
    assert betti_of(shape("torus", 15, 5), 15, 6).numbers == (9, 0, 0)


def test_neither_size_nor_place_nor_direction_matters() -> None:
    points = shape("torus", 23)
    turned = 7 + 1e4 * points @ torch.linalg.qr(random(5, 4))[0].T
    first, second = betti_of(points, 23, 3), betti_of(turned, 23, 3)
    assert first.numbers == second.numbers
    assert [first.counted, first.not_counted, first.hole] == pytest.approx(
        [second.counted, second.not_counted, second.hole], rel=1e-4
    )


def opened(p: int, size: float) -> Tensor:
    """A disc whose center is a small circle: (2 cos(w(a - b) / 2) e^{iw(a + b) / 2}, size
    e^{iw(a + b)}), a Moebius strip.
    """
    shapes = ideal_shapes(p, 1)
    return torch.cat([shapes["disc"], size * shapes["circle"]], dim=1)


def test_a_small_loop_needs_more_landmarks() -> None:
    """Of radius 0.28, where the points' standard deviation is 1.47. In between, nothing is
    decided.
    """
    coarse, fine = (betti_of(opened(59, 0.4), 59, 1, count) for count in (100, 900))
    assert coarse.shape == "disc"
    assert fine.shape == "circle"
    assert fine.hole < coarse.hole
    assert (coarse.landmarks, fine.landmarks) == (100, 900)
    between = betti_of(opened(59, 0.4), 59, 1)
    assert between.numbers is None
    assert between.reason.endswith("is too near the line, 1.41")


def test_a_large_loop_is_seen_at_once() -> None:
    assert betti_of(opened(59, 1.0), 59, 1).shape == "circle"


def test_a_pizza_made_by_hand_is_a_disc_and_writes_one() -> None:
    """It writes |cos(w(a - b) / 2)| cos(w(a + b - c)): at some distances nearly nothing, so
    there is no hole.
    """
    first, second = betti_numbers(handmade_pizza(23, (2, 5)))
    assert [first.frequency, second.frequency, first.units] == [2, 5, 92]
    assert first.hidden.shape == second.hidden.shape == "disc"
    assert first.logits is not None
    assert first.logits.shape == "disc"
    assert (
        repr(first)
        == "<ClusterBetti: frequency 2, 92 units; hidden 1, 0, 0 (disc), logits 1, 0, 0 (disc)>"
    )


def cluster(file: Path, frequency: int, additive: bool = False) -> Tensor:
    """Pre-activations of the units of one frequency, (p * p, units); additive: without
    interactions of a and b.
    """
    subject = Subject(load(file))
    pre, units, p = subject.pre_activations, subject.units, subject.modulus
    assert pre is not None
    assert units is not None
    read = pre[:, torch.from_numpy(units.clusters[:, frequency - 1] > 0)].view(p, p, -1)
    if additive:
        read = read.mean(dim=0, keepdim=True) + read.mean(dim=1, keepdim=True)
    return read.reshape(p * p, -1)


@pytest.mark.parametrize(
    ("name", "frequency", "expected"),
    [
        ("linear-delta/networks/6dd04500d56c", 27, "torus"),
        ("linear-beta/networks/69fc2f5c6a20", 14, "disc"),
        ("fixed-width/networks/5ed1f0b86c80", 7, "disc"),  # a Pizza
        (
            "fixed-width/networks/da98a6312948",
            17,
            "disc",
        ),  # the Pizza among the Clocks of this network
    ],
)
def test_trained_networks(name: str, frequency: int, expected: str) -> None:
    found = betti_of(cluster(GALLERY / f"{name}.safetensors", frequency), 59, frequency)
    assert found.shape == expected, found
    assert clear(found)
    assert found.landmarks == LANDMARKS


def test_what_a_cluster_of_the_concatenating_model_writes_is_a_circle() -> None:
    found = betti_numbers(load(GALLERY / "linear-delta/networks/6dd04500d56c.safetensors"))
    assert {each.hidden.shape for each in found} == {"torus"}
    assert {each.logits.shape for each in found if each.logits} == {"circle"}
    assert all(
        clear(each.hidden) and each.logits is not None and clear(each.logits) for each in found
    )


def test_interactions_open_the_disc_of_a_clock() -> None:
    clock = GALLERY / "fixed-width/networks/da98a6312948.safetensors"
    assert betti_of(cluster(clock, 11), 59, 11).numbers is None  # too near the line
    found, without = (
        betti_of(cluster(clock, 11, additive), 59, 11, 600) for additive in (False, True)
    )
    assert found.shape == "circle"
    assert without.shape == "disc"


@pytest.mark.parametrize(
    ("name", "frequency", "expected"),
    [("p99zdpze5l", 15, "disc"), ("p71frej8t7", 14, "disc"), ("qlvxqhkvit", 27, "torus")],
)
def test_released_networks(released: Path, name: str, frequency: int, expected: str) -> None:
    found = betti_of(cluster(released / f"model_{name}.pt", frequency), 59, frequency)
    assert found.shape == expected, found
    assert clear(found)


def test_the_released_clock_is_opened_too(released: Path) -> None:
    assert betti_of(cluster(released / "model_l8k1hzciux.pt", 16), 59, 16, 600).shape == "circle"


def test_where_other_units_come_in_between_nothing_is_written() -> None:
    (first, *_) = betti_numbers(
        load(GALLERY / "linear-beta/networks/69fc2f5c6a20.safetensors"), landmarks=50
    )
    assert first.logits is None
    assert "logits" not in repr(first)


def test_unusable() -> None:
    with pytest.raises(InputError, match="is a Clock"):
        betti_numbers(handmade_clock(7, (1,)))
    with pytest.raises(InputError, match=r"landmarks is 2\b.*3"):
        betti_numbers(handmade_pizza(7, (1,)), landmarks=2)


def test_without_ripser_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ripser", None)
    with pytest.raises(InputError, match=r'ripser.*pip install "algophase\[topology\]"'):
        betti_numbers(handmade_pizza(7, (1,)))
