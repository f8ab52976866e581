"""What a claim is about (a population) and what is measured of it (a quantity), each by its name.

`claims.toml` names both. A population is a network in a role, the runs of a sweep, or several of
them; a quantity is a function of one, marked with `@quantity`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from algophase.paper.sources import ROLES, Missing, Sources
from algophase.runs.statistics import Share
from algophase.sweeps.shipped_spaces import PAPER_SPACES

F = TypeVar("F", bound=Callable[..., Any])
QUANTITIES: dict[str, Callable[..., Any]] = {}


def quantity(function: F) -> F:
    """Make a function of a population a quantity that claims can name."""
    name = function.__name__
    if name in QUANTITIES:
        raise ValueError(f"there are two quantities {name}")
    QUANTITIES[name] = function
    return function


class Spread(tuple[float, ...]):
    """Several values, shown as their range: f"{Spread((0.5, 0.7)):.0%}" is "50% to 70%"."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        if not self:
            return "no circle"
        low = format(min(self), form)
        high = format(max(self), form)
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Measurement:
    """What a quantity gives.

    value: what the rule judges, None where there is nothing to judge; words: what the claim's text
    shows besides, by name; sample: how many runs or networks it rests on. comparable: whether a
    printed number may be judged by it; None: where the population is the paper's own network.
    """

    value: Any
    words: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 1
    comparable: bool | None = None


def measured(
    value: Any, *, sample: int | None = None, comparable: bool | None = None, **words: Any
) -> Measurement:
    """A measurement. The sample of a share is its total."""
    if sample is None:
        sample = value.total if isinstance(value, Share) else 1
    return Measurement(value, words, sample, comparable)


def _runs(sources: Sources, space: str) -> Any:
    return sources.runs(space)


def _accurate(sources: Sources, space: str) -> Any:
    return sources.runs(space).accurate


def _circular(sources: Sources, space: str) -> Any:
    return sources.runs(space).circular


# What may follow the name of a sweep in the name of a population.
SUBSETS: dict[str, Callable[[Sources, str], Any]] = {
    "": _runs,
    "accurate": _accurate,
    "circular": _circular,
}
# Populations that are neither a network nor a sweep.
OTHERS: dict[str, Callable[[Sources], Any]] = {
    "formulas": lambda _: None,
    "sources": lambda sources: sources,
}


# Sweeps that an item is made from, by its label where that is another word.
SWEEP_OF = {"diff-vocab": "separate-vocabularies", "eqn-sign": "equals-sign"}


def _sweep_and_subset(name: str) -> tuple[str, str]:
    space, _, subset = name.partition(" ")
    return SWEEP_OF.get(space, space), subset


def is_population(name: str) -> bool:
    """Whether a claim may name this population."""
    if ", " in name:
        return all(map(is_population, name.split(", ")))
    space, subset = _sweep_and_subset(name)
    return name in ROLES or name in OTHERS or (space in PAPER_SPACES and subset in SUBSETS)


def find_population(sources: Sources, name: str) -> Any:
    """A network (`model-a`), the runs of a sweep (`fixed-width`) or a part of them (`fixed-width
    circular`); several, with commas between, as a tuple. Each is made once.
    """
    if ", " in name:
        return tuple(find_population(sources, part) for part in name.split(", "))
    if name in ROLES:
        return sources.network(name)
    if name not in sources.populations:
        if name in OTHERS:
            sources.populations[name] = OTHERS[name](sources)
        else:
            space, subset = _sweep_and_subset(name)
            sources.populations[name] = SUBSETS[subset](sources, space)
    return sources.populations[name]


def measure(sources: Sources, population: str, name: str, **arguments: Any) -> Measurement | None:
    """A quantity of a population; None where the population has nothing to measure it on.

    Every measurement is made once for all claims, tables and pictures.
    """
    key = repr((population, name, sorted(arguments.items())))
    if key not in sources.measurements:
        members = find_population(sources, population)
        sources.measurements[key] = _measurement(QUANTITIES[name](members, **arguments), members)
    kept: Measurement | None = sources.measurements[key]
    return kept


def _measurement(result: Any, members: Any) -> Measurement | None:
    """What a quantity returned, completed."""
    if result is None:
        return None
    measurement = result if isinstance(result, Measurement) else measured(result)
    if isinstance(measurement.value, list | tuple):
        measurement = replace(measurement, value=Spread(measurement.value))
    if measurement.comparable is None:
        measurement = replace(measurement, comparable=getattr(members, "published", True))
    return measurement


def measure_optional(
    sources: Sources, population: str, name: str, **arguments: Any
) -> Measurement | None:
    """The same, or None where the population's data is not there."""
    try:
        return measure(sources, population, name, **arguments)
    except Missing:
        return None


def listed(values: Iterable[Any], form: str = "") -> str:
    """Values one after the other."""
    return ", ".join(format(value, form) for value in values)
