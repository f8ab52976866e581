"""A bar for long calls in a terminal or a notebook: it appears after two seconds, and nowhere else.

A script's log, a test and a pipe see nothing of it. `progress=False` or ALGOPHASE_QUIET=1 keeps it
away.
"""

import html
import os
import sys
import time
from types import TracebackType
from typing import Any, Self

from algophase.core.wording import duration

SILENCE = 2.0  # seconds
PACE = 0.2  # seconds between two changes of a notebook's bar


class Bar:
    """what: the work, in a word. visible: None for where someone looks, False for never."""

    def __init__(self, what: str, total: int, visible: bool | None = None) -> None:
        self.what, self.total, self.began = what, total, time.monotonic()
        quiet = visible is False or os.environ.get("ALGOPHASE_QUIET", "") not in ("", "0")
        self.place = "" if quiet else _place()
        self.shown: Any = None
        self.changed = 0.0

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: float, state: str = "") -> None:
        """done: of the total; state: what else there is to say."""
        now = time.monotonic()
        if not self.place or now - self.began < SILENCE:
            return
        left = (now - self.began) * (self.total / done - 1) if done else 0.0
        if not state:
            state = f"{done:,.0f} of {self.total:,}"
            state += f", {duration(left)} left" if done else ""
        if self.place == "notebook":
            if now - self.changed >= PACE or done >= self.total:
                self.changed = now
                self._display(done, state)
        else:
            self._move(done, state)

    def _move(self, done: float, state: str) -> None:
        if self.shown is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[state]}", markup=False),
            )
            self.shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self.shown.add_task(self.what, total=self.total, state=state)
            self.shown.start()
        self.shown.update(0, completed=done, state=state)

    def _display(self, done: float, state: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        bar = f'<progress value="{done}" max="{self.total}"></progress>'
        page = {
            "text/plain": f"{self.what}: {state}",
            "text/html": f"{html.escape(self.what)} {bar} {html.escape(state)}",
        }
        if self.shown is None:
            self.shown = display(page, raw=True, display_id=True)
        else:
            self.shown.update(page, raw=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.shown is not None and self.place == "terminal":
            self.shown.stop()


def _place() -> str:
    """Where someone looks: a notebook, a terminal, or nowhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        return "notebook"
    return "terminal" if sys.stderr is not None and sys.stderr.isatty() else ""
