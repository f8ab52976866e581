"""What making an item of the paper gives: pictures, tables, and the paper's claims beside what
we found.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from algophase.pages.table import Table as Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from algophase.paper.sources import Sources

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
    figures: "dict[str, Figure]" = field(default_factory=dict)
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
