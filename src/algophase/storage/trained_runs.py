"""Training into a directory: what is there already is not trained again, and what is interrupted
continues.
"""

import contextlib
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from algophase.analysis.dynamics import Moment, dynamics
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.core.settings import RunSettings
from algophase.networks import Network
from algophase.storage import load
from algophase.storage.checkpoints import DirectoryCheckpoints
from algophase.storage.files import check_directory, remove_partials, write_atomically
from algophase.storage.run_files import find_run, is_complete, network_path, save_run
from algophase.training.run.loop import Watch
from algophase.training.run.plan import plan
from algophase.training.run.train import check_snapshots, train_by_ensemble

log = logging.getLogger(__name__)

CHECKPOINTS = ".checkpoints"  # of interrupted ensembles, inside the directory


def train_into(
    directory: str | Path,
    runs: Sequence[RunSettings],
    engine: str = "auto",
    device: torch.device | str = "auto",
    precision: str | None = None,
    watch: Watch = Watch(),
    progress: Callable[[Progress], None] | None = None,
    *,
    ensemble_size: int | None = None,
    strict_device: bool = False,
) -> None:
    """Train the runs that are not in the directory, and save each ensemble there as soon as it is
    done.

    After Ctrl-C, which raises `Stopped`, a kill or a full disk, the same call continues
    from a checkpoint in the directory. An ensemble of which only some runs were saved is taken up
    again as a whole, so that all get the same bits.

        train_into("runs", [RunSettings(seed=seed) for seed in range(4)])
        network = load_run(RunSettings(seed=0), "runs")
    """
    directory = Path(directory)
    kept = DirectoryCheckpoints(directory / CHECKPOINTS, to_the_end=True)
    for folder in (directory, kept.directory):
        remove_partials(folder)
    missing = [
        run
        for run in runs
        if not is_complete(run, directory, watch.snapshot_epochs, watch.early_stop)
    ]
    if len(missing) < len(runs):
        log.info(
            "%d of %d networks are in %s already", len(runs) - len(missing), len(runs), directory
        )
    if not missing:  # the options are still checked
        with contextlib.suppress(InputError):  # a checkpoint that is not readable does no harm now
            _taken_up(kept, runs, missing)
        plan(runs, engine, device, precision, ensemble_size, strict_device=strict_device)
        check_snapshots(runs, watch)
        return
    check_directory(directory)
    again = _taken_up(kept, runs, missing)
    ensembles = train_by_ensemble(
        [run for run in runs if run in missing or run in again],
        engine,
        device,
        precision,
        watch,
        kept,
        progress,
        ensemble_size=ensemble_size,
        strict_device=strict_device,
    )
    directory.mkdir(parents=True, exist_ok=True)  # checkpoints do not make it
    with contextlib.closing(ensembles):
        for _, outcomes in ensembles:
            for trained in outcomes:
                if trained.run in missing:
                    save_run(trained, directory, watch.early_stop)


def _taken_up(
    kept: DirectoryCheckpoints, runs: Sequence[RunSettings], missing: Sequence[RunSettings]
) -> set[RunSettings]:
    """Runs of ensembles that are to be continued for the sake of some that are missing. Those
    that miss none are forgotten.
    """
    again: set[RunSettings] = set()
    for ensemble in kept.pending():
        if set(ensemble.runs) <= set(runs):
            if any(run in missing for run in ensemble.runs):
                again |= set(ensemble.runs)
            else:
                kept.remove(ensemble.runs)
    return again


def load_run(run: RunSettings, directory: str | Path) -> Network:
    """The trained network of a run in a directory. One that diverged is an `InputError`."""
    saved = find_run(run, Path(directory))
    if saved is not None and saved.diverged_at is not None:
        raise InputError(
            f"run {run.run_id} (seed {run.seed}) diverged at epoch {saved.diverged_at}: not "
            "analyzed"
        )
    return load(network_path(run, Path(directory)))


def run_dynamics(
    run: RunSettings, directory: str | Path, snapshot_epochs: Sequence[int]
) -> list[Moment]:
    """Analyze a run's snapshots in a directory, and write the analyses to ID.dynamics.json
    beside them.
    """
    directory = Path(directory)
    files = {epoch: network_path(run, directory, epoch) for epoch in snapshot_epochs}
    moments = dynamics({epoch: load(path) for epoch, path in files.items() if path.exists()})
    if moments:
        records = json.dumps([moment.to_dict() for moment in moments], indent=1)
        write_atomically(directory / f"{run.run_id}.dynamics.json", f"{records}\n".encode())
    return moments
