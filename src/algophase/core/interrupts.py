"""Work that ends early: what it raises, and how Ctrl-C is kept until an update is whole.

Ctrl-C comes between two updates instead of in the middle of one, so that what is saved is a whole
epoch, and none is lost.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

Reason = Literal["interrupted", "out of time", "on request", "too slow"]


class Stopped(Exception):
    """Work ended early: by Ctrl-C, at a deadline, or on request.

    A `progress` function raises it to stop training. `train` then saves what it can, and raises it
    with what there is.

    Arguments:
        reason: "interrupted", "out of time", "on request" or "too slow".
        message: the error's text; by default the reason.
        finished: runs that were done before (`TrainedRun`).
        partial: the interrupted runs as they are.
        saved: whether checkpoints let them continue.

    Example:
        >>> from algophase import Stopped
        >>> Stopped("out of time").out_of_time
        True
    """

    def __init__(
        self,
        reason: Reason = "interrupted",
        message: str = "",
        *,
        finished: Sequence[Any] = (),
        partial: Sequence[Any] = (),
        saved: bool = False,
    ) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.finished = list(finished)
        self.partial = list(partial)
        self.saved = saved

    @property
    def out_of_time(self) -> bool:
        """Whether a deadline stopped it."""
        return self.reason == "out of time"

    @property
    def epochs(self) -> int:
        """How many epochs the interrupted runs have."""
        return max((run.epochs for run in self.partial), default=0)


TrainingInterrupted = Stopped  # its name in earlier versions


@contextmanager
def held_interrupts() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C was pressed. A second press interrupts at once.

    Where Python does not handle the signal itself (another thread, a program with its own handler)
    nothing is changed.
    """
    pressed = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    handler = signal.getsignal(signal.SIGINT)
    ours = _in_main_thread() and handler in (signal.default_int_handler, _interrupt)
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        if ours:
            signal.signal(signal.SIGINT, handler)


def lose_no_interrupt() -> None:
    """For a program of our own: torch, while it is imported, swallows a Ctrl-C and goes on half
    made. End there instead.
    """
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    torch = sys.modules.get("torch")
    if torch is not None and getattr(torch.__spec__, "_initializing", False):
        os.write(2, b"algophase: error: interrupted\n")
        os._exit(130)
    signal.default_int_handler(number, frame)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
