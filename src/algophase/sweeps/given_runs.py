"""`train_into`: runs given one by one, trained into a directory.

It is a sweep over these runs that keeps all weights and histories: planned, trained, analyzed,
saved and continued as any sweep. A run's place in the table is the order in which it was first
asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.progress import Progress, ignore
from algophase.core.settings import RunSettings
from algophase.runs.rows import analysis_of_row
from algophase.storage.files import check_directory
from algophase.storage.identity import GIVEN_RUNS
from algophase.storage.runs_table import join_once, read_shards, rows_of, shard_paths
from algophase.storage.sweep_directory import SNAPSHOT, SweepDirectory
from algophase.sweeps.options import Options
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Outcome, Request, sweep_here
from algophase.training.run.loop import EarlyStop


@dataclass(frozen=True)
class GivenRuns(Space):
    """Runs by their places in a directory, where a sweep has a space."""

    fixed_snapshots: ClassVar[bool] = False
    members: Mapping[int, RunSettings] = field(default_factory=dict)

    def run(self, index: int, seed: int = 0) -> RunSettings:
        return self.members[index]

    def places(self, runs: int) -> Sequence[int]:
        return tuple(self.members)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "title": self.title}


def train_into(
    directory: str | Path,
    runs: Sequence[RunSettings],
    options: Options = Options(history_stride=100, histories=True),
    progress: Callable[[Progress], None] = ignore,
    command: str = "",
) -> Outcome:
    """Train the runs that are not in the directory, and add each ensemble as soon as it is done.

    After Ctrl-C, a kill or a full disk, the same call continues. A run that is there, but without
    a snapshot that is asked for or stopped earlier than this call would, is an `InputError`.

        train_into("runs", [RunSettings(seed=seed) for seed in range(4)])
        [trained] = read_trained("runs", [RunSettings(seed=0)])
    """
    check_directory(Path(directory))
    table = SweepDirectory(directory)
    title = "runs given to algophase train"
    members = _by_index(runs, table, options)
    space = GivenRuns(GIVEN_RUNS, {}, title=title, members=members)
    request = Request(
        space,
        runs=len(members),
        keep_weights="all",
        options=options,
        command=command,
        mix_versions=True,
    )
    return sweep_here(request, table, progress)


def _by_index(
    runs: Sequence[RunSettings], directory: SweepDirectory, options: Options
) -> dict[int, RunSettings]:
    """The runs by their indices in the table: those of their rows, and then the next ones."""
    trained = {run.run.run_id: run for run in read_trained(directory.path, runs)}
    finished = directory.finished()
    next_index = max(finished, default=-1) + 1
    by_index: dict[int, RunSettings] = {}
    for run in dict.fromkeys(runs):
        if run.run_id in trained:
            trained[run.run_id].check_complete(options)
            by_index[trained[run.run_id].row["index"]] = run
        else:
            by_index[next_index] = run
            next_index += 1
    return by_index


@dataclass(frozen=True)
class TrainedOnDisk:
    """A run in a directory that `train_into` made.

    row: what the table holds of it. file: its network, None where it diverged to weights that are
        not finite. moments: its rows along training, at snapshots and at the end.
    """

    run: RunSettings
    row: Mapping[str, Any]
    file: Path | None
    moments: Sequence[Mapping[str, Any]]

    @property
    def epochs(self) -> int:
        return int(self.row["epochs_trained"])

    @property
    def diverged_at(self) -> int | None:
        return None if self.row["diverged_at"] is None else int(self.row["diverged_at"])

    @property
    def analysis(self) -> Analysis | None:
        """None where it was not analyzed."""
        return analysis_of_row(self.row)

    def along(self) -> dict[int, Analysis]:
        """What was measured along training, by epoch."""
        analyses = {int(moment["epoch"]): analysis_of_row(moment) for moment in self.moments}
        return {epoch: analysis for epoch, analysis in analyses.items() if analysis is not None}

    def check_complete(self, options: Options) -> None:
        """Raises `InputError` where training this run with these options would give more."""
        if self.diverged_at is not None:
            return
        advice = "choose another directory"
        for epoch in options.snapshot_epochs:
            if epoch < self.epochs and not self._has_snapshot(epoch):  # the end is the network
                raise InputError(
                    f"run {self.run.run_id} was trained without a snapshot at epoch {epoch}: "
                    f"{advice}"
                )
        if self.epochs < self.run.training.epochs and not self._stopped_for(options.early_stop):
            raise InputError(
                f"run {self.run.run_id} stopped early at epoch {self.epochs:,}, before this "
                f"command would: {advice}"
            )

    def _has_snapshot(self, epoch: int) -> bool:
        if self.file is None:
            return False
        return self.file.with_name(f"{self.run.run_id}{SNAPSHOT}{epoch}.safetensors").exists()

    def _stopped_for(self, rule: EarlyStop | None) -> bool:
        """Whether it went as far as this rule asks."""
        loss = self.row.get("early_stop.training_loss")
        points = self.row.get("early_stop.points")
        if rule is None or loss is None or points is None:
            return False
        return bool(loss <= rule.training_loss and points >= rule.points)


def read_trained(directory: str | Path, runs: Sequence[RunSettings]) -> list[TrainedOnDisk]:
    """Those of the runs that are in a directory, in the order given."""
    table = SweepDirectory(directory)
    if not table.exists:
        return []
    shards = shard_paths(table.path)
    if not shards:
        return []
    joined = join_once(read_shards(shards, table.path), table.path)
    rows = {row["run_id"]: row for row in rows_of(joined, table.path)}
    moments: dict[str, list[dict[str, Any]]] = {}
    followed = table.moments()
    if followed is not None:
        for moment in rows_of(followed, table.path):
            moments.setdefault(moment["run_id"], []).append(moment)
    files = table.kept_files()
    trained = []
    for run in runs:
        row = rows.get(run.run_id)
        if row is not None:
            along = moments.get(run.run_id, [])
            trained.append(TrainedOnDisk(run, row, files.get(run.run_id), along))
    return trained
