"""Pairs as rows, in the order in which the fused kernels take them.

Only training pairs are trained on: in the order of b, then of a, so that the rows of a tile have
few successive b, and the sums over a of one b are sums over rows that follow each other. All pairs
are another list, which is judged now and then.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.networks.stacking import power_of_two

END = 255  # stands for b behind the last row
BEYOND = 16  # entries there


@dataclass(frozen=True)
class Rows:
    """For n networks, T rows each, a multiple of a tile.

    pairs: a + 256 b, (n, T + 16). weights: 1 / number of training pairs, 0 in padding, (n, T).
    row_of: the row of b and a, the last row where there is none, (n, b, a) padded to powers of two.
    slots: how many successive b a tile has at most.
    """

    pairs: Tensor
    weights: Tensor
    row_of: Tensor
    slots: int

    @property
    def count(self) -> int:
        return self.weights.shape[1]

    @property
    def columns(self) -> int:
        """Of the one-hot of b modulo `slots`, three times, padded."""
        return power_of_two(3 * self.slots)

    def to_grid(self, values: Tensor, p: int) -> Tensor:
        """(n, a, b) of a value for each row (n, T)."""
        rows = self.row_of[:, :p, :p].flatten(1).long()
        return values.gather(1, rows).view(-1, p, p).mT

    def one_hot(self) -> Tensor:
        """(n, T, columns) float16."""
        j = torch.arange(self.columns, device=self.pairs.device)
        b = self.pairs[:, : self.count, None] // 256
        return ((j % self.slots == b % self.slots) & (j < 3 * self.slots)).half()

    def all_hot(self, tokens: int) -> Tensor:
        """(n, T, tokens) float16: the one-hot of b itself."""
        b = self.pairs[:, : self.count, None] // 256
        return (torch.arange(tokens, device=self.pairs.device) == b).half()


def slots_for(p: int, pairs: int, tile: int) -> int:
    """Enough for any tile of training pairs drawn at random: all but the first and the last b of a
    tile are whole, and together they would have far fewer pairs than usual. Never more than p are
    needed."""
    slots = 4
    while slots < p and 2 * (slots - 1) * pairs < 3 * tile * p:
        slots *= 2
    return slots


def lay_out(weights: Tensor, tile: int, slots: int, runs: int = 1) -> Rows:
    """Pairs of weight other than 0 in weights (n, a, b); every network has as many. Tiles are a
    multiple of runs, at least two for each (see `in_half.round_width`: one would be no loop), and
    the last row is padding."""
    n, p, _ = weights.shape
    flat = weights.transpose(1, 2).flatten(1)  # b, then a
    chosen = (flat != 0).nonzero()[:, 1].view(n, -1)
    count = chosen.shape[1]
    tiles = max(2, -(-(count + tile) // (tile * runs))) * runs
    b = chosen // p
    row = torch.arange(count, device=weights.device)
    rows = row.expand(n, -1)
    if bool((b - b[:, row // tile * tile] >= slots).any()):
        with_gaps = [_with_gaps(of_network.tolist(), tile, slots) for of_network in b.cpu()]
        rows = torch.stack(with_gaps).to(weights.device)
    total = tiles * tile
    if int(rows.max()) >= total - 1:
        raise InputError(
            "the training pairs are spread too unevenly for the fused engine; choose the engine "
            "grid"
        )
    tokens = power_of_two(p)
    row_of = weights.new_full((n, tokens, tokens), total - 1, dtype=torch.int32)
    network = torch.arange(n, device=b.device)[:, None]
    row_of[network, b, chosen % p] = rows.int()
    # padding repeats the last pair of its tile, or of the network
    taken = weights.new_full((n, total), -1, dtype=torch.int64)
    taken = taken.scatter_(1, rows, chosen).cummax(1).values
    row_weights = weights.new_zeros(n, total).scatter_(1, rows, flat.gather(1, chosen))
    pairs = weights.new_full((n, total + BEYOND), END * 256, dtype=torch.int32)
    pairs[:, :total] = (taken % p + taken // p * 256).int()
    return Rows(pairs, row_weights, row_of, slots)


def _with_gaps(b: list[int], tile: int, slots: int) -> Tensor:
    """Row of each pair: a tile ends early where it would have too many b."""
    rows = []
    row = 0
    first = b[0]
    for value in b:
        if row % tile == 0:
            first = value
        elif value - first >= slots:
            row = -(-row // tile) * tile
            first = value
        rows.append(row)
        row += 1
    return torch.tensor(rows)
