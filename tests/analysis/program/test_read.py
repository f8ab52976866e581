"""The classes are exact, orthogonal and complete at every p; known networks have known programs."""

from pathlib import Path

import numpy as np
import pytest
import torch
from one_by_one import program
from torch import Tensor

import algophase
from algophase.analysis.circles.formulas import accompanying_logits, clock_logits, pizza_logits
from algophase.analysis.device import in_float64
from algophase.analysis.logits.all_pairs import grid_logits, right_answers
from algophase.analysis.program.read import Program, program_logits, program_of_logits
from algophase.core.fourier import cos_turn
from algophase.networks.handmade import handmade_clock, handmade_pizza


def centered(logits: Tensor) -> Tensor:
    return logits - logits.mean(dim=-1, keepdim=True)


def random_logits(p: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(p).standard_normal((p, p, p)))


def triples(p: int) -> tuple[Tensor, Tensor, Tensor]:
    numbers = torch.arange(p)
    return numbers[:, None, None], numbers[None, :, None], numbers[None, None, :]


@pytest.mark.parametrize("p", [2, 3, 4, 5, 6, 8, 9, 12, 13])
def test_shares_are_those_of_orthogonal_projections(p: int) -> None:
    logits = random_logits(p)
    found = program_of_logits(logits, least_share=0.0)
    x, made = centered(logits), program_logits(found)
    assert found.frequencies == tuple(
        sorted(found.frequencies, key=lambda k: -found.spectrum[k - 1])
    )
    assert set(found.frequencies) == set(range(1, p // 2 + 1))
    parts = [found.answer_share, found.readout_share, found.offset_share, found.rest]
    assert sum(parts) == pytest.approx(1, abs=1e-12)
    assert min(parts) > -1e-12
    assert ((x - made) * made).sum().item() == pytest.approx(0, abs=1e-9 * x.numel())
    assert (x - made).square().sum().item() == pytest.approx(
        found.rest * x.square().sum().item(), abs=1e-9
    )
    assert found.explained == pytest.approx(1 - found.rest, abs=1e-12)
    assert sum(found.frequency_shares) == pytest.approx(found.answer_share, abs=1e-12)


@pytest.mark.parametrize("p", [5, 6, 8, 9])
def test_the_classes_are_the_spans_they_are_said_to_be(p: int) -> None:
    """Against least squares on every indicator function of (d, r), (s, c) and c."""
    logits = random_logits(p)
    x = centered(logits).flatten().numpy()
    a, b, c = (t.expand(p, p, p).flatten() for t in triples(p))
    d, s, r = (a - b) % p, (a + b) % p, (a + b - c) % p

    def held(*labels: Tensor) -> float:
        columns = np.concatenate(
            [np.eye(p * p)[(label % p**2).numpy()] for label in labels], axis=1
        )
        fitted = columns @ np.linalg.lstsq(columns, x, rcond=None)[0]
        return float((fitted**2).sum() / (x**2).sum())

    found = program_of_logits(logits, least_share=0.0)
    assert found.answer_share + found.offset_share == pytest.approx(held(d * p + r, c), abs=1e-9)
    assert found.offset_share == pytest.approx(held(c), abs=1e-9)
    assert found.sum_share == pytest.approx(held(s * p + c), abs=1e-9)
    # With every frequency key, only functions of s alone (none, for logits are centered) are left
    # out of the read-out.
    assert found.explained == pytest.approx(held(d * p + r, s * p + c), abs=1e-9)


@pytest.mark.parametrize("p", [7, 8, 12, 59])
def test_a_clock_a_pizza_and_a_companion_have_their_profiles(p: int) -> None:
    distance, k = torch.arange(p), 3
    logits = clock_logits(p, k) + 2 * pizza_logits(p, k) + 0.5 * accompanying_logits(p, k)
    found = program_of_logits(logits)
    expected = 1 + 2 * cos_turn(k * distance, 2 * p).abs() - 0.5 * cos_turn(k * distance, p)
    assert found.frequencies == (k,)
    assert found.answer_share == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found.profiles[0], expected.numpy(), atol=1e-12)
    np.testing.assert_allclose(found.sine_profiles, 0, atol=1e-12)


@pytest.mark.parametrize("p", [4, 6, 12])
def test_frequency_half_of_p_is_a_key_frequency_and_an_alternating_offset_is_an_offset(
    p: int,
) -> None:
    a, b, c = triples(p)
    half = cos_turn((a + b - c) * (p // 2), p)
    found = program_of_logits(half)
    assert found.frequencies == (p // 2,)
    assert found.frequency_shares[0] == pytest.approx(1)
    np.testing.assert_allclose(found.profiles[0], 1, atol=1e-12)
    offset = cos_turn(
        (c * (p // 2)).expand(p, p, p), p
    )  # which follows the answer, too: (-1)^c = (-1)^d (-1)^r
    found = program_of_logits(offset)
    assert (found.offset_share, found.answer_share) == pytest.approx((1, 0), abs=1e-12)


def test_unequal_axes_and_crosstalk_are_read_out() -> None:
    p = 13
    a, b, c = triples(p)
    s = a + b
    logits = (
        clock_logits(p, (2, 3)) + 0.3 * cos_turn(2 * (s + c), p) + 0.2 * cos_turn(2 * s - 3 * c, p)
    )
    found = program_of_logits(logits)
    whole = 1 + 1 + 0.3**2 + 0.2**2
    assert set(found.frequencies) == {2, 3}
    two, three = found.frequencies.index(2), found.frequencies.index(3)
    assert found.unequal_axes[two] == pytest.approx(0.3**2 / whole)
    assert found.crosstalk[two, three] == pytest.approx(0.2**2 / whole)
    assert found.readout_share == pytest.approx((0.3**2 + 0.2**2) / whole)
    assert found.rest == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(program_logits(found), logits)


def test_extra_outputs_are_no_labels() -> None:
    logits = torch.cat(
        [clock_logits(7, 2), torch.full((7, 7, 3), 5.0, dtype=torch.float64)], dim=-1
    )
    found = program_of_logits(logits)
    assert found.accuracy == 0
    assert found.answer_share == pytest.approx(1)
    assert found.answer_accuracy == 1


def test_constant_logits_have_no_program() -> None:
    found = program_of_logits(torch.ones(5, 5, 5))
    assert found.frequencies == ()
    assert np.isnan(found.norm) is np.False_
    assert found.answer_share == found.readout_share == found.offset_share == 0
    assert program_logits(found).abs().max() == 0


@pytest.mark.parametrize(
    "network", [handmade_clock(11, (1, 4)), handmade_pizza(12, (1, 5), accompanied=True)]
)
def test_block_by_block_is_the_same_as_all_logits_at_once(network: algophase.Network) -> None:
    assert_same(program(network), program_of_logits(grid_logits(network)))


def assert_same(one: Program, other: Program) -> None:
    assert one.frequencies == other.frequencies
    for name in (
        "accuracy",
        "norm",
        "answer_share",
        "readout_share",
        "offset_share",
        "rest",
        "sum_share",
    ):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-10)
    np.testing.assert_allclose(one.profiles, other.profiles, atol=1e-10)
    np.testing.assert_allclose(one.readout, other.readout, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "frequencies", "explained"),
    [
        ("p99zdpze5l", (17, 3, 15), 0.9997),
        ("l8k1hzciux", (13, 16, 21), 0.9964),
        ("p71frej8t7", (29, 24, 14, 17), 0.9995),
        ("qlvxqhkvit", (18, 27, 2, 8, 3, 1, 13), 0.9867),
    ],
)
def test_programs_of_released_networks(
    released: Path, name: str, frequencies: tuple[int, ...], explained: float
) -> None:
    found = program(in_float64(algophase.load(released / f"model_{name}.pt")))
    assert found.frequencies == frequencies
    assert found.explained == pytest.approx(explained, abs=5e-4)
    assert bool(right_answers(program_logits(found)).all())


@pytest.mark.parametrize(
    ("name", "only", "answer", "sums", "frequencies"),
    [
        ("group_transformer_c113", 0.96854, 0.97107, 0.98768, (16, 30, 56)),
        ("group_mlp_c113", 0.93678, 0.93705, 0.93952, (4, 44, 16, 50, 17, 22, 11)),
        ("progress_measures_p113", 0.97478, 0.98154, 0.97985, (23, 6, 37, 41, 39)),
        ("onehot_mlp_p23", 0.78825, 0.87210, 0.81605, (10, 6, 9, 4, 3, 11, 1, 5, 7, 2, 8)),
    ],
)
def test_programs_of_other_groups_networks(
    foreign: Path, name: str, only: float, answer: float, sums: float, frequencies: tuple[int, ...]
) -> None:
    found = program(in_float64(algophase.load(next(foreign.glob(f"{name}.*")))))
    assert found.accuracy == 1
    assert (found.answer_only_share, found.answer_share, found.sum_share) == pytest.approx(
        (only, answer, sums), abs=1e-5
    )
    assert found.frequencies == frequencies
