"""Betti numbers of the shapes that hidden units draw, by persistent homology, after Moisescu-Pareja
et al. (arXiv 2512.25060).

b_0 counts the pieces of a shape, b_1 its loops, b_2 its voids: disc 1, 0, 0; circle 1, 1, 0; torus
1, 2, 1. The points are the p^2 pairs, as in geometry.py: a cluster's pre-activations, or what it
writes on the logits, centered, all their dimensions.

1. Landmarks by farthest point, from the point farthest from the mean, stand for the points. rho is
   the least radius of balls around them that cover the points and, on the torus of the phases (w_f
   a, w_f b), the midpoints of neighbors.
2. ripser (Bauer 2021; Tralie et al. 2018) gives the bars of their Vietoris-Rips complexes R_s (all
   distances up to s), over Z/2: a hole is born at s = birth and filled at s = death.
3. A hole's *persistence* is death / max(birth, 2 rho), and it counts above sqrt 2. Let C_s be the
   union of balls of diameter s
   around the landmarks: C_s < R_s < C_{s sqrt 2} < R_{s sqrt 2} < C_{2 s}, each within the next
   (Jung's theorem; de Silva and Ghrist 2007). So a bar from s to beyond s sqrt 2 is a hole of C_{s
   sqrt 2}, which covers the shape if s >= 2 rho; and a hole that stays open from C_s to C_{2 s} is
   such a bar.
4. Nothing is decided unless holes as large as the ideal torus's would show. With the same variance
   sigma^2 as the points it has circles of radius h = sigma / sqrt 2, which stay open in C_{2 s} up
   to s = h. So 2 rho <= h is required, and bars born after h are left out. Bars are followed up to
   h sqrt 3, where R_s fills a circle of radius h (Adamaszek and Adams 2017).
5. Another first landmark moved persistences by up to 8% (eight of them, four clusters of trained
   networks). Within a tenth of the line, nothing is decided.

A circle of radius r, filled at r sqrt 3, is not seen if r is small against rho: the least radius
that is seen is part of the answer. More landmarks see smaller loops; voids are looked for with the
first 256. docs/method.md has ideal shapes with noise.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.hidden._geometry import subject_with_units
from algophase.core.errors import InputError, import_extra
from algophase.core.fourier import Array
from algophase.core.lines import reaches
from algophase.core.threads import one_thread
from algophase.networks import Network

LANDMARKS = 256  # the number by default, and for voids the most: their cost rises too fast
LINE = math.sqrt(2)
TORUS = math.sqrt(1 / 2)  # h: radius of the ideal torus's circles, with variance 1
UNSURE = 1.1  # a persistence within this factor of the line is on neither side
NEGLIGIBLE = 1e-12  # share of the variance that ripser's single precision does not see
EQUAL = 1e-9  # points this near to the farthest, relatively, are as far: the first of them is taken
SHAPES = {(1, 0, 0): "disc", (1, 1, 0): "circle", (1, 2, 1): "torus"}


@dataclass(frozen=True)
class Betti:
    """Betti numbers of one shape, and how sure they are. A hole counts if its persistence is above
    sqrt 2.

    numbers: b_0, b_1 and b_2; None where nothing is decided, and reason says why.
    counted, not_counted: the least persistence that counts, and the largest that does not; NaN
        where there is none.
    hole: radius of the smallest loop that is sure to be counted, in units of the points' standard
        deviation over all dimensions. An ideal circle has radius 1, each circle of an ideal torus
        0.71.
    landmarks: how many there are; for voids at most 256.
    """

    numbers: tuple[int, int, int] | None
    reason: str
    counted: float
    not_counted: float
    hole: float
    landmarks: int

    @property
    def shape(self) -> str | None:
        """disc, circle or torus, whichever has these numbers. Any shape that can be shrunk to a
        point has a disc's.
        """
        return None if self.numbers is None else SHAPES.get(self.numbers)

    def __str__(self) -> str:
        if self.numbers is None:
            return "undecided"
        numbers = ", ".join(map(str, self.numbers))
        return f"{numbers} ({self.shape or 'other'})"


@dataclass(frozen=True)
class ClusterBetti:
    """Betti numbers of the hidden units of one frequency.

    Attributes:
        frequency: the frequency.
        units: how many units it has.
        hidden: Betti numbers of their pre-activations.
        logits: Betti numbers of what they write on the logits; None if other units come in between.
    """

    frequency: int
    units: int
    hidden: Betti
    logits: Betti | None

    def __repr__(self) -> str:
        written = "" if self.logits is None else f", logits {self.logits}"
        return (
            f"<ClusterBetti: frequency {self.frequency}, {self.units} units; hidden "
            f"{self.hidden}{written}>"
        )


def import_ripser() -> Any:
    return import_extra("ripser", "Betti numbers need ripser", "topology")


@torch.no_grad()
def betti_numbers(
    network: Network, landmarks: int = LANDMARKS, device: torch.device | str = "cpu"
) -> tuple[ClusterBetti, ...]:
    """Count the pieces, loops and voids of what hidden units draw and write.

    It needs the extra `topology`. A shape takes about half a second, with 600 landmarks over a
    second.

    Arguments:
        network: a transformer or a linear model.
        landmarks: points taken of each shape; more of them show smaller loops.
        device: where to compute.

    Returns:
        One `ClusterBetti` per frequency, the largest cluster first, without clusters below 1% of
        the units.

    Raises:
        InputError: the network has no hidden layer that can be read, or the extra is missing.

    Example:
        >>> from algophase import handmade_pizza
        >>> betti_numbers(handmade_pizza(23, (1,)))
        (<ClusterBetti: frequency 1, 92 units; hidden 1, 0, 0 (disc), logits 1, 0, 0 (disc)>,)
    """
    import_ripser()
    if landmarks < 3:
        raise InputError(f"landmarks is {landmarks}; it must be at least 3")
    subject = subject_with_units(network, device)
    p, layer = subject.modulus, subject.hidden_layer
    pre, units, readout = subject.pre_activations, subject.units, subject.readout
    assert layer is not None
    assert pre is not None
    assert units is not None
    clusters = []
    for frequency, in_cluster in units.large_clusters.items():
        members = torch.from_numpy(in_cluster).to(pre.device)
        reads = pre[:, members]  # (p * p, units)
        hidden = betti_of(reads, p, frequency, landmarks)
        logits = None
        if readout is not None:
            writes = layer.activation(reads) @ readout[members]  # (p * p, outputs)
            logits = betti_of(writes, p, frequency, landmarks)
        clusters.append(ClusterBetti(frequency, int(in_cluster.sum()), hidden, logits))
    return tuple(clusters)


# How many there are would show in the rounding; for products this small, more are slower
@one_thread()
def betti_of(points: Tensor, modulus: int, frequency: int, landmarks: int = LANDMARKS) -> Betti:
    """Of points over all pairs, (p * p, columns), that draw a shape of one frequency."""
    points = _principal(points.double().cpu())
    deviation = points.square().sum(dim=1).mean().sqrt().item()
    if not deviation:
        return Betti(None, "the points do not vary", math.nan, math.nan, math.nan, 1)
    chosen, radii = _landmarks(points / deviation, modulus, frequency, landmarks)
    coarse_radius = radii[:LANDMARKS][-1]
    finest_radius = radii[-1]
    persistence = _persistence(chosen[:LANDMARKS], coarse_radius, 2)
    if len(chosen) > LANDMARKS:
        persistence[:2] = _persistence(chosen, finest_radius, 1)
    every_bar = np.concatenate(persistence)
    above = every_bar[every_bar > LINE]
    below = every_bar[every_bar <= LINE]
    reason = _doubt(coarse_radius, every_bar)
    b0, b1, b2 = (int((bars > LINE).sum()) for bars in persistence)
    return Betti(
        numbers=None if reason else (b0, b1, b2),
        reason=reason,
        counted=min(above.tolist(), default=math.nan),
        not_counted=max(below.tolist(), default=math.nan),
        # A circle of radius r is filled at r sqrt 3: its persistence is r sqrt 3 / (2 rho).
        hole=UNSURE * LINE * 2 * finest_radius / math.sqrt(3),
        landmarks=len(chosen),
    )


def _principal(points: Tensor) -> Tensor:
    """Centered, in as few dimensions as single precision needs: distances stay as they are."""
    points = points - points.mean(dim=0)
    variances, axes = torch.linalg.eigh(points.T @ points)
    up_to_here = variances.clamp(min=0).cumsum(dim=0)  # the smallest come first
    visible = up_to_here > NEGLIGIBLE * variances.sum()
    return points @ axes[:, visible]


def _with_midpoints(points: Tensor, modulus: int, frequency: int) -> Tensor:
    """The points, then the midpoints of neighbors in a, in b and in both, (4 * p * p, columns).

    Neighbors are one step of the frequency's phase apart: 2 pi / p, or 2 pi g / p where g divides
    both f and p.
    """
    shared = math.gcd(modulus, frequency)
    step = pow(frequency // shared, -1, modulus // shared)
    grid = points.view(modulus, modulus, -1)
    along_a, along_b = ((grid + grid.roll(-step, axis)) / 2 for axis in (0, 1))
    within = (along_a + along_a.roll(-step, 1)) / 2
    return torch.stack([grid, along_a, along_b, within]).flatten(0, 2)


def _landmarks(
    points: Tensor, modulus: int, frequency: int, count: int
) -> tuple[Tensor, list[float]]:
    """Farthest-point landmarks, (at most count, columns), and the radius rho of balls around the
    first 1, 2, ... of them.
    """
    covered = _with_midpoints(points, modulus, frequency)
    norms = covered.square().sum(dim=1)
    nearest = torch.full_like(norms, math.inf)  # squared distance of the nearest landmark
    farthest = norms[: len(points)]
    chosen = list[int]()
    radii = list[float]()
    while len(chosen) < count and farthest.max() > NEGLIGIBLE:  # fewer where all points are taken
        as_far = farthest >= (1 - EQUAL) * farthest.max()
        new = int(as_far.to(torch.uint8).argmax())  # the first of them
        chosen.append(new)
        to_new = norms - covered @ (2 * points[new]) + norms[new]
        nearest = torch.minimum(nearest, to_new)
        farthest = nearest[: len(points)]
        radii.append(math.sqrt(max(nearest.max().item(), NEGLIGIBLE)))
    return points[chosen], radii


def _persistence(landmarks: Tensor, rho: float, dimension: int) -> list[Array]:
    """Of all bars in each dimension up to this one. The shape has variance 1; balls of radius
    rho around landmarks cover it.
    """
    distances = torch.cdist(
        landmarks, landmarks, compute_mode="donot_use_mm_for_euclid_dist"
    ).numpy()
    end = math.sqrt(3) * TORUS
    ripser = import_ripser().ripser
    result = ripser(distances, maxdim=dimension, thresh=end, distance_matrix=True)
    persistence = []
    for bars in result["dgms"]:
        births, deaths = bars[bars[:, 0] <= TORUS].astype(np.float64).T
        persistence.append(np.minimum(deaths, end) / np.maximum(births, 2 * rho))
    return persistence


def _doubt(rho: float, persistence: Array) -> str:
    """Why nothing is decided; empty if it is."""
    if not reaches(TORUS, 2 * rho):
        return (
            f"too coarse or too noisy: balls of radius {rho:.2f} are needed to cover it, "
            f"above {TORUS / 2:.2f}"
        )
    near = persistence[(persistence > LINE / UNSURE) & (persistence < LINE * UNSURE)]
    if not len(near):
        return ""
    nearest = near[np.abs(np.log(near / LINE)).argmin()]
    return f"a hole of persistence {nearest:.2f} is too near the line, {LINE:.2f}"
