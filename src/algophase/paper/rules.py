"""Rules by which the paper's statements are judged, said once."""

from typing import Literal

from algophase.paper.product import Claim, Verdict

# "approximately", "well-approximates": the paper gives no number, so we draw one line for all of its approximations.
APPROXIMATES = 0.95
APPROXIMATION_RULE = "rule: at least 95% of the variance"


Holds = bool | Literal["undecided"] | None


def statement(text: str, ours: str, holds: Holds, note: str, *, published: str = "-", sample: int = 1) -> Claim:
    """Something the paper says in words, which our measurement supports or does not; the note states the rule.

    holds: "undecided" where an interval is too wide for the rule, None where there is nothing to test.
    """
    verdict: Verdict
    if holds == "undecided":
        verdict = "undecided"
    else:
        verdict = "not tested" if holds is None else "supported" if holds else "not supported"
    return Claim(text, published, ours, verdict, sample, note)
