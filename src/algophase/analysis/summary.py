"""One network's analysis as text a person reads in a terminal: the verdict, why, its instances, its
program, the metrics.

Pages and cards write the same numbers the same way.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from algophase.analysis.catalogue import CIRCLE_QUANTITIES, CIRCULARITY, listed, metrics
from algophase.analysis.verdict.decide import fit_of, form_name
from algophase.core.wording import floored

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis
    from algophase.analysis.circles.roles import CircleEvidence
    from algophase.analysis.verdict.paper_label import PaperVerdict

_CIRCLE_COLUMNS = (
    "variance_share",
    "role",
    "fve_clock",
    "fve_pizza",
    "fve_accompanying",
    "accuracy_alone",
)


def percent(value: float) -> str:
    return (
        "-" if math.isnan(value) else f"{round(100 * value, 2) + 0.0:.2f}%"
    )  # + 0.0: no minus zero


@dataclass(frozen=True)
class MetricRow:
    """One line of a network's metrics. name: "" for another of the one above; which: of several;
    metric: its name in JSON.
    """

    name: str
    which: str
    value: str
    metric: str = ""


def metric_rows(analysis: "Analysis", every: bool = False) -> list[MetricRow]:
    """A network's metrics as summaries, pages and cards list them. every: also those that are
    not shown by default.
    """
    rows, above = list[MetricRow](), ""
    quantities = metrics() if every else listed(analysis.metrics)
    families = [quantity.family for quantity in quantities]
    for quantity in quantities:
        value = analysis.metrics.get(quantity.name, math.nan)
        if math.isnan(value) and not quantity.shown:
            continue
        name = quantity.family if families.count(quantity.family) > 1 else quantity.label
        rows.append(
            MetricRow(
                "" if name == above else name, quantity.which, quantity.text(value), quantity.name
            )
        )
        above = name
        if quantity.name == CIRCULARITY and len(analysis.operand_circularity) > 1:
            operands = zip(("first", "second"), analysis.operand_circularity, strict=True)
            rows += [
                MetricRow("", f"the {operand} operand's table", quantity.text(each))
                for operand, each in operands
            ]
    return rows


def circle_head(*before: str) -> list[str]:
    """The head of a table of circles; before: the columns that stand before those of
    `circle_cells`.
    """
    labels = {field.name: field.label for field in CIRCLE_QUANTITIES}
    return [*before, *(labels[name] for name in _CIRCLE_COLUMNS)]


def circle_cells(item: "CircleEvidence") -> list[str]:
    """A circle's variance, part, what the three forms explain of it (FVE), and its accuracy
    alone: a row of a table.
    """
    explained = (item.fve_clock, item.fve_pizza, item.fve_accompanying)
    return [
        percent(item.circle.variance_share),
        item.part,
        *map(percent, explained),
        floored(item.accuracy_alone),
    ]


INSTANCE_HEAD = ["instance", "form", "share", "fit", "accuracy alone", "accuracy without"]


def instance_rows(analysis: "Analysis") -> list[list[str]]:
    """A table of the instances under `INSTANCE_HEAD`: frequencies, form, share of the logits,
    fit, accuracies.
    """
    rows = []
    for instance, form in zip(analysis.instances.instances, analysis.verdict.forms, strict=True):
        name = ", ".join(map(str, instance.frequencies))
        shares = (percent(instance.share), percent(fit_of(instance, form)))
        accuracies = (floored(instance.accuracy_alone), floored(instance.accuracy_without))
        rows.append([name, form_name(form), *shares, *accuracies])
    return rows


def _instance_lines(analysis: "Analysis") -> list[str]:
    """The table of instances, with what they leave of the logits as its last line."""
    remainder = analysis.instances.remainder
    last = [
        "remainder",
        "",
        f"{round(100 * remainder, 1) + 0.0:.1f}%",
        "",
        "",
        "",
    ]  # + 0.0: no minus zero
    lines = aligned([INSTANCE_HEAD, *instance_rows(analysis), last], left=(0, 1))
    if round(100 * remainder, 1) < 0:
        lines[-1] += " (instances overlap)"
    return lines


def program_lines(analysis: "Analysis") -> list[str]:
    """The program in two lines: which key frequencies, and what the logits are made of."""
    program = analysis.program
    if not program.frequencies:
        return ["no key frequency: nothing in the logits follows a + b"]
    keys = ", ".join(
        f"{k} ({share:.1%})"
        for k, share in zip(program.frequencies, program.frequency_shares, strict=True)
    )
    count = len(program.frequencies)
    named = "1 key frequency" if count == 1 else f"{count} key frequencies"
    return [
        f"{named}: {keys}; together with the read-out they explain {program.explained:.2%}",
        f"of the logits' norm, {percent(program.answer_share)} follow the answer, "
        f"{percent(program.readout_share)} are "
        f"read-out, {percent(program.offset_share)} offsets, {percent(program.rest)} the rest",
    ]


def paper_title(paper: "PaperVerdict") -> str:
    """The paper's label with how a non-circular embedding looks."""
    return paper.label + (f" ({paper.shape})" if paper.shape else "")


def headline(analysis: "Analysis") -> str:
    """What a network is in one phrase: the verdict's headline, or for a row of an older table
    the paper's label.
    """
    return analysis.verdict.headline if analysis.verdict.known else paper_title(analysis.paper)


def summary(analysis: "Analysis", name: str = "") -> str:
    """name: what to call the network, where its id does not say which one it is."""
    verdict, paper = analysis.verdict, analysis.paper
    title = f"{name or analysis.id}: {headline(analysis)}"
    lines = [title, "=" * len(title), *(f"  - {reason}" for reason in verdict.general)]
    if analysis.instances.instances:
        lines += ["", *_instance_lines(analysis)]
    if verdict.known:
        lines += ["", *_paragraph("program", program_lines(analysis)), f"  {verdict.confidence}"]
    lines += [
        "",
        f"  by the paper's rules: {paper_title(paper)}",
        *(f"  - {reason}" for reason in paper.reasons),
        "",
    ]
    lines += [
        f"  {row.name:<22} {row.value}" + (f"   ({row.which})" if row.which else "")
        for row in metric_rows(analysis)
    ]
    lines += [f"  note: {caution}" for caution in analysis.cautions]
    if analysis.anatomy is not None:
        lines += _anatomy_lines(analysis)
    return "\n".join(lines)


def _paragraph(name: str, lines: Sequence[str]) -> list[str]:
    return [f"  {name if place == 0 else '':<9} {line}" for place, line in enumerate(lines)]


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """A table as text; left: the columns of text, for numbers line up on the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _anatomy_lines(analysis: "Analysis") -> list[str]:
    opened = analysis.anatomy
    assert opened is not None
    lines = ["", "  inside the linear network:"]
    relu = opened.second_relu
    if relu is not None:
        lines.append(
            f"    without the second ReLU: accuracy {floored(relu.accuracy)} -> "
            f"{floored(relu.accuracy_without)}, "
            f"cross-entropy {relu.cross_entropy:.3g} -> {relu.cross_entropy_without:.3g}"
        )
    for pizza in opened.pizzas:
        readout = pizza.readouts[0]
        lines.append(
            f"    circle {pizza.frequency}: matches the unembedding, {len(pizza.rows)} hidden "
            "units, readout "
            f"{readout.amplitude:.2f} cos(2t {'+' if readout.phase >= 0 else '-'} "
            f"{abs(readout.phase):.2f}), "
            f"{percent(readout.variance_explained)} of its variance"
        )
    if opened.unmatched:
        others = ", ".join(map(str, opened.unmatched))
        lines.append(f"    other circles, with another role or not in the unembedding: {others}")
    if not math.isnan(opened.exclusive_share):
        lines.append(
            f"    {percent(opened.exclusive_share)} of the hidden units in use read one of "
            "these circles alone"
        )
    return lines
