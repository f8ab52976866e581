"""How is one network trained? Model, loss, optimizer and schedule, as the paper has them, in one
file.

`train_one` is the whole of it, written to be read. Every other engine computes the same numbers for
many networks at once and faster; each is checked against the loss and the gradient of
`PlainEngine`.

The recipe (section 2 and appendix F.1): all training pairs in every step (full batch),
cross-entropy, AdamW with weight decay 2, learning rate 1e-3 after ten steps of warm-up, 20,000
steps.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import functional_call

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TrainingSettings
from algophase.core.task import all_pairs, answers, split, tokens
from algophase.networks import Network, initialize, template
from algophase.training.engines._loss import loss_and_right, weighted_cross_entropy
from algophase.training.engines.engine import Engine

Parameters = Mapping[str, Tensor]


def train_one(run: RunSettings, precision: torch.dtype = torch.float32) -> Network:
    """Train one network on the CPU and return it.

    Arguments:
        run: task, network, training settings and seed. The seed decides initial weights and split.
        precision: of all numbers, float32 or float64.

    >>> from algophase import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
    >>> training = TrainingSettings(epochs=5)
    >>> network = train_one(RunSettings(TaskSettings(7), TransformerSettings(8), training))
    >>> tuple(network.run_with_cache()[0].shape)
    (49, 7)
    """
    network = initialize(run).to(precision)
    parameters = dict(network.named_parameters())
    training_pairs = split(run.task, run.seed).training  # row numbers into all pairs
    sequences = tokens(run.task, all_pairs(run.task.modulus))[training_pairs]
    right_answers = answers(run.task).flatten()[training_pairs]
    optimizer = AdamW(parameters, run.training)
    for _ in range(run.training.epochs):
        loss, gradients = loss_and_gradients(network, parameters, sequences, right_answers)
        if not torch.isfinite(loss):  # it diverged: its last numbers are kept
            break
        optimizer.step(gradients)
    return network


def loss_and_gradients(
    network: Network, parameters: Parameters, sequences: Tensor, right_answers: Tensor
) -> tuple[Tensor, Parameters]:
    """Mean cross-entropy of token sequences (n, context), and its gradient by every parameter."""
    values = {name: parameter.detach().requires_grad_() for name, parameter in parameters.items()}
    logits = functional_call(network, values, (sequences,))
    weights = logits.new_full((1, len(logits)), 1 / len(logits))
    losses = weighted_cross_entropy(logits[None], right_answers, weights)
    loss = losses[0]  # it keeps its digits in float32
    # With attention rate 0, queries and keys are not used at all.
    with_unused = torch.autograd.grad(loss, list(values.values()), allow_unused=True)
    gradients = {}
    for name, gradient in zip(values, with_unused, strict=True):
        gradients[name] = torch.zeros_like(values[name]) if gradient is None else gradient
    return loss.detach(), gradients


def learning_rate(training: TrainingSettings, step: int) -> float:
    """The rate of a step, counted from 0. It rises linearly, so that the first step of a warm-up
    has rate 0.
    """
    if training.warmup_steps == 0:
        return training.learning_rate
    return training.learning_rate * min(step / training.warmup_steps, 1.0)


class AdamW:
    """Adam with decoupled weight decay. With g the gradient, r the learning rate and t the step,
    counted from 1:

    m <- beta1 m + (1 - beta1) g
    v <- beta2 v + (1 - beta2) g^2
    w <- (1 - r decay) w - r (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
    """

    def __init__(self, parameters: Parameters, training: TrainingSettings) -> None:
        self.parameters, self.training, self.steps = parameters, training, 0
        self.first_moments = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self.second_moments = {name: torch.zeros_like(value) for name, value in parameters.items()}

    @torch.no_grad()
    def step(self, gradients: Parameters) -> None:
        settings, rate = self.training, learning_rate(self.training, self.steps)
        self.steps += 1
        for name, weight in self.parameters.items():
            gradient = gradients[name]
            first, second = self.first_moments[name], self.second_moments[name]
            first.mul_(settings.beta1).add_((1 - settings.beta1) * gradient)
            second.mul_(settings.beta2).add_((1 - settings.beta2) * gradient.square())
            mean = first / (1 - settings.beta1**self.steps)
            spread = (second / (1 - settings.beta2**self.steps)).sqrt() + settings.epsilon
            weight.mul_(1 - rate * settings.weight_decay)
            weight.sub_(rate * mean / spread)


class PlainEngine(Engine):
    """`loss_and_gradients` as the training loop and the gradient check ask for it: an ensemble
    of one.
    """

    name: ClassVar[str] = "plain"
    one_at_a_time: ClassVar[bool] = True
    rounds_sizes_on: ClassVar[tuple[str, ...]] = ()

    def __init__(self, runs: list[RunSettings], device: torch.device, precision: str) -> None:
        if len(runs) != 1:
            raise InputError(
                f"the plain engine trains one network at a time; {len(runs)} were given"
            )
        super().__init__(runs, device, precision)
        self.module = template(self.task, runs[0].network)
        self.sequences = tokens(self.task, all_pairs(self.modulus)).to(device)
        is_training = self.weights.flatten() > 0
        self.training_sequences = self.sequences[is_training]
        self.training_labels = self.labels.flatten()[is_training]

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        return None

    def _values(self) -> dict[str, Tensor]:
        """The one network's parameters."""
        return {name: value[0] for name, value in self.parameters.items()}

    def loss_and_gradient(self) -> Tensor:
        loss, gradients = loss_and_gradients(
            self.module, self._values(), self.training_sequences, self.training_labels
        )
        for name, gradient in gradients.items():
            self.gradients[name][0].copy_(gradient)
        return loss[None]

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        logits = functional_call(self.module, self._values(), (self.sequences,))
        return loss_and_right(logits.view(1, self.modulus, self.modulus, -1), self.labels)
