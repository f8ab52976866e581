"""The local learning coefficient of trained networks (Lau et al., arXiv 2308.12108): how many
directions of the weights change the loss.

    coefficient = n beta (mean of L(w) - L(w*)),  w near w* drawn from exp(-n beta L(w) -
    localization/2 |w - w*|^2)

with L the mean loss over n pairs, w* the trained weights and beta = 1 / log n. Half the number of
parameters where the loss is a bowl; less where it is flat or singular. Chains are networks of one
ensemble, and an engine gives loss and gradient of all.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.hidden._langevin import Floats, langevin, split_r_hat
from algophase.core.errors import InputError
from algophase.core.progress import Bar
from algophase.core.settings import RunSettings, check_number, shown, trained_kinds
from algophase.core.task import split
from algophase.networks import Network
from algophase.pictures.to_matplotlib import draw
from algophase.pictures.traces import TracePicture, trace_figure
from algophase.record.codec import UNRECORDED
from algophase.record.layout import to_record
from algophase.training.run.plan import PlannedEnsemble, plan
from algophase.training.run.turns import threads_for

if TYPE_CHECKING:
    from algophase.pictures.style import Figure

PAIRS = ("training", "all")
MOST_R_HAT = 1.1  # the usual line


@dataclass(frozen=True)
class Sampling:
    """How chains are drawn around the trained weights.

    Arguments:
        chains: number of chains, at least 2.
        burn_in: steps left out at the start of each chain.
        draws: steps kept after that.
        step: step size of the Langevin dynamics.
        localization: how strongly a chain is pulled back to the trained weights.
        inverse_temperature: None for 1 / log n, with n pairs.
        pairs: "training" for the pairs that the network was trained on, or "all".
        seed: another seed draws other chains.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> from algophase import Sampling
        >>> Sampling(draws=1000).steps
        1200
    """

    chains: int = 4
    burn_in: int = 200
    draws: int = 400
    step: float = 1e-4
    localization: float = 1000.0
    inverse_temperature: float | None = None
    pairs: str = "training"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("chains", 2), ("burn_in", 0), ("draws", 4), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(
                    f"{name} is {shown(value)}; it must be an integer of at least {least}"
                )
        check_number("step", self.step, 0, math.inf, open_low=True)
        check_number("localization", self.localization, 0, math.inf)
        if self.inverse_temperature is not None:
            check_number(
                "inverse_temperature", self.inverse_temperature, 0, math.inf, open_low=True
            )
        if self.step * self.localization >= 4:  # then a step back overshoots by more than it goes
            most = f"below {4 / self.step:g} with step {self.step:g}"
            raise InputError(
                f"localization is {self.localization:g}; it must be {most}, or chains diverge"
            )
        if self.pairs not in PAIRS:
            raise InputError(f"pairs is {shown(self.pairs)}; choose one of {', '.join(PAIRS)}")

    @property
    def steps(self) -> int:
        """Steps of a chain: burn-in and draws."""
        return self.burn_in + self.draws


@dataclass(frozen=True)
class LearningCoefficient:
    """A network's local learning coefficient, estimated from several chains.

    Attributes:
        id: the network's name.
        value: the estimate: the mean over chains.
        interval: its 95% interval, from how chains differ (Student's t).
        by_chain: the estimate of each chain.
        sampling: how the chains were drawn.
        samples: n, the number of pairs.
        beta: the inverse temperature.
        loss: L(w*), the loss of the trained weights.
        r_hat: 1 where chains agree and do not drift.
        distance: how far chains end from w*, relative to its norm.
        warnings: why not to trust the estimate.
        engine, device, precision: what computed the loss and its gradient.
        trace: the loss along each chain from w* on, (chains, steps).

    Example:
        >>> from algophase import RunSettings, Sampling, TaskSettings, TransformerSettings
        >>> from algophase import initialize, learning_coefficient
        >>> untrained = initialize(RunSettings(TaskSettings(7), TransformerSettings(8)))
        >>> sampling = Sampling(burn_in=20, draws=20)
        >>> coefficient = learning_coefficient(untrained, sampling, device="cpu")
        >>> low, high = coefficient.interval
        >>> len(coefficient.by_chain), low <= coefficient.value <= high
        (4, True)
    """

    id: str
    value: float
    interval: tuple[float, float]
    by_chain: tuple[float, ...]
    sampling: Sampling
    samples: int
    beta: float
    loss: float
    r_hat: float
    distance: float
    warnings: tuple[str, ...]
    engine: str
    device: str
    precision: str
    trace: Floats = field(repr=False, compare=False, metadata=UNRECORDED)

    def __repr__(self) -> str:
        return f"<LearningCoefficient of {self.id}: {self}>"

    def __str__(self) -> str:
        low, high = self.interval
        doubt = f"; unreliable: {'; '.join(self.warnings)}" if self.warnings else ""
        return f"{self.value:.1f} [{low:.1f}, {high:.1f}] over {self.sampling.chains} chains{doubt}"

    def to_dict(self) -> dict[str, Any]:
        """The estimate as data, without the trace; None for numbers that are undefined."""
        record: dict[str, Any] = to_record(self)
        return record

    def picture(self) -> TracePicture:
        """The numbers that `plot` draws."""
        rise = self.samples * self.beta * (self.trace - self.loss)
        return TracePicture(self.id, rise, self.sampling.burn_in, self.value, self.interval)

    def plot(self) -> "Figure":
        """Draw every chain's estimate, step by step, as a Matplotlib figure."""
        return draw(trace_figure([self.picture()]))


def learning_coefficient(
    network: Network, sampling: Sampling | None = None, **options: Any
) -> LearningCoefficient:
    """Estimate the local learning coefficient of one network.

    Arguments:
        network: the trained network.
        sampling: how chains are drawn; by default `Sampling()`.
        options: `engine`, `device`, `precision` and `progress`, as for `learning_coefficients`.

    Returns:
        A `LearningCoefficient`: `value`, its 95% `interval`, and `warnings` if the chains do not
        agree.

    Raises:
        InputError: the network is not of a kind that is trained here, or its training pairs are
            unknown.

    Example:
        >>> from algophase import RunSettings, Sampling, TaskSettings, TransformerSettings
        >>> from algophase import initialize, learning_coefficient
        >>> network = initialize(RunSettings(TaskSettings(7), TransformerSettings(8)))
        >>> sampling = Sampling(burn_in=20, draws=20)
        >>> coefficient = learning_coefficient(network, sampling, device="cpu")
        >>> coefficient.samples, coefficient.trace.shape
        (39, (4, 40))
    """
    (coefficient,) = learning_coefficients([network], sampling, **options)
    return coefficient


def learning_coefficients(
    networks: Sequence[Network],
    sampling: Sampling | None = None,
    *,
    engine: str = "auto",
    device: torch.device | str = "auto",
    precision: str | None = None,
    progress: bool | None = None,
) -> list[LearningCoefficient]:
    """Estimate the local learning coefficients of many networks, all chains together.

    Arguments:
        networks: the trained networks.
        sampling: how chains are drawn; by default `Sampling()`.
        engine, device, precision: as for `train`.
        progress: False shows no bar.

    Returns:
        One `LearningCoefficient` per network, in the order given.

    Raises:
        InputError: a network is not of a kind that is trained here, or its training pairs are
            unknown.

    Example:
        >>> from algophase import RunSettings, Sampling, TaskSettings, TransformerSettings
        >>> from algophase import initialize, learning_coefficients
        >>> settings = TaskSettings(7), TransformerSettings(8)
        >>> networks = [initialize(RunSettings(*settings, seed=seed)) for seed in (0, 1)]
        >>> coefficients = learning_coefficients(networks, Sampling(2, 5, 9))
        >>> [coefficient.id for coefficient in coefficients] == [network.id for network in networks]
        True
    """
    sampling = sampling or Sampling()
    runs = [_run_of(network, sampling.pairs) for network in networks]
    # One row per chain: those of the first network, then those of the second, and so on.
    chains = sampling.chains
    rows = len(networks) * chains
    groups = plan([runs[row // chains] for row in range(rows)], engine, device, precision)
    traces, distances = np.empty((rows, sampling.steps)), np.empty(rows)
    group_of_row = [groups[0]] * rows
    all_steps = sampling.steps * len(groups)
    with Bar(progress) as bar:
        for number, group in enumerate(groups):
            members = list(group.indices)
            of_members = [networks[row // chains] for row in members]
            show = functools.partial(_show, bar, all_steps, number * sampling.steps)
            seed = sampling.seed + members[0]
            sampled = _sample(group, of_members, sampling, seed, show)
            traces[members], distances[members] = sampled
            for row in members:
                group_of_row[row] = group
    coefficients = []
    for number, (network, run) in enumerate(zip(networks, runs, strict=True)):
        first = number * chains
        own = slice(first, first + chains)
        distance = float(distances[own].mean())
        coefficients.append(
            _result(network, run, sampling, traces[own], distance, group_of_row[first])
        )
    return coefficients


def _show(bar: Bar, all_steps: int, steps_before: int, steps: int) -> None:
    bar.count("sampling", steps_before + steps, all_steps)


def _run_of(network: Network, pairs: str) -> RunSettings:
    """The run whose pairs are the data, in the network's own split or all of them."""
    if not network.settings.trained:
        choices = ", ".join(trained_kinds())
        raise InputError(
            f"network {network.id} is of kind {network.settings.kind}; choose one of {choices}"
        )
    if pairs == "all":
        return RunSettings(replace(network.task, training_fraction=1.0), network.settings)
    if network.run is None:
        raise InputError(
            f'network {network.id} does not say which pairs it was trained on; use pairs="all"'
        )
    return network.run


@torch.no_grad()
def _sample(
    group: PlannedEnsemble,
    networks: Sequence[Network],
    sampling: Sampling,
    seed: int,
    progress: Callable[[int], None],
) -> tuple[Floats, Floats]:
    """Traces (chains, steps) and distances (chains,) of one ensemble, a network per chain."""
    on_gpu = group.device.type == "cuda"
    with threads_for(group), torch.cuda.device(group.device) if on_gpu else nullcontext():
        engine = group.engine_class(list(group.runs), group.device, group.precision)
        weights = [dict(network.named_parameters()) for network in networks]
        engine.put([_ones_like(own) for own in weights])
        points = engine.parameters.flat
        free = points.clone()  # padding is zero and must stay so
        engine.put(weights)
        center = points.clone()
        n = len(split(group.runs[0].task, group.runs[0].seed).training)
        trace = langevin(
            points,
            lambda: (engine.loss_and_gradient(), engine.gradients.flat),
            pull=n * _beta(sampling, n),
            localization=sampling.localization,
            step=sampling.step,
            steps=sampling.steps,
            seed=seed,
            free=free,
            progress=progress,
        )
        distance = (points - center).norm(dim=1) / center.norm(dim=1)
        return trace, np.asarray(distance.double().cpu().numpy())


def _ones_like(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.ones_like(value) for name, value in weights.items()}


def _beta(sampling: Sampling, samples: int) -> float:
    if sampling.inverse_temperature is not None:
        return sampling.inverse_temperature
    return 1 / math.log(max(samples, 2))


def _result(
    network: Network,
    run: RunSettings,
    sampling: Sampling,
    trace: Floats,
    distance: float,
    group: PlannedEnsemble,
) -> LearningCoefficient:
    from scipy.stats import t

    n = len(split(run.task, run.seed).training)
    beta = _beta(sampling, n)
    loss = float(trace[0, 0])
    kept = trace[:, sampling.burn_in :]
    by_chain = n * beta * (kept.mean(axis=1) - loss)
    value = float(by_chain.mean())
    chains = len(by_chain)
    quantile = float(t.ppf(0.975, chains - 1))
    reach = quantile * float(by_chain.std(ddof=1)) / math.sqrt(chains)
    r_hat = split_r_hat(kept)
    return LearningCoefficient(
        id=network.id,
        value=value,
        interval=(value - reach, value + reach),
        by_chain=tuple(by_chain.tolist()),
        sampling=sampling,
        samples=n,
        beta=beta,
        loss=loss,
        r_hat=r_hat,
        distance=distance,
        warnings=tuple(_warnings(value, r_hat, distance, float(kept.mean()), network.task.modulus)),
        engine=group.engine,
        device=str(group.device),
        precision=group.precision,
        trace=trace,
    )


def _warnings(value: float, r_hat: float, distance: float, loss: float, modulus: int) -> list[str]:
    if not math.isfinite(value):
        return ["a chain diverged: choose a smaller step"]
    warnings = []
    if loss > math.log(modulus):
        warnings.append(
            f"chains left the network: their loss is {loss:.2f}, and that of guessing "
            f"{math.log(modulus):.2f}"
        )
    elif distance > 1:
        warnings.append(
            f"chains left the network: they end {distance:.1f} times its length away; choose "
            "more localization"
        )
    if value < 0:
        warnings.append(
            "it is negative: chains found lower losses than the network's, which is not at a "
            "minimum"
        )
    if not r_hat < MOST_R_HAT:
        warnings.append(f"R-hat {r_hat:.2f} (should be at most {MOST_R_HAT:g}); increase --burn-in")
    return warnings
