"""The closed forms and the identities behind them, for any modulus and frequency."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from algophase.analysis.circles.formulas import (
    accompanied_frequencies,
    accompanying_logits,
    antipodal_pairs,
    clock_logits,
    failures,
    gap,
    pizza_logits,
    variance_explained,
)
from algophase.analysis.logits.all_pairs import accuracy, correct_logits
from algophase.core.errors import InputError

moduli = st.integers(2, 30)
# Largest | |cos t| - |sin t| - cos 2t |: (s - 1) sqrt(2 - s^2) is largest where 2 s^2 - s - 2 = 0.
# About 0.168.
WORST_S = (1 + math.sqrt(17)) / 4
WORST_GAP = (WORST_S - 1) * math.sqrt(2 - WORST_S**2)


@st.composite
def circles(draw: st.DrawFn) -> tuple[int, int]:
    p = draw(moduli)
    return p, draw(st.integers(1, p - 1))


def numbers(p: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    n = torch.arange(p).double()
    return n[:, None, None], n[None, :, None], n[None, None, :]


@given(circles())
def test_closed_forms_are_what_the_paper_writes(circle: tuple[int, int]) -> None:
    p, k = circle
    w = 2 * math.pi * k / p
    a, b, c = numbers(p)
    clock = torch.cos(w * (a + b - c))
    torch.testing.assert_close(clock_logits(p, k), clock, atol=1e-10, rtol=0)
    pizza = torch.cos(w * (a - b) / 2).abs() * clock
    torch.testing.assert_close(pizza_logits(p, k), pizza, atol=1e-10, rtol=0)
    # appendix A, before it is simplified: |u . E_ab| - |u_perp . E_ab| with u at half the label's
    # angle
    x, y = (torch.cos(w * a) + torch.cos(w * b)) / 2, (torch.sin(w * a) + torch.sin(w * b)) / 2
    u, v = torch.cos(w * c / 2), torch.sin(w * c / 2)
    torch.testing.assert_close(
        pizza_logits(p, k, "absolute-difference"),
        (u * x + v * y).abs() - (u * y - v * x).abs(),
        atol=1e-10,
        rtol=0,
    )
    # appendix D: minus the label's direction times the midpoint on the circle of twice the
    # frequency
    s = (
        (torch.cos(2 * w * a) + torch.cos(2 * w * b)) / 2,
        (torch.sin(2 * w * a) + torch.sin(2 * w * b)) / 2,
    )
    expected = -(torch.cos(w * c) * s[0] + torch.sin(w * c) * s[1])
    torch.testing.assert_close(accompanying_logits(p, k), expected, atol=1e-10, rtol=0)


@given(circles())
def test_two_term_example_is_as_printed(circle: tuple[int, int]) -> None:
    p, k = circle
    w = 2 * math.pi * k / p
    a, b, c = numbers(p)
    quarter = math.pi / 4
    alpha = (torch.cos(w * a) + torch.cos(w * b)).abs() / 2 - (
        torch.sin(w * a) + torch.sin(w * b)
    ).abs() / 2
    beta = (torch.cos(w * a - quarter) + torch.cos(w * b - quarter)).abs() / 2
    beta = beta - (torch.sin(w * a - quarter) + torch.sin(w * b - quarter)).abs() / 2
    expected = alpha * torch.cos(w * c) + beta * torch.sin(w * c)
    torch.testing.assert_close(pizza_logits(p, k, "two-term"), expected, atol=1e-10, rtol=0)


@given(circles())
def test_the_three_pizzas_are_close(circle: tuple[int, int]) -> None:
    p, k = circle
    plain = pizza_logits(p, k)
    assert (pizza_logits(p, k, "absolute-difference") - plain).abs().max() <= WORST_GAP
    assert (pizza_logits(p, k, "two-term") - plain).abs().max() <= WORST_GAP * math.sqrt(
        2
    )  # |cos wc| + |sin wc| of it


@given(circles())
def test_the_absolute_difference_form_is_off_by_its_gap(circle: tuple[int, int]) -> None:
    """With s = |cos t| + |sin t| in [1, sqrt 2], cos 2t = s (|cos t| - |sin t|), so the gap is (s -
    1) | |cos| - |sin| |, and (|cos| - |sin|)^2 = 2 - s^2. Here t = w(a + b - c) / 2."""
    p, k = circle
    a, b, c = numbers(p)
    t = math.pi * k * (a + b - c) / p
    s = t.cos().abs() + t.sin().abs()
    expected = (
        torch.cos(math.pi * k * (a - b) / p).abs() * (s - 1) * (2 - s * s).clamp_min(0).sqrt()
    )
    found = (pizza_logits(p, k, "absolute-difference") - pizza_logits(p, k)).abs()
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=0)


@given(circles())
def test_accuracy_of_one_circle(circle: tuple[int, int]) -> None:
    """A Clock is right everywhere or nowhere: everywhere if its frequency tells all labels apart. A
    Pizza is too, less the antipodal pairs."""
    p, k = circle
    tells_apart = math.gcd(k, p) == 1
    assert accuracy(clock_logits(p, k)) == (1.0 if tells_apart else 0.0)
    for form in ("cosine", "absolute-difference"):
        wrong = failures(pizza_logits(p, k, form)).tolist()
        if tells_apart:
            assert wrong == antipodal_pairs(p, k).tolist()
            assert len(wrong) == (p if p % 2 == 0 else 0)
        else:
            assert len(wrong) == p * p


@given(st.integers(1, 15).map(lambda half: 2 * half), st.data())
def test_no_set_of_pizzas_answers_opposite_pairs_at_even_modulus(
    p: int, data: st.DataObject
) -> None:
    frequencies = data.draw(st.lists(st.integers(1, p - 1), min_size=1, max_size=4, unique=True))
    answered = failures(pizza_logits(p, frequencies)).tolist()
    opposite = [[a, (a + p // 2) % p] for a in range(p)]
    assert all(pair in answered for pair in opposite)


@given(circles(), st.integers(1, 200))
def test_relabeling_multiplies_the_frequency(circle: tuple[int, int], factor: int) -> None:
    """Renaming every token t to factor * t turns frequency k into factor * k."""
    p, k = circle
    renamed = torch.arange(p) * factor % p
    for form in (clock_logits, pizza_logits, accompanying_logits):
        torch.testing.assert_close(
            form(p, k)[renamed][:, renamed][:, :, renamed], form(p, k * factor)
        )


@given(circles())
def test_correct_logits(circle: tuple[int, int]) -> None:
    p, k = circle
    n = torch.arange(p).double()
    assert (correct_logits(clock_logits(p, k)) == 1).all()
    expected = torch.cos(math.pi * k * (n[:, None] - n) / p).abs()
    torch.testing.assert_close(correct_logits(pizza_logits(p, k)), expected, atol=1e-12, rtol=0)


@given(circles())
def test_accompanied_frequencies_solve_the_congruence(circle: tuple[int, int]) -> None:
    p, frequency = circle
    found = accompanied_frequencies(p, frequency)
    assert all((2 * k - frequency) % p == 0 or (2 * k + frequency) % p == 0 for k in found)
    assert frequency not in found
    if p % 2:
        assert len(found) == (0 if 3 * frequency == p else 1)
    elif frequency % 2:
        assert found == []


def test_model_a_accompanying_pairs_follow_from_the_rule() -> None:
    assert [accompanied_frequencies(59, k) for k in (25, 6, 29)] == [[17], [3], [15]]


@given(circles(), st.floats(0.1, 10), st.floats(-10, 10))
def test_variance_explained_ignores_scale_and_shift(
    circle: tuple[int, int], scale: float, shift: float
) -> None:
    p, k = circle
    clock, pizza = clock_logits(p, k), pizza_logits(p, k)
    reference = variance_explained(pizza, clock)
    if math.isnan(reference):
        return
    assert -3 <= reference <= 1 + 1e-12
    assert variance_explained(scale * pizza + shift, clock) == pytest.approx(reference, abs=1e-9)
    assert variance_explained(scale * pizza + shift, pizza) == pytest.approx(1)


def test_variance_explained_of_unrelated_and_opposite_logits() -> None:
    assert variance_explained(clock_logits(11, 1), clock_logits(11, 2)) == pytest.approx(-1)
    assert variance_explained(clock_logits(11, 1), -clock_logits(11, 1)) == pytest.approx(-3)
    assert math.isnan(variance_explained(torch.ones(3, 3, 3), clock_logits(3, 1)))


def test_offset_turns_the_pizza() -> None:
    p, k = 11, 3
    shifted = pizza_logits(
        p, k, offset=2 * math.pi * k * 4 / p
    )  # as if the first operand were a + 4
    n = torch.arange(p)
    rolled = pizza_logits(p, k)[(n + 4) % p]
    expected = correct_logits(rolled[:, :, (n + 4) % p])
    torch.testing.assert_close(correct_logits(shifted), expected)


def test_unknown_forms_are_refused() -> None:
    with pytest.raises(InputError, match="choose one of cosine, absolute-difference, two-term"):
        pizza_logits(7, 1, "square")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="takes no offset"):
        pizza_logits(7, 1, "two-term", offset=0.1)


@given(circles())
def test_neighbors_on_a_circle_are_one_gap_apart(circle: tuple[int, int]) -> None:
    p, frequency = circle
    found = gap(p, frequency)
    if math.gcd(p, frequency) > 1:
        assert found is None
    else:
        assert found is not None
        assert 0 <= found <= p // 2
        assert frequency * found % p in (1 % p, p - 1)
