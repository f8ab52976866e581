"""How far a long call is, the bar that shows it, and the package's messages.

Training, sweeps and analyses make `Progress` values. A caller's own function gets them, or a `Bar`
shows them: only in a terminal or a notebook, after two seconds. A script's log, a test and a pipe
get no bar. `progress=False` or ALGOPHASE_QUIET=1 turns it off.

Messages go to the logger `algophase`: warnings, and at level INFO what is about to happen. A Python
program sees the warnings on standard error, as `logging` shows them by default, and changes that as
usual:

    logging.getLogger("algophase").setLevel(logging.ERROR)
"""

import html
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from algophase.core.wording import duration, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress

SILENCE = 2.0  # seconds
PACE = 0.2  # seconds between two changes of a notebook's bar


@dataclass(frozen=True)
class Progress:
    """How far a long call is, in words and in numbers.

    Attributes:
        title, state: the words before and after a bar.
        share: how much of the whole work is done, from 0 to 1.
        seconds_left: for all of it; NaN before the speed is known.
        done, total: counts: networks of an analysis, steps of chains, runs of a sweep.
        new, counts: of a sweep: runs finished by this call, and all finished runs by outcome.
        doing: what is worked on now.
        networks, epoch, epochs: of an ensemble in training. Small ensembles train side by side on a
            GPU, and each of them is reported.
        ensemble, ensembles: its number, and how many there are.
        rate: networks x epochs per second, of all ensembles in training.
        training_loss, validation_accuracy: medians over the ensemble at its last history point.

    Example:
        >>> from algophase import Progress, analyze_many, handmade_clock
        >>> def show(progress: Progress) -> None:
        ...     print(progress.title, progress.done, "of", progress.total)
        >>> _ = analyze_many([handmade_clock(7), handmade_clock(11)], progress=show)
        analyzing 1 of 2
        analyzing 2 of 2
    """

    title: str = ""
    state: str = ""
    share: float = 0.0
    seconds_left: float = math.nan
    done: int = 0
    total: int = 0
    new: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    doing: str = ""
    networks: int = 0
    epoch: int = 0
    epochs: int = 0
    ensemble: int = 1
    ensembles: int = 1
    rate: float = math.nan
    training_loss: float = math.nan
    validation_accuracy: float = math.nan

    @property
    def time_left(self) -> str:
        """The time left, such as "1:30 left"; empty before the speed is known."""
        return "" if math.isnan(self.seconds_left) else f"{duration(self.seconds_left)} left"


def counting(title: str, done: int, total: int, seconds: float = math.nan) -> Progress:
    """Where counted work stands. seconds: how long it took so far; with it, the time left."""
    seconds_left = seconds * (total / done - 1) if done else math.nan
    share = done / total if total else 0.0
    progress = Progress(title, share=share, seconds_left=seconds_left, done=done, total=total)
    state = f"{done:,} of {total:,}"
    if progress.time_left:
        state += f", {progress.time_left}"
    return replace(progress, state=state)


def ignore(_: object) -> None:
    """A callback that does nothing."""


class Bar:
    """Shows progress while it is open. visible: None for where someone looks, False for never."""

    def __init__(self, visible: bool | None = None) -> None:
        self.began = time.monotonic()
        is_quiet = visible is False or os.environ.get("ALGOPHASE_QUIET", "") not in ("", "0")
        self.audience = "" if is_quiet else _audience()
        self._changed = 0.0
        self._bar: RichProgress | None = None
        self._page: Any = None  # a notebook's handle of what it shows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self.began < SILENCE:
            return
        if self.audience == "terminal":
            self._move(progress)
        elif self.audience == "notebook":
            self._display(progress)

    def count(self, title: str, done: int, total: int) -> None:
        """Show counted work, with the time left at the speed since the bar was made."""
        self(counting(title, done, total, time.monotonic() - self.began))

    def _move(self, progress: Progress, console: "Console | None" = None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as RichProgress
            from rich.table import Column

            may_wrap = Column(no_wrap=False)  # in a narrow terminal
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[state]}", markup=False, table_column=may_wrap),
            )
            console = console or Console(stderr=True)
            self._bar = RichProgress(*columns, console=console, transient=True)
            self._bar.add_task("", total=1, state="")
            self._bar.start()
        title = printable(progress.title)
        state = printable(progress.state)
        (task,) = self._bar.task_ids
        self._bar.update(task, description=title, completed=progress.share, state=state)

    def _display(self, progress: Progress) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        now = time.monotonic()
        if now - self._changed < PACE and progress.share < 1:
            return
        self._changed = now
        bar = f'<progress value="{progress.share}" max="1"></progress>'
        page = {
            "text/plain": f"{progress.title}: {progress.state}",
            "text/html": f"{html.escape(progress.title)} {bar} {html.escape(progress.state)}",
        }
        if self._page is None:
            self._page = display(page, raw=True, display_id=True)
        else:
            self._page.update(page, raw=True)


def _audience() -> str:
    """Where someone looks: a notebook, a terminal, or nowhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        return "notebook"
    return "terminal" if sys.stderr is not None and sys.stderr.isatty() else ""


@contextmanager
def listening(tell: Callable[[int, str], None]) -> Iterator[None]:
    """Meanwhile `tell` gets the level and the text of every message from level INFO on."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.levelno, record.getMessage())

    logger = logging.getLogger("algophase")
    handler = Handler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
