"""`sweep`: train the runs of a space into a directory, on this machine, as far as the time allows.
Called again, it continues.

The ensembles come from a plan of *all* runs, finished or not, so an interrupted sweep trains what
an uninterrupted one would.
"""

import logging
import math
import platform
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import torch

from algophase.analysis.verdict.decide import ALGORITHMS
from algophase.core.devices import device_name
from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.palette import in_order
from algophase.core.progress import Progress, ignore
from algophase.core.settings import RunSettings
from algophase.networks import Network
from algophase.runs.overview import outcome
from algophase.storage.sweep_directory import BEGUN_BY, SweepDirectory
from algophase.sweeps._budget import Trial, can_be_cut, fitting, time_is_up
from algophase.sweeps.backlog import Backlog, Finished
from algophase.sweeps.options import Options
from algophase.sweeps.provenance import commit, make, makes, version
from algophase.sweeps.spaces import Space, check_runs
from algophase.sweeps.work import train_into
from algophase.training.check.check_planned import check_planned
from algophase.training.engines.sizing import cost
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.train import announce, check_snapshots
from algophase.training.run.turns import together

log = logging.getLogger(__name__)

# Of a call's first ensemble: a smaller one is not faster in proportion, and each attempt takes
# time
MOST_CUTS = 2
# Before one of these, the start of the first ensemble is most of the time: at epoch 1 of 20,000 a
# sweep of three minutes said "28:54:47 left".
LEAST_SHARE = 0.002
LEAST_SECONDS = 30.0


@dataclass(frozen=True)
class Request:
    """Which runs of a space, where to, and what to keep.

    part: (I, K): every K-th run from the I-th on, for machine I of K.
    keep_weights: "none", "all", or how many networks per verdict; networks without a verdict count
        by why they have none.
    command: what the user typed, kept with the results.
    mix_versions: continue a table that another version of the code began.
    """

    space: Space
    runs: int
    seed: int = 0
    part: tuple[int, int] = (1, 1)
    keep_weights: str | int = "none"
    minutes: float | None = None
    options: Options = Options()
    command: str = ""
    mix_versions: bool = False

    def __post_init__(self) -> None:
        options = replace(self.options, hidden=self.space.hidden)
        if self.space.history_stride > 0:
            options = replace(options, history_stride=self.space.history_stride, timing=True)
        object.__setattr__(self, "options", options)
        number, count = self.part
        check_runs("runs", self.runs)
        if not 1 <= number <= count:
            raise InputError(f"part is {number}/{count}; it must be I/K with I from 1 to K")
        if number > self.runs:
            choices = f"choose I/{count} with I from 1 to {self.runs}"
            raise InputError(
                f"part is {number}/{count}, which has none of the {self.runs} runs; {choices}"
            )
        is_count = isinstance(self.keep_weights, int) and self.keep_weights > 0
        if self.keep_weights not in ("none", "all") and not is_count:
            raise InputError(
                f"keep-weights is {self.keep_weights!r}; choose none, all, or a number of "
                "networks of each verdict"
            )
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"minutes is {self.minutes!r}; it must be above 0")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed is {self.seed!r}; it must be an integer of at least 0")

    @property
    def indices(self) -> Sequence[int]:
        """Places in the space of the runs that are asked for."""
        number, count = self.part
        return self.space.places(self.runs)[number - 1 :: count]

    def members(self) -> dict[int, RunSettings]:
        """All runs that are asked for, by their places in the space."""
        runs = {index: self.space.run(index, self.seed) for index in self.indices}
        check_snapshots(list(runs.values()), self.options.snapshot_epochs)
        return runs


@dataclass(frozen=True)
class Outcome:
    """How a call of `sweep` ended.

    Attributes:
        ended: "complete", "out of time" or "interrupted".
        runs: runs asked for.
        done: of these, runs in the table.
        new: of these, runs added by this call.
        counts: runs in the table by outcome.
        training_seconds, analysis_seconds: of the new runs.
        seconds: of the whole call.
        beside_seconds: of `analysis_seconds`, how many passed while a GPU trained other runs.
        without_weights: runs whose networks should be kept, but were made earlier without their
            weights.
        unfair: why the runs in the table are not a fair sample of their space; "" if they are.
        epoch: how far the ensemble in training was, if the call ended early.
    """

    ended: str
    runs: int
    done: int
    new: int
    counts: Mapping[str, int]
    training_seconds: float
    analysis_seconds: float
    seconds: float
    beside_seconds: float = 0.0
    without_weights: int = 0
    unfair: str = ""
    epoch: int = 0

    @property
    def other_seconds(self) -> float:
        """Of the whole call, what was neither training nor analysis: drawing networks, checking
        gradients, saving, and an ensemble that was not finished.
        """
        analysis_alone = self.analysis_seconds - self.beside_seconds
        return self.seconds - self.training_seconds - analysis_alone


@dataclass
class SweepCall:
    """One call of `sweep`: it puts finished ensembles into the directory, counts them, and says how
    far it is.

    runs: those asked for, by their places in the space. counts: finished ones by outcome, now or
        earlier; new: finished now. kept: networks in the directory, by outcome.
    work, work_left: what was trained since the start and what is left, in units of `cost`;
        under_way: how much of what is left is done, in the ensembles being trained.
    """

    directory: SweepDirectory
    request: Request
    runs: Mapping[int, RunSettings]
    report: Callable[[Progress], None]
    counts: Counter[str]
    kept: Counter[str]
    work_left: float
    work: float = 0.0
    under_way: float = 0.0
    new: int = 0
    training_seconds: float = 0.0
    analysis_seconds: float = 0.0
    beside_seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def seconds_per_work(self) -> float | None:
        """None before anything is trained."""
        return (time.monotonic() - self.started) / self.work if self.work > 0 else None

    def add(self, finished: Finished, device: str) -> None:
        outcomes = [outcome(row) for row in finished.rows]
        networks: list[Network] = []
        kept = Counter(self.kept)
        for row, name in zip(finished.rows, outcomes, strict=True):
            network = finished.networks.get(row["run_id"])
            if network is not None and self._wanted(kept[name]):
                networks += [*finished.snapshots.get(row["run_id"], ()), network]
                kept[name] += 1
        self.directory.add(finished.rows, self._about(finished, device), finished.moments, networks)
        self.kept = kept  # only now: where the disk is full, nothing was kept
        self.training_seconds += finished.training_seconds
        self.analysis_seconds += finished.analysis_seconds
        self.beside_seconds += finished.beside_seconds
        self.new += len(outcomes)
        self.counts.update(outcomes)

    def count_as_trained(self, runs: Sequence[RunSettings]) -> None:
        work = sum(map(cost, runs))
        self.work += work
        self.work_left -= work
        self.under_way = max(0.0, self.under_way - work)

    def _wanted(self, kept: int) -> bool:
        """Whether one more network is to be kept where so many with its outcome are."""
        limit = self.request.keep_weights
        return limit == "all" or (isinstance(limit, int) and kept < limit)

    def show(self, doing: str = "", training: Progress = Progress()) -> None:
        """Report where the sweep stands. training: of the ensemble that trains, where one does."""
        seconds = time.monotonic() - self.started
        work_done = self.work + self.under_way
        work_left = self.work_left - self.under_way
        share = work_done / (work_done + work_left) if work_left > 0 else 1.0
        is_steady = work_done > 0 and (share >= LEAST_SHARE or seconds >= LEAST_SECONDS)
        progress = replace(
            training,
            title=f"{self.done:,} of {len(self.runs):,} runs",
            share=share,
            seconds_left=work_left * seconds / work_done if is_steady else math.nan,
            done=self.done,
            total=len(self.runs),
            new=self.new,
            counts=dict(self.counts),
            doing=doing,
        )
        per_minute = f"{60 * self.new / seconds:,.1f} per minute" if self.new else ""
        speed = ", ".join(filter(None, [per_minute, progress.time_left]))
        state = "; ".join(filter(None, [speed, tally(self.counts), doing]))
        self.report(replace(progress, state=state))

    def outcome(self, ended: str, seconds: float) -> Outcome:
        return Outcome(
            ended=ended,
            runs=len(self.runs),
            done=self.done,
            new=self.new,
            counts=dict(self.counts),
            training_seconds=self.training_seconds,
            analysis_seconds=self.analysis_seconds,
            beside_seconds=self.beside_seconds,
            seconds=seconds,
        )

    def _about(self, finished: Finished, device: str) -> dict[str, Any]:
        return {
            "command": self.request.command,
            "part": list(self.request.part),
            "version": version(),
            "commit": commit(),
            "torch": torch.__version__,
            "device": device,
            "machine": platform.machine(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "runs": len(finished.rows),
            "training_seconds": round(finished.training_seconds, 3),
            "analysis_seconds": round(finished.analysis_seconds, 3),
        }


def tally(counts: Mapping[str, int]) -> str:
    """How many runs have each verdict; the three algorithms are always listed."""
    names = in_order([*ALGORITHMS, *counts])
    return ", ".join(f"{name} {counts.get(name, 0):,}" for name in names)


def begin(
    request: Request,
    runs: Mapping[int, RunSettings],
    directory: SweepDirectory,
    report: Callable[[Progress], None],
) -> tuple[dict[int, str], SweepCall]:
    """The outcomes of the runs that are done, and a call for the others. The directory must
    be held.
    """
    snapshots = request.options.snapshot_epochs if request.space.fixed_snapshots else ()
    directory.describe(request.space.to_dict(), request.seed, snapshots, make())
    finished = directory.finished()
    for index, (run_id, _) in finished.items():
        if index in runs and runs[index].run_id != run_id:
            raise InputError(
                f"run {index} in {directory.path} is {run_id}; run {index} of this space is "
                f"{runs[index].run_id}"
            )
    outcomes = outcomes_by_id(directory) if finished else {}
    done = {index: outcomes[run_id] for index, (run_id, _) in finished.items() if index in runs}
    if done:
        counts = f"{len(done):,} of {len(runs):,}"
        log.info("%s runs are in %s already", counts, directory.path)
    if len(done) < len(runs):
        _check_make(request, directory)
    work_left = sum(cost(run) for index, run in runs.items() if index not in done)
    kept_ids = directory.kept()
    kept = Counter(name for run_id, name in outcomes.items() if run_id in kept_ids)
    counts_done = Counter(done.values())
    return done, SweepCall(directory, request, runs, report, counts_done, kept, work_left)


def _check_make(request: Request, directory: SweepDirectory) -> None:
    """One table is of one state of the code, unless the user wants otherwise: what changed may
    change the outcomes.
    """
    first_make = str(directory.description().get(BEGUN_BY, make()))[:200]
    all_makes = dict.fromkeys([first_make, *makes(directory.calls())])
    foreign_makes = [name for name in all_makes if name != make()]
    if not foreign_makes:
        return
    mixture = (
        f"the sweep in {directory.path} was made by {'; '.join(foreign_makes)}; this is {make()}"
    )
    if not request.mix_versions:
        raise InputError(
            f"{mixture}: choose another directory, or continue this table all the same with "
            "--mix-versions"
        )
    log.warning("%s: the table will have runs of both", mixture)


def outcomes_by_id(directory: SweepDirectory) -> dict[str, str]:
    """The outcome of every finished run, by its id."""
    return {row["run_id"]: outcome(row) for row in directory.outcomes()}


def sweep_here(
    request: Request, directory: SweepDirectory, report: Callable[[Progress], None] = ignore
) -> Outcome:
    """Train and analyze the runs that are missing, on this machine. `report` is called with where
    the sweep stands.
    """
    start = time.monotonic()
    deadline = None if request.minutes is None else start + 60 * request.minutes
    runs = request.members()
    # Before anything is written: a request that cannot be met must not bind the directory.
    groups = request.options.plan(list(runs.values()))
    with directory.hold(request.command or f"a sweep of {request.space.name}"):
        done, call = begin(request, runs, directory, report)
        waiting = _waiting(groups, list(runs), done, directory)
        announce(waiting)
        call.show()
        check_planned(waiting, again=request.options.check_again)
        call.started = time.monotonic()
        epoch = 0
        try:
            ended = _work_off(call, waiting, deadline)
        except Stopped as stop:
            ended = stop.reason
            epoch = stop.epochs
        except KeyboardInterrupt:
            ended = "interrupted"
        if ended == "complete":
            directory.complete()
    return replace(call.outcome(ended, time.monotonic() - start), epoch=epoch)


def _work_off(call: SweepCall, waiting: Sequence[PlannedEnsemble], deadline: float | None) -> str:
    """Train, analyze and record one ensemble after the other, as far as there is time. Returns how
    it ended.

    However it ends, what is trained is analyzed and recorded, unless a second Ctrl-C asks to lose
    it.
    """
    backlog = _backlog(call)
    try:
        ended = _train_in_time(call, backlog, waiting, deadline)
    except Exception:
        backlog.work_off()
        raise
    backlog.work_off()
    return ended


def _backlog(call: SweepCall) -> Backlog:
    """The networks of a call that wait for their analysis. What is done goes into the directory."""
    checkpoints = call.directory.checkpoints()

    def record(group: PlannedEnsemble, finished: Finished) -> None:
        call.add(finished, device_name(group.device))
        checkpoints.remove(group.runs)
        call.show()

    def show_analysis(done: int, count: int) -> None:
        call.show(f"analyzing network {done} of {count}")

    request = call.request
    in_space = {run: index for index, run in call.runs.items()}
    return Backlog(request.space.name, in_space, request.options, record, show_analysis)


def _train_in_time(
    call: SweepCall,
    backlog: Backlog,
    waiting: Sequence[PlannedEnsemble],
    deadline: float | None,
) -> str:
    left = deque(waiting)
    while left:
        part = fitting(left[0], call.seconds_per_work, deadline)
        if part is None:
            return "out of time"
        whole = left.popleft()
        beside = []
        if part is whole:
            count = together([whole, *left])
            beside = [left.popleft() for _ in range(count - 1)]
        part, *_ = _train_parts(call, backlog, [part, *beside], deadline)
        if len(part.runs) < len(whole.runs):
            left.appendleft(whole.only(range(len(part.runs), len(whole.runs))))
    return "complete"


def _train_parts(
    call: SweepCall, backlog: Backlog, parts: list[PlannedEnsemble], deadline: float | None
) -> list[PlannedEnsemble]:
    """Train a part of an ensemble or, where its speed shows that it would not end in time, less of
    it.

    Returns what was done. Only a call's first ensemble is cut like this: after it the speed is
    known. Several are small, train side by side and are never cut: fewer networks would take as
    long.
    """
    for _ in range(MOST_CUTS):
        alone = len(parts) == 1 and can_be_cut(parts[0])
        if deadline is None or call.seconds_per_work is not None or not alone:
            break
        trial = Trial(parts[0], deadline)
        try:
            _train(call, backlog, parts, deadline, trial)
            return parts
        except Stopped as stop:
            if trial.fewer is None or stop.reason != "too slow":
                raise
        log.info(
            "%d networks would not end in time: training %d of them",
            len(parts[0].runs),
            len(trial.fewer.runs),
        )
        parts = [trial.fewer]
        call.under_way = 0.0
    _train(call, backlog, parts, deadline, ignore)
    return parts


def _train(
    call: SweepCall,
    backlog: Backlog,
    parts: Sequence[PlannedEnsemble],
    deadline: float | None,
    trial: Callable[[Progress], None],
) -> None:
    """Train these ensembles."""
    options = call.request.options
    work = sum(cost(run) for part in parts for run in part.runs)
    work_at_start = call.work

    def watch_training(progress: Progress) -> None:
        trained_since = call.work - work_at_start
        call.under_way = max(0.0, work * progress.share - trained_since)
        call.show(progress.doing, progress)
        if time_is_up(progress, deadline):
            raise Stopped("out of time")  # the loop then saves the ensemble and stops
        trial(progress)

    checkpoints = call.directory.checkpoints(options.checkpoint_seconds)
    train_into(backlog, parts, options, checkpoints, watch_training, call.count_as_trained)


def _waiting(
    groups: Sequence[PlannedEnsemble],
    indices: list[int],
    done: Mapping[int, object],
    directory: SweepDirectory,
) -> list[PlannedEnsemble]:
    """What is left of each ensemble; those that were interrupted come first."""
    left = []
    for group in groups:
        missing = [
            number for number, position in enumerate(group.indices) if indices[position] not in done
        ]
        if missing:
            left.append(group.only(missing))
    interrupted = {checkpoint.runs for checkpoint in directory.checkpoints().pending()}
    return sorted(left, key=lambda group: group.runs not in interrupted)
