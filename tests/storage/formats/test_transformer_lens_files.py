"""What tensors of a transformer leave open is taken from its answers, said, or asked for."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.logits.all_pairs import accuracy, grid_logits
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.core.task import all_pairs, answers, tokens
from algophase.networks import Transformer, initialize
from algophase.storage import load

P, D = 7, 16


def lens_names(network: Transformer) -> dict[str, Tensor]:
    """The tensors of a network of ours as TransformerLens has them: with biases of zero."""
    tensors = dict(network.state_dict())
    tensors["unembed.b_U"] = torch.zeros(tensors["unembed.W_U"].shape[1])
    return tensors


@pytest.fixture(scope="module")
def adder() -> Transformer:
    """A transformer of attention rate 0.5 that answers every pair."""
    return trained(TaskSettings(P))


def trained(task: TaskSettings) -> Transformer:
    network = initialize(
        RunSettings(task, TransformerSettings(width=D, heads=2, attention_rate=0.5))
    )
    assert isinstance(network, Transformer)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=0.1)
    sequence, labels = tokens(task, all_pairs(P)), answers(task).flatten()
    for _ in range(300):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(sequence), labels).backward()
        optimizer.step()
    assert accuracy(grid_logits(network)) == 1
    return network.requires_grad_(False)


def written(path: Path, content: Any) -> Path:
    torch.save(content, path / "net.pt")
    return path / "net.pt"


def test_the_attention_rate_is_said_or_given(tmp_path: Path, adder: Transformer) -> None:
    path = written(tmp_path, lens_names(adder))
    assumed = load(path)
    note = "attention rate 1, which the file does not say; --attention-rate gives another"
    assert note in assumed.notes
    assert note in analyze(assumed).cautions
    given = load(path, attention_rate=0.5)
    assert isinstance(given.settings, TransformerSettings)
    assert given.settings.attention_rate == 0.5
    assert not any("attention rate" in note for note in given.notes)
    torch.testing.assert_close(grid_logits(given), grid_logits(adder))
    path = written(
        tmp_path,
        {"model": lens_names(adder), "config": {"attn_coeff": 0.5, "p": P, "frac_train": 1}},
    )
    torch.testing.assert_close(grid_logits(load(path)), grid_logits(adder))
    assert load(path).task.training_fraction == 1
    with pytest.raises(InputError, match=r"attn_coeff 0\.5, .* attention rate 0\.25"):
        load(path, attention_rate=0.25)


def test_a_rate_that_such_a_network_cannot_have(tmp_path: Path, adder: Transformer) -> None:
    path = written(tmp_path, {**lens_names(adder), "unembed.b_U": torch.ones(P)})
    with pytest.raises(InputError, match=r"attention rate 0\.5"):
        load(path, attention_rate=0.5)
    assert load(path, attention_rate=1).settings.kind == "lens"


@pytest.mark.parametrize("outputs", [P, P + 1])
def test_an_unused_token(tmp_path: Path, adder: Transformer, outputs: int) -> None:
    """A network of two positions with a token beyond its numbers: P + 1 tokens are no modulus of
    P + 1.
    """
    tensors = lens_names(adder)
    tensors["embed.W_E"] = torch.cat([tensors["embed.W_E"], torch.ones(1, D)])
    if outputs > P:
        tensors["unembed.W_U"] = torch.cat([tensors["unembed.W_U"], torch.zeros(D, 1)], dim=1)
        tensors["unembed.b_U"] = torch.zeros(P + 1)
    network = load(written(tmp_path, tensors), attention_rate=0.5)
    assert network.task.modulus == P
    assert (
        f"modulus {P}: one of its {P + 1} tokens is not used, and its logit is left out"
        in network.notes
    )
    torch.testing.assert_close(grid_logits(network), grid_logits(adder))
    assert load(tmp_path / "net.pt", modulus=P, attention_rate=0.5).task.modulus == P
    with pytest.raises(InputError, match=r"modulus 5; possible moduli: .*7"):
        load(tmp_path / "net.pt", modulus=5)


def test_a_modulus_that_no_answer_supports_is_a_caution(tmp_path: Path) -> None:
    untrained = initialize(RunSettings(TaskSettings(8), TransformerSettings(width=D, heads=2)))
    assert isinstance(untrained, Transformer)
    path = written(tmp_path, lens_names(untrained))
    network = load(path)
    assert network.task.modulus == 8
    assert (
        "modulus 8, taken from its 8 tokens; --modulus gives another" in analyze(network).cautions
    )
    assert load(path, modulus=7).task.modulus == 7
    separate = load(path, modulus=4).task
    assert (separate.modulus, separate.separate_vocabularies) == (4, True)
    assert not any("--modulus" in note for note in load(path, modulus=8).notes)


@pytest.mark.parametrize("turned", [False, True])
def test_a_square_matrix_is_turned_where_the_answers_say_so(tmp_path: Path, turned: bool) -> None:
    """attn.W_O of the progress-measures paper is (width, heads * size), which is square."""
    network = trained(TaskSettings(P, equals_sign=True))
    transposed = ("W_E", "W_in", "W_out", "W_Q", "W_K", "W_V")
    theirs = {
        name: value.mT if name.endswith(transposed) else value
        for name, value in network.state_dict().items()
    }
    square = theirs["blocks.0.attn.W_O"].flatten(0, 1)
    theirs["blocks.0.attn.W_O"] = square if turned else square.T
    torch.save({"model": theirs}, tmp_path / "final.pth")
    again = load(tmp_path / "final.pth", attention_rate=0.5)
    torch.testing.assert_close(grid_logits(again), grid_logits(network))
    assert any("is square and was turned over" in note for note in again.notes) == turned


@pytest.mark.parametrize(
    "name",
    [
        "blocks.0.mlp.W_gate",
        "blocks.0.attn.rotary_sin",
        "blocks.1.attn.W_Q2",
        "blocks.0.attn.sub.W_Q",
        "ln_final.scale",
    ],
)
def test_a_tensor_that_the_format_does_not_know_is_named(
    tmp_path: Path, adder: Transformer, name: str
) -> None:
    path = written(tmp_path, {**lens_names(adder), name: torch.ones(2, 2)})
    with pytest.raises(InputError, match=rf"format transformer-lens .*tensor {name} \(2, 2\)"):
        load(path)


def test_part_of_a_layer_or_norm_is_refused(tmp_path: Path, adder: Transformer) -> None:
    for name in ("blocks.1.mlp.W_in", "ln_final.w", "blocks.0.ln2.w"):
        with pytest.raises(
            InputError, match=r"tensor .* (is missing|does not belong to this kind of network)"
        ):
            load(written(tmp_path, {**lens_names(adder), name: torch.ones(D)}))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"p": 5}, "contradicts modulus 5; possible moduli: 7, 6"),
        ({"d_model": 32}, "its config says d_model 32, which contradicts width 16"),
        ({"use_ln": True}, "its config says use_ln True, which contradicts layer norm False"),
        (
            {"normalization_type": "RMS"},
            "its config says normalization_type 'RMS'; it must be true, false, LN or LNPre",
        ),
        ({"act_type": "swish"}, "its config says act_type 'swish'"),
        ({"attn_coeff": 3}, "its config says attn_coeff 3; it must be a number from 0 to 1"),
        ({"n_heads": 2.5}, r"its config says n_heads 2\.5; it must be a whole number"),
    ],
)
def test_a_config_inside_the_file_that_contradicts_it(
    tmp_path: Path, adder: Transformer, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load(written(tmp_path, {"model": lens_names(adder), "config": config}))


def test_the_activation_of_a_config_is_used(tmp_path: Path, adder: Transformer) -> None:
    network = load(
        written(
            tmp_path, {"model": lens_names(adder), "cfg": {"act_fn": "gelu", "attn_coeff": 0.5}}
        )
    )
    assert isinstance(network.settings, TransformerSettings)
    assert network.settings.activation == "gelu"
    assert not any("which the file does not say" in note for note in network.notes)


def test_the_first_of_two_states_is_not_taken_silently(tmp_path: Path, adder: Transformer) -> None:
    last, first = lens_names(adder), {name: 2 * value for name, value in lens_names(adder).items()}
    for content in ({"model": first, "model_state_dict": last}, {"model": first, "averaged": last}):
        path = written(tmp_path, content)
        with pytest.raises(
            InputError,
            match=r"model, .*--state",
        ):
            load(path)
        chosen = load(path, state=list(content)[1], attention_rate=0.5)
        torch.testing.assert_close(grid_logits(chosen), grid_logits(adder))
    with pytest.raises(InputError, match="'best'; it holds model, averaged"):
        load(path, state="best")
    same = written(tmp_path, {"model": last, "state_dict": lens_names(adder), "epoch": 3})
    torch.testing.assert_close(grid_logits(load(same, attention_rate=0.5)), grid_logits(adder))
    with pytest.raises(
        InputError,
        match="it holds start, end",
    ):
        load(written(tmp_path, {"start": first, "end": last}))
