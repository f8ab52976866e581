"""How commands print: one-line complaints, pictures, and progress with the package's messages on
standard error.
"""

import logging
import shlex
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import typer

from algophase.core.progress import Bar, Progress, listening
from algophase.core.wording import printable

if TYPE_CHECKING:
    from algophase.analysis.result import Analysis
    from algophase.networks import Network

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


def check_writable(directory: Path | None = None, *files: Path | None) -> None:
    """That results can be written into a directory and as files: said before any work."""
    from algophase.storage.files import check_directory

    if directory is not None:
        check_directory(directory)
    for file in files:
        if file is not None:
            check_directory(file.parent)


class Drawer:
    """Draws networks into DIR/<id>; a second network of the same id gets DIR/<id>-2."""

    def __init__(self, directory: Path | None, image_format: str) -> None:
        self.directory = directory
        self.format = image_format
        self.drawn = dict[str, int]()

    def __call__(self, network: "Network", analysis: "Analysis") -> None:
        if self.directory is None:
            return
        from algophase.reports.figures import draw_all

        count = self.drawn[analysis.id] = self.drawn.get(analysis.id, 0) + 1
        directory = self.directory / (analysis.id if count == 1 else f"{analysis.id}-{count}")
        paths = draw_all(network, analysis, directory, self.format)
        echo(f"figures of {analysis.id}: {len(paths)} in {directory}", err=True)


class CommandBar(Bar):
    """A command's progress on standard error: a bar in a terminal, at once; a line now and then in
    a log. It also prints the package's messages.
    """

    def __init__(self) -> None:
        from rich.console import Console

        super().__init__()
        self.console = Console(stderr=True)
        self.spoke = time.monotonic()
        self.messages = listening(self._tell)

    def __enter__(self) -> Self:
        self.messages.__enter__()
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.messages.__exit__(None, None, None)
        super().__exit__(kind, error, trace)

    def __call__(self, progress: Progress) -> None:
        if self.console.is_terminal:
            self._move(progress, self.console)
        elif time.monotonic() - self.spoke >= QUIET_SECONDS:
            self.spoke = time.monotonic()
            self.say(f"{progress.title}: {progress.state}")

    def _tell(self, level: int, message: str) -> None:
        if level >= logging.ERROR:
            self.complain(message)
        else:
            self.say(message)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.console.print(
            printable(line), markup=False, emoji=False, highlight=False, soft_wrap=True
        )

    def complain(self, message: object) -> None:
        self.say(_complaint(message))
