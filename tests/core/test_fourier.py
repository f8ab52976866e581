"""Every basis of waves against its definition, at odd, even and small moduli."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from algophase.core.fourier import (
    amplitude_matrix,
    basis,
    circle,
    cos_turn,
    folded,
    frequencies,
    frequency_basis,
    padded_basis,
    sin_turn,
    steps_around,
    transform,
    wave_counts,
    waves_at,
)

MODULI = (2, 3, 4, 7, 12, 59, 60)


@given(st.integers(-10_000, 10_000), st.integers(1, 500))
def test_a_turn_is_the_cosine_of_its_angle(numerator: int, denominator: int) -> None:
    angle = 2 * math.pi * numerator / denominator
    rounding = 1e-14 * (1 + abs(angle))
    number = torch.tensor(numerator)
    assert math.isclose(cos_turn(number, denominator).item(), math.cos(angle), abs_tol=rounding)
    assert math.isclose(sin_turn(number, denominator).item(), math.sin(angle), abs_tol=rounding)


@given(st.integers(-10_000, 10_000), st.integers(1, 500))
def test_the_symmetries_of_the_circle_are_exact(numerator: int, denominator: int) -> None:
    n = torch.tensor(numerator)
    assert cos_turn(n, denominator) == cos_turn(-n, denominator)
    assert cos_turn(n, denominator) == cos_turn(n + denominator, denominator)
    assert sin_turn(n, denominator) == -sin_turn(-n, denominator)
    half_a_turn_further = cos_turn(2 * n + denominator, 2 * denominator)
    assert half_a_turn_further == -cos_turn(2 * n, 2 * denominator)


def test_quarter_turns_are_exactly_zero() -> None:
    assert cos_turn(torch.tensor([1, 3]), 4).tolist() == [0.0, 0.0]
    assert sin_turn(torch.tensor([0, 2]), 4).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("p", MODULI)
def test_the_mean_square_of_a_cosine_is_one_over_its_waves(p: int) -> None:
    for frequency in range(p // 2 + 1):
        mean_square = circle(p, frequency)[:, 0].square().mean().item()
        assert math.isclose(mean_square, 1 / waves_at(p, frequency), rel_tol=1e-12)
    assert wave_counts(p).sum() == p - 1  # together with the constant they span all functions


@pytest.mark.parametrize("p", MODULI)
def test_the_basis_is_orthonormal_and_complete(p: int) -> None:
    rows = basis(p)
    assert rows.shape == (p - 1, p)
    assert torch.allclose(rows @ rows.T, torch.eye(p - 1, dtype=torch.float64), atol=1e-13)
    assert rows.sum(dim=1).abs().max() < 1e-12  # orthogonal to the constant


@pytest.mark.parametrize("p", MODULI)
def test_a_part_of_the_basis_has_the_rows_of_its_frequencies(p: int) -> None:
    members = tuple(frequencies(p))[-2:]
    expected = torch.cat([frequency_basis(p, frequency) for frequency in members])
    assert torch.equal(basis(p, members), expected)
    assert basis(p, ()).shape == (0, p)


@pytest.mark.parametrize("p", MODULI)
def test_the_padded_basis_has_two_rows_for_every_frequency(p: int) -> None:
    rows = padded_basis(p)
    kept = rows[rows.abs().sum(dim=1) > 0]
    assert rows.shape == (1 + 2 * (p // 2), p)
    assert len(kept) == p
    assert torch.allclose(kept @ kept.T, torch.eye(p, dtype=torch.float64), atol=1e-13)
    for frequency in frequencies(p):
        waves = frequency_basis(p, frequency)
        assert torch.equal(rows[2 * frequency - 1 :][: len(waves)], waves)


@pytest.mark.parametrize("p", MODULI)
def test_amplitudes_put_a_function_together_again(p: int) -> None:
    values = np.random.default_rng(p).normal(size=p)
    values -= values.mean()
    of_cosines, of_sines = np.split(values @ amplitude_matrix(p), 2)
    rebuilt = np.zeros(p)
    for index, frequency in enumerate(frequencies(p)):
        cosine, sine = circle(p, frequency).T.numpy()
        rebuilt += of_cosines[index] * cosine + of_sines[index] * sine
    np.testing.assert_allclose(rebuilt, values, atol=1e-12)


@pytest.mark.parametrize("p", MODULI)
def test_the_transform_is_the_discrete_fourier_transform(p: int) -> None:
    values = np.random.default_rng(p).normal(size=p)
    np.testing.assert_allclose(transform(p) @ values, np.fft.fft(values), atol=1e-11)


@pytest.mark.parametrize("p", MODULI)
def test_folding_keeps_the_circle(p: int) -> None:
    every = np.arange(-2 * p, 2 * p)
    assert folded(every, p).tolist() == [folded(int(k), p) for k in every]
    for k in range(-2 * p, 2 * p):
        assert 0 <= folded(k, p) <= p // 2
        assert torch.equal(circle(p, folded(k, p))[:, 0], circle(p, k)[:, 0])
        points = cos_turn(torch.from_numpy(steps_around(p, k)), p)
        assert torch.equal(points, circle(p, k)[:, 0])
