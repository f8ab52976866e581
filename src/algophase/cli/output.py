"""How commands print: one-line complaints, pictures, and progress with the package's messages on
standard error.
"""

import logging
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from algophase.core.messages import listening
from algophase.core.wording import counted, duration, floored, printable

if TYPE_CHECKING:
    from algophase.analysis.result import Analysis
    from algophase.networks import Network
    from algophase.training.run.trained import Progress

QUIET_SECONDS = 30.0  # how often a log, which has no moving bar, gets a line


LONGEST = 1000  # characters of a complaint: it may quote a file


def echo(text: object, *, err: bool = False) -> None:
    """Print lines that may hold text from files: no control character of theirs reaches the
    terminal.
    """
    typer.echo(printable(str(text)), err=err)


def complain(message: object) -> None:
    echo(_complaint(message), err=True)


def _complaint(message: object) -> str:
    text = " ".join(str(message).split())
    return f"algophase: error: {text if len(text) <= LONGEST else text[: LONGEST - 3] + '...'}"


def typed() -> str:
    """The command as the user typed it, to keep with what it makes."""
    return shlex.join(["algophase", *sys.argv[1:]])


class Drawer:
    """Draws networks into DIR/<id>; a second network of the same id gets DIR/<id>-2."""

    def __init__(self, directory: Path | None, image_format: str) -> None:
        self.directory, self.format, self.drawn = directory, image_format, dict[str, int]()

    def __call__(self, network: "Network", analysis: "Analysis") -> None:
        if self.directory is None:
            return
        from algophase.reports.figures import draw_all

        count = self.drawn[analysis.id] = self.drawn.get(analysis.id, 0) + 1
        directory = self.directory / (analysis.id if count == 1 else f"{analysis.id}-{count}")
        paths = draw_all(network, analysis, directory, self.format)
        echo(f"figures of {analysis.id}: {len(paths)} in {directory}", err=True)


class LiveBar:
    """Progress on standard error: a bar in a terminal, a line now and then in a log. It also prints
    the package's messages.

    title: what stands before the bar, in rich's format of a task; description and total: the
        task's, until `show` knows more.
    """

    def __init__(
        self, title: str = "{task.description}", description: str = "", total: int | None = None
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn(title),
            BarColumn(bar_width=24),
            TextColumn(
                "{task.fields[state]}", markup=False, table_column=Column(no_wrap=False)
            ),  # a narrow terminal wraps it
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task(description, total=total, state="")
        self.spoke = time.monotonic()
        self.open = ExitStack()

    def __enter__(self) -> Self:
        self.open.enter_context(self.bar)
        self.open.enter_context(listening(self._tell))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.open.close()

    def _tell(self, level: int, message: str) -> None:
        (self.complain if level >= logging.ERROR else self.say)(message)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.console.print(
            printable(line), markup=False, emoji=False, highlight=False, soft_wrap=True
        )

    def complain(self, message: object) -> None:
        self.say(_complaint(message))

    def show(self, line: str, **task: Any) -> None:
        """line: what a log gets; task: what the bar shows."""
        fields: dict[str, Any] = {
            name: printable(value) if isinstance(value, str) else value
            for name, value in task.items()
        }
        self.bar.update(self.task, **fields)
        if not self.console.is_terminal and time.monotonic() - self.spoke >= QUIET_SECONDS:
            self.spoke = time.monotonic()
            self.say(line)


class AnalysisBar(LiveBar):
    def __init__(self) -> None:
        super().__init__(description="analyzing")

    def __call__(self, source: object, number: int, count: int) -> None:
        """number: of the source that is about to be analyzed, counted from 1."""
        what = f"analyzing {source.name}" if isinstance(source, Path) else "analyzing"
        state = f"{number:,} of {count:,}"
        self.show(
            f"{what}: {state}",
            description=what.replace("[", r"\["),
            completed=number - 1,
            total=count,
            state=state,
        )


class TrainingBar(LiveBar):
    def __init__(self) -> None:
        super().__init__(description="training")

    def __call__(self, progress: "Progress") -> None:
        ensemble = (
            f", ensemble {progress.ensemble} of {progress.ensembles}"
            if progress.ensembles > 1
            else ""
        )
        title = f"{counted(progress.networks, 'network')}{ensemble}"
        state = describe(progress)
        self.show(
            f"{title}: {state}", description=title, completed=progress.share, total=1, state=state
        )


def describe(progress: "Progress") -> str:
    left = (
        ""
        if progress.seconds_left != progress.seconds_left
        else f", {duration(progress.seconds_left)} left"
    )
    return (
        f"epoch {progress.epoch:,} of {progress.epochs:,}, {progress.rate:,.0f} networks x "
        f"epochs/s{left}, "
        f"loss {progress.training_loss:.1e}, validation accuracy "
        f"{floored(progress.validation_accuracy, 1)}"
    )
