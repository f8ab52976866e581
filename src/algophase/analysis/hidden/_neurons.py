"""Every hidden unit as a wave, and a Pizza's hidden layer as a numerical integral.

With w = 2 pi f / p, a unit of frequency f reads and writes

    reads   x(a, b) = mean + alpha_a cos(w a + phi_a) + alpha_b cos(w b + phi_b) + rest
    writes  gamma cos(w c + phi_c) + rest

R^2 is the share of x's variance without its rest. In a Pizza phi_a = phi_b = phi and phi_c = 2 phi,
so the *resultant* |mean of e^{i(phi_a + phi_b - phi_c)}| is 1. A ReLU layer of such units at many
phases is a quadrature of the integral (Yip et al., arXiv 2412.03773)

    integral over phi of ReLU(cos(u + phi)) cos(v + 2 phi) = 2/3 cos(v - 2 u)

with u = w (a + b) / 2 and v = w c, since cos(w a + phi) + cos(w b + phi) = 2 cos(w (a - b) / 2)
cos(u + phi). A cluster writes

    K |cos(w (a - b) / 2)| cos(w (a + b - c))
    K = 2 / (3 pi) sum over its units of gamma (alpha_a + alpha_b) / 2
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.hidden._geometry import subject_with_units
from algophase.analysis.hidden.units import Units
from algophase.analysis.subject import Subject
from algophase.core.fourier import Array, wave_counts, waves_at
from algophase.networks import Network
from algophase.record.layout import to_record


@dataclass(frozen=True)
class Quadrature:
    """The integral's account of one cluster. Errors are root mean squares over all triples, in
    units of the integral's own size.

    Attributes:
        frequency: the cluster's frequency.
        units: how many units it has.
        amplitude: K.
        sum_error: error of the sum over its units, each a wave and a ReLU: from too few phases and
            unequal weights.
        error: error of what its units really write at this frequency, without offsets in c.
        gain: size of that along the integral; 1 if K is right.
        shape: share of that which the integral explains at any K: the squared correlation.
    """

    frequency: int
    units: int
    amplitude: float
    sum_error: float
    error: float
    gain: float
    shape: float


@dataclass(frozen=True)
class Neurons:
    """All units of a network's first hidden layer. Arrays are (units,).

    Attributes:
        mean_fit: mean of `fit` over active units.
        resultant: |mean of exp(i (phase_a + phase_b - phase_out))|; 1 in a Pizza.
        quadrature: the integral's account of each cluster, the largest first.
        frequency: from 1.
        phase_a, phase_b, phase_out: phi in radians. `phase_out` is NaN if other units come in
            between.
        amplitude_a, amplitude_b, amplitude_out: alpha and gamma. `amplitude_out` is NaN if other
            units come in between.
        fit: R² of the wave.
        product_share: share of the variance in product terms.
        active: False for silent units, which means leave out.

    Example:
        >>> from algophase import handmade_pizza, neurons
        >>> units = neurons(handmade_pizza(23, (1, 5)))
        >>> units
        <Neurons: 184 units at frequencies 1, 5; mean R² 1.0000, resultant 1.0000>
        >>> round(float(units.amplitude_a[0]), 6), round(units.quadrature[0].sum_error, 3)
        (1.0, 0.001)
    """

    mean_fit: float
    resultant: float
    quadrature: tuple[Quadrature, ...]
    frequency: np.typing.NDArray[np.int64]
    phase_a: Array
    phase_b: Array
    phase_out: Array
    amplitude_a: Array
    amplitude_b: Array
    amplitude_out: Array
    fit: Array
    product_share: Array
    active: np.typing.NDArray[np.bool_]

    def __repr__(self) -> str:
        in_use = np.unique(self.frequency[self.active]).tolist()
        frequencies = ", ".join(map(str, in_use))
        numbers = f"mean R² {self.mean_fit:.4f}, resultant {self.resultant:.4f}"
        return f"<Neurons: {len(self.frequency)} units at frequencies {frequencies}; {numbers}>"

    def columns(self) -> Mapping[str, Array]:
        """One array per quantity, as `pandas.DataFrame` takes them."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def to_dict(self) -> dict[str, Any]:
        """JSON values, null for what is undefined."""
        record: dict[str, Any] = to_record(self)
        return record


def neurons(network: Network, device: torch.device | str = "cpu") -> Neurons:
    """Fit a wave to every unit of the first hidden layer, and a numerical integral to every
    cluster.

    It reads the first hidden layer: of a transformer at the last position, of a linear model L_1.

    Arguments:
        network: a transformer or a linear model.
        device: where to compute.

    Returns:
        `Neurons`: `frequency`, phases, amplitudes and `fit` (R²), each an array (units,), and
        `quadrature`, the account of each cluster.

    Raises:
        InputError: the network has no hidden layer that can be read.

    Example:
        >>> from algophase import handmade_pizza
        >>> neurons(handmade_pizza(23, (4,))).frequency[:3].tolist()
        [4, 4, 4]
    """
    return neurons_of(subject_with_units(network, device))


@torch.no_grad()
def neurons_of(subject: Subject) -> Neurons:
    """`neurons` of a network under measurement that has hidden units."""
    p, layer = subject.modulus, subject.hidden_layer
    pre, units = subject.pre_activations, subject.units
    assert layer is not None
    assert pre is not None
    assert units is not None
    waves = np.stack([units.first, units.second, units.writes])
    # From orthonormal waves to cosines: those of an operand are constant along the other. At p / 2
    # a cosine is twice as large.
    scale = np.sqrt(wave_counts(p)[units.frequency - 1] / p)
    sizes = np.sqrt(np.square(waves).sum(axis=1)) * scale
    sizes[:2] /= math.sqrt(p)
    products = np.square(units.product).sum(axis=(0, 1))
    with np.errstate(invalid="ignore"):
        fit = units.additive / units.variance
        product_share = products / units.variance
    phases = units.phases
    quadrature = list[Quadrature]()
    if subject.readout is not None:
        quadrature = _quadratures(units, sizes, layer.activation(pre))
    return Neurons(
        frequency=units.frequency,
        phase_a=phases[0],
        phase_b=phases[1],
        phase_out=phases[2],
        amplitude_a=sizes[0],
        amplitude_b=sizes[1],
        amplitude_out=sizes[2],
        fit=fit,
        product_share=product_share,
        active=units.active,
        mean_fit=units.means.fit,
        resultant=units.means.resultant,
        quadrature=tuple(quadrature),
    )


def _quadratures(units: Units, sizes: Array, post: Tensor) -> list[Quadrature]:
    """Of each cluster, the largest first. sizes: alpha_a, alpha_b and gamma of all units, (3, m);
    post: their activations, (p * p, m).
    """
    p = units.modulus
    phases = torch.from_numpy(units.phases).to(post.device)
    amplitudes = torch.from_numpy(sizes).to(post.device)
    quadratures = []
    for frequency, in_cluster in units.large_clusters.items():
        if waves_at(p, frequency) == 1:
            continue  # a wave of two points has no phase
        members = torch.from_numpy(in_cluster).to(post.device)
        waves = phases[:, members], amplitudes[:, members]
        quadratures.append(_quadrature(p, frequency, *waves, post[:, members]))
    return quadratures


def _quadrature(
    p: int, frequency: int, phases: Tensor, amplitudes: Tensor, post: Tensor
) -> Quadrature:
    """Of one cluster: phases and amplitudes in a, b and c, (3, units), and activations (p * p,
    units).

    What a cluster writes at its frequency is Re e^{i w c} z(a, b): all is compared in z, (p, p).
    """
    phi_a, phi_b, phi_c = phases
    alpha_a, alpha_b, gamma = amplitudes
    numbers = torch.arange(p, device=post.device, dtype=torch.float64)
    angle = 2 * math.pi * frequency / p * numbers
    of_a = alpha_a * (angle[:, None] + phi_a).cos()  # (a, units)
    of_b = alpha_b * (angle[:, None] + phi_b).cos()  # (b, units)
    reads = of_a[:, None] + of_b  # (a, b, units)
    writes = torch.polar(gamma, phi_c)
    # K and the integral, as above
    amplitude = 2 / (3 * math.pi) * (gamma * (alpha_a + alpha_b) / 2).sum()
    half = (angle[:, None] - angle) / 2
    integral = torch.polar(amplitude * half.cos().abs(), -(angle[:, None] + angle))
    ideal = _written(reads.relu().flatten(0, 1), writes, p)
    real = _written(post, writes, p)
    norm = integral.abs().square().sum()
    along = (integral.conj() * real).real.sum()
    return Quadrature(
        frequency=frequency,
        units=phases.shape[1],
        amplitude=amplitude.item(),
        sum_error=((ideal - integral).abs().square().sum() / norm).sqrt().item(),
        error=((real - integral).abs().square().sum() / norm).sqrt().item(),
        gain=(along / norm).item(),
        shape=(along.square() / (norm * real.abs().square().sum())).item(),
    )


def _written(activations: Tensor, writes: Tensor, p: int) -> Tensor:
    """z(a, b), (p, p), of activations (p * p, units), without its mean."""
    z = (activations.to(writes.dtype) @ writes).view(p, p)
    return z - z.mean()
