"""Restricted and excluded losses against their definitions, and the Gini coefficient against
known ones.
"""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.circles.principal import network_components
from algophase.analysis.hidden.progress_measures import (
    embedding_gini,
    held_out_answers,
    progress_measures,
)
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.logits.restricted import key_frequencies_there, parts_by_sum
from algophase.analysis.program.read import program_of_logits
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.core.task import labels, split
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza


def untrained(p: int, **task: Any) -> Network:
    network = TransformerSettings(8, attention_rate=1.0)
    return initialize(RunSettings(TaskSettings(p, **task), network, seed=3))


def mean_loss(logits: Tensor, pairs: Tensor | None = None) -> float:
    p = len(logits)
    labels = ((torch.arange(p)[:, None] + torch.arange(p)) % p).flatten()
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels, reduction="none")
    return (losses if pairs is None else losses[pairs]).mean().item()


def by_definition(logits: Tensor, keys: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Of each output, its projections on cos and sin of w (a + b), one wave after the other."""
    p = len(logits)
    total = (torch.arange(p)[:, None] + torch.arange(p)).double()
    part = torch.zeros_like(logits)
    for k in keys:
        angle = 2 * math.pi * k * total / p
        for wave in (angle.cos(), angle.sin()):
            norm = wave.square().sum()
            if norm > 1e-9:
                part += (wave[..., None] * logits).sum(dim=(0, 1)) / norm * wave[..., None]
    return part + logits.mean(dim=(0, 1)), logits - part


@pytest.mark.parametrize(
    "network",
    [
        handmade_pizza(13, (1, 5)),
        handmade_pizza(12, (1, 5), accompanied=True),
        handmade_clock(8, (1, 4)),
        untrained(7),
        untrained(10),
        untrained(9, equals_sign=True),
    ],
    ids=["odd", "even", "half", "untrained odd", "untrained even", "more outputs than labels"],
)
def test_losses_are_those_of_the_definition(network: Network) -> None:
    logits = grid_logits(network).double()
    program = program_of_logits(logits)
    keys = key_frequencies_there(logits)
    assert set((keys.nonzero().flatten() + 1).tolist()) == set(program.frequencies)
    of_sum, left_out = (part[labels(len(logits))] for part in parts_by_sum(logits))
    restricted, excluded = of_sum, logits - left_out
    expected = by_definition(logits, program.frequencies)
    torch.testing.assert_close(restricted, expected[0])
    torch.testing.assert_close(excluded, expected[1])
    found, analysis = progress_measures(network), analyze(network)
    assert found.frequencies == tuple(sorted(program.frequencies))
    assert [found.loss, found.restricted_loss, found.excluded_loss] == pytest.approx(
        [mean_loss(logits), mean_loss(expected[0]), mean_loss(expected[1])], rel=1e-5
    )
    assert [
        analysis.restricted_loss,
        analysis.excluded_loss,
        analysis.embedding_gini,
    ] == pytest.approx([found.restricted_loss, found.excluded_loss, found.gini])


def test_a_clock_is_all_in_its_key_frequencies() -> None:
    found = progress_measures(handmade_clock(23, (1, 5)))
    assert found.restricted_loss == pytest.approx(found.loss)
    assert found.excluded_loss == pytest.approx(math.log(23))  # nothing is left
    assert math.isnan(found.excluded_training_loss)


def test_excluded_loss_over_the_training_pairs() -> None:
    network = untrained(7)
    assert network.run is not None
    logits = grid_logits(network).double()
    _, excluded = by_definition(logits, program_of_logits(logits).frequencies)
    expected = mean_loss(excluded, split(network.run.task, network.run.seed).training)
    assert progress_measures(network).excluded_training_loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_gini_of_equal_circles(count: int) -> None:
    """Of n norms of which m are equal and the others zero it is 1 - m / n."""
    network = handmade_clock(23, tuple(range(1, count + 1)))
    assert embedding_gini(network_components(network)) == pytest.approx(1 - count / 11)


def test_gini_by_the_definition() -> None:
    components = network_components(untrained(13))
    norms = np.sqrt(components.variance_by_frequency.numpy())
    expected = np.abs(norms[:, None] - norms).sum() / (2 * len(norms) ** 2 * norms.mean())
    assert embedding_gini(components) == pytest.approx(expected)
    constant = handmade_clock(5, (1,))
    with torch.no_grad():
        constant.embed.weight.fill_(1.0)
    assert math.isnan(embedding_gini(network_components(constant)))


@pytest.mark.parametrize("known", [1.0, 0.2])
def test_what_is_known_by_heart_is_no_answer_of_held_out_pairs(known: float) -> None:
    """Of all pairs the answer-following part is right everywhere: the reason for looking at
    held-out pairs alone.
    """
    p, draw = 59, torch.Generator().manual_seed(1)
    training = split(TaskSettings(p), seed=0).training
    learned = training[torch.rand(len(training), generator=draw) < known]
    logits = torch.randn(p * p, p, generator=draw, dtype=torch.float64)
    logits[learned, labels(p).flatten()[learned]] += 10
    program = program_of_logits(logits.view(p, p, p))
    assert program.answer_accuracy == 1
    assert program.accuracy < 0.85 * known + 0.1
    assert held_out_answers(logits.view(p, p, p), training) < 0.2  # chance is 1/59


def test_held_out_answers_by_their_definition() -> None:
    network = untrained(7)
    assert network.run is not None
    training = set(split(network.run.task, network.run.seed).training.tolist())
    logits, right, known = grid_logits(network).double(), 0, 0
    for d in range(7):
        pairs = [(a, (a - d) % 7) for a in range(7) if 7 * a + (a - d) % 7 not in training]
        if pairs:
            means = [
                torch.stack([logits[a, b, (a + b - r) % 7] for a, b in pairs]).mean().item()
                for r in range(7)
            ]
            known, right = known + 1, right + (means[0] > max(means[1:]))
    assert progress_measures(network).held_out_answers == pytest.approx(right / known)
    assert math.isnan(progress_measures(handmade_pizza(13)).held_out_answers)  # nobody trained it
    assert held_out_answers(grid_logits(handmade_pizza(13)), torch.arange(100)) == 1
    assert held_out_answers(
        grid_logits(handmade_pizza(13)), torch.arange(169)
    ).isnan()  # nothing is held out
