"""A row of the table read back as the analysis it was made from, checked piece by piece: a table can say anything."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from algophase.analysis.analyze import Analysis
from algophase.analysis.circles import Circle
from algophase.analysis.evidence import CircleEvidence, Role
from algophase.analysis.verdict import Label, Shape, Verdict

METRICS = (
    "accuracy",
    "cross_entropy",
    "distance_irrelevance",
    "distance_irrelevance_wrong_logit",
    "gradient_symmetricity",
    "gradient_symmetricity_exact",
    "circularity",
)
EVIDENCE = (
    "fve_clock",
    "fve_pizza",
    "fve_accompanying",
    "accuracy_alone",
    "clock_weight",
    "pizza_weight",
    "accompanying_weight",
)


def analysis_of_row(row: Mapping[str, Any], circles: Sequence[Circle]) -> Analysis | None:
    """The analysis a row was made from, with these circles, found in the weights; None if it lacks or garbles anything.

    Two numbers of a circle that no row holds (`logit_variance`, `explained`) are NaN; a linear network's anatomy is left out.
    """
    try:
        return _read(row, circles)
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def _read(row: Mapping[str, Any], circles: Sequence[Circle]) -> Analysis:
    evidence = []
    if list(row.get("frequencies") or []) != [circle.frequency for circle in circles]:
        raise ValueError("the row has other circles")
    for place, circle in enumerate(circles):
        numbers = {name: _number(row[f"circles.{name}"][place]) for name in EVIDENCE}
        role, accompanies = _one_of(row["circles.role"][place], get_args(Role)), row["circles.accompanies"][place]
        evidence.append(
            CircleEvidence(
                circle=circle,
                role=role,
                accompanies=None if accompanies is None else int(accompanies),
                logit_variance=math.nan,
                explained=math.nan,
                **numbers,
            )
        )
    shape, agree = row.get("shape"), row.get("metrics_agree")
    verdict = Verdict(
        label=_one_of(row["verdict"], get_args(Label)),
        reasons=tuple(str(reason)[:400] for reason in row["reasons"][:20]),
        metrics_agree=None if agree is None else bool(agree),
        shape=None if shape is None else _one_of(shape, get_args(Shape)),
        pizza_share=None if row.get("pizza_share") is None else _number(row["pizza_share"]),
    )
    operand = tuple(_number(value) for value in row.get("operand_circularity") or [row["circularity"]])
    return Analysis(
        id=str(row["run_id"]),
        verdict=verdict,
        circles=tuple(evidence),
        operand_circularity=operand,
        anatomy=None,
        gradient_symmetricity_without_equals_sign=_number(row.get("gradient_symmetricity_without_equals_sign")),
        **{name: _number(row[name]) for name in METRICS},
    )


def _number(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise ValueError("not one of the choices")
    return value
