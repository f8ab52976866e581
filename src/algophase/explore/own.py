"""A directory of networks without a sweep: each is analyzed, and the page shows them as it shows
the runs of a sweep.

The page is there at once. Networks come one after the other, analyzed in the background; what was
analyzed before comes from where analyses are kept.
"""

import hashlib
import threading
from pathlib import Path
from typing import Any, Protocol

from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError, one_line
from algophase.core.progress import Progress
from algophase.core.wording import counted
from algophase.explore.jobs import Job
from algophase.explore.networks import Arrivals, Look, Networks
from algophase.explore.visible_runs import PageData, with_outcomes
from algophase.record.columns import flat_columns
from algophase.runs.columns import frame_of_rows, single_columns
from algophase.runs.overview import describe_outcomes
from algophase.runs.read_runs import is_sweep
from algophase.runs.runs import Runs
from algophase.runs.standing import settings_of
from algophase.storage.analyses import Analyzed, Unusable, analyze_files, network_files
from algophase.storage.formats.contents import SUFFIXES, Reading
from algophase.storage.kept_analyses import KeptAnalyses

NAME = "network"  # the column with the names of the files


class Watcher(Protocol):
    """Who is told how the analyses go, such as a progress bar."""

    def starting(self, progress: Progress) -> None: ...

    def failed(self, problem: InputError) -> None: ...

    def finished(self, summary: str) -> None: ...


def are_networks(path: Path) -> bool:
    """Whether a path is a network's file or a directory of them, and no table of runs."""
    if is_sweep(path):
        return False
    files, problems = network_files([path])
    if problems or not files:
        return False
    return all(file.is_file() and file.suffix in SUFFIXES for file in files)


class OwnNetworks(Networks):
    """The networks of a directory, which come after `begin`. None is trained again.

    kept: where analyses are kept. watcher: is told what happens, from a thread of its own.
    reading: what is said about networks whose files do not say so.
    """

    def __init__(
        self,
        path: Path,
        kept: KeptAnalyses,
        watcher: Watcher | None = None,
        reading: Reading = Reading(),
    ) -> None:
        self.path, self.analyses, self.watcher, self.reading = path, kept, watcher, reading
        self.files, _ = network_files([path])
        self.specimens: dict[str, Specimen] = {}
        self._rows = list[dict[str, Any]]()  # only ever added to: a run's place stays what it is
        self._problems = list[str]()
        self._from_before = 0
        self._current = ""
        self._ended = threading.Event()
        self._stop = threading.Event()
        self._changing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._data_of = 0  # how many rows and problems `_data` has
        super().__init__(self._read_data(), path, path)

    def begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._analyze_all, daemon=True)
            self._thread.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Until all networks are there; whether they are."""
        return self._ended.wait(seconds)

    def close(self, seconds: float = 10.0) -> None:
        self._stop.set()
        super().close(seconds)
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def arrivals(self) -> Arrivals | None:
        if self._ended.is_set():
            return None
        done = len(self._rows) + len(self._problems)
        status = f"analyzing {self._current}" if self._current else "starting"
        return Arrivals(done, len(self.files), status)

    @property
    def data(self) -> PageData:
        """The networks that have come so far."""
        with self._changing:
            done = len(self._rows) + len(self._problems)
            if self._data_of != done:
                self._data = self._read_data()
                self._data_of = done
            return self._data

    def _read_data(self) -> PageData:
        frame = frame_of_rows(self._rows)
        about = [f"{counted(len(self._rows), 'network')} of {self.path}"]
        if self._rows:
            about += describe_outcomes(frame)
        problems = list(self._problems)
        if len(problems) == len(self.files):
            problems.append(f"{self.path} holds no network that can be read")
        name = self.path.resolve().name
        runs = Runs(name, single_columns(frame), len(frame), named_by=NAME)
        return PageData(with_outcomes(runs), about, problems, self._rows.__getitem__)

    def _analyze_all(self) -> None:
        try:
            outcomes = analyze_files(
                self.files, progress=self._starting, reading=self.reading, kept=self.analyses
            )
            for outcome in outcomes:
                if self._stop.is_set():
                    return
                if isinstance(outcome, Unusable):
                    self._add_problem(outcome.problem)
                    continue
                try:
                    self._add(outcome)
                except Exception as error:  # the others are still shown
                    problem = f"{outcome.source} cannot be shown: {one_line(error)}"
                    self._add_problem(InputError(problem))
        finally:
            self._ended.set()
        if self.watcher is not None:
            self.watcher.finished(self._closing_words())

    def _starting(self, progress: Progress) -> None:
        self._current = progress.doing
        if self.watcher is not None:
            self.watcher.starting(progress)

    def _add_problem(self, problem: InputError) -> None:
        with self._changing:
            self._problems.append(str(problem))
        if self.watcher is not None:
            self.watcher.failed(problem)

    def _add(self, outcome: Analyzed[Path]) -> None:
        file, network, analysis = outcome.source, outcome.network, outcome.analysis
        # An id as a run has: it stands in the page's address.
        key = hashlib.sha256(str(file).encode()).hexdigest()[:12]
        notes = [f"network {analysis.id}, from {file}"]
        specimen = Specimen(network, analysis, name=file.name, notes=notes)
        specimen.forget_logits()
        frequencies = [item.circle.frequency for item in analysis.circles]
        row = {"run_id": key, NAME: file.name, **settings_of(network), "frequencies": frequencies}
        row |= flat_columns(analysis.to_dict())
        self.specimens[key] = specimen
        with self._changing:
            self._from_before += outcome.was_kept
            self._rows.append(row)

    def _closing_words(self) -> str:
        words = f"{counted(len(self._rows), 'network')} analyzed"
        if self._from_before:
            words += f" ({self._from_before:,} of them before)"
        if self._problems:
            words += f"; {counted(len(self._problems), 'file')} could not be read"
        return words

    def look(self, run_id: str) -> Look:
        specimen = self.specimens.get(run_id)
        if specimen is None:
            problem = f"there is no network {run_id[:40]!r} in {self.path.resolve().name}"
            return Look(problems=(problem,))
        if not specimen.has_code:
            problem = (
                f"network {specimen.name} was saved without its code: its circles cannot "
                "be switched off here; a report shows it"
            )
            return Look(problems=(problem,))
        return Look(specimen)

    def train(self, run_id: str) -> Job:
        raise InputError(
            f"{self.path.resolve().name} is a directory of networks: they are not trained again "
            "here"
        )
