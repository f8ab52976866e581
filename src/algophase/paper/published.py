"""What the paper says, read from `claims.toml`: claims in words, and printed numbers, each compared
to its own digits.
"""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from algophase.runs.statistics import Share


@dataclass(frozen=True)
class Entry:
    """One claim of `claims.toml`.

    item: the paper's label of what it belongs to; text, ours, note: as shown, with the measured
    `value`, the `line` and the words of the measurement in braces; `{rule}` is what the rule says
    of itself. place: where the paper says it, if not where the item stands; published: as printed.
    value, step: a printed number and one unit of its last digit; about: the paper says "about";
    total: runs behind a printed share.
    line: what the rule compares with, a number or a name of `rules.LINES`; limits, expected: the
    same for rules that take two numbers or a word. arguments: of the quantity. optional: left out
    where the population is not there.
    """

    item: str
    name: str
    text: str
    rule: str
    population: str
    quantity: str
    place: str = ""
    published: str = "-"
    value: float | None = None
    step: float | None = None
    about: bool = False
    total: int = 0
    line: float | str | None = None
    limits: tuple[float, float] = (0.0, 0.0)
    expected: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    ours: str = "{value}"
    note: str = "{rule}"
    optional: bool = False

    @property
    def share(self) -> Share:
        """A printed share as the counts behind it."""
        return Share(round((self.value or 0.0) * self.total), self.total)

    def agrees(self, ours: float) -> bool:
        """Equal to the printed digits; where the paper says "about", to one unit of the last."""
        assert self.value is not None, self.name
        assert self.step is not None, self.name
        tolerance = self.step if self.about else self.step / 2
        return abs(ours - self.value) <= tolerance * (1 + 1e-9)


@functools.cache
def entries() -> dict[str, list[Entry]]:
    """The claims of every item, in order, by its label."""
    text = files("algophase.paper").joinpath("claims.toml").read_text(encoding="utf-8")
    return read_entries(text)


def read_entries(text: str) -> dict[str, list[Entry]]:
    """The claims of a file like `claims.toml`. What several items say is written once, under
    their labels with spaces between; {item} in the name of a population is the label.
    """
    claims: dict[str, list[Entry]] = {}
    for labels, described in tomllib.loads(text).items():
        for label in labels.split():
            for name, fields in described.items():
                claim = Entry(label, name, **fields)
                population = claim.population.replace("{item}", label)
                claims.setdefault(label, []).append(replace(claim, population=population))
    return claims


def entry(name: str) -> Entry:
    """The claim of this name."""
    for claims in entries().values():
        for claim in claims:
            if claim.name == name:
                return claim
    raise KeyError(name)
