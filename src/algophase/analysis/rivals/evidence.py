"""Everything that accounts are judged by, computed once per network."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from algophase.analysis.program.actions import ClassShares, action_sums, class_shares
from algophase.analysis.program.adding import Adding, measure_adding
from algophase.analysis.result import Analysis
from algophase.analysis.rivals.account import Measure
from algophase.analysis.rivals.outcomes import Answers, Logits
from algophase.analysis.rivals.reads import UnitReads, read_units
from algophase.analysis.subject import Subject
from algophase.analysis.verdict.group_verdict import ADDS
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.fourier import Array
from algophase.core.known_groups import name_of
from algophase.core.lines import reaches
from algophase.core.representations import Representation, representations

# What an account leaves of A and B, (n, m) each.
Form = Callable[[UnitReads], tuple[Array, Array]]
NO_UNITS = "the network does not say what its hidden units read"
INSTANCES = "logits in instances with a form"
NAMED = "the line of our verdicts: with less in instances, a network has no algorithm"
EXPLAINED = "the line of our verdicts: a program must explain 80% of the logits"


class Evidence:
    """One network with its analysis.

    analysis: by `analyze`. subject: the network under measurement, its numbers in the order of the
        group's elements.
    """

    def __init__(self, analysis: Analysis, subject: Subject, thresholds: Thresholds) -> None:
        self.analysis, self.thresholds = analysis, thresholds
        self.group = subject.group
        self.answers = Answers(subject.network, subject.group)

    @property
    def group_name(self) -> str:
        if self.group.is_cyclic:
            return f"Z{self.group.order}"
        return name_of(self.group) or f"a group of order {self.group.order}"

    @property
    def named_share(self) -> float:
        """Share of the logits in instances with a form. Instances overlap: their sum may exceed 1
        by a little.
        """
        return min(1.0, self.analysis.verdict.confidence.named_share)

    @cached_property
    def reads(self) -> UnitReads | None:
        """What hidden units read; None where the network does not say."""
        return None if self.answers.hidden is None else read_units(self.answers)

    @property
    def unit_notes(self) -> list[str]:
        """What accounts that speak of A(x) + B(y) alone leave out, where that matters."""
        if self.adding is None or reaches(self.adding.adding, ADDS):
            return []
        left = f"{self.adding.adding:.1%} of the logits are left"
        return [
            f"units here also read products, which this account leaves out: without them {left}"
        ]

    @cached_property
    def adding(self) -> Adding | None:
        """What is left of the logits without interactions in what the units read; None where the
        network does not say what they read.
        """
        if self.answers.hidden is None:
            return None
        first = self.answers.first[None]
        second = self.answers.second[None]
        measured = measure_adding(self.answers.network, first, second, beside_logits=False)
        (result,) = measured.get()
        return result

    @cached_property
    def class_shares(self) -> ClassShares:
        """What the logits are functions of."""
        if self.analysis.on_group is not None:
            return self.analysis.on_group.shares
        first = self.answers.first[None]
        second = self.answers.second[None]
        sums = action_sums(self.answers.network, self.group, first, second)
        return class_shares(self.group, sums.get())

    @cached_property
    def key_representations(self) -> list[tuple[Representation, ...]]:
        """Those of each instance of the analysis, the largest share of the logits first."""
        members = representations(self.group)
        if self.analysis.on_group is not None:
            by_name = {member.name: member for member in members}
            instances = self.analysis.on_group.instances
            return [tuple(by_name[name] for name in one.representations) for one in instances]
        by_frequency = {_frequency(member): member for member in members}
        ordered = sorted(self.analysis.instances.instances, key=lambda one: -one.share)
        return [tuple(by_frequency[k] for k in one.frequencies) for one in ordered]

    def label(self, member: Representation) -> str:
        """What to call a representation: of Z_n by its frequency."""
        return f"k = {_frequency(member)}" if self.group.is_cyclic else member.name

    def instead(
        self, name: str, reads: UnitReads, by_chance: UnitReads, form: Form
    ) -> tuple[Measure, Measure]:
        """Two measures of the network whose units read what an account says and nothing else: the
        share of its logits that is left, which decides, and its accuracy.

        name: how the units read then. by_chance: units that read something random, for which the
        form is taken as well. form: what it makes of A and B.
        """
        (outcome,) = self.answers.outcomes([self._logits(reads.mean, *form(reads))])
        random_logits = self._logits(reads.mean, by_chance.first, by_chance.second)
        changed_logits = self._logits(reads.mean, *form(by_chance))
        (random,) = self.answers.outcomes([changed_logits], random_logits)
        explained = Measure(
            f"logits explained by units that {name}",
            outcome.explained,
            self.thresholds.program,
            by_chance=random.explained,
            why=EXPLAINED,
        )
        return explained, Measure("accuracy of such units", outcome.accuracy)

    def _logits(self, mean: Array, first: Array, second: Array) -> Logits:
        return self.answers.of_sums(mean + first, second)


def _frequency(member: Representation) -> int:
    """Of a representation of Z_n: k of the character e^(2 pi i k x / n), k at most n / 2."""
    n = member.group.order
    frequency = round(float(np.angle(member.character[1])) * n / (2 * np.pi))
    return abs(frequency)
