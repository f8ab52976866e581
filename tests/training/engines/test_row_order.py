"""The order of pairs in the fused kernels: nothing is lost, and a tile has few successive b."""

import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.settings import TaskSettings
from algophase.core.task import split
from algophase.training.engines._rows import END, Rows, lay_out, slots_for

TILE = 64


def training_weights(p: int, fraction: float, count: int) -> torch.Tensor:
    weights = torch.zeros(count, p * p)
    for seed in range(count):
        training = split(TaskSettings(p, training_fraction=fraction), seed).training
        weights[seed, training] = 1 / len(training)
    return weights.view(count, p, p)


def pairs_of(rows: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    listed = rows.pairs[:, : rows.count].long()
    return listed % 256, listed // 256


@pytest.mark.parametrize(
    ("p", "fraction"), [(59, 0.8), (113, 0.8), (127, 0.3), (31, 0.8), (7, 0.8), (59, 0.3), (5, 0.4)]
)
@pytest.mark.parametrize("runs", [1, 3])
def test_every_training_pair_has_one_row_and_tiles_have_few_b(
    p: int, fraction: float, runs: int
) -> None:
    weights = training_weights(p, fraction, 3)
    rows = lay_out(weights, TILE, slots_for(p, int((weights[0] > 0).sum()), TILE), runs)
    assert rows.count % (TILE * runs) == 0
    assert rows.weights[:, -1].eq(0).all()
    a, b = pairs_of(rows)
    assert (a < p).all()
    assert (b < p).all()
    back = torch.zeros_like(weights)
    back.index_put_((torch.arange(3)[:, None].expand_as(a), a, b), rows.weights, accumulate=True)
    assert torch.equal(back, weights)
    by_tile = b.unflatten(1, (-1, TILE))
    assert (by_tile.diff(dim=2) >= 0).all()  # in the order of b ...
    assert (by_tile[..., -1] - by_tile[..., 0] < rows.slots).all()  # ... and few of them
    assert (rows.pairs[:, rows.count :] == END * 256).all()
    found = rows.row_of[:, :p, :p].mT.long()  # (n, a, b)
    weight_there = rows.weights.gather(1, found.flatten(1)).view_as(weights)
    assert torch.equal(weight_there, weights)


def test_the_one_hot_says_which_b() -> None:
    rows = lay_out(training_weights(59, 0.8, 1), TILE, 4)
    _, b = pairs_of(rows)
    hot = rows.one_hot()[0]
    assert hot.shape == (rows.count, 16)
    assert torch.equal(hot[:, :4].argmax(1), b[0] % 4)
    assert torch.equal(hot.sum(1), torch.full((rows.count,), 3.0, dtype=torch.float16))


def test_a_tile_ends_early_where_it_would_have_too_many_b() -> None:
    weights = torch.zeros(1, 40, 40)
    weights[0, :, :20] = 1.0  # forty pairs each
    weights[0, :3, 20:30] = 1.0  # three each
    rows = lay_out(weights, TILE, 8)
    _, b = pairs_of(rows)
    by_tile = b[0].unflatten(0, (-1, TILE))
    assert (by_tile[:, -1] - by_tile[:, 0] < 8).all()
    assert int(rows.weights.sum()) == 830


def test_pairs_too_uneven_for_the_engine_are_an_error() -> None:
    weights = torch.zeros(1, 64, 64)
    weights[0, 0, :] = 1.0  # one pair for each b, and four b to a tile
    with pytest.raises(InputError, match="too unevenly for the fused engine"):
        lay_out(weights, TILE, 4)


def test_few_pairs_need_more_slots() -> None:
    assert slots_for(59, 2784, TILE) == 4
    assert slots_for(31, 768, TILE) == 8
    assert slots_for(7, 39, TILE) == 8
