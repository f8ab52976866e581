"""The whole answer for one network: every metric, its circles and what they do, and the verdict."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch

from algophase.analysis.anatomy import Anatomy, anatomy, has_anatomy
from algophase.analysis.circles import find_circles
from algophase.analysis.evidence import CircleEvidence, circle_evidence
from algophase.analysis.grid import accuracy, cross_entropy, grid_logits, right_answers
from algophase.analysis.metrics import (
    circularity,
    distance_irrelevance,
    distance_irrelevance_wrong_logit,
    gradient_symmetricity,
    gradient_symmetricity_exact,
)
from algophase.analysis.principal import network_components, principal_components
from algophase.analysis.summary import summary
from algophase.analysis.verdict import Measurements, Thresholds, Verdict, decide
from algophase.errors import InputError
from algophase.networks import Network


@dataclass(frozen=True)
class Analysis:
    """Everything measured on one network. Undefined numbers are NaN here and null in JSON.

    circularity is NaN where the operands have tables of their own, as in the paper; `operand_circularity` has each table's.
    """

    id: str
    accuracy: float
    cross_entropy: float
    distance_irrelevance: float
    distance_irrelevance_wrong_logit: float
    gradient_symmetricity: float
    gradient_symmetricity_exact: float
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
        "offset": circle.offset,
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


def in_float64(network: Network) -> Network:
    """A copy in double precision, so that no digit of a metric is the analysis's own rounding."""
    return copy.deepcopy(network).double().requires_grad_(False)


def analyze(network: Network, thresholds: Thresholds = Thresholds()) -> Analysis:
    """Measure a network and say which algorithm it learned. Its own weights and precision are left as they are."""
    # Weights carry the rounding of the precision they were stored in; the copy computes on them in float64.
    resolution = torch.finfo(next(network.parameters()).dtype).eps
    network.check_finite()
    exact = in_float64(network)
    logits = grid_logits(exact)
    if not torch.isfinite(logits).all():
        raise InputError(f"network {network.id}: its weights are so large that its logits overflow")
    components = network_components(exact, resolution)
    by_operand = tuple(circularity(principal_components((table,), resolution)) for table in exact.distinct_tables())
    evidence = circle_evidence(exact, find_circles(components), components)
    measured = Measurements(
        accuracy=accuracy(logits),
        wrong_pairs=int((~right_answers(logits)).sum()),
        distance_irrelevance=distance_irrelevance(logits, resolution),
        gradient_symmetricity=gradient_symmetricity_exact(exact),
        circularity=min(by_operand),
        circularity_name="circularity" if len(by_operand) == 1 else "the lower circularity of the two operands' tables,",
    )
    return Analysis(
        id=network.id,
        accuracy=measured.accuracy,
        cross_entropy=cross_entropy(logits),
        distance_irrelevance=measured.distance_irrelevance,
        distance_irrelevance_wrong_logit=distance_irrelevance_wrong_logit(logits, resolution),
        gradient_symmetricity=gradient_symmetricity(exact),
        gradient_symmetricity_exact=measured.gradient_symmetricity,
        circularity=by_operand[0] if len(by_operand) == 1 else math.nan,
        operand_circularity=by_operand,
        verdict=decide(measured, components, evidence, thresholds),
        circles=tuple(evidence),
        anatomy=anatomy(exact, logits) if has_anatomy(exact) else None,
    )
