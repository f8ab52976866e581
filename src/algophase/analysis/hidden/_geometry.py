"""One algorithm or two? The shape that hidden units draw, after Moisescu-Pareja et al. (arXiv
2512.25060).

Units of one frequency f are a cluster, X its pre-activations over all p^2 pairs. With theta = 2 pi
f / p its shape is compared with three ideal ones by linear CKA:

    disc    (cos theta a + cos theta b, sin theta a + sin theta b)
    torus   (cos theta a, sin theta a, cos theta b, sin theta b)      CKA(disc, torus) = 1 / sqrt 2
    circle  (cos theta (a + b), sin theta (a + b))

What the cluster writes on the logits is compared with the circle as well.

*Phase alignment* is the distance min(|a - b|, p - |a - b|) of the pair on which a unit is largest;
two networks' distributions are compared by Gaussian MMD.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.subject import Subject, subject_on_cycle
from algophase.core.errors import InputError
from algophase.core.fourier import Array
from algophase.core.wording import counted
from algophase.networks import Network

EQUAL = 1e-9  # a value this near to a unit's largest, in units of its spread, is as large


def linear_cka(first: Tensor, second: Tensor) -> float:
    """|Y^T X|^2 / (|X^T X| |Y^T Y|) of two sets of columns over the same points, each (n,
    columns), centered.
    """
    x = first - first.mean(dim=0)
    y = second - second.mean(dim=0)
    shared = (y.T @ x).square().sum()
    return (shared / ((x.T @ x).norm() * (y.T @ y).norm())).item()


def ideal_shapes(
    modulus: int, frequency: int, device: torch.device | str = "cpu"
) -> dict[str, Tensor]:
    """The disc, the torus and the circle of one frequency over all pairs, (p * p, columns)."""
    step = 2 * math.pi * frequency / modulus
    angles = torch.arange(modulus, device=device, dtype=torch.float64) * step
    a = angles[:, None].expand(-1, modulus).flatten()
    b = angles.repeat(modulus)
    torus = torch.stack([a.cos(), a.sin(), b.cos(), b.sin()], dim=1)
    circle = torch.stack([(a + b).cos(), (a + b).sin()], dim=1)
    return {"disc": torus[:, :2] + torus[:, 2:], "torus": torus, "circle": circle}


@dataclass(frozen=True)
class ClusterGeometry:
    """Hidden units of one frequency. disc, torus, circle: linear CKA of their pre-activations with
    the ideal shapes.

    logits_circle: CKA of what they write on the logits with the circle; NaN where other units come
        in between.
    product_share: of the variance of their pre-activations.
    """

    frequency: int
    units: int
    disc: float
    torus: float
    circle: float
    logits_circle: float
    product_share: float


@dataclass(frozen=True)
class Geometry:
    """The shapes that the first hidden layer draws. Means over clusters are weighted by their
    numbers of units.

    Attributes:
        disc, torus, circle: mean likeness to each shape, linear CKA.
        logits_circle: likeness to the circle of what the units write on the logits; NaN if other
            units come in between.
        product_share: share of the variance in product terms at the units' own frequencies.
        interaction_share: share of the variance that is not a function of a plus a function of b.
        silent: units left out, with a variance below a thousandth of the mean unit's.
        clusters: the units of each frequency, the largest cluster first, without those below 1% of
            the units.
        distances: how many units are largest at each distance 0 to floor(p / 2) of a and b.
        turned_disc: likeness to a disc whose two circles may be rotated against each other, which
            two tables allow.

    Example:
        >>> from algophase import geometry, handmade_pizza
        >>> shapes = geometry(handmade_pizza(23, (1, 5)))
        >>> shapes
        <Geometry: disc 1.0000, torus 0.7071, product share 0.00%; 2 clusters>
        >>> shapes.clusters[0].frequency, shapes.clusters[0].units, shapes.aligned
        (1, 92, 1.0)
    """

    disc: float
    torus: float
    circle: float
    logits_circle: float
    product_share: float
    interaction_share: float
    silent: int
    clusters: tuple[ClusterGeometry, ...]
    distances: Array
    turned_disc: float

    def __repr__(self) -> str:
        clusters = counted(len(self.clusters), "cluster")
        return (
            f"<Geometry: disc {self.disc:.4f}, torus {self.torus:.4f}, "
            f"product share {self.product_share:.2%}; {clusters}>"
        )

    @property
    def aligned(self) -> float:
        """Share of the units that are largest where a = b."""
        return float(self.distances[0] / self.distances.sum())

    def alignment_mmd(self, other: "Geometry", bandwidth: float | None = None) -> float:
        """Gaussian MMD of two networks' distributions of distances: 0 for equal ones.

        other: the second network's. bandwidth: in tokens, by default p / 10.
        """
        size = len(self.distances)
        if len(other.distances) != size:
            raise InputError(
                "phase alignments modulo different p have distances of different range; compare "
                "networks of one p"
            )
        if bandwidth is None:
            bandwidth = (2 * size - 1) / 10
        distance = np.arange(size)
        gaps = distance[:, None] - distance
        kernel = np.exp(-(gaps**2) / (2 * bandwidth**2))
        gap = self.distances / self.distances.sum() - other.distances / other.distances.sum()
        return float(max(gap @ kernel @ gap, 0.0) ** 0.5)


def subject_with_units(network: Network, device: torch.device | str = "cpu") -> Subject:
    """A network under measurement whose hidden units can be looked at."""
    subject = subject_on_cycle(network, device)
    if subject.hidden_layer is None:
        kind = type(network).__name__
        raise InputError(
            f"network {network.id} is a {kind} without hidden units to look at; the paper's "
            "transformers and linear models have them"
        )
    return subject


def geometry(network: Network, device: torch.device | str = "cpu") -> Geometry:
    """Compare the shapes that hidden units draw with a disc, a torus and a circle.

    It reads the first hidden layer: of a transformer at the last position, of a linear model L_1.

    Arguments:
        network: a transformer or a linear model.
        device: where to compute.

    Returns:
        A `Geometry`: likeness to `disc`, `torus` and `circle` (linear CKA, from 0 to 1), and the
        same for each cluster of units.

    Raises:
        InputError: the network has no hidden layer that can be read.

    Example:
        >>> from algophase import handmade_pizza
        >>> round(geometry(handmade_pizza(23)).torus, 6)  # 1 / sqrt 2, as for every disc
        0.707107
    """
    return geometry_of(subject_with_units(network, device))


@torch.no_grad()
def geometry_of(subject: Subject) -> Geometry:
    """`geometry` of a network under measurement that has hidden units."""
    p, layer = subject.modulus, subject.hidden_layer
    pre, units, readout = subject.pre_activations, subject.units, subject.readout
    assert layer is not None
    assert pre is not None
    assert units is not None
    products = np.square(units.product).sum(axis=(0, 1)) @ units.clusters  # by frequency
    with np.errstate(invalid="ignore"):
        product_shares = products / (units.variance @ units.clusters)
    # What each cluster writes, by frequency; NaN where it is undefined.
    logits_circles = np.full_like(product_shares, math.nan)
    clusters = []
    for frequency, in_cluster in units.large_clusters.items():
        index = frequency - 1
        if readout is not None:
            members = torch.from_numpy(in_cluster).to(pre.device)
            logits = layer.activation(pre[:, members]) @ readout[members]
            circle = ideal_shapes(p, frequency, pre.device)["circle"]
            logits_circles[index] = linear_cka(logits, circle)
        disc, torus, circle_likeness = units.likeness[:, index].tolist()
        clusters.append(
            ClusterGeometry(
                frequency=frequency,
                units=int(in_cluster.sum()),
                disc=disc,
                torus=torus,
                circle=circle_likeness,
                logits_circle=float(logits_circles[index]),
                product_share=float(product_shares[index]),
            )
        )
    active = torch.from_numpy(units.active).to(pre.device)
    return Geometry(
        disc=units.means.disc,
        torus=units.means.torus,
        circle=units.means.circle,
        logits_circle=float(units.over_clusters(logits_circles)),
        product_share=units.means.product_share,
        interaction_share=_interaction_share(pre.view(p, p, -1)),
        silent=int((~units.active).sum()),
        clusters=tuple(clusters),
        distances=_distances(pre[:, active], p),
        turned_disc=units.means.turned,
    )


def _interaction_share(pre: Tensor) -> float:
    """Share of the variance of x(a, b), (p, p, m), beyond a function of a plus a function of b."""
    mean = pre.mean(dim=(0, 1))
    of_a = pre.mean(dim=1, keepdim=True)
    of_b = pre.mean(dim=0, keepdim=True)
    interactions = pre - of_a - of_b + mean
    return (interactions.square().sum() / (pre - mean).square().sum()).item()


def _distances(pre: Tensor, p: int) -> Array:
    """How many units are largest at each distance of a and b, the nearest pair where several are
    as large.
    """
    numbers = torch.arange(p, device=pre.device)
    gaps = (numbers[:, None] - numbers).abs()
    distance = torch.minimum(gaps, p - gaps).flatten()
    largest = pre.amax(dim=0) - EQUAL * pre.std(dim=0)
    nearest = torch.where(pre >= largest, distance[:, None], p).amin(dim=0)
    return torch.bincount(nearest, minlength=p // 2 + 1).double().cpu().numpy()
