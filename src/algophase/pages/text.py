"""Numbers and values as text."""

import html
import math

from algophase.core.wording import floored

LONGEST_TEXT = 600  # characters of a value from a file on a page


def percent(share: float | None) -> str:
    """A share in percent with two decimals; "-" where it is undefined."""
    if share is None or math.isnan(share):
        return "-"
    return f"{round(100 * share, 2) + 0.0:.2f}%"  # + 0.0: no minus zero


def accuracy_text(accuracy: float | None) -> str:
    """An accuracy in percent, never rounded up; "-" where it is undefined."""
    return "-" if accuracy is None else floored(accuracy)


def escaped(value: object, longest: int = LONGEST_TEXT) -> str:
    """Any value as escaped HTML text, cut to `longest` characters."""
    text = str(value)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return html.escape(text)
