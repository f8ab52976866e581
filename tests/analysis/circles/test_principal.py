"""Principal components of two tables: what is a circle there."""

import pytest
import torch

from algophase.analysis.analyze import analyze
from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks.mlp import MLP


@pytest.mark.parametrize("modulus", [23, 59])
@pytest.mark.parametrize("radii", [(1.0, 1.0), (1.0, 0.7, 0.5)])
def test_circles_of_two_tables_in_different_planes(modulus: int, radii: tuple[float, ...]) -> None:
    """A Clock as products of waves: each frequency has three components, so two of them are not
    its circle. It was no algorithm where two of them were the first of a pair.
    """
    frequencies = torch.tensor([2, 4, 9][: len(radii)])
    angles = 2 * torch.pi * torch.arange(modulus).double()[:, None] * frequencies / modulus
    cos, sin = angles.cos() * torch.tensor(radii), angles.sin() * torch.tensor(radii)
    width = 4 * len(radii)
    settings = MLPSettings(width, join="multiply", activation="none", own_tables=True)
    network = MLP(TaskSettings(modulus, training_fraction=None), settings).double()
    with torch.no_grad():
        network.first.copy_(torch.cat([cos, sin, sin, cos], dim=1))
        network.second.copy_(torch.cat([cos, sin, cos, sin], dim=1))
        network.W_U.copy_(torch.cat([cos, -cos, sin, sin], dim=1).T)
    analysis = analyze(network)
    assert analysis.sentence == f"{'two' if len(radii) == 2 else 'three'} Clocks"
    assert analysis.additivity == pytest.approx(1)
    assert [instance.accuracy_alone for instance in analysis.instances.instances] == [1] * len(
        radii
    )
