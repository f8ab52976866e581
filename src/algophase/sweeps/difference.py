"""A network trained again and its row: are they the same network?

The weights are compared first: by the digest in the row, or with the network that the sweep has
kept. Equal weights are *the same network to the bit*, whatever became of the analysis since. It is
*identical* if every number measured on it is equal to the bit, too. Where the weights differ, or
where nobody has kept a digest, it is *the same up to rounding* if all labels and whole numbers are
equal, and all other numbers x and y within

    |x - y| <= 1e-4 max(|x|, |y|, 1e-3).

Weights are trained in float32, where one rounding is 6e-8 of a number. Fits to a network amplify
it: of 40 tiny networks trained alone and in an ensemble, the numbers furthest apart were 1e-7 to
1.5e-5 apart. Where training amplifies a rounding, weights end up 2e-3 and more apart. The line is
between the two. Numbers below 1e-3 are compared by 1e-7, the rounding of a share in float32: one
that is zero has no digits. Anything else is *another network*.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from algophase.core.settings import RunSettings
from algophase.runs.rows import WEIGHTS, settings_columns

ROUNDING = 1e-4  # largest relative difference between numbers of one network
LEAST_SIZE = 1e-3  # numbers below this are compared as if they were as large
# Columns of sentences. Their wording may change from version to version; the numbers in them have
# columns of their own.
SENTENCES = {"sentence", "reasons", "paper_reasons", "cautions"}

Outcome = Literal["identical", "same weights", "rounding", "another"]


def relative_difference(first: Any, second: Any) -> float:
    """How far two values of a column are apart, as a share of the larger one (of `LEAST_SIZE`, if
    larger).

    In a list, the largest number of both counts as the size of all: a small wave beside large ones
    has their rounding. Infinity where two values differ that are not both fractions: labels, whole
    numbers, lists of other lengths.
    """
    if first == second:
        return 0.0
    size = LEAST_SIZE
    distance = 0.0
    for x, y in _paired(first, second):
        if isinstance(x, float) and isinstance(y, float):
            size = max(size, abs(x), abs(y))
            distance = max(distance, abs(x - y))
        elif x != y:
            return math.inf
    return distance / size if math.isfinite(size) else math.inf


def _paired(first: Any, second: Any) -> Iterator[tuple[Any, Any]]:
    """The values of two columns side by side, lists taken apart where they are equally long."""
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for x, y in zip(first, second, strict=True):
            yield from _paired(x, y)
    else:
        yield first, second


@dataclass(frozen=True)
class Difference:
    """A retrained run and its row.

    compared: how many values are in both; differing: those that differ, here and in the table.
    same_weights: whether the weights are those of the table's digest, or those that the sweep has
        kept, to the bit; None if it has neither.
    """

    verdict: str | None
    verdict_before: str | None
    compared: int
    differing: dict[str, tuple[Any, Any]]
    same_weights: bool | None = None

    @property
    def largest(self) -> tuple[str, float]:
        """The column whose values are the furthest apart, and their relative difference."""
        apart = {name: relative_difference(*values) for name, values in self.differing.items()}
        name = max(apart, key=lambda column: apart[column], default="")
        return name, apart.get(name, 0.0)

    @property
    def outcome(self) -> Outcome:
        if not self.differing and self.same_weights is not False:
            return "identical"
        if self.same_weights:
            return "same weights"
        return "rounding" if self.largest[1] <= ROUNDING else "another"

    @property
    def same(self) -> bool:
        """Whether it is the table's network: to the bit, or up to rounding."""
        return self.outcome != "another"

    @property
    def to_the_bit(self) -> bool:
        """Whether the network is the table's to the bit, by its weights or by all its numbers."""
        return self.outcome in ("identical", "same weights")

    def __str__(self) -> str:
        if self.outcome == "identical":
            weights = " and its weights" if self.same_weights else ""
            return (
                f"identical: all {self.compared} numbers in the table{weights} are equal to the bit"
            )
        if self.outcome == "same weights":
            return f"the same network to the bit; of its analysis {self._numbers_apart}"
        if self.outcome == "rounding":
            weights = "weights differ; " if self.same_weights is False else ""
            return f"the same network up to rounding: {weights}{self._numbers_apart}"
        verdict = self.verdict or "no verdict"
        table_verdict = self.verdict_before or "no verdict"
        if verdict != table_verdict:
            return f"another network: it is {verdict} here, {table_verdict} in the table"
        count = len(self.differing)
        differ = "differs" if count == 1 else "differ"
        return (
            f"another network than in the table, with the same verdict ({verdict}): {count} "
            f"of {self.compared} numbers {differ}"
        )

    @property
    def _numbers_apart(self) -> str:
        """How many numbers differ, and the largest difference."""
        if not self.differing:
            return f"all {self.compared} numbers are equal to the bit"
        name, apart = self.largest
        numbers = f"{len(self.differing)} of {self.compared} numbers differ"
        if math.isinf(apart):  # a label, a whole number or a list of another length
            return f"{numbers}, such as {name}"
        return f"{numbers}, by at most {apart:.0e} of their size ({name})"


def compare(row: Mapping[str, Any], new_row: Mapping[str, Any], run: RunSettings) -> Difference:
    """Compare what was measured twice. A column that one side lacks is left out; a column that is
    null on both is equal.

    A table also has null where only newer shards have a column, so a null in the row of an analyzed
    run counts as lacking.
    """
    settings = {"space", "index", "run_id", "engine", "device", "precision", *settings_columns(run)}
    settings.add(WEIGHTS)  # says by itself whether the weights are the same
    same_weights = new_row[WEIGHTS] == row[WEIGHTS] if row.get(WEIGHTS) else None
    lacking: set[str] = set()
    if row.get("paper_label") is not None:  # it was analyzed
        lacking = {
            name for name, value in new_row.items() if value is not None and row.get(name) is None
        }
    lacking.discard("diverged_at")  # null in every run that did not
    left_out = settings | lacking | SENTENCES
    names = [name for name in row if name in new_row and name not in left_out]
    differing = {name: (new_row[name], row[name]) for name in names if new_row[name] != row[name]}
    verdicts = new_row.get("verdict"), row.get("verdict")
    return Difference(*verdicts, len(names), differing, same_weights)
