"""Rules by which the paper's statements are judged, said once."""

from algophase.paper.product import Claim

# "approximately", "well-approximates": the paper gives no number, so we draw one line for all of its approximations.
APPROXIMATES = 0.95
APPROXIMATION_RULE = "rule: at least 95% of the variance"


def statement(text: str, ours: str, holds: bool, note: str, *, published: str = "-", sample: int = 1) -> Claim:
    """A statement of the paper that our measurement supports or does not; the note states the rule."""
    return Claim(text, published, ours, "supported" if holds else "not supported", sample, note)
