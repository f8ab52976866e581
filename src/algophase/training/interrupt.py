"""Ctrl-C between two updates instead of in the middle of one, so that what is saved is a whole epoch."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C was pressed. A second press interrupts at once.

    Where Python does not handle the signal itself (another thread, a program with its own handler) nothing is changed.
    """
    pressed = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    ours = (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
