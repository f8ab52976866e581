"""Shapes of hidden units: exact answers on ideal shapes and hand-made networks, and the
published networks' known numbers.
"""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.hidden._geometry import Geometry, geometry, ideal_shapes, linear_cka
from algophase.analysis.hidden.units import on_grid, units_of
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.fourier import circle, cos_turn, padded_basis
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Linear, Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import load

MODEL_A, MODEL_B, MODEL_BETA, MODEL_DELTA = "p99zdpze5l", "l8k1hzciux", "p71frej8t7", "qlvxqhkvit"


def untrained(p: int, rate: float = 1.0, seed: int = 0, layers: int = 1) -> Network:
    return initialize(
        RunSettings(
            TaskSettings(p), TransformerSettings(16, layers=layers, attention_rate=rate), seed=seed
        )
    ).double()


@torch.no_grad()
def concatenating(p: int, k: int) -> Linear:
    """A Model delta whose units read one coordinate of one operand's circle: a torus."""
    network = Linear(TaskSettings(p), LinearSettings("delta", 4, 4)).double()
    network.embed.weight.copy_(circle(p, k))
    network.l1.weight.copy_(torch.eye(4))
    network.l1.bias.zero_()
    network.unembed.weight.copy_(torch.ones(p, 4))
    return network


@pytest.mark.parametrize(("p", "k"), [(23, 3), (12, 5), (59, 29)])
def test_ideal_shapes_compare_as_they_must(p: int, k: int) -> None:
    shapes = ideal_shapes(p, k)
    assert linear_cka(shapes["disc"], shapes["torus"]) == pytest.approx(1 / math.sqrt(2), abs=1e-12)
    assert linear_cka(
        shapes["disc"], shapes["disc"] @ torch.tensor([[0.0, 3.0], [3.0, 0.0]]).double()
    ) == pytest.approx(1)
    assert linear_cka(shapes["circle"], shapes["torus"]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("p", [2, 3, 12, 23])
def test_waves_are_orthonormal(p: int) -> None:
    waves = padded_basis(p, torch.device("cpu"))
    torch.testing.assert_close(waves.T @ waves, torch.eye(p, dtype=torch.float64))


@pytest.mark.parametrize("p", [12, 23])
def test_a_pizza_made_by_hand_is_a_disc(p: int) -> None:
    found = geometry(handmade_pizza(p, (2, 5)))
    assert found.disc == pytest.approx(1, abs=1e-12)
    assert found.torus == pytest.approx(1 / math.sqrt(2), abs=1e-12)
    assert [found.circle, found.product_share, found.interaction_share] == pytest.approx(
        [0, 0, 0], abs=1e-12
    )
    assert found.aligned == 1
    assert [(each.frequency, each.units) for each in found.clusters] == [(2, 4 * p), (5, 4 * p)]


def test_what_the_only_cluster_writes_are_the_logits() -> None:
    network = handmade_pizza(23, (4,))
    logits = grid_logits(network).flatten(0, 1)
    expected = linear_cka(logits, ideal_shapes(23, 4)["circle"])
    assert 0.8 < expected < 0.99
    assert geometry(network).logits_circle == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.7, -2.5])
def test_a_disc_of_turned_circles_is_one_up_to_its_turn(turn: float) -> None:
    a, b = (
        2 * math.pi * 4 / 23 * each
        for each in torch.meshgrid(*[torch.arange(23).double()] * 2, indexing="ij")
    )
    columns = [torch.cos(a + phase) + torch.cos(b + turn + phase) for phase in (0.1, 1.0, 2.2)]
    pre = torch.stack(columns, dim=-1).flatten(0, 1)
    units = units_of(pre, 23, None)
    ideal = torch.stack(
        [torch.cos(a) + torch.cos(b + turn), torch.sin(a) + torch.sin(b + turn)], dim=-1
    ).flatten(0, 1)
    assert units.means.turned == pytest.approx(linear_cka(pre, ideal), abs=1e-12)
    assert units.means.disc == pytest.approx(
        units.means.turned * (1 + math.cos(turn)) / 2, abs=1e-12
    )


def test_no_turn_of_a_torus_makes_it_a_disc() -> None:
    assert geometry(concatenating(23, 4)).turned_disc == pytest.approx(1 / math.sqrt(2), abs=1e-12)


def test_units_that_read_one_operand_each_are_a_torus() -> None:
    found = geometry(concatenating(23, 4))
    assert found.torus == pytest.approx(1, abs=1e-12)
    assert found.disc == pytest.approx(1 / math.sqrt(2), abs=1e-12)


@pytest.mark.parametrize(("p", "seed"), [(7, 0), (10, 1), (2, 2), (3, 3)])
def test_all_clusters_at_once_are_each_cluster_by_the_definition(p: int, seed: int) -> None:
    network = untrained(p, seed=seed)
    layer = network.hidden_layer()
    assert layer is not None
    pre = layer.pre_activations(*on_grid(network)).detach()
    units = Subject(network).units
    assert units is not None
    assert bool(units.active.all())
    for frequency in np.unique(units.frequency).tolist():
        shapes, some = ideal_shapes(p, frequency), pre[:, units.frequency == frequency]
        expected = [linear_cka(some, shapes[name]) for name in ("disc", "torus", "circle")]
        assert [likeness[frequency - 1].item() for likeness in units.likeness] == pytest.approx(
            expected, abs=1e-10
        )


def products(p: int, k: int, size: float) -> Tensor:
    """cos w a + cos w b + size cos w a cos w b of all pairs, (p * p, 1)."""
    wave = cos_turn(k * torch.arange(p), p)
    return (3 + wave[:, None] + wave + size * wave[:, None] * wave).flatten()[:, None]


def test_the_share_of_a_product_is_that_of_its_square() -> None:
    units = units_of(products(23, 4, 0.5), 23, None)
    assert units.means.product_share == pytest.approx((0.5**2 / 4) / (1 + 0.5**2 / 4))
    assert units.means.fit == pytest.approx(1 / (1 + 0.5**2 / 4))
    assert units.frequency.tolist() == [4]
    assert units.mean.tolist() == pytest.approx([3])


def test_silent_units_are_left_out() -> None:
    network = handmade_pizza(13, (1, 3))
    with torch.no_grad():
        network.l1.weight[: 4 * 13] *= 1e-3  # all units of the first circle
    found = geometry(network)
    assert found.silent == 4 * 13
    assert [each.frequency for each in found.clusters] == [3]
    assert found.distances.sum() == 4 * 13


def at_distances(*counts: float) -> Geometry:
    unknown, distances = math.nan, torch.tensor(counts, dtype=torch.float64).numpy()
    return Geometry(unknown, unknown, unknown, unknown, unknown, unknown, 0, (), distances, unknown)


def test_alignments_are_compared_by_gaussian_mmd() -> None:
    near, far, twice = at_distances(5, 0, 0, 0), at_distances(0, 0, 3, 0), at_distances(10, 0, 0, 0)
    assert near.alignment_mmd(twice) == 0
    assert near.alignment_mmd(far, bandwidth=2) == pytest.approx(
        math.sqrt(2 - 2 * math.exp(-(2**2) / (2 * 2**2)))
    )
    assert near.alignment_mmd(far) == pytest.approx(
        math.sqrt(2 - 2 * math.exp(-(2**2) / (2 * 0.7**2)))
    )  # p / 10
    with pytest.raises(InputError, match="compare networks of one p"):
        near.alignment_mmd(at_distances(1, 0))


def test_networks_without_hidden_units_have_no_geometry() -> None:
    clock = handmade_clock(7, (1,))
    with pytest.raises(InputError, match="clock-p7-k1 is a Clock"):
        geometry(clock)
    analysis = analyze(clock)
    assert all(
        math.isnan(analysis.metrics[name]) for name in ("disc_cka", "torus_cka", "product_share")
    )


def test_other_operations_and_depths_are_looked_at_alike() -> None:
    subtracting = RunSettings(
        TaskSettings(7, operation="subtract"), TransformerSettings(16, attention_rate=1.0)
    )
    network = initialize(subtracting)
    found = geometry(network)
    flat = geometry(untrained(7, seed=0))
    # Its second operand runs backwards, which a torus and a product do not see.
    assert [found.torus, found.product_share] == pytest.approx([flat.torus, flat.product_share])
    assert found.disc != pytest.approx(flat.disc, rel=0.1)
    assert math.isfinite(found.logits_circle)
    deep = untrained(7, layers=2)
    assert deep.hidden_layer() is not None
    assert math.isnan(geometry(deep).logits_circle)
    assert math.isfinite(geometry(deep).disc)


def test_columns_are_the_same_numbers() -> None:
    network = untrained(7)
    found, metrics = geometry(network), analyze(network).metrics
    columns = [metrics[name] for name in ("disc_cka", "torus_cka", "product_share")]
    assert columns == pytest.approx([found.disc, found.torus, found.product_share], rel=1e-12)


@pytest.mark.parametrize(
    ("name", "disc", "torus", "logits", "product"),
    [
        (MODEL_A, 1.000, 0.707, 0.985, 0.0),
        (MODEL_B, 0.946, 0.669, 0.924, 0.0256),
        (MODEL_BETA, 1.000, 0.707, math.nan, 0.0),
    ],
)
def test_released_networks(
    released: Path, name: str, disc: float, torus: float, logits: float, product: float
) -> None:
    found = geometry(load(released / f"model_{name}.pt"))
    assert found.disc == pytest.approx(disc, abs=7e-4)
    assert found.torus == pytest.approx(torus, abs=7e-4)
    assert found.logits_circle == pytest.approx(logits, abs=7e-4, nan_ok=True)
    assert found.product_share == pytest.approx(product, abs=1e-4)


def test_the_released_concatenating_model_is_nearer_to_a_torus(released: Path) -> None:
    found = geometry(load(released / f"model_{MODEL_DELTA}.pt"))
    assert [found.torus, found.disc] == pytest.approx([0.972, 0.694], abs=1e-3)
    assert found.silent == 60


def test_of_the_mean_square_of_model_b_two_percent_are_products(released: Path) -> None:
    """The same number as published with it: of the mean square, where ours is of the variance."""
    units = Subject(load(released / f"model_{MODEL_B}.pt")).units
    assert units is not None
    whole = units.variance.sum() + np.square(59 * units.mean).sum()
    assert np.square(units.product).sum() / whole == pytest.approx(0.023, abs=5e-4)
