"""The whole answer for networks, one or many: every metric, their circles and what they do, and the verdict."""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

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
from algophase.analysis.circles import Circle, find_circles
from algophase.analysis.device import Download, chosen, in_float64, overlapped
from algophase.analysis.evidence import CircleEvidence, launch_evidence, read_evidence
from algophase.analysis.grid import correct_logits, grid_logits, largest_wrong_logits, mean_cross_entropy, right_answers
from algophase.analysis.metrics import (
    circularity,
    gradient_similarities,
    irrelevance,
    paper_triples_on,
    symmetricity_without_equals_sign,
)
from algophase.analysis.principal import PrincipalComponents, principal_components, resolution_of
from algophase.analysis.subject import check_finite_tables, check_network, exact_tables, not_finite
from algophase.analysis.summary import summary
from algophase.analysis.verdict import Measurements, Thresholds, Verdict, decide
from algophase.errors import InputError
from algophase.networks import Network
from algophase.settings import shown

MEASURED = 12  # numbers of `_measure`


@dataclass(frozen=True)
class Analysis:
    """Everything measured on one network. Undefined numbers are NaN here and null in JSON.

    circularity is NaN where the operands have tables of their own, as in the paper; `operand_circularity` has each table's.

    >>> from algophase import analyze, handmade_pizza
    >>> analysis = analyze(handmade_pizza(23))
    >>> round(analysis.gradient_symmetricity, 4), analysis.verdict.label
    (1.0, 'Pizza')
    >>> [item.circle.frequency for item in analysis.circles]
    [1, 5]
    """

    id: str
    accuracy: float
    cross_entropy: float
    distance_irrelevance: float
    distance_irrelevance_wrong_logit: float
    gradient_symmetricity: float
    gradient_symmetricity_exact: float
    gradient_symmetricity_without_equals_sign: float
    circularity: float
    operand_circularity: tuple[float, ...]
    verdict: Verdict
    circles: tuple[CircleEvidence, ...]
    anatomy: Anatomy | None

    def __str__(self) -> str:
        return summary(self)

    def to_dict(self) -> dict[str, Any]:
        """The record `algophase analyze --json` prints: plain values, null for what is undefined."""
        record = {
            "id": self.id,
            "accuracy": self.accuracy,
            "cross_entropy": self.cross_entropy,
            "distance_irrelevance": self.distance_irrelevance,
            "distance_irrelevance_wrong_logit": self.distance_irrelevance_wrong_logit,
            "gradient_symmetricity": self.gradient_symmetricity,
            "gradient_symmetricity_exact": self.gradient_symmetricity_exact,
            "gradient_symmetricity_without_equals_sign": self.gradient_symmetricity_without_equals_sign,
            "circularity": self.circularity,
            "operand_circularity": list(self.operand_circularity),
            "verdict": self.verdict.label,
            "reasons": list(self.verdict.reasons),
            "metrics_agree": self.verdict.metrics_agree,
            "shape": self.verdict.shape,
            "pizza_share": self.verdict.pizza_share,
            "circles": [_circle_record(item) for item in self.circles],
            "anatomy": None if self.anatomy is None else _anatomy_record(self.anatomy),
        }
        return _nan_to_none(record)


def _circle_record(item: CircleEvidence) -> dict[str, Any]:
    circle = item.circle
    return {
        "frequency": circle.frequency,
        "components": list(circle.components),
        "variance_share": circle.variance_share,
        "accompanies": item.accompanies,
        "fve_clock": item.fve_clock,
        "fve_pizza": item.fve_pizza,
        "fve_accompanying": item.fve_accompanying,
        "accuracy_alone": item.accuracy_alone,
        "role": item.role,
        "method": circle.method,
        "phase": circle.phase,
        "radius": circle.radius,
        "roundness": circle.roundness,
        "purity": circle.purity,
        "offset": circle.offset,
        "alignment": circle.alignment,
        "clock_weight": item.clock_weight,
        "pizza_weight": item.pizza_weight,
        "accompanying_weight": item.accompanying_weight,
    }


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


def analyze(network: Network, thresholds: Thresholds = Thresholds(), device: torch.device | str = "cpu") -> Analysis:
    """Measure a network and say which algorithm it learned, as it answers at inference, without dropout.

    Its own weights, precision and mode are left as they are.

    device: where to compute, for instance "cuda". The answer is the same up to the rounding of float64.

    >>> from algophase import handmade_clock
    >>> analyze(handmade_clock(23)).verdict.label
    'Clock'
    """
    (result,) = analyze_many([network], thresholds, device)
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
    device = chosen(device)
    yield from overlapped(networks, lambda each: _start(each, device), lambda started: _finish(started, thresholds), device)


@dataclass(frozen=True)
class _Started:
    """A network whose numbers are being computed: what the CPU knows already, and what is on its way."""

    network: Network
    components: PrincipalComponents
    by_operand: tuple[float, ...]
    circles: list[Circle]
    numbers: Download


def _start(network: Network, device: torch.device) -> _Started | InputError:
    try:
        with torch.inference_mode(False):  # whose tensors have no gradients
            return _queue(network, device)
    except InputError as error:
        return error


def _queue(network: Network, device: torch.device) -> _Started:
    """Queue everything heavy on the device, and find the circles on the CPU meanwhile. Nothing here waits for the device."""
    check_network(network)
    network.check_finite()
    tables = exact_tables(network)
    check_finite_tables(network, tables)
    # Weights carry the rounding of the precision they were stored in; the copy computes on them in float64.
    exact, resolution = in_float64(network, device), resolution_of(network)
    parts = [_measure(exact, resolution)]
    components = principal_components(tables, resolution)
    each = [components] if len(tables) == 1 else [principal_components((table,), resolution) for table in tables]
    circles = find_circles(components)
    parts.append(launch_evidence(exact, circles, components).flatten())
    return _Started(network, components, tuple(map(circularity, each)), circles, Download(torch.cat(parts)))


@torch.no_grad()
def _measure(network: Network, resolution: float) -> Tensor:
    """The numbers that need every pair or triple, (MEASURED,), in the order `_finish` reads them."""
    logits = grid_logits(network)
    right = right_answers(logits).double()
    similarities = gradient_similarities(network)
    triples = paper_triples_on(network.task.modulus, logits.device)
    numbers = [
        logits.isnan().any(dim=-1).sum().double(),
        logits.isinf().any(dim=-1).sum().double(),
        right.mean(),
        (1 - right).sum(),
        mean_cross_entropy(logits),
        irrelevance(correct_logits(logits), resolution),
        irrelevance(largest_wrong_logits(logits), resolution),
        similarities[tuple(triples.T)].nanmean(),
        similarities.nanmean(),
        symmetricity_without_equals_sign(network),
    ]
    without = measure_without_second_relu(network) if has_second_relu(network) else logits.new_full((2,), math.nan)
    return torch.cat([torch.stack(numbers), without])


def _finish(started: _Started | InputError, thresholds: Thresholds) -> Analysis | InputError:
    """Read the numbers once they are there, and decide."""
    if isinstance(started, InputError):
        return started
    network, by_operand, values = started.network, started.by_operand, started.numbers.get()
    nans, infinities, share, wrong, loss, q, q_wrong, symmetricity, symmetricity_exact, bare, *without = values[
        :MEASURED
    ].tolist()
    if nans or infinities:
        return not_finite(network, round(nans), round(infinities))
    numbers = values[MEASURED:].view(len(started.circles), -1) if started.circles else values[:0]
    evidence = read_evidence(network.task.modulus, started.circles, numbers)
    measured = Measurements(
        accuracy=share,
        wrong_pairs=round(wrong),
        distance_irrelevance=q,
        gradient_symmetricity=symmetricity_exact,
        circularity=min(by_operand),
        circularity_name="circularity" if len(by_operand) == 1 else "the lower circularity of the two operands' tables,",
    )
    opened = None
    if has_anatomy(network):
        idle = IdleReLU(share, without[0], loss, without[1]) if has_second_relu(network) else None
        opened = open_linear(in_float64(network), started.components, evidence, idle, resolution_of(network))
    return Analysis(
        id=network.id,
        accuracy=share,
        cross_entropy=loss,
        distance_irrelevance=q,
        distance_irrelevance_wrong_logit=q_wrong,
        gradient_symmetricity=symmetricity,
        gradient_symmetricity_exact=symmetricity_exact,
        gradient_symmetricity_without_equals_sign=bare,
        circularity=by_operand[0] if len(by_operand) == 1 else math.nan,
        operand_circularity=by_operand,
        verdict=decide(measured, started.components, evidence, thresholds),
        circles=tuple(evidence),
        anatomy=opened,
    )
