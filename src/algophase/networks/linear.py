"""The linear models of appendix E: embeddings added (alpha, beta, gamma, alpha') or concatenated
(delta), one or two layers.

    alpha   W_U relu(L_1(x_1 + x_2))
    alpha'  the same, with an embedding table for each operand
    beta    W_U relu(L_2 relu(L_1(x_1 + x_2)))
    gamma   W_U relu(L_2 relu(L_1(x_1) + L_1(x_2)))
    delta   W_U relu(L_1([x_1; x_2]))
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from algophase.core.settings import LinearSettings, TaskSettings
from algophase.networks._active_units import ConcatenatedGradients
from algophase.networks._summed_gradients import Moved, SummedGradients, random_directions
from algophase.networks.gradient_products import GradientProducts
from algophase.networks.jacobians import Jacobians, slope
from algophase.networks.network import Cache, InitialValues, Network, record
from algophase.networks.pair_logits import PairLogits, Prepared, of_two_tokens, pair_elements
from algophase.networks.parts import HiddenReads, HiddenUnits, SumLayers

EMBEDDING_STD = 1 / math.sqrt(128)  # whatever the width: a fact of the published runs
UNEMBEDDING_STD = 1 / 16


class Table(nn.Module):
    """A matrix with one row per token (embedding) or per label (unembedding)."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rows, width))


class Affine(nn.Module):
    """x W^T + b."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width_out, width_in))
        self.bias = nn.Parameter(torch.empty(width_out))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Linear(Network):
    settings: LinearSettings
    is_pure = is_recordable = True
    label_axis = 0

    def __init__(self, task: TaskSettings, settings: LinearSettings) -> None:
        super().__init__(task, settings)
        if settings.model == "alpha-prime":
            self.embed1 = Table(task.modulus, settings.embedding_width)
            self.embed2 = Table(task.modulus, settings.embedding_width)
        else:
            self.embed = Table(task.modulus, settings.embedding_width)
        self.l1 = Affine(settings.width, settings.hidden)
        if self._has_two_layers:
            self.l2 = Affine(settings.hidden, settings.hidden)
        self.unembed = Table(task.modulus, settings.hidden)

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        if self.settings.model == "alpha-prime":
            return self.embed1.weight, self.embed2.weight
        return self.embed.weight, self.embed.weight

    @property
    def concatenates(self) -> bool:
        return self.settings.model == "delta"

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        return F.linear(self._last_hidden(first, second, cache), self.unembed.weight)

    def _last_hidden(self, first: Tensor, second: Tensor, cache: Cache | None) -> Tensor:
        record(cache, "hook_embed", torch.stack([first, second], dim=1))
        if self.settings.model == "delta":
            pre = self.l1(torch.cat([first, second], dim=-1))
        elif self.settings.model == "gamma":
            pre = self.l1(first) + self.l1(second)
        else:
            pre = self.l1(first + second)
        hidden = self._relu(pre, cache, "l1")
        if self._has_two_layers:
            hidden = self._relu(self.l2(hidden), cache, "l2")
        return hidden

    @property
    def _has_two_layers(self) -> bool:
        return self.settings.model in ("beta", "gamma")

    @torch.no_grad()
    def jacobians(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Jacobians:
        """W_U -> relu'(2) -> W_2 -> relu'(1) -> W_1. Models that add their embeddings have one
        gradient for both operands.
        """
        cache = {} if cache is None else cache
        logits = self.logits_from_embeddings(first, second, cache)
        back = self.unembed.weight[None]  # (1, c, hidden)
        if self._has_two_layers:
            is_on = slope(torch.relu, cache["l2.hook_pre"])[:, None]
            back = (back * is_on) @ self.l2.weight
        is_on = slope(torch.relu, cache["l1.hook_pre"])[:, None]
        back = (back * is_on) @ self.l1.weight
        if not self.concatenates:
            return Jacobians(logits, back, back)
        to_first, to_second = back.chunk(2, dim=-1)
        return Jacobians(logits, to_first, to_second)

    @torch.no_grad()
    def gradient_products(self, first: Tensor, second: Tensor) -> GradientProducts:
        units = len(self.l1.weight)
        labels = self.task.modulus
        if self.concatenates:
            return ConcatenatedGradients(
                first, second, self._run, self.l1.weight, self.unembed.weight.T
            ).products()
        moved_reads = self.l1.weight @ random_directions(first)  # (m, directions)

        def move(first: Tensor, second: Tensor) -> Moved:
            cache: Cache = {}
            logits = self.logits_from_embeddings(first, second, cache)
            moved = moved_reads * (cache["l1.hook_pre"] > 0)[..., None]
            if self._has_two_layers:
                moved = (self.l2.weight @ moved) * (cache["l2.hook_pre"] > 0)[..., None]
            return Moved(logits, cache["l1.hook_pre"], self.unembed.weight @ moved)

        largest = moved_reads.abs()
        if self._has_two_layers:
            largest = self.l2.weight.abs() @ largest
        largest = self.unembed.weight.abs() @ largest
        return SummedGradients(first, second, move, largest, labels).products(units)

    def _run(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and what L_1 gives."""
        cache: Cache = {}
        logits = self.logits_from_embeddings(first, second, cache)
        return logits, cache["l1.hook_pre"]

    @torch.no_grad()
    def pair_logits(self) -> Prepared:
        """L_1(x_1) and L_1(x_2) once per token."""
        units = len(self.l1.weight)
        return Prepared(self._by_tokens, pair_elements(self), units, units)

    def _by_tokens(self, first: Tensor, second: Tensor) -> PairLogits:
        layer = self.l1
        if self.concatenates:
            left, right = layer.weight.chunk(2, dim=1)
            of_first = first @ left.T + layer.bias
            of_second = second @ right.T
        else:
            of_first = layer(first)
            of_second = second @ layer.weight.T
            if self.settings.model == "gamma":  # L_1(x_1) + L_1(x_2): the bias counts twice
                of_first = of_first + layer.bias
        return of_two_tokens(of_first, of_second, self._logits_from_reads)

    def _logits_from_reads(self, read: Tensor) -> Tensor:
        """Logits (..., outputs) of what L_1 gives, (..., m)."""
        hidden = read.relu()
        if self._has_two_layers:
            hidden = self.l2(hidden).relu_()
        return hidden @ self.unembed.weight.T

    def sum_layers(self) -> SumLayers | None:
        """All but model delta, which concatenates."""
        if self.concatenates:
            return None
        # Model gamma applies L_1 to each operand, so its bias comes twice.
        bias = self.l1.bias * (2 if self.settings.model == "gamma" else 1)
        second = self.l2 if self._has_two_layers else None
        second_weight = None if second is None else second.weight
        return SumLayers(self.l1.weight, bias, second, second_weight, self.unembed.weight)

    @staticmethod
    def _relu(pre: Tensor, cache: Cache | None, layer: str) -> Tensor:
        pre = record(cache, f"{layer}.hook_pre", pre)
        return record(cache, f"{layer}.hook_post", F.relu(pre))

    def hidden_reads(self) -> HiddenReads:
        """What L_1 gives: a sum over the two operands by construction."""

        def logits(first: Tensor, second: Tensor, read: Tensor) -> Tensor:
            return self._logits_from_reads(read)

        layer = self.hidden_layer()
        return HiddenReads(layer.units, layer.pre_activations, logits)

    def hidden_layer(self) -> HiddenUnits:
        """What L_1 gives."""

        def pre_activations(first: Tensor, second: Tensor) -> Tensor:
            cache: Cache = {}
            self._last_hidden(first, second, cache)
            return cache["l1.hook_pre"]

        def readout() -> Tensor:
            return self.unembed.weight.T

        units = len(self.l1.weight)
        own_readout = None if self._has_two_layers else readout
        return HiddenUnits(units, torch.relu, pre_activations, own_readout)

    def initial_values(self) -> dict[str, InitialValues]:
        """L_1 and L_2 start as PyTorch's Linear does: weight and bias uniform within 1 /
        sqrt(inputs).
        """
        rules = {}
        for name, _ in self.named_parameters():
            if name.startswith("embed"):
                rules[name] = InitialValues("normal", EMBEDDING_STD)
            elif name.startswith("unembed"):
                rules[name] = InitialValues("normal", UNEMBEDDING_STD)
            else:
                inputs = self.settings.width if name.startswith("l1") else self.settings.hidden
                rules[name] = InitialValues("uniform", 1 / math.sqrt(inputs))
        return rules
