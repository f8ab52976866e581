"""`survey`: every network in a tree of folders, whatever its format, as one table of runs.

    find files -> digests -> rows of earlier calls -> analyze the others -> table, list

The table itself says what is done: each row has the digest of all that it depends on. It is written
again and again while a survey goes on, so that a killed one loses a few seconds of work.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.devices import choose_device
from algophase.core.errors import InputError
from algophase.core.progress import Bar, Progress, counting
from algophase.core.threads import side_by_side
from algophase.core.wording import counted
from algophase.runs.runs import Runs
from algophase.storage import id_of
from algophase.storage.files import check_directory, given_path
from algophase.storage.formats.contents import NetworkFile, Reading
from algophase.surveys.network_row import Problem
from algophase.surveys.table import (
    DIGEST,
    OTHER,
    list_path,
    problem_row,
    read_list,
    read_rows,
    text_of_path,
    write_list,
    write_table,
)
from algophase.surveys.tree import (
    PathRule,
    Question,
    Tree,
    check_fits,
    find_files,
    settings_in_path,
)
from algophase.surveys.workers import answers, answers_on_gpu

SUFFIX = ".parquet"
MOST_WORKERS = 8  # processes: each takes about 0.5 GB
BETWEEN_WRITES = 10.0  # seconds; and a table takes at most a twentieth of the time to write
WRITING_SHARE = 0.05


@dataclass(frozen=True)
class Surveyed:
    """What a survey did.

    Attributes:
        table: the file with a row per network.
        rows: networks in it; new: of these, analyzed by this call.
        problems: files without a row, each with `path`, `what` and `reason`.
        others: files that are of no network's format, by suffix.
        gone: rows of an earlier call whose files are no longer there.
    """

    table: Path
    rows: int
    new: int
    problems: Sequence[dict[str, Any]]
    others: Counter[str]
    gone: int

    @property
    def unreadable(self) -> list[dict[str, Any]]:
        return [problem for problem in self.problems if problem["what"] != OTHER]

    @property
    def list(self) -> Path:
        """The file with the problems; there is none where there are none."""
        return list_path(self.table)


def survey(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    table: str | os.PathLike[str] = "networks.parquet",
    *,
    settings: Iterable[str] = (),
    min_accuracy: float = 1.0,
    workers: int | None = None,
    device: str = "auto",
    progress: Callable[[Progress], None] | bool | None = None,
    format: str | None = None,
    activation: str | None = None,
    attention_rate: float | None = None,
    modulus: int | None = None,
    state: str | None = None,
    group: object = None,
    operation: str | None = None,
) -> Runs:
    """Analyze every network in folders and their folders, and return one table of them.

    A second call analyzes what is new or changed, by the digests of the files and their configs.
    Files that cannot be read are listed beside the table, in NAME.unread.csv, with the reason.

    Arguments:
        paths: folders, or files.
        table: the Parquet file to write, one row per network. `runs`, `explore`, `report`,
            `compare` and `laws` take it.
        settings: rules for settings that stand in paths, such as "attention_rate=model_B_{}".
            What a file or its config says comes first.
        min_accuracy: a network with a lower accuracy counts as not learned.
        workers: processes; by default one per core, at most 8. 1 analyzes in this process.
        device: where to compute: "auto", "cpu" or "cuda". On a GPU one process analyzes several
            networks at a time, and `workers` threads read files.
        progress: called with a `Progress`. By default a terminal or a notebook shows a bar after
            two seconds; False shows none.
        format, activation, attention_rate, modulus, state, group: what files do not say; see
            `load`.
        operation: what the networks compute; see `analyze`.

    Returns:
        The table as `Runs`.

    Raises:
        InputError: there is no such folder or no network in it, a rule fits no path, or the table
            is another one's.

    Example:
        >>> from algophase import handmade_clock, handmade_pizza, save, survey
        >>> for network in (handmade_clock(11), handmade_pizza(11)):
        ...     _ = save(network, directory / "all" / network.id)
        >>> runs = survey(directory / "all", directory / "all.parquet", workers=1)
        >>> sorted(runs.frame.verdict)
        ['Clock', 'Pizza']
    """
    reading = Reading(format, activation, attention_rate, modulus, state, group)
    surveyed = make_survey(
        [paths] if isinstance(paths, str | os.PathLike) else list(paths),
        given_path(table),
        rules=[PathRule.parse(text) for text in settings],
        reading=reading,
        operation=operation,
        thresholds=Thresholds(accuracy=min_accuracy),
        workers=workers,
        device=device,
        progress=progress,
    )
    return Runs.read(surveyed.table)


def make_survey(
    paths: Sequence[str | os.PathLike[str]],
    table: Path,
    *,
    rules: Sequence[PathRule] = (),
    reading: Reading = Reading(),
    operation: str | None = None,
    thresholds: Thresholds = Thresholds(),
    workers: int | None = None,
    device: str = "auto",
    progress: Callable[[Progress], None] | bool | None = None,
    command: str = "",
) -> Surveyed:
    """`survey`, with what it did. command: what the user typed; kept with the results."""
    if table.suffix != SUFFIX:
        raise InputError(f"the table is {table}; give a name that ends in {SUFFIX}")
    check_directory(table.absolute().parent)
    if workers is not None and workers < 1:
        raise InputError(f"workers is {workers}; it must be at least 1")
    chosen_device = str(choose_device(device))
    tree = find_files(paths)
    if not tree.files:
        folders = ", ".join(map(str, paths))
        raise InputError(f"{folders} holds no file that can be a network")
    check_fits(rules, tree.files)
    questions = []
    for path in tree.files:
        in_path = settings_in_path(path, rules)
        questions.append(Question(path, reading, operation, thresholds, in_path, chosen_device))
    with Bar(None if progress is not False else False) as bar:
        report = progress if callable(progress) else bar
        survey = _Survey(table, questions, command)
        survey.check_covers(paths)
        survey.go_on(_processes(workers), report, bar.began)
    return survey.result(tree)


def _processes(workers: int | None) -> int:
    if workers is not None:
        return workers
    if hasattr(os, "sched_getaffinity"):  # Linux: a container may have fewer cores than its machine
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


class _Survey:
    """The rows and problems so far, by digest, and the questions that are open."""

    def __init__(self, table: Path, questions: Sequence[Question], command: str) -> None:
        self.table = table
        self.command = command
        digests = side_by_side(Question.digest, questions, 2)
        self.files = list(zip(digests, questions, strict=True))
        self.earlier = read_rows(table)
        self.rows = {row[DIGEST]: row for row in self.earlier}
        self.problems = {problem[DIGEST]: problem for problem in read_list(table)}
        self.new = 0
        self.wrote = time.monotonic()
        self.writing = 0.0  # seconds that the last write took

    @property
    def open_questions(self) -> dict[str, Question]:
        """Those without a row, by digest; of several with the same content, the first."""
        by_digest = dict[str, Question]()
        for digest, question in self.files:
            if digest not in self.rows and digest not in self.problems:
                by_digest.setdefault(digest, question)
        return by_digest

    def check_covers(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        """That no row of an earlier call would be lost because this one is of other folders."""
        digests = {digest for digest, _ in self.files}
        roots = [os.path.realpath(path) for path in paths]
        for row in self.earlier:
            real_path = os.path.realpath(row["path"])
            inside = any(real_path == root or real_path.startswith(root + os.sep) for root in roots)
            if not inside and row[DIGEST] not in digests and os.path.exists(real_path):
                raise InputError(
                    f"{self.table} has a row of {row['path']}, which is in none of the folders "
                    "given: give its folder as well, or another table"
                )

    def go_on(self, workers: int, report: Callable[[Progress], None], began: float) -> None:
        """Answer all open questions. After Ctrl-C, too, what is finished is written."""
        open_questions = self.open_questions
        digests = {question.path: digest for digest, question in open_questions.items()}
        questions = list(open_questions.values())
        total = len(self.files)
        before = total - len(questions)
        on_gpu = bool(questions) and torch.device(questions[0].device).type != "cpu"
        results = (answers_on_gpu if on_gpu else answers)(questions, workers)
        try:
            for done, (question, result) in enumerate(results, 1):
                self._take(digests[question.path], question.path, result)
                seconds = time.monotonic() - began
                counted_work = counting("analyzing", done, len(questions), seconds)
                state = f"{before + done:,} of {total:,}, {counted_work.time_left}"
                report(Progress("surveying", state, (before + done) / total, done=done))
                self._write_now_and_then()
        finally:
            self.write()

    def _take(self, digest: str, path: Path, result: dict[str, Any] | Problem) -> None:
        if isinstance(result, Problem):
            self.problems[digest] = problem_row(path, digest, result)
        else:
            self.rows[digest] = {**result, DIGEST: digest}
            self.new += 1

    def _write_now_and_then(self) -> None:
        pause = max(BETWEEN_WRITES, self.writing / WRITING_SHARE)
        if time.monotonic() - self.wrote > pause:
            self.write()

    def write(self) -> None:
        """The table and the list, unless they are there as they are."""
        began = time.monotonic()
        rows = self.table_rows()
        problems = self.listed_problems()
        if rows and (self.new or _paths(rows) != _paths(self.earlier)):
            write_table(self.table, rows, self.command)
        write_list(self.table, problems)
        self.wrote = time.monotonic()
        self.writing = self.wrote - began

    def table_rows(self) -> list[dict[str, Any]]:
        """One row per file that has one. Its path and its name are today's."""
        rows = []
        for digest, question in self.files:
            if digest in self.rows:
                row = self.rows[digest]
                path = text_of_path(question.path)
                if row["path"] != path:
                    row = {**row, "path": path, "id": id_of(NetworkFile(question.path))}
                rows.append(row)
        return rows

    def listed_problems(self) -> list[dict[str, Any]]:
        problems = []
        for digest, question in self.files:
            if digest in self.problems:
                problem = self.problems[digest]
                problems.append({**problem, "path": text_of_path(question.path)})
        return problems

    def result(self, tree: Tree) -> Surveyed:
        rows = self.table_rows()
        if not rows:
            raise InputError(_why_no_row(self.listed_problems()))
        gone = {row["path"] for row in self.earlier} - {row["path"] for row in rows}
        return Surveyed(
            self.table, len(rows), self.new, self.listed_problems(), tree.others, len(gone)
        )


def _why_no_row(problems: Sequence[dict[str, Any]]) -> str:
    """The reason that most files have: a wrong option is the same for all, a broken file is not."""
    counts = Counter(problem["reason"] for problem in problems)
    reason, count = counts.most_common(1)[0]
    first = next(problem for problem in problems if problem["reason"] == reason)
    if len(problems) == 1:
        return f"{first['path']}: {reason}"
    where = first["path"] if count == 1 else counted(count, "file")
    return f"none of {len(problems):,} files could be read; {where}: {reason}"


def _paths(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((str(row["path"]), str(row[DIGEST])) for row in rows)
