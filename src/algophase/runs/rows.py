"""One run as one row, and back: every setting and every number measured, by the names of settings
and `analyze --json`.

A row depends on the run and the machine's arithmetic alone. It holds no times, so a sweep that was
killed and resumed gives a table identical to an uninterrupted one's. A table from elsewhere can say
anything: what is read back is checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from algophase.analysis.circles.find import Circle
from algophase.analysis.hidden.look_inside import Inside
from algophase.analysis.moments import MomentDetails
from algophase.analysis.record import VERDICT, fields_of_row
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.settings import (
    NETWORK_KINDS,
    RunSettings,
    TaskSettings,
    network_from_dict,
    network_to_dict,
    trained_kinds,
)
from algophase.record.columns import flat_columns
from algophase.record.layout import to_record
from algophase.storage.runs_table import Row
from algophase.training.run.loop import EarlyStop
from algophase.training.run.trained import CURVES, History, TrainedRun

GENERALIZED = 0.99  # accuracy from which a network has memorized, or generalized
JUMP = 0.1  # training loss that a jump crosses upwards
WEIGHTS = "weights_digest"  # names the network's weights to the bit
# The columns of a row that its verdict fills.
DECIDED = (*VERDICT.names, "instances.form", "instances.fit")


def settings_columns(run: RunSettings) -> dict[str, Any]:
    return {
        **run.task.to_dict(),
        **network_to_dict(run.network),
        **run.training.to_dict(),
        "seed": run.seed,
    }


def make_row(
    space: str,
    index: int,
    trained: TrainedRun,
    analysis: Analysis | None,
    curves: Mapping[str, float] | None = None,
    hidden: Inside | None = None,
    weights_digest: str | None = None,
) -> Row:
    """analysis: None for a network that diverged; its metrics are null and `diverged_at` says when.

    curves: the history's numbers, by default those after the last epoch. hidden: what was seen
        inside its hidden layer. weights_digest: of the network, by default the one that training
        ended with.
    """
    if curves is None:
        curves = _curves_at(trained.history, -1)
    if weights_digest is None and trained.network is not None:
        weights_digest = trained.network.weights_digest()
    row: dict[str, Any] = {"space": space, "index": index, "run_id": trained.id}
    row |= settings_columns(trained.run)
    row["engine"] = trained.engine
    row["device"] = trained.device.partition(":")[0]
    row["precision"] = trained.precision
    row["epochs_trained"] = trained.epochs
    row["diverged_at"] = trained.diverged_at
    row[WEIGHTS] = weights_digest
    row |= to_record({name: curves.get(name) for name in CURVES})
    if analysis is None:
        return {**row, "verdict": None, "paper_label": None}
    return {**row, **analysis_columns(analysis, hidden)}


def history_columns(history: History, early_stop: EarlyStop | None) -> dict[str, Any]:
    """What `train` keeps of a run beside its row: the whole history, and the rule that may have
    stopped it.
    """
    record: dict[str, Any] = {"history": history.to_dict()}
    if early_stop is not None:
        record["early_stop"] = to_record(early_stop)
    return flat_columns(record)


def timing_columns(history: History, stride: int) -> dict[str, Any]:
    """When a network learned, in epochs, as far as the looks every `stride` epochs show.

    memorized_at: the first look with a training accuracy of at least 99%. grokked_at: the same for
        the validation accuracy; settled_at: the first look from which on it stays so, up to the
        end. loss_jumps: looks with a training loss above 0.1 right after one of at most 0.1.
    """
    epochs = np.array(history.epochs)
    loss = history.training_loss
    is_right = history.validation_accuracy >= GENERALIZED
    stays_right = np.logical_and.accumulate(is_right[::-1])[::-1]
    return {
        "memorized_at": _first(epochs, history.training_accuracy >= GENERALIZED),
        "grokked_at": _first(epochs, is_right),
        "settled_at": _first(epochs, stays_right),
        "loss_jumps": int(((loss[1:] > JUMP) & (loss[:-1] <= JUMP)).sum()),
        "history_stride": stride,
    }


def _first(epochs: np.ndarray, is_reached: np.ndarray) -> int | None:
    """The first of these epochs; None if there is none."""
    return int(epochs[is_reached][0]) if is_reached.any() else None


def _curves_at(history: History, point: int) -> dict[str, float]:
    """The history's numbers at one of its points."""
    return {name: float(getattr(history, name)[point]) for name in CURVES}


def analysis_columns(analysis: Analysis, hidden: Inside | None = None) -> dict[str, Any]:
    """What was measured of one network as columns of its row, without its name and its settings."""
    record = analysis.to_dict()
    del record["id"]
    if "program" in record:  # a row keeps their harmonics
        del record["program"]["profiles"]
    if record["anatomy"] is None:  # its fields are columns, where a network has one
        del record["anatomy"]
    columns = {"frequencies": [item.circle.frequency for item in analysis.circles]}
    columns |= flat_columns(record)
    if hidden is not None:
        columns |= flat_columns({"hidden": hidden.columns()})
    return columns


def make_moment(
    space: str,
    index: int,
    trained: TrainedRun,
    epoch: int,
    analysis: Analysis | None,
    details: MomentDetails | None,
) -> Row:
    """A run as it was after `epoch` updates: the columns of its row, measured then, and those of
    `MomentDetails`.
    """
    history = trained.history
    curves: dict[str, float] = {}
    if epoch in history.epochs:
        curves = _curves_at(history, history.epochs.index(epoch))
    network = trained.snapshots.get(epoch, trained.network)
    digest = None if network is None else network.weights_digest()
    of_run = make_row(space, index, trained, analysis, curves, weights_digest=digest)
    row = {**of_run, "epoch": epoch}
    if details is not None:
        row |= flat_columns(details.to_dict())
    return row


def run_from_row(row: Mapping[str, Any]) -> RunSettings:
    """The settings of a row's run, checked against its id. A setting without a column has its
    default.
    """
    present = {name: value for name, value in row.items() if not _missing(value)}
    kind = present.get("kind")
    if kind not in trained_kinds():
        raise InputError(f"kind of a run is {kind!r}; choose one of {', '.join(trained_kinds())}")
    network = network_from_dict({"kind": kind, **_settings_like(NETWORK_KINDS[kind](), present)})
    published = network.published_training()
    training = replace(published, **_settings_like(published, present))
    task = TaskSettings.from_dict(_settings_like(TaskSettings(), present))
    seed = _typed_like(0, "seed", present.get("seed", 0))
    run = RunSettings(task, network, training, seed)
    if present.get("run_id", run.run_id) != run.run_id:
        raise InputError(
            f"the settings of run {present['run_id']} give {run.run_id}: its row was changed, "
            "or is another version's"
        )
    return run


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _settings_like(default: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are settings of this kind, each as the type that the default has: a table
    makes 128 out of 128.0 and back.
    """
    settings = {}
    for field in fields(default):
        if field.name in columns:
            reference = getattr(default, field.name)
            settings[field.name] = _typed_like(reference, field.name, columns[field.name])
    return settings


def _typed_like(reference: Any, name: str, value: Any) -> Any:
    if isinstance(reference, tuple):
        return _as_tuples(value)
    kind = type(reference)
    try:
        typed = kind(value)
        if typed == value:
            return typed
    except (TypeError, ValueError):
        pass
    raise InputError(f"{name} of a run is {value!r}; it must be of type {kind.__name__}")


def _as_tuples(value: Any) -> Any:
    """A table makes lists or arrays of tuples. The settings check what is in them."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_as_tuples(item) for item in value)
    return value


def analysis_of_row(
    row: Mapping[str, Any], circles: Sequence[Circle] | None = None
) -> Analysis | None:
    """The analysis a row was made from; None if the row lacks or garbles anything.

    circles: those found in the run's weights, which must be the row's; without them, as the row
        describes them.

    What an older table does not hold is NaN, and there is no verdict where it has the paper's label
    alone. Profiles of the program and of its instances are left out, and so is a linear network's
    anatomy: a row holds only their numbers.
    """
    try:
        return Analysis(**fields_of_row(row, circles))
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def decided(row: Row) -> Row:
    """A row with the verdict that this version gives from the row's numbers; as it is where it has
    none. Nothing is measured.

    The paper's label stays.
    """
    analysis = analysis_of_row(row)
    if analysis is None or not analysis.verdict.known:
        return row
    columns = flat_columns(analysis.decide(Thresholds()).to_dict())
    return {**row, **{name: columns.get(name) for name in DECIDED}}
