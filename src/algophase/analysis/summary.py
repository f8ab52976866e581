"""One network's analysis as text a person reads in a terminal: the verdict, why, the metrics, the circles.

Pages and cards write numbers and circles the same way.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from algophase.analysis.catalogue import CIRCLE_QUANTITIES, CIRCULARITY, listed, metrics
from algophase.wording import floored

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis
    from algophase.analysis.evidence import CircleEvidence

_CIRCLE_COLUMNS = ("variance_share", "role", "fve_clock", "fve_pizza", "fve_accompanying", "accuracy_alone")


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f}%"


@dataclass(frozen=True)
class MetricRow:
    """One line of a network's metrics. name: "" for another of the one above; which: of several; metric: its name in JSON."""

    name: str
    which: str
    value: str
    metric: str = ""


def metric_rows(analysis: "Analysis", every: bool = False) -> list[MetricRow]:
    """A network's metrics as summaries, pages and cards list them. every: also those that are not shown by default."""
    rows, above = list[MetricRow](), ""
    quantities = metrics() if every else listed(analysis.metrics)
    families = [quantity.family for quantity in quantities]
    for quantity in quantities:
        value = analysis.metrics.get(quantity.name, math.nan)
        if math.isnan(value) and not quantity.shown:
            continue
        name = quantity.family if families.count(quantity.family) > 1 else quantity.label
        rows.append(MetricRow("" if name == above else name, quantity.which, quantity.text(value), quantity.name))
        above = name
        if quantity.name == CIRCULARITY and len(analysis.operand_circularity) > 1:
            operands = zip(("first", "second"), analysis.operand_circularity, strict=True)
            rows += [MetricRow("", f"the {operand} operand's table", quantity.text(each)) for operand, each in operands]
    return rows


def circle_head(*before: str) -> list[str]:
    """The head of a table of circles; before: the columns that stand before those of `circle_cells`."""
    labels = {field.name: field.label for field in CIRCLE_QUANTITIES}
    return [*before, *(labels[name] for name in _CIRCLE_COLUMNS)]


def circle_cells(item: "CircleEvidence") -> list[str]:
    """A circle's variance, part, what the three forms explain of it (FVE), and its accuracy alone: a row of a table."""
    explained = (item.fve_clock, item.fve_pizza, item.fve_accompanying)
    return [percent(item.circle.variance_share), item.part, *map(percent, explained), floored(item.accuracy_alone)]


def summary(analysis: "Analysis", name: str = "") -> str:
    """name: what to call the network, where its id does not say which one it is."""
    verdict = analysis.verdict
    title = f"{name or analysis.id}: {verdict.label}" + (f" ({verdict.shape})" if verdict.shape else "")
    lines = [title, "=" * len(title), *(f"  - {reason}" for reason in (*verdict.reasons, *analysis.notes)), ""]
    lines += [f"  {row.name:<22} {row.value}" + (f"   ({row.which})" if row.which else "") for row in metric_rows(analysis)]
    if analysis.circles:
        lines += ["", *_circle_table(analysis.circles)]
    if analysis.anatomy is not None:
        lines += _anatomy_lines(analysis)
    return "\n".join(lines)


def _components(item: "CircleEvidence") -> str:
    names = [str(component) for component in item.circle.components]
    if item.circle.method == "components":
        return "-".join(names)
    return "mixed " + ",".join(names[:4]) + (",..." if len(names) > 4 else "")


def _circle_table(circles: tuple["CircleEvidence", ...]) -> list[str]:
    head = [name.replace("accompanying", "accomp.") for name in circle_head("frequency", "components")]
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
