"""Which algorithm a network on any finite group learned, from its instances.

    not learned   some pairs are wrong; "it memorized" where it knows many pairs all the same and
                  has no instances that would answer the others
    adding        its instances add: hidden units read sums, as a Pizza's do
    multiplying   its instances multiply, as a Clock's do
    hybrid        both have at least `hybrid_share` of the logits
    lookup        right everywhere, but no representation does by itself what it does in the network
    other         right everywhere, and none of these

An instance adds from `adding` on, and multiplies up to `multiplying`: the share of its logits that
is left when interactions are taken out of what its hidden units read (`program.adding`). Where the
lines come from: in 512 transformers of the paper on Z59, attention rates uniform in [0, 1], Pizzas
with at least 1% of the logits have 0.950 or more, Clocks 0.709 to 0.926 and those that are both
0.889 to 0.965. By the lines 0.95 and 0.90, no Clock adds and no Pizza multiplies; 29 of 1,801
instances differ, all of them next to "both".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from algophase.analysis.program.by_representation import GroupInstance, OnGroup
from algophase.analysis.verdict.decide import (
    COUNTS,
    NEARLY_RIGHT,
    NO_ALGORITHM,
    Confidence,
    Label,
    Line,
    Verdict,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.lines import reaches
from algophase.core.wording import floored, share_text

ADDS, MULTIPLIES = 0.95, 0.90

GroupForm = Literal["adds", "multiplies", "both", "short cycle", "not measured", "other"]
# A network that has this many times as many pairs right as chance, 1 / n of them, knows some.
KNOWS_SOME = 5.0
# From so many representations of one dimension on, they are counted and not named.
MOST_NAMED = 3


def form_of(instance: GroupInstance, thresholds: Thresholds = Thresholds()) -> GroupForm:
    """What an instance does; `other` where it does not do in the network what it does alone."""
    if not reaches(instance.kept, thresholds.kept):
        return "other"
    if instance.short:
        return "short cycle"
    if math.isnan(instance.adding):
        return "not measured"
    if reaches(instance.adding, ADDS):
        return "adds"
    return "multiplies" if reaches(MULTIPLIES, instance.adding) else "both"


@dataclass(frozen=True)
class _Reading:
    """The instances by their forms. named_share: of the logits, those of instances with a form;
    adding_share: of instances that add or multiply, those that add, None where there are none.
    """

    forms: tuple[GroupForm, ...]
    named_share: float
    adding_share: float | None


def _read(on_group: OnGroup, thresholds: Thresholds) -> _Reading:
    forms = tuple(form_of(instance, thresholds) for instance in on_group.instances)
    pairs = list(zip(on_group.instances, forms, strict=True))
    named = sum(instance.share for instance, form in pairs if form != "other")
    weights = {"adds": 1.0, "both": 0.5, "multiplies": 0.0}
    telling = [(instance.share, weights[form]) for instance, form in pairs if form in weights]
    whole = sum(share for share, _ in telling)
    adding = sum(share * weight for share, weight in telling)
    return _Reading(forms, named, adding / whole if whole > 0 else None)


def decide_on_group(on_group: OnGroup, thresholds: Thresholds = Thresholds()) -> Verdict:
    """The verdict, a function of the numbers and the lines alone."""
    accuracy = on_group.accuracy
    reading = _read(on_group, thresholds)
    lines = {
        "accuracy": Line(accuracy, thresholds.accuracy),
        "additivity": Line(on_group.additivity, thresholds.additivity),
        "named": Line(reading.named_share, thresholds.named),
    }
    if reading.adding_share is not None:
        lesser = min(reading.adding_share, 1 - reading.adding_share)
        lines["hybrid_share"] = Line(lesser, thresholds.hybrid_share)
    label, sentence, reasons = _algorithm(on_group, thresholds, reading)
    if not reaches(accuracy, thresholds.accuracy):
        sentence, reasons = _not_learned(on_group, thresholds, sentence, reasons)
        label = "not learned"
    if accuracy == 1 and thresholds.accuracy == 1:
        del lines["accuracy"]  # right everywhere: no close call
    nearest = min(lines, key=lambda name: (round(abs(lines[name].distance), 9), name))
    # What else is measured of a network that is wrong on many pairs decides nothing.
    is_wrong = not reaches(accuracy, min(NEARLY_RIGHT, thresholds.accuracy))
    deciding = "accuracy" if is_wrong else nearest
    closest = lines[deciding]
    confidence = Confidence(
        additivity=on_group.additivity,
        named_share=reading.named_share,
        nearest_line=nearest,
        nearest_distance=abs(lines[nearest].distance),
        closest_line=deciding,
        closest_value=closest.value,
        closest_threshold=closest.threshold,
    )
    return Verdict(
        label=label,
        sentence=sentence,
        reasons=tuple(reasons),
        forms=(),
        pizza_share=reading.adding_share,
        distances={name: line.distance for name, line in lines.items()},
        confidence=confidence,
    )


def _not_learned(
    on_group: OnGroup, thresholds: Thresholds, algorithm: str, why: Sequence[str]
) -> tuple[str, list[str]]:
    """The sentence and the reasons. algorithm, why: the same, were the accuracy enough."""
    has_algorithm = NO_ALGORITHM not in algorithm
    accuracy = on_group.accuracy
    pairs = on_group.order**2
    wrong = f"{round((1 - accuracy) * pairs):,} of {pairs:,} pairs are wrong"
    reasons = [f"accuracy {floored(accuracy)} is below {100 * thresholds.accuracy:g}%: {wrong}"]
    if reaches(accuracy, NEARLY_RIGHT):
        connection = "apart from these: " if has_algorithm else ""
        sentence = f"{floored(accuracy)} accurate ({wrong}); {connection}{algorithm}"
        return sentence, [*reasons, *why]
    knows_some = on_group.embedding and reaches(accuracy * on_group.order, KNOWS_SOME)
    if has_algorithm:
        return "not learned", [*reasons, f"its instances all the same: {algorithm}"]
    if not knows_some:
        return "not learned", reasons
    name = _name_of(on_group)
    memorized = f"it memorized ({floored(accuracy)} of the pairs are right)"
    return f"{name}: {NO_ALGORITHM}: {memorized}", [*reasons, *why]


def _name_of(on_group: OnGroup) -> str:
    return on_group.name or f"a group of order {on_group.order} with {on_group.classes} classes"


def _algorithm(
    on_group: OnGroup, thresholds: Thresholds, reading: _Reading
) -> tuple[Label, str, list[str]]:
    """What the instances are, whatever the accuracy is."""
    name = _name_of(on_group)
    if not on_group.embedding:
        functions = (
            f"{on_group.shares.bi_equivariant:.1%} of its logits are functions of x^-1 z y^-1"
        )
        sentence = f"{name}: {functions}; without an embedding, instances cannot be isolated"
        return "other", sentence, [functions, "it has no embedding"]
    adding_up = (
        f"its instances add up to {on_group.additivity:.1%} of its logits (threshold: "
        f"{thresholds.additivity:.0%})"
    )
    named = (
        f"instances that do alone what they do in the network account for "
        f"{min(reading.named_share, 1.0):.1%} of the logits (threshold: {thresholds.named:.0%})"
    )
    if not reaches(reading.named_share, thresholds.named):
        return "lookup", f"{name}: {NO_ALGORITHM}: a lookup table", [named, adding_up]
    if not reaches(on_group.additivity, thresholds.additivity):
        return "other", f"{name}: {NO_ALGORITHM}: {adding_up}", [adding_up, named]
    listed = _listed(on_group.instances)
    reasons = [adding_up, named]
    share = reading.adding_share
    if share is None:
        unknown = "it is not known what its hidden units read"
        how = unknown if "not measured" in reading.forms else "adding and multiplying are alike"
        return "other", f"{name}: {listed}; {how}", reasons
    lesser = min(share, 1 - share)
    if reaches(lesser, thresholds.hybrid_share):
        reasons.append(f"both contribute: adding has {share:.1%}")
        return "hybrid", f"{name} by adding and multiplying: {listed}", reasons
    label: Label = "adding" if share > 0.5 else "multiplying"
    return label, f"{name} by {label}: {listed}", reasons


def _listed(instances: Sequence[GroupInstance]) -> str:
    """The standard representation (74%) and the sign (26%); five representations of dimension 2
    (89%) and the sign (11%).
    """
    counts: dict[int, list[GroupInstance]] = {}
    for instance in instances:
        counts.setdefault(instance.dimensions[0], []).append(instance)
    phrases: list[tuple[float, str]] = []
    for dimension, members in counts.items():
        share = sum(member.share for member in members)
        if len(members) > MOST_NAMED:
            number = COUNTS[len(members)] if len(members) < len(COUNTS) else str(len(members))
            text = f"{number} representations of dimension {dimension}"
            phrases.append((share, f"{text} ({share_text(share)})"))
            continue
        for member in members:
            text = " and ".join(map(_named, member.representations))
            phrases.append((member.share, f"{text} ({share_text(member.share)})"))
    ordered = [text for _, text in sorted(phrases, key=lambda phrase: -phrase[0])]
    if len(ordered) < 2:
        return ordered[0] if ordered else "no representation"
    return f"{', '.join(ordered[:-1])} and {ordered[-1]}"


def _named(name: str) -> str:
    if name == "sign":
        return "the sign"
    return f"the representation {name}" if name[0].isdigit() else f"the {name} representation"
