"""A network without interactions in its hidden units: what stays, what goes, and the gradients
of what is left.
"""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from algophase.analysis.analyze import analyze
from algophase.analysis.hidden._interactions import without_interactions
from algophase.analysis.logits.metrics import paper_triples
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, Transformer, initialize
from algophase.networks.handmade import handmade_pizza
from algophase.storage import load


def untrained(p: int, rate: float, layers: int = 1) -> Network:
    return initialize(
        RunSettings(TaskSettings(p), TransformerSettings(8, layers=layers, attention_rate=rate))
    ).double()


def test_without_attention_nothing_changes() -> None:
    network = untrained(7, 0.0)
    before, after = analyze(network), without_interactions(network, direct=True)
    for name in (
        "accuracy",
        "cross_entropy",
        "gradient_symmetricity",
        "distance_irrelevance",
        "disc_cka",
    ):
        assert after.metrics[name] == pytest.approx(before.metrics[name], rel=1e-9), name
    assert [each.frequencies for each in after.instances.instances] == [
        each.frequencies for each in before.instances.instances
    ]
    assert after.additivity == pytest.approx(before.additivity)


def stream(network: Transformer, first: Tensor, second: Tensor) -> Tensor:
    cache: dict[str, Tensor] = {}
    network.logits_from_embeddings(first, second, cache)
    return cache["blocks.0.hook_resid_mid"][:, -1]


@pytest.mark.parametrize("direct", [False, True])
def test_logits_and_gradients_are_those_of_the_definition(direct: bool) -> None:
    p, network = 3, untrained(3, 1.0)
    assert isinstance(network, Transformer)
    table = network.embed.W_E.detach()
    mean = stream(network, table.repeat_interleave(p, 0), table.repeat(p, 1)).mean(0).detach()

    def logits(one: Tensor, other: Tensor) -> Tensor:
        of_one = stream(network, one.expand(p, -1), table).mean(0)
        reduced = of_one + stream(network, table, other.expand(p, -1)).mean(0) - mean
        mlp: Any = network.blocks[0].mlp
        past = reduced if direct else stream(network, one[None], other[None])[0]
        hidden = torch.relu(reduced @ mlp.W_in + mlp.b_in)
        return (past + hidden @ mlp.W_out + mlp.b_out) @ network.unembed.W_U

    similar = []
    for a, b, c in paper_triples(p).tolist():
        one, other = jacobian(lambda x, y, c=c: logits(x, y)[c], (table[a], table[b]))
        similar.append(torch.cosine_similarity(one, other, dim=0).item())
    after = without_interactions(network, direct=direct)
    assert after.gradient_symmetricity == pytest.approx(sum(similar) / len(similar), abs=1e-10)
    every = torch.stack([logits(table[a], table[b]) for a in range(p) for b in range(p)]).detach()
    labels = torch.tensor([(a + b) % p for a in range(p) for b in range(p)])
    assert after.cross_entropy == pytest.approx(
        torch.nn.functional.cross_entropy(every, labels).item()
    )


@pytest.mark.parametrize("p", [6, 7])
def test_products_alone_can_be_taken_out(p: int) -> None:
    network = untrained(p, 1.0)
    before, products, every = (
        analyze(network),
        without_interactions(network, products_only=True),
        without_interactions(network),
    )
    assert before.product_share > 1e-6
    assert [products.product_share, every.product_share] == pytest.approx([0, 0], abs=1e-20)
    assert math.isnan(products.gradient_symmetricity)
    assert len({round(each.cross_entropy, 9) for each in (before, products, every)}) == 3


def test_only_one_layer_of_attention_is_taken_apart() -> None:
    for network in (handmade_pizza(7, (1,)), untrained(7, 1.0, layers=2)):
        with pytest.raises(InputError, match="is not a one-layer transformer"):
            without_interactions(network)


@pytest.mark.slow
def test_model_b_stays_a_clock_without_its_products(released: Path) -> None:
    after = without_interactions(load(released / "model_l8k1hzciux.pt"))
    assert after.accuracy == pytest.approx(0.962, abs=2e-3)
    assert after.gradient_symmetricity == pytest.approx(0.633, abs=2e-3)
    assert after.verdict.forms[:2] == ("Clock", "Clock")
    assert after.instances.instances[0].pizza_part == pytest.approx(0.19, abs=0.02)
