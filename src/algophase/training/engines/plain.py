"""The yardstick: one network as the specification writes it, autograd, all pairs of a batch at once. Every other engine
is checked against it."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.func import functional_call

from algophase.errors import InputError
from algophase.networks import template
from algophase.settings import RunSettings
from algophase.task import all_pairs, tokens
from algophase.training.engines.engine import Engine
from algophase.training.engines.loss import loss_and_right, weighted_cross_entropy


class PlainEngine(Engine):
    """The network module itself, and `torch.autograd`."""

    name: ClassVar[str] = "plain"
    rounds_sizes_on: ClassVar[tuple[str, ...]] = ()

    def __init__(self, runs: list[RunSettings], device: torch.device, precision: str) -> None:
        if len(runs) != 1:
            raise InputError(f"the plain engine trains one network at a time; {len(runs)} were given")
        super().__init__(runs, device, precision)
        self.module = template(self.task, runs[0].network)
        pairs = all_pairs(self.modulus)
        self.sequences = tokens(self.task, pairs).to(device)
        chosen = self.weights.flatten() > 0
        self.training_sequences = self.sequences[chosen]
        self.training_labels = self.labels.flatten()[chosen]
        self.training_weights = self.weights.flatten()[chosen]

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        return None

    def _logits(self, values: dict[str, Tensor], sequences: Tensor) -> Tensor:
        return functional_call(self.module, values, (sequences,))

    def loss_and_gradient(self) -> Tensor:
        values = {name: value[0].detach().requires_grad_() for name, value in self.parameters.items()}
        logits = self._logits(values, self.training_sequences)
        loss = weighted_cross_entropy(logits[None], self.training_labels, self.training_weights[None])
        for name, gradient in zip(
            values, torch.autograd.grad(loss.sum(), list(values.values()), allow_unused=True), strict=True
        ):
            # constant attention leaves queries and keys unused
            self.gradients[name][0].copy_(torch.zeros_like(values[name]) if gradient is None else gradient)
        return loss.detach()

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        logits = self._logits({name: value[0] for name, value in self.parameters.items()}, self.sequences)
        logits = logits.view(1, self.modulus, self.modulus, -1)
        return loss_and_right(logits, self.labels)
