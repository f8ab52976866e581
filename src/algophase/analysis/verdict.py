"""Which algorithm, from the instances: a verdict for every network, with its reasons, its margins and how sure it is.

    not learned   some pairs are answered wrong
    Clock, Pizza  the instances that have a form are of that kind, by their share of the logits
    hybrid        both kinds hold at least `hybrid_share`
    lookup        right everywhere, but no frequency does by itself what it does in the network, and none stands out: a table
    other         right everywhere, and none of these, or short cycles alone

An instance whose circle has two or three points is a *short cycle*: Clock and Pizza compute it alike (`forms` says why). Its
logits are explained, so it counts as one with a form, but it is neither kind: shares of Clock and Pizza leave it out.

A network is a Clock, a Pizza or a hybrid only if its program explains `program` of its logits, its instances add up to
`additivity`, and those with a form hold `named` of the logits. An instance has a form only if `kept` of what it writes alone is
in the network's logits, and the form explains `fit` of that.

Where the lines come from. `kept`: trained networks have 0.81 or more (1 where nothing interferes), frequencies of lookup
tables on Gaussian, orthonormal and one-hot embeddings 0.30 to 0.50. Additivity cannot unmask those: with many hidden units it
reaches 0.93, since a random layer that does not know the order of the numbers is a sum over all frequencies. `fit`: trained
networks have 0.71 or more; `named`: 0.89 or more. `additivity` and `program`: 5% quantiles of accurate one-layer networks are
0.90 and 0.95, those of two layers 0.44 and 0.90. `pizza_part` and `hybrid_share` are those of `evidence` and `paper_label`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from algophase.analysis.forms import fitted_as
from algophase.analysis.instances import Instance, Instances
from algophase.analysis.lines import exceeds, reaches
from algophase.analysis.program import Program
from algophase.analysis.thresholds import Thresholds
from algophase.wording import floored

Label = Literal["Clock", "Pizza", "hybrid", "other", "lookup", "not learned", "not analysed"]
# What can become of a run, by the verdict or by the paper's label, in the order in which it is listed.
ALGORITHMS = ("Clock", "Pizza", "hybrid")
OUTCOMES = (*ALGORITHMS, "non-circular", "other", "lookup", "not learned", "diverged", "not analysed")
Form = Literal["Clock", "Clock with a doubled circle", "Pizza", "Pizza with companion", "both", "short cycle", "other"]

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
# From this part of all frequencies on, a network uses every frequency at once. With fewer than five that says nothing.
EVERY_FREQUENCY, LEAST_FREQUENCIES = 0.75, 5


def in_order(outcomes: Iterable[str]) -> list[str]:
    """Each outcome once: the known ones in their order, then any others by name."""
    there = set(outcomes)
    return [*(name for name in OUTCOMES if name in there), *sorted(there.difference(OUTCOMES))]


@dataclass(frozen=True)
class Findings:
    """All numbers a verdict rests on. They are kept, so that other thresholds need no other analysis.

    explained: the program's, beyond offsets; answer_accuracy: of the answer-following class alone;
    frequencies: how many there are, floor(p / 2); keys: how many are key frequencies; outstanding: stand out in the embedding.
    embedded: whether there is an embedding to isolate instances in.
    """

    accuracy: float
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


@dataclass(frozen=True)
class Confidence:
    """additivity; named_share: of the logits, instances with a form; nearest_line: which line is nearest, and how far."""

    additivity: float
    named_share: float
    nearest_line: str
    nearest_distance: float


@dataclass(frozen=True)
class Verdict:
    """label and sentence, the reasons in plain words, and how far each line is.

    forms: of the instances, in their order. pizza_share: the Pizza's of the logits of Clocks, Pizzas and both, or None.
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
        return self.label != "not analysed"

    @property
    def general(self) -> tuple[str, ...]:
        """The reasons without those that describe an instance each, which come last."""
        return self.reasons[: len(self.reasons) - len(self.forms)]


NO_VERDICT = Verdict(
    label="not analysed",
    sentence="no verdict: the version that made this row had the paper's label alone",
    reasons=(),
    forms=(),
    pizza_share=None,
    distances={},
    confidence=Confidence(math.nan, math.nan, "", math.nan),
)


def findings(found: Program, instances: Instances) -> Findings:
    """What the verdict rests on."""
    pairs = found.modulus**2
    return Findings(
        accuracy=found.accuracy,
        wrong_pairs=round((1 - found.accuracy) * pairs),
        explained=found.beyond_offsets,
        answer_accuracy=found.answer_accuracy,
        additivity=instances.additivity,
        remainder=instances.remainder,
        instances=instances.instances,
        frequencies=found.modulus // 2,
        keys=len(found.frequencies),
        outstanding=instances.outstanding,
        embedded=instances.embedded,
    )


def form_of(instance: Instance, thresholds: Thresholds = Thresholds()) -> Form:
    """Which form an instance has; `other` where it has none or does not do in the network what it does alone."""
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
    if form == "other" or not reaches(instance.kept, thresholds.kept) or not reaches(fit_of(instance, form), thresholds.fit):
        return "other"
    return form


def fit_of(instance: Instance, form: Form) -> float:
    """Share of the instance's logits that its form explains; of one without a form, that the best does."""
    name = fitted_as(form)
    return instance.fits[name] if name in instance.fits else max(instance.fits.values(), default=math.nan)


def decide(measured: Findings, thresholds: Thresholds = Thresholds()) -> Verdict:
    """The verdict, a function of the numbers and the lines alone."""
    forms = tuple(form_of(each, thresholds) for each in measured.instances)
    named = [(each, form) for each, form in zip(measured.instances, forms, strict=True) if form != "other"]
    named_share = sum(each.share for each, _ in named)
    telling = [(each, form) for each, form in named if form != "short cycle"]
    share = _pizza_share(telling)
    described = [_described(each, form, thresholds) for each, form in zip(measured.instances, forms, strict=True)]
    distances = _distances(measured, thresholds, named_share, share, telling)
    nearest = min(distances, key=lambda line: (round(abs(distances[line]), 9), line))
    confidence = Confidence(measured.additivity, named_share, nearest, abs(distances[nearest]))

    def verdict(label: Label, sentence: str, *reasons: str) -> Verdict:
        return Verdict(label, sentence, (*reasons, *described), forms, share, distances, confidence)

    if not reaches(measured.accuracy, thresholds.accuracy):
        reason = f"accuracy {floored(measured.accuracy)} is below {100 * thresholds.accuracy:g}%: "
        reasons = [f"{reason}{measured.wrong_pairs} of all pairs are answered wrong"]
        if measured.instances and exceeds(measured.answer_accuracy, measured.accuracy):
            right = floored(measured.answer_accuracy)
            reasons.append(f"the answer-following part of its logits alone is right on {right}; memorised pairs can cause that")
        return verdict("not learned", "not learned", *reasons)
    if not reaches(named_share, thresholds.named):
        return verdict(*_unnamed(measured, thresholds, named_share))
    lacking = [reason for held, reason in _requirements(measured, thresholds) if not held]
    if lacking:
        return verdict("other", f"no algorithm found: {lacking[0]}", *lacking)
    held = [reason for _, reason in _requirements(measured, thresholds)]
    held.append(f"instances with a form hold {min(named_share, 1.0):.1%} of the logits")
    rest = "that"
    if len(telling) < len(named):
        cycles = sum(each.share for each, form in named if form == "short cycle")
        held.append(f"short cycles hold {cycles:.1%}: Clock and Pizza compute a cycle of two or three numbers alike")
        rest = "the rest"
    if share is None:
        return verdict("other", f"{_sentence(measured, named)}, which Clock and Pizza compute alike", *held)
    lesser = min(share, 1 - share)
    label: Label = "Pizza" if share > 0.5 else "Clock"
    if reaches(lesser, thresholds.hybrid_share):
        label = "hybrid"
        held.append(
            f"both algorithms carry the logits: {share:.1%} of {rest} is the Pizza's, from {thresholds.hybrid_share:.0%} on"
        )
    elif lesser > 0.0005:
        other = "Clock" if label == "Pizza" else "Pizza"
        held.append(f"a trace of {other}: {lesser:.1%} of {rest}, below {thresholds.hybrid_share:.0%}")
    return verdict(label, _sentence(measured, named), *held)


def _pizza_share(telling: Sequence[tuple[Instance, Form]]) -> float | None:
    """The Pizza's share of the logits of instances that tell an algorithm; one that is both counts half."""
    whole = sum(each.share for each, _ in telling)
    part = sum(each.share * (0.5 if form == "both" else float(form.startswith("Pizza"))) for each, form in telling)
    return part / whole if whole > 0 else None


def _requirements(measured: Findings, thresholds: Thresholds) -> list[tuple[bool, str]]:
    program = f"its program explains {measured.explained:.1%} of its logits"
    adding = f"its instances add up to {measured.additivity:.1%} of its logits"
    enough = reaches(measured.explained, thresholds.program), reaches(measured.additivity, thresholds.additivity)
    return [
        (enough[0], f"{program}, {'at least' if enough[0] else 'less than'} {thresholds.program:.0%}"),
        (enough[1], f"{adding}, {'at least' if enough[1] else 'less than'} {thresholds.additivity:.0%}"),
    ]


def _unnamed(measured: Findings, thresholds: Thresholds, named_share: float) -> tuple[Label, str, str, str]:
    """A network that is right everywhere and whose instances have no form: a table, or something of its own."""
    if not measured.embedded:
        keys = f"its program, of {measured.keys} key frequencies, explains {measured.explained:.1%} of its logits"
        return "other", f"{keys}; without an embedding, no instance can be isolated", keys, "it has no embedding"
    itself = [each for each in measured.instances if reaches(each.kept, thresholds.kept)]
    by_itself = sum(each.share for each in itself)
    weak = f"instances with a form hold {named_share:.1%} of the logits, less than {thresholds.named:.0%}"
    alone = f"frequencies that do by themselves what they do in the network hold {by_itself:.1%}"
    flat = measured.keys >= 0.5 * measured.frequencies or measured.outstanding == 0
    if flat and not reaches(by_itself, thresholds.named):
        return "lookup", "no algorithm found: a lookup table", weak, f"{alone}, and no few frequencies stand out"
    return "other", "no algorithm found: its instances follow neither form", weak, alone


def _described(instance: Instance, form: Form, thresholds: Thresholds) -> str:
    name = f"{', '.join(map(str, instance.frequencies))}: "
    numbers = f"{instance.share:.1%} of the logits, accuracy {floored(instance.accuracy_alone)} alone"
    without = f"{floored(instance.accuracy_without)} without it"
    if form == "other" and not reaches(instance.kept, thresholds.kept):
        said = f"no form, for only {max(0.0, instance.kept):.0%} of what it writes alone is in the network's logits"
    elif form == "other":
        said = "no form"
    else:
        said = f"{form}, which explains {fit_of(instance, form):.1%} of what it writes"
    return f"{name}{said}; {numbers}, {without}"


def _distances(
    measured: Findings,
    thresholds: Thresholds,
    named_share: float,
    share: float | None,
    telling: Sequence[tuple[Instance, Form]],
) -> dict[str, float]:
    """By line, how far the number is beyond it."""
    found = {
        "accuracy": measured.accuracy - thresholds.accuracy,
        "program": measured.explained - thresholds.program,
        "additivity": measured.additivity - thresholds.additivity,
        "named": named_share - thresholds.named,
    }
    if share is not None:
        found["hybrid_share"] = min(share, 1 - share) - thresholds.hybrid_share
    for each, _ in telling:
        lines = (thresholds.pizza_part, 1 - thresholds.pizza_part)
        name = f"pizza_part of {each.frequencies[0]}"
        found[name] = min((each.pizza_part - line for line in lines), key=abs)
    return {name: value for name, value in found.items() if not math.isnan(value) and not (name == "accuracy" and value == 0)}


def _sentence(measured: Findings, named: Sequence[tuple[Instance, Form]]) -> str:
    """Three Pizzas; two Clocks and a Pizza (4.6%); three Pizzas and two short cycles (34.4%)."""
    kinds = [next((kind for kind in ("Pizza", "Clock") if form.startswith(kind)), form) for _, form in named]
    counts = Counter(kinds)
    shares = {kind: sum(each.share for (each, _), k in zip(named, kinds, strict=True) if k == kind) for kind in counts}
    order = sorted(counts, key=lambda kind: (-round(shares[kind], 9), kind))
    phrases = []
    for place, kind in enumerate(order):
        one, many = {"both": ("mixture of both", "mixtures of both")}.get(kind, (kind, f"{kind}s"))
        count = counts[kind]
        words = f"a {one}" if count == 1 else f"{COUNTS[count] if count < len(COUNTS) else count} {many}"
        phrases.append(words if place == 0 else f"{words} ({shares[kind]:.1%})")
    said = phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"
    every = measured.frequencies >= LEAST_FREQUENCIES and measured.keys >= EVERY_FREQUENCY * measured.frequencies
    return f"every frequency at once: {said}" if every else said
