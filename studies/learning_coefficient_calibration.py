"""Is the estimate of the learning coefficient right, where the coefficient is known? On square
networks, by the sampler and the rules of `algophase llc`.

    python studies/learning_coefficient_calibration.py         # docs/images/llc-calibration.png
    python studies/learning_coefficient_calibration.py quick   # small networks, a minute

A square network with K hidden units is f(a, b) = sum_k c_k (u_k(a) + v_k(b))^2, with p outputs. It
has 3 p parameters per unit. Its loss, half the squared distance to the outputs of a network with K
random units, is 0 where the two are the same. Two directions per unit change nothing:
(u, v, c) -> (t u, t v, c / t^2), and (u, v) -> (u + t, v - t). All others are a bowl, so that the
coefficient is K (3 p - 2) / 2. Cullen 2026 (arXiv 2603.01192) has K (3 p - 1) / 2, without the
second direction: right for inputs that span 2 p dimensions, which pairs of one-hot tokens do not.
At p = 53 the two differ by 0.6%.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy
import torch
from torch import Tensor

from algophase.analysis.hidden._langevin import (
    Floats,
    langevin,
    rise_by_chain,
    split_r_hat,
    student_interval,
)
from algophase.analysis.hidden._plateau import AS_ASKED, Dynamics, plateau_warnings
from algophase.analysis.hidden.learning_coefficient import MOST_R_HAT
from algophase.core.palette import COLORS, GRAY
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "llc-calibration.png"
CHAINS = 4


@dataclass(frozen=True)
class Arm:
    """A way to sample. temperature: in units of log n; a step and a localization of 1 fit the
    curvature of these networks."""

    name: str
    localization: float = 1.0
    step: float = 1.0
    temperature: float = 1.0
    burn_in: int = 1000
    draws: int = 1500


ARMS = (
    Arm("as it should be"),
    Arm("localization times 10", localization=10.0),
    Arm("localization times 100", localization=100.0),
    Arm("localization times 1000", localization=1000.0),
    Arm("step times 3", step=3.0),
    Arm("step times 10", step=10.0),
    Arm("no burn-in, 60 draws", burn_in=0, draws=60),
    Arm("temperature times 30", temperature=30.0),
)


class SquareNetworks:
    """Chains of one square network: `points` (chains, K * 3 p), and the loss against the weights at
    which all of them begin.

    With q the squared sums of both networks' units at all pairs and r their read-outs, the second
    network's with a minus, the outputs differ by r^T q. The loss is trace((r r^T) (q q^T)) / (2
    p^2): the outputs themselves are not needed.
    """

    def __init__(self, modulus: int, units: int, seed: int, chains: int = CHAINS) -> None:
        self.modulus, self.units = modulus, units
        random = torch.Generator().manual_seed(seed)
        truth = torch.randn(units, 3, modulus, generator=random, dtype=torch.float64)
        self.points = truth.flatten().repeat(chains, 1)
        first, second, readout = truth.unbind(dim=1)
        sums = first[:, :, None] + second[:, None, :]
        self.true_squares = sums.square().flatten(1).expand(chains, -1, -1)
        self.true_readout = -readout.expand(chains, -1, -1)

    @property
    def known(self) -> float:
        return self.units * (3 * self.modulus - 2) / 2

    def loss_and_gradient(self) -> tuple[Tensor, Tensor]:
        """(chains,) and (chains, K * 3 p), over all p^2 pairs."""
        pairs = self.modulus**2
        units = self.units
        weights = self.points.unflatten(1, (units, 3, self.modulus))
        first, second, own_readout = weights.unbind(dim=2)  # (chains, K, p) each
        sums = first[..., :, None] + second[..., None, :]
        squares = torch.cat([sums.square().flatten(2), self.true_squares], dim=1)
        readout = torch.cat([own_readout, self.true_readout], dim=1)
        readout_products = readout @ readout.mT
        square_products = squares @ squares.mT
        loss = (readout_products * square_products).sum(dim=(1, 2)) / (2 * pairs)

        to_readout = (square_products[:, :units] @ readout) / pairs
        to_squares = (readout_products[:, :units] @ squares) / pairs
        to_sums = 2 * sums * to_squares.view_as(sums)
        gradient = torch.stack([to_sums.sum(dim=3), to_sums.sum(dim=2), to_readout], dim=2)
        return loss, gradient.flatten(1)


def sample(modulus: int, units: int, arm: Arm, seed: int) -> tuple[float, list[str]]:
    """The estimate, and why `llc` would print none."""
    samples = modulus**2
    pull = samples / math.log(samples) / arm.temperature
    # The largest curvature is that of the read-out: 8 + 4 K for weights of size 1.
    step = 0.15 / (samples / math.log(samples) * (8 + 4 * units))
    asked = Dynamics(pull, arm.localization, arm.step * step)
    estimates: dict[str, float] = {}
    traces: dict[str, Floats] = {}
    for setting, dynamics in asked.halvings().items():
        networks = SquareNetworks(modulus, units, seed)
        trace = langevin(
            networks.points,
            networks.loss_and_gradient,
            **vars(dynamics),
            steps=arm.burn_in + arm.draws,
            seed=seed,
        )
        traces[setting] = trace
        estimates[setting] = float(rise_by_chain(trace, arm.burn_in, dynamics.pull).mean())
    return estimates[AS_ASKED], reasons(estimates, traces[AS_ASKED], arm.burn_in, pull)


def reasons(estimates: Mapping[str, float], trace: Floats, burn_in: int, pull: float) -> list[str]:
    """The rules of `llc` that do not speak of accuracy or distance."""
    if not math.isfinite(estimates[AS_ASKED]):
        return ["a chain diverged"]
    warnings = []
    r_hat = split_r_hat(trace[:, burn_in:])
    if not r_hat < MOST_R_HAT:
        warnings.append(f"R-hat {r_hat:.2f}")
    interval = student_interval(rise_by_chain(trace, burn_in, pull))
    return warnings + plateau_warnings(estimates, interval)


def slope_through_zero(
    known: Sequence[float] | Floats, estimates: Sequence[float] | Floats
) -> tuple[float, float]:
    """Least squares of estimate against truth, and its standard error."""
    x = numpy.array(known)
    y = numpy.array(estimates)
    slope = float(x @ y / (x @ x))
    rest = y - slope * x
    error = math.sqrt(float(rest @ rest) / max(1, len(x) - 1) / float(x @ x))
    return slope, error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["quick"])
    parser.add_argument("--picture", type=Path, default=PICTURE)
    options = parser.parse_args()
    moduli = (53, 61, 71)
    unit_counts = (2, 4, 8)
    if options.what == "quick":
        moduli = (11, 13, 17)
        unit_counts = (1, 2, 3)
    printed: dict[str, list[tuple[float, float]]] = {"printed": [], "refused": []}
    for arm in ARMS:
        known, estimates = [], []
        refusals = []
        for modulus, units in product(moduli, unit_counts):
            value, why = sample(modulus, units, arm, seed=modulus + units)
            truth = SquareNetworks(modulus, units, seed=0).known
            printed["refused" if why else "printed"].append((truth, value))
            known.append(truth)
            estimates.append(value)
            if why:
                refusals.append("; ".join(why))
        slope, error = slope_through_zero(known, estimates)
        fitted = f"slope {slope:.3f} +- {error:.3f} over {len(known)} networks"
        refused = ": ".join([f"{len(refusals)} refused", *refusals[:1]])
        print(f"{arm.name}: {fitted}, {refused}", flush=True)
    accepted = numpy.array(printed["printed"])
    slope, error = slope_through_zero(accepted[:, 0], accepted[:, 1])
    worst = float(numpy.abs(accepted[:, 1] / accepted[:, 0] - 1).max())
    print(
        f"all {len(accepted)} that `llc` would print: slope {slope:.3f} +- {error:.3f}, "
        f"worst off by {worst:.1%}"
    )
    off = numpy.array([value / truth - 1 for truth, value in printed["refused"]])
    within = int((numpy.abs(off) <= 0.1).sum())
    print(f"of {len(off)} refused, {within} are within 10% of the truth")
    draw(printed, options.picture)


def draw(points: Mapping[str, Sequence[tuple[float, float]]], picture: Path) -> None:
    with house_style():
        figure = new_figure(4.8, 3.4)
        axes = figure.subplots()
        for name, marker, color in (("refused", "x", GRAY), ("printed", "o", COLORS[0])):
            known, values = numpy.array(points[name]).T
            axes.plot(known, values / known, marker, color=color, label=name, markersize=4)
        axes.axhspan(0.9, 1.1, color="0.92", zorder=0)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set(xlabel="known learning coefficient K(3p - 2)/2", ylabel="estimate over truth")
        axes.legend(frameon=False)
        print(save_figure(figure, picture))


if __name__ == "__main__":
    main()
