"""Per-parameter comparison of an engine's loss and gradient with `plain` in float64: no engine is trusted before it.

A ReLU has no derivative at 0, and rounding decides on which side a pre-activation within it falls. One such flip among N
hidden values moves a gradient by about 1 / sqrt(N) of its norm, far more than rounding itself (7e-4 at p = 59, width
128). So the cases here use, for each network, the first seed that keeps its pre-activations away from 0 in float32, and
TF32, which flips hundreds, is held tightly with GELU and loosely with ReLU. A wrong formula, as opposed to rounding, moves
a gradient by far more than either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from algophase.errors import InputError
from algophase.networks import initialise
from algophase.networks.stacking import stack_key
from algophase.settings import LINEAR_MODELS, LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.training.engine import Engine
from algophase.training.plain import PlainEngine

# Largest |g - g_plain| / |g_plain| of any parameter: (smooth activation, ReLU away from its kink, ReLU anywhere)
TOLERANCES = {
    "float64": (1e-11, 1e-11, 1e-11),
    "float32": (2e-5, 2e-5, 5e-3),
    "tf32x3": (2e-5, 2e-5, 5e-3),
    "tf32": (1e-2, 5e-2, 5e-2),
}
KINK = 5e-7  # pre-activations closer to 0 than this, relative to their size, may flip in float32
MOST_SEEDS = 200


@dataclass(frozen=True)
class Comparison:
    """One engine on one ensemble: the parameter that agrees least, and by how much."""

    engine: str
    device: str
    precision: str
    case: str
    parameter: str
    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        return self.error <= self.tolerance  # NaN does not pass


def compare(engine_class: type[Engine], runs: Sequence[RunSettings], device: torch.device, precision: str) -> tuple[str, float]:
    """The least agreeing parameter and its relative error, over all networks of an ensemble; the loss counts as one."""
    engine = engine_class(list(runs), device, precision)
    losses = engine.loss_and_gradient()
    gradients = engine.export(engine.gradients)
    worst, where = 0.0, "none"
    for index, run in enumerate(runs):
        plain = PlainEngine([run], torch.device("cpu"), "float64")
        expected_loss = plain.loss_and_gradient().item()
        errors = {"loss": abs(losses[index].item() - expected_loss) / expected_loss}
        for name, expected in plain.gradients.items():
            size = tuple(slice(0, length) for length in expected.shape[1:])
            ours = gradients[name][index]
            difference = ours[size].double().cpu() - expected[0]
            norm = expected.norm().item()
            # a gradient that is exactly zero (queries under constant attention) must be exactly zero here too
            errors[name] = difference.norm().item() / norm if norm > 0 else (0.0 if not ours.any() else float("inf"))
            padding = ours.double().norm().item() ** 2 - ours[size].double().norm().item() ** 2
            if padding > 1e-12 * max(norm, 1e-30) ** 2 and padding > 0:
                errors[f"{name} (padding)"] = float("inf")
        for name, error in errors.items():
            if not error <= worst:  # NaN wins
                worst, where = error, name
    return where, worst


def away_from_kinks(run: RunSettings) -> RunSettings:
    """The same run with the first seed, from its own on, whose hidden pre-activations all stay clear of 0."""
    for seed in range(run.seed, run.seed + MOST_SEEDS):
        candidate = replace(run, seed=seed)
        network = initialise(candidate).double()
        with torch.no_grad():
            _, cache = network.run_with_cache()
        hidden = [value for name, value in cache.items() if name.endswith("hook_pre")]
        if all(value.abs().min() > KINK * value.square().mean().sqrt() for value in hidden):
            return candidate
    raise InputError(f"no seed from {run.seed} to {run.seed + MOST_SEEDS - 1} keeps every pre-activation of this network off 0")


def _smooth(run: RunSettings) -> bool:
    return isinstance(run.network, TransformerSettings) and run.network.activation == "gelu"


def cases(small: bool) -> Iterator[tuple[str, list[RunSettings]]]:
    """Awkward ensembles of every architecture: rates 0, 0.37 and 1 and several widths at once, moduli 7 and 12 (and 59,
    113)."""
    rates = (0.0, 0.37, 1.0)
    widths = (12, 16, 9) if small else (33, 20, 12)
    for p in (7, 12) if small else (7, 12, 59, 113):
        for activation in ("relu", "gelu"):
            yield f"1 layer, p {p}, {activation}", _transformers(TaskSettings(modulus=p), rates, widths, 1, activation)
    for layers in (2,) if small else (2, 4):
        yield f"{layers} layers, p 7, relu", _transformers(TaskSettings(modulus=7), rates, widths, layers, "relu")
        if not small:
            yield f"{layers} layers, p 59, gelu", _transformers(TaskSettings(), rates, widths, layers, "gelu")
    p = 7 if small else 59
    equals = TaskSettings(modulus=p, equals_sign=True)
    layouts = {
        "separate vocabularies": TaskSettings(modulus=p, separate_vocabularies=True),
        "equals sign": equals,
        "separate, equals sign": TaskSettings(modulus=p, separate_vocabularies=True, equals_sign=True),
        "equals sign, outputs of numbers": TaskSettings(modulus=p, equals_sign=True, outputs="modulus"),
        "subtraction": TaskSettings(modulus=p, operation="subtract"),
        "multiplication": TaskSettings.multiplication(p, equals_sign=True),
    }
    for name, task in layouts.items():
        yield f"1 layer, p {p}, {name}", _transformers(task, rates, widths, 1, "gelu")
    yield f"1 layer, p {p}, relu, equals sign", _transformers(equals, rates, widths, 1, "relu")
    if not small:
        wide = {"": TaskSettings(), ", equals sign": equals}
        for name, task in wide.items():
            yield f"1 layer, p 59, width 128{name}", _transformers(task, rates, (128, 128, 128), 1, "gelu")
            yield f"1 layer, p 59, width 512{name}", _transformers(task, (0.37,), (512,), 1, "gelu")
        yield "1 layer, p 113, equals sign", _transformers(TaskSettings(113, equals_sign=True), rates, widths, 1, "gelu")
    for model in LINEAR_MODELS:
        size = (12, 10) if small else (256, 256)
        settings = LinearSettings(model=model, width=size[0], hidden=size[1])
        yield (
            f"linear {model}, p {p}",
            [RunSettings(task=TaskSettings(modulus=p), network=settings, seed=seed) for seed in (1, 1001)],
        )


def _transformers(
    task: TaskSettings, rates: Sequence[float], widths: Sequence[int], layers: int, activation: str
) -> list[RunSettings]:
    return [
        RunSettings(task=task, network=TransformerSettings(width, layers, 4, activation, rate), seed=1000 * index)
        for index, (rate, width) in enumerate(zip(rates, widths, strict=True))
    ]


def check(
    engines: Sequence[type[Engine]], device: torch.device, precisions: Sequence[str], *, small: bool
) -> Iterator[Comparison]:
    """Every engine on every case it supports, in every precision."""
    for case, wanted in cases(small):
        runs = [run if _smooth(run) else away_from_kinks(run) for run in wanted]
        assert len({stack_key(run) for run in runs}) == 1
        for engine_class in engines:
            if engine_class.unsupported(runs[0], device) is not None:
                continue
            for precision in precisions:
                if precision not in engine_class.precisions(device):
                    continue
                where, error = compare(engine_class, runs, device, precision)
                tolerance = TOLERANCES[precision][0 if _smooth(runs[0]) else 1]
                yield Comparison(engine_class.name, str(device), precision, case, where, error, tolerance)


def telling_run(runs: Sequence[RunSettings]) -> RunSettings:
    """The run of an ensemble to check by: the widest, and of those the one with most attention.

    Constant attention has no gradient in queries and keys, so a run at rate 0 would pass with those wrong.
    """
    return max(runs, key=lambda run: (getattr(run.network, "width", 0), getattr(run.network, "attention_rate", 0.0)))


def quick(run: RunSettings, engine: type[Engine], device: torch.device, precision: str) -> Comparison:
    """The very run, engine, shape and precision about to be used. Raises if a gradient is wrong."""
    where, error = compare(engine, [run], device, precision)
    tolerance = TOLERANCES[precision][0 if _smooth(run) else 2]
    result = Comparison(engine.name, str(device), precision, f"run {run.run_id}", where, error, tolerance)
    if not result.passed:
        raise InputError(
            f"the {engine.name} engine gives a wrong gradient on {device} in {precision}: {where} is off by {error:.1e} of its "
            f"norm, {tolerance:.0e} is allowed; nothing was trained. Choose another engine or precision"
        )
    return result
