"""`train`: takes any list of runs and returns trained runs in the same order."""

import logging
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import torch

from algophase.core.errors import InputError, out_of_memory
from algophase.core.interrupts import Stopped
from algophase.core.progress import Bar, Progress
from algophase.core.settings import RunSettings
from algophase.core.wording import counted, floored
from algophase.training.check.check_planned import check_planned
from algophase.training.engines.sizing import cost
from algophase.training.run.checkpoint import Checkpointer
from algophase.training.run.loop import EarlyStop, Ensemble, Watch
from algophase.training.run.plan import PlannedEnsemble, describe, plan
from algophase.training.run.trained import TrainedRun
from algophase.training.run.turns import (
    Meanwhile,
    in_turns,
    nothing,
    save,
    threads_for,
    together,
)

log = logging.getLogger(__name__)


def train(
    runs: Sequence[RunSettings],
    engine: str = "auto",
    device: torch.device | str = "auto",
    precision: str | None = None,
    *,
    history_stride: int = 100,
    snapshot_epochs: Sequence[int] = (),
    early_stop: EarlyStop | None = None,
    checkpoint: Checkpointer | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    ensemble_size: int | None = None,
    check_gradients: bool = True,
    strict_device: bool = False,
) -> list[TrainedRun]:
    """Train runs.

    Everything is checked before any work starts. Messages go to the logger `algophase`: warnings,
    and at level INFO what is about to be trained.

    Arguments:
        runs: the settings of each run.
        engine: "auto" for the fastest that supports a run, or "plain", "stacked", "grid" or
            "fused".
        device: "auto", "cpu", "cuda", "cuda:1", ...
        precision: None for the engine's default ("half" or "tf32" on a GPU), or "float32",
            "float64" and, on a GPU, "tf32" and "half".
        history_stride: epochs from one history point to the next.
        snapshot_epochs: epochs at which to keep a copy of each network.
        early_stop: when to stop before the last epoch; by default never.
        checkpoint: where interrupted ensembles are saved and continued from.
        progress: called with a `Progress`; it may raise `Stopped` to end training. By default a
            terminal or a notebook shows a bar after two seconds; False shows none.
        ensemble_size: networks that train together; by default as many as fit well.
        check_gradients: on a GPU, compare an engine's gradients with the plain engine's before
            training with it.
        strict_device: a missing device is an error; otherwise the CPU takes over and a warning is
            logged.

    Returns:
        One `TrainedRun` per run, in the order given.

    Raises:
        InputError: a run cannot be trained as asked.
        Stopped: Ctrl-C, or `progress` raised it; it has the runs that are finished.

    Example:
        >>> from algophase import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
        >>> from algophase import train
        >>> settings = TaskSettings(7), TransformerSettings(8), TrainingSettings(epochs=5)
        >>> runs = [RunSettings(*settings, seed=seed) for seed in (0, 1)]
        >>> [trained.run.seed for trained in train(runs, device="cpu")]
        [0, 1]
    """
    watch = Watch(history_stride, tuple(snapshot_epochs), early_stop)
    trained_runs: dict[int, TrainedRun] = {}
    with Bar(progress if progress is False else None) as bar:
        ensembles = train_by_ensemble(
            runs,
            engine,
            device,
            precision,
            watch,
            checkpoint,
            progress if callable(progress) else bar,
            ensemble_size=ensemble_size,
            check_gradients=check_gradients,
            strict_device=strict_device,
        )
        try:
            with closing(ensembles):
                for group, outcomes in ensembles:
                    trained_runs.update(zip(group.indices, outcomes, strict=True))
        except Stopped as stop:
            in_order = [trained_runs[index] for index in sorted(trained_runs)]
            stop.finished = [*in_order, *stop.finished]
            raise
    return [trained_runs[index] for index in range(len(runs))]


def check_snapshots(runs: Sequence[RunSettings], snapshot_epochs: Sequence[int]) -> None:
    """Raises `InputError` for a snapshot after the last epoch of every run."""
    longest = max((run.training.epochs for run in runs), default=0)
    for epoch in snapshot_epochs:
        if runs and epoch > longest:
            raise InputError(
                f"a snapshot is asked for at epoch {epoch}; choose epochs from 0 to {longest}, "
                "the last one trained"
            )


def train_by_ensemble(
    runs: Sequence[RunSettings],
    engine: str = "auto",
    device: torch.device | str = "auto",
    precision: str | None = None,
    watch: Watch = Watch(),
    checkpoint: Checkpointer | None = None,
    progress: Callable[[Progress], None] | None = None,
    *,
    ensemble_size: int | None = None,
    check_gradients: bool = True,
    strict_device: bool = False,
) -> Generator[tuple[PlannedEnsemble, list[TrainedRun]]]:
    """As `train`, ensemble by ensemble. Everything is checked and announced now, and trained
    when it is asked for.
    """
    groups = plan(runs, engine, device, precision, ensemble_size, strict_device=strict_device)
    check_snapshots(runs, watch.snapshot_epochs)
    if checkpoint is not None:
        groups = continued(groups, checkpoint, watch)
    announce(groups)
    return train_groups(groups, watch, checkpoint, progress, check_gradients=check_gradients)


def announce(groups: Sequence[PlannedEnsemble]) -> None:
    """Log what is about to be trained."""
    for line in describe(groups):
        log.info(line)


def train_groups(
    groups: Sequence[PlannedEnsemble],
    watch: Watch = Watch(),
    checkpoint: Checkpointer | None = None,
    progress: Callable[[Progress], None] | None = None,
    *,
    meanwhile: Meanwhile = nothing,
    check_gradients: bool = True,
    keep_checkpoints: bool = False,
) -> Generator[tuple[PlannedEnsemble, list[TrainedRun]]]:
    """Train what a plan says, small ensembles side by side on a GPU, and give their outcomes in the
    plan's order.

    Asking for the next ensemble removes this one's checkpoint: save the outcome first. A caller
    who saves it later says `keep_checkpoints`, and removes them. meanwhile: work beside training.
    """
    if check_gradients:
        check_planned(groups)
    waiting = list(groups)
    flight: list[Ensemble] = []
    crowded = False
    report = _Reporter(progress, groups)
    while waiting or flight:
        while waiting and (not flight or (not crowded and _fits(flight, waiting[0]))):
            group = waiting[0]
            try:
                with _kept(flight, checkpoint):
                    flight.append(_build(group, watch, checkpoint))
                waiting.pop(0)
            # torch.cuda.OutOfMemoryError is a RuntimeError
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if flight:
                    crowded = True  # it waits until the others are done
                else:
                    waiting[:1] = _halved(group)
                    log.warning(
                        "%d networks do not fit into memory: training them %d at a time",
                        len(group.runs),
                        len(waiting[0].runs),
                    )
            # not earlier: an error in hand still holds the ensemble that did not fit
            _release(group.device)
        report.about(flight, len(waiting))
        with threads_for(flight[0].group):
            in_turns(flight, checkpoint, report, meanwhile)
            outcomes = flight[0].results()
        group = flight.pop(0).group  # its memory is the next one's
        crowded = crowded and bool(flight)
        with _kept(flight, checkpoint):
            yield group, outcomes
        if checkpoint is not None and not keep_checkpoints:
            checkpoint.remove(group.runs)
        report.done(group)
        _release(group.device)


@contextmanager
def _kept(flight: Sequence[Ensemble], checkpoint: Checkpointer | None) -> Iterator[None]:
    """If all ends meanwhile, by Ctrl-C or by a caller who asks for no more, the ensembles in
    training are saved.
    """
    try:
        yield
    except (KeyboardInterrupt, GeneratorExit):
        if checkpoint is not None:
            try:
                save(flight, checkpoint)
            except InputError as error:
                log.warning("%s: what trained side by side is trained again", error)
        raise


def _fits(flight: Sequence[Ensemble], group: PlannedEnsemble) -> bool:
    """Whether an ensemble may train beside those that do."""
    return together([*(ensemble.group for ensemble in flight), group]) > len(flight)


def _build(group: PlannedEnsemble, watch: Watch, checkpoint: Checkpointer | None) -> Ensemble:
    ensemble = Ensemble(group, watch)
    if checkpoint is None:
        return ensemble
    for pending in checkpoint.pending():
        if pending.runs == group.runs:
            ensemble.restore(checkpoint.read(pending), checkpoint.where(pending))
            count = counted(len(group.runs), "network")
            log.info("continuing %s at epoch %d of %d", count, pending.epoch, group.epochs)
            break
    return ensemble


def _halved(group: PlannedEnsemble) -> tuple[PlannedEnsemble, PlannedEnsemble]:
    if len(group.runs) == 1:
        run = group.runs[0]
        raise InputError(
            f"one network of run {run.run_id} does not fit into the memory of {group.device} "
            f"with the {group.engine} engine; choose a smaller network or modulus, or another "
            "device"
        )
    return group.halves()


def _release(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()


class _Reporter:
    """What the loop calls with an ensemble after its part of a turn."""

    def __init__(
        self, progress: Callable[[Progress], None] | None, groups: Sequence[PlannedEnsemble]
    ) -> None:
        self.progress = progress
        self.finished = 0
        self.flight: list[Ensemble] = []
        self.count = len(groups)
        # of all ensembles, and of those that are done: work in units of `cost`, and networks x
        # epochs
        self.work = sum(map(_work, groups))
        self.updates = sum(map(_updates, groups))
        self.work_done = 0.0
        self.updates_done = 0.0

    def about(self, flight: list[Ensemble], later: int) -> None:
        """flight: what trains now; later: how many ensembles come after that."""
        self.flight = flight
        self.count = self.finished + len(flight) + later
        self.works = [_work(ensemble.group) for ensemble in flight]

    def done(self, group: PlannedEnsemble) -> None:
        self.finished += 1
        self.work_done += _work(group)
        self.updates_done += _updates(group)

    def __call__(self, ensemble: Ensemble) -> None:
        if self.progress is None:
            return
        running = [member for member in self.flight if member is ensemble or not member.finished]
        rate = sum(len(member.group.runs) * member.rate for member in running)
        updates_in_flight = 0
        work_in_flight = 0.0
        for member, work in zip(self.flight, self.works, strict=True):
            epochs = member.epoch if member in running else member.group.epochs
            updates_in_flight += len(member.group.runs) * epochs
            work_in_flight += work * member.epoch / max(1, member.group.epochs)
        updates_left = self.updates - self.updates_done - updates_in_flight
        share = 1.0
        if self.work > 0:
            share = min(1.0, (self.work_done + work_in_flight) / self.work)
        progress = Progress(
            share=share,
            seconds_left=updates_left / rate if rate > 0 else math.nan,
            networks=len(ensemble.group.runs),
            epoch=ensemble.epoch,
            epochs=ensemble.group.epochs,
            ensemble=self.finished + 1 + self.flight.index(ensemble),
            ensembles=self.count,
            rate=rate,
            training_loss=ensemble.recorder.median("training_loss"),
            validation_accuracy=ensemble.recorder.median("validation_accuracy"),
        )
        self.progress(in_words(progress))


def in_words(progress: Progress) -> Progress:
    """The same with the words that a bar shows of an ensemble in training."""
    title = f"training {counted(progress.networks, 'network')}"
    if progress.ensembles > 1:
        title += f", ensemble {progress.ensemble} of {progress.ensembles}"
    state = (
        f"epoch {progress.epoch:,} of {progress.epochs:,}, "
        f"{progress.rate:,.0f} networks x epochs/s, loss {progress.training_loss:.1e}, "
        f"validation accuracy {floored(progress.validation_accuracy, 1)}"
    )
    doing = f"{title}, {state}"
    if progress.time_left:
        state += f"; {progress.time_left}"
    return replace(progress, title=title, state=state, doing=doing)


def _work(group: PlannedEnsemble) -> float:
    return sum(map(cost, group.runs))


def _updates(group: PlannedEnsemble) -> int:
    return len(group.runs) * group.epochs


def continued(
    groups: Sequence[PlannedEnsemble], checkpoint: Checkpointer, watch: Watch
) -> list[PlannedEnsemble]:
    """Interrupted ensembles first, each with the same members as before; the other runs as
    planned.
    """
    planned: dict[int, PlannedEnsemble] = {}
    runs: dict[int, RunSettings] = {}
    for group in groups:
        for index, run in zip(group.indices, group.runs, strict=True):
            planned[index] = group
            runs[index] = run
    first = []
    for pending in checkpoint.pending():
        indices = _indices_of(pending.runs, {index: runs[index] for index in planned})
        if indices is None:
            if any(run in pending.runs for run in runs.values()):
                log.warning(
                    "%s holds only some of these runs: it is left alone, and they start from "
                    "the beginning",
                    checkpoint.where(pending),
                )
            continue
        like = planned[indices[0]]
        group = replace(like, indices=tuple(indices), runs=pending.runs)
        refusal = pending.refusal(group, watch.to_dict())
        if refusal is not None:
            raise InputError(
                f"{checkpoint.where(pending)} has these runs at epoch {pending.epoch} and cannot "
                f"be continued: {refusal}; use its settings, or delete it to start again"
            )
        first.append(group)
        for index in indices:
            del planned[index]
    rest = []
    for group in groups:
        left = [position for position, index in enumerate(group.indices) if index in planned]
        if left:
            rest.append(group.only(left))
    return first + rest


def _indices_of(
    members: Sequence[RunSettings], runs: Mapping[int, RunSettings]
) -> list[int] | None:
    """The index of each member in `runs`, none used twice; None if one is missing."""
    left: dict[RunSettings, list[int]] = {}
    for index in sorted(runs, reverse=True):
        left.setdefault(runs[index], []).append(index)
    try:
        return [left[run].pop() for run in members]
    except (KeyError, IndexError):
        return None
