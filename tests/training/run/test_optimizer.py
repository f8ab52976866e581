"""Optimizers of ensembles, step by step against PyTorch's own; every training choice of an ensemble
against `train_one`.
"""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from algophase import RunSettings, TaskSettings, TrainingSettings, TransformerSettings, train
from algophase.core.settings import LinearSettings, NetworkSettings
from algophase.networks import initialize
from algophase.training.engines.engine import Engine
from algophase.training.engines.grid import GridTransformer
from algophase.training.engines.grid_linear import GridLinear
from algophase.training.engines.plain import train_one
from algophase.training.engines.stacked import StackedEngine
from algophase.training.run.optimizer import make_optimizer

CPU = torch.device("cpu")
TASK = TaskSettings(7)
STEPS = 6


def own_part(value: Tensor, like: Tensor) -> Tensor:
    """A network's own corner of a padded parameter."""
    return value[tuple(slice(0, size) for size in like.shape)]


def as_torch_takes_it(name: str, value: Tensor) -> Tensor:
    """A matrix of all heads, as a linear layer of PyTorch would have it, written out."""
    if name.endswith(("W_Q", "W_K", "W_V")):
        return torch.cat([head.clone() for head in value], dim=1)
    if name.endswith("W_O"):
        return torch.cat([head.clone() for head in value], dim=0)
    return value.clone()


class TorchOptimizer:
    """One network's parameters under PyTorch's own optimizers."""

    def __init__(self, run: RunSettings) -> None:
        self.training = run.training
        start = dict(initialize(run).named_parameters())
        self.values = {}
        for name, value in start.items():
            matrix = as_torch_takes_it(name, value.detach().double())
            self.values[name] = torch.nn.Parameter(matrix)
        hidden: list[torch.nn.Parameter] = []
        others: list[torch.nn.Parameter] = []
        for name, value in self.values.items():
            is_hidden = value.ndim == 2 and "embed" not in name
            (hidden if is_hidden else others).append(value)
        decay = run.training.weight_decay
        betas = (run.training.beta1, run.training.beta2)
        momentum = run.training.momentum
        self.optimizers: list[torch.optim.Optimizer]
        if run.training.optimizer == "sgd":
            sgd = torch.optim.SGD([*hidden, *others], momentum=momentum, weight_decay=decay)
            self.optimizers = [sgd]
            return
        if run.training.optimizer == "adamw":
            others, hidden = [*hidden, *others], []
        adamw = torch.optim.AdamW(others, betas=betas, eps=run.training.epsilon, weight_decay=decay)
        self.optimizers = [adamw]
        if hidden:
            muon = torch.optim.Muon(
                hidden, weight_decay=decay, momentum=momentum, adjust_lr_fn="match_rms_adamw"
            )
            self.optimizers.append(muon)

    def step(self, gradients: dict[str, Tensor], step: int) -> None:
        for name, value in self.values.items():
            value.grad = as_torch_takes_it(name, gradients[name])
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                warm = min(step / self.training.warmup_steps, 1.0)
                group["lr"] = self.training.learning_rate * warm
            optimizer.step()


def runs_with(network: NetworkSettings, **choices: object) -> list[RunSettings]:
    """Two networks that differ in all that may differ within an ensemble."""
    first = TrainingSettings(epochs=STEPS, warmup_steps=3, **choices)  # type: ignore[arg-type]
    second = replace(first, learning_rate=3e-3, weight_decay=0.5, momentum=0.8, beta2=0.9)
    return [RunSettings(TASK, network, first, 0), RunSettings(TASK, network, second, 1)]


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "sgd"])
@pytest.mark.parametrize(
    ("engine_class", "network"),
    [
        (StackedEngine, TransformerSettings(12, layers=2, heads=3)),
        (GridTransformer, TransformerSettings(12)),
        (GridLinear, LinearSettings("beta", 10, 14)),
    ],
)
def test_an_ensemble_steps_as_pytorch_does(
    engine_class: type[Engine], network: NetworkSettings, optimizer: str
) -> None:
    runs = runs_with(network, optimizer=optimizer)
    engine = engine_class(runs, CPU, "float64")
    ours = make_optimizer(engine, runs)
    theirs = [TorchOptimizer(run) for run in runs]
    random = torch.Generator().manual_seed(0)
    diverged_at = torch.full((2,), -1)
    # Muon rounds to bfloat16 on the way, in another order for a batch
    tolerance = 3e-2 * 3e-3 if optimizer == "muon" else 1e-12
    for step in range(STEPS):
        for value in engine.export(engine.gradients).values():
            value.copy_(torch.randn(value.shape, generator=random))
        gradients = engine.export(engine.gradients)
        for index, reference in enumerate(theirs):
            own = {name: value[index].clone() for name, value in gradients.items()}
            reference.step(own, step)
        ours.epoch(engine.gradients, torch.ones(2), diverged_at)
        exported = engine.export()
        for index, reference in enumerate(theirs):
            for name, value in reference.values.items():
                actual = as_torch_takes_it(name, exported[name][index])
                torch.testing.assert_close(actual, value.detach(), rtol=1e-9, atol=tolerance)


def test_padding_and_company_change_no_update_of_muon() -> None:
    training = TrainingSettings(epochs=STEPS, warmup_steps=0, optimizer="muon")
    wide, narrow = (
        RunSettings(TASK, TransformerSettings(width, heads=2), training, 3) for width in (16, 10)
    )
    together = train([wide, narrow], engine="stacked", device="cpu", precision="float64")
    for run, trained in zip([wide, narrow], together, strict=True):
        assert trained.network is not None
        alone = dict(train_one(run, torch.float64).named_parameters())
        for name, value in trained.network.named_parameters():
            torch.testing.assert_close(value.double(), alone[name], rtol=1e-3, atol=3e-4)


CHOICES: dict[str, dict[str, object]] = {
    "sgd": {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 1e-3},
    "stablemax": {"loss": "stablemax"},
    "PyTorch's loss in float64": {"loss": "torch-cross-entropy", "loss_precision": "float64"},
    "fixed norm": {"fixed_norm": 9.0, "weight_decay": 0.0},
    "decay for some epochs": {"decay_from": 3, "decay_until": 9},
    "large start": {"initial_scale": 2.5},
    "cosine": {"schedule": "cosine", "warmup_steps": 4},
}


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_trains_an_ensemble_as_one_network(choice: str) -> None:
    training = TrainingSettings(**{"epochs": 14, **CHOICES[choice]})  # type: ignore[arg-type]
    published = TrainingSettings(epochs=14)
    networks = [TransformerSettings(8, attention_rate=rate) for rate in (0.0, 1.0)]
    runs = [RunSettings(TASK, network, training) for network in networks]
    expected = [dict(train_one(run, torch.float64).named_parameters()) for run in runs]
    before = train_one(replace(runs[0], training=published), torch.float64)
    embedding = before.get_parameter("embed.W_E")
    # In float64 PyTorch's loss is ours.
    is_other = not torch.allclose(expected[0]["embed.W_E"], embedding, rtol=1e-6)
    assert is_other == (choice != "PyTorch's loss in float64")
    for engine in ("plain", "grid", "stacked"):
        outcomes = train(runs, engine=engine, device="cpu", precision="float64")
        for trained, values in zip(outcomes, expected, strict=True):
            assert trained.network is not None
            for name, value in trained.network.named_parameters():  # kept in float32
                torch.testing.assert_close(value, values[name].float(), rtol=1e-5, atol=1e-7)


def test_a_fixed_norm_is_that_of_all_parameters_together() -> None:
    training = TrainingSettings(epochs=3, fixed_norm=5.0, weight_decay=0.0)
    free = replace(training, fixed_norm=0.0, decay_until=2)  # in the same ensemble
    network = TransformerSettings(8)
    runs = [RunSettings(TASK, network, training), RunSettings(TASK, network, free)]
    fixed, other = train(runs, engine="stacked", device="cpu", history_stride=1)
    assert fixed.history.parameter_norm[1:] == pytest.approx(5.0, rel=1e-6)
    assert other.history.parameter_norm[-1] != pytest.approx(5.0, rel=1e-2)


def test_a_frozen_network_stays_as_it_is_under_every_optimizer() -> None:
    for optimizer in ("adamw", "muon", "sgd"):
        runs = runs_with(TransformerSettings(8), optimizer=optimizer, fixed_norm=4.0)
        engine = StackedEngine(runs, CPU, "float32")
        ours = make_optimizer(engine, runs)
        engine.gradients.flat[1] = math.nan
        diverged_at = torch.full((2,), -1)
        before = engine.parameters.flat[1].clone()
        for _ in range(2):
            ours.epoch(engine.gradients, torch.tensor([1.0, math.nan]), diverged_at)
        assert diverged_at.tolist() == [-1, 0]
        assert torch.equal(engine.parameters.flat[1], before)
        assert bool(torch.isfinite(engine.parameters.flat[0]).all())
