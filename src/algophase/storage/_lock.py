"""One writer per directory. The lock ends with its process, so a killed sweep never has to be
unlocked by hand.
"""

import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from algophase.core.errors import InputError

NAME = ".lock"


@contextmanager
def locked(directory: Path, doing: str) -> Iterator[Callable[[], bool]]:
    """Hold a directory. Someone else who tries is told by whom: process, machine, since when, and
    what it is doing.

    Gives a function that says whether the directory is still held: not if it was removed or renamed
    meanwhile.
    """
    path = directory / NAME
    # A file system without locks is an error: a file that only exists would outlive its process.
    lock = FileLock(path, blocking=False, fallback_to_soft=False)
    try:
        directory.stat()  # which acquiring would make
        lock.acquire()
        own_file = path.stat()
    except Timeout:
        raise InputError(
            f"{directory} is in use by {_holder(path)}; wait for it, or choose another directory"
        ) from None
    except OSError as error:
        lock.release()
        raise InputError(f"cannot write into {directory}: {error.strerror or error}") from None

    def still_held() -> bool:
        with suppress(OSError):
            return os.path.samestat(own_file, path.stat())
        return False

    try:
        with suppress(OSError):  # a full disk: the lock holds all the same, it only has no name
            _name_holder(path, doing)
        yield still_held
    finally:
        if still_held():
            path.unlink(missing_ok=True)  # while it is locked: who has opened it sees it is gone
        lock.release()


def _name_holder(path: Path, doing: str) -> None:
    """Write into the lock who holds it. A lock that is gone is not made again."""
    holder = {
        "process": os.getpid(),
        "machine": platform.node(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "doing": doing,
    }
    with path.open("r+") as file:
        file.truncate()
        json.dump(holder, file)


def _holder(path: Path) -> str:
    """Who holds a lock, by what its file says."""
    try:
        holder = json.loads(path.read_bytes())
        who = f"process {holder['process']} on {holder['machine']}"
        return f"{who} since {holder['since']} ({holder['doing']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
