"""Two-layer networks that other groups trained (`MLPSettings`): W_U act(W join(x_a, x_b)), no
biases.

Chughtai et al. 2023   relu([W_x[a], W_y[b]] W) W_U; and without a layer, (W_x[a] * W_y[b]) W_U
He et al. 2026         W_out act(W_in (onehot(a) + onehot(b))): the columns of W_in are the table
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks._active_units import ConcatenatedGradients
from algophase.networks._summed_gradients import Moved, SummedGradients, random_directions
from algophase.networks.gradient_products import GradientProducts
from algophase.networks.jacobians import Jacobians, slope
from algophase.networks.network import Cache, InitialValues, Network, record
from algophase.networks.pair_logits import PairLogits, Prepared, of_two_tokens, pair_elements
from algophase.networks.parts import HiddenReads

ACT: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "square": torch.square,
    "none": lambda x: x,
}


class MLP(Network):
    settings: MLPSettings
    is_pure = True

    def __init__(self, task: TaskSettings, settings: MLPSettings) -> None:
        super().__init__(task, settings)
        self.first = nn.Parameter(torch.empty(task.modulus, settings.width))
        if settings.own_tables:
            self.second = nn.Parameter(torch.empty(task.modulus, settings.width))
        if settings.layer:
            self.W = nn.Parameter(torch.empty(settings.joined_width, settings.hidden))
        self.W_U = nn.Parameter(torch.empty(settings.hidden, task.modulus))
        self.cut = "first layer" if settings.one_hot else "embedding"

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.first, self.second if self.settings.own_tables else self.first

    @property
    def concatenates(self) -> bool:
        return self.settings.join == "concatenate"

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        pre = record(cache, "hook_pre", self._reads(first, second))
        return record(cache, "hook_post", ACT[self.settings.activation](pre)) @ self.W_U

    def _reads(self, first: Tensor, second: Tensor) -> Tensor:
        match self.settings.join:
            case "add":
                joined = first + second
            case "multiply":
                joined = first * second
            case _:
                joined = torch.cat([first, second], dim=-1)
        return joined @ self.W if self.settings.layer else joined

    def _logits_from_reads(self, read: Tensor) -> Tensor:
        return ACT[self.settings.activation](read) @ self.W_U

    @torch.no_grad()
    def jacobians(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Jacobians:
        """W_U -> act' -> W. Networks that add their embeddings have one gradient for both."""
        pre = self._reads(first, second)
        back = self.W_U.T * slope(ACT[self.settings.activation], pre)[:, None]  # (n, c, hidden)
        if self.settings.layer:
            back = back @ self.W.T
        logits = self._logits_from_reads(pre)
        match self.settings.join:
            case "add":
                return Jacobians(logits, back, back)
            case "multiply":
                return Jacobians(logits, back * second[:, None], back * first[:, None])
            case _:
                to_first, to_second = back.chunk(2, dim=-1)
                return Jacobians(logits, to_first, to_second)

    @torch.no_grad()
    def gradient_products(self, first: Tensor, second: Tensor) -> GradientProducts | None:
        """Where hidden units are ReLUs, and read embeddings added, or side by side through a
        layer.
        """
        if self.settings.activation != "relu":
            return None
        if self.settings.join == "add":
            directions = random_directions(first)
            moved_reads = self.W.T @ directions if self.settings.layer else directions

            def move(first: Tensor, second: Tensor) -> Moved:
                logits, pre = self._run(first, second)
                return Moved(logits, pre, self.W_U.T @ (moved_reads * (pre > 0)[..., None]))

            largest = self.W_U.T.abs() @ moved_reads.abs()
            gradients = SummedGradients(first, second, move, largest, self.task.modulus)
            return gradients.products(len(self.W_U))
        if self.concatenates and self.settings.layer:
            return ConcatenatedGradients(first, second, self._run, self.W.T, self.W_U).products()
        return None

    def _run(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and what the hidden units read."""
        pre = self._reads(first, second)
        return self._logits_from_reads(pre), pre

    @torch.no_grad()
    def pair_logits(self) -> Prepared:
        """What each operand gives the hidden units once per token, where these are added."""
        units = len(self.W_U)
        return Prepared(self._by_tokens, pair_elements(self), units, units)

    def _by_tokens(self, first: Tensor, second: Tensor) -> PairLogits:
        join, layer = self.settings.join, self.settings.layer
        if join == "multiply":

            def products(embeddings: slice, rows: slice) -> Tensor:
                joined = first[embeddings, rows, None] * second[embeddings, None]
                return joined @ self.W if layer else joined

            return PairLogits(products, self._logits_from_reads)
        if layer and join == "concatenate":
            left, right = self.W.chunk(2)
            return of_two_tokens(first @ left, second @ right, self._logits_from_reads)
        if layer:
            return of_two_tokens(first @ self.W, second @ self.W, self._logits_from_reads)
        return of_two_tokens(first, second, self._logits_from_reads)

    def hidden_reads(self) -> HiddenReads:
        def logits(first: Tensor, second: Tensor, read: Tensor) -> Tensor:
            return self._logits_from_reads(read)

        return HiddenReads(len(self.W_U), self._reads, logits)

    def initial_values(self) -> dict[str, InitialValues]:
        return {
            name: InitialValues("normal", 1 / math.sqrt(parameter.shape[0]))
            for name, parameter in self.named_parameters()
        }
