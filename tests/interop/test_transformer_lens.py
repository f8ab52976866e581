import copy
import importlib
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from algophase import (
    InputError,
    LinearSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
    from_transformer_lens,
    handmade_clock,
    handmade_pizza,
    initialize,
    load,
    to_transformer_lens,
)
from algophase.analysis.device import in_float64
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.task import all_pairs, tokens
from algophase.networks import Network

PLAIN = TaskSettings(modulus=13)


@pytest.fixture
def lens() -> Any:
    return pytest.importorskip(
        "transformer_lens", reason='TransformerLens is not installed: pip install "algophase[lens]"'
    )


def every_input(network: Network) -> torch.Tensor:
    return tokens(network.task, all_pairs(network.task.modulus))


def made(task: TaskSettings = PLAIN, **settings: Any) -> Network:
    network = initialize(
        RunSettings(task=task, network=TransformerSettings(**{"width": 32, **settings}), seed=1)
    )
    with torch.no_grad():  # biases start at zero, where a mistake with them would not show
        for name, parameter in network.named_parameters():
            if ".b_" in name:
                parameter.normal_(generator=torch.Generator().manual_seed(0))
    return network


def hooked(lens: Any, **changes: Any) -> Any:
    """A HookedTransformer as a user of TransformerLens makes one for [a, b, =]."""
    settings = {
        "n_layers": 1,
        "d_model": 16,
        "n_heads": 2,
        "d_head": 8,
        "d_mlp": 64,
        "n_ctx": 3,
        "d_vocab": 8,
        "act_fn": "relu",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        config = lens.HookedTransformerConfig(
            **{**settings, "normalization_type": None, "device": "cpu", "seed": 0, **changes}
        )
        return lens.HookedTransformer(config)


@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("rate", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_logits_are_equal(lens: Any, layers: int, rate: float, activation: str) -> None:
    network = made(
        layers=layers, attention_rate=rate, activation=activation
    ).double()  # rounding grows from layer to layer
    expected = network(every_input(network))
    apart = (
        (to_transformer_lens(network)(every_input(network))[:, -1] - expected).abs().max().item()
    )
    assert apart <= 1e-12 * max(1.0, expected.abs().max().item())


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("equals", [False, True])
def test_names_shapes_and_values_of_activations_are_theirs(
    lens: Any, separate: bool, equals: bool
) -> None:
    task = TaskSettings(modulus=7, separate_vocabularies=separate, equals_sign=equals)
    network = made(
        task, width=30, layers=2, attention_rate=0.5
    ).double()  # 30 is no multiple of 4 heads
    logits, ours = network.run_with_cache()
    their_logits, theirs = to_transformer_lens(network).run_with_cache(every_input(network))
    torch.testing.assert_close(their_logits[:, -1], logits, rtol=1e-12, atol=1e-12)
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], rtol=1e-12, atol=1e-12)
    assert set(theirs) - set(ours) == {"unembed.hook_in", "unembed.hook_out"}


def test_released_networks(lens: Any, released: Path) -> None:
    for id in ("p99zdpze5l", "l8k1hzciux"):
        network = load(released / f"model_{id}.pt")
        for some, tolerance in ((network, 1e-5), (copy.deepcopy(network).double(), 1e-13)):
            expected = some(every_input(some))
            apart = (to_transformer_lens(some)(every_input(some))[:, -1] - expected).abs().max()
            assert apart <= tolerance * expected.abs().max()


def test_the_rate_outlives_other_hooks_and_random_numbers_are_left_alone(lens: Any) -> None:
    network = made(attention_rate=0.25)
    state = torch.get_rng_state()
    model = to_transformer_lens(network)
    assert torch.equal(torch.get_rng_state(), state)
    with torch.no_grad():
        model.run_with_hooks(
            every_input(network),
            fwd_hooks=[("blocks.0.hook_attn_out", lambda value, hook: 0 * value)],
        )
        model.reset_hooks()
        for again in (model, copy.deepcopy(model)):
            torch.testing.assert_close(
                again(every_input(network))[:, -1], network(every_input(network))
            )


@pytest.mark.parametrize(
    "task", [PLAIN, TaskSettings(modulus=5, separate_vocabularies=True, equals_sign=True)]
)
def test_there_and_back(lens: Any, task: TaskSettings) -> None:
    network = made(task, layers=2, attention_rate=0.6, activation="gelu").double()
    again = from_transformer_lens(to_transformer_lens(network), task, attention_rate=0.6)
    assert (again.settings, again.task, again.id) == (network.settings, network.task, network.id)
    assert all(
        torch.equal(value, again.state_dict()[name]) for name, value in network.state_dict().items()
    )


def test_a_causal_layer_answers_at_the_last_position_as_ours_does(lens: Any) -> None:
    model = hooked(lens)
    network = from_transformer_lens(model)
    assert network.task == TaskSettings(modulus=7, equals_sign=True, training_fraction=None)
    torch.testing.assert_close(
        network(every_input(network)), model(every_input(network))[:, -1], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalization_type": "LN"}, "logits .* differ by .*: it has another rate, layer norm"),
        ({"n_layers": 2}, "or a mask"),
        ({"act_fn": "gelu_new"}, "act_fn is 'gelu_new'; choose one of relu, gelu"),
        (
            {"d_mlp": 20, "d_vocab_out": 7},
            r"has shape \(16, 20\); its settings .* call for \(16, 64\)",
        ),
        ({"attn_only": True}, r"has no blocks\.0\.mlp\.W_in"),
    ],
)
def test_models_that_are_not_ours_are_wrapped(
    lens: Any, changes: dict[str, Any], message: str
) -> None:
    model = hooked(lens, **changes)
    network = from_transformer_lens(model)
    assert re.search(message, network.notes[0])
    expected = model.double()(tokens(TaskSettings(7, equals_sign=True), all_pairs(7)))[:, -1]
    found = grid_logits(in_float64(network)).flatten(0, 1)
    torch.testing.assert_close(
        found, expected.detach(), rtol=1e-5, atol=1e-6
    )  # their layer norm computes in float32
    with pytest.raises(InputError, match=message):
        from_transformer_lens(model, attention_rate=0.5)


def test_outputs_of_the_numbers_alone(lens: Any) -> None:
    """Beside 8 tokens 7 outputs, as nearly everyone trains it."""
    model = hooked(lens, d_vocab_out=7)
    network = from_transformer_lens(model)
    assert network.task == TaskSettings(
        modulus=7, equals_sign=True, training_fraction=None, outputs="modulus"
    )
    torch.testing.assert_close(
        network(every_input(network)), model(every_input(network))[:, -1], rtol=1e-5, atol=1e-6
    )
    again = to_transformer_lens(network)(every_input(network))[:, -1]
    torch.testing.assert_close(network(every_input(network)), again, rtol=1e-5, atol=1e-6)


def test_other_outputs_are_refused(lens: Any) -> None:
    with pytest.raises(InputError, match="8 tokens and 5 outputs"):
        from_transformer_lens(hooked(lens, d_vocab_out=5))


def test_a_wrong_rate_is_noticed(lens: Any) -> None:
    network = made(attention_rate=0.25)
    with pytest.raises(InputError, match=r"at attention rate 0\.5 differ by"):
        from_transformer_lens(to_transformer_lens(network), attention_rate=0.5)
    wrapped = from_transformer_lens(to_transformer_lens(network))
    assert "at attention rate 1 differ by" in wrapped.notes[0]
    torch.testing.assert_close(
        grid_logits(wrapped).flatten(0, 1), network(every_input(network)), rtol=1e-4, atol=1e-5
    )


def test_only_transformers_have_one() -> None:
    linear = initialize(RunSettings(network=LinearSettings()))
    for network, kind in (
        (handmade_clock(7, (1,)), "clock"),
        (handmade_pizza(7, (1,)), "linear"),
        (linear, "linear"),
    ):
        with pytest.raises(
            InputError, match=f"is a {kind} network; only a transformer has a HookedTransformer"
        ):
            to_transformer_lens(network)


def test_without_transformer_lens(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match=r'not installed .*: pip install "algophase\[lens\]"'):
        to_transformer_lens(made())
    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(__version__="4.0"))
    with pytest.raises(InputError, match="has no HookedTransformer, which ended with 3"):
        to_transformer_lens(made())
