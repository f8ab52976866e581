"""Cross-entropy whose gradient keeps its digits in float32.

Near the end of training the loss is about 1e-7 and a float32 log-softmax cannot represent its gradient. With l the
logits, y the label and s = sum over c != y of exp(l_c - l_y), the loss is log1p(s), its gradient at a wrong class exp(l_c
- l_y) / (1 + s), and at the label minus the sum of the others: nothing cancels. A shift by m = max(0, max_c(l_c - l_y))
keeps the exponentials finite.
"""

from typing import Any

import torch
from torch import Tensor


def loss_and_slope(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Loss (...) and d loss / d logits (..., outputs) of each row, for labels (...) that broadcast to the rows."""
    at_label = labels.expand(logits.shape[:-1])[..., None]
    margins = (logits - logits.gather(-1, at_label)).scatter_(-1, at_label, 0.0)
    shift = margins.amax(-1, keepdim=True)  # at least the label's own 0
    wrong = margins.sub_(shift).exp_().scatter_(-1, at_label, 0.0)
    total = wrong.sum(-1, keepdim=True)
    whole = total + torch.exp(-shift)
    slope = wrong.div_(whole).scatter_(-1, at_label, -(total / whole))
    # log1p(total * exp(shift)) without overflow: exact where the shift is 0, and shift + log(whole) where it is not.
    loss = torch.where(shift > 0, shift + torch.log(whole), torch.log1p(total))
    return loss.squeeze(-1), slope


def loss_and_right(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Loss of each row, and whether the label's logit is strictly the largest: what an engine says of all pairs.

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


def weighted_cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor, *, fused: bool = False) -> Tensor:
    """Per network, the weighted sum over inputs: logits (n, ..., outputs), labels and weights (n, ...) or broadcastable
    -> (n,). fused: one kernel on a GPU, for logits (n, B, outputs), labels and weights (n, B), all contiguous but for columns
    left off the logits."""
    return _WeightedCrossEntropy.apply(logits, labels, weights, fused)
