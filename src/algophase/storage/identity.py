"""Which sweep a shard is of. A shard says so in its metadata."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from algophase.core.errors import InputError
from algophase.storage.files import read_json

DESCRIPTION = "sweep.json"
GIVEN_RUNS = "train"  # the name of the space of a directory that `train` made
IDENTITY = "sweep"  # among what a shard says about itself
MOMENTS = "moments"  # below a sweep's directory: a name for its runs along training


def same_sweep(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two descriptions give the same i-th run. Title, count and what else a space asks
    to look at may differ.
    """
    return first["seed"] == second["seed"] and _definition(first["space"]) == _definition(
        second["space"]
    )


def identity(description: Mapping[str, Any]) -> str:
    """The same text for the same i-th run, and only then."""
    text = json.dumps([description["seed"], *_definition(description["space"])], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _definition(space: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What makes the i-th run: all rules, and the order of the grids."""
    rules = {
        key: value
        for key, value in space.items()
        if key not in ("title", "runs", "snapshots", "hidden", "history_stride")
    }
    sections = [(key, value) for key, value in sorted(rules.items()) if isinstance(value, dict)]
    grids = [
        f"{key}.{name}"
        for key, value in sections
        for name, rule in value.items()
        if isinstance(rule, dict) and "grid" in rule
    ]
    return rules, grids


def described(path: Path) -> dict[str, Any] | None:
    """What the sweep in a directory is, for its shards and those of its moments; None where it
    does not say so readably, and for a file.
    """
    try:
        data = read_json((path.parent if path.name == MOMENTS else path) / DESCRIPTION, "the sweep")
    except InputError:
        return None
    return (
        data if isinstance(data.get("space"), dict) and isinstance(data.get("seed"), int) else None
    )


def holds_given_runs(path: Path) -> bool:
    """Whether a directory was made by `train`, not by a sweep of a space."""
    description = described(path)
    return description is not None and description["space"].get("name") == GIVEN_RUNS
