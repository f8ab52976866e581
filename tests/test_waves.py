import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from algophase.waves import cos_turn, sin_turn

denominators = st.integers(1, 500)
numerators = st.integers(-2000, 2000)


@given(numerators, denominators)
def test_agrees_with_the_cosine_and_sine_of_the_angle(numerator: int, denominator: int) -> None:
    angle = 2 * math.pi * numerator / denominator
    n = torch.tensor(numerator)
    rounding = 1e-15 * (1 + abs(angle))  # of the angle itself, which the reduced form does not have
    assert math.isclose(cos_turn(n, denominator).item(), math.cos(angle), abs_tol=rounding)
    assert math.isclose(sin_turn(n, denominator).item(), math.sin(angle), abs_tol=rounding)


@given(numerators, denominators)
def test_symmetries_hold_to_the_last_bit(numerator: int, denominator: int) -> None:
    n = torch.tensor(numerator)
    assert cos_turn(n, denominator) == cos_turn(-n, denominator) == cos_turn(n + denominator, denominator)
    assert sin_turn(n, denominator) == -sin_turn(-n, denominator)
    assert cos_turn(2 * n + denominator, 2 * denominator) == -cos_turn(2 * n, 2 * denominator)  # half a turn further


def test_quarter_turns_are_exactly_zero() -> None:
    assert cos_turn(torch.tensor([1, 3]), 4).tolist() == [0.0, 0.0]
    assert sin_turn(torch.tensor([0, 2]), 4).tolist() == [0.0, 0.0]
