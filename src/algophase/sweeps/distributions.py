"""How one setting varies over a space: a fixed value, a distribution, or one axis of a grid.

Written as data (in TOML and in a sweep's own file): a bare value is fixed, and a table says
how it varies,

    {uniform = [0, 1]}            {log_uniform = [32, 512], integer = true}
    {choice = ["relu", "gelu"]}   {grid = [1, 2, 4]}

A grid's values are not drawn: the runs go through the product of all grids of a space, one cell
after the other.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from algophase.core.errors import InputError
from algophase.core.settings import LARGEST_COUNT, shown

FORMS = (
    "a value, {uniform = [low, high]}, {log_uniform = [low, high]}, {choice = [...]} or "
    "{grid = [...]}"
)
Value = int | float | str | bool


@dataclass(frozen=True)
class Fixed:
    value: Value

    def draw(self, _: np.random.Generator) -> Value:
        return self.value

    def extremes(self) -> tuple[Value, ...]:
        return (self.value,)

    def to_data(self) -> Any:
        return self.value


@dataclass(frozen=True)
class Uniform:
    """Uniform over [low, high), or with `logarithmic` uniform in the logarithm; `integer` rounds to
    the nearest integer.

    A uniform integer is one of low, ..., high, each as likely.
    """

    low: float
    high: float
    integer: bool = False
    logarithmic: bool = False

    def draw(self, generator: np.random.Generator) -> Value:
        if self.logarithmic:
            value = math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
            return round(value) if self.integer else value
        if self.integer:
            return int(generator.integers(int(self.low), int(self.high), endpoint=True))
        return float(generator.uniform(self.low, self.high))

    def extremes(self) -> tuple[Value, ...]:
        return (int(self.low), int(self.high)) if self.integer else (self.low, self.high)

    def to_data(self) -> Any:
        form = "log_uniform" if self.logarithmic else "uniform"
        data: dict[str, Any] = {form: list(self.extremes())}
        if self.integer:
            data["integer"] = True
        return data


@dataclass(frozen=True)
class Choice:
    """One of the values, each as likely."""

    values: tuple[Value, ...]

    def draw(self, generator: np.random.Generator) -> Value:
        return self.values[int(generator.integers(len(self.values)))]

    def extremes(self) -> tuple[Value, ...]:
        return self.values

    def to_data(self) -> Any:
        return {"choice": list(self.values)}


@dataclass(frozen=True)
class Grid:
    """One axis of the product that the runs go through."""

    values: tuple[Value, ...]

    def extremes(self) -> tuple[Value, ...]:
        return self.values

    def to_data(self) -> Any:
        return {"grid": list(self.values)}


Distribution = Fixed | Uniform | Choice | Grid


def read_distribution(name: str, data: object) -> Distribution:
    """The distribution that the data describe. `name` is the setting, for the error."""
    if isinstance(data, str | bool | int | float):
        return Fixed(data)
    if not isinstance(data, dict):
        raise InputError(f"{name} is {shown(data)}; it must be {FORMS}")
    options = dict(data)
    integer = options.pop("integer", False)
    if len(options) != 1 or not isinstance(integer, bool):
        raise InputError(f"{name} is {shown(data)}; it must be {FORMS}")
    [(form, values)] = options.items()
    if form not in ("uniform", "log_uniform", "choice", "grid"):
        raise InputError(f"{name} has no form {form!r}; it must be {FORMS}")
    if not isinstance(values, list) or not values:
        raise InputError(f"{form} of {name} is {shown(values)}; it must be a list of values")
    if form in ("choice", "grid"):
        return _read_list(name, form, values, integer)
    return _read_interval(name, form, values, integer)


def _read_list(name: str, form: str, values: list[object], integer: bool) -> Distribution:
    if integer:
        raise InputError(
            f"{name}: integer goes with uniform and log_uniform; write integers into the {form}"
        )
    for value in values:
        if not isinstance(value, str | bool | int | float):
            raise InputError(
                f"{form} of {name} holds {shown(value)}; its values must be numbers, text, true "
                "or false"
            )
    distinct = {(type(value), value) for value in values}
    if len(distinct) < len(values):
        raise InputError(f"{form} of {name} is {shown(values)}; it names a value twice")
    members = tuple(values)
    return Choice(members) if form == "choice" else Grid(members)  # type: ignore[arg-type]


def _read_interval(name: str, form: str, values: list[object], integer: bool) -> Distribution:
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if len(values) != 2 or len(numbers) != 2:
        raise InputError(
            f"{form} of {name} is {shown(values)}; it must be two numbers, [low, high]"
        )
    low, high = numbers
    try:
        finite = math.isfinite(low) and math.isfinite(high)
    except OverflowError:  # an integer beyond the largest float
        finite = False
    if not (finite and low < high):
        raise InputError(
            f"{form} of {name} is {shown(values)}; low must be below high, and both finite, at "
            "most 1.8e308"
        )
    if form == "log_uniform" and low <= 0:
        raise InputError(f"log_uniform of {name} is {shown(values)}; low must be above 0")
    if integer and not (float(low).is_integer() and float(high).is_integer()):
        raise InputError(
            f"{form} of {name} is {shown(values)}; with integer = true both ends must be integers"
        )
    if integer and max(abs(low), abs(high)) > LARGEST_COUNT:
        raise InputError(
            f"{form} of {name} is {shown(values)}; with integer = true both ends must be at "
            f"most {LARGEST_COUNT:,}"
        )
    return Uniform(float(low), float(high), integer, form == "log_uniform")
