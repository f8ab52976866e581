"""A compact proof never claims more than is true, whatever its advice is."""

import dataclasses

import numpy as np
import pytest
import torch
from test_certify import drawn

from algophase.certificates.advice import Advice, Reading
from algophase.certificates.certify import certify
from algophase.certificates.compact import least_margins, prove_compact
from algophase.certificates.find_advice import find_advice
from algophase.certificates.forms import form_of
from algophase.certificates.operations import count_operations
from algophase.core.settings import LinearSettings, MLPSettings, TaskSettings, TransformerSettings
from algophase.core.task import all_pairs, answers, tokens
from algophase.networks import Network
from algophase.networks.handmade import handmade_pizza

NETWORKS = {
    "relu": (TaskSettings(7), TransformerSettings(12, heads=3, attention_rate=0.7)),
    "uniform": (TaskSettings(7), TransformerSettings(8, attention_rate=0.0)),
    "gelu": (TaskSettings(5, equals_sign=True), TransformerSettings(8, activation="gelu")),
    "beta": (TaskSettings(7), LinearSettings("beta", 8, 10)),
    "S3": (TaskSettings(group="S3"), MLPSettings(4, 9, "concatenate", own_tables=True)),
}


def true_margins(network: Network) -> np.ndarray:
    """(p, p, outputs): how far the right answer's logit is above each."""
    p = network.task.modulus
    logits = network.double()(tokens(network.task, all_pairs(p))).detach().numpy()
    logits = logits.reshape(p, p, -1)
    of_right = np.take_along_axis(logits, answers(network.task).numpy()[..., None], axis=-1)
    return of_right - logits


def random_advice(network: Network, seed: int) -> Advice:
    draw = np.random.default_rng(seed)
    form = form_of(network)
    reading, count = None, form.units
    if form.stream is not None:
        width, q, count = len(form.stream.into_units.mid), 4, 3
        owners, factors = draw.integers(0, count, form.units), draw.normal(size=form.units)
        if form.activation == "gelu":
            factors = draw.choice([-1.0, 1.0], form.units)
        owners[:count] = np.arange(count)
        reading = Reading(
            draw.normal(size=(width, q)),
            draw.normal(size=(q, width)),
            draw.normal(size=(q + 1, count)),
            owners,
            factors,
            draw.integers(0, 2, form.units),
        )
    contested = ((0, 1, [0, 2]), (2, 2, [1])) if reading is None else ()
    return Advice(
        reading,
        draw.normal(size=(count, 2)),
        draw.normal(size=(2, form.outputs)),
        draw.normal(size=count),
        np.exp(draw.normal(size=count)),
        contested,
    )


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", range(4))
def test_random_advice_proves_nothing_false(name: str, seed: int) -> None:
    network = drawn(*NETWORKS[name], seed=seed)
    right = answers(network.task).numpy()
    margins = true_margins(network)
    form = form_of(network)
    for rows, least in least_margins(form, right, random_advice(network, seed)):
        assert (least <= margins[rows] + 1e-9).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_good_advice_proves_nothing_false(name: str) -> None:
    network = drawn(*NETWORKS[name], seed=1)
    right = answers(network.task).numpy()
    form = form_of(network)
    advice = find_advice(form, right, None)
    margins = true_margins(network)
    for rows, least in least_margins(form, right, advice):
        assert (least <= margins[rows] + 1e-9).all()
    assert prove_compact(form, right, advice) <= (margins >= 0).all(axis=-1).sum()


@pytest.mark.parametrize("damage", [0.1, 0.2, 0.5])
def test_a_damaged_network_is_proved_right_on_no_more_pairs(damage: float) -> None:
    network = handmade_pizza(23, (2, 5, 9))
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(damage * parameter.std() * torch.randn_like(parameter))
    certificate = certify(network)
    assert certificate.proved_wrong > 0
    assert certificate.compact is not None
    assert 0 < certificate.compact["proved_right"] <= certificate.proved_right


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_a_transformer_that_is_mostly_wrong_has_no_compact_proof(name: str) -> None:
    certificate = certify(drawn(*NETWORKS[name], seed=1))
    assert 0 < certificate.proved_right < certificate.proved_wrong
    assert certificate.compact is None


def test_advice_that_costs_more_is_counted() -> None:
    network = drawn(*NETWORKS["relu"])
    form = form_of(network)
    advice = random_advice(network, 0)
    few = count_operations(form, advice)
    wider = np.ones((len(advice.writes), 5)), np.ones((5, form.outputs))
    more = dataclasses.replace(advice, writes=wider[0], basis=wider[1])
    assert count_operations(form, more).compact > few.compact
    assert count_operations(form, more).brute_force == few.brute_force


def test_brute_force_of_a_small_network_is_counted_by_hand() -> None:
    """Model alpha: tables 2 p d h, then for each pair h p."""
    network = drawn(TaskSettings(5), LinearSettings("alpha", 3, 4))
    form = form_of(network)
    counted = count_operations(form, random_advice(network, 0))
    assert counted.brute_force == 2 * 5 * 3 * 4 + 25 * 4 * 5


def test_a_compact_proof_of_a_small_network_is_counted_by_hand() -> None:
    """Model alpha: two tables, their linear share, S B, mu R and the distances of its columns;
    then for each pair S, B, the norm of what is left, and its product with the distances; and six
    answers that are compared exactly.
    """
    p, width, hidden, rank = 5, 3, 4, 2
    form = form_of(drawn(TaskSettings(p), LinearSettings("alpha", width, hidden)))
    advice = random_advice(drawn(TaskSettings(p), LinearSettings("alpha", width, hidden)), 0)
    tables = 2 * p * width * hidden + 2 * p * hidden * p
    fixed = hidden * rank * p + hidden * p + hidden * p * (p + 1) // 2
    by_pair = hidden * rank + rank * p + hidden + p
    exact_answers = sum(len(answers) + 1 for _, _, answers in advice.contested) * hidden
    by_hand = tables + fixed + p**2 * by_pair + exact_answers
    assert count_operations(form, advice).compact == by_hand
