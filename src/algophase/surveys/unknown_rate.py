"""What can be said of a transformer whose attention rate nobody states.

Its loss does not tell: networks trained at rates 0.1 to 0.4 have their lowest loss at rate 0, and
one trained at 0.69 at 0.45. But a network that answers all pairs at many rates has often the same
verdict at all of them. So it is analyzed at several rates, and what is the same at all is said.
"""

from collections.abc import Callable
from dataclasses import dataclass

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.networks import Network
from algophase.storage.formats.answers import answered

STEPS = 20  # rates 0, 0.05, ..., 1 at which the network answers all pairs
ANALYZED = 5  # of those at which it answers well enough, the first and the last among them


@dataclass(frozen=True)
class AtAllRates:
    """analyses: of the network at each rate; sentence: what was done, for a caution."""

    analyses: list[tuple[Network, Analysis]]
    sentence: str


def analyze_at_all_rates(
    load_at: Callable[[float], Network], thresholds: Thresholds, device: str = "cpu"
) -> AtAllRates:
    """Analyze a network at rates at which it answers as accurately as `thresholds` ask.

    Where it does so at no rate, at rates from 0 to 1. load_at: the network at a rate. device: where
    to compute.
    """
    rates = [step / STEPS for step in range(STEPS + 1)]
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
    chosen = _spread(accurate or readable)
    analyses = []
    for rate in chosen:
        network = load_at(rate)
        analysis = analyze(network, thresholds, device=device)
        analyses.append((network, analysis.without_subject()))
    return AtAllRates(analyses, _sentence(accurate, chosen, analyses))


def _spread(rates: list[float]) -> list[float]:
    """A few of many, at equal distances, the first and the last among them."""
    if len(rates) <= ANALYZED:
        return rates
    last = len(rates) - 1
    return [rates[round(number * last / (ANALYZED - 1))] for number in range(ANALYZED)]


def _sentence(
    accurate: list[float], chosen: list[float], analyses: list[tuple[Network, Analysis]]
) -> str:
    labels = list(dict.fromkeys(analysis.label for _, analysis in analyses))
    where = ", ".join(f"{rate:g}" for rate in chosen)
    if not accurate:
        return f"attention rate unknown: at none of rates 0 to 1 does it answer all pairs ({where})"
    span = f"it answers all pairs at rates {accurate[0]:g} to {accurate[-1]:g}"
    if len(labels) == 1:
        return f"attention rate unknown: {span}, and is {labels[0]} at each analyzed ({where})"
    verdicts = [
        f"{rate:g} {analysis.label}" for rate, (_, analysis) in zip(chosen, analyses, strict=True)
    ]
    return f"attention rate unknown: {span}, but its verdict depends on it ({', '.join(verdicts)})"
