"""What all settings share: checks that name the value given and the values allowed, and the round
trip through JSON.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self, cast

from algophase.core.errors import InputError

# Of one axis: beyond it no network fits anywhere, and products of sizes no longer fit into 64 bits
LARGEST_SIZE = 2**20
LARGEST_COUNT = 2**53  # of epochs and steps, which are counted in float64
LARGEST_SEED = 2**64 - 1


class Range(NamedTuple):
    """The numbers that a setting may be. An open end is not among them."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False


# Settings that are not counts: read by the checks below, and by pictures that choose an axis.
RANGES: dict[str, Range] = {
    "training_fraction": Range(0, 1, open_low=True),
    "attention_rate": Range(0, 1),
    "learning_rate": Range(0, open_low=True),
    "weight_decay": Range(0),
    "beta1": Range(0, 1, open_high=True),  # not 1: updates are divided by 1 - beta^t
    "beta2": Range(0, 1, open_high=True),
    "epsilon": Range(0, open_low=True),
    "planted_power": Range(0),
    "momentum": Range(0, 1, open_high=True),
    "fixed_norm": Range(0),
    "initial_scale": Range(0, open_low=True),
}


def shown(value: object) -> str:
    """A value as an error quotes it: what stands in a file may be long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_integer(name: str, value: object, minimum: int, maximum: int = LARGEST_SIZE) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise InputError(f"{name} is {shown(value)}; it must be an integer of at least {minimum}")
    if value > maximum:
        raise InputError(
            f"{name} is {shown(value)}; it must be an integer from {minimum} to {maximum:,}"
        )


def check_number(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    open_high = open_high or math.isinf(high)
    allowed = f"a number in {'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    number = _as_float(value)
    above = low < number if open_low else low <= number
    below = number < high if open_high else number <= high
    if not (above and below):
        raise InputError(f"{name} is {shown(value)}; it must be {allowed}")
    return number


def _as_float(value: object) -> float:
    """NaN for what is not a number, which no range contains."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond the largest float
        return math.nan


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} is {shown(value)}; choose one of {', '.join(choices)}")


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InputError(f"{name} is {shown(value)}; it must be true or false")


class Settings:
    """JSON round trip and ranges shared by all settings. Unknown names stop the load."""

    # Settings that are written only where they are not the default, as few networks change them
    _written_if_changed: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        defaults = {field.name: field.default for field in dataclasses.fields(cast(Any, self))}
        values = dataclasses.asdict(cast(Any, self))
        return {
            name: value
            for name, value in values.items()
            if name not in self._written_if_changed or value != defaults[name]
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        if not isinstance(data, Mapping):
            raise InputError(f"{cls.__name__} is {shown(data)}; it must be a JSON object")
        names = [field.name for field in dataclasses.fields(cast(Any, cls))]
        unknown = [str(key) for key in data if key not in names]
        if unknown:
            raise InputError(
                f"{cls.__name__} has no setting {', '.join(unknown)}; choose from "
                f"{', '.join(names)}"
            )
        return cls(**data)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _set_in_range(self, name: str) -> None:
        """Check a number against its range and keep it as a float."""
        allowed = RANGES[name]
        number = check_number(
            name,
            getattr(self, name),
            allowed.low,
            allowed.high,
            open_low=allowed.open_low,
            open_high=allowed.open_high,
        )
        self._set(name, number)
