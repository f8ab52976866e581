"""Principal components of the embeddings, and what frequencies they are made of.

Components are those of the centered embedding matrix of the number tokens (an equals sign is not a
number). Where the two operands have tables of their own, each is centered by its own mean and the
rows are stacked: 2p points, one set of axes. All of this is small, so it stays on the CPU wherever
the network is.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.checks import at_inference, check_network
from algophase.core.errors import InputError
from algophase.core.fourier import basis, wave_counts, waves_at
from algophase.core.lines import reaches
from algophase.core.threads import one_thread
from algophase.networks import Network
from algophase.networks.ordered import ordered

# A component is a wave of one frequency when this much of it is. (A *network* is circular from
# 0.995 on: see verdict.)
WAVE_CONCENTRATION = 0.9
# Circles below this share of the embedding's variance are noise: in released networks noise pairs
# hold under 0.002.
LEAST_VARIANCE_SHARE = 0.005
# Components whose sizes differ by less than this are equal: a few roundings of a float32 weight.
EQUAL_SIZES = 1e-5


@dataclass(frozen=True)
class PrincipalComponents:
    """Principal components of the operand tables: E = mean + coordinates @ directions, for each
    table.

    Component l of the paper is index l - 1.

    Attributes:
        means: one vector (width,) per table.
        coordinates: (tables, p, r).
        directions: (r, width), orthonormal.
        variance_share: (r,), largest first.
    """

    means: tuple[Tensor, ...]
    coordinates: Tensor
    directions: Tensor
    variance_share: Tensor

    def __repr__(self) -> str:
        shares = ", ".join(f"{share:.1%}" for share in self.variance_share[:4].tolist())
        return (
            f"<PrincipalComponents modulo {self.modulus}: {self.count}, with "
            f"{shares or 'none'} of the variance>"
        )

    @functools.cached_property
    def count(self) -> int:
        return len(self.directions)

    @property
    def modulus(self) -> int:
        return self.coordinates.shape[1]

    @functools.cached_property
    def fourier(self) -> Tensor:
        """z (tables, 1 + floor(p / 2), r), complex: frequency k of the coordinates is Re(z[:, k]
        exp(2 pi i k t / p)).
        """
        values = self.coordinates.double()
        if self.count == 0:
            return torch.zeros(len(values), 1 + self.modulus // 2, 0, dtype=torch.complex128)
        return torch.fft.rfft(values, dim=1) * (2 / self.modulus)

    @functools.cached_property
    def frequency_shares(self) -> Tensor:
        """See the function of this name."""
        p = self.modulus
        values = self.coordinates.double()
        # `fourier` is twice the mean, which counts the one wave of p / 2 twice.
        mean_squares = torch.from_numpy(wave_counts(p) / 4)[:, None]
        power = self.fourier[:, 1:].abs() ** 2 * (p * mean_squares)  # (tables, k, r)
        return (power.sum(dim=0) / (values**2).sum(dim=(0, 1))).T

    @functools.cached_property
    def variance_by_frequency(self) -> Tensor:
        """Share of the variance at each frequency 1..floor(p / 2)."""
        return self.variance_share @ self.frequency_shares

    @functools.cached_property
    def clean_pairs(self) -> list[tuple[int, int, float]]:
        """Pairs of components that are both waves of one frequency: (number of the pair, from 0,
        frequency, variance share).

        Two tables may draw their circles in different planes. Then a frequency has up to four
        components, and no two of them are its circle.
        """
        even = self.count // 2 * 2
        if even == 0:
            return []
        shares = self.frequency_shares[:even].numpy().reshape(even // 2, 2, -1)  # (pairs, 2, k)
        strongest = shares.sum(axis=1).argmax(axis=1)
        least = shares.min(axis=1)[np.arange(len(shares)), strongest]
        carried = self.variance_share[:even].numpy().reshape(-1, 2).sum(axis=1)
        is_clean = reaches(least, WAVE_CONCENTRATION) & reaches(carried, LEAST_VARIANCE_SHARE)
        pairs = []
        for pair in np.flatnonzero(is_clean).tolist():
            frequency = int(strongest[pair]) + 1
            if waves_at(self.modulus, frequency) == 2 and self._is_whole(pair, frequency):
                pairs.append((pair, frequency, float(carried[pair])))
        return pairs

    def _is_whole(self, pair: int, frequency: int) -> bool:
        """Whether a pair has nearly all of its frequency, as it must where there is one table."""
        if len(self.means) == 1:
            return True
        members = slice(2 * pair, 2 * pair + 2)
        shares = self.variance_share[members] @ self.frequency_shares[members, frequency - 1]
        whole = float(self.variance_by_frequency[frequency - 1])
        return bool(reaches(float(shares), WAVE_CONCENTRATION * whole))

    @functools.cached_property
    def centered(self) -> Tensor:
        """The tables without their means, (tables, p, width)."""
        return self.coordinates @ self.directions

    @functools.cached_property
    def columns(self) -> tuple[Tensor, Tensor]:
        """left (tables, p, c) and right (tables, c, width).

        Their product over some of the c columns is a part of `centered`. There is one column for
        each component, then one for each wave; either kind alone makes up the whole.
        """
        waves = basis(self.modulus).to(self.coordinates.dtype)
        tables = len(self.coordinates)
        every_wave = waves.T.expand(tables, -1, -1)
        every_direction = self.directions.expand(tables, -1, -1)
        left = torch.cat([self.coordinates, every_wave], dim=2)
        right = torch.cat([every_direction, waves @ self.centered], dim=1)
        return left, right

    def rebuild(self, part: Tensor) -> tuple[Tensor, Tensor]:
        """Operand tables of a part (tables, ..., p, width) of the centered ones, the means added
        back.
        """
        return rebuilt(self.means, part)


def rebuilt(means: Sequence[Tensor], part: Tensor) -> tuple[Tensor, Tensor]:
    tables = [mean + centered for mean, centered in zip(means, part, strict=True)]
    return tables[0], tables[-1]


def of_columns(left: Tensor, right: Tensor, chosen: Tensor) -> Tensor:
    """Parts (tables, n, p, width) of the centered tables, from `columns` and which of them each
    part has, (n, c) of 1 and 0.
    """
    p = left.shape[1]
    n = len(chosen)
    chosen_left = left[:, None] * chosen[:, None]  # (tables, n, p, c)
    return (chosen_left.flatten(1, 2) @ right).unflatten(1, (n, p))


# How many there are would show in the rounding, and that in the axes of an exactly round circle
@one_thread()
def principal_components(
    tables: tuple[Tensor, ...], resolution: float | None = None
) -> PrincipalComponents:
    """Components of one table, or of several stacked. Those within rounding of zero are left out.

    resolution: relative rounding of the weights, by default that of the tables' precision. A
        float32 circle widened to float64 is no rounder, so a caller that widened it says where it
        came from.

    A component's sign is free; it is set so that the token farthest out along it has a positive
    coordinate.
    """
    if resolution is None:
        resolution = torch.finfo(tables[0].dtype).eps
    tables = tuple(table.detach().cpu() for table in tables)
    means = tuple(table.mean(dim=0) for table in tables)
    centered = torch.cat([table - mean for table, mean in zip(tables, means, strict=True)]).double()
    left, sizes, right = torch.linalg.svd(centered, full_matrices=False)
    largest = max((table.double().abs().max().item() for table in tables), default=0.0)
    longest = max(centered.shape)
    keep = sizes > longest * resolution * (largest * longest**0.5)
    left, sizes, right = _separate_equal_components(
        left[:, keep], sizes[keep], right[keep], len(tables[0])
    )
    if len(sizes):
        farthest = left.abs().argmax(dim=0)
        signs = left[farthest, torch.arange(len(sizes))].sign()
        left = left * signs
        right = right * signs[:, None]
    coordinates = (left * sizes).unflatten(0, (len(tables), -1))
    share = sizes**2 / (sizes**2).sum()
    return PrincipalComponents(
        means, coordinates.to(tables[0].dtype), right.to(tables[0].dtype), share
    )


def _separate_equal_components(
    left: Tensor, sizes: Tensor, right: Tensor, modulus: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Components of equal size are only defined up to rotation among themselves; choose those of
    one frequency each.

    Circles of the same radius would otherwise come out blended by the whim of the decomposition.
    The cyclic Laplacian over the tokens has a different eigenvalue 2 - 2 cos(2 pi k / p) for every
    frequency, so diagonalising it inside a group of equal components sorts the group by frequency.
    """
    for group in _equal_groups(sizes):
        if len(group) > 2:
            waves = left[:, group].unflatten(0, (-1, modulus))
            laplacian = 2 * waves - waves.roll(1, dims=1) - waves.roll(-1, dims=1)
            rotation = torch.linalg.eigh(torch.einsum("tpi,tpj->ij", waves, laplacian)).eigenvectors
            left[:, group] = left[:, group] @ rotation
            right[group] = rotation.T @ right[group]
    return left, sizes, right


def _equal_groups(sizes: Tensor) -> list[list[int]]:
    """The indices of components in groups of equal size."""
    values = sizes.numpy()
    is_step = values[:-1] - values[1:] > EQUAL_SIZES * values[:-1]
    edges = (np.flatnonzero(is_step) + 1).tolist()
    return [list(range(*ends)) for ends in pairwise([0, *edges, len(values)])]


def equal_components(components: PrincipalComponents, among: int) -> int:
    """How many components the largest group of equal size has that one of the first `among`
    belongs to.
    """
    groups = _equal_groups(components.variance_share.sqrt()) if components.count else []
    return max((len(group) for group in groups if group and group[0] < among), default=0)


def resolution_of(network: Network) -> float:
    """Relative rounding of a network's weights, in the precision they are stored in."""
    for parameter in network.parameters():
        if parameter.is_floating_point():
            return torch.finfo(parameter.dtype).eps
    raise InputError(f"network {network.id}: it has no parameters")


def network_components(network: Network, resolution: float | None = None) -> PrincipalComponents:
    """Compute the principal components of a network's embedding.

    With a table for each operand, the components are those of the two tables stacked.

    Arguments:
        network: the network.
        resolution: relative rounding of the weights, below which a component is left out; by
            default that of their precision.

    Returns:
        `PrincipalComponents`: `means`, `coordinates` (tables, p, r), `directions` (r, width) and
        `variance_share` (r,), largest first.

    Example:
        >>> from algophase import handmade_pizza
        >>> network_components(handmade_pizza(23, (1, 5))).count  # two for each circle
        4
    """
    check_network(network)
    network = ordered(network)
    with at_inference(network):
        return principal_components(network.distinct_tables(), resolution)


def frequency_shares(components: PrincipalComponents) -> Tensor:
    """Share of each component's variance at each frequency, (r, floor(p / 2)); a component's shares
    sum to 1.

    This is the paper's 2 / (p sum v^2) |sum_j v_j exp(2 pi i j k / p)|^2 (appendix B), except at k
    = p / 2 for even p, where the printed formula counts the single wave twice and would leave [0,
    1].
    """
    return components.frequency_shares
