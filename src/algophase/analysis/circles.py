"""Circles in the embedding, found two ways, and circle isolation (sections 2.1 and 3.3).

By principal components, as in the paper: components 1-2, 3-4, ... are a circle when both are waves of one frequency.
By frequency: the tokens are projected onto the Fourier modes of one frequency, which stays right where circles of equal
size share components and no pair shows either of them. `find_circles` takes the paper's way where it is clean and the
second for what is left.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from algophase.analysis.grid import accuracy, grid_logits
from algophase.analysis.principal import (
    PrincipalComponents,
    fourier_basis,
    frequencies,
    frequency_shares,
    network_components,
)
from algophase.errors import InputError
from algophase.networks import Network

# A component is a wave of one frequency when this much of it is. (A *network* is circular from 0.995 on: see verdict.)
WAVE_CONCENTRATION = 0.9
# Circles below this share of the embedding's variance are noise: in released networks noise pairs hold under 0.002.
LEAST_VARIANCE_SHARE = 0.005
# A frequency stands out when it holds this many times the median share. An untrained embedding has no such frequency.
STANDS_OUT = 5.0
# With few frequencies the median is a circle itself; a quarter of all variance stands out in any case.
ALWAYS_STANDS_OUT = 0.25
# Short axis over long axis below which a wave is a line rather than a circle.
LEAST_ROUNDNESS = 0.5


@dataclass(frozen=True)
class Circle:
    """One circle: E_t = mean + an ellipse visited at angle w t + phase, w = 2 pi frequency / p.

    components: numbered from 1 as in the paper; with method "frequency", those that carry a tenth or more of the circle.
    radius: root mean square over the ellipse; roundness: its short axis over its long axis.
    phase: angle of token 0 in the plane of its two axes.
    offset: angle of the first operand's circle ahead of the second's, 0 where they share one.
    """

    frequency: int
    components: tuple[int, ...]
    method: Literal["components", "frequency"]
    variance_share: float
    radius: float
    roundness: float
    phase: float
    offset: float


def _fourier_coefficient(values: Tensor, frequency: int) -> Tensor:
    """z (tables, r), complex, with values (tables, p, r) ~ Re(z exp(i w t))."""
    p = values.shape[1]
    return torch.fft.fft(values.double(), dim=1)[:, frequency] * (2 / p)


def _measure(values: Tensor, frequency: int) -> tuple[float, float, float, float]:
    """Radius, roundness, phase and offset of one frequency in coordinates (tables, p, r)."""
    z = _fourier_coefficient(values, frequency)
    axes = torch.linalg.svdvals(torch.stack([z[0].real, z[0].imag]))
    roundness = (axes[1] / axes[0]).item() if len(axes) > 1 and axes[0] > 0 else 0.0
    radius = (z.abs().square().sum(dim=1) / 2).mean().sqrt().item()
    strongest = z[0].abs().argsort(descending=True, stable=True)[:2].sort().values
    start = z[0].real[strongest]  # where token 0 sits, on the two axes that carry most of the circle
    phase = math.atan2(start[1].item(), start[0].item()) if len(start) > 1 else 0.0
    offset = torch.angle((z[0] * z[1].conj()).sum()).item() if len(z) > 1 else 0.0
    return radius, roundness, phase, offset


def circles_by_components(components: PrincipalComponents) -> list[Circle]:
    """The paper's circles: pairs (1, 2), (3, 4), ... whose components are both waves of the same frequency."""
    shares = frequency_shares(components)
    found = []
    for first in range(0, components.count - 1, 2):
        pair = slice(first, first + 2)
        share = components.variance_share[pair].sum().item()
        frequency = int(shares[pair].sum(dim=0).argmax()) + 1
        clean = bool((shares[pair, frequency - 1] >= WAVE_CONCENTRATION).all())
        if not clean or share < LEAST_VARIANCE_SHARE or 2 * frequency == components.modulus:
            continue
        measures = _measure(components.coordinates[..., pair], frequency)
        found.append(Circle(frequency, (first + 1, first + 2), "components", share, *measures))
    return found


def variance_by_frequency(components: PrincipalComponents) -> Tensor:
    """Share of the embedding's variance at each frequency 1..floor(p / 2)."""
    return components.variance_share @ frequency_shares(components)


def circles_by_frequency(components: PrincipalComponents) -> list[Circle]:
    """Every frequency that stands out and goes round, largest first, however the components mix."""
    if components.count == 0:
        return []
    carried = components.variance_share[:, None] * frequency_shares(components)  # (r, k)
    total = carried.sum(dim=0)
    stands_out = max(LEAST_VARIANCE_SHARE, min(STANDS_OUT * total.median().item(), ALWAYS_STANDS_OUT))
    found = []
    for frequency in frequencies(components.modulus):
        share = total[frequency - 1].item()
        if share < stands_out or 2 * frequency == components.modulus:
            continue
        measures = _measure(components.coordinates, frequency)
        if measures[1] < LEAST_ROUNDNESS:
            continue
        members = (carried[:, frequency - 1] >= 0.1 * share).nonzero().flatten() + 1
        found.append(Circle(frequency, tuple(members.tolist()), "frequency", share, *measures))
    return sorted(found, key=lambda circle: -circle.variance_share)


def _axes(components: PrincipalComponents, circle: Circle) -> Tensor:
    """The circle's two axes in component coordinates, (2, r): its two components, or the axes of its ellipse."""
    if circle.method == "components":
        return torch.eye(components.count, dtype=components.directions.dtype)[[number - 1 for number in circle.components]]
    z = _fourier_coefficient(components.coordinates, circle.frequency)[0]
    return torch.linalg.svd(torch.stack([z.real, z.imag]), full_matrices=False).Vh.to(components.directions.dtype)


def plane(components: PrincipalComponents, circle: Circle) -> Tensor:
    """Two orthonormal directions (2, width) in which a circle lies."""
    return _axes(components, circle) @ components.directions


def points_in_plane(components: PrincipalComponents, circle: Circle) -> Tensor:
    """The tokens seen in a circle's plane, (tables, p, 2)."""
    return components.coordinates @ _axes(components, circle).T


def find_circles(components: PrincipalComponents) -> list[Circle]:
    """All circles of an embedding, each once: clean component pairs in the paper's order, then what only frequency shows."""
    clean: dict[int, Circle] = {}
    for circle in circles_by_components(components):
        clean.setdefault(circle.frequency, circle)
    mixed = [circle for circle in circles_by_frequency(components) if circle.frequency not in clean]
    return [*clean.values(), *mixed]


@dataclass(frozen=True)
class Isolation:
    """A network run on part of its embedding: logits (p, p, outputs), accuracy over all pairs, and the tables used."""

    logits: Tensor
    accuracy: float
    tables: tuple[Tensor, Tensor]


def _isolated(network: Network, tables: tuple[Tensor, Tensor]) -> Isolation:
    logits = grid_logits(network, tables)
    return Isolation(logits, accuracy(logits), tables)


def _check_members(name: str, values: Iterable[int], allowed: range) -> list[int]:
    members = sorted(set(values))
    for value in members:
        if value not in allowed:
            raise InputError(f"{name} {value!r} does not exist; choose from {allowed[0]} to {allowed[-1]}")
    return members


def isolate_components(
    network: Network, components: Iterable[int], *, drop: bool = False, principal: PrincipalComponents | None = None
) -> Isolation:
    """Keep only these principal components of the embedding (numbered from 1), or with `drop` all but these."""
    principal = principal or network_components(network)
    members = _check_members("component", components, range(1, principal.count + 1))
    chosen = torch.zeros(principal.count, dtype=torch.bool)
    chosen[[member - 1 for member in members]] = True
    return _isolated(network, principal.rebuild(principal.coordinates * (chosen ^ drop)))


def isolate_frequencies(
    network: Network, wanted: Iterable[int], *, drop: bool = False, principal: PrincipalComponents | None = None
) -> Isolation:
    """Keep only the Fourier modes of these frequencies over the tokens, or with `drop` all but these."""
    principal = principal or network_components(network)
    members = _check_members("frequency", wanted, frequencies(principal.modulus))
    values = principal.coordinates
    basis = torch.cat([fourier_basis(principal.modulus, k) for k in members] or [torch.zeros(0, principal.modulus).double()])
    basis = basis.to(values.dtype)  # (modes, p)
    part = torch.einsum("mp,mq,tqr->tpr", basis, basis, values)
    return _isolated(network, principal.rebuild(values - part if drop else part))


def isolate_circles(
    network: Network, circles: Iterable[Circle], *, drop: bool = False, principal: PrincipalComponents | None = None
) -> Isolation:
    """Keep only these circles, or with `drop` all but these: as component pairs if all of them are, else by frequency."""
    circles = list(circles)
    if all(circle.method == "components" for circle in circles):
        members = [member for circle in circles for member in circle.components]
        return isolate_components(network, members, drop=drop, principal=principal)
    return isolate_frequencies(network, [circle.frequency for circle in circles], drop=drop, principal=principal)
