"""Networks that multiply and networks that add are told apart, on any group."""

import math

import numpy as np
import pytest
import torch

from algophase import (
    RunSettings,
    TaskSettings,
    TransformerSettings,
    analyze,
    handmade_clock,
    handmade_pizza,
    initialize,
    wrap,
)
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.program.adding import Adding, measure_adding
from algophase.core.named_groups import named_group
from algophase.networks import Network
from algophase.networks.handmade_groups import adding_network, multiplying_network


def measured(network: Network) -> Adding:
    first, second = (table.detach()[None] for table in network.operand_tables())
    (result,) = measure_adding(network, first, second).get()
    return result


@pytest.mark.parametrize("name", ["S3", "D5", "A5"])
def test_hand_made_networks_on_groups(name: str) -> None:
    group = named_group(name)
    multiplies, adds = measured(multiplying_network(group)), measured(adding_network(group))
    assert (multiplies.adding, multiplies.interaction) == pytest.approx((0, 1), abs=1e-12)
    assert (adds.adding, adds.interaction) == pytest.approx((1, 0), abs=1e-12)


def test_the_clock_multiplies_and_the_pizza_adds() -> None:
    clock, pizza = measured(handmade_clock(23)), measured(handmade_pizza(23))
    assert (clock.adding, clock.interaction) == pytest.approx((0, 1), abs=1e-12)
    assert (pizza.adding, pizza.interaction) == pytest.approx((1, 0), abs=1e-12)


def test_instances_of_cyclic_networks_have_it_beside_their_form() -> None:
    clock, pizza = analyze(handmade_clock(23)), analyze(handmade_pizza(23))
    for instance in clock.instances.instances:
        assert instance.adding == pytest.approx(0, abs=1e-9)
    for instance in pizza.instances.instances:
        assert instance.adding == pytest.approx(1, abs=1e-9)


def transformer(rate: float) -> Network:
    settings = TransformerSettings(8, heads=2, attention_rate=rate)
    return initialize(RunSettings(TaskSettings(7), settings)).double()


def test_as_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    network = transformer(1.0)
    with torch.no_grad():  # an untrained network attends evenly: make it interact
        for name, parameter in network.named_parameters():
            if "W_Q" in name or "W_K" in name:
                parameter.mul_(20)
    result = measured(network)
    hidden = network.hidden_reads()
    assert hidden is not None
    p = 7
    with torch.no_grad():
        first, second = network.operand_tables()
        pairs = (first.repeat_interleave(p, 0), second.repeat(p, 1))
        reads = hidden.reads(*pairs).view(p, p, -1)
        mean = reads.mean(dim=(0, 1))
        sums = reads.mean(dim=1, keepdim=True) + reads.mean(dim=0) - mean
        logits = hidden.logits(*pairs, reads.flatten(0, 1))[:, :p].view(p, p, p)
        without = hidden.logits(*pairs, sums.flatten(0, 1))[:, :p].view(p, p, p)
    np.testing.assert_allclose(logits, grid_logits(network)[..., :p], atol=1e-12)

    def cleaned(values: torch.Tensor) -> torch.Tensor:
        centered = values - values.mean(dim=-1, keepdim=True)
        return centered - centered.mean(dim=(0, 1))

    own, difference = cleaned(logits), cleaned(logits - without)
    assert result.adding == pytest.approx(float(1 - difference.square().sum() / own.square().sum()))
    interaction = (reads - sums).square().sum() / (reads - mean).square().sum()
    assert result.interaction == pytest.approx(float(interaction))
    assert 0.001 < result.interaction < 1
    monkeypatch.setattr("algophase.networks.pair_logits.CACHED_ELEMENTS", 1)  # a row at a time
    by_rows = measured(network)
    assert by_rows.adding == pytest.approx(result.adding)
    assert by_rows.interaction == pytest.approx(result.interaction)


def test_without_attention_units_read_a_sum() -> None:
    result = measured(transformer(0.0))
    assert (result.adding, result.interaction) == pytest.approx((1, 0), abs=1e-12)


def test_unknown_hidden_units_are_not_measured() -> None:
    network = wrap(lambda a, b: torch.nn.functional.one_hot((a + b) % 5, 5).double(), 5)
    assert math.isnan(measured(network).adding)
