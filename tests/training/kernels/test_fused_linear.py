"""The fused engine for linear models against the specification: on a GPU, or in Triton's
interpreter on a CPU.
"""

from dataclasses import replace

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")

from algophase.core.errors import InputError
from algophase.core.settings import (
    LINEAR_MODELS,
    LinearSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
)
from algophase.training.check.gradient_check import away_from_kinks, compare, in_every_state
from algophase.training.engines.fused_linear import FusedLinear
from algophase.training.engines.plain import PlainEngine
from algophase.training.run.optimizer import make_optimizer

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LONG = pytest.mark.slow  # for Triton's interpreter


def run_of(
    model: str, modulus: int = 5, width: int = 12, hidden: int = 10, seed: int = 0
) -> RunSettings:
    return away_from_kinks(
        RunSettings(TaskSettings(modulus), LinearSettings(model, width, hidden), seed=seed)
    )


@pytest.mark.parametrize("model", LINEAR_MODELS)
def test_gradients_are_the_specifications(model: str) -> None:
    """Padded: 5 tokens to 16, a width of 12 to 64 (delta: two halves of 6), 10 hidden units to
    64.
    """
    parameter, error, _ = compare(FusedLinear, [run_of(model)], DEVICE, "half")
    assert error < 5e-3, parameter


def test_gradients_are_right_with_the_tiles_of_smaller_cards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALGOPHASE_SHARED_MEMORY_KB", "99")
    parameter, error, _ = compare(FusedLinear, [run_of("beta")], DEVICE, "half")
    assert error < 5e-3, parameter


def corner(padded: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return padded[tuple(slice(0, size) for size in like.shape)]


@pytest.mark.parametrize("model", ["delta", "alpha-prime"])
def test_muon_moves_every_hidden_matrix_as_in_the_plain_engine(model: str) -> None:
    """Model delta's first matrix is kept in two halves."""
    training = TrainingSettings(optimizer="muon", warmup_steps=0)
    run = replace(run_of(model), training=training)
    fused, plain = FusedLinear([run], DEVICE, "half"), PlainEngine([run], DEVICE, "float32")
    gradients = plain.export(plain.gradients)
    random = torch.Generator().manual_seed(0)
    optimizers = [make_optimizer(engine, [run]) for engine in (fused, plain)]
    for _ in range(3):
        for name, views in fused._views(fused.gradients).items():
            gradients[name].copy_(torch.randn(gradients[name].shape, generator=random))
            for view, value in zip(views, gradients[name].chunk(len(views), dim=-1), strict=True):
                corner(view, value).copy_(value)
        for engine, optimizer in zip((fused, plain), optimizers, strict=True):
            optimizer.step(engine.gradients)
    for name, value in plain.export().items():
        own = corner(fused.export()[name], value)
        torch.testing.assert_close(own, value, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("model", "group"),
    [
        ("delta", "S3"),
        ("beta", "Z2xZ2"),
        pytest.param("alpha-prime", "Q8", marks=LONG),
        pytest.param("alpha", "Z2xZ4", marks=LONG),
        pytest.param("gamma", "Z3xZ3", marks=LONG),
    ],
)
def test_right_answers_of_a_group_are_looked_up(model: str, group: str) -> None:
    task, network = TaskSettings(group=group), LinearSettings(model, 12, 10)
    run = away_from_kinks(RunSettings(task, network))
    parameter, error, _ = compare(FusedLinear, [run], DEVICE, "half")
    assert error < 5e-3, parameter
    engine, plain = FusedLinear([run], DEVICE, "half"), PlainEngine([run], DEVICE, "float64")
    (losses, right), (expected_losses, expected_right) = engine.all_pairs(), plain.all_pairs()
    torch.testing.assert_close(losses.double(), expected_losses, rtol=1e-2, atol=0)
    assert torch.equal(right, expected_right)


@LONG
@pytest.mark.parametrize("model", LINEAR_MODELS)
@pytest.mark.parametrize(("modulus", "width", "hidden"), [(17, 40, 130), (67, 20, 16)])
def test_gradients_stay_right(model: str, modulus: int, width: int, hidden: int) -> None:
    """Of several tiles, and of more than 64 outputs: in every state, as `check-gradients`
    judges.
    """
    engine = FusedLinear([run_of(model, modulus, width, hidden)], DEVICE, "half")
    results = list(
        in_every_state(engine.runs, engine.device, lambda: [engine], model, off_kinks=True)
    )
    assert [result.state for result in results] == ["start", "middle", "late", "near divergence"]
    assert [result for result in results if not result.passed] == []


@pytest.mark.parametrize("model", ["beta", "delta"])
def test_padding_has_no_gradient_and_all_pairs_are_judged(model: str) -> None:
    run = run_of(model)
    engine, plain = FusedLinear([run], DEVICE, "half"), PlainEngine([run], DEVICE, "float64")
    loss = engine.loss_and_gradient()
    exported = sum(value.count_nonzero() for value in engine.export(engine.gradients).values())
    assert engine.gradients.flat.count_nonzero() == exported
    torch.testing.assert_close(loss.double(), plain.loss_and_gradient(), rtol=1e-3, atol=0)
    (losses, right), (expected_losses, expected_right) = engine.all_pairs(), plain.all_pairs()
    torch.testing.assert_close(losses.double(), expected_losses, rtol=1e-2, atol=0)
    assert torch.equal(right, expected_right)


@LONG
@pytest.mark.parametrize("model", ["gamma", "alpha-prime"])
def test_a_networks_bits_do_not_depend_on_its_company(model: str) -> None:
    """Also of networks of another width that are padded alike."""
    runs = [
        run_of(model, width=width, hidden=16, seed=seed) for seed, width in enumerate((12, 16, 9))
    ]
    together, alone = FusedLinear(runs, DEVICE, "half"), FusedLinear(runs[1:2], DEVICE, "half")
    loss, own_loss = together.loss_and_gradient(), alone.loss_and_gradient()
    assert torch.equal(loss[1], own_loss[0])
    assert torch.equal(together.gradients.flat[1], alone.gradients.flat[0])


@pytest.mark.parametrize("model", ["alpha", "beta", "delta"])
def test_the_memory_of_a_network_is_estimated_on_the_high_side(model: str) -> None:
    engine = FusedLinear([RunSettings(network=LinearSettings(model))], torch.device("cpu"), "half")
    allocated = sum(value.nbytes for value in engine.memory.values())
    allocated += 8 * engine.parameters.flat.nbytes
    assert 1.0 <= 4 * engine.numbers_per_network(engine.task, engine.settings) / allocated < 2.5


def test_parameters_come_back_as_they_went_in() -> None:
    for model in LINEAR_MODELS:
        run = run_of(model)
        expected = PlainEngine([run], DEVICE, "float32").export()
        found = FusedLinear([run], DEVICE, "half").export()
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            size = tuple(slice(0, length) for length in value.shape)
            assert torch.equal(found[name][size], value), name


def test_what_it_cannot_train_is_told() -> None:
    cuda, run = torch.device("cuda"), RunSettings(network=LinearSettings("beta"))
    for other, reason in (
        (
            replace(run, network=LinearSettings("beta", hidden=512)),
            "at most 256 hidden units of model beta, not 512",
        ),
        (
            replace(run, network=LinearSettings("alpha", hidden=2048)),
            "at most 1024 hidden units of model alpha, not 2048",
        ),
        (replace(run, task=TaskSettings(131)), "at most 128 outputs, not 131"),
        (RunSettings(), "linear models, not transformer networks"),
    ):
        assert reason in str(FusedLinear.unsupported(other, cuda))
    with pytest.raises(InputError, match="precision is 'tf32'; this engine has half"):
        FusedLinear([run], DEVICE, "tf32")
