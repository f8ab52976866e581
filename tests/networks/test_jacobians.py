"""The chain rule written out against automatic differentiation, for every kind of network."""

import pytest
import torch
from torch import Tensor

from algophase.analysis.hidden.units import on_grid
from algophase.analysis.logits.metrics import run_all
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.task import all_pairs
from algophase.networks import Clock, Network, initialize
from algophase.networks import _transformer_jacobians as transformer_jacobians
from algophase.networks.handmade import handmade_clock
from algophase.networks.jacobians import by_autograd
from algophase.networks.network import Cache

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
