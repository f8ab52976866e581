"""What the package has to say goes to the logger `algophase`: warnings, and at level INFO what it
is about to do.

A Python program sees the warnings on standard error, as `logging` shows them by default, and
changes that as usual:

    logging.getLogger("algophase").setLevel(logging.ERROR)
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def listening(tell: Callable[[int, str], None]) -> Iterator[None]:
    """Meanwhile `tell` gets the level and the text of every message from level INFO on."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.levelno, record.getMessage())

    logger, handler = logging.getLogger("algophase"), Handler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
