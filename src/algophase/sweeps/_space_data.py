"""The form of a space file: settings by section, and the other entries of a space."""

from collections.abc import Mapping
from typing import Any, TypeVar

from algophase.core.errors import InputError
from algophase.core.settings import SECTIONS, TransformerSettings, shown
from algophase.sweeps.distributions import Distribution, Value, read_distribution

FLAGS = ("hidden", "paired")  # entries of a space that are true or false
ENTRIES = ("name", "title", "runs", "snapshots", *FLAGS, "history_stride", "arms", *SECTIONS)
FORM_OF_ARMS = 'a list of tables such as {training.optimizer = "muon"}'


T = TypeVar("T")


def by_section(settings: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Settings in the form of a file: {"network.width": 64} is {"network": {"width": 64}}."""
    sections: dict[str, dict[str, T]] = {}
    for name, value in settings.items():
        section, _, setting = name.partition(".")
        sections.setdefault(section, {})[setting] = value
    return sections


def read_entries(data: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a `Space` from a file's data. What the entries say together is checked by
    `Space` itself.
    """
    unknown = [str(key) for key in data if key not in ENTRIES]
    if unknown:
        raise InputError(
            f"a space has no entry {', '.join(unknown)}; choose from {', '.join(ENTRIES)}"
        )
    kind, settings = _read_settings(data)
    for key in ("name", "title"):
        if not isinstance(data.get(key, ""), str):
            raise InputError(f"{key} of a space is {shown(data[key])}; it must be text")
    snapshots = data.get("snapshots", [])
    if not isinstance(snapshots, list):
        raise InputError(f"snapshots of a space is {shown(snapshots)}; it must be a list of epochs")
    flags = {name: data.get(name, False) for name in FLAGS}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise InputError(f"{name} of a space is {shown(flag)}; it must be true or false")
    return {
        "name": data.get("name", ""),
        "settings": settings,
        "kind": kind,
        "title": data.get("title", ""),
        "runs": data.get("runs", 100),
        "snapshots": tuple(snapshots),
        **flags,
        "history_stride": data.get("history_stride", 0),
        "arms": _read_arms(data.get("arms", [])),
    }


def _read_settings(data: Mapping[str, Any]) -> tuple[Any, dict[str, Distribution]]:
    """The kind of network, and a distribution per setting, under section and name."""
    kind: Any = TransformerSettings.kind
    settings: dict[str, Distribution] = {}
    for section in SECTIONS:
        entries = data.get(section, {})
        if not isinstance(entries, Mapping):
            raise InputError(f"{section} is {shown(entries)}; it must be a table of settings")
        for setting, value in entries.items():
            name = f"{section}.{setting}"
            if name == "network.kind":
                kind = value
            else:
                settings[name] = read_distribution(name, value)
    return kind, settings


def _read_arms(data: object) -> tuple[Mapping[str, Value], ...]:
    """Settings by arm, under section and name."""
    if not isinstance(data, list):
        raise InputError(f"arms of a space is {shown(data)}; it must be {FORM_OF_ARMS}")
    arms = [_read_arm(entries) for entries in data]
    distinct = {repr(sorted(arm.items())) for arm in arms}
    if len(distinct) < len(arms):
        raise InputError(f"arms of a space are {shown(data)}; two are the same")
    return tuple(arms)


def _read_arm(entries: object) -> dict[str, Value]:
    if not isinstance(entries, Mapping):
        raise InputError(f"an arm of a space is {shown(entries)}; arms must be {FORM_OF_ARMS}")
    arm: dict[str, Value] = {}
    for section, settings in entries.items():
        if section not in SECTIONS or not isinstance(settings, Mapping):
            raise InputError(
                f"an arm of a space has {section} = {shown(settings)}; arms must be "
                f"{FORM_OF_ARMS}, with settings of {', '.join(SECTIONS)}"
            )
        for setting, value in settings.items():
            if not isinstance(value, str | bool | int | float):
                raise InputError(
                    f"{section}.{setting} of an arm is {shown(value)}; it must be one value"
                )
            arm[f"{section}.{setting}"] = value
    return arm
