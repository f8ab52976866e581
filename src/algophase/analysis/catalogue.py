"""The catalogue of everything we measure: each quantity once, with its name, its place in the paper
and how it is shown.

Whatever names a quantity asks here: JSON records, table columns, `runs`, `compare`, reports, the
explorer, the paper's items and the reference in the docs. The entries are in `catalogue.toml`, the
functions that compute them in `measures.py`. Your own code adds a metric of a network with a
function of a `Subject`:

    register(Quantity("logit_scale", "logit scale", "largest correct logit", measure=lambda subject:
    ...))

It is then measured with every analysis, printed by `analyze --json`, kept as a column of sweeps,
and offered by the report and the explorer.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.hidden.units import UnitMeans, Units
from algophase.analysis.measures import MEASURES, Measure
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.lines import exceeds, falls_short
from algophase.core.wording import floored

LONGEST_CELL = 80  # characters of a text in a table
DOCS_ONLY = ("definition", "thresholds")  # what an entry has for the docs' table


@dataclass(frozen=True)
class Line:
    """Where the paper parts Pizza from Clock. threshold: a field of `Thresholds`; pizza: the
    side a Pizza is on.
    """

    threshold: str
    pizza: Literal["above", "below"]

    @property
    def value(self) -> float:
        """The published line."""
        return float(getattr(Thresholds(), self.threshold))

    def inside(self, values: Any) -> Any:
        """Whether values (a number, an array, a column) lie on the Pizza's side. A value on the
        line does not.
        """
        return (
            exceeds(values, self.value)
            if self.pizza == "above"
            else falls_short(values, self.value)
        )

    def __str__(self) -> str:
        return f"{'>' if self.pizza == 'above' else '<'} {self.value:g}"


@dataclass(frozen=True)
class Quantity:
    """One measured quantity: what it is called, what it means, and how to measure it.

    Arguments:
        name: its name in Python, in JSON and as a table's column.
        label: its name in text.
        meaning: one sentence.
        short: its name in the head of a table; by default the label.
        symbol: the paper's symbol.
        place: where the paper or a later one defines it; "ours" otherwise.
        low, high: the ends of its range; None where it has none.
        percent: whether it is printed as a percentage.
        line: the line that the paper draws, if any.
        dtype: the type of its column.
        measure: a function of the network under measurement that gives the value. A tensor may stay
            on its device.
        unit_mean: instead of `measure`, a field of `UnitMeans`: a mean over the units of the first
            hidden layer.
        shown: whether summaries, reports and the explorer list it.
        which: what sets it apart from others with the same label, as "(all triples)".

    Example:
        >>> from algophase import Quantity
        >>> largest_logit = lambda subject: subject.logits.abs().max()
        >>> Quantity("logit_scale", "logit scale", measure=largest_logit).label
        'logit scale'
    """

    name: str
    label: str
    meaning: str = ""
    short: str = ""
    symbol: str = ""
    place: str = "ours"
    low: float | None = None
    high: float | None = None
    percent: bool = False
    line: Line | None = None
    dtype: Literal["float64", "int64", "bool", "text", "list"] = "float64"
    measure: Measure | None = None
    unit_mean: str | None = None
    shown: bool = True
    which: str = ""

    @property
    def head(self) -> str:
        """Its name in the head of a table."""
        return self.short or self.label

    @property
    def measured(self) -> bool:
        """Whether every analysis has it among its metrics."""
        return self.measure is not None or self.unit_mean is not None

    @property
    def family(self) -> str:
        """The label without the part in brackets."""
        return self.label.partition(" (")[0]

    def text(self, value: Any, missing: str = "undefined") -> str:
        """A value as text: a percentage, four decimals for a range with two ends, otherwise four
        digits.

        Arguments:
            value: a number, or None or NaN for no value.
            missing: what to print for no value.

        Returns:
            The text.
        """
        if _missing(value):
            return missing
        if isinstance(value, bool) or not isinstance(value, int | float):
            return cell_text(value, missing)
        if self.percent and math.isfinite(value):
            return floored(value)
        if self.low is None or self.high is None:
            return f"{value:.4g}"
        return f"{round(value, 4) + 0.0:.4f}"  # + 0.0: no minus zero

    @property
    def phase(self) -> str:
        """The Pizza's side of the line in words: "gradient symmetricity > 0.98"."""
        return self.label if self.line is None else f"{self.label} {self.line}"


_CATALOGUE: dict[str, Quantity] = {}  # in the order in which they are listed everywhere


def register(quantity: Quantity) -> Quantity:
    """Add a quantity of your own: every analysis then measures it.

    Arguments:
        quantity: what to add. Its name must be new, so that no column has two meanings.

    Returns:
        The quantity.

    Raises:
        InputError: the name is taken.

    Example:
        >>> from algophase import Quantity, analyze, handmade_clock, register
        >>> largest_logit = lambda subject: subject.logits.abs().max()
        >>> scale = register(Quantity("logit_scale", "logit scale", measure=largest_logit))
        >>> round(analyze(handmade_clock(7, (1, 2, 3))).logit_scale, 6)
        3.0
        >>> unregister("logit_scale")
    """
    if not all(part.isidentifier() for part in quantity.name.split(".")):
        raise InputError(
            f"a quantity's name is {quantity.name!r}; it must be a word of letters, digits and _"
        )
    if quantity.name in _CATALOGUE:
        raise InputError(
            f"there is a quantity {quantity.name!r} already ({_CATALOGUE[quantity.name].label}); "
            "choose another name"
        )
    _check_source(quantity)
    _CATALOGUE[quantity.name] = quantity
    return quantity


def _check_source(quantity: Quantity) -> None:
    """Refuse a metric with two sources, or with a mean over hidden units that is not computed."""
    if quantity.unit_mean is None:
        return
    if quantity.measure is not None:
        raise InputError(f"{quantity.name} has a measure and a unit_mean; give one of the two")
    means = tuple(UnitMeans.__annotations__)
    if quantity.unit_mean not in means:
        raise InputError(
            f"unit_mean of {quantity.name} is {quantity.unit_mean!r}; choose one of "
            f"{', '.join(means)}"
        )


def unregister(name: str) -> None:
    """Take out a quantity that was added."""
    _CATALOGUE.pop(name, None)


def catalogue() -> Mapping[str, Quantity]:
    """All quantities by name, in their order."""
    return MappingProxyType(_CATALOGUE)


def metrics() -> list[Quantity]:
    """Those measured on every network, in the order of JSON records and columns."""
    return [quantity for quantity in _CATALOGUE.values() if quantity.measured]


def unit_means(units: Units | None) -> dict[str, float]:
    """The metrics that are means over hidden units, by name: NaN without units."""
    values = {}
    for quantity in metrics():
        if quantity.unit_mean is not None:
            mean = math.nan if units is None else float(getattr(units.means, quantity.unit_mean))
            values[quantity.name] = mean
    return values


def listed(values: Mapping[str, Any]) -> list[Quantity]:
    """The metrics to list for a network with these values: those shown, and any other of their
    families that has a value.
    """
    families = {quantity.family for quantity in metrics() if quantity.shown}
    return [
        quantity
        for quantity in metrics()
        if quantity.shown
        or (quantity.family in families and not _missing(values.get(quantity.name)))
    ]


def _missing(value: Any) -> bool:
    return value is None or value != value


def cell_text(value: Any, missing: str = "-") -> str:
    """Any cell of a table as a short text."""
    if _missing(value):
        return missing
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        is_share = 0.001 <= abs(value) < 1
        return f"{value:.4f}" if is_share else f"{value:.4g}"
    return str(value)[:LONGEST_CELL]


def value_text(name: str, value: Any, missing: str = "-") -> str:
    """A column's value as people read it, also of a column that is no quantity of ours."""
    return (
        _CATALOGUE[name].text(value, missing) if name in _CATALOGUE else cell_text(value, missing)
    )


def quantity(name: str) -> Quantity:
    if name not in _CATALOGUE:
        raise InputError(f"there is no quantity {name!r}; there are {', '.join(_CATALOGUE)}")
    return _CATALOGUE[name]


def label(name: str) -> str:
    """A column as people call it, also one that is no quantity of ours."""
    return _CATALOGUE[name].label if name in _CATALOGUE else name.replace("_", " ")


def line(name: str) -> Line:
    """The line the paper draws along a quantity."""
    published = quantity(name).line
    if published is None:
        raise InputError(f"the paper draws no line along {label(name)}")
    return published


SYMMETRICITY, EXACT, BARE = (
    "gradient_symmetricity",
    "gradient_symmetricity_exact",
    "gradient_symmetricity_without_equals_sign",
)
IRRELEVANCE, WRONG_LOGIT = "distance_irrelevance", "distance_irrelevance_wrong_logit"
CIRCULARITY = "circularity"


@dataclass(frozen=True)
class CircleQuantity:
    """One quantity of each circle, a list column `circles.NAME`."""

    name: str
    label: str
    percent: bool = False

    @property
    def path(self) -> str:
        """Where a `CircleEvidence` has it: among its own fields, or in its circle."""
        own = {field.name for field in fields(CircleEvidence)}
        return self.name if self.name in own else f"circle.{self.name}"


def catalogue_entries() -> dict[str, dict[str, Any]]:
    """What `catalogue.toml` has, by section and name."""
    path = files("algophase.analysis").joinpath("catalogue.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _quantity_of(name: str, entry: Mapping[str, Any]) -> Quantity:
    values = {key: value for key, value in entry.items() if key not in DOCS_ONLY}
    if "line" in values:
        values["line"] = Line(**values["line"])
    return Quantity(name, measure=MEASURES.get(name), **values)


def _register_all(sections: Mapping[str, Mapping[str, Any]]) -> None:
    for section in ("metrics", "training", "verdict", "paper"):
        for name, entry in sections[section].items():
            register(_quantity_of(name, entry))


_SECTIONS = catalogue_entries()
_register_all(_SECTIONS)
CIRCLE_QUANTITIES: tuple[CircleQuantity, ...] = tuple(
    CircleQuantity(name, **entry) for name, entry in _SECTIONS["circles"].items()
)
