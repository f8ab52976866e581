"""Langevin dynamics around trained weights: many chains at once on any loss, and what their traces
say.

    w <- w - step/2 (pull grad L(w) + localization (w - w*)) + N(0, step)

samples exp(-pull L(w) - localization/2 |w - w*|^2) up to an error that vanishes with the step.
Losses are of the full batch and no step is rejected.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Floats = np.typing.NDArray[np.float64]


@torch.no_grad()
def langevin(
    points: Tensor,
    loss_and_gradient: Callable[[], tuple[Tensor, Tensor]],
    *,
    pull: float,
    localization: float,
    step: float,
    steps: int,
    seed: int = 0,
    free: Tensor | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Floats:
    """Move points (chains, size) from where they are, in place, and return their losses (chains,
    steps), the start's first.

    loss_and_gradient: (chains,) and (chains, size) at the points as they are. free: 1 where a
        number may move, 0 where it is padding. progress: called with the number of steps made.
    """
    center = points.clone()
    noise = torch.empty_like(points)
    random = torch.Generator(points.device).manual_seed(seed)
    trace = torch.empty(steps, len(points), dtype=torch.float64, device=points.device)
    for number in range(steps):
        with torch.enable_grad():  # for engines that differentiate by autograd
            loss, gradient = loss_and_gradient()
        trace[number] = loss
        noise.normal_(generator=random)
        if free is not None:
            noise *= free
        points.lerp_(center, step * localization / 2)
        points.add_(gradient, alpha=-step * pull / 2)
        points.add_(noise, alpha=math.sqrt(step))
        progress(number + 1)
    return np.asarray(trace.T.cpu().numpy())


def split_r_hat(draws: Floats) -> float:
    """How far chains (chains, draws), each cut into halves, are from one distribution: 1 where they
    agree (Gelman et al. 2013).

    A chain that drifts has halves that differ, as much as two chains that have not met.
    """
    length = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :length], draws[:, length : 2 * length]])
    if length < 2:
        return math.nan
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if within <= 0:
        return math.nan
    return math.sqrt((length - 1) / length + between / within)


def rise_by_chain(trace: Floats, burn_in: int, pull: float) -> Floats:
    """The estimate of each chain (chains,): how far its loss is above the start's on average, after
    the burn-in, times n beta. trace: (chains, steps)."""
    start = float(trace[0, 0])
    estimates: Floats = pull * (trace[:, burn_in:].mean(axis=1) - start)
    return estimates


def student_interval(by_chain: Floats) -> tuple[float, float]:
    """The 95% interval of the mean, from how chains differ."""
    from scipy.stats import t

    chains = len(by_chain)
    quantile = float(t.ppf(0.975, chains - 1))
    value = float(by_chain.mean())
    reach = quantile * float(by_chain.std(ddof=1)) / math.sqrt(chains)
    return value - reach, value + reach
