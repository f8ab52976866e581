"""Losses whose gradients keep their digits in float32, and PyTorch's own, whose does not.

**Cross-entropy.** Near the end of training the loss is about 1e-7. A float32 log-softmax has then
no digits left at the label, and all of them at the wrong classes. So with q_c the probability of
class c, y the label and s = sum over c != y of q_c, the gradient is q_c at a wrong class and -s at
the label, and the loss is -log1p(-s), or -log q_y where s is not small: nothing cancels.

**PyTorch's cross-entropy** has q_y - 1 at the label, which is 0 once q_y rounds to 1.

**StableMax** (Prieto et al. 2025, arXiv 2501.04697) is the cross-entropy with other probabilities:
q_c = f(x_c) / sum over all classes of f, with f(x) = x + 1 for x >= 0 and 1 / (1 - x) below. It
falls as a power of the logits and not exponentially, so that no training pair stops to count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings


def loss_and_slope(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Loss (...) and d loss / d logits (..., outputs) of each row, for labels (...) that
    broadcast to the rows.
    """
    at_label = labels.expand(logits.shape[:-1])[..., None]
    logs = torch.log_softmax(logits, -1)
    of_label = logs.gather(-1, at_label)
    wrong = logs.exp_().scatter_(-1, at_label, 0.0)
    minus_s = wrong.sum(-1, keepdim=True).neg_()
    loss = torch.where(minus_s > -0.5, torch.log1p(minus_s), of_label).neg_()
    return loss.squeeze(-1), wrong.scatter_(-1, at_label, minus_s)


def _rounded_loss_and_slope(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The same as PyTorch's `cross_entropy` and its backward pass round it."""
    at_label = labels.expand(logits.shape[:-1])[..., None]
    logs = torch.log_softmax(logits, -1)
    loss = -logs.gather(-1, at_label)
    slope = logs.exp_()
    slope.scatter_add_(-1, at_label, torch.full_like(loss, -1.0))
    return loss.squeeze(-1), slope


def _stablemax_and_slope(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """With f the values, f' their slopes, S the sum of f and W that of the wrong classes: the loss
    is -log1p(-W / S), its slope f'_c / S at a wrong class and -f'_y W / (S f_y) at the label."""
    at_label = labels.expand(logits.shape[:-1])[..., None]
    is_positive = logits >= 0
    below = 1 / (1 - logits.clamp_max(0))
    values = torch.where(is_positive, logits + 1, below)
    slopes = torch.where(is_positive, 1.0, below.square())
    of_label = values.gather(-1, at_label)
    wrong = values.scatter(-1, at_label, 0.0).sum(-1, keepdim=True)
    total = wrong + of_label
    share = wrong / total
    log_probability = (of_label / total).log()
    loss = torch.where(share < 0.5, torch.log1p(-share), log_probability).neg_()
    at_right = -slopes.gather(-1, at_label) * share / of_label
    return loss.squeeze(-1), slopes.div_(total).scatter_(-1, at_label, at_right)


FORMULAS = {
    "cross-entropy": loss_and_slope,
    "torch-cross-entropy": _rounded_loss_and_slope,
    "stablemax": _stablemax_and_slope,
}


@dataclass(frozen=True)
class Loss:
    """The loss of an ensemble. in_float64: logits are taken to float64 first, and loss and slope
    are rounded to the precision of the training when they are done."""

    name: str = "cross-entropy"
    in_float64: bool = False

    @classmethod
    def of(cls, runs: Sequence[RunSettings]) -> Self:
        """The one that all these runs have."""
        choices = {(run.training.loss, run.training.loss_precision) for run in runs}
        if len(choices) > 1:
            raise InputError(f"runs that train together have one loss; given: {choices}")
        [(name, precision)] = choices
        return cls(name, precision == "float64")

    def and_slope(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Loss (...) and d loss / d logits (..., outputs) of each row, as `loss_and_slope`."""
        formula = FORMULAS[self.name]
        if not self.in_float64:
            return formula(logits, labels)
        loss, slope = formula(logits.double(), labels)
        return loss.to(logits.dtype), slope.to(logits.dtype)

    def and_right(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Loss of each row, and whether the label's logit is strictly the largest: what an engine
        says of all pairs.

        A tie is no answer, and neither is a row that holds NaN, which is below nothing.
        """
        at_label = labels.expand(logits.shape[:-1])[..., None]
        below = (logits < logits.gather(-1, at_label)).sum(-1)
        is_right = below == logits.shape[-1] - 1
        loss, _ = self.and_slope(logits, labels)
        return loss, is_right

    def weighted(
        self, logits: Tensor, labels: Tensor, weights: Tensor, *, fused: bool = False
    ) -> Tensor:
        """Per network, the weighted sum over inputs, with its gradient: logits (n, ..., outputs),
        labels and weights (n, ...) or broadcastable -> (n,). fused: one kernel on a GPU, for the
        cross-entropy, logits (n, B, outputs), labels and weights (n, B), all contiguous but for
        columns left off the logits."""
        has_kernel = self == Loss()
        return _WeightedLoss.apply(logits, labels, weights, self, fused and has_kernel)


class _WeightedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor, loss_of: Loss, fused: bool
    ) -> Tensor:
        if fused:
            from algophase.training.kernels.cross_entropy import cross_entropy

            loss, slope = cross_entropy(logits, labels, weights)
        else:
            loss, slope = loss_of.and_slope(logits, labels)
            loss = loss * weights
            slope = slope.mul_(weights[..., None])
        ctx.save_for_backward(slope)
        return loss.flatten(1).sum(1)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None, None]:
        (slope,) = ctx.saved_tensors
        axes = [1] * (slope.ndim - 1)
        return slope * upstream[0].view(-1, *axes), None, None, None, None
