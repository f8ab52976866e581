"""What a sweep does with some of its runs: train them together, analyze each on the same device,
and make their rows.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from algophase.analysis.analyze import analyze_each
from algophase.analysis.hidden.look_inside import Inside, look_inside
from algophase.analysis.moments import MomentDetails, details_of_each
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped, held_interrupts
from algophase.core.progress import Progress
from algophase.core.settings import RunSettings
from algophase.networks import Network
from algophase.runs.rows import history_columns, make_moment, make_row, timing_columns
from algophase.storage.runs_table import Row
from algophase.training.run.checkpoint import Checkpointer
from algophase.training.run.loop import EarlyStop, Watch
from algophase.training.run.plan import PlannedEnsemble, plan
from algophase.training.run.train import continued, train_groups
from algophase.training.run.trained import TrainedRun

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """How a sweep trains. None of these changes which runs there are.

    history_stride: epochs between two looks at a network while it trains; the table keeps the last.
    checkpoint_seconds: how often a running ensemble is saved, and so the most that a killed sweep
        loses.
    snapshot_epochs: where along training each network is analyzed too, for the table of moments.
    hidden: whether the hidden layers of the trained networks are looked at too; a request takes it
        from its space.
    strict_device: a device that is missing is an error; otherwise the CPU takes over and a warning
        is logged.
    early_stop: when an ensemble ends before its last epoch; a sweep has no such rule.
    histories: whether rows have the whole histories, in columns `history.*`, and the rule for an
        early stop.
    timing: whether rows say when a network memorized and when it generalized; a request takes it
        from its space.
    analysis: whether the networks are analyzed.
    check_again: whether gradients are checked that were right in an earlier command.
    """

    engine: str = "auto"
    device: str = "auto"
    precision: str | None = None
    ensemble_size: int | None = None
    history_stride: int = 1000
    checkpoint_seconds: float = 300.0
    snapshot_epochs: tuple[int, ...] = ()
    hidden: bool = False
    strict_device: bool = False
    early_stop: EarlyStop | None = None
    histories: bool = False
    timing: bool = False
    analysis: bool = True
    check_again: bool = False

    def __post_init__(self) -> None:
        epochs = Watch(snapshot_epochs=self.snapshot_epochs).snapshot_epochs  # in order
        object.__setattr__(self, "snapshot_epochs", epochs)
        if not self.checkpoint_seconds > 0:
            raise InputError(
                f"checkpoint_seconds is {self.checkpoint_seconds!r}; it must be above 0"
            )

    def plan(self, runs: Sequence[RunSettings]) -> list[PlannedEnsemble]:
        """The ensembles of these runs on this machine."""
        size = self.ensemble_size
        return plan(
            runs, self.engine, self.device, self.precision, size, strict_device=self.strict_device
        )


@dataclass(frozen=True)
class Finished:
    """An ensemble that is done: its rows, its networks by run id, and where the time went.

    moments: rows of its runs along training, the end included; snapshots: networks by run id, of
        earlier epochs.
    """

    rows: list[Row]
    networks: dict[str, Network]
    training_seconds: float
    analysis_seconds: float
    moments: list[Row] = field(default_factory=list)
    snapshots: dict[str, list[Network]] = field(default_factory=dict)


def finish(
    space: str,
    groups: Sequence[PlannedEnsemble],
    indices: Mapping[RunSettings, int],
    options: Options,
    checkpoint: Checkpointer | None = None,
    progress: Callable[[Progress], None] | None = None,
    analyzing: Callable[[int, int], None] | None = None,
    *,
    check_gradients: bool = False,
) -> Iterator[Finished]:
    """Train these ensembles as planned and analyze their networks, one after the other. Save one
    before asking for the next.

    indices: place of each run in its space. Gradients are checked here only if asked: a sweep
        checks them once.
    analyzing: called with the number of networks analyzed, and of how many.
    """
    longest = max((run.training.epochs for run in indices), default=0)
    snapshots = tuple(epoch for epoch in options.snapshot_epochs if epoch <= longest)
    watch = Watch(options.history_stride, snapshots, options.early_stop)
    if checkpoint is not None:
        groups = continued(groups, checkpoint, watch)
    training = train_groups(groups, watch, checkpoint, progress, check_gradients=check_gradients)
    with closing(training) as ensembles:
        for group, outcomes in ensembles:
            # until it is saved: nothing else holds what was trained
            with held_interrupts() as pressed:
                watch_analyses = _telling(analyzing, pressed)
                yield _analyzed(space, indices, options, group, outcomes, watch_analyses)
            if pressed():
                raise Stopped("interrupted")


def _telling(
    analyzing: Callable[[int, int], None] | None, pressed: Callable[[], bool]
) -> Callable[[int, int], None]:
    warned = False

    def watch(done: int, count: int) -> None:
        nonlocal warned
        if pressed() and not warned:
            warned = True
            log.warning(
                "interrupted: what was trained is analyzed and saved first; interrupt again to "
                "lose it"
            )
        if analyzing is not None:
            analyzing(done, count)

    return watch


def _analyzed(
    space: str,
    indices: Mapping[RunSettings, int],
    options: Options,
    group: PlannedEnsemble,
    outcomes: Sequence[TrainedRun],
    analyzing: Callable[[int, int], None],
) -> Finished:
    started = time.monotonic()
    along = {trained.id: _along(trained) if options.snapshot_epochs else {} for trained in outcomes}
    ends = [
        trained.network
        for trained in outcomes
        if trained.network is not None and trained.diverged_at is None
    ]
    earlier = [network for networks in along.values() for network in networks.values()]
    everything = [*ends, *earlier] if options.analysis else []
    analyses = _analyses(group, everything, analyzing)
    details = _details(group, everything, analyses) if options.snapshot_epochs else {}
    hidden_layers = _inside(group, ends, analyses) if options.hidden else {}
    rows: list[Row] = []
    moments: list[Row] = []
    for trained in outcomes:
        index = indices[trained.run]
        analysis = analyses.get(trained.id)
        row = make_row(space, index, trained, analysis, hidden=hidden_layers.get(trained.id))
        if options.histories:
            row = {**row, **history_columns(trained.history, options.early_stop)}
        if options.timing:
            row = {**row, **timing_columns(trained.history, options.history_stride)}
        rows.append(row)
        if not options.snapshot_epochs or not options.analysis:
            continue
        networks = dict(along[trained.id])
        if trained.network is not None and trained.diverged_at is None:
            networks[trained.epochs] = trained.network
        for epoch, network in networks.items():
            then = analyses.get(network.id)
            detail = details.get(network.id)
            moments.append(make_moment(space, index, trained, epoch, then, detail))
    snapshots = {run_id: list(networks.values()) for run_id, networks in along.items() if networks}
    return Finished(
        rows=rows,
        networks={
            trained.id: trained.network for trained in outcomes if trained.network is not None
        },
        training_seconds=sum(trained.seconds for trained in outcomes),
        analysis_seconds=time.monotonic() - started,
        moments=moments,
        snapshots=snapshots,
    )


def _along(trained: TrainedRun) -> dict[int, Network]:
    """The snapshots before the end; the last network is not one of them."""
    return {
        epoch: network for epoch, network in trained.snapshots.items() if epoch < trained.epochs
    }


def _analyses(
    group: PlannedEnsemble, networks: Sequence[Network], analyzing: Callable[[int, int], None]
) -> dict[str, Analysis]:
    """By the networks' ids. One that cannot be analyzed is logged and has no metrics."""
    analyses = {}
    results = analyze_each(networks, device=group.device)
    for done, (network, analysis) in enumerate(zip(networks, results, strict=True), 1):
        if isinstance(analysis, InputError):
            log.warning("%s", analysis)
        else:
            analyses[network.id] = analysis
        analyzing(done, len(networks))
    return analyses


def _details(
    group: PlannedEnsemble, networks: Iterable[Network], analyses: Mapping[str, Analysis]
) -> dict[str, MomentDetails]:
    analyzed = [(network, analyses[network.id]) for network in networks if network.id in analyses]
    each_details = details_of_each(analyzed, group.device)
    return {
        network.id: details for (network, _), details in zip(analyzed, each_details, strict=True)
    }


def _inside(
    group: PlannedEnsemble, networks: Iterable[Network], analyses: Mapping[str, Analysis]
) -> dict[str, Inside]:
    """By the networks' ids. One that cannot be looked into is logged."""
    layers = {}
    for network in networks:
        if network.id in analyses:
            try:
                layers[network.id] = look_inside(network, group.device)
            except InputError as error:
                log.warning("%s", error)
    return layers
