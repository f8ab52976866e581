"""The rules by which the paper's words and numbers are judged. Every item takes its claims from
here: `claims_of` measures what an entry of `claims.toml` names, and its rule judges it.

Words have one meaning throughout. "Most", "typical" and "dominates" mean that the 95% interval of a
share lies above one half, "almost always" that it lies above nine tenths, and "approximately" that
at least 95% of a variance is explained. A difference is one if its 95% interval leaves out zero. A
value within rounding of a line lies on it (`analysis.lines`).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.lines import exceeds, falls_short, reaches, stays_within
from algophase.paper.measure import Measurement, measure, measure_optional
from algophase.paper.product import Claim, Entry, Verdict, entries
from algophase.paper.sources import Sources
from algophase.runs.boundary import Estimate
from algophase.runs.statistics import Share, newcombe

THRESHOLDS = Thresholds()
MOST, NEARLY_ALL = 0.5, 0.9
HALF = 0.5  # of the correct logits' variance, from which on a pattern "depends on" a - b or a + b
RARE = 0.05  # what is not found at all is called absent only if its share must be below this
# "approximately", "well-approximates": the paper gives no number, so we draw one line for all of
# its approximations.
APPROXIMATES = 0.95
APPROXIMATION_RULE = f"rule: at least {APPROXIMATES:.0%} of the variance"
PRECISE = 0.1  # a share is told apart from the published one at this distance
TRANSITION_RULE = (
    f"rule: the fitted share inside the phase lies above {MOST:.0%} at rate 0 and below it at rate "
    "1, with its 95% band"
)
# A number of a network of our own is not the published network's: it is shown beside it and not
# judged.
OTHER_NETWORK = "another network than the paper's: shown, not judged"

Holds = bool | Literal["undecided"] | None
_VERDICTS: dict[Holds, Verdict] = {
    True: "supported",
    False: "not supported",
    "undecided": "undecided",
    None: "not tested",
}


def decided(estimate: Estimate | None, low: float = -math.inf, high: float = math.inf) -> Holds:
    """Whether a number lies within limits: its whole interval does, or none of it, or that is
    undecided.
    """
    if estimate is None or estimate.interval is None:
        return None
    least, most = estimate.interval
    if exceeds(least, low) and falls_short(most, high):
        return True
    return False if stays_within(most, low) or reaches(least, high) else "undecided"


def all_of(parts: Sequence[Holds]) -> Holds:
    """Whether several rules hold: one that does not decides it, one that is undecided leaves it
    open.
    """
    if False in parts:
        return False
    return True if all(part is True for part in parts) else "undecided"


def runs_to_decide(
    estimate: Estimate | None, runs: int, low: float = -math.inf, high: float = math.inf
) -> int | None:
    """About how many runs decide whether a number lies within limits, to two digits. It takes the
    number to be where it was measured, and its interval to narrow with the root of the runs. None
    where the number lies on a limit, or has no interval.
    """
    if estimate is None or estimate.interval is None:
        return None
    value = estimate.value
    least, most = estimate.interval
    to_low, to_high = value - low, high - value
    if to_low == 0 or to_high == 0:
        return None
    if to_low > 0 and to_high > 0:
        narrower = max((value - least) / to_low, (most - value) / to_high)
    elif to_low < 0:
        narrower = (most - value) / -to_low
    else:
        narrower = (value - least) / -to_high
    needed = runs * narrower**2
    unit = 10 ** max(0, math.floor(math.log10(max(needed, 1))) - 1)
    return unit * math.ceil(needed / unit)  # two digits


def above_zero(estimate: Estimate | None) -> Holds:
    return decided(estimate, low=0.0)


def estimated(share: Share) -> Estimate | None:
    return Estimate(share.value, share.interval) if share.total else None


def apart(first: Share, second: Share) -> Estimate | None:
    """The first share less the second, with Newcombe's interval; None if either saw nothing."""
    if not first.total or not second.total:
        return None
    return Estimate(first.value - second.value, newcombe(first, second))


def points(estimate: Estimate | None) -> str:
    """A difference of shares in percentage points."""
    if estimate is None or estimate.interval is None:
        return "no runs"
    low, high = estimate.interval
    return f"{100 * estimate.value:+.2f} points [{100 * low:+.2f}, {100 * high:+.2f}]"


# --- rules that `claims.toml` names
# Each takes the claim and its measurement, and gives the verdict and what is said of the rule.
# A value of None is not tested.

LINES = {
    "half": HALF,
    "most": MOST,
    "nearly all": NEARLY_ALL,
    "approximately": APPROXIMATES,
    "circular": THRESHOLDS.circularity,
    "symmetric": THRESHOLDS.gradient_symmetricity,
    "low irrelevance": THRESHOLDS.pizza_distance_irrelevance,
}
# Limits that a number's interval must lie within, of rules that draw some, by the claim's line.
LIMITS: dict[str, Callable[[float], tuple[float, float]]] = {
    "share above": lambda line: (line, math.inf),
    "share below": lambda line: (-math.inf, line),
    "at least one": lambda _: (RARE, math.inf),
    "interval above zero": lambda _: (0.0, math.inf),
    "interval below": lambda line: (-math.inf, line),
    "interval around zero": lambda line: (-line, line),
}
Judgment = tuple[Verdict, str]
Rule = Callable[[Entry, "Measurement"], Judgment]
RULES: dict[str, Rule] = {}


def _rule(function: Rule) -> Rule:
    """A rule's name in `claims.toml` is the function's, with spaces."""
    RULES[function.__name__.replace("_", " ")] = function
    return function


def limit_of(claim: Entry) -> float:
    """The claim's line as a number."""
    return LINES[claim.line] if isinstance(claim.line, str) else float(claim.line or 0)


def _values(measurement: "Measurement") -> tuple[Any, ...]:
    value = measurement.value
    return tuple(value) if isinstance(value, tuple) else (value,)


def _compared(
    claim: Entry,
    measurement: "Measurement",
    extreme: Callable[..., float],
    compare: Callable[..., Any],
    otherwise: float,
) -> Judgment:
    """Whether all values lie on one side of the claim's line; none at all do not."""
    if measurement.value is None:
        return _VERDICTS[None], ""
    worst = extreme(_values(measurement), default=otherwise)
    return _VERDICTS[bool(compare(worst, limit_of(claim)))], ""


@_rule
def printed(claim: Entry, measurement: "Measurement") -> Judgment:
    """Equal to the printed digits; judged only on the network the paper printed them for."""
    if not measurement.comparable:
        return "not tested", OTHER_NETWORK
    return ("reproduced" if claim.agrees(measurement.value) else "differs"), ""


@_rule
def all_equal(_: Entry, measurement: "Measurement") -> Judgment:
    """A printed list: the quantity says whether every number of it is equal to ours."""
    return ("reproduced" if measurement.value else "differs"), ""


@_rule
def same_circle(claim: Entry, measurement: "Measurement") -> Judgment:
    """The printed frequency k, or p - k: the same circle, walked the other way."""
    frequency = measurement.value
    modulus = measurement.words["modulus"]
    wording = "" if measurement.comparable else OTHER_NETWORK
    agrees = claim.agrees(frequency)
    if not agrees and claim.agrees(modulus - frequency):
        agrees = True
        wording = f"{claim.published} = {modulus} - {frequency}: the same circle"
    if not measurement.comparable:
        return "not tested", wording
    return ("reproduced" if agrees else "differs"), wording


@_rule
def other_network(_: Entry, __: "Measurement") -> Judgment:
    """A printed number of a network that was not released: ours is shown next to it."""
    return "not tested", OTHER_NETWORK


@_rule
def contradicts(_: Entry, measurement: "Measurement") -> Judgment:
    """The paper says two things that cannot both be; ours shows which is so."""
    return ("not tested" if measurement.value is None else "paper contradicts itself"), ""


@_rule
def holds(_: Entry, measurement: "Measurement") -> Judgment:
    """The quantity itself says whether it is so."""
    return _VERDICTS[measurement.value], ""


@_rule
def equal(claim: Entry, measurement: "Measurement") -> Judgment:
    """All values are the expected word."""
    return _VERDICTS[all(value == claim.expected for value in _values(measurement))], ""


@_rule
def at_least(claim: Entry, measurement: "Measurement") -> Judgment:
    """Every value reaches the line."""
    return _compared(claim, measurement, min, reaches, -math.inf)


@_rule
def above(claim: Entry, measurement: "Measurement") -> Judgment:
    """Every value exceeds the line."""
    return _compared(claim, measurement, min, exceeds, -math.inf)


@_rule
def at_most(claim: Entry, measurement: "Measurement") -> Judgment:
    """No value exceeds the line."""
    return _compared(claim, measurement, max, stays_within, math.inf)


@_rule
def below(claim: Entry, measurement: "Measurement") -> Judgment:
    """No value reaches the line."""
    return _compared(claim, measurement, max, falls_short, math.inf)


@_rule
def within(claim: Entry, measurement: "Measurement") -> Judgment:
    """Every value lies between the limits."""
    low, high = claim.limits
    values = _values(measurement)
    return _VERDICTS[bool(low <= min(values) and max(values) <= high)], ""


@_rule
def first_alone_above(claim: Entry, measurement: "Measurement") -> Judgment:
    """The first of two values exceeds the line, the second does not."""
    first, second = measurement.value
    is_so = exceeds(first, limit_of(claim)) and stays_within(second, limit_of(claim))
    return _VERDICTS[bool(is_so)], ""


@_rule
def first_alone_below(claim: Entry, measurement: "Measurement") -> Judgment:
    """The first of two values falls short of the line, the second does not."""
    first, second = measurement.value
    is_so = falls_short(first, limit_of(claim)) and reaches(second, limit_of(claim))
    return _VERDICTS[bool(is_so)], ""


@_rule
def second_alone_above(claim: Entry, measurement: "Measurement") -> Judgment:
    """The second of two values exceeds the line, the first does not."""
    first, second = measurement.value
    return _VERDICTS[bool(first <= limit_of(claim) < second)], ""


@_rule
def approximates(claim: Entry, measurement: "Measurement") -> Judgment:
    """A formula explains nearly all of the variance."""
    return _VERDICTS[bool(reaches(measurement.value, APPROXIMATES))], APPROXIMATION_RULE


@_rule
def share_above(claim: Entry, measurement: "Measurement") -> Judgment:
    """The interval of a share lies above the line; below it is not supported, else undecided."""
    line = limit_of(claim)
    wording = (
        f"rule: the 95% interval lies above {line:.0%} (not supported: below it; undecided: "
        f"it holds {line:.0%})"
    )
    return _VERDICTS[decided(estimated(measurement.value), low=line)], wording


@_rule
def share_below(claim: Entry, measurement: "Measurement") -> Judgment:
    """The interval of a share lies below the line; above it is not supported, else undecided."""
    return _VERDICTS[decided(estimated(measurement.value), high=limit_of(claim))], ""


@_rule
def at_least_one(_: Entry, measurement: "Measurement") -> Judgment:
    """There is at least one; that there is none among few says little."""
    share = measurement.value
    wording = "rule: there is at least one"
    if share.count:
        return "supported", wording
    wording += (
        f" (not supported: none, and the 95% interval lies below {RARE:.0%}; undecided: "
        f"it holds {RARE:.0%})"
    )
    return _VERDICTS[decided(estimated(share), low=RARE)], wording


@_rule
def interval_above_zero(_: Entry, measurement: "Measurement") -> Judgment:
    """The interval of a difference lies above zero; below is not supported, else undecided."""
    return _VERDICTS[above_zero(measurement.value)], ""


@_rule
def interval_below(claim: Entry, measurement: "Measurement") -> Judgment:
    """The interval of a number lies below the line; above it is not supported, else undecided."""
    return _VERDICTS[decided(measurement.value, high=limit_of(claim))], ""


@_rule
def interval_around_zero(claim: Entry, measurement: "Measurement") -> Judgment:
    """The interval of a difference lies within the line of zero. A value of False is none."""
    line = limit_of(claim)
    if measurement.value is False:
        return _VERDICTS[False], ""
    return _VERDICTS[decided(measurement.value, -line, line)], ""


@_rule
def transition(_: Entry, measurement: "Measurement") -> Judgment:
    """A phase ends within the range of rates."""
    return _VERDICTS[measurement.value.observed()], TRANSITION_RULE


@_rule
def clear_transition(_: Entry, measurement: "Measurement") -> Judgment:
    """It also dominates below the boundary, and its opposite above."""
    wording = f"{TRANSITION_RULE}, and so do the shares below and above the boundary"
    return _VERDICTS[measurement.value.observed(clear=True)], wording


@_rule
def printed_share(claim: Entry, measurement: "Measurement") -> Judgment:
    """Our share beside a printed one, which is of finitely many runs too: reproduced if no
    difference is seen, and a difference of more than `PRECISE` would have been.
    """
    share = measurement.value
    theirs = claim.share
    difference = apart(share, theirs)
    if difference is None or difference.interval is None:
        return "not tested", f"there is no run of {measurement.words['space']} with a circularity"
    low, high = share.interval
    where = "inside" if low <= (claim.value or 0.0) <= high else "outside"
    wording = (
        "rule: the 95% interval of the difference from the published share, itself of "
        f"{theirs.total:,} runs, holds 0, and nothing beyond {100 * PRECISE:g} points (undecided: "
        f"it holds both): {points(difference)} (taken as exact, it lies {where} our interval); of "
        "all trained networks, accurate or not"
    )
    if not difference.holds(0.0):
        return "differs", wording
    furthest = max(map(abs, difference.interval))
    return ("reproduced" if stays_within(furthest, PRECISE) else "undecided"), wording


def what_decides(claim: Entry, measurement: Measurement) -> str:
    """How many runs would decide an undecided claim, or that none can."""
    if claim.no_more_runs:
        return f"; no further runs can decide it: {claim.no_more_runs}"
    needed = measurement.words.get("runs_to_decide")
    if claim.rule in LIMITS:
        limits = LIMITS[claim.rule](limit_of(claim))
        value = measurement.value
        estimate = estimated(value) if isinstance(value, Share) else value
        needed = runs_to_decide(estimate, measurement.sample, *limits)
    if needed is None:
        return ""
    return f"; about {needed:,} runs would decide it, if the number stays where it is"


def claims_of(label: str, sources: Sources) -> tuple[Claim, ...]:
    """The claims of an item, judged."""
    return judge_all(entries()[label], sources)


def judge_all(described: Sequence[Entry], sources: Sources) -> tuple[Claim, ...]:
    """Claims beside what is measured. One whose quantity has nothing to be measured on is left
    out.
    """
    claims = []
    for entry in described:
        find = measure_optional if entry.optional else measure
        measurement = find(sources, entry.population, entry.quantity, **entry.arguments)
        if measurement is not None:
            claims.append(judge(entry, measurement))
    return tuple(claims)


def judge(entry: Entry, measurement: Measurement) -> Claim:
    """A claim beside its measurement."""
    verdict, rule = RULES[entry.rule](entry, measurement)
    note = entry.note
    if verdict == "undecided":
        note += what_decides(entry, measurement)
    words = {
        **entry.arguments,
        "value": measurement.value,
        "line": limit_of(entry),
        "place": entry.place,
        "published": entry.published,
        "sample": measurement.sample,
        "rule": rule,
        **measurement.words,
    }
    return Claim(
        entry.text.format(**words),
        entry.published.format(**words),
        entry.ours.format(**words),
        verdict,
        measurement.sample,
        note.format(**words),
    )
