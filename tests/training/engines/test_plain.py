"""The one file that shows how a network is trained says the same as PyTorch's own optimizer, and
as `train`.
"""

import pytest
import torch
from textbook import ARCHITECTURES, textbook

from algophase import train
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings
from algophase.training.engines.plain import learning_rate, train_one

STEPS = 30


def run_of(architecture: str) -> RunSettings:
    network = ARCHITECTURES[architecture]
    training = TrainingSettings(
        epochs=STEPS, warmup_steps=network.published_training().warmup_steps
    )
    return RunSettings(TaskSettings(modulus=7), network, training, seed=3)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_one_network_is_trained_as_the_textbook_says(architecture: str) -> None:
    run = run_of(architecture)
    network = train_one(run, torch.float64)
    for name, expected in textbook(run, STEPS).items():
        torch.testing.assert_close(network.get_parameter(name), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loop_trains_the_same_network(architecture: str) -> None:
    run = run_of(architecture)
    (trained,) = train([run], engine="plain", device="cpu", precision="float64")
    assert trained.network is not None
    expected = train_one(run, torch.float64)
    for name, value in trained.network.named_parameters():
        # What `train` returns is rounded to float32.
        torch.testing.assert_close(
            value.double(), expected.get_parameter(name), rtol=1e-6, atol=1e-9
        )


def test_what_diverges_stops() -> None:
    def after(steps: int) -> list[torch.Tensor]:
        training = TrainingSettings(epochs=steps, learning_rate=1e30, warmup_steps=0)
        run = RunSettings(TaskSettings(modulus=7), ARCHITECTURES["relu"], training)
        return list(train_one(run).parameters())

    for start, one_step, many_steps in zip(after(0), after(1), after(STEPS), strict=True):
        assert not torch.equal(start, one_step)
        assert torch.equal(one_step, many_steps)  # its loss was then not a number


def test_the_first_step_of_a_warm_up_has_rate_zero() -> None:
    training = TrainingSettings(learning_rate=0.5, warmup_steps=10)
    assert [learning_rate(training, step) for step in (0, 5, 10, 99)] == [0.0, 0.25, 0.5, 0.5]
    assert learning_rate(TrainingSettings(learning_rate=0.5, warmup_steps=0), 0) == 0.5
