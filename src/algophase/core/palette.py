"""The order, colors and markers of verdicts, forms and series, the same in every picture and page.

The colors are Okabe and Ito's, which every common kind of color blindness can tell apart. Markers
differ too, for readers who see no color at all. Markers have Matplotlib's names.
"""

from collections.abc import Iterable

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GRAY = "#8A8F98"  # visible on white and on black
# (color, marker) of each verdict.
VERDICTS = {
    "Clock": (COLORS[0], "o"),
    "Pizza": (COLORS[1], "s"),
    "multiplying": (COLORS[0], ">"),  # the Clock and the Pizza of other groups
    "adding": (COLORS[1], "<"),
    "hybrid": (COLORS[2], "D"),
    "non-circular": (GRAY, "x"),
    "other": (COLORS[4], "P"),
    "lookup": (COLORS[6], "X"),
    "not learned": (COLORS[3], "^"),
    "diverged": (COLORS[5], "v"),
}
# The same for the kinds of instances: an algorithm's look is its verdict's. The short cycle's color
# is far from these and from gray with every common kind of color blindness (CIELAB distance 23 or
# more).
FORMS = {
    "Clock": VERDICTS["Clock"],
    "Pizza": VERDICTS["Pizza"],
    "hybrid": VERDICTS["hybrid"],
    "other": VERDICTS["other"],
    "short cycle": ("#882255", "v"),
}
# On other groups: what adds looks like a Pizza, what multiplies like a Clock.
KINDS = {
    "both": "hybrid",
    "not measured": "other",
    **dict.fromkeys(("adds", "adding"), "Pizza"),
    **dict.fromkeys(("multiplies", "multiplying"), "Clock"),
}

# What can become of a run, in the order of tables and legends
OUTCOMES = (*VERDICTS, "not analyzed")
UNKNOWN = (COLORS[4], "p")  # of a verdict that a table has and we do not


def look(verdict: str) -> tuple[str, str]:
    """Color and marker of a verdict."""
    return VERDICTS.get(verdict, UNKNOWN)


def in_order(outcomes: Iterable[str]) -> list[str]:
    """Each outcome once: the known ones in their order, then any others by name."""
    names = set(outcomes)
    return [*(name for name in OUTCOMES if name in names), *sorted(names.difference(OUTCOMES))]


def kind_of(form: str) -> str:
    """The key of `FORMS` for an instance's form: that of its algorithm.

    "Pizza with companion" is a Pizza, "both" a hybrid. On a group, an instance that adds has a
    Pizza's look and one that multiplies a Clock's. A short cycle says nothing about the algorithm
    and has a look of its own.
    """
    if form == "short cycle":
        return form
    return KINDS.get(form, form.partition(" ")[0])
