"""A network on the whole p x p grid of inputs, and the logit matrices read off it.

Axes: a first operand, b second operand, c output. With separate vocabularies or an equals sign there are more outputs
than labels; the extra ones count as wrong answers like any other.
"""

import torch
from torch import Tensor

from algophase.networks import Network
from algophase.task import labels

# Hidden activations of one chunk: big enough to keep two cores busy, small enough to stay in tens of megabytes.
CHUNK_ELEMENTS = 8_000_000


def rows_per_chunk(network: Network, outputs_per_row: int) -> int:
    """How many grid rows to take at once so that a layer's activations stay below CHUNK_ELEMENTS."""
    widest = max(max(parameter.shape) for parameter in network.parameters())
    return max(1, CHUNK_ELEMENTS // (widest * outputs_per_row * network.task.context))


@torch.no_grad()
def grid_logits(network: Network, tables: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Logits (a, b, outputs) of all pairs; on other embedding tables than the network's own if given."""
    first, second = network.operand_tables() if tables is None else tables
    p = network.task.modulus
    rows = rows_per_chunk(network, p)
    chunks = []
    for some in first.split(rows):
        a, b = some.repeat_interleave(p, dim=0), second.repeat(len(some), 1)
        chunks.append(network.logits_from_embeddings(a, b).unflatten(0, (len(some), p)))
    return torch.cat(chunks)


def correct_logits(logits: Tensor) -> Tensor:
    """L[a, b] = Q[a, b, a + b], shape (p, p) (section 2.3)."""
    return logits.gather(-1, labels(len(logits))[..., None]).squeeze(-1)


def largest_wrong_logits(logits: Tensor) -> Tensor:
    """max over c != a + b of Q[a, b, c], shape (p, p)."""
    return logits.scatter(-1, labels(len(logits))[..., None], -torch.inf).amax(-1)


def right_answers(logits: Tensor) -> Tensor:
    """Which pairs are answered right, (p, p) booleans. A tie is not an answer."""
    return correct_logits(logits) > largest_wrong_logits(logits)


def accuracy(logits: Tensor) -> float:
    """Share of all p * p pairs answered right."""
    return right_answers(logits).double().mean().item()


def cross_entropy(logits: Tensor) -> float:
    """Mean cross-entropy over all pairs, in the form that does not cancel: log1p(sum over wrong c of exp(l_c - l_y))."""
    p = len(logits)
    margins = logits.double() - correct_logits(logits).double()[..., None]
    margins = margins.scatter(-1, labels(p)[..., None], -torch.inf)
    log_sum = margins.logsumexp(-1)
    return torch.nn.functional.softplus(log_sum).mean().item()


def by_difference(matrix: Tensor) -> Tensor:
    """Rearranged so that row d, column i is matrix[i, i + d] (the definition of distance irrelevance)."""
    p = len(matrix)
    numbers = torch.arange(p)
    return matrix[numbers[None, :], (numbers[None, :] + numbers[:, None]) % p]


def by_difference_and_sum(matrix: Tensor) -> Tensor:
    """Rows a - b, columns a + b, as in the paper's pictures of correct logits.

    At odd p every cell holds one pair. At even p, a - b and a + b have the same parity: half of the cells hold the mean
    of two pairs, (a, b) and (a + p/2, b + p/2), and the others are NaN.
    """
    p = len(matrix)
    numbers = torch.arange(p)
    difference, total = (numbers[:, None] - numbers) % p, (numbers[:, None] + numbers) % p
    cells = (difference * p + total).flatten()
    sums = torch.zeros(p * p, dtype=matrix.dtype).index_add_(0, cells, matrix.flatten())
    counts = torch.zeros(p * p, dtype=matrix.dtype).index_add_(0, cells, torch.ones_like(matrix).flatten())
    return (sums / counts).view(p, p)
