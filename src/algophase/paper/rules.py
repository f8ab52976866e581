"""The rules by which the paper's words and numbers are judged. Every item takes its claims from
here.

Words have one meaning throughout. "Most", "typical" and "dominates" mean that the 95% interval of a
share lies above one half, "almost always" that it lies above nine tenths, and "approximately" that
at least 95% of a variance is explained. A difference is one if its 95% interval leaves out zero. A
value within rounding of a line lies on it (`analysis.lines`).
"""

import math
from collections.abc import Sequence
from typing import Literal

from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.lines import exceeds, falls_short, reaches, stays_within
from algophase.paper.product import Claim, Verdict
from algophase.paper.published import number
from algophase.paper.sources import Exhibit
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


def statement(
    text: str, holds: Holds, ours: str, note: str, *, published: str = "-", sample: int = 1
) -> Claim:
    """Something the paper says in words, which our measurement supports or does not; the note
    states the rule.

    holds: "undecided" where an interval is too wide for the rule, None where there is nothing to
        test.
    """
    return Claim(text, published, ours, _VERDICTS[holds], sample, note)


def judged(
    text: str, holds: bool, ours: str, rule: str, *, published: str = "-", sample: int = 1
) -> Claim:
    """A statement whose note is the rule alone."""
    return statement(text, holds, ours, f"rule: {rule}", published=published, sample=sample)


def approximated(
    text: str, explained: float, ours: str, also: str = "", *, published: str = "-"
) -> Claim:
    """That one thing is about another: a formula explains nearly all of the variance."""
    return statement(
        text, reaches(explained, APPROXIMATES), ours, APPROXIMATION_RULE + also, published=published
    )


def for_each(text: str, values: Sequence[float], line: float, ours: str, rule: str) -> Claim:
    """That every value reaches a line. ours: what is shown, {} standing for the range of the
    values.
    """
    return judged(
        text,
        bool(reaches(min(values, default=-math.inf), line)),
        ours.format(spread_of(values)),
        rule,
    )


def measured(name: str, of: Exhibit, ours: float, shown: str, note: str = "") -> Claim:
    """A printed number beside ours; judged only on the network the paper printed it for."""
    note = note or ("" if of.published else OTHER_NETWORK)
    return number(name).claim(ours, shown, same_network=of.published, note=note)


def spread_of(values: Sequence[float], form: str = ".1%") -> str:
    """The range of some values, in words."""
    if not values:
        return "no circle"
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


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


def share_claim(text: str, share: Share, line: float, what: str, published: str = "-") -> Claim:
    """Supported if the share's interval lies above the line, not supported if below; otherwise
    the runs cannot tell.
    """
    rule = (
        f"rule: the 95% interval lies above {line:.0%} (not supported: below it; undecided: "
        f"it holds {line:.0%})"
    )
    holds = decided(estimated(share), low=line)
    return statement(
        text, holds, str(share), f"{what}; {rule}", published=published, sample=share.total
    )


def some_claim(text: str, share: Share, what: str) -> Claim:
    """Supported if there is at least one; that there is none among few says little."""
    holds: Holds = None
    if share.total:
        holds = True if share.count else decided(estimated(share), low=RARE)
    note = f"{what}; rule: there is at least one"
    if not share.count:
        note += (
            f" (not supported: none, and the 95% interval lies below {RARE:.0%}; undecided: "
            f"it holds {RARE:.0%})"
        )
    return statement(text, holds, str(share), note, sample=share.total)
