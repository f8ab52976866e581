"""Square networks, whose learning coefficient is known: that it is what the study says, that the
estimate agrees, and that it is refused where it does not.
"""

import runpy

import pytest
import torch
from fenced import ROOT

STUDY = runpy.run_path(str(ROOT / "studies" / "learning_coefficient_calibration.py"))


def outputs(weights: torch.Tensor) -> torch.Tensor:
    """(p, p, p) of one network's weights (K, 3, p), unit by unit as the formula says."""
    first, second, readout = weights.unbind(dim=1)
    total = torch.zeros(weights.shape[2], weights.shape[2], weights.shape[2], dtype=weights.dtype)
    for u, v, c in zip(first, second, readout, strict=True):
        total = total + (u[:, None, None] + v[None, :, None]) ** 2 * c
    return total


@pytest.mark.parametrize(("modulus", "units"), [(5, 1), (5, 3), (7, 2)])
def test_all_but_two_directions_of_a_unit_change_the_outputs(modulus: int, units: int) -> None:
    networks = STUDY["SquareNetworks"](modulus, units, seed=0)
    weights = networks.points[0].view(units, 3, modulus)
    slopes = torch.autograd.functional.jacobian(outputs, weights)
    rank = int(torch.linalg.matrix_rank(slopes.reshape(modulus**3, -1)))
    assert rank / 2 == networks.known
    assert rank == units * (3 * modulus - 2)


def test_the_loss_and_its_gradient_are_those_of_the_outputs() -> None:
    networks = STUDY["SquareNetworks"](5, 2, seed=0, chains=3)
    truth = outputs(networks.points[0].view(2, 3, 5))
    networks.points += 0.1 * torch.randn(3, 30, generator=torch.Generator().manual_seed(0)).double()
    losses, gradients = networks.loss_and_gradient()
    for point, loss, gradient in zip(networks.points, losses, gradients, strict=True):
        at = point.clone().requires_grad_()
        expected = (outputs(at.view(2, 3, 5)) - truth).square().sum() / (2 * 25)
        (slope,) = torch.autograd.grad(expected, at)
        assert float(loss) == pytest.approx(expected.item())
        assert torch.allclose(gradient, slope)


def test_an_estimate_is_right_or_refused() -> None:
    arms = {arm.name: arm for arm in STUDY["ARMS"]}
    known = STUDY["SquareNetworks"](11, 2, seed=0).known
    value, reasons = STUDY["sample"](11, 2, arms["as it should be"], seed=13)
    assert reasons == []
    assert value == pytest.approx(known, rel=0.1)
    for name, word in (("localization times 1000", "localization"), ("step times 10", "step")):
        value, reasons = STUDY["sample"](11, 2, arms[name], seed=13)
        assert value != pytest.approx(known, rel=0.1)
        assert any(reason.startswith(f"half the {word} changes it") for reason in reasons)
