"""What the paper says, and what making an item of it gives.

`claims.toml` has the paper's claims in words and its printed numbers, each compared to its own
digits: an `Entry`. Beside what we found it is a `Claim`; with pictures and tables, these are the
`Product` of an `Item`.
"""

import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, get_args

from algophase.pages.table import Table as Table
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from algophase.paper.sources import Sources
    from algophase.pictures import marks

Verdict = Literal[
    "reproduced",
    "supported",
    "differs",
    "not supported",
    "undecided",
    "paper contradicts itself",
    "not tested",
]


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
    where the population is not there. no_more_runs: why further runs cannot decide what is
    undecided.
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
    no_more_runs: str = ""

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


@dataclass(frozen=True)
class Claim:
    """One thing the paper says, and what we found.

    published, ours: as printed ("-" where there is none); sample: how many runs or networks ours
        rests on.
    A number is "reproduced" if it is the published one to its printed digits, or within the
    sampling error that the note states where both are of a population, else "differs"; a statement
    is "supported" or "not supported", by a rule that the note states. It is "undecided" where the
    interval of ours is too wide for its rule, "not tested" where there is nothing to test it on.
    """

    text: str
    published: str
    ours: str
    verdict: Verdict
    sample: int = 1
    note: str = ""


@dataclass(frozen=True)
class Product:
    """source: where the data comes from, in words. figures and tables are named; "" is the item
    itself.
    """

    source: str
    figures: "Mapping[str, Figure | marks.Figure]" = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Item:
    """label: the paper's own; place: where it stands; needs: "network:ROLE", "sweep:SPACE" or
    "moments:SPACE", all of them.

    make: draws and measures it. It raises `Missing` where a source is not there.
    """

    label: str
    kind: Literal["figure", "table", "text"]
    place: str
    title: str
    needs: tuple[str, ...]
    make: "Callable[[Sources], Product]"


def overall(claims: tuple[Claim, ...]) -> str:
    """One line on an item: how many of its claims came out how."""
    if not claims:
        return "made; the paper claims no number or rule for it"
    order = get_args(Verdict)
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in order}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
