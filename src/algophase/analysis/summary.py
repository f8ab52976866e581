"""One network's analysis as text a person reads in a terminal: the verdict, why, the metrics, the circles.

Pages and cards write numbers and circles the same way.
"""

import math
from typing import TYPE_CHECKING

from algophase.wording import floored

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis
    from algophase.analysis.evidence import CircleEvidence


def metric_text(value: float, digits: int = 4) -> str:
    return "undefined" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: no minus zero


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f}%"


def circle_cells(item: "CircleEvidence") -> list[str]:
    """A circle's variance, part, what the three forms explain of it (FVE), and its accuracy alone: a row of a table."""
    explained = (item.fve_clock, item.fve_pizza, item.fve_accompanying)
    return [percent(item.circle.variance_share), item.part, *map(percent, explained), floored(item.accuracy_alone)]


def summary(analysis: "Analysis", name: str = "") -> str:
    """name: what to call the network, where its id does not say which one it is."""
    verdict = analysis.verdict
    title = f"{name or analysis.id}: {verdict.label}" + (f" ({verdict.shape})" if verdict.shape else "")
    lines = [title, "=" * len(title), *(f"  - {reason}" for reason in verdict.reasons), ""]
    metrics = [
        ("accuracy (all pairs)", floored(analysis.accuracy)),
        ("gradient symmetricity", f"{metric_text(analysis.gradient_symmetricity)}   (paper's 100 triples)"),
        ("", f"{metric_text(analysis.gradient_symmetricity_exact)}   (all p^3 triples)"),
        *_without_equals_sign(analysis),
        ("distance irrelevance", f"{metric_text(analysis.distance_irrelevance)}   (correct logit, the paper's definition)"),
        ("", f"{metric_text(analysis.distance_irrelevance_wrong_logit)}   (largest wrong logit, the released table's)"),
        ("circularity", _circularity(analysis)),
    ]
    lines += [f"  {name:<22} {value}" for name, value in metrics]
    if analysis.circles:
        lines += ["", *_circle_table(analysis.circles)]
    if analysis.anatomy is not None:
        lines += _anatomy_lines(analysis)
    return "\n".join(lines)


def _without_equals_sign(analysis: "Analysis") -> list[tuple[str, str]]:
    bare = analysis.gradient_symmetricity_without_equals_sign
    return [] if math.isnan(bare) else [("", f"{metric_text(bare)}   (without the equals sign, the released table's)")]


def _circularity(analysis: "Analysis") -> str:
    if len(analysis.operand_circularity) == 1:
        return metric_text(analysis.circularity)
    first, second = map(metric_text, analysis.operand_circularity)
    return f"undefined   (separate tables; the first operand's alone {first}, the second's {second})"


def _components(item: "CircleEvidence") -> str:
    names = [str(component) for component in item.circle.components]
    if item.circle.method == "components":
        return "-".join(names)
    return "mixed " + ",".join(names[:4]) + (",..." if len(names) > 4 else "")


def _circle_table(circles: tuple["CircleEvidence", ...]) -> list[str]:
    head = ["frequency", "components", "variance", "role", "FVE Clock", "FVE Pizza", "FVE accomp.", "accuracy alone"]
    rows = [[str(item.circle.frequency), _components(item), *circle_cells(item)] for item in circles]
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
            f"    without the second ReLU: accuracy {floored(relu.accuracy)} -> {floored(relu.accuracy_without)}, "
            f"cross-entropy {relu.cross_entropy:.3g} -> {relu.cross_entropy_without:.3g}"
        )
    for pizza in opened.pizzas:
        readout = pizza.readouts[0]
        lines.append(
            f"    circle {pizza.frequency}: matches the unembedding, {len(pizza.rows)} hidden units, readout "
            f"{readout.amplitude:.2f} cos(2t {'+' if readout.phase >= 0 else '-'} {abs(readout.phase):.2f}), "
            f"{percent(readout.variance_explained)} of its variance"
        )
    if opened.unmatched:
        others = ", ".join(map(str, opened.unmatched))
        lines.append(f"    other circles, with another role or not in the unembedding: {others}")
    if not math.isnan(opened.exclusive_share):
        lines.append(f"    {percent(opened.exclusive_share)} of the hidden units in use read one of these circles alone")
    return lines
