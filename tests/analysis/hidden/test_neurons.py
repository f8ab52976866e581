"""Hidden units as waves: known phases and amplitudes, the integral of a Pizza, and the published
networks' resultants.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.hidden._neurons import Neurons, neurons
from algophase.core.errors import InputError
from algophase.core.fourier import circle
from algophase.core.settings import LinearSettings, TaskSettings
from algophase.networks import Linear
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import load

P, K = 11, 3
PHASES = torch.tensor(
    [[0.3, -1.2, 2.5], [1.0, 0.1, -3.0], [-2.0, 0.7, 1.5]]
).double()  # of a, b and c; a column a unit
SIZES = torch.tensor([[1.0, 0.5, 2.0], [0.25, 3.0, 1.0], [0.1, 4.0, 1.0]]).double()


@torch.no_grad()
def made(p: int, k: int, phases: Tensor, sizes: Tensor) -> Linear:
    """A Model alpha' whose units read and write waves with these phases and amplitudes: a plane
    for each operand.
    """
    count = phases.shape[1]
    network = Linear(TaskSettings(p), LinearSettings("alpha-prime", 4, count)).double()
    network.embed1.weight.zero_()
    network.embed2.weight.zero_()
    network.embed1.weight[:, :2] = network.embed2.weight[:, 2:] = circle(p, k)
    reads = (
        sizes[:2] * torch.stack([phases.cos(), -phases.sin()])[:, :2]
    )  # (cosine and sine, operand, unit)
    network.l1.weight.copy_(reads.permute(2, 1, 0).flatten(1))
    network.l1.bias.copy_(torch.arange(count))
    angle = 2 * math.pi * k * torch.arange(p)[:, None].double() / p
    network.unembed.weight.copy_(sizes[2] * torch.cos(angle + phases[2]))
    return network


def test_phases_and_amplitudes_are_found() -> None:
    found = neurons(made(P, K, PHASES, SIZES))
    assert found.frequency.tolist() == [K] * 3
    for index, (phase, size) in enumerate(
        [
            (found.phase_a, found.amplitude_a),
            (found.phase_b, found.amplitude_b),
            (found.phase_out, found.amplitude_out),
        ]
    ):
        assert phase == pytest.approx(PHASES[index].numpy())
        assert size == pytest.approx(SIZES[index].numpy())
    assert found.fit == pytest.approx(np.ones(3))
    assert found.product_share == pytest.approx(np.zeros(3), abs=1e-12)
    gap = PHASES[0] + PHASES[1] - PHASES[2]
    assert found.resultant == pytest.approx(torch.exp(1j * gap).mean().abs().item())


def test_amplitudes_at_half_of_the_modulus() -> None:
    """There a wave is a sign: its phase is 0 or half a turn."""
    found = neurons(
        made(
            8,
            4,
            torch.tensor([[0.0], [math.pi], [0.0]]).double(),
            torch.tensor([[2.0], [3.0], [0.5]]).double(),
        )
    )
    assert [found.amplitude_a[0], found.amplitude_b[0], found.amplitude_out[0]] == pytest.approx(
        [2, 3, 0.5]
    )
    assert abs(found.phase_b[0]) == pytest.approx(math.pi)
    assert found.quadrature == ()


def test_the_integral_accounts_for_a_pizza_made_by_hand() -> None:
    coarse, fine = (neurons(handmade_pizza(p, (1, 5))) for p in (7, 23))
    for found in (coarse, fine):
        assert found.resultant == pytest.approx(1)
        assert found.mean_fit == pytest.approx(1)
        # Each of 4 p units reads with amplitude 1 and writes 1/2 on one label: 1/p of each
        # frequency.
        assert [each.amplitude for each in found.quadrature] == pytest.approx(
            [8 / (3 * math.pi)] * len(found.quadrature)
        )
    assert (
        fine.quadrature[0].sum_error < coarse.quadrature[0].sum_error < 0.02
    )  # more phases, a better quadrature
    assert fine.quadrature[0].error == pytest.approx(fine.quadrature[0].sum_error)
    assert [fine.quadrature[0].gain, fine.quadrature[0].shape] == pytest.approx([1, 1], abs=2e-3)


def test_one_phase_is_no_quadrature() -> None:
    one = torch.tensor([[0.4], [0.4], [0.8]]).double()
    (found,) = neurons(made(23, 2, one, torch.ones(3, 1).double())).quadrature
    assert found.sum_error > 1
    many = torch.arange(16).double() * 2 * math.pi / 16
    phases = torch.stack([many, many, 2 * many])
    (found,) = neurons(made(23, 2, phases, torch.ones(3, 16).double())).quadrature
    assert found.sum_error < 0.02
    assert found.amplitude == pytest.approx(2 / (3 * math.pi) * 16)
    assert found.error > 0.1  # its units have biases of 0 to 15, which the account does not know


def test_a_record_holds_plain_values() -> None:
    network = made(P, K, PHASES, SIZES)
    record = json.loads(json.dumps(neurons(network).to_dict()))
    assert record["frequency"] == [K] * 3
    assert record["quadrature"][0]["frequency"] == K
    assert {"phase_a", "amplitude_out", "fit", "active", "resultant"} <= set(record)
    assert len(neurons(network).columns()["fit"]) == 3


def test_outputs_are_undefined_behind_a_second_layer() -> None:
    task, settings = TaskSettings(5), LinearSettings("beta", 4, 6)
    network = Linear(task, settings)
    network.initialize(0)
    found = neurons(network)
    assert np.isnan(found.phase_out).all()
    assert math.isnan(found.resultant)
    assert found.quadrature == ()
    assert math.isnan(analyze(network).phase_resultant)
    assert found.to_dict()["resultant"] is None
    with pytest.raises(InputError, match="is a Clock"):
        neurons(handmade_clock(5, (1,)))


@pytest.fixture(scope="module")
def of_released(released: Path) -> dict[str, Neurons]:
    return {
        name: neurons(load(released / f"model_{name}.pt")) for name in ("p99zdpze5l", "l8k1hzciux")
    }


def test_resultants_of_the_released_networks(of_released: dict[str, Neurons]) -> None:
    pizza, clock = of_released["p99zdpze5l"], of_released["l8k1hzciux"]
    assert pizza.resultant == pytest.approx(1.0000, abs=5e-5)
    assert clock.resultant == pytest.approx(0.957, abs=6e-4)
    assert [pizza.mean_fit, clock.mean_fit] == pytest.approx([0.9845, 0.9243], abs=5e-4)


def test_the_quadrature_of_model_a(of_released: dict[str, Neurons]) -> None:
    found = of_released["p99zdpze5l"].quadrature
    assert [each.frequency for each in found] == [15, 17, 3]
    assert max(each.sum_error for each in found) == pytest.approx(0.058, abs=1e-3)
    assert [each.error for each in found] == pytest.approx(
        [0.339, 0.349, 0.348], abs=2e-3
    )  # with companions inside
