"""The whole answer for networks, one or many: every metric, their circles, program and instances,
and the verdict.

Three rounds, each queued on the device without waiting for it:

    1. the metrics, the network's own logits, and every circle of the embedding alone
    2. alone, the frequencies that the program names and the embedding does not
    3. the instances, each kept and each left out, as the circles alone group them

What a round needs of the one before is read on the CPU a few networks later, when it has long
arrived.
"""

import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from algophase.analysis.card import card
from algophase.analysis.catalogue import EXACT, IRRELEVANCE, metrics, unit_means
from algophase.analysis.checks import check_network, not_finite, wrong_size
from algophase.analysis.circles.roles import CircleEvidence, read_evidence
from algophase.analysis.device import Download, Packed, in_float64, overlapped, pack
from algophase.analysis.hidden.anatomy import (
    Anatomy,
    IdleReLU,
    has_anatomy,
    has_second_relu,
    measure_without_second_relu,
    open_linear,
)
from algophase.analysis.hidden.units import read_units
from algophase.analysis.logits.sums import Array, read_sums
from algophase.analysis.operation import learned_instead, with_operation
from algophase.analysis.program.instances import (
    CircleAlone,
    Instances,
    candidates,
    doubled,
    grouped,
    launch_groups,
    read_circles,
    read_instances,
    stands_out,
)
from algophase.analysis.program.read import Program, program_of_sums
from algophase.analysis.record import record_of
from algophase.analysis.replay import Replays
from algophase.analysis.subject import Subject
from algophase.analysis.summary import summary
from algophase.analysis.verdict.cautions import launch_cautions, read_cautions
from algophase.analysis.verdict.decide import Verdict, decide, findings
from algophase.analysis.verdict.paper_label import (
    Measurements,
    PaperLabel,
    PaperVerdict,
    circularity_name,
    embedding_shape,
    label_by_paper,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.answers import Learned
from algophase.core.devices import choose_device
from algophase.core.errors import InputError
from algophase.core.neutral import neutral
from algophase.core.progress import Bar
from algophase.core.settings import shown
from algophase.core.wording import floored
from algophase.networks import Network
from algophase.networks.wrapped import wrap

# Among what a round brings: sums of the logits of several embeddings, the hidden units, and the
# answers to all pairs.
SUMS, UNITS, ANSWERS = "sums", "units", "answers"


@dataclass(frozen=True)
class Analysis:
    """Everything measured on one network. Undefined numbers are NaN here and null in JSON.

    verdict: which algorithm, with a sentence, its reasons and how sure it is; paper: the paper's
        label, by the paper's rules.
    program, instances: what the verdict rests on. cautions: how the network was taken and cut, and
        what the metrics cannot say.
    metrics: every metric of the catalogue by its name. Each is an attribute as well:
        `analysis.circularity`.
    operand_circularity: of each distinct operand table; with tables of their own, `circularity` is
        undefined, as in the paper.
    measured: what the paper's label rests on. instead: what the network learned in place of its
        task, where that is known.

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
        return self.paper.label

    @property
    def label(self) -> str:
        """The verdict's, or for a row of an older table the paper's."""
        return self.verdict.label if self.verdict.known else self.paper.label

    @property
    def additivity(self) -> float:
        """Share of the network's logits that the sum of its instances, each kept alone,
        explains.
        """
        return self.instances.additivity

    def decide(self, thresholds: Thresholds) -> "Analysis":
        """The same measurements, with verdict and paper's label by other lines. Nothing is measured
        again.

        >>> from algophase import Thresholds, analyze, handmade_clock
        >>> analyze(handmade_clock(23)).decide(Thresholds(clock_distance_irrelevance=0.9)).verdict.label
        'Clock'
        """
        check_thresholds(thresholds)
        verdict = (
            decide(findings(self.program, self.instances, self.instead), thresholds)
            if self.verdict.known
            else self.verdict
        )
        return replace(
            self, verdict=verdict, paper=label_by_paper(self.measured, self.circles, thresholds)
        )

    def __str__(self) -> str:
        return summary(self)

    def __repr__(self) -> str:
        if not self.verdict.known:
            return f"<Analysis of {self.id}: {self.paper.label} by the paper's rules>"
        numbers = (
            f"additivity {floored(self.additivity)}, program {floored(self.program.explained)}"
        )
        return f"<Analysis of {self.id}: {self.verdict.headline}; {numbers}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(self)

    def plot(self) -> Any:
        """The program as a matplotlib figure, which a notebook shows: the instances' profiles,
        and shares of the logits.
        """
        drawing = import_module(
            "algophase.report.program_figures"
        )  # a later room: asked for when there is something to draw
        with import_module("algophase.report.style").house_style():
            return drawing.draw_program(self, f"{self.id}: {self.label}")

    def to_dict(self) -> dict[str, Any]:
        """The record `algophase analyze --json` prints: plain values, null for what is
        undefined.
        """
        return record_of(self)


def check_thresholds(thresholds: object) -> None:
    if not isinstance(thresholds, Thresholds):
        raise InputError(
            f"thresholds is {shown(thresholds)}; it must be Thresholds, such as "
            "Thresholds(accuracy=0.99)"
        )


def analyze(
    network: Network | Callable[..., Any],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
    *,
    modulus: int | None = None,
    operation: str | None = None,
    embedding: str | Sequence[str] | None = None,
    tokens: str | Callable[[Tensor, Tensor], Any] | None = None,
    answer: str | int | Callable[[Any], Tensor] | None = None,
    outputs: int | None = None,
) -> Analysis:
    """Measure a network and say which algorithm it learned, as it answers at inference, without
    dropout.

    Its own weights, precision and mode are left as they are.

    device: where to compute, for instance "cuda". The answer is the same up to the rounding of
        float64.
    modulus: for any other PyTorch module or function, what it adds modulo: `analyze(module,
        modulus=59)`.
    operation: "add", "subtract" or "multiply"; "auto" takes what the network's answers follow. By
        default, what the network says of itself, or "add".
    embedding, tokens, answer, outputs: how a module is given pairs and where its answer is; see
        `wrap`.

    >>> from algophase import handmade_clock
    >>> analyze(handmade_clock(23)).verdict.label
    'Clock'
    """
    asked = {
        "modulus": modulus,
        "embedding": embedding,
        "tokens": tokens,
        "answer": answer,
        "outputs": outputs,
    }
    given = [name for name, value in asked.items() if value is not None]
    if isinstance(network, Network):
        if given:
            raise InputError(
                f"{', '.join(given)}: network {network.id} knows them itself; they are for "
                "other modules"
            )
        taken = network if operation is None else with_operation(network, operation)
    elif modulus is None:
        check_network(network)  # which says what a module needs
        raise InputError(
            "modulus is missing: say what the module adds modulo, as in analyze(module, modulus=59)"
        )
    else:
        taken = wrap(network, modulus, embedding, tokens, answer, outputs, operation or "add")
    (result,) = analyze_many([taken], thresholds, device)
    if isinstance(result, InputError):
        raise result
    return result


def analyze_many(
    networks: Iterable[Network],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
    progress: Callable[[int], None] | bool | None = None,
) -> list[Analysis | InputError]:
    """Each network's analysis in the order given, or, for one that cannot be analysed, the error
    that says why.

    What is no network at all (a path, say) cannot be analysed either, and gets such an error in its
    place.

    progress: called with the number finished, after each. Without it, a terminal or a notebook
        shows a bar after two seconds; False shows none.

    >>> from algophase import handmade_clock, handmade_pizza
    >>> [result.verdict.label for result in analyze_many([handmade_clock(23), handmade_pizza(23)])]
    ['Clock', 'Pizza']
    """
    results, total = [], len(networks) if isinstance(networks, Sized) else 0
    with Bar("analysing", total, None if total > 1 and progress is not False else False) as bar:
        for result in analyze_each(networks, thresholds, device):
            results.append(result)
            (progress if callable(progress) else bar)(len(results))
    return results


def analyze_each(
    networks: Iterable[Network],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
) -> Iterator[Analysis | InputError]:
    """`analyze_many`, one result at a time. A few networks are under way at once, so that a GPU
    never waits for the CPU.
    """
    if isinstance(networks, str | os.PathLike | nn.Module):
        raise InputError(
            f"give a list of networks, not one {type(networks).__name__}; analyze takes a "
            "single network"
        )
    check_thresholds(thresholds)
    there = choose_device(device)
    measure = Replays(_launch_measures) if there.type == "cuda" else _launch_measures
    first = overlapped(networks, lambda each: _start(each, there, measure), _second_round, there)
    second = overlapped(first, lambda begun: begun, _third_round, there)
    yield from overlapped(
        second, lambda begun: begun, lambda begun: _finish(begun, thresholds), there
    )


@neutral()
def analyze_subject(subject: Subject, thresholds: Thresholds = Thresholds()) -> Analysis:
    """`analyze` of a network under measurement, which keeps what was computed of it."""
    known = subject.given.known_analysis
    begun = (
        known
        if isinstance(known, Analysis)
        else _third_round(_second_round(_first_round(subject, _launch_measures)))
    )
    result = _finish(begun, thresholds)
    if isinstance(result, InputError):
        raise result
    return result


@dataclass(frozen=True)
class _First:
    """What the CPU knows already, and what is on its way.

    embedded: the frequencies that the embedding shows; alone: these and others that are looked at
        alone in this round.
    """

    subject: Subject
    known: dict[str, float]
    embedded: list[int]
    alone: list[int]
    numbers: Download
    sums: Download


@dataclass(frozen=True)
class _Second:
    """wanted: the frequencies to look at alone; missing: those of them that only the program named.

    evidence, circles: of those of the first round.
    """

    before: _First
    measured: dict[str, Array]
    program: Program
    evidence: list[CircleEvidence]
    circles: list[CircleAlone]
    wanted: list[int]
    missing: list[int]
    numbers: Download | None


@dataclass(frozen=True)
class _Third:
    before: _Second
    circles: list[CircleAlone]
    groups: list[list[int]]
    numbers: Download


@neutral()
def _start(
    network: Network, device: torch.device, measure: Callable[[Subject], Packed]
) -> _First | Analysis | InputError:
    if isinstance(network.known_analysis, Analysis):
        return replace(network.known_analysis, id=network.id)
    try:
        return _first_round(Subject(network, device), measure)
    except InputError as error:
        return error


@torch.no_grad()
def _first_round(subject: Subject, measure: Callable[[Subject], Packed]) -> _First:
    """Queue everything heavy on the device. measure: `_launch_measures`, or a recording of it."""
    embedded = list(
        dict.fromkeys(
            [*(circle.frequency for circle in subject.circles), *stands_out(subject.components)]
        )
    )
    alone = embedded
    if (
        subject.device.type != "cpu"
    ):  # their doubles are cheaper there than a round of their own, should the program want them
        alone = list(dict.fromkeys([*embedded, *doubled(embedded, subject.modulus)]))
    packed = measure(subject)
    numbers = Download(packed)
    sums = Download(pack({SUMS: _launch(subject, [[k] for k in alone], with_sums=True)}))
    return _First(subject, _measured_here(subject, packed), embedded, alone, numbers, sums)


def _launch_measures(subject: Subject) -> Packed:
    """Whatever depends on the weights alone, by name. Nothing here waits for the device, or
    looks at a number.
    """
    subject.run()
    least, most = subject.logits.aminmax()  # no copy of them all, as abs() makes
    numbers = {"largest logit": torch.maximum(-least, most), ANSWERS: subject.logits.argmax(dim=-1)}
    for quantity in metrics():
        if quantity.measure is not None:
            value = quantity.measure(subject)
            if isinstance(value, Tensor):
                numbers[quantity.name] = value
    if has_second_relu(subject.network):
        numbers["without second ReLU"] = measure_without_second_relu(subject.network)
    numbers |= launch_cautions(subject)
    if subject.unit_numbers is not None:
        numbers[UNITS] = subject.unit_numbers
    return pack(numbers)


def _measured_here(subject: Subject, launched: Packed) -> dict[str, float]:
    """The metrics that are known on the CPU at once, by name."""
    values = {}
    for quantity in metrics():
        if quantity.measure is not None and quantity.name not in launched.shapes:
            values[quantity.name] = float(quantity.measure(subject))
    return values


def _launch(
    subject: Subject,
    groups: Sequence[Sequence[int]],
    left_out: Sequence[Sequence[int]] = (),
    *,
    with_sums: bool = False,
) -> Tensor:
    prepared = subject.prepared
    return launch_groups(
        subject.network,
        subject.components,
        groups,
        left_out,
        with_sums=with_sums,
        prepared=prepared,
    )


def _refusals_as_results(round_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A round that finds a network too large for the memory budget gives the error, as the first
    does.
    """

    @functools.wraps(round_of)
    def refused_or_done(begun: Any) -> Any:
        try:
            return round_of(begun)
        except InputError as error:
            return error

    return refused_or_done


@_refusals_as_results
@neutral()
def _second_round(begun: _First | Analysis | InputError) -> _Second | Analysis | InputError:
    """The program and the circles, and each frequency alone that the program names and the
    embedding does not.
    """
    if isinstance(begun, Analysis | InputError):
        return begun
    subject, numbers = begun.subject, begun.numbers.get()
    if not math.isfinite(numbers["largest logit"]):
        return not_finite(subject.given, subject.logits)
    error = wrong_size(subject.given, "logits", float(numbers["largest logit"]))
    if error is not None:
        return error
    p, components = subject.modulus, subject.components
    if UNITS in numbers:
        subject.units = read_units(numbers.pop(UNITS), p)
    sums = read_sums(begun.sums.get()[SUMS], p, 1 + len(begun.alone), with_sums=True)
    evidence = read_evidence(p, subject.circles, sums, range(1, 1 + len(subject.circles)))
    # A tie is decided once, by the network's own arithmetic.
    program = replace(program_of_sums(sums), accuracy=numbers["accuracy"].item())
    circles = read_circles(sums, begun.alone, components)
    wanted = list(dict.fromkeys([*begun.embedded, *candidates(program, components)]))
    missing = [k for k in wanted if k not in begun.alone]
    launched = Download(pack({SUMS: _launch(subject, [[k] for k in missing])})) if missing else None
    return _Second(begun, numbers, program, evidence, circles, wanted, missing, launched)


@_refusals_as_results
@neutral()
def _third_round(begun: _Second | Analysis | InputError) -> _Third | Analysis | InputError:
    """The instances, each kept and each left out, as the circles alone group them."""
    if isinstance(begun, Analysis | InputError):
        return begun
    subject, circles = begun.before.subject, begun.circles
    components = subject.components
    if begun.numbers is not None:
        sums = read_sums(begun.numbers.get()[SUMS], subject.modulus, 1 + len(begun.missing))
        circles = [*circles, *read_circles(sums, begun.missing, components)]
    by_frequency = {circle.frequency: circle for circle in circles}
    circles = [by_frequency[k] for k in begun.wanted]
    groups = grouped(begun.program, circles, stands_out(components))
    return _Third(begun, circles, groups, Download(pack({SUMS: _launch(subject, groups, groups)})))


@neutral()
def _finish(begun: _Third | Analysis | InputError, thresholds: Thresholds) -> Analysis | InputError:
    """Read the numbers once they are there, and decide."""
    if isinstance(begun, Analysis | InputError):
        return begun.decide(thresholds) if isinstance(begun, Analysis) else begun
    before, first = begun.before, begun.before.before
    subject, known, by_operand = first.subject, first.known, first.subject.operand_circularity
    sums = read_sums(begun.numbers.get()[SUMS], subject.modulus, 1 + 2 * len(begun.groups))
    normalised = subject.network.normalises
    inside = read_instances(
        before.program, subject.components, begun.circles, begun.groups, sums, normalised
    )
    inside = replace(inside, embedded=subject.network.cut != "none")
    numbers = before.measured
    values = unit_means(subject.units) | known
    values |= {name: float(value) for name, value in numbers.items() if value.ndim == 0}
    measured = {quantity.name: values[quantity.name] for quantity in metrics()}
    weighed = Measurements(
        accuracy=measured["accuracy"],
        pairs=subject.modulus**2,
        wrong_pairs=round((1 - measured["accuracy"]) * subject.modulus**2),
        distance_irrelevance=measured[IRRELEVANCE],
        gradient_symmetricity=measured[EXACT],
        circularity=min(by_operand),
        circularity_name=circularity_name(len(by_operand), subject.network.cut),
        shape=embedding_shape(subject.components),
    )
    instead = None
    if measured["accuracy"] < 1:
        instead = learned_instead(subject.given, numbers[ANSWERS].astype(np.int64))
    opened = None
    if has_anatomy(subject.seen):
        idle = None
        if has_second_relu(subject.seen):
            without = numbers["without second ReLU"].tolist()
            idle = IdleReLU(measured["accuracy"], without[0], measured["cross_entropy"], without[1])
        opened = open_linear(
            in_float64(subject.seen), subject.components, before.evidence, idle, subject.resolution
        )
    return Analysis(
        id=subject.given.id,
        metrics=measured,
        operand_circularity=by_operand,
        verdict=decide(findings(before.program, inside, instead), thresholds),
        program=before.program,
        instances=inside,
        paper=label_by_paper(weighed, before.evidence, thresholds),
        measured=weighed,
        circles=tuple(before.evidence),
        anatomy=opened,
        cautions=read_cautions(subject, numbers),
        instead=instead,
    )
