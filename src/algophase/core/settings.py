"""Settings of a task, a network, its training and a run: frozen, self-validating, JSON in and out.

A run *is* its settings. `RunSettings.run_id` is a hash of the values that differ from the published
defaults, so a field added later, with the old behavior as its default, leaves every existing id
unchanged. Defaults are therefore never changed.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

from algophase.core._checked_settings import (
    LARGEST_COUNT,
    LARGEST_SEED,
    RANGES,
    Settings,
    check_choice,
    check_integer,
    check_number,
    shown,
)
from algophase.core._network_settings import (
    ACTIVATIONS,
    LINEAR_MODELS,
    LOSS_PRECISIONS,
    LOSSES,
    OPTIMIZERS,
    SCHEDULES,
    TRAINING_CHOICES,
    LinearSettings,
    NetworkSettings,
    TrainingSettings,
    TransformerSettings,
)
from algophase.core._task_settings import OPERATIONS, TaskSettings
from algophase.core._untrained_settings import (
    ClockSettings,
    Cut,
    LensSettings,
    MLPSettings,
    WrappedSettings,
)
from algophase.core.errors import InputError

__all__ = [
    "ACTIVATIONS",
    "LARGEST_COUNT",
    "LINEAR_MODELS",
    "LOSSES",
    "LOSS_PRECISIONS",
    "NETWORK_KINDS",
    "OPERATIONS",
    "OPTIMIZERS",
    "RANGES",
    "SCHEDULES",
    "SECTIONS",
    "TRAINING_CHOICES",
    "ClockSettings",
    "Cut",
    "LensSettings",
    "LinearSettings",
    "MLPSettings",
    "NetworkSettings",
    "RunSettings",
    "TaskSettings",
    "TrainingSettings",
    "TransformerSettings",
    "WrappedSettings",
    "check_integer",
    "check_number",
    "network_from_dict",
    "network_to_dict",
    "shown",
    "trained_kinds",
]

# Every architecture by its kind; `networks.add_architecture` adds one.
NETWORK_KINDS: dict[str, type[NetworkSettings]] = {
    settings.kind: settings
    for settings in (
        TransformerSettings,
        LinearSettings,
        ClockSettings,
        LensSettings,
        MLPSettings,
        WrappedSettings,
    )
}
SECTIONS = ("task", "network", "training")  # of a run's settings


def trained_kinds() -> list[str]:
    """Architectures that can be trained; a Clock's weights are set by hand."""
    return [kind for kind, settings in NETWORK_KINDS.items() if settings.trained]


def network_to_dict(network: NetworkSettings) -> dict[str, Any]:
    return {"kind": network.kind, **network.to_dict()}


def network_from_dict(data: Mapping[str, Any]) -> NetworkSettings:
    if not isinstance(data, Mapping):
        raise InputError(f"network is {shown(data)}; it must be a JSON object with a kind")
    check_choice("network kind", data.get("kind"), tuple(NETWORK_KINDS))
    return NETWORK_KINDS[data["kind"]].from_dict(
        {key: value for key, value in data.items() if key != "kind"}
    )


def _check_part(name: str, value: object, *kinds: type[Settings]) -> None:
    if not isinstance(value, kinds):
        raise InputError(
            f"{name} is {shown(value)}; it must be {' or '.join(kind.__name__ for kind in kinds)}"
        )


def _changes(settings: Settings, default: Settings) -> dict[str, Any]:
    return {
        name: value for name, value in settings.to_dict().items() if value != getattr(default, name)
    }


@dataclass(frozen=True)
class RunSettings(Settings):
    """One training run. Its initial weights and its split come from `seed` alone.

    Arguments:
        task: what to learn.
        network: what to train.
        training: how to train it; by default the published recipe for the network.
        seed: another seed gives another run.

    Raises:
        InputError: a setting is out of range, or the network cannot learn the task.

    Example:
        >>> run = RunSettings(network=TransformerSettings(attention_rate=0), seed=1)
        >>> run.training.epochs
        20000
        >>> RunSettings.from_dict(run.to_dict()).run_id == run.run_id
        True
    """

    task: TaskSettings = TaskSettings()
    network: NetworkSettings = TransformerSettings()
    training: TrainingSettings = cast(TrainingSettings, None)
    seed: int = 0

    def __post_init__(self) -> None:
        _check_part("task", self.task, TaskSettings)
        _ = self.task.training_pairs  # a run knows what it trains on
        _check_part("network", self.network, *NETWORK_KINDS.values())
        self.network.check_task(self.task)
        if self.training is None:
            self._set("training", self.network.published_training())
        _check_part("training", self.training, TrainingSettings)
        if self.training.planted_trio and not self.task.is_addition:
            raise InputError(
                f"a trio of frequencies is planted, but the task is {self.task.described}; it "
                "must be addition modulo p"
            )
        check_integer("seed", self.seed, 0, LARGEST_SEED)

    @cached_property
    def run_id(self) -> str:
        """Twelve hexadecimal digits: the same for the same settings on every machine and in every
        version.
        """
        identity = {
            "kind": self.network.kind,
            "task": _changes(self.task, TaskSettings()),
            "network": _changes(self.network, type(self.network)()),
            "training": _changes(self.training, self.network.published_training()),
            "seed": self.seed,
        }
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """The settings as data that JSON can hold."""
        return {
            "task": self.task.to_dict(),
            "network": network_to_dict(self.network),
            "training": self.training.to_dict(),
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Settings from the data that `to_dict` gives.

        Arguments:
            data: settings by name; a missing one takes its default.

        Returns:
            The settings.

        Raises:
            InputError: a setting is unknown or out of range.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"{cls.__name__} is {shown(data)}; it must be a JSON object")
        parts = dict(data)
        for name, read in (
            ("task", TaskSettings.from_dict),
            ("network", network_from_dict),
            ("training", TrainingSettings.from_dict),
        ):
            is_default = name == "training" and parts.get(name) is None  # the published recipe
            if name in parts and not is_default:
                parts[name] = read(parts[name])
        return super().from_dict(parts)

    def to_json(self) -> str:
        """The settings as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Settings from the JSON text that `to_json` gives.

        Arguments:
            text: a JSON object.

        Returns:
            The settings.

        Raises:
            InputError: the text is not JSON, or a setting is unknown or out of range.
        """
        try:
            data = json.loads(text)
        # A JSONDecodeError, or a number of too many digits
        except (ValueError, RecursionError) as error:
            raise InputError(f"run settings are not valid JSON: {error}") from None
        return cls.from_dict(data)
