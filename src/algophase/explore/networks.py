"""The networks behind a table's rows: kept weights, a cache of retrained ones, and work in the
background.

Weights count only if they fit the settings of their row. What a row says about its network is taken
from the table if a few numbers measured on the weights agree with it. Other weights (another
machine rounds differently) are analyzed again, which takes seconds and happens in the background,
as training does.
"""

import contextlib
import functools
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from algophase.analysis.catalogue import CIRCULARITY, IRRELEVANCE, quantity
from algophase.analysis.circles.find import Circle
from algophase.analysis.program.mean_logits import MeanLogits
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Answer, Specimen
from algophase.core.caches import cache_directory
from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress
from algophase.core.representations import representations
from algophase.core.settings import RunSettings
from algophase.core.wording import duration
from algophase.explore.jobs import Job, Jobs
from algophase.explore.view import REST, RUN_ID
from algophase.explore.visible_runs import PageData
from algophase.networks import Network
from algophase.runs.rows import analysis_of_row, run_from_row
from algophase.storage import load_file
from algophase.storage.formats.contents import NetworkFile, Reading
from algophase.storage.formats.ours import load_network
from algophase.storage.network_files import save
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.retrain import choose, train_again

MOST_IN_MEMORY = 8
MOST_LOGITS = 40_000_000  # of all pairs: a modulus of about 340
LARGEST_FILE = 1 << 30
SURVEYED = "survey_digest"  # a column of survey's tables: their rows name the networks' files
AGREE = 1e-6  # numbers of a table made on another device, in float64, differ by far less


def frequencies(specimen: Specimen) -> list[int]:
    """What can be switched off: the frequencies of a network's circles, the largest first, then
    those of its instances where they are no circles. On a group that is not cyclic, the numbers of
    the representations of its instances; the trivial one has number 0.
    """
    if specimen.analysis.on_group is not None:
        return [number for members in instance_members(specimen) for number in members]
    in_order = [item.circle.frequency for item in specimen.evidence]
    for instance in specimen.analysis.instances.instances:
        in_order += instance.frequencies
    return list(dict.fromkeys(in_order))


def instance_members(specimen: Specimen) -> list[list[int]]:
    """The frequencies of each instance, or the numbers of its representations."""
    on_group = specimen.analysis.on_group
    if on_group is None:
        return [list(instance.frequencies) for instance in specimen.analysis.instances.instances]
    names = [member.name for member in representations(specimen.group)]
    return [
        [names.index(name) for name in instance.representations] for instance in on_group.instances
    ]


def means_without(specimen: Specimen, off: Collection[int]) -> MeanLogits:
    """A network on a group without these representations; with REST among them, without everything
    that is in none of `frequencies`.
    """
    members = representations(specimen.group)
    kept = [k for k in frequencies(specimen) if k not in off]
    if REST not in off:
        kept = [number for number in range(1, len(members)) if number not in off]
    if len(kept) == len(members) - 1:
        return specimen.mean_logits()
    return specimen.mean_logits([members[number].name for number in kept])


def switched_off(specimen: Specimen, off: Collection[int]) -> Answer:
    """A network without these frequencies; with REST among them, without everything that is none
    of `frequencies`.
    """
    circles = frequencies(specimen)
    if REST in off:
        return specimen.answer(k for k in circles if k not in off)
    return specimen.answer((k for k in circles if k in off), drop=True)


@dataclass(frozen=True)
class Look:
    """What there is of a run's network: the network, or the work that brings it, or why there is
    neither.
    """

    specimen: Specimen | None = None
    job: Job | None = None
    problems: tuple[str, ...] = ()
    can_train: bool = False


class Arrivals(NamedTuple):
    """Networks that are being analyzed one after the other. status: what is under way, in words."""

    done: int
    total: int
    status: str


class Networks:
    """Networks of a sweep by run id. Safe to use from several threads; `close` before the
    program ends.
    """

    def __init__(self, data: PageData, sweep: Path, cache: Path | None = None) -> None:
        self._data = data
        self.sweep = sweep
        self.kept = sweep / "networks" if sweep.is_dir() else None
        self.cache = cache_directory("networks") if cache is None else cache
        self.jobs = Jobs()
        self._ready: OrderedDict[str, Specimen] = OrderedDict()
        self._lock = threading.Lock()
        self._loading = threading.Lock()

    @property
    def data(self) -> PageData:
        """The table of their runs."""
        return self._data

    @property
    def arrivals(self) -> Arrivals | None:
        """How far the table itself is in being made; None where it is complete."""
        return None

    def begin(self) -> None:
        """Start what is to be done in the background from the beginning."""

    def look(self, run_id: str) -> Look:
        """What there is of a run's network now. Weights that need a new analysis start one."""
        # Callbacks ask for the same network at once: one reads it, the others wait.
        with self._loading:
            return self._look(run_id)

    def _look(self, run_id: str) -> Look:
        with self._lock:
            if run_id in self._ready:
                self._ready.move_to_end(run_id)
                return Look(self._ready[run_id])
            job = self.jobs.get(run_id)
        if job is not None and job.active:
            return Look(job=job)
        problems = [] if job is None else [job.status]
        try:
            row = self._row(run_id)
            if row.get(SURVEYED):
                return self._look_at_file(run_id, row, problems)
            row, run = self._run(run_id)
        except InputError as error:
            return Look(problems=(*problems, str(error)))
        directories = [self.cache]
        if self.kept is not None:
            file = SweepDirectory(self.sweep).kept_files().get(run_id)
            kept = self.kept if file is None else file.parent
            if kept != self.cache:
                directories.insert(0, kept)
        for directory in directories:
            try:
                network = _load(directory, run_id, run)
                specimen = None if network is None else _as_in_the_table(network, row)
            except InputError as error:
                problems.append(str(error))
                continue
            if network is None:
                continue
            if specimen is not None:
                self._keep(run_id, specimen)
                return Look(specimen)
            if job is not None and job.kind == "analyzing" and job.state == "failed":
                break  # not again
            return self._start_analyzing(run_id, network, problems)
        return Look(problems=tuple(problems), can_train=True)

    def _look_at_file(self, run_id: str, row: Mapping[str, Any], problems: list[str]) -> Look:
        """A network of a survey, from the file that its row names. It cannot be trained again."""
        if problems:  # its analysis failed: not again
            return Look(problems=tuple(problems))
        network = _load_surveyed(row, self.sweep.parent)
        specimen = _as_in_the_table(network, row)
        if specimen is None:
            return self._start_analyzing(run_id, network, problems)
        self._keep(run_id, specimen)
        return Look(specimen)

    def _start_analyzing(self, run_id: str, network: Network, problems: list[str]) -> Look:
        analyzing = Job(run_id, "analyzing", "analyzing its weights")
        try:
            job = self.jobs.start(analyzing, functools.partial(self._analyze, network))
        except InputError as error:  # too many wait
            return Look(problems=(*problems, str(error)))
        return Look(job=job)

    def train(self, run_id: str) -> Job:
        """Train a run's network again in the background, unless that is under way. An InputError
        where too many wait.
        """
        self._run(run_id)
        return self.jobs.start(Job(run_id, "training"), self._train)

    def stop(self, run_id: str) -> None:
        self.jobs.stop(run_id)

    def job(self, run_id: str) -> Job | None:
        return self.jobs.get(run_id)

    @property
    def busy(self) -> bool:
        return self.jobs.busy

    @property
    def version(self) -> int:
        """Grows with every job that ends."""
        return self.jobs.version

    def close(self, seconds: float = 10.0) -> None:
        """Stop everything in the background."""
        self.jobs.close(seconds)

    def _row(self, run_id: str) -> dict[str, Any]:
        """A run's row. An id that the table does not have, or that is no id, is refused here."""
        data = self.data
        row_index = data.runs.columns.rows_by_id.get(run_id)
        if row_index is None:
            raise InputError(f"there is no run {run_id[:40]!r} in {data.runs.name}")
        if not RUN_ID.fullmatch(run_id):
            raise InputError(
                f"run id is {run_id[:40]!r}; an id has letters, digits, dots, dashes and "
                "underscores: its network cannot be looked for"
            )
        row = data.row(row_index)
        modulus = row.get("modulus")
        if isinstance(modulus, int | float) and modulus > MOST_LOGITS ** (1 / 3):
            raise InputError(
                f"modulus is {modulus}: its {modulus}^3 logits are too many to show here"
            )
        return row

    def _run(self, run_id: str) -> tuple[dict[str, Any], RunSettings]:
        """A run's row and settings."""
        row = self._row(run_id)
        return row, run_from_row(row)

    def _keep(self, run_id: str, specimen: Specimen) -> None:
        specimen.forget_logits()
        with self._lock:
            self._ready[run_id] = specimen
            while len(self._ready) > MOST_IN_MEMORY:
                self._ready.popitem(last=False)

    def _analyze(self, network: Network, job: Job) -> None:
        row = self._row(job.run_id)
        specimen = Specimen(network)
        specimen.notes = (_unlike(specimen, row),)
        self._keep(job.run_id, specimen)

    def _train(self, job: Job) -> None:
        row, run = self._run(job.run_id)
        job.epochs, job.status = run.training.epochs, "starting"
        group, note = choose(run, row, None, None, None)
        notes: list[str] = [] if note is None else [note]

        def follow(progress: Progress) -> None:
            if job.stop.is_set():
                raise Stopped("on request")
            job.epoch = progress.epoch
            status = f"training: epoch {progress.epoch:,} of {progress.epochs:,}"
            if not math.isnan(progress.seconds_left):
                status += f", {duration(progress.seconds_left)} left"
            ended = progress.epoch >= progress.epochs
            job.status = "analyzing" if ended else status

        (retrained,) = train_again([row], [group], follow)
        network, diverged_at = retrained.trained.network, retrained.trained.diverged_at
        if network is None or retrained.analysis is None:
            if retrained.problem is not None and diverged_at is None:
                raise InputError(retrained.problem)
            raise InputError(
                f"training diverged at epoch {diverged_at}: there is no network to show"
            )
        notes.append(str(retrained.difference))
        try:
            self._save(network, run.run_id)
        except InputError as error:
            notes.append(f"it could not be saved: {error}")
        self._keep(job.run_id, Specimen(network, retrained.analysis, notes=notes))

    def _save(self, network: Network, run_id: str) -> None:
        """Into the cache; where that is the sweep's own directory, as its only writer."""
        in_the_sweep = self.kept is not None and self.cache.resolve() == self.kept.resolve()
        lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        if in_the_sweep:
            lock = SweepDirectory(self.sweep).hold(f"retraining run {run_id}")
        with lock:
            save(network, self.cache / run_id, overwrite=True)


def _load(directory: Path, run_id: str, run: RunSettings) -> Network | None:
    """A run's weights from a directory, checked to be a regular file in it and a network of the
    row's settings.
    """
    path = directory / f"{run_id}.safetensors"
    if not os.path.lexists(path):
        return None
    for file in (path, path.with_suffix(".json")):
        if file.is_symlink() or not file.is_file():
            raise InputError(f"{file} is not a regular file: it is not read")
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(f"{file} is larger than {LARGEST_FILE >> 20} MB: it is not read")
    network = load_network(path)
    if (network.task, network.settings) != (run.task, run.network):
        raise InputError(f"{path} holds a network of other settings than run {run_id}'s")
    return network


def _load_surveyed(row: Mapping[str, Any], folder: Path) -> Network:
    """The network of a survey's row. folder: that of the table, where paths may begin."""
    path = Path(str(row.get("path")))
    if not path.exists():
        path = folder / path
    if row.get("rate_from") == "unknown":
        raise InputError(f"the attention rate of {path} is not known: give it to survey")
    by_survey = row.get("rate_from") in ("path", "option")
    rate = row.get("attention_rate") if by_survey else None
    return load_file(NetworkFile(path), Reading(attention_rate=rate))


def _as_in_the_table(network: Network, row: Mapping[str, Any]) -> Specimen | None:
    """A network with what its row says about it, or None if a few quick numbers say that the row
    is about another network.
    """
    specimen = Specimen(network)
    analysis = analysis_of_row(row, _circles_in(specimen))
    if analysis is None or not analysis.verdict.known or not _agrees(specimen, analysis):
        return None
    specimen.analysis = analysis
    return specimen


def _circles_in(specimen: Specimen) -> Sequence[Circle]:
    return specimen.circles if specimen.group.is_cyclic else ()


def _agrees(specimen: Specimen, analysis: Analysis) -> bool:
    """Whether a few quick numbers of a network are those of an analysis."""
    if analysis.on_group is not None:
        means = specimen.mean_logits()
        stated_shares = analysis.on_group.shares
        differences = means.accuracy - analysis.accuracy, means.shares.left - stated_shares.left
        return all(abs(difference) <= AGREE for difference in differences)
    for name in (IRRELEVANCE, CIRCULARITY):
        measure = quantity(name).measure
        assert measure is not None
        measured = float(measure(specimen))
        stated = analysis.metrics[name]
        both_undefined = math.isnan(measured) and math.isnan(stated)
        if not both_undefined and not abs(measured - stated) <= AGREE:
            return False
    return True


def _unlike(specimen: Specimen, row: Mapping[str, Any]) -> str:
    """What to say of an analysis that was made now."""
    in_table = analysis_of_row(row, _circles_in(specimen))
    label: str = specimen.analysis.label
    label_in_table = row.get("verdict")
    if label_in_table is None:
        label = specimen.analysis.paper_label
        label_in_table = row.get("paper_label")
    if row.get("diverged_at") is not None:
        return (
            f"training diverged at epoch {row['diverged_at']}: these are the weights it was "
            "stopped with"
        )
    if label_in_table is None:
        return "the table has no analysis of this run: this one was made now, from its weights"
    if in_table is not None and not in_table.verdict.known and _agrees(specimen, in_table):
        return (
            "the table has the paper's label alone: the verdict was made now, from the same weights"
        )
    if label == label_in_table:
        return (
            f"not the network of the table, but the same verdict ({label}): training "
            "amplifies rounding"
        )
    return f"not the network of the table: it is {label} here, {str(label_in_table)[:40]} there"
