"""Rules by which the paper's statements are judged, said once."""

from algophase.paper.product import Claim, Verdict

# "approximately", "well-approximates": the paper gives no number, so we draw one line for all of its approximations.
APPROXIMATES = 0.95
APPROXIMATION_RULE = "rule: at least 95% of the variance"


def statement(text: str, ours: str, holds: bool | None, note: str, *, published: str = "-", sample: int = 1) -> Claim:
    """Something the paper says in words, which our measurement supports or does not; the note states the rule.

    holds: None where the data cannot tell.
    """
    verdict: Verdict = "not tested" if holds is None else "supported" if holds else "not supported"
    return Claim(text, published, ours, verdict, sample, note)
