"""Rules by which the paper's statements are judged, said once."""

from typing import Literal

from algophase.paper.product import Claim, Verdict

# "approximately", "well-approximates": the paper gives no number, so we draw one line for all of its approximations.
APPROXIMATES = 0.95
APPROXIMATION_RULE = "rule: at least 95% of the variance"


Holds = bool | Literal["undecided"] | None
_VERDICTS: dict[Holds, Verdict] = {True: "supported", False: "not supported", "undecided": "undecided", None: "not tested"}


def statement(text: str, ours: str, holds: Holds, note: str, *, published: str = "-", sample: int = 1) -> Claim:
    """Something the paper says in words, which our measurement supports or does not; the note states the rule.

    holds: "undecided" where an interval is too wide for the rule, None where there is nothing to test.
    """
    return Claim(text, published, ours, _VERDICTS[holds], sample, note)
