"""A network on the whole p x p grid of inputs, and the logit matrices read off it.

Axes: a first operand, b second operand, c output. With separate vocabularies or an equals sign
    there are more outputs
than labels; the extra ones count as wrong answers like any other.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from algophase.analysis.checks import at_inference, check_network
from algophase.core.group import cyclic_group
from algophase.core.memory import FLOAT64, joined, slabs, slices
from algophase.core.neutral import neutral
from algophase.core.task import labels
from algophase.networks import Network
from algophase.networks.ordered import ordered
from algophase.networks.pair_logits import rows_per_chunk

# Arrays as large as its logits that `losses_of_rows` has at once: margins, twice, and logsumexp's.
LOSS_COPIES = 5


@neutral()
@torch.no_grad()
def grid_logits(network: Network, tables: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Compute the logits of all pairs.

    A network in training mode is run as in evaluation mode: without dropout. For an operation other
    than addition, numbers are in the order in which they add.

    Arguments:
        network: the network.
        tables: other embedding tables (p, width) for the two operands. With a leading axis (n, p,
            width) they are n embeddings of the same network.

    Returns:
        Logits (p, p, outputs) by a and b; with n embeddings (n, p, p, outputs).

    Example:
        >>> from algophase import handmade_clock
        >>> logits = grid_logits(handmade_clock(23))
        >>> logits[8, 20].argmax().item()  # (8 + 20) mod 23
        5
    """
    return _over_pairs(network, tables, lambda logits: logits)


def grid_answers(network: Network) -> Tensor:
    """What is answered for each pair, (p, p), the first of several largest outputs: as of
    `grid_logits`, some rows at a time.
    """
    check_network(network)
    adding = ordered(network)
    with at_inference(adding), torch.no_grad():
        prepared = adding.pair_logits()
        if prepared.units == 0:  # nothing is done once per token
            return _over_pairs(network, None, lambda logits: logits.argmax(dim=-1))
        first, second = (table.detach()[None] for table in adding.operand_tables())
        pairs = prepared(first, second)
        _, strips = prepared.blocks(adding.task.modulus, 1, first.device)
        return torch.cat([pairs(slice(0, 1), rows)[0].argmax(dim=-1) for rows in strips])


def _over_pairs(
    network: Network,
    tables: tuple[Tensor, Tensor] | None,
    result_of: Callable[[Tensor], Tensor],
) -> Tensor:
    """What `result_of` gives of the logits (rows, p, outputs) of some rows a, for all rows."""
    check_network(network)
    network = ordered(network)
    with at_inference(network):
        first, second = network.operand_tables() if tables is None else tables
        p = network.task.modulus
        seconds = second.reshape(-1, p, second.shape[-1])
        firsts = first.flatten(0, -2)  # of all embeddings
        embedding = torch.arange(len(firsts), device=first.device) // p  # that of each row

        def of_rows(rows: slice) -> list[Tensor]:
            a = firsts[rows, None].expand(-1, p, -1).flatten(0, 1)
            b = seconds[embedding[rows]].flatten(0, 1)
            logits = network.checked_logits(a, b).unflatten(0, (-1, p))
            return [result_of(logits)]

        chunks = slices(len(firsts), rows_per_chunk(network, p))
        (result,) = joined(of_rows, chunks, f"network {network.id}: its logits")
    return result.unflatten(0, first.shape[:-1])


def _label_index(logits: Tensor, rows: slice = slice(None)) -> Tensor:
    """The right answers as an index into (..., a, b, outputs). rows: which numbers a there are."""
    return labels(logits.shape[-2], logits.device)[rows, :, None].expand(*logits.shape[:-1], 1)


def by_rows(measure: Callable[[Tensor, slice], Tensor], logits: Tensor, copies: int) -> Tensor:
    """What `measure` gives of logits (..., a, b, outputs), (..., a, b), some rows a at a time.

    copies: how many arrays as large as its logits it makes.
    """
    row_bytes = copies * FLOAT64 * logits[..., 0, :, :].numel()
    parts = slabs(logits.shape[-3], row_bytes, logits.device)
    results = [measure(logits[..., rows, :, :], rows) for rows in parts]
    return results[0] if len(results) == 1 else torch.cat(results, dim=-2)


def correct_logits(logits: Tensor) -> Tensor:
    """L[a, b] = Q[a, b, a + b], shape (..., p, p) (section 2.3)."""
    return logits.gather(-1, _label_index(logits)).squeeze(-1)


def largest_wrong_logits(logits: Tensor) -> Tensor:
    """max over c != a + b of Q[a, b, c], shape (..., p, p)."""

    def of_rows(logits: Tensor, rows: slice) -> Tensor:
        return logits.scatter(-1, _label_index(logits, rows), -torch.inf).amax(-1)

    return by_rows(of_rows, logits, copies=2)


def right_answers(logits: Tensor) -> Tensor:
    """Which pairs are answered right, (..., p, p) booleans. A tie is not an answer."""
    return correct_logits(logits) > largest_wrong_logits(logits)


def share_right(right: Tensor) -> Tensor:
    """Share of the pairs answered right, from (..., p, p) booleans: a count over a count, the
    same on every device.
    """
    count = right.sum(dim=(-2, -1)).double()
    return count / count.new_full(
        (), right.shape[-1] * right.shape[-2]
    )  # by a Python number, a GPU multiplies by its inverse


def pair_losses(logits: Tensor) -> Tensor:
    """Cross-entropy of each pair, (..., p, p), in the form that does not cancel: log1p(sum over
    wrong c of exp(l_c - l_y)).
    """
    return by_rows(losses_of_rows, logits, LOSS_COPIES)


def losses_of_rows(logits: Tensor, rows: slice) -> Tensor:
    """The same of some rows of the first operand, (..., rows, p)."""
    answer = _label_index(logits, rows)
    margins = logits.double() - logits.gather(-1, answer).double()
    margins = margins.scatter(-1, answer, -torch.inf)
    return torch.nn.functional.softplus(margins.logsumexp(-1))


def mean_cross_entropy(logits: Tensor) -> Tensor:
    """Over all pairs. A scalar on the device."""
    return pair_losses(logits).mean()


def accuracy(logits: Tensor) -> float:
    """Share of all p * p pairs answered right."""
    return share_right(right_answers(logits)).item()


def cross_entropy(logits: Tensor) -> float:
    """Mean cross-entropy over all pairs."""
    return mean_cross_entropy(logits).item()


def by_difference(matrix: Tensor) -> Tensor:
    """Rearranged so that row d, column i is matrix[i, i + d] (the definition of distance
    irrelevance). Or several matrices.
    """
    columns = labels(matrix.shape[-1], matrix.device)  # [i, d] = i + d
    return matrix.gather(-1, columns.expand_as(matrix)).mT


def by_difference_and_sum(matrix: Tensor) -> Tensor:
    """Rows a - b, columns a + b, as in the paper's pictures of correct logits.

    At odd p every cell holds one pair. At even p, a - b and a + b have the same parity: half of the
    cells hold the mean of two pairs, (a, b) and (a + p/2, b + p/2), and the others are NaN.
    """
    p = len(matrix)
    numbers = torch.arange(p, device=matrix.device)
    difference = cyclic_group(p).difference(numbers[:, None], numbers)
    total = labels(p, matrix.device)
    cells = (difference * p + total).flatten()
    sums = matrix.new_zeros(p * p).index_add_(0, cells, matrix.flatten())
    counts = matrix.new_zeros(p * p).index_add_(0, cells, torch.ones_like(matrix).flatten())
    return (sums / counts).view(p, p)
