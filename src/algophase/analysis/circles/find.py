"""Circles in the embedding, found two ways, and circle isolation (sections 2.1 and 3.3).

By principal components, as in the paper: components 1-2, 3-4, ... are a circle when both are waves
of one frequency. By frequency: the tokens are projected onto the Fourier modes of one frequency.
That is still right where circles of equal size share components, so that no pair shows either of
them. `find_circles` takes the paper's way where it is clean and the second for what is left.
"""

import math
import numbers
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis.checks import check_network
from algophase.analysis.circles.principal import (
    LEAST_VARIANCE_SHARE,
    PrincipalComponents,
    frequency_shares,
    network_components,
    of_columns,
)
from algophase.analysis.logits.all_pairs import accuracy, grid_logits
from algophase.core.errors import InputError
from algophase.core.fourier import basis, frequencies, wave_counts, waves_at
from algophase.core.lines import falls_short, reaches
from algophase.core.settings import shown
from algophase.networks import Network
from algophase.networks.ordered import ordered

Some = TypeVar("Some")

# A frequency stands out when it holds this many times the median share. An untrained embedding has
# no such frequency.
STANDS_OUT = 5.0
# With few frequencies the median is a circle itself; a quarter of all variance stands out in any
# case.
ALWAYS_STANDS_OUT = 0.25
# Short axis over long axis below which a wave is a line rather than a circle.
LEAST_ROUNDNESS = 0.5


@dataclass(frozen=True)
class Circle:
    """One circle of an embedding: E_t = mean + an ellipse visited at angle w t + phase, w = 2 pi
    frequency / p.

    Attributes:
        frequency: k, from 1 to floor(p / 2).
        components: the principal components that it lies in, numbered from 1 as in the paper; with
            method "frequency", those that carry a tenth or more of the circle.
        method: how it was found: "components" or "frequency".
        variance_share: its share of the embedding's variance.
        radius: root mean square over the ellipse.
        roundness: the ellipse's short axis over its long axis.
        phase: angle of token 0 in the plane of the two axes.
        offset: angle of the first operand's circle ahead of the second's; 0 if they share one
            table.
        purity: the share of its frequency in the variance in its plane; 1 if the tokens seen there
            are the ellipse.
        alignment: correlation of the two operands' circles after the best rotation; 1 if they share
            one table.
    """

    frequency: int
    components: tuple[int, ...]
    method: Literal["components", "frequency"]
    variance_share: float
    radius: float
    roundness: float
    phase: float
    offset: float
    purity: float
    alignment: float


class _Ellipse(NamedTuple):
    """What a `Circle` says of the ellipse that the tokens draw: see there."""

    radius: float
    roundness: float
    phase: float
    offset: float
    purity: float
    alignment: float


def _ellipse(
    components: PrincipalComponents, frequency: int, members: slice = slice(None)
) -> _Ellipse:
    """The ellipse Re(z exp(i w t)) in these components.

    There are few numbers for each of many circles, and NumPy's calls are shorter than PyTorch's.
    """
    every = components.fourier.numpy()[:, :, members]
    z = every[:, frequency]  # (tables, r)
    sizes = np.abs(z)
    plane_of_first = np.stack([z[0].real, z[0].imag])
    _, axes, directions = np.linalg.svd(plane_of_first, full_matrices=False)

    # Of each frequency, in the plane of the ellipse.
    power = (np.abs(every @ directions.T) ** 2).sum(axis=(0, 2))
    power[0] = 0
    power[1:] *= wave_counts(components.modulus)
    purity = float(power[frequency] / power.sum()) if power.sum() > 0 else 0.0

    # Where token 0 sits, on the two axes that carry most of the circle.
    strongest = np.sort(np.argsort(-sizes[0], kind="stable")[:2])
    start = z[0].real[strongest].tolist()
    phase = math.atan2(start[1], start[0]) if len(start) > 1 else 0.0

    offset, alignment = 0.0, 1.0
    if len(z) > 1:
        # 0 for other planes, and for one plane gone round the other way.
        common = (z[0] * z[1].conj()).sum()
        squares = (sizes[0] ** 2).sum() * (sizes[1] ** 2).sum()
        lengths = math.sqrt(squares)
        offset = float(np.angle(common))
        alignment = float(abs(common) / lengths) if lengths > 0 else 0.0
    return _Ellipse(
        radius=math.sqrt((sizes**2).sum() / (2 * len(z))),
        roundness=_roundness(axes),
        phase=phase,
        offset=offset,
        purity=purity,
        alignment=alignment,
    )


def roundness(components: PrincipalComponents, frequency: int) -> float:
    """Short axis over long axis of the ellipse that the tokens draw at this frequency, whatever
    its size.
    """
    values = components.fourier.numpy()[0, frequency]
    return _roundness(np.linalg.svd(np.stack([values.real, values.imag]), compute_uv=False))


def _roundness(axes: NDArray[np.float64]) -> float:
    if len(axes) < 2 or not axes[0] > 0:
        return 0.0
    return float(axes[1] / axes[0])


def circles_by_components(components: PrincipalComponents) -> list[Circle]:
    """The paper's circles: pairs (1, 2), (3, 4), ... whose components are both waves of the same
    frequency.
    """
    circles = []
    for pair, frequency, share in components.clean_pairs:
        members = slice(2 * pair, 2 * pair + 2)
        ellipse = _ellipse(components, frequency, members)
        numbered = (members.start + 1, members.stop)
        circles.append(Circle(frequency, numbered, "components", share, *ellipse))
    return circles


def component_pairs(components: PrincipalComponents, count: int) -> list[Circle]:
    """The first pairs of components, (1, 2), (3, 4), ..., circle or not, each under the
    frequency that has most of it.
    """
    pairs = []
    for first in range(0, min(2 * count, components.count // 2 * 2), 2):
        members = slice(first, first + 2)
        shares = components.variance_share[members]
        by_frequency = shares @ frequency_shares(components)[members]
        frequency = int(by_frequency.argmax()) + 1
        ellipse = _ellipse(components, frequency, members)
        numbered = (first + 1, first + 2)
        pair = Circle(frequency, numbered, "components", shares.sum().item(), *ellipse)
        pairs.append(pair)
    return pairs


def variance_by_frequency(components: PrincipalComponents) -> Tensor:
    """Share of the embedding's variance at each frequency 1..floor(p / 2)."""
    return components.variance_by_frequency


def circles_by_frequency(
    components: PrincipalComponents, left_out: Collection[int] = ()
) -> list[Circle]:
    """Every frequency that stands out and goes round, largest first, however the components mix;
    none of those `left_out`.
    """
    if components.count == 0:
        return []
    modulus = components.modulus
    carried = components.variance_share[:, None] * frequency_shares(components)  # (r, k)
    total = carried.sum(dim=0)
    line = min(STANDS_OUT * total.median().item(), ALWAYS_STANDS_OUT)
    line = max(LEAST_VARIANCE_SHARE, line)
    circles = []
    for frequency, share in zip(frequencies(modulus), total.tolist(), strict=True):
        is_a_line = waves_at(modulus, frequency) == 1
        if is_a_line or frequency in left_out or falls_short(share, line):
            continue
        ellipse = _ellipse(components, frequency)
        if falls_short(ellipse.roundness, LEAST_ROUNDNESS):
            continue
        members = reaches(carried[:, frequency - 1], 0.1 * share).nonzero().flatten() + 1
        numbered = tuple(members.tolist())
        circles.append(Circle(frequency, numbered, "frequency", share, *ellipse))
    return sorted(circles, key=lambda circle: -circle.variance_share)


def _axes(components: PrincipalComponents, circle: Circle) -> Tensor:
    """The circle's two axes in component coordinates, (2, r): its two components, or the axes of
    its ellipse.
    """
    dtype = components.directions.dtype
    if circle.method == "components":
        members = [number - 1 for number in circle.components]
        return torch.eye(components.count, dtype=dtype)[members]
    z = components.fourier[0, circle.frequency]
    ellipse = torch.stack([z.real, z.imag])
    return torch.linalg.svd(ellipse, full_matrices=False).Vh.to(dtype)


def plane(components: PrincipalComponents, circle: Circle) -> Tensor:
    """Two orthonormal directions (2, width) in which a circle lies."""
    return _axes(components, circle) @ components.directions


def points_in_plane(components: PrincipalComponents, circle: Circle) -> Tensor:
    """The tokens seen in a circle's plane, (tables, p, 2)."""
    return components.coordinates @ _axes(components, circle).T


def find_circles(components: PrincipalComponents) -> list[Circle]:
    """Find all circles of an embedding.

    Arguments:
        components: the principal components of the embedding, from `network_components`.

    Returns:
        Each circle once: first the clean pairs of components, in the paper's order, then circles
        that only their frequency shows. A `Circle` has its `frequency`, `components`, `radius`,
        `roundness` and `variance_share`.

    Raises:
        InputError: `components` are not principal components.

    Example:
        >>> from algophase import handmade_pizza, network_components
        >>> circles = find_circles(network_components(handmade_pizza(23, (2, 5))))
        >>> [(circle.frequency, round(circle.roundness, 3)) for circle in circles]
        [(2, 1.0), (5, 1.0)]
    """
    if not isinstance(components, PrincipalComponents):
        raise InputError(
            "give principal components, such as network_components(network), not a "
            f"{type(components).__name__}"
        )
    clean: dict[int, Circle] = {}
    for circle in circles_by_components(components):
        clean.setdefault(circle.frequency, circle)
    return [*clean.values(), *circles_by_frequency(components, clean.keys())]


@dataclass(frozen=True)
class Isolation:
    """A network run on part of its embedding.

    Attributes:
        logits: (p, p, outputs).
        accuracy: over all pairs.
        tables: the embedding tables used, each (p, width).
    """

    logits: Tensor
    accuracy: float
    tables: tuple[Tensor, Tensor]


def _isolated(network: Network, principal: PrincipalComponents, part: Tensor) -> Isolation:
    device = network.operand_tables()[0].device
    first, second = principal.rebuild(part)
    tables = first.to(device), second.to(device)
    logits = grid_logits(network, tables)
    return Isolation(logits, accuracy(logits), tables)


def _component_part(
    principal: PrincipalComponents, members: Iterable[int], drop: bool = False
) -> Tensor:
    """Centered tables (tables, p, width) of these components alone, or of all others."""
    chosen = [member - 1 for member in members]
    if drop:
        chosen = sorted(set(range(principal.count)).difference(chosen))
    return principal.coordinates[:, :, chosen] @ principal.directions[chosen]


def _frequency_part(
    principal: PrincipalComponents, members: Iterable[int], drop: bool = False
) -> Tensor:
    """Centered tables (tables, p, width) projected onto the Fourier modes of these frequencies,
    or of all others.
    """
    values = principal.centered
    waves = basis(principal.modulus, tuple(members)).to(values.dtype)
    part = waves.T @ (waves @ values)
    return values - part if drop else part


def circle_alone(principal: PrincipalComponents, circle: Circle) -> tuple[Tensor, Tensor]:
    """The operand tables with one circle kept, as `isolate_circles` keeps it."""
    if circle.method == "components":
        return principal.rebuild(_component_part(principal, circle.components))
    return principal.rebuild(_frequency_part(principal, [circle.frequency]))


def without_circles(
    principal: PrincipalComponents, circles: Sequence[Circle]
) -> tuple[Tensor, Tensor]:
    """The operand tables without these circles, as `isolate_circles` drops them."""
    if all(circle.method == "components" for circle in circles):
        members = [member for circle in circles for member in circle.components]
        return principal.rebuild(_component_part(principal, members, drop=True))
    return principal.rebuild(
        _frequency_part(principal, [circle.frequency for circle in circles], drop=True)
    )


def group_columns(
    principal: PrincipalComponents,
    groups: Sequence[Collection[int]],
    left_out: Sequence[Collection[int]] = (),
) -> Tensor:
    """Which of the `columns` belong to each group of frequencies kept, then to each left out: (n,
    c) of 1 and 0.

    By clean pairs of components if all of its frequencies have one, else by waves.
    """
    # The first pair of a frequency, where it has several.
    clean = {frequency: pair for pair, frequency, _ in reversed(principal.clean_pairs)}
    columns = principal.count + principal.modulus - 1
    chosen = np.zeros((len(groups) + len(left_out), columns))
    for index, members in enumerate([*groups, *left_out]):
        by_pairs = all(k in clean for k in members)
        part = chosen[index, : principal.count] if by_pairs else chosen[index, principal.count :]
        for k in members:
            column = 2 * (clean[k] if by_pairs else k - 1)
            part[column : column + 2] = 1
        if index >= len(groups):
            part[:] = 1 - part
    return torch.from_numpy(chosen)


def isolate_group(
    network: Network,
    members: Collection[int],
    *,
    drop: bool = False,
    principal: PrincipalComponents,
) -> Isolation:
    """Keep these frequencies, circles or not, or all but these: as the instances of a network
    are kept and left out.
    """
    kept, left_out = ([], [members]) if drop else ([members], [])
    chosen = group_columns(principal, kept, left_out)
    left, right = principal.columns
    parts = of_columns(left, right, chosen.to(left.dtype))
    return _isolated(network, principal, parts[:, 0])


def _listed(values: Iterable[Some], kind: type, what: str) -> list[Some]:
    listed = list(values) if isinstance(values, Iterable) else None
    if listed is None or not all(isinstance(value, kind) for value in listed):
        raise InputError(f"give a list of {what}, not {shown(values)}")
    return listed


def _check_members(name: str, values: Iterable[int], allowed: range) -> list[int]:
    members = sorted(set(_listed(values, numbers.Integral, f"{name} numbers, such as [1, 2]")))
    if members and not allowed:
        raise InputError(f"{name} {members[0]!r} does not exist: the embedding is constant")
    for value in members:
        if value not in allowed:
            raise InputError(
                f"{name} {value!r} does not exist; choose from {allowed[0]} to {allowed[-1]}"
            )
    return members


def isolate_components(
    network: Network,
    components: Iterable[int],
    *,
    drop: bool = False,
    principal: PrincipalComponents | None = None,
) -> Isolation:
    """Run a network on some principal components of its embedding alone.

    Arguments:
        network: the network.
        components: the components to keep, numbered from 1 as in the paper.
        drop: leave these components out instead and keep the rest.
        principal: its principal components, if you have them already.

    Returns:
        An `Isolation`: `logits` (p, p, outputs), `accuracy` over all pairs, and the `tables` used,
        each (p, width).

    Raises:
        InputError: a component does not exist.

    Example:
        >>> from algophase import handmade_pizza
        >>> isolation = isolate_components(handmade_pizza(23), [1, 2])
        >>> tuple(isolation.logits.shape)
        (23, 23, 23)
    """
    check_network(network)
    network = ordered(network)
    principal = principal or network_components(network)
    members = _check_members("component", components, range(1, principal.count + 1))
    return _isolated(network, principal, _component_part(principal, members, drop))


def isolate_frequencies(
    network: Network,
    members: Iterable[int],
    *,
    drop: bool = False,
    principal: PrincipalComponents | None = None,
) -> Isolation:
    """Run a network on some frequencies of its embedding alone: the Fourier modes over the tokens.

    Arguments:
        network: the network.
        members: the frequencies to keep, from 1 to floor(p / 2).
        drop: leave these frequencies out instead and keep the rest.
        principal: its principal components, if you have them already.

    Returns:
        An `Isolation`: `logits` (p, p, outputs), `accuracy` over all pairs, and the `tables` used,
        each (p, width).

    Raises:
        InputError: a frequency does not exist.

    Example:
        >>> from algophase import handmade_pizza
        >>> network = handmade_pizza(23, (1, 5))
        >>> isolate_frequencies(network, [5]).accuracy  # on its second circle alone
        1.0
    """
    check_network(network)
    network = ordered(network)
    principal = principal or network_components(network)
    members = _check_members("frequency", members, frequencies(principal.modulus))
    return _isolated(network, principal, _frequency_part(principal, members, drop))


def isolate_circles(
    network: Network,
    circles: Iterable[Circle],
    *,
    drop: bool = False,
    principal: PrincipalComponents | None = None,
) -> Isolation:
    """Run a network on some circles of its embedding alone (section 3.3).

    Circles are cut out as pairs of components if all of them are such pairs, otherwise by
    frequency.

    Arguments:
        network: the network.
        circles: the circles to keep, from `find_circles`.
        drop: leave these circles out instead and keep the rest.
        principal: its principal components, if you have them already.

    Returns:
        An `Isolation`: `logits` (p, p, outputs), `accuracy` over all pairs, and the `tables` used,
        each (p, width).

    Raises:
        InputError: a circle is not one of this network's.

    Example:
        >>> from algophase import handmade_pizza, network_components
        >>> network = handmade_pizza(23, (1, 5, 8))
        >>> circles = find_circles(network_components(network))
        >>> isolate_circles(network, circles[:1]).accuracy  # on its first circle alone
        1.0
    """
    circles = _listed(circles, Circle, "circles, such as find_circles(network_components(network))")
    if all(circle.method == "components" for circle in circles):
        members = [member for circle in circles for member in circle.components]
        return isolate_components(network, members, drop=drop, principal=principal)
    return isolate_frequencies(
        network, [circle.frequency for circle in circles], drop=drop, principal=principal
    )
