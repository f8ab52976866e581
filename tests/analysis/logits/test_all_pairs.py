import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from algophase.analysis.logits.all_pairs import (
    accuracy,
    by_difference,
    by_difference_and_sum,
    correct_logits,
    cross_entropy,
    grid_logits,
    largest_wrong_logits,
)
from algophase.core import memory
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.core.task import all_pairs, labels, tokens
from algophase.networks import initialize


@st.composite
def logit_cubes(draw: st.DrawFn) -> torch.Tensor:
    p, extra, seed = draw(st.integers(2, 9)), draw(st.integers(0, 3)), draw(st.integers(0, 1000))
    return torch.randn(
        p, p, p + extra, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


@given(logit_cubes())
def test_correct_and_wrong_logits(logits: torch.Tensor) -> None:
    p = len(logits)
    for a in range(p):
        for b in range(p):
            row = logits[a, b].tolist()
            right = row.pop((a + b) % p)
            assert correct_logits(logits)[a, b] == right
            assert largest_wrong_logits(logits)[a, b] == max(row)


@given(logit_cubes())
def test_accuracy_and_cross_entropy_are_the_usual_ones(logits: torch.Tensor) -> None:
    flat, target = logits.flatten(0, 1), labels(len(logits)).flatten()
    assert accuracy(logits) == pytest.approx((flat.argmax(-1) == target).double().mean().item())
    assert cross_entropy(logits) == pytest.approx(
        torch.nn.functional.cross_entropy(flat, target).item(), rel=1e-12
    )


def test_cross_entropy_keeps_its_digits_where_the_usual_form_has_none_left() -> None:
    p = 5
    logits = 50.0 * torch.nn.functional.one_hot(labels(p), p).double()
    assert cross_entropy(logits) == pytest.approx(math.log1p(4 * math.exp(-50)), rel=1e-12)


def test_a_tie_is_not_an_answer() -> None:
    assert accuracy(torch.zeros(4, 4, 4)) == 0


@given(st.integers(2, 12))
def test_rearrangements(p: int) -> None:
    matrix = torch.arange(p * p).double().view(p, p)
    rows = by_difference(matrix)
    assert all(rows[d, i] == matrix[i, (i + d) % p] for d in range(p) for i in range(p))
    cells = by_difference_and_sum(matrix)
    for a in range(p):
        for b in range(p):
            twin = (matrix[a, b] + matrix[(a + p // 2) % p, (b + p // 2) % p]) / 2
            expected = matrix[a, b] if p % 2 else twin
            assert cells[(a - b) % p, (a + b) % p] == expected
    assert int(cells.isnan().sum()) == (0 if p % 2 else p * p // 2)


@pytest.mark.parametrize(
    "task",
    [
        TaskSettings(modulus=6),
        TaskSettings(modulus=5, separate_vocabularies=True),
        TaskSettings(modulus=5, equals_sign=True),
    ],
)
def test_grid_is_the_network_on_every_pair(
    task: TaskSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = initialize(RunSettings(task=task, network=TransformerSettings(width=8)))
    expected = (
        network(tokens(task, all_pairs(task.modulus)))
        .detach()
        .unflatten(0, (task.modulus, task.modulus))
    )
    torch.testing.assert_close(grid_logits(network), expected)
    monkeypatch.setattr(memory, "CHUNK_ELEMENTS", 1)  # one row at a time
    torch.testing.assert_close(grid_logits(network), expected)
