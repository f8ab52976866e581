"""The hand-made networks compute the closed forms, and every metric has the value theory gives."""

import math

import pytest
import torch

from algophase.analysis.circles.formulas import (
    accompanying_logits,
    antipodal_pairs,
    clock_logits,
    failures,
    pizza_logits,
)
from algophase.analysis.logits.all_pairs import accuracy, grid_logits
from algophase.analysis.logits.metrics import (
    distance_irrelevance,
    gradient_symmetricity,
    gradient_symmetricity_exact,
)
from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_clock, handmade_pizza

CASES = [(59, (1, 5, 17)), (7, (2,)), (12, (1, 5)), (60, (1, 7, 4)), (113, (3, 50))]


@pytest.mark.parametrize(("p", "frequencies"), CASES)
def test_clock_is_the_closed_form(p: int, frequencies: tuple[int, ...]) -> None:
    network = handmade_clock(p, frequencies)
    logits = grid_logits(network)
    torch.testing.assert_close(logits, clock_logits(p, frequencies))
    assert accuracy(logits) == 1
    assert math.isnan(distance_irrelevance(logits))  # all correct logits are equal


@pytest.mark.parametrize(("p", "frequencies"), CASES)
def test_pizza_is_the_absolute_difference_form(p: int, frequencies: tuple[int, ...]) -> None:
    network = handmade_pizza(p, frequencies)
    logits = grid_logits(network)
    torch.testing.assert_close(logits, pizza_logits(p, frequencies, "absolute-difference"))
    assert distance_irrelevance(logits) == pytest.approx(0, abs=1e-12)
    assert accuracy(logits) == (1 if p % 2 else 1 - 1 / p)


@pytest.mark.parametrize(("p", "frequencies"), CASES)
def test_accompanied_pizza_adds_the_accompanying_form_and_is_right_everywhere(
    p: int, frequencies: tuple[int, ...]
) -> None:
    logits = grid_logits(handmade_pizza(p, frequencies, accompanied=True))
    expected = (
        pizza_logits(p, frequencies, "absolute-difference")
        + accompanying_logits(p, frequencies) / 2
    )
    torch.testing.assert_close(logits, expected)
    assert accuracy(logits) == 1
    assert distance_irrelevance(logits) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("p", "frequencies"), CASES[:4])
def test_symmetricity_is_0_for_the_clock_and_1_for_the_pizza(
    p: int, frequencies: tuple[int, ...]
) -> None:
    assert gradient_symmetricity_exact(handmade_clock(p, frequencies)) == pytest.approx(
        0, abs=1e-12
    )
    assert gradient_symmetricity_exact(handmade_pizza(p, frequencies)) == pytest.approx(
        1, abs=1e-12
    )
    assert gradient_symmetricity(handmade_pizza(p, frequencies)) == pytest.approx(1, abs=1e-12)


def test_clock_symmetricity_of_a_pair_is_the_cosine_of_its_distance() -> None:
    network = handmade_clock(13, (2,))
    for a, b in ((0, 0), (3, 7), (12, 1)):
        triples = torch.tensor([[a, b, c] for c in range(13)])
        assert gradient_symmetricity(network, triples) == pytest.approx(
            math.cos(2 * math.pi * 2 * (a - b) / 13)
        )


def test_pizza_at_even_modulus_fails_on_the_antipodal_pairs_and_nowhere_else() -> None:
    wrong = failures(grid_logits(handmade_pizza(60, (1, 7, 4)))).tolist()
    assert wrong == antipodal_pairs(60, 1).tolist()
    assert all((a - b) % 60 == 30 for a, b in wrong)


@pytest.mark.parametrize("bad", [0, 59, -1, True, 2.0])
def test_frequencies_are_checked(bad: object) -> None:
    with pytest.raises(InputError, match="choose integers from 1 to 58"):
        handmade_pizza(59, (bad,))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no frequency given"):
        handmade_clock(59, ())


@pytest.mark.parametrize("bad", [0, 1, -3, True, 7.0])
def test_the_modulus_is_checked_before_its_frequencies(bad: object) -> None:
    for make in (handmade_clock, handmade_pizza):
        with pytest.raises(
            InputError, match=f"modulus is {bad!r}; it must be an integer of at least 2"
        ):
            make(bad, (1,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p", "frequencies"),
    [(2, (1,)), (3, (1,)), (10, (1,)), (12, (1, 5)), (34, (1, 5)), (59, (1, 5, 17))],
)
def test_frequencies_not_given_fit_the_modulus(p: int, frequencies: tuple[int, ...]) -> None:
    assert handmade_clock(p).settings.frequencies == frequencies
    assert accuracy(grid_logits(handmade_clock(p))) == 1
    assert accuracy(grid_logits(handmade_pizza(p, accompanied=True))) == 1
