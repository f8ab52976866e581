"""What an analysis says: everything measured on one network, its verdict, and how it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from algophase.analysis.circles.roles import CircleEvidence, with_role
from algophase.analysis.hidden.anatomy import Anatomy
from algophase.analysis.presentation import network_text, program_of
from algophase.analysis.program.by_representation import OnGroup
from algophase.analysis.program.instances import Instances
from algophase.analysis.program.read import Program
from algophase.analysis.record import record_of
from algophase.analysis.subject import Subject
from algophase.analysis.verdict.decide import Verdict, decide, findings
from algophase.analysis.verdict.group_verdict import decide_on_group
from algophase.analysis.verdict.paper_label import (
    Measurements,
    PaperLabel,
    PaperVerdict,
    label_by_paper,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.answers import Learned
from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.core.wording import floored
from algophase.pages.card import card
from algophase.pages.summary import summary
from algophase.pictures.to_matplotlib import draw
from algophase.record.codec import UNRECORDED

if TYPE_CHECKING:
    from algophase.pictures.style import Figure


@dataclass(frozen=True)
class Analysis:
    """Everything measured on one network. Undefined numbers are NaN here and null in JSON.

    Attributes:
        id: the network's name.
        metrics: every metric of the catalogue by its name. Each is an attribute as well:
            `analysis.circularity`.
        operand_circularity: the circularity of each distinct operand table. With two tables
            `circularity` is undefined, as in the paper.
        verdict: which algorithm, with a sentence, its reasons, and how sure it is.
        program: what the network computes: a profile per key frequency.
        instances: the small algorithms that it runs side by side.
        paper: the paper's label, by the paper's rules.
        measured: the numbers behind the paper's label.
        circles: the circles of its embedding and what each does.
        anatomy: of a linear network that adds its embeddings; None for others.
        cautions: how the network was read and cut, and what the metrics cannot say.
        instead: what the network learned in place of its task, where we can tell.
        on_group: what it computes, where its group is not cyclic; then `program`, `instances` and
            `circles` are empty.
        subject: the network with everything computed from it: tables, logits, components, circles,
            hidden units. Only `analyze` keeps it; analyses of many networks, and those read from a
            file or a table, do not have it.

    Example:
        >>> from algophase import analyze, handmade_pizza
        >>> analysis = analyze(handmade_pizza(23))
        >>> analysis
        <Analysis of pizza-p23-k1-5: two Pizzas; additivity 100.00%, program 99.09%>
        >>> round(analysis.gradient_symmetricity, 4), analysis.verdict.label, analysis.paper_label
        (1.0, 'Pizza', 'Pizza')
        >>> [instance.frequencies for instance in analysis.instances.instances]
        [(1,), (5,)]
    """

    id: str
    metrics: Mapping[str, float]
    operand_circularity: tuple[float, ...]
    verdict: Verdict
    program: Program
    instances: Instances
    paper: PaperVerdict
    measured: Measurements
    circles: tuple[CircleEvidence, ...]
    anatomy: Anatomy | None
    cautions: tuple[str, ...] = ()
    instead: Learned | None = None
    on_group: OnGroup | None = None
    subject: Subject | None = field(default=None, repr=False, compare=False, metadata=UNRECORDED)

    def without_subject(self) -> "Analysis":
        """The same analysis without the network and its logits: small enough to keep thousands."""
        return replace(self, subject=None)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but the network, which may be anything."""
        return {**self.__dict__, "subject": None}

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.metrics})

    def __getattr__(self, name: str) -> float:
        """A metric by its name."""
        metrics: Mapping[str, float] = self.__dict__.get("metrics", {})
        if name not in metrics:
            raise AttributeError(
                f"an analysis has no {name!r}; its metrics are {', '.join(metrics)}"
            )
        return metrics[name]

    @property
    def sentence(self) -> str:
        """The verdict in words: "two Clocks and a Pizza (3.1%)"."""
        return self.verdict.sentence

    @property
    def paper_label(self) -> PaperLabel:
        """The label by the paper's rules."""
        return self.paper.label

    @property
    def label(self) -> str:
        """The verdict's label; for a row of an older table the paper's."""
        return self.verdict.label if self.verdict.known else self.paper.label

    @property
    def headline(self) -> str:
        """What the network is, in one phrase; for a row of an older table by the paper's label."""
        return self.verdict.headline if self.verdict.known else self.paper.title

    @property
    def additivity(self) -> float:
        """Share of the network's logits that the sum of its instances explains, each kept alone."""
        return self.instances.additivity

    def decide(self, thresholds: Thresholds) -> "Analysis":
        """The same measurements under other thresholds. Nothing is measured again.

        Arguments:
            thresholds: the lines between one verdict and the next.

        Returns:
            An `Analysis` with a new verdict and paper's label.

        Example:
            >>> from algophase import Thresholds, analyze, handmade_clock
            >>> analysis = analyze(handmade_clock(23))
            >>> analysis.decide(Thresholds(clock_distance_irrelevance=0.9)).verdict.label
            'Clock'
        """
        check_thresholds(thresholds)
        verdict = self.verdict
        if self.on_group is not None:
            return replace(self, verdict=decide_on_group(self.on_group, thresholds))
        if verdict.known:
            verdict = decide(findings(self.program, self.instances, self.instead), thresholds)
        circles = tuple(with_role(circle, thresholds) for circle in self.circles)
        paper = label_by_paper(self.measured, circles, thresholds)
        return replace(self, verdict=verdict, circles=circles, paper=paper)

    def __str__(self) -> str:
        return summary(network_text(self))

    def __repr__(self) -> str:
        if not self.verdict.known:
            return f"<Analysis of {self.id}: {self.paper.label} by the paper's rules>"
        numbers = f"additivity {floored(self.additivity)}"
        if self.on_group is None:
            numbers += f", program {floored(self.program.explained)}"
        return f"<Analysis of {self.id}: {self.verdict.headline}; {numbers}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(network_text(self))

    def plot(self) -> "Figure":
        """Draw the program as a Matplotlib figure: the instances' profiles and shares of the
        logits; on a group that is not cyclic, its representations and shares.
        """
        return draw(program_of(self, f"{self.id}: {self.label}"))

    def to_dict(self) -> dict[str, Any]:
        """The record that `algophase analyze --json` prints: numbers, text and lists, None for what
        is undefined.
        """
        return record_of(self)


def check_thresholds(thresholds: object) -> None:
    if not isinstance(thresholds, Thresholds):
        raise InputError(
            f"thresholds is {shown(thresholds)}; it must be Thresholds, such as "
            "Thresholds(accuracy=0.99)"
        )
