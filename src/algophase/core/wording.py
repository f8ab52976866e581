"""How the package words what it tells people."""

import math
import unicodedata


def printable(text: str) -> str:
    """Text from anywhere for a terminal: what could move the cursor or change what is shown
    becomes a question mark.
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else _instead(letter) for letter in text
    )


def _instead(letter: str) -> str:
    return " " if unicodedata.category(letter) == "Zs" else "?"  # a space of another width


def plural(count: int, what: str) -> str:
    """The word after a count: 1 network, 2 networks."""
    return what if count == 1 else f"{what}s"


def counted(count: int, what: str) -> str:
    """The count and its word: 1 run, 2,000 runs."""
    return f"{count:,} {plural(count, what)}"


def floored(share: float, digits: int = 2) -> str:
    """An accuracy in percent, never rounded up to one that it does not reach: a single wrong
    pair is not 100.00%.
    """
    whole = round(10.0 ** (digits + 2) * share, 6)  # 57 of 100 are 56.99999999999999%
    return "-" if math.isnan(share) else f"{math.floor(whole) / 10**digits:.{digits}f}%"


def form_name(form: str) -> str:
    """An instance's form as people read it. Tables and JSON keep the form itself."""
    return "Clock-Pizza mixture" if form == "both" else form


def share_text(share: float) -> str:
    """A share in percent with two digits, enough to compare parts of a whole: 39%, 7.7%."""
    percent = 100 * share
    return f"{percent:.0f}%" if percent >= 9.95 else f"{percent:.1f}%"


def remarked(sentence: str, remark: str) -> str:
    """A remark in parentheses, or after a semicolon where the sentence has some already."""
    return f"{sentence}; {remark}" if "(" in sentence else f"{sentence} ({remark})"


def duration(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any: 2:05, 1:00:00."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
