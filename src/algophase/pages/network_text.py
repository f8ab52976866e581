"""The text about one network: summaries, cards, reports and the explorer write the same numbers
the same way.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from algophase.core.wording import form_name
from algophase.pages.text import accuracy_text, percent
from algophase.pictures.program import Profile

Record = Mapping[str, Any]  # what `algophase analyze --json` prints of something: null is undefined

GROUP_HEAD = [
    *("instance", "dimension", "kind", "form", "share", "in tables"),
    *("without interactions", "accuracy alone", "accuracy without"),
]
INSTANCE_HEAD = [
    *("instance", "form", "share", "fit", "adding", "accuracy alone", "accuracy without"),
]
CIRCLE_HEAD = ["variance", "role", "FVE Clock", "FVE Pizza", "FVE accompanying", "accuracy alone"]


@dataclass(frozen=True)
class MetricRow:
    """One line of a network's metrics.

    name: the metric; "" for another value of the metric above. which: what sets it apart from that
        one. metric: its name in JSON.
    """

    name: str
    which: str
    value: str
    metric: str = ""


@dataclass(frozen=True)
class NetworkText:
    """One network's analysis for a page.

    record: what `algophase analyze --json` prints. headline: what the network is, in one phrase.
    reasons: why, without those that describe one instance each. certainty: how sure that is.
    paper_title: the paper's label, with how a non-circular embedding looks.
    remainder: share of the logits in no instance. profiles: of its largest instances.
    """

    record: Record
    headline: str
    reasons: Sequence[str]
    certainty: str
    paper_title: str
    remainder: float
    metrics: Sequence[MetricRow]
    profiles: Sequence[Profile]

    @property
    def has_verdict(self) -> bool:
        """The rows of older tables have the paper's label alone."""
        return "verdict" in self.record

    @property
    def instances(self) -> Sequence[Record]:
        instances: Sequence[Record] = self.record.get("instances", ())
        return instances


def number(value: float | None) -> float:
    """A number of a record."""
    return math.nan if value is None else value


def frequencies_text(frequencies: Sequence[int]) -> str:
    return ", ".join(map(str, frequencies))


def instance_rows(instances: Sequence[Record]) -> list[list[str]]:
    """A table of the instances under `INSTANCE_HEAD`."""
    rows = []
    for instance in instances:
        name = frequencies_text(instance["frequencies"])
        values = [instance["share"], instance["fit"], instance.get("adding")]
        shares = [percent(value) for value in values]
        accuracies = [instance["accuracy_alone"], instance["accuracy_without"]]
        rows.append([name, form_name(instance["form"]), *shares, *map(accuracy_text, accuracies)])
    return rows


def group_rows(instances: Sequence[Record]) -> list[list[str]]:
    """A table of the instances of a network on a group, under `GROUP_HEAD`."""
    rows = []
    for instance in instances:
        dimensions = ", ".join(map(str, instance["dimensions"]))
        shares = [instance["share"], instance["embedding_share"], instance["adding"]]
        accuracies = [instance["accuracy_alone"], instance["accuracy_without"]]
        row = [", ".join(instance["representations"]), dimensions, ", ".join(instance["kinds"])]
        rows.append(
            [*row, instance["form"], *map(percent, shares), *map(accuracy_text, accuracies)]
        )
    return rows


def group_lines(group: Record) -> list[str]:
    """What the logits of a network on a group are functions of, in two lines."""
    shares = group["shares"]
    return [
        f"of the logits' norm, {percent(shares['bi_equivariant'])} are functions of x^-1 z y^-1 "
        f"({percent(shares['characters'])} characters)",
        f"one-sided: {percent(shares['left'])} of (y, x^-1 z), {percent(shares['right'])} of "
        f"(x, z y^-1); {percent(shares['readout'])} of (xy, z); "
        f"{percent(shares['offsets'])} offsets",
    ]


def circle_cells(circle: Record) -> list[str]:
    """A row of a table of circles, under `CIRCLE_HEAD`: its variance, its part, what the three
    formulas explain of it (FVE), and its accuracy alone.
    """
    accompanied = circle["accompanies"]
    part = f"accompanies {accompanied}" if accompanied else circle["role"]
    explained = [circle["fve_clock"], circle["fve_pizza"], circle["fve_accompanying"]]
    return [
        percent(circle["variance_share"]),
        part,
        *map(percent, explained),
        accuracy_text(circle["accuracy_alone"]),
    ]


def program_lines(program: Record) -> list[str]:
    """The program in three lines: which key frequencies, and what the logits are made of."""
    frequencies = program["frequencies"]
    if not frequencies:
        return ["no key frequency: nothing in the logits follows a + b"]
    keys = []
    for frequency, share in zip(frequencies, program["frequency_shares"], strict=True):
        keys.append(f"{frequency} ({number(share):.1%})")
    count = len(frequencies)
    named = "1 key frequency" if count == 1 else f"{count} key frequencies"
    explained = f"{number(program['explained']):.2%}"
    lines = [
        f"{named}: {', '.join(keys)}; with the read-out they explain {explained}",
        f"parts of the logits' norm: {percent(program['answer_share'])} answer, "
        f"{percent(program['readout_share'])} read-out, "
        f"{percent(program['offset_share'])} offsets, {percent(program['rest'])} rest",
    ]
    if program.get("left_share") is not None:  # an older table has no such column
        lines.append(
            f"functions of a + b - c: {percent(program['answer_only_share'])}; of (b, c - a): "
            f"{percent(program['left_share'])}, of (a, c - b): {percent(program['right_share'])}, "
            f"of (a + b, c): {percent(program['sum_share'])}"
        )
    return lines
