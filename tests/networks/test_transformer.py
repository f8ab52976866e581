"""The transformer against a second, slow writing of the paper's formulas: one input, one
position, one head at a time.
"""

import math

import pytest
import torch
from torch import Tensor

from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.core.task import all_pairs, tokens
from algophase.networks import Transformer, initialize

SHAPES = [
    TransformerSettings(width=16, attention_rate=0.37),
    TransformerSettings(width=33, attention_rate=1.0),
    TransformerSettings(width=18, layers=3, attention_rate=0.0),
    TransformerSettings(width=12, heads=3, layers=2, activation="gelu", attention_rate=0.5),
]
TASKS = [
    TaskSettings(modulus=7),
    TaskSettings(modulus=6, separate_vocabularies=True),
    TaskSettings(modulus=5, equals_sign=True),
    TaskSettings(modulus=5, separate_vocabularies=True, equals_sign=True),
]


def network_for(task: TaskSettings, settings: TransformerSettings, seed: int = 0) -> Transformer:
    network = initialize(RunSettings(task=task, network=settings, seed=seed)).double()
    assert isinstance(network, Transformer)
    with torch.no_grad():  # biases start at zero; fill them so that a forgotten one shows
        for name, parameter in network.named_parameters():
            if "b_" in name:
                parameter.normal_(generator=torch.Generator().manual_seed(1))
    return network


def slow_logits(network: Transformer, sequence: list[int]) -> Tensor:
    """Appendix G with the attention of section 4.2, term by term."""
    settings, weights = network.settings, dict(network.named_parameters())
    x = [
        weights["embed.W_E"][token] + weights["pos_embed.W_pos"][i]
        for i, token in enumerate(sequence)
    ]
    for layer in range(settings.layers):
        w = {
            name.split(".")[-1]: value
            for name, value in weights.items()
            if name.startswith(f"blocks.{layer}.")
        }
        after = []
        for i in range(len(x)):
            total = x[i].clone()
            for h in range(settings.heads):
                query = x[i] @ w["W_Q"][h]
                scores = torch.stack(
                    [query @ (x[j] @ w["W_K"][h]) for j in range(len(x))]
                ) / math.sqrt(settings.head_size)
                attention = torch.exp(scores) / torch.exp(scores).sum()
                for j in range(len(x)):
                    weight = settings.attention_rate * attention[j] + (1 - settings.attention_rate)
                    total = total + weight * (x[j] @ w["W_V"][h] @ w["W_O"][h])
            pre = total @ w["W_in"] + w["b_in"]
            post = (
                pre.clamp_min(0)
                if settings.activation == "relu"
                else pre * 0.5 * (1 + torch.erf(pre / math.sqrt(2)))
            )
            after.append(total + post @ w["W_out"] + w["b_out"])
        x = after
    return x[-1] @ weights["unembed.W_U"]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("settings", SHAPES)
def test_equals_the_formulas(task: TaskSettings, settings: TransformerSettings) -> None:
    network = network_for(task, settings)
    pairs = all_pairs(task.modulus)[::5]
    sequences = tokens(task, pairs)
    expected = torch.stack([slow_logits(network, sequence) for sequence in sequences.tolist()])
    torch.testing.assert_close(network(sequences), expected, rtol=1e-10, atol=1e-10)
    with_cache, _ = network.run_with_cache(sequences)
    torch.testing.assert_close(with_cache, expected, rtol=1e-10, atol=1e-10)


def test_activations_are_named_and_shaped_as_in_transformer_lens() -> None:
    network = network_for(
        TaskSettings(modulus=5, equals_sign=True), TransformerSettings(width=16, layers=2)
    )
    _, cache = network.run_with_cache()
    assert cache["hook_embed"].shape == (25, 3, 16)
    assert cache["blocks.1.attn.hook_q"].shape == (25, 3, 4, 4)
    assert cache["blocks.1.attn.hook_pattern"].shape == (25, 4, 3, 3)
    assert cache["blocks.1.mlp.hook_post"].shape == (25, 3, 64)
    assert cache["blocks.1.hook_resid_post"].shape == (25, 3, 16)
    torch.testing.assert_close(
        cache["blocks.0.attn.hook_pattern"].sum(-1), torch.ones(25, 4, 3).double()
    )


def test_constant_attention_has_weight_one_everywhere() -> None:
    network = network_for(TaskSettings(modulus=5), TransformerSettings(width=16, attention_rate=0))
    _, cache = network.run_with_cache()
    assert (cache["blocks.0.attn.hook_pattern"] == 1).all()


def test_head_size_rounds_down() -> None:
    network = network_for(TaskSettings(modulus=5), TransformerSettings(width=35))
    assert network.state_dict()["blocks.0.attn.W_Q"].shape == (4, 35, 8)
    assert network.state_dict()["blocks.0.attn.W_O"].shape == (4, 8, 35)


def test_initial_spread_is_the_published_one() -> None:
    network = initialize(RunSettings(network=TransformerSettings(width=256)))
    expected = {"W_in": 1 / math.sqrt(1024), "W_U": 1 / math.sqrt(59), "b_in": 0.0, "b_out": 0.0}
    for name, value in network.state_dict().items():
        spread = expected.get(name.split(".")[-1], 1 / 16)
        error = (
            4 * spread / math.sqrt(2 * value.numel())
        )  # four standard errors of a standard deviation
        assert abs(value.std().item() - spread) <= error, name
        assert abs(value.mean().item()) <= 4 * spread / math.sqrt(value.numel()), name


def test_initial_weights_depend_on_the_seed_alone() -> None:
    run = RunSettings(network=TransformerSettings(width=16), seed=5)
    before = torch.get_rng_state()
    first = initialize(run)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(99)
    second = initialize(run)
    for (name, a), b in zip(first.named_parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b), name
    other = initialize(RunSettings(network=TransformerSettings(width=16), seed=6))
    assert not torch.equal(first.state_dict()["embed.W_E"], other.state_dict()["embed.W_E"])
    assert (first.id, first.run) == (run.run_id, run)
