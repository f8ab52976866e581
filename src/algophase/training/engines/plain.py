"""How is one network trained? Model, loss, optimizer and schedule, as the paper has them, in one
file.

`train_one` is the whole of it, written to be read. Every other engine computes the same numbers for
many networks at once and faster; each is checked against the loss and the gradient of
`PlainEngine`.

The recipe (section 2 and appendix F.1): all training pairs in every step (full batch),
cross-entropy, AdamW with weight decay 2, learning rate 1e-3 after ten steps of warm-up, 20,000
steps. Other choices are settings of a run (`TrainingSettings`): two more optimizers, other losses
(`_loss.py`), a schedule, weight decay for some of the epochs, and a fixed norm.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import functional_call

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TrainingSettings
from algophase.core.task import all_pairs, answers, split, tokens
from algophase.networks import Network, initialize, template
from algophase.training.engines._loss import Loss
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
    mean_loss = Loss.of([run])
    optimizer = OPTIMIZERS[run.training.optimizer](parameters, run.training)
    for _ in range(run.training.epochs):
        loss, gradients = loss_and_gradients(
            network, parameters, sequences, right_answers, mean_loss
        )
        if not torch.isfinite(loss):  # it diverged: its last numbers are kept
            break
        optimizer.step(gradients)
        if run.training.fixed_norm > 0:
            scale_to_norm(parameters, run.training.fixed_norm)
    return network


def loss_and_gradients(
    network: Network,
    parameters: Parameters,
    sequences: Tensor,
    right_answers: Tensor,
    mean_loss: Loss = Loss(),
) -> tuple[Tensor, Parameters]:
    """Mean loss of token sequences (n, context), and its gradient by every parameter."""
    values = {name: parameter.detach().requires_grad_() for name, parameter in parameters.items()}
    logits = functional_call(network, values, (sequences,))
    weights = logits.new_full((1, len(logits)), 1 / len(logits))
    losses = mean_loss.weighted(logits[None], right_answers, weights)
    loss = losses[0]  # it keeps its digits in float32
    # With attention rate 0, queries and keys are not used at all.
    with_unused = torch.autograd.grad(loss, list(values.values()), allow_unused=True)
    gradients = {}
    for name, gradient in zip(values, with_unused, strict=True):
        gradients[name] = torch.zeros_like(values[name]) if gradient is None else gradient
    return loss.detach(), gradients


def learning_rate(training: TrainingSettings, step: int) -> float:
    """The rate of a step, counted from 0. It rises linearly, so that the first step of a warm-up
    has rate 0; after that it is constant, or falls to 0 as half a cosine.
    """
    rate = training.learning_rate
    if step < training.warmup_steps:
        return rate * (step / training.warmup_steps)
    if training.schedule == "cosine":
        steps = max(1, training.epochs - training.warmup_steps)
        progress = min((step - training.warmup_steps) / steps, 1.0)
        rate *= 0.5 * (1 + math.cos(math.pi * progress))
    return rate


def weight_decay(training: TrainingSettings, step: int) -> float:
    """The weight decay of a step, counted from 0."""
    has_begun = step >= training.decay_from
    has_ended = 0 < training.decay_until <= step
    return training.weight_decay if has_begun and not has_ended else 0.0


@torch.no_grad()
def scale_to_norm(parameters: Parameters, norm: float) -> None:
    """Scale all parameters together so that the root of the sum of all squares is `norm`."""
    squares = sum(float(value.double().square().sum()) for value in parameters.values())
    for value in parameters.values():
        value.mul_(norm / math.sqrt(squares))


class AdamW:
    """Adam with decoupled weight decay. With g the gradient, r the learning rate and t the step,
    counted from 1:

    m <- beta1 m + (1 - beta1) g
    v <- beta2 v + (1 - beta2) g^2
    w <- (1 - r decay) w - r (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
    """

    def __init__(self, parameters: Parameters, training: TrainingSettings) -> None:
        self.parameters = parameters
        self.training = training
        self.steps = 0
        self.first_moments = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self.second_moments = {name: torch.zeros_like(value) for name, value in parameters.items()}

    @torch.no_grad()
    def step(self, gradients: Parameters) -> None:
        settings = self.training
        rate = learning_rate(settings, self.steps)
        decay = weight_decay(settings, self.steps)
        self.steps += 1
        for name, weight in self.parameters.items():
            gradient = gradients[name]
            first = self.first_moments[name]
            second = self.second_moments[name]
            first.mul_(settings.beta1).add_((1 - settings.beta1) * gradient)
            second.mul_(settings.beta2).add_((1 - settings.beta2) * gradient.square())
            mean = first / (1 - settings.beta1**self.steps)
            spread = (second / (1 - settings.beta2**self.steps)).sqrt() + settings.epsilon
            weight.mul_(1 - rate * decay)
            weight.sub_(rate * mean / spread)


class SGD:
    """Gradient descent with momentum, as `torch.optim.SGD`: weight decay is part of the gradient.

    b <- momentum b + (g + decay w)
    w <- w - r b
    """

    def __init__(self, parameters: Parameters, training: TrainingSettings) -> None:
        self.parameters = parameters
        self.training = training
        self.steps = 0
        self.averages = {name: torch.zeros_like(value) for name, value in parameters.items()}

    @torch.no_grad()
    def step(self, gradients: Parameters) -> None:
        rate = learning_rate(self.training, self.steps)
        decay = weight_decay(self.training, self.steps)
        self.steps += 1
        for name, weight in self.parameters.items():
            average = self.averages[name]
            average.mul_(self.training.momentum).add_(gradients[name] + decay * weight)
            weight.sub_(rate * average)


class Muon:
    """Muon (Jordan 2024) for the hidden matrices, as `torch.optim.Muon` with the update's size
    matched to AdamW's, so that learning rate and weight decay mean the same. `AdamW` for all other
    parameters: embeddings, unembedding and biases.

    b <- momentum b + (1 - momentum) g
    u <- orthogonalized(momentum b + (1 - momentum) g)              (Nesterov's momentum)
    w <- (1 - r decay) w - r 0.2 sqrt(max(rows, columns)) u
    """

    def __init__(self, parameters: Parameters, training: TrainingSettings) -> None:
        self.training = training
        self.steps = 0
        self.matrices: dict[str, Tensor] = {}
        by_adamw: dict[str, Tensor] = {}
        for name, value in parameters.items():
            group = self.matrices if is_hidden_matrix(name, value.ndim) else by_adamw
            group[name] = value
        self.adamw = AdamW(by_adamw, training)
        self.averages = {name: torch.zeros_like(value) for name, value in self.matrices.items()}

    @torch.no_grad()
    def step(self, gradients: Parameters) -> None:
        momentum = self.training.momentum
        rate = learning_rate(self.training, self.steps)
        decay = weight_decay(self.training, self.steps)
        self.steps += 1
        self.adamw.step(gradients)
        for name, weight in self.matrices.items():
            average = self.averages[name].lerp_(gradients[name], 1 - momentum)
            ahead = as_matrix(name, gradients[name].lerp(average, momentum))
            update = from_matrix(name, orthogonalized(ahead[None])[0], weight.shape)
            size = 0.2 * math.sqrt(max(ahead.shape))
            weight.mul_(1 - rate * decay)
            weight.sub_(rate * size * update)


OPTIMIZERS: dict[str, type[AdamW | Muon | SGD]] = {"adamw": AdamW, "muon": Muon, "sgd": SGD}


def is_hidden_matrix(name: str, axes: int) -> bool:
    """Whether Muon updates a parameter: a matrix that is no embedding and no unembedding. axes: of
    one network's parameter."""
    return axes >= 2 and "embed" not in name


def as_matrix(name: str, value: Tensor) -> Tensor:
    """A parameter (..., rows, columns), or of all heads together: W_Q, W_K and W_V (..., h, d, e)
    as (..., d, h e), and W_O (..., h, e, d) as (..., h e, d)."""
    if "attn" not in name:
        return value
    if name.endswith("W_O"):
        return value.flatten(-3, -2)
    return value.transpose(-3, -2).flatten(-2)


def from_matrix(name: str, matrix: Tensor, shape: torch.Size) -> Tensor:
    """The reverse of `as_matrix`, for a parameter of that shape."""
    if "attn" not in name:
        return matrix
    heads, first, second = shape[-3:]
    if name.endswith("W_O"):
        return matrix.unflatten(-2, (heads, first))
    return matrix.unflatten(-1, (heads, second)).transpose(-3, -2)


def orthogonalized(matrices: Tensor) -> Tensor:
    """About U V^T for each matrix U S V^T of (n, rows, columns): five Newton-Schulz steps in
    bfloat16, with the constants of `torch.optim.Muon`."""
    x = matrices.bfloat16()
    is_tall = x.shape[1] > x.shape[2]
    if is_tall:
        x = x.mT
    norm = torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True)
    x = x / norm.clamp_min(1e-7)
    for _ in range(5):
        gram = torch.bmm(x, x.mT)
        polynomial = torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, polynomial, x, beta=3.4445)
    return x.mT if is_tall else x


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
            self.module,
            self._values(),
            self.training_sequences,
            self.training_labels,
            self.loss,
        )
        for name, gradient in gradients.items():
            self.gradients[name][0].copy_(gradient)
        return loss[None]

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        logits = functional_call(self.module, self._values(), (self.sequences,))
        on_grid = logits.view(1, self.modulus, self.modulus, -1)
        return self.loss.and_right(on_grid, self.labels)
