"""Attention heads as followers of a frequency: known waves, constant heads, and what trained
Clocks have.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from algophase.analysis.hidden.heads import attention_heads, leans
from algophase.core.errors import InputError
from algophase.core.fourier import circle
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Transformer, initialize
from algophase.networks.handmade import handmade_clock
from algophase.networks.transformer import Attention, Block
from algophase.storage import load

GALLERY = Path(__file__).parents[3] / "gallery"
P, K, PHASE, SMALL = 11, 3, 0.7, 0.2


def attention_of(network: Transformer) -> Attention:
    block = network.blocks[0]
    assert isinstance(block, Block)
    return block.attn


@torch.no_grad()
def made(
    phases: tuple[float, ...], task: TaskSettings = TaskSettings(P), rate: float = 1.0
) -> Transformer:
    """Heads whose scores at the last position are SMALL cos(w t + phase) of the token t they
    look at.
    """
    settings = TransformerSettings(4 * len(phases), heads=len(phases), attention_rate=rate)
    network = initialize(RunSettings(task, settings)).double()
    assert isinstance(network, Transformer)
    table, place, attention = network.embed.W_E, network.pos_embed.W_pos, attention_of(network)
    for tensor in (table, place, attention.W_Q, attention.W_K):
        tensor.zero_()
    table[:P, :2] = circle(P, K).to(table)
    place[:, 2] = 1.0  # a query that is the same for all tokens
    attention.W_Q[:, 2, 0] = 2.0  # times 1 / sqrt(head size), which is 4
    for head, phase in enumerate(phases):
        attention.W_K[head, :2, 0] = (
            SMALL * torch.tensor([math.cos(phase), -math.sin(phase)]).double()
        )
    return network


def test_waves_are_found() -> None:
    found = attention_heads(made((PHASE, PHASE - math.pi)))
    assert found.frequency.tolist() == [K, K]
    assert found.share == pytest.approx([1, 1], abs=1e-3)
    assert found.phase_a == pytest.approx([PHASE, PHASE - math.pi], abs=1e-3)
    assert np.exp(1j * found.phase_b) == pytest.approx(-np.exp(1j * found.phase_a), abs=1e-3)
    # the weights are 1 / (1 + e^-x) and what is left to 1, so D = tanh(x / 2) / 2, nearly x / 4
    assert found.amplitude_a == pytest.approx([SMALL / 4] * 2, rel=0.01)
    assert found.amplitude_b == pytest.approx([SMALL / 4] * 2, rel=0.01)
    assert found.balance(K) == pytest.approx(0, abs=1e-9)
    assert found.worth(K) == pytest.approx(2, abs=1e-2)
    assert math.isnan(found.balance(1))
    assert repr(found) == "<AttentionHeads: 0, 1 follow 3 (balance 0.00)>"


def test_the_lean_is_half_of_the_difference_of_two_weights() -> None:
    angle = 2 * math.pi * K * torch.arange(P).double() / P + PHASE
    scores = SMALL * torch.cos(angle)
    expected = torch.tanh((scores[:, None] - scores) / 2) / 2
    for rate in (1.0, 0.5):
        torch.testing.assert_close(leans(made((PHASE,), rate=rate))[0], rate * expected)
    with_sign = leans(made((PHASE,), TaskSettings(P, equals_sign=True)))[0]
    weights = torch.softmax(
        torch.stack([*torch.broadcast_tensors(scores[:, None], scores), torch.zeros(P, P)]), dim=0
    )
    torch.testing.assert_close(with_sign, ((weights[0] - weights[1]) / 2).double())


def test_three_heads_a_third_of_a_turn_apart_cancel_too() -> None:
    found = attention_heads(made(tuple(PHASE + turn * math.pi / 3 for turn in (0, 2, 4))))
    assert found.balance(K) == pytest.approx(0, abs=1e-3)
    assert attention_heads(made((PHASE, PHASE + math.pi / 2))).balance(K) == pytest.approx(
        0.5**0.5, abs=1e-3
    )


def test_a_head_alone_and_one_that_is_constant() -> None:
    network = made((PHASE, 0.0))
    with torch.no_grad():
        attention_of(network).W_K[1].zero_()
    found = attention_heads(network)
    assert found.frequency.tolist() == [K, 0]
    assert found.constant.tolist() == [False, True]
    assert found.balance(K) == pytest.approx(1)
    assert repr(found) == "<AttentionHeads: 0 follows 3; 1 is constant>"
    assert found.to_dict()["share"][1] is None
    assert set(found.columns()) == set(found.to_dict())


def test_numbers_in_another_order_are_followed_in_theirs() -> None:
    """Of a network that multiplies, a frequency is one over discrete logarithms."""
    run = RunSettings(
        TaskSettings.multiplication(11), TransformerSettings(8, heads=2, attention_rate=1.0), seed=3
    )
    found = attention_heads(initialize(run))
    assert found.shares.shape == (2, 5)


def test_networks_without_heads_are_refused() -> None:
    for network in (
        initialize(RunSettings(network=LinearSettings("beta", 8, 8))),
        handmade_clock(7, (1,)),
    ):
        with pytest.raises(InputError, match="has no attention heads to look at"):
            attention_heads(network)
    constant = attention_heads(
        initialize(RunSettings(network=replace(TransformerSettings(), attention_rate=0.0)))
    )
    assert repr(constant) == "<AttentionHeads: 0, 1, 2, 3 are constant>"


def test_a_trained_clock_has_two_heads_with_opposite_waves() -> None:
    found = attention_heads(
        load(GALLERY / "fixed-width/networks/da98a6312948.safetensors")
    )  # Clocks 11 and 19, a Pizza 17
    assert found.frequency.tolist() == [11, 11, 19, 19]
    assert (found.share > 0.95).all()
    assert found.balance(11) < 0.02
    assert found.balance(19) < 0.02
    pizza = attention_heads(load(GALLERY / "fixed-width/networks/5ed1f0b86c80.safetensors"))
    assert pizza.constant.all()


def test_so_has_the_published_one(released: Path) -> None:
    found = attention_heads(load(released / "model_l8k1hzciux.pt"))  # Clocks 13 and 16, a Pizza 21
    assert found.frequency.tolist() == [13, 16, 16, 13]
    assert max(found.balance(13), found.balance(16)) < 0.02
    assert attention_heads(load(released / "model_p99zdpze5l.pt")).constant.all()
