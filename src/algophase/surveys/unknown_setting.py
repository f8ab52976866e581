"""What can be said of a network with a setting that nobody states: a transformer's attention rate,
or the activation of a one-hot MLP.

The loss does not tell the rate: networks trained at rates 0.1 to 0.4 have their lowest loss at
rate 0, and one trained at 0.69 at 0.45. But a network that answers all pairs at many rates has
often the same verdict at all of them. So it is analyzed with several values of the setting, and
what is the same with all is said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.networks import Network
from algophase.storage.formats.answers import answered

Value = TypeVar("Value")  # of the setting

RATES = [step / 20 for step in range(21)]  # at which the network answers all pairs
ANALYZED = 5  # of those at which it answers well enough, the first and the last among them


@dataclass(frozen=True)
class Alternatives:
    """analyses: of the network with each value; sentence: what was done, for a caution."""

    analyses: list[tuple[Network, Analysis]]
    sentence: str


def accurate_rates(load_at: Callable[[float], Network], thresholds: Thresholds) -> list[float]:
    """The rates 0, 0.05, ..., 1 at which a network answers as accurately as `thresholds` ask."""
    _, accurate = _readable(RATES, load_at, thresholds)
    return accurate


def analyze_at_all_rates(
    load_at: Callable[[float], Network], thresholds: Thresholds, device: str = "cpu"
) -> Alternatives:
    """Analyze a network at rates at which it answers as accurately as `thresholds` ask.

    Where it does so at no rate, at rates from 0 to 1. load_at: the network at a rate. device: where
    to compute.
    """
    readable, accurate = _readable(RATES, load_at, thresholds)
    chosen = _spread(accurate or readable)
    analyses = _analyses(chosen, load_at, thresholds, device)
    where = ", ".join(f"{rate:g}" for rate in chosen)
    if not accurate:
        sentence = f"at none of rates 0 to 1 does it answer all pairs ({where})"
        return Alternatives(analyses, f"attention rate unknown: {sentence}")
    span = f"it answers all pairs at rates {accurate[0]:g} to {accurate[-1]:g}"
    verdicts = _verdicts(chosen, analyses)
    return Alternatives(analyses, f"attention rate unknown: {span}, {verdicts}")


def analyze_with_all_activations(
    activations: Sequence[str],
    load_with: Callable[[str], Network],
    thresholds: Thresholds,
    device: str = "cpu",
) -> Alternatives:
    """Analyze a network with each activation that it may have.

    Those with which it answers less than half as many pairs as with another are left out. The most
    accurate one need not be its own: networks that were trained with ReLU on a part of the pairs
    answered 99% of all, and every pair with a square in its place.
    """
    networks = {name: load_with(name) for name in activations}
    accuracies = {name: answered(network).accuracy for name, network in networks.items()}
    least = max(accuracies.values()) / 2
    chosen = [name for name in activations if accuracies[name] >= least]
    analyses = _analyses(chosen, load_with, thresholds, device)
    verdicts = _verdicts(chosen, analyses)
    return Alternatives(analyses, f"activation unknown: it may be {', '.join(chosen)}, {verdicts}")


def _readable(
    rates: Sequence[float], load_at: Callable[[float], Network], thresholds: Thresholds
) -> tuple[list[float], list[float]]:
    """The rates at which a network can be read, and those at which it is accurate, too."""
    readable = []
    accurate = []
    problem: InputError | None = None
    for rate in rates:
        try:
            network = load_at(rate)
        except InputError as error:  # with an even vocabulary a wrong rate may not be readable
            problem = error
            continue
        readable.append(rate)
        if answered(network).accuracy >= thresholds.accuracy:
            accurate.append(rate)
    if not readable:
        raise problem or InputError("it cannot be read at any attention rate")
    return readable, accurate


def _analyses(
    values: Sequence[Value],
    load_with: Callable[[Value], Network],
    thresholds: Thresholds,
    device: str,
) -> list[tuple[Network, Analysis]]:
    analyses = []
    for value in values:
        network = load_with(value)
        analysis = analyze(network, thresholds, device=device)
        analyses.append((network, analysis.without_subject()))
    return analyses


def _spread(rates: list[float]) -> list[float]:
    """A few of many, at equal distances, the first and the last among them."""
    if len(rates) <= ANALYZED:
        return rates
    last = len(rates) - 1
    return [rates[round(number * last / (ANALYZED - 1))] for number in range(ANALYZED)]


def _verdicts(
    values: Sequence[float] | Sequence[str], analyses: Sequence[tuple[Network, Analysis]]
) -> str:
    """In words, whether all are the same."""
    names = [value if isinstance(value, str) else f"{value:g}" for value in values]
    labels = [analysis.label for _, analysis in analyses]
    if len(set(labels)) == 1:
        return f"and is {labels[0]} with each ({', '.join(names)})"
    pairs = [f"{name} {label}" for name, label in zip(names, labels, strict=True)]
    return f"but its verdict depends on it ({', '.join(pairs)})"
