"""Networks that are trained and wait for their analysis: on a GPU, while it trains the next ones.

An analysis is mostly work for the CPU, which has nothing to do while a GPU trains: half a second of
training is queued at a time. So whatever is trained goes into a `Backlog`. A network of it is
analyzed whenever the CPU would wait for the GPU: those of an ensemble that is done, and snapshots
of the ensemble that still trains. `work_off` does what is left.

On a CPU, training and analysis would share the cores. There each ensemble is worked off as soon as
it is trained.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import torch

from algophase.analysis.analyze import (
    ARRAYS_OF_LOGITS,
    analyze_each,
    most_under_way,
    recordings,
)
from algophase.analysis.hidden.look_inside import Inside, look_inside
from algophase.analysis.moments import MomentDetails, details_of_each
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError, out_of_memory
from algophase.core.interrupts import Stopped, held_interrupts
from algophase.core.memory import FLOAT64, chunk_elements
from algophase.core.settings import RunSettings
from algophase.networks import Network
from algophase.runs.rows import history_columns, make_moment, make_row, timing_columns
from algophase.storage.runs_table import Row
from algophase.sweeps.options import Options
from algophase.training.run.loop import Ensemble
from algophase.training.run.plan import PlannedEnsemble
from algophase.training.run.trained import TrainedRun

log = logging.getLogger(__name__)

# An analysis beside training may take this share of the memory that training leaves.
SHARE_OF_FREE_MEMORY = 0.5
# Of networks that wait, all on the CPU: a gigabyte of the paper's size
MOST_WAITING = 1024


@dataclass(frozen=True)
class Finished:
    """An ensemble that is done: its rows, its networks by run id, and where the time went.

    moments: rows of its runs along training, the end included; snapshots: networks by run id, of
        earlier epochs. beside_seconds: of `analysis_seconds`, how many passed while a GPU trained.
    """

    rows: list[Row]
    networks: dict[str, Network]
    training_seconds: float
    analysis_seconds: float
    moments: list[Row] = field(default_factory=list)
    snapshots: dict[str, list[Network]] = field(default_factory=dict)
    beside_seconds: float = 0.0


class Backlog:
    """Ensembles whose networks are still to be analyzed.

    indices: place of each run in its space. record: called with each ensemble that is done, in
    their order; it saves the rows. analyzing: called with the number of networks analyzed, and of
    how many, while nothing trains.
    """

    def __init__(
        self,
        space: str,
        indices: Mapping[RunSettings, int],
        options: Options,
        record: Callable[[PlannedEnsemble, Finished], None],
        analyzing: Callable[[int, int], None] | None = None,
    ) -> None:
        self._space = space
        self._indices = indices
        self._options = options
        self._record = record
        self._analyzing = analyzing
        self._trained = deque[_Findings]()
        self._in_training: dict[tuple[RunSettings, ...], _Findings] = {}
        self._streams: dict[torch.device, torch.cuda.Stream] = {}

    @property
    def waiting(self) -> int:
        """Networks that are trained and not recorded."""
        return sum(len(findings.group.runs) for findings in self._trained)

    def beside(self, ensemble: Ensemble) -> bool:
        """One step of an analysis while this ensemble trains; False where there is none to do."""
        own = self._findings_of(ensemble.group)
        if not own.may_run_beside_training:
            return False
        own.take_snapshots(ensemble)
        findings = self._trained[0] if self._trained else own
        try:
            has_worked = self._step(findings, beside=True)
        # torch.cuda.OutOfMemoryError is a RuntimeError
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            log.info("the GPU's memory is too small to analyze networks beside training")
            own.may_run_beside_training = False
            findings.begin_again()
            torch.cuda.empty_cache()
            return False
        if findings.is_complete:
            self._finish_first()
        return has_worked

    def take(self, group: PlannedEnsemble, outcomes: Sequence[TrainedRun]) -> None:
        """Take an ensemble that is trained. It is analyzed now if it may not wait."""
        findings = self._findings_of(group)
        del self._in_training[group.runs]
        findings.take_outcomes(outcomes)
        self._trained.append(findings)
        if not findings.may_run_beside_training or self.waiting > MOST_WAITING:
            self.work_off()

    def drop_training(self) -> None:
        """Forget the snapshots of ensembles that will not be finished now."""
        self._in_training.clear()

    def work_off(self) -> None:
        """Analyze and record all ensembles that are trained, but for those whose analysis raised
        an error. The first Ctrl-C is kept until then: nothing else holds what was trained.
        """
        with held_interrupts() as pressed:
            tell = _telling(self._analyzing, pressed)
            while self._trained:
                findings = self._trained[0]
                if findings.has_failed:
                    self._trained.popleft()  # its checkpoint stays, and it is trained again
                    continue
                while self._step(findings):
                    tell(findings.analyzed, findings.networks)
                self._finish_first()
        if pressed():
            raise Stopped("interrupted")

    def _findings_of(self, group: PlannedEnsemble) -> "_Findings":
        if group.runs not in self._in_training:
            self._in_training[group.runs] = _Findings(group, self._options)
        return self._in_training[group.runs]

    def _step(self, findings: "_Findings", *, beside: bool = False) -> bool:
        start = time.monotonic()
        with self._on_stream(findings.group.device):
            has_worked = findings.step()
        seconds = time.monotonic() - start
        findings.seconds += seconds
        if beside:
            findings.beside_seconds += seconds
        return has_worked

    def _on_stream(self, device: torch.device) -> AbstractContextManager[object]:
        """The backlog's own stream on a GPU: it does not wait for training, and goes first."""
        if device.type != "cuda":
            return nullcontext()
        if device not in self._streams:
            self._streams[device] = torch.cuda.Stream(device, priority=-1)
        return torch.cuda.stream(self._streams[device])

    def _finish_first(self) -> None:
        findings = self._trained[0]
        self._record(findings.group, findings.finished(self._space, self._indices))
        self._trained.popleft()  # only now: what could not be saved can be tried again


class _Findings:
    """What is found of the networks of one ensemble, one step at a time.

    step: of `_jobs`, each an iterator that does something whenever it is asked for more.
    """

    def __init__(self, group: PlannedEnsemble, options: Options) -> None:
        self.group = group
        self.options = options
        self.may_run_beside_training = options.analyze_beside and _has_room(group)
        self.seconds = 0.0
        self.beside_seconds = 0.0
        self.has_failed = False
        self._compute = recordings(group.device)
        self._outcomes: Sequence[TrainedRun] | None = None
        self._jobs = deque[Iterator[None]]()
        self._epochs_taken: set[int] = set()
        self._analyses: dict[str, Analysis | InputError] = {}  # by the networks' ids
        self._details: dict[str, MomentDetails] = {}
        self._hidden_layers: dict[str, Inside] = {}

    @property
    def analyzed(self) -> int:
        return len(self._analyses)

    @property
    def networks(self) -> int:
        """Those to be analyzed, as far as they are known."""
        if self._outcomes is None or not self.options.analysis:
            return self.analyzed
        return sum(len(_networks_of(trained)) for trained in self._outcomes)

    @property
    def is_complete(self) -> bool:
        return self._outcomes is not None and not self._jobs

    def take_snapshots(self, ensemble: Ensemble) -> None:
        """Analyze the snapshots that were taken since the last call."""
        if not self.options.analysis or not self.options.snapshot_epochs:
            return
        for epoch in ensemble.snapshots:
            # the last one is the trained network, which has another id
            if epoch not in self._epochs_taken and epoch < self.group.epochs:
                self._epochs_taken.add(epoch)
                self._jobs.append(self._look_at(ensemble.networks_at(epoch)))

    def take_outcomes(self, outcomes: Sequence[TrainedRun]) -> None:
        """Analyze the networks that training ended with, and snapshots that are left."""
        self._outcomes = outcomes
        self._jobs.append(self._look_at_the_rest(outcomes))

    def begin_again(self) -> None:
        """After a job failed: what it was about is left for later."""
        self.has_failed = False
        self._jobs.clear()
        self._compute = recordings(self.group.device)
        if self._outcomes is not None:
            self._jobs.append(self._look_at_the_rest(self._outcomes))

    def step(self) -> bool:
        """Do a little; False if nothing is left."""
        while self._jobs:
            try:
                next(self._jobs[0])
            except StopIteration:
                self._jobs.popleft()
            except BaseException:
                self.has_failed = True  # what is missing must not be recorded as done
                raise
            else:
                return True
        return False

    def _look_at_the_rest(self, outcomes: Sequence[TrainedRun]) -> Iterator[None]:
        if not self.options.analysis:
            return
        networks = [network for trained in outcomes for network in _networks_of(trained).values()]
        yield from self._look_at(networks)
        if self.options.hidden:
            yield from self._look_inside(outcomes)

    def _look_at(self, networks: Sequence[Network]) -> Iterator[None]:
        """Analyze those that have not been. One that cannot be is logged and has no metrics."""
        device = self.group.device
        new = [network for network in networks if network.id not in self._analyses]
        results = analyze_each(new, device=device, compute=self._compute)
        for network, analysis in zip(new, results, strict=True):
            self._analyses[network.id] = analysis
            if isinstance(analysis, InputError):
                log.warning("%s", analysis)
            yield
        if not self.options.snapshot_epochs:
            return
        analyzed: list[tuple[Network, Analysis]] = []
        for network in networks:
            own = self._analysis(network.id)
            if own is not None and network.id not in self._details:
                analyzed.append((network, own))
        every_detail = details_of_each(analyzed, device)
        for (network, _), details in zip(analyzed, every_detail, strict=True):
            self._details[network.id] = details
            yield

    def _look_inside(self, outcomes: Sequence[TrainedRun]) -> Iterator[None]:
        """Look inside the trained networks. One where that fails is logged."""
        for trained in outcomes:
            network = _last_network(trained)
            if network is None or self._analysis(network.id) is None:
                continue
            try:
                self._hidden_layers[network.id] = look_inside(network, self.group.device)
            except InputError as error:
                log.warning("%s", error)
            yield

    def _analysis(self, name: str) -> Analysis | None:
        analysis = self._analyses.get(name)
        return None if isinstance(analysis, InputError) else analysis

    def finished(self, space: str, indices: Mapping[RunSettings, int]) -> Finished:
        """The rows of all runs, from what was found."""
        assert self._outcomes is not None
        start = time.monotonic()
        rows: list[Row] = []
        moments: list[Row] = []
        for trained in self._outcomes:
            index = indices[trained.run]
            rows.append(self._row(space, index, trained))
            if self.options.snapshot_epochs and self.options.analysis:
                moments += self._moments(space, index, trained)
        self.seconds += time.monotonic() - start
        networks: dict[str, Network] = {}
        snapshots: dict[str, list[Network]] = {}
        for trained in self._outcomes:
            if trained.network is not None:
                networks[trained.id] = trained.network
            along = list(_along(trained).values())
            if along:
                snapshots[trained.id] = along
        return Finished(
            rows=rows,
            networks=networks,
            training_seconds=sum(trained.seconds for trained in self._outcomes),
            analysis_seconds=self.seconds,
            moments=moments,
            snapshots=snapshots,
            beside_seconds=self.beside_seconds,
        )

    def _row(self, space: str, index: int, trained: TrainedRun) -> Row:
        options = self.options
        hidden = self._hidden_layers.get(trained.id)
        row = make_row(space, index, trained, self._analysis(trained.id), hidden=hidden)
        if options.histories:
            row = {**row, **history_columns(trained.history, options.early_stop)}
        if options.timing:
            row = {**row, **timing_columns(trained.history, options.history_stride)}
        return row

    def _moments(self, space: str, index: int, trained: TrainedRun) -> list[Row]:
        moments = []
        for epoch, network in _networks_of(trained).items():
            analysis = self._analysis(network.id)
            details = self._details.get(network.id)
            moments.append(make_moment(space, index, trained, epoch, analysis, details))
        return moments


def _networks_of(trained: TrainedRun) -> dict[int, Network]:
    """By epoch: the snapshots before the end, and the network it ended with unless it diverged."""
    networks = _along(trained)
    last = _last_network(trained)
    if last is not None:
        networks[trained.epochs] = last
    return networks


def _along(trained: TrainedRun) -> dict[int, Network]:
    """The snapshots before the end; the last network is not one of them."""
    return {
        epoch: network for epoch, network in trained.snapshots.items() if epoch < trained.epochs
    }


def _last_network(trained: TrainedRun) -> Network | None:
    return trained.network if trained.diverged_at is None else None


def _has_room(group: PlannedEnsemble) -> bool:
    """Whether its networks may be analyzed while others train: on a GPU with enough memory."""
    if group.device.type != "cuda":
        return False
    largest = max(run.task.modulus for run in group.runs)
    logits = ARRAYS_OF_LOGITS * FLOAT64 * largest**3 * most_under_way(largest, group.device)
    at_once = FLOAT64 * chunk_elements(group.device)
    free = torch.cuda.mem_get_info(group.device)[0]
    return logits + at_once <= SHARE_OF_FREE_MEMORY * free


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
