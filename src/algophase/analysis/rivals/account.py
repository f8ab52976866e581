"""What an account of a network says, and how it fares on one network."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from algophase.core.lines import falls_short, reaches
from algophase.record.layout import Layout

# Lines of our own where a paper draws none.
# Nine units or images in ten: an account of units is not one of half of them.
MOST_UNITS = 0.9
# Vectors whose cos^2 is at least this are one vector, and sets of vectors are closed from here on.
# Networks on S5 and A5 have images above 0.99 or below 0.85.
SAME_VECTOR = 0.9
# What comes of an account or a measure on one network, in the words of every table and file.
PASSES = "passes"
BY_CHANCE = "by chance"  # it passes, and so would chance: no evidence
FAILS = "fails"
SAYS_NOTHING = "says nothing"


def outcome_of(passes: bool | None, discriminates: bool) -> str:
    if passes is None:
        return SAYS_NOTHING
    if not passes:
        return FAILS
    return PASSES if discriminates else BY_CHANCE


@dataclass(frozen=True)
class Measure:
    """One number of an account, and the line that it must reach.

    name: what is measured. value: NaN where it is undefined, which no line accepts.
    line: None for a number that is shown and does not decide. below: whether the value must fall
        short of the line.
    by_chance: the same number of random vectors or functions of the same kind; NaN where that says
        nothing.
    why: where the line comes from.
    unit: "share" or "number", for how it is printed.
    """

    name: str
    value: float
    line: float | None = None
    below: bool = False
    by_chance: float = math.nan
    why: str = ""
    unit: str = "share"

    @property
    def decides(self) -> bool:
        return self.line is not None

    @property
    def passes(self) -> bool | None:
        """Whether the value is on the account's side of the line; None where there is no line."""
        return self._accepts(self.value)

    @property
    def discriminates(self) -> bool:
        """Whether chance would fail: a line that random vectors reach tells nothing."""
        return not self._accepts(self.by_chance)

    @property
    def outcome(self) -> str:
        """One of the words above; "says nothing" where there is no line."""
        return outcome_of(self.passes, self.discriminates)

    def _accepts(self, value: float) -> bool | None:
        if self.line is None:
            return None
        accepted = falls_short(value, self.line) if self.below else reaches(value, self.line)
        return bool(accepted)

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "name": "name",
            "value": "value",
            "line": "line",
            "below": "below",
            "by_chance": "by_chance",
            "why": "why",
            "unit": "unit",
            "passes": lambda measure: measure.passes,
            "discriminates": lambda measure: measure.discriminates,
            "outcome": lambda measure: measure.outcome,
        }
    )


@dataclass(frozen=True)
class Account:
    """An account of how a network answers, with its measures on one network.

    name: "coset circuits". source: who gave it. predicts: what it says of a network.
    measures: those with a line decide, all of them. notes: what a reader should know beside.
    details: one row per representation, subgroup or frequency, for JSON.
    undefined: why it says nothing of this network; "" where it does.
    """

    name: str
    source: str
    predicts: str
    measures: tuple[Measure, ...] = ()
    notes: tuple[str, ...] = ()
    details: tuple[Mapping[str, Any], ...] = ()
    undefined: str = ""

    @property
    def passes(self) -> bool | None:
        """Whether every measure with a line passes; None where it says nothing of this network."""
        deciding = [measure.passes for measure in self.measures if measure.decides]
        if self.undefined or not deciding:
            return None
        return all(deciding)

    @property
    def discriminates(self) -> bool:
        """Whether chance would fail at least one of its lines."""
        return any(measure.decides and measure.discriminates for measure in self.measures)

    @property
    def outcome(self) -> str:
        """One of the words above: the only one that tables, files and pages have for it."""
        return outcome_of(self.passes, self.discriminates)

    def __repr__(self) -> str:
        return f"<Account {self.name}: {self.outcome}>"

    def __getitem__(self, name: str) -> Measure:
        """A measure by its name."""
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(f"{name!r}; choose one of {[measure.name for measure in self.measures]}")

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "name": "name",
            "source": "source",
            "predicts": "predicts",
            "passes": lambda account: account.passes,
            "discriminates": lambda account: account.discriminates,
            "outcome": lambda account: account.outcome,
            "undefined": "undefined",
            "measures": "measures",
            "notes": "notes",
            "details": "details",
        }
    )
