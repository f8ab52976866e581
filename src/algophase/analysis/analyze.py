"""The whole answer for networks, one or many: every metric, their circles and what they do, and the verdict."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from algophase.analysis.anatomy import (
    Anatomy,
    IdleReLU,
    has_anatomy,
    has_second_relu,
    measure_without_second_relu,
    open_linear,
)
from algophase.analysis.catalogue import CIRCLE_QUANTITIES, EXACT, IRRELEVANCE, metrics
from algophase.analysis.checks import not_finite
from algophase.analysis.device import Download, in_float64, overlapped
from algophase.analysis.evidence import CircleEvidence, launch_evidence, read_evidence
from algophase.analysis.metrics import circularity
from algophase.analysis.subject import Subject
from algophase.analysis.summary import summary
from algophase.analysis.verdict import Measurements, Thresholds, Verdict, decide
from algophase.devices import choose_device
from algophase.errors import InputError
from algophase.networks import Network
from algophase.networks.wrapped import wrap
from algophase.settings import shown


@dataclass(frozen=True)
class Analysis:
    """Everything measured on one network. Undefined numbers are NaN here and null in JSON.

    metrics: every metric of the catalogue by its name. Each is an attribute as well: `analysis.circularity`.
    operand_circularity: of each distinct operand table; with tables of their own, `circularity` is undefined, as in the paper.
    notes: where the network comes from and how it was cut, where that is not plain.

    >>> from algophase import analyze, handmade_pizza
    >>> analysis = analyze(handmade_pizza(23))
    >>> round(analysis.gradient_symmetricity, 4), analysis.verdict.label
    (1.0, 'Pizza')
    >>> [item.circle.frequency for item in analysis.circles]
    [1, 5]
    """

    id: str
    metrics: Mapping[str, float]
    operand_circularity: tuple[float, ...]
    verdict: Verdict
    circles: tuple[CircleEvidence, ...]
    anatomy: Anatomy | None
    notes: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> float:
        """A metric by its name."""
        metrics: Mapping[str, float] = self.__dict__.get("metrics", {})
        if name not in metrics:
            raise AttributeError(f"an analysis has no {name!r}; its metrics are {', '.join(metrics)}")
        return metrics[name]

    def __str__(self) -> str:
        return summary(self)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value:.4g}" for name, value in self.metrics.items() if value == value)
        return f"<Analysis of {self.id}: {self.verdict.label}, {numbers}>"

    def to_dict(self) -> dict[str, Any]:
        """The record `algophase analyze --json` prints: plain values, null for what is undefined."""
        record = {
            "id": self.id,
            **self.metrics,
            "operand_circularity": list(self.operand_circularity),
            "verdict": self.verdict.label,
            "reasons": list(self.verdict.reasons),
            "metrics_agree": self.verdict.metrics_agree,
            "shape": self.verdict.shape,
            "pizza_share": self.verdict.pizza_share,
            "circles": [{field.name: field.read(item) for field in CIRCLE_QUANTITIES} for item in self.circles],
            "anatomy": None if self.anatomy is None else _anatomy_record(self.anatomy),
            "notes": list(self.notes),
        }
        return _nan_to_none(record)


def _anatomy_record(opened: Anatomy) -> dict[str, Any]:
    relu = opened.second_relu
    return {
        "pizzas": [
            {
                "frequency": pizza.frequency,
                "embedding_components": list(pizza.embedding_components),
                "unembedding_components": list(pizza.unembedding_components),
                "rows": len(pizza.rows),
                "readouts": [
                    {
                        "axis": readout.axis,
                        "amplitude": readout.amplitude,
                        "phase": readout.phase,
                        "variance_explained": readout.variance_explained,
                    }
                    for readout in pizza.readouts
                ],
            }
            for pizza in opened.pizzas
        ],
        "unmatched_frequencies": list(opened.unmatched),
        "exclusive_share": opened.exclusive_share,
        "same_pizza_share": opened.same_pizza_share,
        "second_relu": None if relu is None else vars(relu).copy(),
    }


def _nan_to_none(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _nan_to_none(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_nan_to_none(item) for item in value]
    return value


def analyze(
    network: Network | Callable[..., Any],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
    **how: Any,
) -> Analysis:
    """Measure a network and say which algorithm it learned, as it answers at inference, without dropout.

    Its own weights, precision and mode are left as they are.

    device: where to compute, for instance "cuda". The answer is the same up to the rounding of float64.
    how: for any other PyTorch module or function, what `wrap` needs to know: `analyze(module, modulus=59)`.

    >>> from algophase import handmade_clock
    >>> analyze(handmade_clock(23)).verdict.label
    'Clock'
    """
    (result,) = analyze_many([wrap(network, **how) if how else cast(Network, network)], thresholds, device)
    if isinstance(result, InputError):
        raise result
    return result


def analyze_many(
    networks: Iterable[Network],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
    progress: Callable[[int], None] | None = None,
) -> list[Analysis | InputError]:
    """Each network's analysis in the order given, or, for one that cannot be analysed, the error that says why.

    What is no network at all (a path, say) cannot be analysed either, and gets such an error in its place.

    progress: called with the number finished, after each.

    >>> from algophase import handmade_clock, handmade_pizza
    >>> [result.verdict.label for result in analyze_many([handmade_clock(23), handmade_pizza(23)])]
    ['Clock', 'Pizza']
    """
    results = []
    for result in analyze_each(networks, thresholds, device):
        results.append(result)
        if progress is not None:
            progress(len(results))
    return results


def analyze_each(
    networks: Iterable[Network], thresholds: Thresholds = Thresholds(), device: torch.device | str = "cpu"
) -> Iterator[Analysis | InputError]:
    """`analyze_many`, one result at a time. A few networks are under way at once, so that a GPU never waits for the CPU."""
    if isinstance(networks, str | os.PathLike | nn.Module):
        raise InputError(f"give a list of networks, not one {type(networks).__name__}; analyze takes a single network")
    if not isinstance(thresholds, Thresholds):
        raise InputError(f"thresholds is {shown(thresholds)}; it must be Thresholds, such as Thresholds(accuracy=0.99)")
    device = choose_device(device)
    yield from overlapped(networks, lambda each: _start(each, device), lambda started: _finish(started, thresholds), device)


def analyze_subject(subject: Subject, thresholds: Thresholds = Thresholds()) -> Analysis:
    """`analyze` of a network under measurement, which keeps what was computed of it."""
    with torch.inference_mode(False):
        result = _finish(_queue(subject), thresholds)
    if isinstance(result, InputError):
        raise result
    return result


@dataclass(frozen=True)
class _Started:
    """A network whose numbers are being computed: what the CPU knows already, and what is on its way."""

    subject: Subject
    known: dict[str, float]
    operand_circularity: tuple[float, ...]
    numbers: Download


def _circularity_name(subject: Subject) -> str:
    if subject.network.cut == "first layer":
        return "circularity of the first matrix,"
    return "circularity" if len(subject.tables) == 1 else "the lower circularity of the two operands' tables,"


def _start(network: Network, device: torch.device) -> _Started | InputError:
    try:
        with torch.inference_mode(False):  # whose tensors have no gradients
            return _queue(Subject(network, device))
    except InputError as error:
        return error


def _queue(subject: Subject) -> _Started:
    numbers, known = _measure(subject)
    by_operand = tuple(map(circularity, subject.components_by_operand))
    return _Started(subject, known, by_operand, Download(numbers))


@torch.no_grad()
def _measure(subject: Subject) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Queue everything heavy on the device, and find the circles on the CPU meanwhile. Nothing here waits for the device.

    Returns what is computed there, and what is known on the CPU already, by name.
    """
    numbers = {
        "pairs with NaN": subject.logits.isnan().any(dim=-1).sum(),
        "pairs with infinity": subject.logits.isinf().any(dim=-1).sum(),
        "wrong pairs": (~subject.right).sum(),
    }
    known: dict[str, float] = {}
    for quantity in metrics():
        assert quantity.measure is not None
        value = quantity.measure(subject)
        if isinstance(value, Tensor):
            numbers[quantity.name] = value
        else:
            known[quantity.name] = float(value)
    if has_second_relu(subject.network):
        numbers["without second ReLU"] = measure_without_second_relu(subject.network)
    numbers |= launch_evidence(subject.network, subject.circles, subject.components)
    return numbers, known


def _finish(started: _Started | InputError, thresholds: Thresholds) -> Analysis | InputError:
    """Read the numbers once they are there, and decide."""
    if isinstance(started, InputError):
        return started
    subject, numbers = started.subject, started.numbers.get()
    nans, infinities = (int(numbers[f"pairs with {what}"]) for what in ("NaN", "infinity"))
    if nans or infinities:
        return not_finite(subject.given, nans, infinities)
    measured = {q.name: started.known[q.name] if q.name in started.known else numbers[q.name].item() for q in metrics()}
    evidence = read_evidence(subject.modulus, subject.circles, numbers)
    by_operand = started.operand_circularity
    weighed = Measurements(
        accuracy=measured["accuracy"],
        wrong_pairs=int(numbers["wrong pairs"]),
        distance_irrelevance=measured[IRRELEVANCE],
        gradient_symmetricity=measured[EXACT],
        circularity=min(by_operand),
        circularity_name=_circularity_name(subject),
    )
    opened = None
    if has_anatomy(subject.given):
        idle = None
        if has_second_relu(subject.given):
            without = numbers["without second ReLU"].tolist()
            idle = IdleReLU(measured["accuracy"], without[0], measured["cross_entropy"], without[1])
        opened = open_linear(in_float64(subject.given), subject.components, evidence, idle, subject.resolution)
    return Analysis(
        id=subject.given.id,
        metrics=measured,
        operand_circularity=by_operand,
        verdict=decide(weighed, subject.components, evidence, thresholds),
        circles=tuple(evidence),
        anatomy=opened,
        notes=subject.given.notes,
    )
