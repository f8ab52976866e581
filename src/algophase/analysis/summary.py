"""One network's analysis as text a person reads in a terminal: the verdict, why, the metrics, the circles."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis
    from algophase.analysis.evidence import CircleEvidence


def _number(value: float, digits: int = 4) -> str:
    return "undefined" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: no minus zero


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f}%"


def summary(analysis: "Analysis") -> str:
    verdict = analysis.verdict
    title = f"{analysis.id}: {verdict.label}" + (f" ({verdict.shape})" if verdict.shape else "")
    lines = [title, "=" * len(title), *(f"  - {reason}" for reason in verdict.reasons), ""]
    metrics = [
        ("accuracy (all pairs)", _percent(analysis.accuracy)),
        ("gradient symmetricity", f"{_number(analysis.gradient_symmetricity)}   (paper's 100 triples)"),
        ("", f"{_number(analysis.gradient_symmetricity_exact)}   (all p^3 triples)"),
        ("distance irrelevance", f"{_number(analysis.distance_irrelevance)}   (correct logit, the paper's definition)"),
        ("", f"{_number(analysis.distance_irrelevance_wrong_logit)}   (largest wrong logit, the released table's)"),
        ("circularity", _circularity(analysis)),
    ]
    lines += [f"  {name:<22} {value}" for name, value in metrics]
    if analysis.circles:
        lines += ["", *_circle_table(analysis.circles)]
    if analysis.anatomy is not None:
        lines += _anatomy_lines(analysis)
    return "\n".join(lines)


def _circularity(analysis: "Analysis") -> str:
    if len(analysis.operand_circularity) == 1:
        return _number(analysis.circularity)
    first, second = map(_number, analysis.operand_circularity)
    return f"undefined   (separate tables; the first operand's alone {first}, the second's {second})"


def _components(item: "CircleEvidence") -> str:
    names = [str(component) for component in item.circle.components]
    if item.circle.method == "components":
        return "-".join(names)
    return "mixed " + ",".join(names[:4]) + (",..." if len(names) > 4 else "")


def _circle_table(circles: tuple["CircleEvidence", ...]) -> list[str]:
    head = ["frequency", "components", "variance", "role", "FVE Clock", "FVE Pizza", "FVE accomp.", "accuracy alone"]
    rows = [
        [
            str(item.circle.frequency),
            _components(item),
            _percent(item.circle.variance_share),
            f"accompanies {item.accompanies}" if item.accompanies else item.role,
            _percent(item.fve_clock),
            _percent(item.fve_pizza),
            _percent(item.fve_accompanying),
            _percent(item.accuracy_alone),
        ]
        for item in circles
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    left = (1, 3)  # text columns; numbers line up on the right
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]


def _anatomy_lines(analysis: "Analysis") -> list[str]:
    opened = analysis.anatomy
    assert opened is not None
    lines = ["", "  inside the linear network:"]
    relu = opened.second_relu
    if relu is not None:
        lines.append(
            f"    without the second ReLU: accuracy {_percent(relu.accuracy)} -> {_percent(relu.accuracy_without)}, "
            f"cross-entropy {relu.cross_entropy:.3g} -> {relu.cross_entropy_without:.3g}"
        )
    for pizza in opened.pizzas:
        readout = pizza.readouts[0]
        lines.append(
            f"    circle {pizza.frequency}: matches the unembedding, {len(pizza.rows)} hidden units, readout "
            f"{readout.amplitude:.2f} cos(2t {'+' if readout.phase >= 0 else '-'} {abs(readout.phase):.2f}), "
            f"{_percent(readout.variance_explained)} of its variance"
        )
    if opened.unmatched:
        lines.append(f"    no circle in the unembedding for frequency {', '.join(map(str, opened.unmatched))}")
    if not math.isnan(opened.exclusive_share):
        lines.append(f"    {_percent(opened.exclusive_share)} of the hidden units in use read one of these circles alone")
    return lines
