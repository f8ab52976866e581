"""Logits by tokens are the network's own, for every network that has a faster way, and sums over
them are exact.
"""

import numpy as np
import pytest
import torch
from made_networks import EveryFrequency
from one_by_one import logit_sums

from algophase.analysis.device import in_float64
from algophase.analysis.logits.all_pairs import accuracy, grid_logits
from algophase.analysis.logits.sums import answers, smallest_margin
from algophase.analysis.logits.sums import logit_sums as pending_sums
from algophase.core.fourier import Array
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, initialize, pair_logits


def networks() -> list[Network]:
    tasks = [
        TaskSettings(7, separate_vocabularies=s, equals_sign=e)
        for s in (False, True)
        for e in (False, True)
    ]
    transformers = [
        TransformerSettings(width=8, attention_rate=rate, activation=activation, layers=layers)
        for rate, activation, layers in ((0.6, "relu", 1), (1.0, "gelu", 1), (0.3, "relu", 2))
    ]
    made = [initialize(RunSettings(task, one, seed=3)) for task in tasks for one in transformers]
    models = ("alpha", "alpha-prime", "beta", "gamma", "delta")
    made += [
        initialize(RunSettings(TaskSettings(8), LinearSettings(model, 6, 10), seed=3))
        for model in models
    ]
    return [*(in_float64(each) for each in made), EveryFrequency(6)]


def two_embeddings(network: Network) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = (table.detach() for table in network.operand_tables())
    return torch.stack([first, 2 * first.flip(0)]), torch.stack([second, 0.5 * second])


@pytest.mark.parametrize("index", range(len(networks())))
def test_logits_by_tokens_are_the_networks(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = networks()[index]
    first, second = two_embeddings(network)
    expected = grid_logits(network, (first, second))
    torch.testing.assert_close(
        network.pair_logits()(first, second)(slice(1, 2), slice(2, 5)), expected[1:, 2:5]
    )
    sums, p = logit_sums(network, first, second), network.task.modulus
    x = (expected[..., :p] - expected[..., :p].mean(dim=-1, keepdim=True)).numpy()
    np.testing.assert_allclose(sums.products, np.einsum("nabc,mabc->nm", x, x), atol=1e-9)
    np.testing.assert_allclose(sums.offset, x.mean(axis=(1, 2)), atol=1e-12)
    a, y, z = np.arange(p)[:, None, None], np.arange(p)[:, None], np.arange(p)
    np.testing.assert_allclose(
        sums.answer, x[:, a, (a - y) % p, (2 * a - y - z) % p].mean(axis=1), atol=1e-12
    )
    np.testing.assert_allclose(sums.sums, x[0, a, (y - a) % p, z].mean(axis=0), atol=1e-12)
    assert sums.right.tolist() == [accuracy(each) for each in expected]
    without = x - x.mean(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(sums.following, _following(without, p), atol=1e-12)
    monkeypatch.setattr(pair_logits, "CACHED_ELEMENTS", 1)  # a row of one embedding at a time
    assert len(network.pair_logits().blocks(p, 2, first.device)[1]) == p
    other = logit_sums(network, first, second)
    np.testing.assert_allclose(other.products, sums.products, atol=1e-9)


def _following(logits: Array, p: int) -> Array:
    a, d, r = np.arange(p)[:, None, None], np.arange(p)[:, None], np.arange(p)
    return np.asarray(logits[:, a, (a - d) % p, (2 * a - d - r) % p].mean(axis=1))


def test_sums_do_not_depend_on_the_number_of_threads(two_threads: None) -> None:
    network = in_float64(initialize(RunSettings(TaskSettings(31), TransformerSettings(width=32))))
    first, second = two_embeddings(network)
    many = pending_sums(network, first, second).packed.flat
    torch.set_num_threads(1)
    assert torch.equal(pending_sums(network, first, second).packed.flat, many)


def test_answers_and_margins() -> None:
    logits = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.5, 3.0], [1.0, 1.0]]])
    assert answers(logits).tolist() == [[0, 1], [1, -1]]
    assert smallest_margin(logits) == 0
