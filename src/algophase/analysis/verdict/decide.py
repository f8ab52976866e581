"""Which algorithm, from the instances: a verdict for every network, with its reasons, its margins
and how sure it is.

    not learned   some pairs are wrong; if they are few, the sentence also says what answers the
                  right ones
    Clock, Pizza  the instances that have a form are of that kind, by their share of the logits
    hybrid        both kinds have at least `hybrid_share`
    lookup        right everywhere, but no frequency does by itself what it does in the network,
                  and none stands out: a table
    other         right everywhere, and none of these, or short cycles alone; or it learned another
                  task than expected

An instance whose circle has two or three points is a *short cycle*: Clock and Pizza compute it
alike (`forms` says why). Its logits are explained, so it counts as one with a form, but it is
neither kind: shares of Clock and Pizza leave it out.

A network is a Clock, a Pizza or a hybrid only if its program explains `program` of its logits, its
instances add up to `additivity`, and recognized ones account for `named` of the logits. An instance
has a form only if `kept` of what it writes alone is in the network's logits, and the form explains
`fit` of that.

Where the lines come from. `kept`: trained networks have 0.81 or more (1 where nothing interferes),
frequencies of lookup tables on Gaussian, orthonormal and one-hot embeddings 0.30 to 0.50.
Additivity cannot unmask those: with many hidden units it reaches 0.93, since a random layer that
does not know the order of the numbers is a sum over all frequencies. `fit`: trained networks have
0.71 or more; `named`: 0.89 or more. `additivity` and `program`: 5% quantiles of accurate one-layer
networks are 0.90 and 0.95, those of two layers 0.44 and 0.90. `pizza_part` and `hybrid_share` are
those of `circles.roles` and `paper_label`.

A verdict is *borderline* where a number that decided it lies within `BORDERLINE` of its threshold,
and *clear* elsewhere.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from algophase.analysis.program.forms import fitted_as
from algophase.analysis.program.instances import Instance, Instances
from algophase.analysis.program.read import Program
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.answers import Learned
from algophase.core.lines import exceeds, reaches, stays_within
from algophase.core.wording import floored, form_name, remarked, share_text

Label = Literal[
    "Clock",
    "Pizza",
    "multiplying",
    "adding",
    "hybrid",
    "other",
    "lookup",
    "not learned",
    "not analyzed",
]
# What can become of a run, by the verdict or by the paper's label, in the order in which it is
# listed.
ALGORITHMS = ("Clock", "Pizza", "hybrid")
Form = Literal[
    "Clock",
    "Clock with a doubled circle",
    "Pizza",
    "Pizza with companion",
    "both",
    "short cycle",
    "other",
]

COUNTS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
# From this part of all frequencies on, a network has all frequencies in use. With fewer than five
# that says nothing.
EVERY_FREQUENCY, LEAST_FREQUENCIES = 0.75, 5
NO_ALGORITHM = "no algorithm found"
BORDERLINE = 0.02  # two percentage points
# From this accuracy on, a network that counts as not learned is described by its accuracy and its
# algorithm. At most one pair in a hundred is then an exception to the algorithm: the same 1% below
# which a frequency is no key frequency of the program. Further down, "apart from these" would leave
# out too much to be honest.
NEARLY_RIGHT = 0.99
# How the number is called that is compared with each threshold; that of `pizza_part` names its
# frequency.
LINE_WORDS = {
    "accuracy": "accuracy",
    "program": "program explains",
    "additivity": "instances add up to",
    "named": "recognized instances account for",
    "hybrid_share": "the lesser algorithm has",
}


@dataclass(frozen=True)
class Findings:
    """All numbers a verdict rests on. They are kept, so that other thresholds need no other
    analysis.

    pairs: how many there are; wrong_pairs: of them, those answered wrong.
    explained: the program's, beyond offsets; answer_accuracy: of the answer-following class alone;
    frequencies: how many there are, floor(p / 2); keys: how many are key frequencies; outstanding:
        stand out in the embedding.
    embedded: whether there is an embedding to isolate instances in. instead: what it learned in
        place of its task.
    """

    accuracy: float
    pairs: int
    wrong_pairs: int
    explained: float
    answer_accuracy: float
    additivity: float
    remainder: float
    instances: tuple[Instance, ...]
    frequencies: int
    keys: int
    outstanding: int
    embedded: bool = True
    instead: Learned | None = None


class Line(NamedTuple):
    """A number and the threshold it is compared with."""

    value: float
    threshold: float

    @property
    def distance(self) -> float:
        """Positive on the side of a named algorithm."""
        return self.value - self.threshold


@dataclass(frozen=True)
class Confidence:
    """How sure a verdict is.

    named_share: of the logits, the share of instances that have a form.
    nearest_line, nearest_distance: of all lines, which is nearest, and how far it is.
    closest_line, closest_value, closest_threshold: the same of the lines that decided this verdict:
        a network that is wrong on most pairs is not borderline because its program is. "" where
        none was close to deciding, or where a row of a table was decided by other thresholds than
        today's.
    """

    additivity: float
    named_share: float
    nearest_line: str
    nearest_distance: float
    closest_line: str = ""
    closest_value: float = math.nan
    closest_threshold: float = math.nan

    @property
    def borderline(self) -> bool:
        distance = (
            abs(self.closest_value - self.closest_threshold)
            if self.closest_line
            else self.nearest_distance
        )
        return bool(stays_within(distance, BORDERLINE))

    def __str__(self) -> str:
        """Certainty: clear (closest call: program explains 99%, threshold 80%)"""
        certainty = "borderline" if self.borderline else "clear"
        if self.closest_line:
            return f"Certainty: {certainty} (closest call: {self._closest_call()})"
        if self.nearest_line:
            away = f"{100 * self.nearest_distance:.1f} points from its threshold"
            return f"Certainty: {certainty} (closest call: {self.nearest_line}, {away})"
        return f"Certainty: {certainty}"

    def _closest_call(self) -> str:
        name, value, threshold = self.closest_line, self.closest_value, self.closest_threshold
        if name == "accuracy":
            return f"accuracy {floored(value)}, threshold {100 * threshold:g}%"
        words = (
            LINE_WORDS.get(name) or f"the Pizza's part of frequency {name.rpartition(' ')[2]} is"
        )
        if self.borderline:  # a whole percent would hide on which side the number is
            return f"{words} {value:.1%}, threshold {100 * threshold:.3g}%"
        return f"{words} {value:.0%}, threshold {threshold:.0%}"


@dataclass(frozen=True)
class Verdict:
    """label and sentence, the reasons in words, and how far each line is.

    forms: of the instances, in their order. pizza_share: the Pizza's of the logits of Clocks,
        Pizzas and both, or None.
    distances: by line, positive where the number lies on the side of a named algorithm.
    """

    label: Label
    sentence: str
    reasons: tuple[str, ...]
    forms: tuple[Form, ...]
    pizza_share: float | None
    distances: dict[str, float]
    confidence: Confidence

    @property
    def known(self) -> bool:
        """Whether there is one: the rows of older tables have the paper's label alone."""
        return self.label != "not analyzed"

    @property
    def headline(self) -> str:
        """The sentence, with a remark where the verdict is borderline."""
        return (
            remarked(self.sentence, "borderline") if self.confidence.borderline else self.sentence
        )

    @property
    def general(self) -> tuple[str, ...]:
        """The reasons without those that describe an instance each, which come last."""
        return self.reasons[: len(self.reasons) - len(self.forms)]


NO_VERDICT = Verdict(
    label="not analyzed",
    sentence="no verdict: this row was made by a version that had only the paper's label",
    reasons=(),
    forms=(),
    pizza_share=None,
    distances={},
    confidence=Confidence(math.nan, math.nan, "", math.nan),
)


def findings(program: Program, instances: Instances, instead: Learned | None = None) -> Findings:
    """What the verdict rests on."""
    pairs = program.modulus**2
    return Findings(
        accuracy=program.accuracy,
        pairs=pairs,
        wrong_pairs=round((1 - program.accuracy) * pairs),
        explained=program.beyond_offsets,
        answer_accuracy=program.answer_accuracy,
        additivity=instances.additivity,
        remainder=instances.remainder,
        instances=instances.instances,
        frequencies=program.modulus // 2,
        keys=len(program.frequencies),
        outstanding=instances.outstanding,
        embedded=instances.embedded,
        instead=instead,
    )


def form_of(instance: Instance, thresholds: Thresholds = Thresholds()) -> Form:
    """Which form an instance has; `other` where it has none or does not do in the network what
    it does alone.
    """
    part = instance.pizza_part
    form: Form = "other"
    if instance.short and not math.isnan(part):
        form = "short cycle"
    elif reaches(part, thresholds.pizza_part):
        form = "Pizza with companion" if instance.accompanied else "Pizza"
    elif reaches(1 - thresholds.pizza_part, part):
        form = "Clock with a doubled circle" if instance.accompanied else "Clock"
    elif not math.isnan(part):
        form = "both"
    if (
        form == "other"
        or not reaches(instance.kept, thresholds.kept)
        or not reaches(fit_of(instance, form), thresholds.fit)
    ):
        return "other"
    return form


def fit_of(instance: Instance, form: Form) -> float:
    """Share of the instance's logits that its form explains; of one without a form, that the
    best does.
    """
    name = fitted_as(form)
    return (
        instance.fits[name]
        if name in instance.fits
        else max(instance.fits.values(), default=math.nan)
    )


class _Reading(NamedTuple):
    """The instances by their forms.

    forms: of all of them; recognized: those that have one, and `named_share` their share of the
        logits.
    telling: those that are a Clock, a Pizza or both; pizza_share: the Pizza's share of these, None
        where there are none.
    """

    forms: tuple[Form, ...]
    recognized: Sequence[tuple[Instance, Form]]
    named_share: float
    telling: Sequence[tuple[Instance, Form]]
    pizza_share: float | None


class _Answer(NamedTuple):
    """label, sentence and reasons of a verdict, and which lines decided it."""

    label: Label
    sentence: str
    reasons: list[str]
    decided_by: list[str]


def decide(measured: Findings, thresholds: Thresholds = Thresholds()) -> Verdict:
    """The verdict, a function of the numbers and the lines alone."""
    reading = _read(measured, thresholds)
    lines = _lines(measured, thresholds, reading)
    if reaches(measured.accuracy, thresholds.accuracy):
        answer = _algorithm(measured, thresholds, reading, lines)
    elif reaches(measured.accuracy, NEARLY_RIGHT):
        answer = _nearly_learned(
            measured, thresholds, _algorithm(measured, thresholds, reading, lines)
        )
    else:
        answer = _not_learned(measured, thresholds)
    nearest = _nearest(lines, lines)
    assert nearest is not None
    confidence = Confidence(
        measured.additivity, reading.named_share, nearest, abs(lines[nearest].distance)
    )
    # No threshold is a close call for a network without a single wrong pair.
    deciding = [name for name in answer.decided_by if name != "accuracy" or measured.wrong_pairs]
    closest = _nearest(deciding, lines)
    if closest is not None:
        value, threshold = lines[closest]
        confidence = replace(
            confidence, closest_line=closest, closest_value=value, closest_threshold=threshold
        )
    described = [
        _described(instance, form, thresholds)
        for instance, form in zip(measured.instances, reading.forms, strict=True)
    ]
    return Verdict(
        label=answer.label,
        sentence=answer.sentence,
        reasons=(*answer.reasons, *described),
        forms=reading.forms,
        pizza_share=reading.pizza_share,
        distances={name: line.distance for name, line in lines.items()},
        confidence=confidence,
    )


def _nearest(names: Iterable[str], lines: Mapping[str, Line]) -> str | None:
    """Of these lines, the one with the smallest distance; among equals the first by name."""
    measured = [name for name in names if name in lines]
    return min(measured, key=lambda name: (round(abs(lines[name].distance), 9), name), default=None)


def _read(measured: Findings, thresholds: Thresholds) -> _Reading:
    forms = tuple(form_of(instance, thresholds) for instance in measured.instances)
    pairs = zip(measured.instances, forms, strict=True)
    recognized = [(instance, form) for instance, form in pairs if form != "other"]
    telling = [(instance, form) for instance, form in recognized if form != "short cycle"]
    named_share = sum(instance.share for instance, _ in recognized)
    return _Reading(forms, recognized, named_share, telling, _pizza_share(telling))


def _learned_instead(instead: Learned) -> str:
    """Learned something else: it agrees with a - b on 100% of pairs (analyze it with
    operation='subtract').
    """
    how = f" (analyze it with operation={instead.asked_as!r})" if instead.asked_as else ""
    return f"learned something else: {instead.sentence}{how}"


def _pizza_share(telling: Sequence[tuple[Instance, Form]]) -> float | None:
    """The Pizza's share of the logits of instances that tell an algorithm; one that is both
    counts half.
    """
    whole = sum(instance.share for instance, _ in telling)
    part = sum(
        instance.share * (0.5 if form == "both" else float(form.startswith("Pizza")))
        for instance, form in telling
    )
    return part / whole if whole > 0 else None


def _not_learned(measured: Findings, thresholds: Thresholds) -> _Answer:
    wrong = f"{measured.wrong_pairs:,} of {measured.pairs:,} pairs are wrong"
    reasons = [
        f"accuracy {floored(measured.accuracy)} is below {100 * thresholds.accuracy:g}%: {wrong}"
    ]
    if measured.instead is not None:
        return _Answer("other", _learned_instead(measured.instead), reasons, ["accuracy"])
    if measured.instances and exceeds(measured.answer_accuracy, measured.accuracy):
        right = floored(measured.answer_accuracy)
        reasons.append(
            f"the answer-following part of its logits answers {right} of the pairs right; "
            "memorized pairs can cause this"
        )
    return _Answer("not learned", "not learned", reasons, ["accuracy"])


def _nearly_learned(measured: Findings, thresholds: Thresholds, algorithm: _Answer) -> _Answer:
    """Not learned for a few wrong pairs. algorithm: what the instances are, as if the accuracy
    were enough.
    """
    wrong = f"{measured.wrong_pairs:,} of {measured.pairs:,} pairs wrong"
    accurate = f"{floored(measured.accuracy)} accurate ({wrong})"
    connection = "" if algorithm.sentence.startswith(NO_ALGORITHM) else "apart from these: "
    options = f"--min-accuracy {NEARLY_RIGHT:g}, or Thresholds(accuracy={NEARLY_RIGHT:g}) in Python"
    reasons = _not_learned(measured, thresholds).reasons
    reasons.append(f"with a lower threshold ({options}) it counts as: {algorithm.label}")
    sentence = f"{accurate}; {connection}{algorithm.sentence}"
    # The sentence has the accuracy, which is counted and sure. How sure it is depends on what it
    # says of the algorithm.
    decided_by = [name for name in algorithm.decided_by if name != "accuracy"]
    return _Answer("not learned", sentence, [*reasons, *algorithm.reasons], decided_by)


def _algorithm(
    measured: Findings, thresholds: Thresholds, reading: _Reading, lines: Mapping[str, Line]
) -> _Answer:
    """Which algorithm the instances are, whatever the accuracy is."""
    if not measured.embedded:
        return _without_embedding(measured)
    if not reaches(reading.named_share, thresholds.named):
        return _unnamed(measured, thresholds, reading.named_share)
    program = (
        f"its program explains {measured.explained:.1%} of its logits (threshold: "
        f"{thresholds.program:.0%})"
    )
    adding = (
        f"its instances add up to {measured.additivity:.1%} of its logits (threshold: "
        f"{thresholds.additivity:.0%})"
    )
    required = [
        (program, reaches(measured.explained, thresholds.program)),
        (adding, reaches(measured.additivity, thresholds.additivity)),
    ]
    decided_by = ["accuracy", "named", "program", "additivity"]
    lacking = [reason for reason, met in required if not met]
    if lacking:
        return _Answer("other", f"{NO_ALGORITHM}: {lacking[0]}", lacking, decided_by)
    reasons = [program, adding]
    reasons.append(
        f"recognized instances account for {min(reading.named_share, 1.0):.1%} of the logits"
    )
    of_what = ""
    if len(reading.telling) < len(reading.recognized):
        cycles = sum(
            instance.share for instance, form in reading.recognized if form == "short cycle"
        )
        alike = "Clock and Pizza compute a cycle of two or three numbers alike"
        reasons.append(f"short cycles account for {cycles:.1%}: {alike}")
        of_what = " of the rest"
    sentence = _sentence(measured, reading.recognized, thresholds)
    decided_by = list(lines)
    share = reading.pizza_share
    if share is None:
        return _Answer(
            "other", f"{sentence}, which Clock and Pizza compute alike", reasons, decided_by
        )
    lesser = min(share, 1 - share)
    needed = f"a hybrid needs {thresholds.hybrid_share:.0%} of each"
    label: Label = "Pizza" if share > 0.5 else "Clock"
    if reaches(lesser, thresholds.hybrid_share):
        label = "hybrid"
        reasons.append(f"both algorithms contribute: the Pizza has {share:.1%}{of_what} ({needed})")
    elif lesser > 0.0005:
        lesser_algorithm = "Clock" if label == "Pizza" else "Pizza"
        reasons.append(f"a trace of the {lesser_algorithm}: {lesser:.1%}{of_what} ({needed})")
    return _Answer(label, sentence, reasons, decided_by)


def _without_embedding(measured: Findings) -> _Answer:
    keys = (
        f"its program of {measured.keys} key frequencies explains {measured.explained:.1%} "
        "of its logits"
    )
    sentence = f"{keys}; without an embedding, instances cannot be isolated"
    return _Answer("other", sentence, [keys, "it has no embedding"], ["accuracy"])


def _unnamed(measured: Findings, thresholds: Thresholds, named_share: float) -> _Answer:
    """A network that is right everywhere and whose instances have no form: a table, or something
    of its own.
    """
    kept = [instance for instance in measured.instances if reaches(instance.kept, thresholds.kept)]
    by_itself = sum(instance.share for instance in kept)
    weak = (
        f"recognized instances account for {named_share:.1%} of the logits (threshold: "
        f"{thresholds.named:.0%})"
    )
    alone = f"frequencies that work alone as in the network account for {by_itself:.1%}"
    decided_by = ["accuracy", "named"]
    flat = measured.keys >= 0.5 * measured.frequencies or measured.outstanding == 0
    if flat and not reaches(by_itself, thresholds.named):
        reasons = [weak, f"{alone}, and no small set of frequencies stands out"]
        return _Answer("lookup", f"{NO_ALGORITHM}: a lookup table", reasons, decided_by)
    return _Answer(
        "other",
        f"{NO_ALGORITHM}: its instances are neither Clocks nor Pizzas",
        [weak, alone],
        decided_by,
    )


def _described(instance: Instance, form: Form, thresholds: Thresholds) -> str:
    name = f"{', '.join(map(str, instance.frequencies))}: "
    numbers = (
        f"{instance.share:.1%} of the logits, accuracy {floored(instance.accuracy_alone)} alone"
    )
    without = f"{floored(instance.accuracy_without)} without it"
    if form == "other" and not reaches(instance.kept, thresholds.kept):
        kept = max(0.0, instance.kept)
        description = f"no form: only {kept:.0%} of what it writes alone is in the network's logits"
    elif form == "other":
        description = "no form"
    else:
        description = (
            f"{form_name(form)}, which explains {fit_of(instance, form):.1%} of what it writes"
        )
    return f"{name}{description}; {numbers}, {without}"


def _lines(measured: Findings, thresholds: Thresholds, reading: _Reading) -> dict[str, Line]:
    """Every number that is compared with a threshold, by the threshold's name, as far as it is
    defined.
    """
    lines = {
        "accuracy": Line(measured.accuracy, thresholds.accuracy),
        "program": Line(measured.explained, thresholds.program),
        "additivity": Line(measured.additivity, thresholds.additivity),
        "named": Line(reading.named_share, thresholds.named),
    }
    if lines["accuracy"].distance == 0:  # right everywhere, as the paper asks: no close call
        del lines["accuracy"]
    share = reading.pizza_share
    if share is not None:
        lines["hybrid_share"] = Line(min(share, 1 - share), thresholds.hybrid_share)
    for instance, _ in reading.telling:
        either = [
            Line(instance.pizza_part, thresholds.pizza_part),
            Line(instance.pizza_part, 1 - thresholds.pizza_part),
        ]
        lines[f"pizza_part of {instance.frequencies[0]}"] = min(
            either, key=lambda line: abs(line.distance)
        )
    return {name: line for name, line in lines.items() if not math.isnan(line.distance)}


def _sentence(
    measured: Findings, recognized: Sequence[tuple[Instance, Form]], thresholds: Thresholds
) -> str:
    """Three Pizzas; two Clocks and a Pizza (4.6%); a Clock (61%) and two Clock-Pizza mixtures
    (39%).

    The share of the leading kind is left out where it is nearly everything: where the others would
    not make a hybrid.
    """
    counts = dict[str, int]()
    shares = dict[str, float]()
    for instance, form in recognized:
        kind = next((kind for kind in ("Pizza", "Clock") if form.startswith(kind)), form_name(form))
        counts[kind] = counts.get(kind, 0) + 1
        shares[kind] = shares.get(kind, 0.0) + instance.share
    order = sorted(counts, key=lambda kind: (-round(shares[kind], 9), kind))
    minor = sum(shares[kind] for kind in order[1:])
    phrases = []
    for kind in order:
        count = counts[kind]
        number = COUNTS[count] if count < len(COUNTS) else str(count)
        words = f"a {kind}" if count == 1 else f"{number} {kind}s"
        if kind != order[0] or reaches(minor, thresholds.hybrid_share):
            words += f" ({share_text(shares[kind])})"
        phrases.append(words)
    sentence = phrases[-1]
    if len(phrases) > 1:
        sentence = f"{', '.join(phrases[:-1])} and {sentence}"
    enough = measured.frequencies >= LEAST_FREQUENCIES
    if enough and measured.keys >= EVERY_FREQUENCY * measured.frequencies:
        return remarked(sentence, "all frequencies in use")
    return sentence
