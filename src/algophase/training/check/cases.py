"""The ensembles that `check-gradients` takes: awkward shapes of every architecture.

Rates 0, 0.37 and 1 and several widths are in one ensemble. The moduli are 7 and 12, and 23, 59 and
113 unless few are asked for. Groups have answers that a kernel looks up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from algophase.core.errors import InputError
from algophase.core.settings import (
    LINEAR_MODELS,
    LinearSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)

Case = tuple[str, list[RunSettings]]
RATES = (0.0, 0.37, 1.0)


def cases(small: bool) -> Iterator[Case]:
    """Every ensemble, by name. small: tiny networks only, for a CPU."""
    yield from _moduli(small)
    yield from _depths(small)
    yield from _layouts(small)
    if not small:
        yield from _large()
    yield from _linear_models(small)
    yield from _groups(small)


def chosen_cases(small: bool, only: Sequence[str]) -> list[Case]:
    """Those with one of these texts in their name; all of them without a text."""
    every = list(cases(small))
    if not only:
        return every
    chosen = [(name, runs) for name, runs in every if any(text in name for text in only)]
    if not chosen:
        names = "; ".join(name for name, _ in every)
        raise InputError(f"no case has {' or '.join(only)} in its name; there are: {names}")
    return chosen


def _widths(small: bool) -> tuple[int, ...]:
    return (12, 16, 9) if small else (33, 20, 12)


def _moduli(small: bool) -> Iterator[Case]:
    for p in (7, 12) if small else (7, 12, 23, 59, 113):
        for activation in ("relu", "gelu"):
            runs = _transformers(TaskSettings(p), _widths(small), 1, activation)
            yield f"1 layer, p {p}, {activation}", runs


def _depths(small: bool) -> Iterator[Case]:
    for layers in (2,) if small else (2, 4):
        for p in (7,) if small else (7, 23):
            runs = _transformers(TaskSettings(p), _widths(small), layers, "relu")
            yield f"{layers} layers, p {p}, relu", runs
        if not small:
            runs = _transformers(TaskSettings(), _widths(small), layers, "gelu")
            yield f"{layers} layers, p 59, gelu", runs


def _layouts(small: bool) -> Iterator[Case]:
    """Ways to write pairs as tokens, and operations other than addition."""
    p = 7 if small else 59
    equals = TaskSettings(p, equals_sign=True)
    both = TaskSettings(p, separate_vocabularies=True, equals_sign=True)
    layouts = {
        "separate vocabularies": TaskSettings(p, separate_vocabularies=True),
        "equals sign": equals,
        "separate, equals sign": both,
        "equals sign, outputs of numbers": replace(equals, outputs="modulus"),
        "subtraction": TaskSettings(p, operation="subtract"),
        "multiplication": TaskSettings.multiplication(p, equals_sign=True),
    }
    for name, task in layouts.items():
        yield f"1 layer, p {p}, {name}", _transformers(task, _widths(small), 1, "gelu")
    relu = _transformers(equals, _widths(small), 1, "relu")
    yield f"1 layer, p {p}, relu, equals sign", relu


def _large() -> Iterator[Case]:
    equals = TaskSettings(equals_sign=True)
    yield "2 layers, p 59, equals sign", _transformers(equals, _widths(False), 2, "gelu")
    yield "4 layers, p 59, width 128", _transformers(TaskSettings(), (128, 128, 128), 4, "gelu")
    for name, task in {"": TaskSettings(), ", equals sign": equals}.items():
        narrow = _transformers(task, (128, 128, 128), 1, "gelu")
        yield f"1 layer, p 59, width 128{name}", narrow
        yield f"1 layer, p 59, width 512{name}", _wide(task)
    many = TaskSettings(113, equals_sign=True)
    yield "1 layer, p 113, equals sign", _transformers(many, _widths(False), 1, "gelu")


def _linear_models(small: bool) -> Iterator[Case]:
    p = 7 if small else 59
    for model in LINEAR_MODELS:
        width, hidden = (12, 10) if small else (256, 256)
        network = LinearSettings(model, width, hidden)
        yield f"linear {model}, p {p}", _linear(TaskSettings(p), network)


def _groups(small: bool) -> Iterator[Case]:
    """For every family of kernels: one layer, one wide layer, several layers, linear models with a
    table for each operand and with one for both.
    """
    large, middle, abelian = ("S3", "S3", "Z2xZ4") if small else ("S5", "A5", "Z2xZ30")
    of_large = TaskSettings(group=large)
    of_middle = TaskSettings(group=middle)
    yield f"1 layer, {large}, relu", _transformers(of_large, _widths(small), 1, "relu")
    if not small:
        narrow = _transformers(of_large, (128, 128, 128), 1, "gelu")
        yield f"1 layer, {large}, width 128", narrow
        yield f"1 layer, {large}, width 512", _wide(of_large)
    yield f"2 layers, {middle}, gelu", _transformers(of_middle, _widths(small), 2, "gelu")
    size = 12 if small else 256
    for model, group in (("delta", middle), ("alpha-prime", middle), ("beta", abelian)):
        network = LinearSettings(model, size, size)
        yield f"linear {model}, {group}", _linear(TaskSettings(group=group), network)


def _transformers(
    task: TaskSettings, widths: Sequence[int], layers: int, activation: str
) -> list[RunSettings]:
    """A network of each width, at the rates `RATES`."""
    runs = []
    for index, (rate, width) in enumerate(zip(RATES, widths, strict=True)):
        network = TransformerSettings(width, layers, 4, activation, rate)
        runs.append(RunSettings(task, network, seed=1000 * index))
    return runs


def _wide(task: TaskSettings) -> list[RunSettings]:
    return [RunSettings(task, TransformerSettings(512, 1, 4, "gelu", 0.37))]


def _linear(task: TaskSettings, network: LinearSettings) -> list[RunSettings]:
    return [RunSettings(task, network, seed=seed) for seed in (1, 1001)]
