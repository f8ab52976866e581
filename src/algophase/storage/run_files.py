"""A trained run on disk: ID.safetensors and ID.json (the network), ID.epoch<E>.* (its snapshots),
ID.history.json.

The history is written last: where it is, the run is complete.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, shown
from algophase.storage.files import read_json, write_atomically
from algophase.storage.network_files import save
from algophase.training.run.loop import EarlyStop
from algophase.training.run.trained import TrainedRun

FORMAT = "algophase-history"
VERSION = 1


def network_path(run: RunSettings, directory: Path, epoch: int | None = None) -> Path:
    return directory / (run.run_id + ("" if epoch is None else f".epoch{epoch}") + ".safetensors")


def history_path(run: RunSettings, directory: Path) -> Path:
    return directory / f"{run.run_id}.history.json"


def save_run(trained: TrainedRun, directory: Path, early_stop: EarlyStop | None = None) -> None:
    """Write everything a run gave, and the rule that may have stopped it. Weights that are not
    finite leave only a history.
    """
    for epoch, network in trained.snapshots.items():
        save(network, network_path(trained.run, directory, epoch), overwrite=True)
    if trained.network is not None:
        save(trained.network, network_path(trained.run, directory), overwrite=True)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "id": trained.id,
        "run": trained.run.to_dict(),
        "engine": trained.engine,
        "device": trained.device,
        "precision": trained.precision,
        "epochs_trained": trained.epochs,
        "diverged_at": trained.diverged_at,
        "early_stop": None if early_stop is None else asdict(early_stop),
        "seconds": trained.seconds,
        "history": trained.history.to_dict(),
    }
    write_atomically(
        history_path(trained.run, directory), (json.dumps(record, indent=1) + "\n").encode()
    )


@dataclass(frozen=True)
class SavedRun:
    """What the history of a run on disk says about it. early_stop: the rule it was trained
    under, where one was written.
    """

    epochs: int
    diverged_at: int | None
    validation_accuracy: float | None
    training_loss: float | None
    early_stop: EarlyStop | None

    def stopped_for(self, rule: EarlyStop) -> bool:
        """Whether a run that ended before its last epoch went as far as this rule asks."""
        if self.early_stop is not None:
            return (
                self.early_stop.training_loss <= rule.training_loss
                and self.early_stop.points >= rule.points
            )
        # a history from before rules were written
        low = self.training_loss is not None and self.training_loss < rule.training_loss
        return low and self.validation_accuracy in (1, None)


def find_run(run: RunSettings, directory: Path) -> SavedRun | None:
    """A run that is complete on disk, or None."""
    path = history_path(run, directory)
    if not path.exists():
        return None
    data = read_json(path, "the history")
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise InputError(
            f"{path}: format is {shown(data.get('format'))} {shown(data.get('version'))}; "
            f"this program reads {FORMAT!r} {VERSION}"
        )
    if data.get("id") != run.run_id:
        raise InputError(
            f"{path}: id is {shown(data.get('id'))}; a file of this name holds {run.run_id!r}"
        )
    try:
        accuracy, loss = (
            data["history"][name][-1] for name in ("validation_accuracy", "training_loss")
        )
        rule = None if data.get("early_stop") is None else EarlyStop(**data["early_stop"])
        saved = SavedRun(
            int(data["epochs_trained"]), data["diverged_at"], _number(accuracy), _number(loss), rule
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{path} is not a readable history: {shown(error)}") from None
    is_there = network_path(run, directory).exists() or saved.diverged_at is not None
    return saved if is_there else None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def is_complete(
    run: RunSettings,
    directory: Path,
    snapshot_epochs: Sequence[int] = (),
    early_stop: EarlyStop | None = None,
) -> bool:
    """Whether training this run into the directory, with this rule to stop early, would add
    nothing to what is there.
    """
    saved = find_run(run, directory)
    if saved is None:
        return False
    if saved.diverged_at is not None:
        return True
    due_epochs = [epoch for epoch in snapshot_epochs if epoch <= saved.epochs]
    snapshots = all(network_path(run, directory, epoch).exists() for epoch in due_epochs)
    return snapshots and (
        saved.epochs == run.training.epochs
        or (early_stop is not None and saved.stopped_for(early_stop))
    )
