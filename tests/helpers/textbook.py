"""The published recipe in PyTorch's own words: what every way to train is compared with."""

import torch
from torch import Tensor

from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TransformerSettings,
)
from algophase.core.task import all_pairs, labels, split, tokens
from algophase.networks import initialize


def textbook(run: RunSettings, steps: int) -> dict[str, Tensor]:
    """The published recipe in float64, written here on its own: torch's AdamW and schedule,
    log-softmax, the module itself.
    """
    network = initialize(run).double()
    chosen, settings = split(run.task, run.seed).training, run.training
    inputs = tokens(run.task, all_pairs(run.task.modulus))[chosen]
    answers = labels(run.task.modulus).flatten()[chosen]
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        weight_decay=settings.weight_decay,
    )
    warmup = settings.warmup_steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(step / warmup, 1) if warmup else 1
    )
    for _ in range(steps):
        log_probabilities = torch.log_softmax(network(inputs), dim=-1)
        loss = -log_probabilities.gather(1, answers[:, None]).mean()
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        for parameter in (
            network.parameters()
        ):  # constant attention leaves queries and keys unused; they still decay
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        schedule.step()
    return {name: value.detach() for name, value in network.named_parameters()}


ARCHITECTURES: dict[str, NetworkSettings] = {
    "relu": TransformerSettings(width=12, attention_rate=0.37),
    "gelu": TransformerSettings(width=9, attention_rate=0.0, activation="gelu"),
    "two layers": TransformerSettings(width=8, layers=2),
    "beta": LinearSettings("beta", 6, 10),
    "delta": LinearSettings("delta", 6, 10),
}
