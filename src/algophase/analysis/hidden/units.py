"""The first hidden layer as waves over the two operands: what geometry and neurons are read from,
batched over units.

The pre-activation of a hidden unit is a function x(a, b). With w_f = 2 pi f / p it is

    x = mean + sum over f of [waves of w_f a] + [waves of w_f b] + interactions,

and the unit's *frequency* is that of the largest waves of a and b together: its single-frequency
fit. *Product terms* are the interactions of one frequency, e^{i(+-w_f a +- w_f b)}. Attention makes
them; a layer that reads a sum of embeddings has none.

Which units these are, a network says itself (`Network.hidden_layer`). Of a network that does not,
what is read from them is undefined. What a unit writes on the logits is defined where nothing but
the unembedding comes after it: one-layer transformers, linear models with one hidden layer.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis._pending import Pending, pack
from algophase.core.fourier import Array, padded_basis
from algophase.core.lines import reaches
from algophase.core.threads import one_thread
from algophase.networks import Cache, Network

# A unit whose variance is below this part of the mean unit's is silent: weight decay has all but
# removed it.
SILENT = 1e-3
# Clusters of fewer units than this share of those that are not silent are left out of means over
# clusters.
LEAST_CLUSTER = 0.01


def recorded_pre_activations(cache: Cache) -> list[Tensor]:
    """Of the first hidden layer, (n, m), among recorded activations, if there."""
    if "blocks.0.mlp.hook_pre" in cache:
        return [cache["blocks.0.mlp.hook_pre"][:, -1]]
    return [cache["l1.hook_pre"]] if "l1.hook_pre" in cache else []


def on_grid(network: Network, tables: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """Embeddings of all pairs, each (p * p, width)."""
    first, second = tables or network.operand_tables()
    every_first = first[:, None].expand(-1, len(second), -1).flatten(0, 1)
    every_second = second.repeat(len(first), 1)
    return every_first, every_second


@dataclass(frozen=True)
class Units:
    """All hidden units at their own frequencies, on the CPU.

    frequency: (m,). mean, variance: (m,), the latter times p^2.
    In orthonormal waves, cosine and sine: first, second: (2, m), of each operand; product: (2, 2,
    m), of both; writes: (2, m), of what a unit writes, NaN where undefined.
    sizes: (floor(p / 2),), |X^T X| of the pre-activations of each frequency's cluster without
        silent units.
    active: (m,), not silent; clusters: (m, floor(p / 2)), 1 where an active unit belongs to the
        frequency.
    """

    modulus: int
    frequency: NDArray[np.int64]
    mean: Array
    variance: Array
    first: Array
    second: Array
    product: Array
    writes: Array
    sizes: Array
    active: NDArray[np.bool_]
    clusters: Array

    @functools.cached_property
    def additive(self) -> Array:
        """Squared norm of the single-frequency fit, (m,)."""
        return np.asarray((self.first**2 + self.second**2).sum(axis=0))

    @functools.cached_property
    def phases(self) -> Array:
        """phi of cos(w t + phi) in a, b and c, (3, m), in radians."""
        waves = np.stack([self.first, self.second, self.writes])
        return np.asarray(np.arctan2(-waves[:, 1], waves[:, 0]))

    @functools.cached_property
    def large_clusters(self) -> dict[int, NDArray[np.bool_]]:
        """Which units belong to each frequency, (m,), the largest cluster first, without clusters
        below `LEAST_CLUSTER`.
        """
        counts = self.clusters.sum(axis=0)
        large = reaches(counts, LEAST_CLUSTER * counts.sum()) & (counts > 0)
        by_size = np.argsort(-counts, kind="stable")
        return {int(index) + 1: self.clusters[:, index] > 0 for index in by_size if large[index]}

    @functools.cached_property
    def likeness(self) -> Array:
        """Linear CKA of each frequency's cluster with the ideal disc, torus and circle, (3, floor(p
        / 2)).

        CKA(X, Y) = |Y^T X|^2 / (|X^T X| |Y^T Y|), columns centered. Without units it is NaN.
        """
        cosine = self.product[0, 0] - self.product[1, 1]  # of w (a + b)
        sine = self.product[0, 1] + self.product[1, 0]
        disc = np.square(self.first + self.second).sum(axis=0)
        circle = cosine**2 + sine**2
        shared = np.stack([disc, self.additive, circle]) @ self.clusters  # |Y^T X|^2
        with np.errstate(divide="ignore", invalid="ignore"):
            return shared / (self.sizes * _ideal_sizes(self.modulus))

    @functools.cached_property
    def turned_disc(self) -> Array:
        """CKA of each cluster with the disc that fits it best of (cos wa + cos(wb + t), sin wa +
        sin(wb + t)), (floor(p / 2),).

        With z = cosine + i sine of each operand, |Y^T X|^2 = sum |z_a + e^{it} z_b|^2: largest at t
        = -arg sum conj(z_a) z_b.
        """
        of_a = self.first[0] + 1j * self.first[1]
        of_b = self.second[0] + 1j * self.second[1]
        in_step = np.abs((of_a.conj() * of_b) @ self.clusters)
        largest = self.additive @ self.clusters + 2 * in_step
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(largest / (self.sizes * _ideal_sizes(self.modulus)[0]))

    def over_clusters(self, values: Array) -> Array:
        """Mean of values (..., floor(p / 2)) over clusters, by their numbers of units, without
        the small ones.
        """
        counts = self.clusters.sum(axis=0)
        counted = np.where(reaches(counts, LEAST_CLUSTER * counts.sum()), counts, 0.0)
        total = np.where(counted > 0, values * counted, 0.0).sum(axis=-1)
        with np.errstate(invalid="ignore"):
            return np.asarray(total / counted.sum())

    @functools.cached_property
    def means(self) -> "UnitMeans":
        """Of the whole layer. Undefined where no unit varies."""
        first, second, output = self.phases[:, self.active]
        gap = first + second - output
        count = self.active.sum()
        with np.errstate(invalid="ignore"):
            fits = self.additive[self.active] / self.variance[self.active]
            fit = fits.sum() / count
            resultant = np.hypot(np.cos(gap).sum(), np.sin(gap).sum()) / count
            product_share = np.square(self.product).sum() / self.variance.sum()
        by_cluster = np.vstack([self.likeness, self.turned_disc])
        disc, torus, circle, turned = self.over_clusters(by_cluster).tolist()
        return UnitMeans(
            disc=disc,
            torus=torus,
            circle=circle,
            turned=turned,
            product_share=float(product_share),
            fit=float(fit),
            resultant=float(resultant),
        )


class UnitMeans(NamedTuple):
    """disc, torus, circle: likeness, mean over clusters; turned: to a disc whose operands may be
    turned against each other.

    product_share: of all units' variance, at their own frequencies.

    fit: R^2 of the single-frequency fit, mean over units that are not silent. resultant: |mean of
        e^{i(phi_a + phi_b - phi_c)}|
    over these: 1 if all read and write in step.
    """

    disc: float
    torus: float
    circle: float
    turned: float
    product_share: float
    fit: float
    resultant: float


@functools.lru_cache(maxsize=8)
def _ideal_sizes(modulus: int) -> Array:
    """|Y^T Y| of the disc, the torus and the circle of each frequency, in its waves, (3, floor(p /
    2)).

    Of n columns of squared norm s it is s sqrt n. A frequency has two waves, and one at p / 2.
    Kept.
    """
    k = np.arange(1, modulus // 2 + 1)
    waves = np.where(2 * k == modulus, 1.0, 2.0)
    return np.stack([2 * np.sqrt(waves), np.sqrt(2 * waves), waves * np.sqrt(waves)])


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)
def _own_waves(modulus: int, device: torch.device) -> Tensor:
    """The rows of `padded_basis` that a unit of each frequency has: the constant, cosine and
    sine, (3, floor(p / 2)). Kept.
    """
    cosine = 2 * torch.arange(modulus // 2) + 1
    return torch.stack([torch.zeros_like(cosine), cosine, cosine + 1]).to(device)


class UnitWaves(NamedTuple):
    """What `Units` is read from, on the device. In orthonormal waves.

    cluster: (m,), each unit's frequency - 1, or -1 - that for a silent unit. mean, variance: (m,).
    shared: (m,), norm of the products of its pre-activation with those of its cluster.
    at_own: (3, 3, m), by the constant, cosine and sine of a and of b at the unit's own frequency.
    writes: (2, m), cosine and sine of what it writes; none where that is undefined.
    """

    cluster: Tensor
    mean: Tensor
    variance: Tensor
    shared: Tensor
    at_own: Tensor
    writes: Tensor | None

    def tensors(self) -> dict[str, Tensor]:
        """Those that there are, by name."""
        return {name: tensor for name, tensor in self._asdict().items() if tensor is not None}


@torch.no_grad()
@one_thread()  # how many there are would show in the rounding
def unit_waves(pre: Tensor, modulus: int, written: Tensor | None) -> UnitWaves:
    """The waves of pre-activations (p * p, m) of all pairs, and of what the units write (m, p),
    computed where these are. Nothing waits for the device.
    """
    waves = padded_basis(modulus, pre.device)
    of_first = (waves @ pre.reshape(modulus, -1)).view(len(waves), modulus, -1)
    modes = waves @ of_first  # (of a, of b, m)
    del of_first  # as large as the pre-activations
    mean = modes[0, 0] / modulus
    modes[0, 0].zero_()
    of_operands = torch.stack([modes[1:, 0], modes[0, 1:]])
    frequency = _own_frequency(of_operands)
    variance, cluster, shared = _products_in_clusters(modes.flatten(0, 1), frequency)
    unit = torch.arange(len(frequency), device=pre.device)
    own = _own_waves(modulus, pre.device)[:, frequency]
    return UnitWaves(
        cluster=cluster,
        mean=mean,
        variance=variance,
        shared=shared,
        at_own=modes[own[:, None], own, unit],
        writes=None if written is None else (waves @ written.T)[own[1:], unit],
    )


def _products_in_clusters(modes: Tensor, frequency: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`variance`, `cluster` and `shared` of `UnitWaves`, from all modes (p * p, m)."""
    if modes.device.type != "cpu":
        gram = modes.T @ modes
        variance = gram.diagonal()
        cluster = _clusters(frequency, variance)
        same_cluster = cluster[:, None] == cluster
        return variance, cluster, (gram * same_cluster).norm(dim=1)
    # To look which clusters there are costs a GPU a wait, and saves a CPU nearly all products.
    variance = torch.linalg.vector_norm(modes, dim=0).square()
    cluster = _clusters(frequency, variance)
    shared = torch.empty_like(variance)
    for number in cluster.unique():
        units = (cluster == number).nonzero()[:, 0]
        of_cluster = modes[:, units]
        shared[units] = (of_cluster.T @ of_cluster).norm(dim=1)
    return variance, cluster, shared


@torch.no_grad()
@one_thread()
def unit_waves_in_slabs(
    rows_of: Callable[[slice], Tensor], parts: Sequence[slice], modulus: int, written: Tensor | None
) -> UnitWaves:
    """`unit_waves` where there is no room for the pre-activations of all pairs: equal up to
    rounding.

    rows_of: the pre-activations (rows, p, m) of some rows of the first operand, one of `parts`.
        They are computed twice: the sums over either operand give each unit's mean and frequency,
        which its products and the clusters then need.
    """
    by_first = []
    by_second = None
    for rows in parts:
        pre = rows_of(rows)
        by_first.append(pre.sum(dim=1))
        total = pre.sum(dim=0)
        by_second = total if by_second is None else by_second.add_(total)
    assert by_second is not None
    waves = padded_basis(modulus, by_second.device)
    sums = torch.stack([torch.cat(by_first), by_second])
    of_operands = waves @ sums * modulus**-0.5  # (2, waves, m)
    mean = of_operands[0, 0] / modulus
    frequency = _own_frequency(of_operands[:, 1:])
    own = _own_waves(modulus, mean.device)[:, frequency]
    own_waves = waves[own]  # (3, m, p)
    # Products are needed of units of one frequency only.
    units_at = [(frequency == k).nonzero()[:, 0] for k in frequency.unique()]
    grams = [mean.new_zeros(len(units), len(units)) for units in units_at]
    at_own = mean.new_zeros(3, 3, len(mean))
    for rows in parts:
        centered = rows_of(rows) - mean
        of_second = torch.einsum("abm,jmb->ajm", centered, own_waves)
        at_own += torch.einsum("ajm,ima->ijm", of_second, own_waves[:, :, rows])
        for gram, units in zip(grams, units_at, strict=True):
            values = centered[..., units].flatten(0, 1)
            gram.addmm_(values.T, values)
    variance = torch.empty_like(mean)
    shared = torch.empty_like(mean)
    for gram, units in zip(grams, units_at, strict=True):
        variance[units] = gram.diagonal()
    cluster = _clusters(frequency, variance)
    for gram, units in zip(grams, units_at, strict=True):
        same_cluster = cluster[units, None] == cluster[units]
        shared[units] = (gram * same_cluster).norm(dim=1)
    writes = None
    if written is not None:
        unit = torch.arange(len(frequency), device=mean.device)
        writes = (waves @ written.T)[own[1:], unit]
    return UnitWaves(cluster, mean, variance, shared, at_own, writes)


def _own_frequency(operands: Tensor) -> Tensor:
    """Each unit's frequency - 1, (m,), from the waves of either operand, (2, 2 floor(p / 2), m)."""
    return operands.unflatten(1, (-1, 2)).square().sum(dim=(0, 2)).argmax(dim=0)


def _clusters(frequency: Tensor, variance: Tensor) -> Tensor:
    """Which units belong together. Silent ones count from -1 down: none shares a cluster with
    others.
    """
    return torch.where(variance > SILENT * variance.mean(), frequency, -1 - frequency)


def units_of_waves(numbers: Mapping[str, Array], modulus: int) -> Units:
    """From the tensors of `UnitWaves`, as arrays on the CPU."""
    cluster = numbers["cluster"]
    at_own = numbers["at_own"]
    active = cluster >= 0
    frequency = np.where(active, cluster, -1 - cluster).astype(np.int64) + 1
    belongs = frequency[:, None] == np.arange(1, modulus // 2 + 1)
    clusters = (belongs & active[:, None]).astype(np.float64)
    first = at_own[1:, 0]
    second = at_own[0, 1:]
    return Units(
        modulus=modulus,
        frequency=frequency,
        mean=numbers["mean"],
        variance=numbers["variance"],
        first=first,
        second=second,
        product=at_own[1:, 1:],
        writes=numbers.get("writes", np.full_like(first, math.nan)),
        sizes=np.sqrt(np.square(numbers["shared"]) @ clusters),
        active=active,
        clusters=clusters,
    )


def units_of(pre: Tensor, modulus: int, written: Tensor | None) -> Units:
    """From pre-activations (p * p, m) of all pairs, and what the units write (m, p)."""
    waves = unit_waves(pre, modulus, written)
    return pending_units(waves, modulus).get()


def pending_units(waves: UnitWaves, modulus: int) -> Pending[Units]:
    return Pending(pack(waves.tensors()), functools.partial(units_of_waves, modulus=modulus))
