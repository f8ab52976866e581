"""One run as one row: every setting and every number measured, under the names that settings and `analyze --json` use.

A row is a function of the run and of the machine's arithmetic alone: no times, so that a sweep killed and finished gives
the very table of one that was left in peace.
"""

import math
from collections.abc import Mapping
from typing import Any

from algophase.analysis.analyze import Analysis
from algophase.analysis.moments import MomentDetails
from algophase.errors import InputError
from algophase.settings import (
    NETWORK_KINDS,
    TRAINED_KINDS,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    network_from_dict,
    network_to_dict,
    published_training,
)
from algophase.storage.runs_table import Row, flat_columns
from algophase.training.trained import CURVES, TrainedRun


def settings_columns(run: RunSettings) -> dict[str, Any]:
    return {**run.task.to_dict(), **network_to_dict(run.network), **run.training.to_dict(), "seed": run.seed}


def make_row(
    space: str, index: int, trained: TrainedRun, analysis: Analysis | None, curves: Mapping[str, float] | None = None
) -> Row:
    """analysis is None for a network that diverged: its metrics are null and `diverged_at` says when.

    curves: the history's numbers, by default those after the last epoch.
    """
    if curves is None:
        curves = {name: float(getattr(trained.history, name)[-1]) for name in CURVES}
    row: dict[str, Any] = {"space": space, "index": index, "run_id": trained.id, **settings_columns(trained.run)}
    row |= {"engine": trained.engine, "device": trained.device.partition(":")[0], "precision": trained.precision}
    row |= {"epochs_trained": trained.epochs, "diverged_at": trained.diverged_at}
    row |= {name: curves[name] if math.isfinite(curves.get(name, math.nan)) else None for name in CURVES}
    if analysis is None:
        return {**row, "verdict": None}
    record = analysis.to_dict()
    del record["id"]
    if record["anatomy"] is None:  # its fields are columns, where a network has one
        del record["anatomy"]
    return {**row, "frequencies": [item.circle.frequency for item in analysis.circles], **flat_columns(record)}


def make_moment(
    space: str, index: int, trained: TrainedRun, epoch: int, analysis: Analysis | None, details: MomentDetails | None
) -> Row:
    """A run as it was after `epoch` updates: the columns of its row, measured then, and those of `MomentDetails`."""
    history, curves = trained.history, dict[str, float]()
    if epoch in history.epochs:
        place = history.epochs.index(epoch)
        curves = {name: float(getattr(history, name)[place]) for name in CURVES}
    row = {**make_row(space, index, trained, analysis, curves), "epoch": epoch}
    return row if details is None else {**row, **flat_columns(details.to_dict())}


def run_from_row(row: Mapping[str, Any]) -> RunSettings:
    """The settings of a row's run, checked against its id. A setting without a column has its default."""
    present = {name: value for name, value in row.items() if not _missing(value)}
    kind = present.get("kind")
    if kind not in TRAINED_KINDS:
        raise InputError(f"kind of a run is {kind!r}; choose one of {', '.join(TRAINED_KINDS)}")
    network = network_from_dict({"kind": kind, **_among(present, NETWORK_KINDS[kind]())})
    training = TrainingSettings.from_dict(
        {**published_training(network).to_dict(), **_among(present, published_training(network))}
    )
    seed = _like("seed", present.get("seed", 0), 0)
    run = RunSettings(TaskSettings.from_dict(_among(present, TaskSettings())), network, training, seed)
    if present.get("run_id", run.run_id) != run.run_id:
        raise InputError(
            f"the settings of run {present['run_id']} give {run.run_id}: its row was changed, or is another version's"
        )
    return run


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _among(present: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """The columns that are settings of this kind, as the type the default has: a table makes 128 out of 128.0 and back."""
    reference = default.to_dict()
    return {name: _like(name, present[name], like) for name, like in reference.items() if name in present}


def _like(name: str, value: Any, like: Any) -> Any:
    try:
        found = type(like)(value)
        if found == value:
            return found
    except (TypeError, ValueError):
        pass
    raise InputError(f"{name} of a run is {value!r}; it must be of type {type(like).__name__}")
