"""A network with its analysis and what pictures and tables show of it, each computed once.

Everything that presents a network (pictures, reports, the explorer, the paper's items) works on a
specimen.
"""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from algophase.analysis.analyze import analyze_subject
from algophase.analysis.checks import check_network
from algophase.analysis.circles.find import Isolation, isolate_components, isolate_group
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.logits.all_pairs import by_difference_and_sum, correct_logits, right_answers
from algophase.analysis.operation import on_its_group
from algophase.analysis.program.mean_logits import MeanLogits, mean_logits
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.networks import Network

_Key = tuple[
    frozenset[int], bool
]  # frequencies of the embedding, and whether they are left out rather than kept
MOST_ANSWERS = 64  # kept of one network: 56 kB each at p = 59
MOST_ISOLATIONS = 8  # with all their logits: 1.6 MB each at p = 59
MOST_MEANS = 16  # mean logits of a network on a group: 0.5 MB each at order 120


@dataclass(frozen=True)
class Answer:
    """What a network, or a part of it, answers: the correct logit of each pair, (a, b), and
    whether it is the answer.
    """

    correct: Tensor
    right: Tensor

    @property
    def accuracy(self) -> float:
        return self.right.double().mean().item()

    @cached_property
    def logits(self) -> Tensor:
        """Correct logits, rows a - b and columns a + b (the paper's p is odd; NaN where there is
        no pair).
        """
        return by_difference_and_sum(self.correct)

    @property
    def by_difference(self) -> float:
        """Share of the correct logits' variance that a - b alone explains."""
        return self._explained(1)

    @property
    def by_sum(self) -> float:
        """The same for a + b."""
        return self._explained(0)

    @property
    def profile(self) -> Tensor:
        """Mean correct logit at each a - b, (p,)."""
        return self.logits.nanmean(1)

    @property
    def accuracies(self) -> Tensor:
        """Accuracy at each a - b, (p,)."""
        return by_difference_and_sum(self.right.double()).nanmean(1)

    def _explained(self, axis: int) -> float:
        logits = self.logits
        of_means = logits.nanmean(axis).var(correction=0)
        whole = logits[~logits.isnan()].var(correction=0)
        return (of_means / whole).item()


def answer_of(logits: Tensor) -> Answer:
    """From all logits, (a, b, outputs)."""
    return Answer(correct_logits(logits), right_answers(logits))


class Specimen(Subject):
    """A network with its analysis, and what it answers with parts of its embedding.

    Arguments:
        network: the network.
        analysis: its analysis, if you have it already; otherwise it is computed on first use.
        name: its name in pictures and pages; by default its id.
        notes: what a reader should know about where it comes from.
        history: its training curves, lists by name, with the epochs among them.

    Example:
        >>> from algophase import Specimen, handmade_pizza
        >>> specimen = Specimen(handmade_pizza(59))
        >>> specimen.title, specimen.without([]).accuracy
        ('pizza-p59-k1-5-17: Pizza', 1.0)
    """

    def __init__(
        self,
        network: Network,
        analysis: Analysis | None = None,
        *,
        name: str = "",
        notes: Sequence[str] = (),
        history: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        subject = None if analysis is None else analysis.subject
        if subject is not None and subject.device.type == "cpu" and _is_of(subject, network):
            self.__dict__.update(subject.__dict__)  # with all that was computed of it
        else:
            check_network(network)
            on_group = analysis is None or analysis.on_group is not None
            super().__init__(on_its_group(network) if on_group else network)
        self.name = name or str(network.id)
        self.notes = tuple(notes)
        self.history = history
        self._answers: OrderedDict[_Key, Answer] = OrderedDict()
        self._isolations: OrderedDict[_Key, Isolation] = OrderedDict()
        self._means: OrderedDict[tuple[str, ...] | None, MeanLogits] = OrderedDict()
        if analysis is not None:
            self.analysis = replace(analysis, subject=self)

    @cached_property
    def analysis(self) -> Analysis:
        """Its analysis, computed on first use."""
        return analyze_subject(self)

    @property
    def has_code(self) -> bool:
        """Whether it can run on parts of its embedding. A function cannot, nor a network saved
        without its code.
        """
        return self.given.has_code

    @property
    def title(self) -> str:
        """Its name and its label."""
        return f"{self.name}: {self.analysis.label}"

    @cached_property
    def evidence(self) -> tuple[CircleEvidence, ...]:
        """The circles and what each does, the largest first."""
        return tuple(sorted(self.analysis.circles, key=lambda item: -item.circle.variance_share))

    def of_role(self, role: str) -> list[CircleEvidence]:
        """The circles with one role, the largest first.

        Arguments:
            role: "Clock", "Pizza", "mixed", "accompanying" or "unclear".

        Returns:
            The circles.
        """
        return [item for item in self.evidence if item.role == role]

    def number_of(self, item: CircleEvidence) -> int:
        """The number of a circle: from 1, the largest first.

        Arguments:
            item: one of `evidence`.

        Returns:
            The number.
        """
        return self.evidence.index(item) + 1

    def companion(self, item: CircleEvidence) -> CircleEvidence | None:
        """The circle that accompanies another one (appendix D).

        Arguments:
            item: one of `evidence`.

        Returns:
            Its companion, or None.
        """
        return next(
            (circle for circle in self.evidence if circle.accompanies == item.circle.frequency),
            None,
        )

    @cached_property
    def whole(self) -> Answer:
        """What the network answers with all of its embedding."""
        return answer_of(self.logits)

    def only(self, circles: Iterable[CircleEvidence]) -> Answer:
        """What the network answers with some circles alone.

        Arguments:
            circles: the circles to keep, from `evidence`.

        Returns:
            An `Answer`: `accuracy`, the correct `logits`, and which pairs are `right`.
        """
        return self.answer(_frequencies(circles))

    def without(self, circles: Iterable[CircleEvidence]) -> Answer:
        """What the network answers without some circles.

        Arguments:
            circles: the circles to leave out, from `evidence`.

        Returns:
            An `Answer`: `accuracy`, the correct `logits`, and which pairs are `right`.
        """
        return self.answer(_frequencies(circles), drop=True)

    def answer(self, frequencies: Iterable[int], *, drop: bool = False) -> Answer:
        """What the network answers with some frequencies of its embedding alone, circles or not.

        Arguments:
            frequencies: the frequencies to keep.
            drop: leave these frequencies out instead and keep the rest.

        Returns:
            An `Answer`: `accuracy`, the correct `logits`, and which pairs are `right`.
        """
        key = frozenset(frequencies), drop
        if key == (frozenset(), True):
            return self.whole
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = answer_of(
                self._isolated(key).logits
            )  # all logits are not kept for it
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return answer

    def isolate(self, circles: Iterable[CircleEvidence], *, drop: bool = False) -> Isolation:
        """All logits with some circles alone.

        Arguments:
            circles: the circles to keep, from `evidence`.
            drop: leave these circles out instead and keep the rest.

        Returns:
            An `Isolation`, as from `isolate_circles`.
        """
        key = frozenset(_frequencies(circles)), drop
        if key not in self._isolations:
            self._isolations[key] = self._isolated(key)
            while len(self._isolations) > MOST_ISOLATIONS:
                self._isolations.popitem(last=False)
        return self._isolations[key]

    def _isolated(self, key: _Key) -> Isolation:
        members, drop = key
        return self._isolations.get(key) or isolate_group(
            self.network, members, drop=drop, principal=self.components
        )

    def mean_logits(self, representations: Sequence[str] | None = None) -> MeanLogits:
        """The mean logits of a network on a group that is not cyclic, by what they are functions
        of.

        Arguments:
            representations: the names of those to keep alone in the operand tables; all by default.

        Returns:
            A `MeanLogits`.
        """
        key = None if representations is None else tuple(representations)
        means = self._means.get(key)
        if means is None:
            means = mean_logits(self.network, self.group, representations, self.prepared)
            self._means[key] = means
            while len(self._means) > MOST_MEANS:
                self._means.popitem(last=False)
        return means

    def forget_logits(self) -> None:
        """Free what is large and can be computed again, for a network that is kept for long."""
        if self.group.is_cyclic:
            _ = self.whole
        for name in ("logits", "correct", "largest_wrong", "right", "similarities"):
            self.__dict__.pop(name, None)
        self._isolations.clear()

    @torch.no_grad()
    def first_components(self, count: int) -> Isolation:
        """All logits with only the first principal components of the embedding.

        Arguments:
            count: how many components to keep.

        Returns:
            An `Isolation`, as from `isolate_components`.
        """
        members = range(1, min(count, self.components.count) + 1)
        return isolate_components(self.network, members, principal=self.components)


def _is_of(subject: Subject, network: Network) -> bool:
    """Whether a subject is of this network, itself or taken as on the group of its answers."""
    if subject.given is network:
        return True
    own = list(subject.given.parameters())
    analyzed = list(network.parameters())
    same_weights = len(own) == len(analyzed) and all(map(operator.is_, own, analyzed))
    return bool(own) and same_weights and subject.given.id == network.id


def _frequencies(circles: Iterable[CircleEvidence]) -> list[int]:
    return [item.circle.frequency for item in circles]
