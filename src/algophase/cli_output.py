"""What the commands share: one-line complaints, pictures, and progress on standard error."""

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from algophase.wording import floored, plural

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis
    from algophase.networks import Network
    from algophase.training.trained import Progress

QUIET_SECONDS = 30.0  # how often a log, which has no moving bar, gets a line


class ImageFormat(StrEnum):
    png = "png"
    svg = "svg"
    pdf = "pdf"


def complain(message: object) -> None:
    line = " ".join(str(message).split())
    typer.echo(f"algophase: error: {line}", err=True)


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Each file or directory once, however often and by whatever path it was given."""
    found: dict[str, Path] = {}
    for path in paths:
        found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def names(ids: Sequence[str], files: Sequence[Path]) -> list[str]:
    """What to call networks: by their ids, and by id and file where several have the same."""
    count = Counter(ids)
    return [f"{id} ({file})" if count[id] > 1 else id for id, file in zip(ids, files, strict=True)]


def draw(network: "Network", analysis: "Analysis", directory: Path, image_format: str, drawn: dict[str, int]) -> None:
    """Pictures go to DIR/<id>; a second network of the same id gets DIR/<id>-2."""
    from algophase.report.figures import draw_all

    drawn[analysis.id] = drawn.get(analysis.id, 0) + 1
    name = analysis.id if drawn[analysis.id] == 1 else f"{analysis.id}-{drawn[analysis.id]}"
    paths = draw_all(network, analysis, directory / name, image_format)
    typer.echo(f"figures of {analysis.id}: {len(paths)} in {directory / name}", err=True)


class LiveBar:
    """Progress on standard error: a bar in a terminal, a line now and then in a log.

    title: what stands before the bar, in rich's format of a task; description and total: the task's, until `show` knows more.
    """

    def __init__(self, title: str, description: str = "", total: int | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn(title),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}", markup=False, table_column=Column(no_wrap=False)),  # a narrow terminal wraps it
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task(description, total=total, state="")
        self.spoke = time.monotonic()

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, line: str, **task: Any) -> None:
        """line: what a log gets; task: what the bar shows."""
        self.bar.update(self.task, **task)
        if not self.console.is_terminal and time.monotonic() - self.spoke >= QUIET_SECONDS:
            self.spoke = time.monotonic()
            self.say(line)


class TrainingBar(LiveBar):
    def __init__(self) -> None:
        super().__init__("{task.description}", "training")

    def __call__(self, progress: "Progress") -> None:
        networks = f"{progress.networks} {plural(progress.networks, 'network')}"
        ensemble = f", ensemble {progress.ensemble} of {progress.ensembles}" if progress.ensembles > 1 else ""
        title, state = f"{networks}{ensemble}", describe(progress)
        self.show(f"{title}: {state}", description=title, completed=progress.epoch, total=progress.epochs, state=state)


def describe(progress: "Progress") -> str:
    left = "" if progress.seconds_left != progress.seconds_left else f", {duration(progress.seconds_left)} left"
    return (
        f"epoch {progress.epoch:,} of {progress.epochs:,}, {progress.rate:,.0f} networks x epochs/s{left}, "
        f"loss {progress.training_loss:.1e}, validation accuracy {floored(progress.validation_accuracy, 1)}"
    )


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
