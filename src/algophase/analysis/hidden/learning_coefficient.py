"""The local learning coefficient of trained networks (Lau et al., arXiv 2308.12108): how many
directions of the weights change the loss.

    coefficient = n beta (mean of L(w) - L(w*)),  w near w* drawn from exp(-n beta L(w) -
    localization/2 |w - w*|^2)

with L the mean loss over n pairs, w* the trained weights and beta = 1 / log n. Half the number of
parameters where the loss is a bowl; less where it is flat or singular. Chains are networks of one
ensemble, and an engine gives loss and gradient of all.

An estimate that depends on how it was sampled is none. So every network is sampled again with half
the localization, half the inverse temperature and half the step (`_plateau`). Where that changes
the estimate, it is refused. On square networks, whose coefficient is known, what is left is within
10% of it (studies/learning_coefficient_calibration.py).
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

from algophase.analysis.hidden._langevin import (
    Floats,
    langevin,
    rise_by_chain,
    split_r_hat,
    student_interval,
)
from algophase.analysis.hidden._plateau import AS_ASKED, Dynamics, plateau_warnings
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
        plateau: whether to sample again with half of each setting, which takes four times as long.
            An estimate without it has a warning.

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
    plateau: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.plateau, bool):
            raise InputError(f"plateau is {shown(self.plateau)}; it must be True or False")
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

    def beta(self, samples: int) -> float:
        """The inverse temperature.

        Arguments:
            samples: n, the number of pairs.

        Returns:
            The one given, or 1 / log n.
        """
        if self.inverse_temperature is not None:
            return self.inverse_temperature
        return 1 / math.log(max(samples, 2))

    def dynamics(self, samples: int) -> dict[str, Dynamics]:
        """What chains are drawn with.

        Arguments:
            samples: n, the number of pairs.

        Returns:
            By name: as asked and, unless `plateau` is False, with half of each setting in turn.
        """
        asked = Dynamics(samples * self.beta(samples), self.localization, self.step)
        return asked.halvings() if self.plateau else {AS_ASKED: asked}


@dataclass(frozen=True)
class LearningCoefficient:
    """A network's local learning coefficient, estimated from several chains.

    Attributes:
        id: the network's name.
        value: the estimate: the mean over chains. With warnings, it is no learning coefficient:
            `str` and `to_dict` leave it out.
        interval: its 95% interval, from how chains differ (Student's t).
        by_chain: the estimate of each chain.
        sampling: how the chains were drawn.
        samples: n, the number of pairs.
        beta: the inverse temperature.
        loss: L(w*), the loss of the trained weights.
        r_hat: 1 where chains agree and do not drift.
        distance: how far chains end from w*, relative to its norm.
        estimates: the estimate as asked, and with half of each setting.
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
    estimates: Mapping[str, float]
    warnings: tuple[str, ...]
    engine: str
    device: str
    precision: str
    trace: Floats = field(repr=False, compare=False, metadata=UNRECORDED)

    def __repr__(self) -> str:
        return f"<LearningCoefficient of {self.id}: {self}>"

    def __str__(self) -> str:
        if not self.trusted:
            return f"no estimate: {'; '.join(self.warnings)}"
        low, high = self.interval
        return f"{self.value:.1f} [{low:.1f}, {high:.1f}] over {self.sampling.chains} chains"

    @property
    def trusted(self) -> bool:
        """Whether there is no warning."""
        return not self.warnings

    def to_dict(self) -> dict[str, Any]:
        """The estimate as data, without the trace; None for numbers that are undefined, and for
        the value and its interval where there is a warning."""
        record: dict[str, Any] = to_record(self)
        record["trusted"] = self.trusted
        if not self.trusted:
            record["value"] = None
            record["interval"] = None
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
        A `LearningCoefficient`: `value`, its 95% `interval`, and `warnings` if it cannot be
        trusted.

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
    settings = list(sampling.dynamics(samples=2))
    all_steps = len(settings) * len(groups) * sampling.steps
    traces = {}
    distances = {}
    with Bar(progress) as bar:
        steps_before = 0
        for setting in settings:
            show = functools.partial(_show, bar, all_steps, steps_before)
            sampled = _sample_all(groups, networks, sampling, setting, show)
            traces[setting], distances[setting] = sampled
            steps_before += len(groups) * sampling.steps
    group_of_row = {row: group for group in groups for row in group.indices}
    coefficients = []
    for number, (network, run) in enumerate(zip(networks, runs, strict=True)):
        first = number * chains
        own = slice(first, first + chains)
        own_traces = {setting: trace[own] for setting, trace in traces.items()}
        distance = float(distances[AS_ASKED][own].mean())
        group = group_of_row[first]
        coefficients.append(_result(network, run, sampling, own_traces, distance, group))
    return coefficients


def _sample_all(
    groups: Sequence[PlannedEnsemble],
    networks: Sequence[Network],
    sampling: Sampling,
    setting: str,
    progress: Callable[[int], None],
) -> tuple[Floats, Floats]:
    """Traces (rows, steps) and distances (rows,), with `chains` rows per network."""
    rows = len(networks) * sampling.chains
    traces = np.empty((rows, sampling.steps))
    distances = np.empty(rows)
    for number, group in enumerate(groups):
        members = list(group.indices)
        of_members = [networks[row // sampling.chains] for row in members]
        show = functools.partial(_after, progress, number * sampling.steps)
        # The same noise with every setting: estimates then differ by what the setting does.
        seed = sampling.seed + members[0]
        sampled = _sample(group, of_members, sampling, setting, seed, show)
        traces[members], distances[members] = sampled
    return traces, distances


def _after(progress: Callable[[int], None], steps_before: int, steps: int) -> None:
    progress(steps_before + steps)


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
    setting: str,
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
            **vars(sampling.dynamics(n)[setting]),
            steps=sampling.steps,
            seed=seed,
            free=free,
            progress=progress,
        )
        distance = (points - center).norm(dim=1) / center.norm(dim=1)
        return trace, np.asarray(distance.double().cpu().numpy())


def _ones_like(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.ones_like(value) for name, value in weights.items()}


def _result(
    network: Network,
    run: RunSettings,
    sampling: Sampling,
    traces: Mapping[str, Floats],
    distance: float,
    group: PlannedEnsemble,
) -> LearningCoefficient:
    n = len(split(run.task, run.seed).training)
    trace = traces[AS_ASKED]
    by_setting = {}
    for setting, dynamics in sampling.dynamics(n).items():
        rise = rise_by_chain(traces[setting], sampling.burn_in, dynamics.pull)
        by_setting[setting] = rise
    by_chain = by_setting[AS_ASKED]
    estimates = {setting: float(values.mean()) for setting, values in by_setting.items()}
    value = estimates[AS_ASKED]
    interval = student_interval(by_chain)
    kept = trace[:, sampling.burn_in :]
    r_hat = split_r_hat(kept)
    warnings = _warnings(value, r_hat, distance, float(kept.mean()), network.task.modulus)
    if not warnings:
        warnings = plateau_warnings(estimates, interval)
    return LearningCoefficient(
        id=network.id,
        value=value,
        interval=interval,
        by_chain=tuple(by_chain.tolist()),
        sampling=sampling,
        samples=n,
        beta=sampling.beta(n),
        loss=float(trace[0, 0]),
        r_hat=r_hat,
        distance=distance,
        estimates=estimates,
        warnings=tuple(warnings),
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
