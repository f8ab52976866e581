"""Cross-entropy whose gradient keeps its digits in float32.

Near the end of training the loss is about 1e-7. A float32 log-softmax has then no digits left at
the label, and all of them at the wrong classes. So with q_c the probability of class c, y the label
and s = sum over c != y of q_c, the gradient is q_c at a wrong class and -s at the label, and the
loss is -log1p(-s), or -log q_y where s is not small: nothing cancels.
"""

from typing import Any

import torch
from torch import Tensor


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


def loss_and_right(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of each row, and whether the label's logit is strictly the largest: what an engine says
    of all pairs.

    A tie is no answer, and neither is a row that holds NaN, which is below nothing.
    """
    at_label = labels.expand(logits.shape[:-1])[..., None]
    below = (logits < logits.gather(-1, at_label)).sum(-1)
    return loss_and_slope(logits, labels)[0], below == logits.shape[-1] - 1


class _WeightedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor, fused: bool) -> Tensor:
        if fused:
            from algophase.training.kernels.cross_entropy import cross_entropy

            loss, slope = cross_entropy(logits, labels, weights)
        else:
            loss, slope = loss_and_slope(logits, labels)
            loss, slope = loss * weights, slope.mul_(weights[..., None])
        ctx.save_for_backward(slope)
        return loss.flatten(1).sum(1)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (slope,) = ctx.saved_tensors
        return slope * upstream[0].view(-1, *[1] * (slope.ndim - 1)), None, None, None


def weighted_cross_entropy(
    logits: Tensor, labels: Tensor, weights: Tensor, *, fused: bool = False
) -> Tensor:
    """Per network, the weighted sum over inputs: logits (n, ..., outputs), labels and weights (n,
    ...) or broadcastable -> (n,). fused: one kernel on a GPU, for logits (n, B, outputs), labels
    and weights (n, B), all contiguous but for columns left off the logits."""
    return _WeightedCrossEntropy.apply(logits, labels, weights, fused)
