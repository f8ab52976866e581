"""Per-parameter comparison of an engine's loss and gradient with `plain` in float64: no engine is
trusted before it.

A ReLU has no derivative at 0, and rounding decides on which side a pre-activation within it falls.
One such flip among N hidden values moves a gradient by about 1 / sqrt(N) of its norm, far more than
rounding itself (7e-4 at p = 59, width 128). So the cases here use, for each network, the first seed
that keeps its pre-activations away from 0 in float32, and TF32, which flips hundreds, is held
tightly with GELU and loosely with ReLU. A wrong formula, as opposed to rounding, moves a gradient
by far more than either.

Trained states (`training.states`) have their own tolerances: the network is what it is, kinks and
all. There a parameter's error is relative to its gradient's norm or to a thousandth of the whole
gradient's, whichever is larger, and the whole gradient's cosine with float64 counts too.

In any state and precision, what is larger than its tolerance is held against the network itself: it
may be twice what a change of the parameters by one rounding does to the exact gradient (`rounded`),
or to that of the specification with its arithmetic in that precision, as no engine can be nearer
(in float32 all of it, with eleven bits what enters a matrix product). Few networks need that
(docs/engines.md names them).
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from algophase.core.errors import InputError
from algophase.core.settings import (
    RunSettings,
)
from algophase.networks import initialize
from algophase.networks.stacking import stack_key
from algophase.training.check._states import Parameters, states
from algophase.training.check.cases import cases, chosen_cases
from algophase.training.engines.engine import PRECISIONS, Engine
from algophase.training.engines.plain import PlainEngine
from algophase.training.run.plan import distinct_engines

# Largest |g - g_plain| / |g_plain| of any parameter: (smooth activation, ReLU away from its kink,
# ReLU anywhere)
TOLERANCES = {
    "float64": (1e-11, 1e-11, 1e-11),
    "float32": (2e-5, 2e-5, 5e-3),
    "tf32": (1e-2, 5e-2, 5e-2),
    "half": (1e-2, 5e-2, 5e-2),
}
# The same in trained states, and the most that the whole gradient's cosine may lack of 1
TRAINED_TOLERANCES = {
    "float64": (1e-9, 1e-12),
    "float32": (5e-3, 1e-5),
    "tf32": (0.1, 1e-3),
    "half": (0.05, 5e-4),
}
# If more: WORTH times the most that WAYS roundings, of the parameters alone or of all that is
# multiplied too, do to the exact gradient. Late in training, with eleven bits, that is 0.3 at p =
# 59, widths 12 to 33, and 0.05 to 0.16 for the gallery's networks of width 128. One way may miss
# the hidden unit next to its kink that another turns over, so several are tried.
ELEVEN_BITS = ("tf32", "half")
WORTH = 2.0
WAYS = 8
SMALL_GRADIENT = 1e-3  # of the whole gradient's norm
KINK = 5e-7  # pre-activations closer to 0 than this, relative to their size, may flip in float32
MOST_SEEDS = 200
MOST_PROCESSES = 16


class Agreement(NamedTuple):
    """The parameter that agrees least, its relative error, and the lowest cosine of a whole
    gradient with float64's.
    """

    parameter: str
    error: float
    cosine: float

    def within(self, error: float, gap: float) -> bool:
        """Whether no error is larger, and no cosine lacks more of 1. NaN is not within anything."""
        return self.error <= error and 1 - self.cosine <= gap


@dataclass(frozen=True)
class Comparison:
    """One engine on one ensemble in one state."""

    engine: str
    device: str
    precision: str
    case: str
    state: str
    agreement: Agreement
    tolerance: float
    cosine_gap: float = float("inf")  # the most that the cosine may lack of 1
    sensitive: bool = (
        False  # the stated tolerances were exceeded, and the network's own sensitivity was measured
    )

    @property
    def passed(self) -> bool:
        return self.agreement.within(self.tolerance, self.cosine_gap)


class Expected(NamedTuple):
    """Loss and gradient of one network by the plain engine in float64."""

    loss: float
    gradient: dict[str, Tensor]


class Yardstick:
    """The exact gradients of some networks in any state. Each plain engine is built once."""

    def __init__(
        self, runs: Sequence[RunSettings], device: torch.device, precision: str = "float64"
    ) -> None:
        self.engines = [PlainEngine([run], device, precision) for run in runs]

    def at(self, state: Sequence[Parameters]) -> list[Expected]:
        exact = []
        for engine, values in zip(self.engines, state, strict=True):
            engine.put([values])
            loss = engine.loss_and_gradient().item()
            gradient = {name: value[0].clone() for name, value in engine.gradients.items()}
            exact.append(Expected(loss, gradient))
        return exact


def expected(
    runs: Sequence[RunSettings], device: torch.device, state: Sequence[Parameters] | None = None
) -> list[Expected]:
    """What every engine must find, for the networks' own starts or a state of theirs."""
    return Yardstick(runs, device).at(
        [dict(initialize(run).named_parameters()) for run in runs] if state is None else state
    )


def compare(
    engine_class: type[Engine],
    runs: Sequence[RunSettings],
    device: torch.device,
    precision: str,
    state: Sequence[Parameters] | None = None,
    exact: Sequence[Expected] | None = None,
) -> Agreement:
    """The least agreeing parameter of all networks of an ensemble; the loss counts as one. state:
    trained parameters, which are held less tightly where a gradient is small."""
    return compare_built(
        engine_class(list(runs), device, precision), state, exact or expected(runs, device, state)
    )


def compare_built(
    engine: Engine, state: Sequence[Parameters] | None, exact: Sequence[Expected]
) -> Agreement:
    """The same for an engine that is there. Without a state it must be at its start."""
    if state is not None:
        engine.put(state)
    losses = engine.loss_and_gradient()
    gradients = engine.export(engine.gradients)
    ours = [
        Expected(loss.item(), {name: value[i] for name, value in gradients.items()})
        for i, loss in enumerate(losses)
    ]
    return _agreement(ours, exact, trained=state is not None)


def _agreement(
    computed: Sequence[Expected], reference: Sequence[Expected], *, trained: bool
) -> Agreement:
    worst = 0.0
    where = "none"
    cosine = 1.0
    for (loss, gradient), exact in zip(computed, reference, strict=True):
        errors = {"loss": abs(loss - exact.loss) / exact.loss}
        whole = sum(value.norm().item() ** 2 for value in exact.gradient.values()) ** 0.5
        product = 0.0
        ours_squared = 0.0
        for name, right in exact.gradient.items():
            size = tuple(slice(0, length) for length in right.shape)
            ours = gradient[name].double()
            unpadded = ours[size]
            norm = max(right.norm().item(), SMALL_GRADIENT * whole if trained else 0.0)
            # a gradient that is exactly zero (queries under constant attention) must be exactly
            # zero here too
            errors[name] = (
                (unpadded - right).norm().item() / norm
                if norm > 0
                else (0.0 if not ours.any() else float("inf"))
            )
            padding = ours.norm().item() ** 2 - unpadded.norm().item() ** 2
            if padding > 1e-12 * max(norm, 1e-30) ** 2 and padding > 0:
                errors[f"{name} (padding)"] = float("inf")
            product += (unpadded * right).sum().item()
            ours_squared += unpadded.norm().item() ** 2
        for name, error in errors.items():
            if not error <= worst:  # NaN wins
                worst = error
                where = name
        similarity = (
            product / (whole * ours_squared**0.5)
            if whole > 0 and ours_squared > 0
            else float(whole == ours_squared)
        )
        if not similarity >= cosine:
            cosine = similarity
    return Agreement(where, worst, cosine)


def rounded(
    state: Sequence[Mapping[str, Tensor]], precision: str, way: int = 0
) -> list[Parameters]:
    """Parameters in float64, each changed by one rounding of a precision. With eleven bits they are
    rounded to nearest as multiples of 1, 8/9, 8/10, ...; in float32, whose numbers they are
    already, a random sign says which way they move."""
    random = torch.Generator().manual_seed(way)

    def changed(value: Tensor) -> Tensor:
        if precision in ELEVEN_BITS:
            return _eleven_bits(value.double(), way)
        sign = 2 * torch.randint(2, value.shape, generator=random).double() - 1
        return value.double() * (1 + 2.0**-24 * sign.to(value.device))

    return [{name: changed(value.detach()) for name, value in values.items()} for values in state]


def _eleven_bits(value: Tensor, way: int) -> Tensor:
    grid = 1 + way / WAYS
    mantissa, exponent = torch.frexp(value * grid)
    return torch.ldexp((mantissa * 2**11).round() / 2**11, exponent) / grid


class ElevenBitProducts(TorchDispatchMode):
    """While entered, both operands of every matrix product are rounded to eleven bits, forwards
    and backwards; sums are not.
    """

    PRODUCTS = frozenset(
        getattr(torch.ops.aten, name).default for name in ("mm", "bmm", "addmm", "baddbmm")
    )

    def __init__(self, way: int) -> None:
        super().__init__()
        self.way = way

    def __torch_dispatch__(
        self,
        operation: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if operation in self.PRODUCTS:
            args = (*args[:-2], *(_eleven_bits(operand, self.way) for operand in args[-2:]))
        return operation(*args, **(kwargs or {}))


def away_from_kinks(run: RunSettings) -> RunSettings:
    """The same run with the first seed, from its own on, whose hidden pre-activations all stay
    clear of 0.
    """
    for seed in range(run.seed, run.seed + MOST_SEEDS):
        candidate = replace(run, seed=seed)
        network = initialize(candidate).double()
        with torch.no_grad():
            _, cache = network.run_with_cache()
        hidden = [value for name, value in cache.items() if name.endswith("hook_pre")]
        if all(value.abs().min() > KINK * value.square().mean().sqrt() for value in hidden):
            return candidate
    raise InputError(
        f"no seed from {run.seed} to {run.seed + MOST_SEEDS - 1} keeps every pre-activation of "
        "this network off 0"
    )


def _smooth(run: RunSettings) -> bool:
    return bool(run.network.to_dict().get("activation") == "gelu")


def check(
    engines: Sequence[type[Engine]],
    device: torch.device,
    precisions: Sequence[str],
    chosen: Iterable[tuple[str, list[RunSettings]]],
) -> Iterator[Comparison]:
    """Every engine on every case it supports (`cases`), in every precision and state."""
    for case, ensemble in chosen:
        runs = [run if _smooth(run) else away_from_kinks(run) for run in ensemble]
        assert len({stack_key(run) for run in runs}) == 1
        able = [engine for engine in engines if engine.unsupported(runs[0], device) is None]
        ways = [
            (engine, precision)
            for engine in able
            for precision in precisions
            if precision in engine.precisions(device)
        ]
        if ways:
            build = partial(_built, ways, runs, device)
            yield from in_every_state(runs, device, build, case, off_kinks=True)


def _built(
    ways: Sequence[tuple[type[Engine], str]], runs: Sequence[RunSettings], device: torch.device
) -> list[Engine]:
    return [engine(runs, device, precision) for engine, precision in ways]


def check_all(device: torch.device, small: bool, only: Sequence[str] = ()) -> Iterator[Comparison]:
    """`check` of every engine, precision and case, or of cases with one of these texts in their
    name. On a GPU, where most of the time is spent on compiling kernels, several processes take a
    case at a time."""
    chosen = chosen_cases(small, only)
    names = [name for name, _ in chosen]
    if device.type != "cuda":
        yield from check(distinct_engines(), device, PRECISIONS, chosen)
        return
    with ProcessPoolExecutor(
        min(MOST_PROCESSES, len(names), os.cpu_count() or 1), get_context("spawn")
    ) as pool:
        check_case = partial(_check_case, device=device, small=small)
        for comparisons in pool.map(check_case, names):
            yield from comparisons


def _check_case(case: str, device: torch.device, small: bool) -> list[Comparison]:
    torch.set_num_threads(1)
    return list(
        check(
            distinct_engines(),
            device,
            PRECISIONS,
            [(name, runs) for name, runs in cases(small) if name == case],
        )
    )


def in_every_state(
    runs: Sequence[RunSettings],
    device: torch.device,
    build: Callable[[], Sequence[Engine]],
    case: str,
    *,
    off_kinks: bool,
) -> Iterator[Comparison]:
    """build: makes engines of these runs, each at its start. On a GPU, where that mostly waits for
    a compiler, the states are made meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        building = pool.submit(build) if device.type == "cuda" else None
        yardstick = Yardstick(runs, device)
        all_states = states(runs, device)
        allowed = {
            name: _Allowed(yardstick, runs[0], name, state, off_kinks)
            for name, state in all_states.items()
        }
        engines = build() if building is None else building.result()
    for name, state in all_states.items():
        for engine in engines:
            parameters = None if name == "start" else state
            agreement = compare_built(engine, parameters, allowed[name].exact)
            limits = allowed[name].limits(engine.precision, agreement)
            yield Comparison(
                engine.name, str(device), engine.precision, case, name, agreement, *limits
            )


class _Allowed:
    """What an ensemble's gradients may be off by in one state."""

    def __init__(
        self,
        yardstick: Yardstick,
        run: RunSettings,
        name: str,
        state: Sequence[Parameters],
        off_kinks: bool,
    ) -> None:
        self.yardstick = yardstick
        self.state = state
        self.trained = name != "start"
        self.column = 0 if _smooth(run) else 1 if off_kinks else 2
        self.exact = yardstick.at(state)
        self._moved: dict[bool, Agreement] = {}

    def limits(self, precision: str, agreement: Agreement) -> tuple[float, float, bool]:
        """Largest error of a parameter, the most that the whole gradient's cosine may lack of 1,
        and whether what was found is so large that the network's own sensitivity decides. It is
        measured only then."""
        stated = (
            TRAINED_TOLERANCES[precision]
            if self.trained
            else (TOLERANCES[precision][self.column], float("inf"))
        )
        if precision == "float64" or agreement.within(
            *stated
        ):  # the yardstick is no more exact than float64
            return *stated, False
        _, moved, cosine = self._sensitivity(precision)
        return max(stated[0], WORTH * moved), max(stated[1], WORTH**2 * (1 - cosine)), True

    def _sensitivity(self, precision: str) -> Agreement:
        """The most that roundings of the parameters alone do to the exact gradient. They count
        twice, also for the specification in that arithmetic, as no engine can be nearer: with four
        layers, rounding on the way weighs more."""
        bits = precision in ELEVEN_BITS
        if bits not in self._moved:
            changed = [rounded(self.state, precision, way) for way in range(WAYS)]
            ways = [self.yardstick.at(state) for state in changed]
            if bits:
                for way, state in enumerate(changed):
                    with ElevenBitProducts(way):
                        ways.append(self.yardstick.at(state))
            else:
                runs = [engine.runs[0] for engine in self.yardstick.engines]
                specification = Yardstick(runs, self.yardstick.engines[0].device, precision)
                ways += [specification.at(state) for state in changed]
            agreements = [_agreement(way, self.exact, trained=self.trained) for way in ways]
            worst = max(agreements, key=lambda agreement: agreement.error)
            least_cosine = min(agreement.cosine for agreement in agreements)
            self._moved[bits] = worst._replace(cosine=least_cosine)
        return self._moved[bits]


def telling_run(runs: Sequence[RunSettings]) -> RunSettings:
    """The run of an ensemble to check by: the widest, and of those the one with most attention.

    Constant attention has no gradient in queries and keys, so a run at rate 0 would pass with those
    wrong.
    """
    return max(
        runs,
        key=lambda run: (
            getattr(run.network, "width", 0),
            getattr(run.network, "attention_rate", 0.0),
        ),
    )


def quick(
    run: RunSettings, engine: type[Engine], device: torch.device, precision: str
) -> list[Comparison]:
    """The very run, engine, shape and precision about to be used, in every state. Raises if a
    gradient is wrong.
    """
    results = []
    build = partial(_built, [(engine, precision)], [run], device)
    for result in in_every_state([run], device, build, f"run {run.run_id}", off_kinks=False):
        if not result.passed:
            agreement = result.agreement
            raise InputError(
                f"the {engine.name} engine gives a wrong gradient on {device} in {precision} "
                f"({result.state}): "
                f"{agreement.parameter} is off by {agreement.error:.1e} of its norm, "
                f"{result.tolerance:.0e} is allowed; its cosine is "
                f"{agreement.cosine:.6f}; nothing was trained. Choose another engine or precision"
            )
        results.append(result)
    return results
