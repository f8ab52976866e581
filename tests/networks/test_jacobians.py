"""The chain rule written out against automatic differentiation, for every kind of network."""

import pytest
import torch
from torch import Tensor

from algophase.analysis.hidden.units import on_grid
from algophase.analysis.logits.metrics import run_all
from algophase.core.settings import (
    LinearSettings,
    MLPSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.task import all_pairs
from algophase.networks import Clock, Linear, Network, Transformer, build, initialize
from algophase.networks import _transformer_jacobians as transformer_jacobians
from algophase.networks.handmade import handmade_clock
from algophase.networks.jacobians import by_autograd
from algophase.networks.mlp import MLP
from algophase.networks.network import Cache
from algophase.networks.ordered import Ordered, ordered

KINDS: list[tuple[TaskSettings, NetworkSettings]] = [
    (TaskSettings(modulus=7), TransformerSettings(width=9, attention_rate=0.6)),
    (TaskSettings(modulus=7), TransformerSettings(width=8, attention_rate=0.0)),
    (
        TaskSettings(modulus=6),
        TransformerSettings(width=8, layers=3, activation="gelu", attention_rate=0.8),
    ),
    (TaskSettings(modulus=5, separate_vocabularies=True), TransformerSettings(width=8, heads=2)),
    (TaskSettings(modulus=5, equals_sign=True), TransformerSettings(width=8)),
    (
        TaskSettings(modulus=5, separate_vocabularies=True, equals_sign=True),
        TransformerSettings(width=8, layers=2),
    ),
    *(
        (TaskSettings(modulus=7), LinearSettings(model, 6, 8))
        for model in ("alpha", "alpha-prime", "beta", "gamma", "delta")
    ),
]
MLPS = [
    MLPSettings(6, hidden, join, activation, own_tables=True)
    for join in ("add", "multiply", "concatenate")
    for hidden, activation in ((8, "relu"), (8, "square"), (0, "gelu"))
]


def check(network: Network) -> None:
    pairs = all_pairs(network.task.modulus)
    first, second = network.operand_tables()
    inputs = first.detach()[pairs[:, 0]], second.detach()[pairs[:, 1]]
    for found, expected in zip(
        network.jacobians(*inputs), by_autograd(network, *inputs), strict=True
    ):
        assert not found.requires_grad
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("worth_picking", [0, transformer_jacobians.WORTH_PICKING])
@pytest.mark.parametrize(("task", "settings"), KINDS)
def test_written_out_gradients_are_those_of_autograd(
    task: TaskSettings,
    settings: NetworkSettings,
    worth_picking: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transformer_jacobians, "WORTH_PICKING", worth_picking)
    network = initialize(RunSettings(task=task, network=settings)).double()
    with torch.no_grad():  # biases start at zero; fill them so that a forgotten one shows
        for name, parameter in network.named_parameters():
            if "b_" in name:
                parameter.normal_(generator=torch.Generator().manual_seed(1))
    check(network)


@pytest.mark.parametrize("settings", MLPS)
def test_gradients_of_others_networks(settings: MLPSettings) -> None:
    network = MLP(TaskSettings(modulus=7), settings).double()
    network.initialize(seed=1)
    check(network)


WITH_PRODUCTS: list[tuple[TaskSettings, NetworkSettings]] = [
    *(kind for kind in KINDS if isinstance(kind[1], TransformerSettings)),
    (TaskSettings(modulus=7), LinearSettings("delta", 6, 8)),
    (TaskSettings(modulus=7), MLPSettings(6, 8, "concatenate", own_tables=True)),
    (TaskSettings(modulus=7, operation="subtract"), TransformerSettings(width=8)),
]


@pytest.mark.parametrize(("task", "settings"), WITH_PRODUCTS)
def test_products_of_gradients_are_those_of_the_gradients(
    task: TaskSettings, settings: NetworkSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = build(task, settings)
    network.initialize(seed=3)
    network = ordered(network.double())
    found = run_all(network)
    with monkeypatch.context() as patch:
        for kind in (Transformer, Linear, MLP, Ordered):
            patch.setattr(kind, "gradient_products", Network.gradient_products)
        expected = run_all(network)
    for name in ("similarities", "logits"):
        one, other = getattr(found, name), getattr(expected, name)
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


def test_pairs_without_a_unit_on_have_no_gradient_and_no_rounding_in_its_place() -> None:
    """Sums go from pair to pair; one with nothing in it must not hold what rounding leaves."""
    network = MLP(TaskSettings(modulus=7), MLPSettings(6, 8, "concatenate", own_tables=True))
    network.initialize(seed=1)
    network = network.double()
    with torch.no_grad():
        network.first[2:4] = -100 * network.W[:6].sum(dim=1)  # switches most units off
    similarities = run_all(network).similarities
    first, second = network.operand_tables()
    reads = first @ network.W[:6] + (second @ network.W[6:])[:, None]  # (b, a, m)
    dead = ~(reads > 0).any(dim=-1).T
    assert torch.equal(similarities.isnan().all(dim=-1), dead)


def test_the_clocks_gradients() -> None:
    check(handmade_clock(7, (1, 2)))


def test_a_network_of_another_kind_is_differentiated_automatically() -> None:
    class Other(Network):
        def __init__(self, inner: Clock) -> None:
            super().__init__(inner.task, inner.settings)
            self.inner = inner

        def logits_from_embeddings(
            self, first: Tensor, second: Tensor, cache: Cache | None = None
        ) -> Tensor:
            return self.inner.logits_from_embeddings(first, second, cache)

    clock = handmade_clock(5, (1,))
    table = clock.embed.weight.detach()
    for found, expected in zip(
        Other(clock).jacobians(table, table),
        clock.jacobians(table, table),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)


def test_a_class_derived_from_one_of_ours_has_its_own_gradients() -> None:
    class Cubed(Clock):
        def logits_from_embeddings(
            self, first: Tensor, second: Tensor, cache: Cache | None = None
        ) -> Tensor:
            return super().logits_from_embeddings(first, second, cache) ** 3

    network = handmade_clock(7, (1, 2))
    check(network)
    table = network.embed.weight.detach()
    before = network.jacobians(table, table)
    network.__class__ = Cubed
    check(network)
    after = network.jacobians(table, table)
    assert not torch.allclose(before[1], after[1])


@pytest.mark.parametrize(("task", "settings"), KINDS)
def test_the_pass_that_gives_gradients_shows_the_hidden_units(
    task: TaskSettings, settings: NetworkSettings
) -> None:
    """So that an analysis need not run every pair again to look at them."""
    network = initialize(RunSettings(task=task, network=settings)).double()
    found = run_all(network).pre_activations
    assert found is not None
    layer = network.hidden_layer()
    assert layer is not None
    with torch.no_grad():
        expected = layer.pre_activations(*on_grid(network))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-13)


def test_a_network_without_hidden_units_to_look_at_shows_none() -> None:
    assert run_all(handmade_clock(7, (1, 2))).pre_activations is None
