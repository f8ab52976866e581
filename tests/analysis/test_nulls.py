"""Networks without an algorithm, or with a known one in disguise, are called what they are.
These tests are kept for good.
"""

import numpy as np
import pytest
import torch
from made_networks import (
    embedding,
    lookup,
    random_labels,
    relabeled,
    right_labels,
    rotated,
    shuffled,
)
from one_by_one import answer_of, found_in

from algophase.analysis.circles.formulas import clock_logits
from algophase.analysis.verdict.decide import decide
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza


@pytest.mark.parametrize("width", [2, 6])
@pytest.mark.parametrize("kind", ["gaussian", "orthonormal", "one-hot", "shuffled circles"])
@pytest.mark.parametrize("p", [13, 23])
def test_a_lookup_table_is_a_lookup_table(p: int, kind: str, width: int) -> None:
    """Its logits are a function of r alone, so that the program cannot tell; and with many units
    its parts nearly add up.
    """
    answer = answer_of(lookup(embedding(kind, p), right_labels(p), hidden=width * p * p))
    assert (answer.label, answer.sentence) == ("lookup", "no algorithm found: a lookup table")
    assert set(answer.forms) <= {"other"}


@pytest.mark.parametrize("kind", ["gaussian", "shuffled circles"])
def test_a_lookup_table_of_a_clocks_logits_is_no_clock(kind: str) -> None:
    """On a one-hot embedding it is three Pizzas: a random layer is even-handed to all
    frequencies, the read-out picks three.
    """
    answer = answer_of(lookup(embedding(kind, 23), clock_logits(23, (2, 5, 7)), hidden=2 * 23 * 23))
    assert answer.label in ("lookup", "other")
    assert answer.sentence.startswith("no algorithm found")


def test_random_labels_are_not_learned() -> None:
    for kind in ("gaussian", "one-hot"):
        assert answer_of(lookup(embedding(kind, 13), random_labels(13))).label == "not learned"


def test_memorized_pairs_are_not_learned() -> None:
    """Right on four fifths of the pairs, zero logits asked for on the others."""
    p, draw = 13, np.random.default_rng(3)
    seen = torch.from_numpy(np.triu(draw.random((p, p)) < 0.8))
    targets = right_labels(p) * (seen | seen.T)[..., None]
    answer = answer_of(lookup(embedding("gaussian", p), targets))
    assert answer.label == "not learned"
    assert "are wrong" in answer.reasons[0]
    assert "answers 100.00% of the pairs right; memorized pairs can cause this" in answer.reasons[1]


@pytest.mark.parametrize(
    "settings", [TransformerSettings(width=32), LinearSettings("alpha", 16, 32)]
)
def test_an_untrained_network_is_not_learned(
    settings: TransformerSettings | LinearSettings,
) -> None:
    answer = answer_of(initialize(RunSettings(TaskSettings(modulus=23), settings, seed=2)))
    assert answer.label == "not learned"
    assert answer.confidence.named_share < 0.1


def test_noise_on_a_clock_until_it_breaks() -> None:
    """A Clock for as long as it answers every pair; its account gets worse step by step."""
    p, additivity, labels = 23, [], []
    for size in (0.0, 0.03, 0.1, 0.3, 1.0):
        network = handmade_clock(p, (1, 3, 5))
        noise = np.random.default_rng(0).standard_normal((p, 6)) * size
        with torch.no_grad():
            network.embed.weight.add_(torch.from_numpy(noise))
        found, measured = found_in(network)
        additivity.append(found.additivity)
        labels.append(decide(measured).label)
    assert additivity == sorted(additivity, reverse=True)
    assert labels[:2] == ["Clock", "Clock"]
    assert labels[-2:] == ["not learned", "not learned"]
    assert set(labels) == {"Clock", "not learned"}


def test_a_permuted_vocabulary_breaks_a_pizza() -> None:
    assert answer_of(shuffled(handmade_pizza(23, (1, 5)))).label == "not learned"


def test_a_rotated_embedding_changes_nothing() -> None:
    before, _ = found_in(handmade_pizza(23, (1, 5), accompanied=True))
    after, measured = found_in(rotated(handmade_pizza(23, (1, 5), accompanied=True)))
    assert decide(measured).sentence == "two Pizzas"
    assert sorted(map(sorted, (each.frequencies for each in after.instances))) == [[1, 2], [5, 10]]
    assert after.additivity == pytest.approx(before.additivity, abs=1e-9)
    shares = [sorted(each.share for each in some.instances) for some in (before, after)]
    assert shares[0] == pytest.approx(shares[1], abs=1e-9)


def test_renamed_numbers_rename_the_frequencies() -> None:
    found, measured = found_in(relabeled(handmade_pizza(23, (1, 5), accompanied=True), 3))
    assert sorted(each.frequencies for each in found.instances) == [
        (3, 6),
        (8, 7),
    ]  # 3 * 1 and 3 * 5 = 15 = -8
    assert decide(measured).sentence == "two Pizzas"


@pytest.mark.parametrize("p", [8, 12])
def test_lookup_tables_at_even_moduli(p: int) -> None:
    for kind in ("gaussian", "one-hot"):
        assert answer_of(lookup(embedding(kind, p), right_labels(p), hidden=8 * p * p)).label in (
            "lookup",
            "other",
        )
