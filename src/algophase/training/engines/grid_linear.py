"""Linear models on the grid, with the backward pass derived by hand.

The first layer is a table over tokens: W_1 (E_a + E_b) = (W_1 E)_a + (W_1 E)_b. Where both operands
share it (alpha, beta, gamma) the logits are symmetric in a and b, so the p (p + 1) / 2 unordered
pairs are enough, each weighted by how often it is trained on:
half the work. Models delta and alpha' have a table for each operand and take all p^2 pairs.

Axes: n networks, B pairs, h hidden units, v = p outputs.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from algophase.core.settings import LinearSettings, NetworkSettings, RunSettings, TaskSettings
from algophase.training.engines.engine import Engine, matmul_precision


class GridLinear(Engine):
    name: ClassVar[str] = "grid"
    settings: LinearSettings

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, precision)
        p, model = self.modulus, self.settings.model
        self.shared = model in ("alpha", "beta", "gamma")
        self.two_layers = model in ("beta", "gamma")
        self.bias_count = 2.0 if model == "gamma" else 1.0  # gamma adds b_1 with each operand
        weights = self.weights
        if self.shared:
            pairs = torch.triu_indices(p, p)
            off_diagonal = 1 - torch.eye(p, device=device, dtype=self.dtype)
            weights = weights + weights.mT * off_diagonal
        else:
            pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p)).T
        a, b = pairs.to(device)
        self.first, self.second = a, b
        self.pair_labels = self.labels[a, b]
        self.pair_weights = weights[:, a, b]
        # which pairs a token is in, (p, B): turns the sum over pairs into a product, the same every
        # time
        count = torch.zeros(p, len(a), device=device, dtype=self.dtype)
        columns = torch.arange(len(a), device=device)
        count[a, columns] += 1
        count[b, columns] += 1
        self.membership = count

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        if isinstance(run.network, LinearSettings):
            return None
        return f"it trains linear models, not {run.network.kind} networks"

    @classmethod
    def working_numbers(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """Of every pair the hidden units of two layers and the logits, with their gradients."""
        assert isinstance(network, LinearSettings)
        return task.modulus**2 * (6 * network.hidden + 4 * task.logits)

    def _halves(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Each operand's table (n, p, e) and the part of W_1 that reads it (n, h, e)."""
        P = self.parameters
        weight = P["l1.weight"]
        if self.settings.model == "delta":
            e = weight.shape[2] // 2
            return P["embed.weight"], P["embed.weight"], weight[:, :, :e], weight[:, :, e:]
        if self.settings.model == "alpha-prime":
            return P["embed1.weight"], P["embed2.weight"], weight, weight
        return P["embed.weight"], P["embed.weight"], weight, weight

    def _forward(self) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (n, B, v) and the activations of the first and of the last layer (the same
        where there is one).
        """
        P = self.parameters
        table_1, table_2, read_1, read_2 = self._halves()
        bias = self.bias_count * P["l1.bias"][:, None]
        x1 = torch.baddbmm(bias, table_1, read_1.mT)
        if self.shared:
            x2 = x1 - bias
            hidden = x1[:, self.first].add_(x2[:, self.second]).relu_()
        else:
            x2 = torch.bmm(table_2, read_2.mT)
            hidden = (x1[:, :, None] + x2[:, None]).relu_().flatten(1, 2)
        last = hidden
        if self.two_layers:
            last = torch.baddbmm(P["l2.bias"][:, None], hidden, P["l2.weight"].mT).relu_()
        return torch.bmm(last, P["unembed.weight"].mT), hidden, last

    @torch.no_grad()
    def loss_and_gradient(self) -> Tensor:
        P, out = self.parameters, self.gradients
        with matmul_precision(self.device, self.precision):
            logits, hidden, last = self._forward()
            loss, slope = self.loss.and_slope(logits, self.pair_labels)
            slope.mul_(self.pair_weights[..., None])
            out["unembed.weight"].copy_(torch.bmm(slope.mT, last))
            d_last = torch.bmm(slope, P["unembed.weight"])
            back = _through_relu(d_last, last)
            if self.two_layers:
                out["l2.weight"].copy_(torch.bmm(back.mT, hidden))
                out["l2.bias"].copy_(back.sum(1))
                d_hidden = torch.bmm(back, P["l2.weight"])
                back = _through_relu(d_hidden, hidden)
            out["l1.bias"].copy_(back.sum(1).mul_(self.bias_count))
            self._first_layer_backward(back)
        return (loss * self.pair_weights).sum(1)

    def _first_layer_backward(self, back: Tensor) -> None:
        """From d pre-activation (n, B, h) to the first layer and the embeddings."""
        out, p = self.gradients, self.modulus
        table_1, table_2, read_1, read_2 = self._halves()
        if self.shared:
            d_x = torch.matmul(self.membership, back)  # (n, p, h)
            out["l1.weight"].copy_(torch.bmm(d_x.mT, table_1))
            out["embed.weight"].copy_(torch.bmm(d_x, read_1))
            return
        grid = back.unflatten(1, (p, p))
        d_x1 = grid.sum(2)
        d_x2 = grid.sum(1)
        first = torch.bmm(d_x1.mT, table_1)
        second = torch.bmm(d_x2.mT, table_2)
        if self.settings.model == "delta":
            out["l1.weight"].copy_(torch.cat([first, second], dim=2))
            d_table = torch.bmm(d_x1, read_1).baddbmm_(d_x2, read_2)
            out["embed.weight"].copy_(d_table)
        else:
            out["l1.weight"].copy_(first.add_(second))
            out["embed1.weight"].copy_(torch.bmm(d_x1, read_1))
            out["embed2.weight"].copy_(torch.bmm(d_x2, read_2))

    @torch.no_grad()
    def all_pairs(self) -> tuple[Tensor, Tensor]:
        p = self.modulus
        with matmul_precision(self.device, self.precision):
            logits = self._forward()[0]
        pair_loss, right = self.loss.and_right(logits, self.pair_labels)
        losses = torch.empty(self.count, p, p, device=self.device, dtype=self.dtype)
        rights = torch.empty(self.count, p, p, device=self.device, dtype=torch.bool)
        for grid, values in ((losses, pair_loss), (rights, right)):
            if self.shared:
                grid[:, self.second, self.first] = values
            grid[:, self.first, self.second] = values
        return losses, rights


def _through_relu(gradient: Tensor, post: Tensor) -> Tensor:
    return torch.ops.aten.threshold_backward.grad_input(gradient, post, 0.0, grad_input=gradient)
