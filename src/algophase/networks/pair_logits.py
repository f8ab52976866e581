"""Logits of many embeddings of one network, some rows of the grid of pairs at a time.

A pair of tokens (a, b) shares all that each token does by itself. A network that can does that work
once per token (`Network.pair_logits` of the linear models, of MLPs and of one-layer transformers).
Any other runs every pair. All agree up to rounding, which is tested.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algophase.core.memory import chunk_elements, slices

if TYPE_CHECKING:
    from algophase.networks.network import Network

# Numbers of one block on a CPU: activations that stay in its cache are worth more than few calls.
CACHED_ELEMENTS = 250_000


@dataclass(frozen=True)
class PairLogits:
    """Logits (n, a, b, outputs) of some of n embeddings and some rows of the first operand.

    reads: what the hidden units read, and after these what passes them by, (n, a, b, columns); the
        logits themselves where the network does not say what its hidden units are.
    logits: from that, or from something else in its place; it is left unchanged.
    """

    reads: Callable[[slice, slice], Tensor]
    logits: Callable[[Tensor], Tensor]

    def __call__(self, embeddings: slice, rows: slice) -> Tensor:
        return self.logits(self.reads(embeddings, rows))


def of_two_tokens(
    first: Tensor, second: Tensor, hidden_to_logits: Callable[[Tensor], Tensor]
) -> PairLogits:
    """Where hidden units read the sum of what each token gives, (n, p, units)."""

    def reads(embeddings: slice, rows: slice) -> Tensor:
        return first[embeddings, rows, None] + second[embeddings, None]

    return PairLogits(reads, hidden_to_logits)


@dataclass(frozen=True)
class Prepared:
    """Gives the logits of operand tables (n, p, width). Per-token work is done when it is given
    them.

    elements: numbers that a pair takes; token_elements: numbers kept of each token of an embedding.
    units: how many numbers the hidden units read of a pair; 0 where the network does not say it.
    """

    of_tables: Callable[[Tensor, Tensor], PairLogits]
    elements: int
    token_elements: int = 0
    units: int = 0

    def __call__(self, first: Tensor, second: Tensor) -> PairLogits:
        return self.of_tables(first, second)

    def blocks(
        self, p: int, embeddings: int, device: torch.device
    ) -> tuple[list[slice], list[slice]]:
        """Slices of the embeddings, and of the rows, whose logits are made at once: as many as fit
        a CPU's cache, or a GPU's share of memory.
        """
        most = CACHED_ELEMENTS if device.type == "cpu" else chunk_elements(device)
        rows = min(p, max(1, most // (p * self.elements)))
        together = max(1, most // (rows * p * self.elements))
        return slices(embeddings, together), slices(p, rows)


def pair_elements(network: "Network") -> int:
    """Numbers that a pair takes at one position: its widest activations and its logits."""
    widest = max(tensor.shape[-1] for tensor in network.parameters() if tensor.dim())
    return widest + network.task.logits


def widest_layer(network: "Network") -> int:
    """The longest axis of all parameters; a single number has none."""
    return max(size for parameter in network.parameters() for size in (1, *parameter.shape))


def rows_per_chunk(network: "Network", outputs_per_row: int) -> int:
    """How many grid rows to take at once so that a layer's activations stay within a chunk."""
    device = network.operand_tables()[0].device
    row_elements = widest_layer(network) * outputs_per_row * network.task.context
    return max(1, chunk_elements(device) // row_elements)


def by_pairs(network: "Network") -> Prepared:
    """For any network: every pair runs through it."""

    def of_tables(first: Tensor, second: Tensor) -> PairLogits:
        p = second.shape[1]

        def logits(embeddings: slice, rows: slice) -> Tensor:
            some_first = first[embeddings, rows]
            some_second = second[embeddings]
            flat = some_first.flatten(0, 1)
            of_embedding = torch.arange(len(flat), device=first.device) // some_first.shape[1]
            size = rows_per_chunk(network, p)
            parts = []
            for a, index in zip(flat.split(size), of_embedding.split(size), strict=True):
                every_a = a[:, None].expand(-1, p, -1).flatten(0, 1)
                every_b = some_second[index].flatten(0, 1)
                parts.append(network.logits_from_embeddings(every_a, every_b))
            return torch.cat(parts).view(*some_first.shape[:2], p, -1)

        return PairLogits(logits, lambda every: every)

    return Prepared(of_tables, pair_elements(network) * network.task.context)
